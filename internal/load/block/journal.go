package block

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"
	"time"

	"linerate/internal/unit"
)

// Journal keeps, for each block of a run's area, the last write that the target
// acknowledged. While a run keeps one, a block has one write in flight at most
// and the next waits for it: so it is known which of them must be found there.
type Journal struct {
	JournalHeader
	entries []uint64 // per block: Stamp.Request of the last write; 0: none
}

// JournalHeader says what a Journal is of.
type JournalHeader struct {
	V      int        `json:"v"`
	Run    uint64     `json:"run"`
	Target string     `json:"target"`
	From   unit.Bytes `json:"from_bytes"`
	Area   unit.Bytes `json:"area_bytes"`
	Block  unit.Bytes `json:"block_bytes"`
	Ended  time.Time  `json:"ended"`
	// Synced: a sync succeeded after the last write, so that what was
	// acknowledged had to be durable. Without, a target may lose what was
	// acknowledged when it loses power.
	Synced bool `json:"synced"`
}

// Marks of an entry. A thread's number stays below them (MaxThreads).
const (
	inFlight = 1 << 63 // a write was handed over and has not ended
	unsure   = 1 << 62 // a write failed: the block may hold what was before it, or after, or both
	marks    = inFlight | unsure
)

const (
	journalVersion = 1
	// maxBlocks of a journal, which has 8 bytes for each; maxHeader is the
	// longest first line.
	maxBlocks = 1 << 25
	maxHeader = 64 << 10
	// grain is what a block has to be a multiple of: the smallest part of a
	// target that anything writes.
	grain = 512
)

// NewJournal makes the journal of a run, whose area must be known. Blocks are of
// the smallest request, or of the alignment.
func NewJournal(s Spec) (*Journal, error) {
	step := s.Shape.Step()
	for _, z := range s.Shape.Sizes {
		if z.Size%step != 0 {
			return nil, fmt.Errorf("keep journal: requests of %d bytes are no multiple of %d, which offsets are", z.Size, step)
		}
	}
	n := (s.Shape.Area + step - 1) / step
	switch {
	case step%grain != 0 || s.From%grain != 0:
		return nil, fmt.Errorf("keep journal: blocks of %d bytes from %d on, want multiples of %d", step, s.From, grain)
	case n < 1 || n > maxBlocks:
		return nil, fmt.Errorf("keep journal: %d blocks of %v in %v, want at most %d: use larger blocks, or a smaller area", n, step, s.Shape.Area, maxBlocks)
	}
	return &Journal{JournalHeader{V: journalVersion, Run: s.Run, Target: s.Path, From: s.From, Area: s.Shape.Area, Block: step}, make([]uint64, n)}, nil
}

// span is the entries of a request, whose offset counts from From.
func (j *Journal) span(offset int64, size int) []uint64 {
	from := offset / int64(j.Block)
	return j.entries[from : from+int64(size)/int64(j.Block)]
}

// claim takes the blocks of a write; false: another has one of them in flight.
func (j *Journal) claim(offset int64, size int) bool {
	blocks := j.span(offset, size)
	for i := range blocks {
		if atomic.OrUint64(&blocks[i], inFlight)&inFlight != 0 {
			for k := range blocks[:i] {
				atomic.AndUint64(&blocks[k], ^uint64(inFlight))
			}
			return false
		}
	}
	return true
}

// release gives the blocks of a write back that was not handed over.
func (j *Journal) release(offset int64, size int) {
	blocks := j.span(offset, size)
	for i := range blocks {
		atomic.AndUint64(&blocks[i], ^uint64(inFlight))
	}
}

// ended notes how a write ended.
func (j *Journal) ended(offset int64, size int, request uint64, ok bool) {
	blocks := j.span(offset, size)
	for i := range blocks {
		if ok {
			atomic.StoreUint64(&blocks[i], request)
			continue
		}
		atomic.OrUint64(&blocks[i], unsure)
		atomic.AndUint64(&blocks[i], ^uint64(inFlight))
	}
}

// Last is the write that a block at an address of the target must hold: the
// Request of its stamp. sure is false where none was acknowledged, where one was
// not heard of again, and outside of the area.
func (j *Journal) Last(address int64) (request uint64, sure bool) {
	at := address - int64(j.From)
	if at < 0 || at >= int64(len(j.entries))*int64(j.Block) {
		return 0, false
	}
	e := atomic.LoadUint64(&j.entries[at/int64(j.Block)])
	return e &^ marks, e&marks == 0 && e != 0
}

// marked tells whether the last write to an address was not heard of again, or
// failed.
func (j *Journal) marked(address int64) bool {
	at := (address - int64(j.From)) / int64(j.Block)
	return address >= int64(j.From) && at < int64(len(j.entries)) && j.entries[at]&marks != 0
}

// Acknowledged is how many blocks must hold a write of the run.
func (j *Journal) Acknowledged() int {
	n := 0
	for _, e := range j.entries {
		if e != 0 && e&marks == 0 {
			n++
		}
	}
	return n
}

// WriteTo writes the journal: a line of JSON, 8 bytes per block, and a CRC-32C of
// all of that.
func (j *Journal) WriteTo(w io.Writer) (int64, error) {
	head, err := json.Marshal(j.JournalHeader)
	if err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	b := bufio.NewWriter(io.MultiWriter(w, sum))
	word := make([]byte, 8)
	if _, err := b.Write(append(head, '\n')); err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	for _, e := range j.entries {
		binary.LittleEndian.PutUint64(word, e)
		if _, err := b.Write(word); err != nil {
			return 0, fmt.Errorf("write journal: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32())); err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	return int64(len(head) + 1 + 8*len(j.entries) + 4), nil
}

// errDamaged is the cause when a journal is not what was written.
var errDamaged = errors.New("it is no journal, or it is damaged")

// ReadJournal reads what WriteTo wrote.
func ReadJournal(r io.Reader) (*Journal, error) {
	all, err := io.ReadAll(io.LimitReader(r, maxHeader+8*maxBlocks+5))
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j, err := parseJournal(all)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return j, nil
}

func parseJournal(all []byte) (*Journal, error) {
	end := len(all) - 4
	if end < 0 || crc32.Checksum(all[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(all[end:]) {
		return nil, errDamaged
	}
	head, rest, ok := bytes.Cut(all[:end], []byte{'\n'})
	var j Journal
	if !ok || len(head) > maxHeader || json.Unmarshal(head, &j.JournalHeader) != nil {
		return nil, errDamaged
	}
	switch {
	case j.V != journalVersion:
		return nil, fmt.Errorf("it has version %d, this build knows %d", j.V, journalVersion)
	case j.Run == 0 || j.From < 0 || j.From%grain != 0 || j.Block < grain || j.Block%grain != 0 || j.Area < 1 || j.Area > 1<<60 || j.From > 1<<60:
		return nil, errDamaged
	}
	if n := (j.Area + j.Block - 1) / j.Block; n > maxBlocks || len(rest) != int(n)*8 {
		return nil, errDamaged
	}
	j.entries = make([]uint64, len(rest)/8)
	for i := range j.entries {
		j.entries[i] = binary.LittleEndian.Uint64(rest[8*i:])
	}
	return &j, nil
}
