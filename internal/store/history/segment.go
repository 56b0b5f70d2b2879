package history

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/watch/past"
)

// Versions of segments: Version is the newest that this build writes, and reads. Version 2 may have late
// records, which earlier builds would count beside those whose place they take; without such records a
// segment is of version 1.
const (
	Version     = 2
	withoutLate = 1
)

// ErrNewer is of a segment that a later linerate wrote.
var ErrNewer = errors.New("written by a later linerate")

// Bounds on what is read of a segment.
const (
	maxSegment = 256 << 20
	maxBlock   = 64 << 20 // of a block, and of what it unpacks to
	maxHeader  = 64 << 10
)

// header is the first line of a segment.
type header struct {
	V   int    `json:"linerate_history"`
	Set string `json:"set"` // what is watched, as the user named it
	// Replaces are the files whose records this one has: they count no more.
	Replaces []string `json:"replaces,omitempty"`
}

// castagnoli is the polynomial of the checksums (RFC 3720, appendix B.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendHeader begins a segment.
func appendHeader(to []byte, h header) ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write segment: %w", err)
	}
	return append(append(to, b...), '\n'), nil
}

// appendBlock adds records: length and checksum, four bytes each, little endian, and a frame of
// zstd with a line of JSON for each record.
func appendBlock(z *zstd.Encoder, to []byte, records ...past.Record) ([]byte, error) {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for _, r := range records {
		if err := e.Encode(r); err != nil {
			return nil, fmt.Errorf("write record: %w", err)
		}
	}
	if lines.Len() > maxBlock {
		return nil, fmt.Errorf("write %d records: %d bytes are more than a block holds", len(records), lines.Len())
	}
	packed := z.EncodeAll(lines.Bytes(), nil)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(packed)))
	to = binary.LittleEndian.AppendUint32(to, crc32.Checksum(packed, castagnoli))
	return append(to, packed...), nil
}

// packer packs blocks.
func packer() (*zstd.Encoder, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("keep history: %w", err)
	}
	return z, nil
}

// segment is what could be read of a file.
type segment struct {
	header
	records []past.Record
	// torn tells that the last block is incomplete, as after a crash; spoiled says what else
	// was skipped.
	torn    bool
	spoiled []string
}

// decoders are the readers of all versions, of what follows the header.
func decoders() map[int]func(*segment, []byte) error {
	return map[int]func(*segment, []byte) error{withoutLate: (*segment).blocks, Version: (*segment).blocks}
}

// readSegment reads what it can of a segment.
func readSegment(b []byte) (segment, error) {
	var s segment
	end := bytes.IndexByte(b[:min(len(b), maxHeader)], '\n')
	if end < 0 {
		s.torn = len(b) < maxHeader
		if s.torn {
			return s, nil
		}
	}
	line, rest := b[:max(0, end)], b[end+1:]
	if err := json.Unmarshal(line, &s.header); err != nil || s.V < 1 {
		return s, errors.New("it does not begin as a segment of history does")
	}
	decode, ok := decoders()[s.V]
	if !ok {
		return s, fmt.Errorf("%w: version %d, and this build reads up to %d", ErrNewer, s.V, Version)
	}
	return s, decode(&s, rest)
}

// blocks reads the blocks of versions 1 and 2.
func (s *segment) blocks(b []byte) error {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	defer z.Close()
	for n := 1; len(b) > 0; n++ {
		if len(b) < 8 {
			s.torn = true
			return nil
		}
		size, sum := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if size > maxBlock {
			s.spoiled = append(s.spoiled, fmt.Sprintf("block %d and what follows it: its length makes no sense", n))
			return nil
		}
		if b = b[8:]; int(size) > len(b) {
			s.torn = true
			return nil
		}
		packed := b[:size]
		b = b[size:]
		if crc32.Checksum(packed, castagnoli) != sum {
			s.spoiled = append(s.spoiled, fmt.Sprintf("block %d: its checksum is another", n))
			continue
		}
		if err := s.unpack(z, packed); err != nil {
			s.spoiled = append(s.spoiled, fmt.Sprintf("block %d: %v", n, err))
		}
	}
	return nil
}

func (s *segment) unpack(z *zstd.Decoder, packed []byte) error {
	lines, err := z.DecodeAll(packed, nil)
	if err != nil {
		return err
	}
	return s.read(lines)
}

// read takes the records of a block.
func (s *segment) read(lines []byte) error {
	d := json.NewDecoder(bytes.NewReader(lines))
	for {
		var r past.Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if r.Span <= 0 || r.At.IsZero() {
			return errors.New("a record without its time")
		}
		s.records = append(s.records, r)
	}
}
