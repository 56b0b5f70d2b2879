// Package delta packs texts that resemble each other, as samples of one host do: of a text that
// differs from the one before in its numbers alone it keeps by how much each of them grew. What is
// left of a batch becomes one frame of zstd (RFC 8878). A frame looks back on no other: that would
// save a third of the few bytes that growth takes, and cost who reads a thousand hosts 60 KB or more
// for each.
//
// It refuses texts with a zero byte, which it needs itself, and batches that unpack to more than
// their bounds: what comes out of a Reader is bounded whatever goes in. It knows nothing of JSON.
package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bounds, in bytes. A sample of 128 cores and 100 connections is 100 kB of text.
const (
	MaxText = 2 << 20 // of one text
	MaxRaw  = 4 << 20 // of a batch before it is compressed
	// mostDigits is the longest number that is told by its growth.
	mostDigits = 18
)

// place stands for a number in a frame, which is a text without its numbers.
const place = 0

// Batch is some texts on their way.
type Batch struct {
	Fresh bool   // it begins a stream: nothing before it is needed
	Bytes int    // before it was compressed
	Data  []byte // compressed
}

// Writer packs texts. The zero value is ready; it is for one goroutine at a time.
type Writer struct {
	enc   *zstd.Encoder // nil: no stream was begun
	state numbers
	raw   []byte
	out   []byte
}

// numbers is the text before, as its frame and its numbers; one that is no int64 keeps what stood there.
type numbers struct {
	frame []byte
	last  []int64
}

// Pack makes one batch of texts; fresh begins a new stream with it, as the first batch does anyway.
// After an error the next batch has to be fresh.
func (w *Writer) Pack(texts [][]byte, fresh bool) (Batch, error) {
	if fresh = fresh || w.enc == nil; fresh {
		w.state = numbers{}
	}
	if w.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return Batch{}, fmt.Errorf("pack texts: %w", err)
		}
		w.enc = enc
	}
	w.raw = w.raw[:0]
	for _, t := range texts {
		if len(t) > MaxText || bytes.IndexByte(t, place) >= 0 {
			return Batch{}, fmt.Errorf("pack a text of %d bytes: it may have %d, and no zero byte", len(t), MaxText)
		}
		w.raw = w.state.pack(w.raw, t)
	}
	if len(w.raw) > MaxRaw {
		return Batch{}, fmt.Errorf("pack %d texts: they are more than %d bytes", len(texts), MaxRaw)
	}
	w.out = w.enc.EncodeAll(w.raw, w.out[:0])
	return Batch{Fresh: fresh, Bytes: len(w.raw), Data: bytes.Clone(w.out)}, nil
}

// pack appends a text: the length of its frame and one, and the frame; or 0 where that is the same.
// Then each number: how much it grew, zigzag and one; or 0, its length and its digits.
func (n *numbers) pack(to, text []byte) []byte {
	frame, found := split(text)
	if bytes.Equal(frame, n.frame) && len(n.frame) > 0 {
		to = append(to, 0)
	} else {
		to = binary.AppendUvarint(to, uint64(len(frame))+1)
		to = append(to, frame...)
		n.frame, n.last = frame, make([]int64, len(found))
	}
	for i, digits := range found {
		v, ok := plain(digits)
		if !ok {
			to = append(binary.AppendUvarint(append(to, 0), uint64(len(digits))), digits...)
			continue
		}
		d := v - n.last[i]
		to = binary.AppendUvarint(to, uint64(d<<1^d>>63)+1)
		n.last[i] = v
	}
	return to
}

// split takes a text apart.
func split(text []byte) (frame []byte, found [][]byte) {
	frame = make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		if i > from {
			frame, found = append(frame, place), append(found, text[from:i])
			continue
		}
		frame = append(frame, text[i])
		i++
	}
	return frame, found
}

// plain is the number of digits that are its only spelling.
func plain(digits []byte) (int64, bool) {
	if len(digits) > mostDigits || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	v := int64(0)
	for _, d := range digits {
		v = 10*v + int64(d-'0')
	}
	return v, true
}

// Decoder is what readers share: none of them needs it for longer than a batch. The zero value is ready.
type Decoder struct {
	once    sync.Once
	dec     *zstd.Decoder
	err     error
	buffers sync.Pool // of *buffers
}

// buffers hold a batch, and one text of it.
type buffers struct{ raw, text []byte }

// mostBuffers is how much of what is used again is kept, in bytes.
const mostBuffers = 128 << 10

// Reader unpacks what a Writer packed. It is for one goroutine at a time.
type Reader struct {
	by    *Decoder
	state numbers
	begun bool
	err   error // until a fresh batch comes
}

// ErrBroken is of a batch that cannot be read, and of all after it up to a fresh one.
var ErrBroken = errors.New("a batch of texts is broken")

// NewReader makes a reader that shares a decoder with others.
func NewReader(by *Decoder) *Reader { return &Reader{by: by} }

// Unpack hands over each text of a batch, which is valid until the next; an error of each ends it.
func (r *Reader) Unpack(b Batch, each func(text []byte) error) error {
	switch {
	case b.Fresh:
		r.state, r.err, r.begun = numbers{}, nil, true
	case r.err != nil:
		return r.err
	case !r.begun:
		return fmt.Errorf("%w: the stream's beginning is missing", ErrBroken)
	}
	own, _ := r.by.buffers.Get().(*buffers)
	if own == nil {
		own = &buffers{}
	}
	raw, err := r.by.raw(b, own)
	for err == nil && len(raw) > 0 {
		if own.text, raw, err = r.state.unpack(own.text[:0], raw); err == nil {
			err = each(own.text)
		}
	}
	r.err = err
	if cap(own.raw)+cap(own.text) <= mostBuffers {
		r.by.buffers.Put(own)
	}
	return err
}

// raw uncompresses a batch.
func (d *Decoder) raw(b Batch, own *buffers) ([]byte, error) {
	if b.Bytes < 0 || b.Bytes > MaxRaw {
		return nil, fmt.Errorf("%w: it unpacks to %d bytes", ErrBroken, b.Bytes)
	}
	d.once.Do(func() {
		d.dec, d.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(min(4, runtime.GOMAXPROCS(0))), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxRaw), zstd.WithDecodeAllCapLimit(true))
	})
	if d.err != nil {
		return nil, fmt.Errorf("unpack texts: %w", d.err)
	}
	if b.Bytes > cap(own.raw) {
		own.raw = make([]byte, b.Bytes)
	}
	raw, err := d.dec.DecodeAll(b.Data, own.raw[:0:b.Bytes]) // not beyond what it says
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(raw) != b.Bytes {
		return nil, fmt.Errorf("%w: it unpacks to %d bytes, and says %d", ErrBroken, len(raw), b.Bytes)
	}
	return raw, nil
}

// unpack reads one text into a buffer, and returns what follows it.
func (n *numbers) unpack(to, raw []byte) (text, rest []byte, err error) {
	size, raw, err := number(raw)
	if err != nil {
		return nil, nil, err
	}
	if size > 0 {
		if size--; size > uint64(len(raw)) || size > MaxText {
			return nil, nil, fmt.Errorf("%w: its frame is longer than it", ErrBroken)
		}
		n.frame, raw = bytes.Clone(raw[:size]), raw[size:]
		n.last = make([]int64, bytes.Count(n.frame, []byte{place}))
	}
	text = to
	if text == nil {
		text = make([]byte, 0, len(n.frame)+len(n.frame)/2)
	}
	for i, frame := 0, n.frame; ; i++ {
		at := bytes.IndexByte(frame, place)
		if at < 0 {
			at = len(frame)
		}
		if len(text)+at > MaxText {
			return nil, nil, fmt.Errorf("%w: a text is longer than %d bytes", ErrBroken, MaxText)
		}
		if text = append(text, frame[:at]...); at == len(frame) {
			break
		}
		if text, raw, err = n.next(text, raw, i); err != nil {
			return nil, nil, err
		}
		frame = frame[at+1:]
	}
	return text, raw, nil
}

// next appends number i to a text.
func (n *numbers) next(text, raw []byte, i int) (_, rest []byte, err error) {
	d, raw, err := number(raw)
	if err != nil {
		return nil, nil, err
	}
	if d > 0 {
		if len(text) > MaxText {
			return nil, nil, fmt.Errorf("%w: a text is longer than %d bytes", ErrBroken, MaxText)
		}
		d--
		n.last[i] += int64(d>>1) ^ -int64(d&1)
		return strconv.AppendInt(text, n.last[i], 10), raw, nil
	}
	size, raw, err := number(raw)
	if err != nil {
		return nil, nil, err
	}
	if size > uint64(len(raw)) || len(text)+int(size) > MaxText {
		return nil, nil, fmt.Errorf("%w: a number is longer than it", ErrBroken)
	}
	return append(text, raw[:size]...), raw[size:], nil
}

func number(raw []byte) (v uint64, rest []byte, err error) {
	v, size := binary.Uvarint(raw)
	if size <= 0 {
		return 0, nil, fmt.Errorf("%w: it ends within a number", ErrBroken)
	}
	return v, raw[size:], nil
}
