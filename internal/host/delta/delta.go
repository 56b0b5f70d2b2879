// Package delta packs texts that resemble each other, as samples of one host do: of a text that
// differs from the one before in its numbers alone it keeps by how much each of them grew, in a range
// coder that learns how they do. What is left of a batch becomes one frame of zstd (RFC 8878). A frame
// looks back on no other, which would cost who reads a thousand hosts 60 KB or more for each.
//
// It refuses texts with a zero byte, which it needs itself, and batches that unpack to more than
// their bounds: what comes out of a Reader is bounded whatever goes in. It knows nothing of JSON.
package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bounds, in bytes. A sample of 128 cores and 100 connections is 100 kB of text.
const (
	MaxText = 2 << 20 // of one text
	MaxRaw  = 4 << 20 // of the texts of a batch, and of what of it is no growth
)

// place stands for a number in a frame, which is a text without its numbers.
const place = 0

// Batch is some texts on their way.
type Batch struct {
	Fresh bool   // it begins a stream: nothing before it is needed
	Bytes int    // of what is no growth, before it was compressed
	Data  []byte // see seal
}

// Writer packs texts. The zero value is ready; it is for one goroutine at a time.
type Writer struct {
	enc   *zstd.Encoder // nil: no stream was begun
	state state
	raw   []byte
	out   []byte
}

// state is the text before, as its frame and its numbers, and what is known of how they grow.
type state struct {
	frame   []byte
	slots   []slot
	chances *chances
}

func newState() state { return state{chances: newChances()} }

func (s state) clone() state {
	c := *s.chances
	return state{s.frame, slices.Clone(s.slots), &c}
}

// Pack makes one batch of texts; fresh begins a new stream with it, as the first batch does anyway.
// After an error the next batch has to be fresh.
func (w *Writer) Pack(texts [][]byte, fresh bool) (Batch, error) {
	if fresh = fresh || w.state.chances == nil; fresh {
		w.state = newState()
	}
	w.raw = w.raw[:0]
	p, sum, all := newPacker(), uint32(0), 0
	for _, t := range texts {
		if all += len(t); len(t) > MaxText || bytes.IndexByte(t, place) >= 0 {
			return Batch{}, fmt.Errorf("pack a text of %d bytes: it may have %d, and no zero byte", len(t), MaxText)
		}
		w.raw = w.state.pack(&p, w.raw, t)
		sum = crc32.Update(sum, crc32.IEEETable, t)
	}
	if max(all, len(w.raw)) > MaxRaw {
		return Batch{}, fmt.Errorf("pack %d texts: they are more than %d bytes", len(texts), MaxRaw)
	}
	rest, err := w.compressed(w.raw)
	return Batch{Fresh: fresh, Bytes: len(w.raw), Data: seal(sum, len(texts), rest, p.end())}, err
}

// compressed is valid until the next call.
func (w *Writer) compressed(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if w.enc == nil {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("pack texts: %w", err)
		}
		w.enc = enc
	}
	w.out = w.enc.EncodeAll(raw, w.out[:0])
	return w.out, nil
}

// seal is a batch's data: the CRC-32 (IEEE) of its texts, their number, how long what follows is that
// zstd made, that, and the growths.
func seal(sum uint32, texts int, rest, growths []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 12+len(rest)+len(growths)), sum)
	out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(texts)), uint64(len(rest)))
	return append(append(out, rest...), growths...)
}

// Size is how many bytes a text would take as the next batch, which is not begun with it.
func (w *Writer) Size(text []byte) (int, error) {
	p, s := newPacker(), newState()
	if w.state.chances != nil {
		s = w.state.clone()
	}
	w.raw = s.pack(&p, w.raw[:0], text)
	rest, err := w.compressed(w.raw)
	return len(seal(0, 1, rest, p.end())), err
}

// pack appends of a text what is no growth: of a frame that is another than the one before how many bytes
// at its beginning and at its end are the same, and what is between after its length; and each number
// that has no growth, as its digits, after their number. The growths go to the packer.
func (s *state) pack(p *packer, rest, text []byte) []byte {
	frame, found := split(text)
	if same := bytes.Equal(frame, s.frame) && len(s.frame) > 0; same {
		p.bit(&s.chances.same[0], 0)
	} else {
		p.bit(&s.chances.same[0], 1)
		head, tail := shared(s.frame, frame)
		between := frame[head : len(frame)-tail]
		rest = binary.AppendUvarint(binary.AppendUvarint(rest, uint64(head)), uint64(tail))
		rest = append(binary.AppendUvarint(rest, uint64(len(between))), between...)
		s.slots = carry(s.slots, frame[:head], frame[len(frame)-tail:], len(found))
		s.frame = frame
	}
	others := grown{}
	for i, digits := range found {
		n := &s.slots[i]
		v, ok := number(digits)
		if n.literal = uint8(p.bit(&s.chances.literal[n.literal], flag(!ok))); !ok {
			rest = append(binary.AppendUvarint(rest, uint64(len(digits))), digits...)
			continue
		}
		s.chances.growth(p, n, &others, v-n.last)
		n.last = v
	}
	return rest
}

func flag(b bool) uint {
	if b {
		return 1
	}
	return 0
}

// Decoder is what readers share: none of them needs it for longer than a batch. The zero value is ready.
type Decoder struct {
	once    sync.Once
	dec     *zstd.Decoder
	err     error
	buffers sync.Pool // of *buffers
}

// buffers hold what of a batch is no growth, and its texts.
type buffers struct{ raw, texts []byte }

// mostBuffers is how much of what is used again is kept, in bytes.
const mostBuffers = 128 << 10

// Reader unpacks what a Writer packed. It is for one goroutine at a time.
type Reader struct {
	by    *Decoder
	state state
	err   error // until a fresh batch comes
}

// ErrBroken is of a batch that cannot be read, and of all after it up to a fresh one.
var ErrBroken = errors.New("a batch of texts is broken")

// NewReader makes a reader that shares a decoder with others.
func NewReader(by *Decoder) *Reader { return &Reader{by: by} }

// Unpack hands over each text of a batch, which is valid until the next; an error of each ends it. None
// is handed over before all of them are known to be what was packed.
func (r *Reader) Unpack(b Batch, each func(text []byte) error) error {
	switch {
	case b.Fresh:
		r.state, r.err = newState(), nil
	case r.err != nil:
		return r.err
	case r.state.chances == nil:
		return fmt.Errorf("%w: the stream's beginning is missing", ErrBroken)
	}
	own, _ := r.by.buffers.Get().(*buffers)
	if own == nil {
		own = &buffers{}
	}
	var ends []int
	ends, r.err = r.unpack(b, own)
	from := 0
	for _, to := range ends {
		if r.err == nil {
			r.err = each(own.texts[from:to])
		}
		from = to
	}
	if cap(own.raw)+cap(own.texts) <= mostBuffers {
		r.by.buffers.Put(own)
	}
	return r.err
}

// unpack has the texts of a batch one behind the other, and where each ends.
func (r *Reader) unpack(b Batch, own *buffers) (ends []int, err error) {
	sum, texts, packed, growths, err := unseal(b.Data)
	if err != nil {
		return nil, err
	}
	rest, err := r.by.raw(b.Bytes, packed, own)
	u := newUnpacker(growths)
	for own.texts = own.texts[:0]; err == nil && texts > 0; texts-- {
		if own.texts, rest, err = r.state.unpack(&u, own.texts, rest); len(own.texts) > MaxRaw || len(ends) > MaxRaw {
			err = fmt.Errorf("%w: its texts are longer than %d bytes", ErrBroken, MaxRaw)
		}
		ends = append(ends, len(own.texts))
	}
	if err == nil && (crc32.ChecksumIEEE(own.texts) != sum || len(rest) > 0) {
		err = fmt.Errorf("%w: it is not what was packed", ErrBroken)
	}
	return ends, err
}

// unseal takes a batch's data apart.
func unseal(data []byte) (sum uint32, texts uint64, rest, growths []byte, err error) {
	if len(data) < 4 {
		return 0, 0, nil, nil, fmt.Errorf("%w: it has %d bytes", ErrBroken, len(data))
	}
	sum, data = binary.BigEndian.Uint32(data), data[4:]
	texts, data, err = length(data)
	var size uint64
	if err == nil {
		size, data, err = length(data)
	}
	if err == nil && size > uint64(len(data)) {
		err = fmt.Errorf("%w: a part is longer than it", ErrBroken)
	}
	if err != nil {
		return 0, 0, nil, nil, err
	}
	return sum, texts, data[:size], data[size:], nil
}

// raw uncompresses what of a batch is no growth.
func (d *Decoder) raw(size int, packed []byte, own *buffers) ([]byte, error) {
	if size < 0 || size > MaxRaw {
		return nil, fmt.Errorf("%w: it unpacks to %d bytes", ErrBroken, size)
	}
	if size == 0 && len(packed) == 0 {
		return nil, nil
	}
	d.once.Do(func() {
		d.dec, d.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(min(4, runtime.GOMAXPROCS(0))), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxRaw), zstd.WithDecodeAllCapLimit(true))
	})
	if d.err != nil {
		return nil, fmt.Errorf("unpack texts: %w", d.err)
	}
	if size > cap(own.raw) {
		own.raw = make([]byte, size)
	}
	raw, err := d.dec.DecodeAll(packed, own.raw[:0:size]) // not beyond what it says
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(raw) != size {
		return nil, fmt.Errorf("%w: it unpacks to %d bytes, and says %d", ErrBroken, len(raw), size)
	}
	return raw, nil
}

// unpack appends one text to a buffer, and returns what follows of the rest.
func (s *state) unpack(u *unpacker, to, rest []byte) (text, _ []byte, err error) {
	if u.bit(&s.chances.same[0], 0) == 1 {
		if rest, err = s.another(rest); err != nil {
			return nil, nil, err
		}
	}
	text, begin, others := to, len(to), grown{}
	for i, frame := 0, s.frame; ; i++ {
		at := bytes.IndexByte(frame, place)
		if at < 0 {
			at = len(frame)
		}
		if text = append(text, frame[:at]...); len(text)-begin > MaxText {
			return nil, nil, fmt.Errorf("%w: a text is longer than %d bytes", ErrBroken, MaxText)
		}
		if at == len(frame) {
			return text, rest, nil
		}
		if text, rest, err = s.next(u, &s.slots[i], &others, text, rest); err != nil {
			return nil, nil, err
		}
		frame = frame[at+1:]
	}
}

// another takes the frame of the next text from the rest.
func (s *state) another(rest []byte) ([]byte, error) {
	head, rest, err := length(rest)
	var tail uint64
	var between []byte
	if err == nil {
		tail, rest, err = length(rest)
	}
	if err == nil {
		between, rest, err = piece(rest)
	}
	if n := uint64(len(s.frame)); err == nil && (head > n || tail > n-head || head+tail+uint64(len(between)) > MaxText) {
		err = fmt.Errorf("%w: more of a frame is the same than there is", ErrBroken)
	}
	if err != nil {
		return nil, err
	}
	begins, ends := s.frame[:head], s.frame[uint64(len(s.frame))-tail:]
	frame := slices.Concat(begins, between, ends)
	s.slots = carry(s.slots, begins, ends, bytes.Count(frame, []byte{place}))
	s.frame = frame
	return rest, nil
}

// next appends the next number to a text.
func (s *state) next(u *unpacker, n *slot, others *grown, text, rest []byte) (_, _ []byte, err error) {
	if n.literal = uint8(u.bit(&s.chances.literal[n.literal], 0)); n.literal == 1 {
		digits, rest, err := piece(rest)
		return append(text, digits...), rest, err
	}
	n.last += s.chances.growth(u, n, others, 0)
	return strconv.AppendInt(text, n.last, 10), rest, nil
}

// piece is a part of the rest after its length.
func piece(rest []byte) (part, _ []byte, err error) {
	size, rest, err := length(rest)
	if err == nil && size > min(uint64(len(rest)), MaxText) {
		err = fmt.Errorf("%w: a part is longer than it", ErrBroken)
	}
	if err != nil {
		return nil, nil, err
	}
	return rest[:size], rest[size:], nil
}

func length(b []byte) (v uint64, rest []byte, err error) {
	v, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, fmt.Errorf("%w: it ends within a number", ErrBroken)
	}
	return v, b[size:], nil
}
