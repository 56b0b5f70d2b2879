// Package delta packs texts that resemble each other, as samples of one host do: of a text that
// differs from the one before in its numbers alone it keeps by how much each of them grew. What is
// left goes into one stream of zstd (RFC 8878) that is flushed after each batch, so that a batch can
// be read when it arrives, and what came before it is known to both ends.
//
// It refuses texts with a zero byte, which it needs itself, and batches that unpack to more than
// their bounds: what comes out of a Reader is bounded whatever goes in. It knows nothing of JSON.
package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Bounds, in bytes. A sample of 128 cores and 100 connections is 100 kB of text.
const (
	MaxText = 2 << 20 // of one text
	MaxRaw  = 4 << 20 // of a batch before it is compressed
	// Bounds on what zstd looks back on, at both ends. A reader holds twice as much for as long as
	// its stream goes on, and a controller may read a thousand of them.
	leastWindow = 16 << 10
	window      = 128 << 10
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
	out    bytes.Buffer
	enc    *zstd.Encoder // nil: no stream was begun
	window int
	state  numbers
	raw    []byte
}

// numbers is the text before, as its frame and its numbers; one that is no int64 keeps what stood there.
type numbers struct {
	frame []byte
	last  []int64
}

// begin begins a stream. Its window is several times the first text, which stands in it whole.
func (w *Writer) begin(texts [][]byte) error {
	size := leastWindow
	for len(texts) > 0 && size < min(window, 4*len(texts[0])) {
		size *= 2
	}
	w.state = numbers{}
	if w.enc != nil && size == w.window {
		w.enc.Reset(&w.out)
		return nil
	}
	enc, err := zstd.NewWriter(&w.out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(size), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return fmt.Errorf("pack texts: %w", err)
	}
	w.enc, w.window = enc, size
	return nil
}

// Pack makes one batch of texts; fresh begins a new stream with it, as the first batch does anyway.
// After an error the next batch has to be fresh.
func (w *Writer) Pack(texts [][]byte, fresh bool) (Batch, error) {
	w.out.Reset()
	if fresh = fresh || w.enc == nil; fresh {
		if err := w.begin(texts); err != nil {
			return Batch{}, err
		}
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
	if _, err := w.enc.Write(w.raw); err != nil {
		return Batch{}, fmt.Errorf("pack texts: %w", err)
	}
	if err := w.enc.Flush(); err != nil {
		return Batch{}, fmt.Errorf("pack texts: %w", err)
	}
	return Batch{Fresh: fresh, Bytes: len(w.raw), Data: bytes.Clone(w.out.Bytes())}, nil
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

// Reader unpacks what a Writer packed. It is for one goroutine at a time.
type Reader struct {
	in    feed
	dec   *zstd.Decoder
	state numbers
	begun bool
	err   error  // until a fresh batch comes
	buf   []byte // of a batch
	text  []byte
}

// feed is what of the compressed stream has come in.
type feed struct{ bytes.Reader }

// ErrBroken is of a batch that cannot be read, and of all after it up to a fresh one.
var ErrBroken = errors.New("a batch of texts is broken")

// NewReader makes a reader. Close it: it holds memory.
func NewReader() (*Reader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, fmt.Errorf("unpack texts: %w", err)
	}
	return &Reader{dec: dec}, nil
}

// Close gives its memory back.
func (r *Reader) Close() { r.dec.Close() }

// Unpack hands over each text of a batch, which is valid until the next; an error of each ends it.
func (r *Reader) Unpack(b Batch, each func(text []byte) error) error {
	switch {
	case b.Fresh:
		r.state, r.err, r.begun = numbers{}, nil, false
	case r.err != nil:
		return r.err
	case !r.begun:
		return fmt.Errorf("%w: the stream's beginning is missing", ErrBroken)
	}
	raw, err := r.raw(b)
	for err == nil && len(raw) > 0 {
		if r.text, raw, err = r.state.unpack(r.text[:0], raw); err == nil {
			err = each(r.text)
		}
	}
	r.err = err
	if cap(r.buf)+cap(r.text) > mostBuffers {
		r.buf, r.text = nil, nil
	}
	return err
}

// mostBuffers is how much of what is used again stays with a Reader, in bytes.
const mostBuffers = 128 << 10

// raw uncompresses a batch.
func (r *Reader) raw(b Batch) ([]byte, error) {
	if b.Bytes < 0 || b.Bytes > MaxRaw {
		return nil, fmt.Errorf("%w: it unpacks to %d bytes", ErrBroken, b.Bytes)
	}
	r.in.Reset(b.Data)
	if !r.begun {
		if err := r.dec.Reset(&r.in.Reader); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		r.begun = true
	}
	if b.Bytes > cap(r.buf) {
		r.buf = make([]byte, b.Bytes)
	}
	raw := r.buf[:b.Bytes]
	if _, err := io.ReadFull(r.dec, raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
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
