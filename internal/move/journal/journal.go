// Package journal is what a receiver remembers of large files that are not whole yet: of
// which source they are, and which blocks are durable. A record is appended after the data
// it speaks of were made durable, never before, so that a journal that survives is true. It
// opens no file itself. It trusts a record only by its checksum, and refuses what follows a
// damaged one.
package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"linerate/internal/move"
)

// Name of the journal in the root of a target.
const Name = ".linerate.journal"

// magic begins a journal; its last digit is the version.
const magic = "linerJ1\n"

// maxRecord bounds a record: one append's blocks of one file.
const maxRecord = 64 << 20

// The kinds of records.
const (
	kindRun    = 1
	kindFile   = 2
	kindBlocks = 3
	kindEnd    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Block is one that is durable. No extents: all of its range is data.
type Block struct {
	Leaf    move.Leaf
	Extents []move.Extent
}

// File is a file that is not whole yet.
type File struct {
	Path   string
	Source move.Identity
	Temp   move.Node // of the temporary file
	Full   bool      // the leaves are BLAKE3
	Blocks map[int64]Block
}

// Log writes the records of one journal. Its salt is part of every checksum: what an older
// journal left in the same file is never taken for a record of this one, whatever part of
// either a crash has kept.
type Log struct{ salt [8]byte }

// NewLog begins the journal of a run with a salt that no other has.
func NewLog(run string, salt [8]byte) (*Log, []byte) {
	head := append(append([]byte{kindRun}, salt[:]...), run...)
	return &Log{salt}, (&Log{}).record([]byte(magic), head)
}

// AppendFile appends that a file was begun; no names it in what follows.
func (l *Log) AppendFile(b []byte, no uint64, f *File) []byte {
	p := binary.AppendUvarint([]byte{kindFile}, no)
	full := byte(0)
	if f.Full {
		full = 1
	}
	p = binary.AppendUvarint(append(p, full), f.Temp.Dev)
	p = binary.AppendUvarint(p, f.Temp.Ino)
	s := f.Source
	p = move.AppendEntry(p, &move.Entry{Path: f.Path, Kind: move.File, Size: s.Size, Mtime: s.Mtime, Ctime: s.Ctime, Node: s.Node})
	return l.record(b, p)
}

// AppendBlocks appends that blocks of a file are durable.
func (l *Log) AppendBlocks(b []byte, no uint64, blocks []Block) []byte {
	p := binary.AppendUvarint([]byte{kindBlocks}, no)
	for _, x := range blocks {
		p = binary.AppendUvarint(p, uint64(x.Leaf.Index))
		p = append(p, x.Leaf.Hash[:]...)
		p = binary.AppendUvarint(p, uint64(len(x.Extents)))
		for _, e := range x.Extents {
			p = binary.AppendUvarint(p, uint64(e.Offset))
			p = binary.AppendUvarint(p, uint64(e.Length))
		}
	}
	return l.record(b, p)
}

// AppendEnd appends that a file is whole, or was given up.
func (l *Log) AppendEnd(b []byte, no uint64) []byte {
	return l.record(b, binary.AppendUvarint([]byte{kindEnd}, no))
}

// record appends a payload with its length and checksum.
func (l *Log) record(b, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, l.sum(payload))
	return append(b, payload...)
}

// sum is the checksum of a record.
func (l *Log) sum(payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(l.salt[:], castagnoli), castagnoli, payload)
}

// Journal is what one says.
type Journal struct {
	Run   string
	Files map[string]*File // not whole yet, by path
	// Good is how many bytes of it were understood: what follows is cut off.
	Good int64
	byNo map[uint64]*File // nil: it ended
	log  Log
}

// ErrForeign is a file that is no journal of this version.
var ErrForeign = errors.New("no journal of this version")

// errRecord is a record that does not say what it should.
var errRecord = errors.New("damaged record")

// Read reads a journal. What follows a damaged record is not looked at: a machine that lost
// power leaves a torn end.
func Read(b []byte) (*Journal, error) {
	j := &Journal{Files: map[string]*File{}, byNo: map[uint64]*File{}}
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, ErrForeign
	}
	j.Good = int64(len(magic))
	for len(rest) >= 8 {
		n := int64(binary.LittleEndian.Uint32(rest))
		sum := binary.LittleEndian.Uint32(rest[4:])
		if n == 0 || n > maxRecord || n > int64(len(rest)-8) {
			break
		}
		p := rest[8 : 8+n]
		if j.log.sum(p) != sum || j.take(p) != nil {
			break
		}
		j.Good += 8 + n
		rest = rest[8+n:]
	}
	if j.Run == "" {
		return nil, ErrForeign
	}
	return j, nil
}

// take takes one record in.
func (j *Journal) take(p []byte) error {
	if p[0] == kindRun {
		if j.Run != "" || len(p) < 10 || len(p) > 25 {
			return errRecord
		}
		copy(j.log.salt[:], p[1:9])
		j.Run = string(p[9:])
		return nil
	}
	no, n := binary.Uvarint(p[1:])
	if n <= 0 || j.Run == "" {
		return errRecord
	}
	rest := p[1+n:]
	switch p[0] {
	case kindFile:
		return j.file(no, rest)
	case kindBlocks:
		return j.blocks(no, rest)
	case kindEnd:
		if f := j.byNo[no]; f != nil && j.Files[f.Path] == f {
			delete(j.Files, f.Path)
		}
		j.byNo[no] = nil
		return nil
	}
	return errRecord
}

func (j *Journal) file(no uint64, b []byte) error {
	if len(b) == 0 {
		return errRecord
	}
	full := b[0] == 1
	dev, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return errRecord
	}
	b = b[1+n:]
	ino, n := binary.Uvarint(b)
	if n <= 0 {
		return errRecord
	}
	e, _, err := move.DecodeEntry(b[n:])
	if err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	f := &File{Path: e.Path, Source: e.Identity(), Temp: move.Node{Dev: dev, Ino: ino}, Full: full, Blocks: map[int64]Block{}}
	j.byNo[no], j.Files[e.Path] = f, f
	return nil
}

func (j *Journal) blocks(no uint64, b []byte) error {
	f, begun := j.byNo[no]
	if !begun {
		return errRecord
	}
	if f == nil {
		return nil // the file ended while this append waited for others
	}
	var list []Block
	for len(b) > 0 {
		index, n := binary.Uvarint(b)
		if n <= 0 || index >= uint64(move.Blocks(f.Source.Size)) || len(b) < n+32 {
			return errRecord
		}
		x := Block{Leaf: move.Leaf{Index: int64(index), Hash: move.Hash(b[n : n+32])}}
		b = b[n+32:]
		var err error
		if x.Extents, b, err = extents(b, x.Leaf.Index, f.Source.Size); err != nil {
			return err
		}
		list = append(list, x)
	}
	for _, x := range list {
		f.Blocks[x.Leaf.Index] = x
	}
	return nil
}

// extents decodes those of one block, within the block.
func extents(b []byte, index, size int64) ([]move.Extent, []byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > move.MaxExtents {
		return nil, nil, errRecord
	}
	b = b[n:]
	at, end := uint64(index*move.BlockSize), uint64(min(size, (index+1)*move.BlockSize))
	var out []move.Extent
	for range count {
		offset, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, nil, errRecord
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || offset < at || offset >= end || length == 0 || length > end-offset {
			return nil, nil, errRecord
		}
		b, at = b[n+m:], offset+length
		out = append(out, move.Extent{Offset: int64(offset), Length: int64(length)})
	}
	return out, b, nil
}
