package move

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/blake3"
	"github.com/zeebo/xxh3"
)

// BlockSize is the unit in which the data of files are read, hashed, sent, journalled and
// written: 4 MiB-aligned ranges of a file.
const BlockSize = 4 << 20

// PackSize is the largest size of a file that travels whole, with others.
const PackSize = 1 << 20

// MaxExtents bounds the extents of a block: one for every second KiB, the smallest unit
// file systems have beside 512 bytes. A source joins extents where there are more.
const MaxExtents = BlockSize / 2048

// Hash of a block's data: the first 16 bytes hold XXH3-128, or all 32 BLAKE3.
type Hash [32]byte

// Verify says how the data of a copy are proven.
type Verify uint8

// The ways.
const (
	Fast Verify = iota // XXH3-128 of every block, compared before the write
	Full               // BLAKE3 of every block too, compared with the target, which is read again past the cache
)

// Block is what one 4 MiB-aligned range of a file holds. A range that is all hole has none.
type Block struct {
	Index   int64    // range [Index*BlockSize, (Index+1)*BlockSize)
	Extents []Extent // within the file, ascending, apart; the range's holes lie between
	Data    []byte   // of the extents, one after another
	Hash    Hash
	// Quick is XXH3-128 too, where Hash is BLAKE3: it is compared before the write, and Hash once the
	// target was read again, so that each end takes BLAKE3 once.
	Quick [16]byte
}

// Seal gives a block that was read its hashes.
func (b *Block) Seal(v Verify) {
	b.Hash = Sum(v, b.Extents, b.Data)
	if v == Full {
		b.Quick = quick(b.Extents, b.Data)
	}
}

func quick(extents []Extent, data []byte) [16]byte {
	h := Sum(Fast, extents, data)
	return [16]byte(h[:16])
}

// Sum is the hash of a block: over its data, and over where they lie.
func Sum(v Verify, extents []Extent, data []byte) Hash {
	var h Hash
	layout := make([]byte, 0, 64)
	for _, x := range extents {
		layout = binary.LittleEndian.AppendUint64(layout, uint64(x.Offset))
		layout = binary.LittleEndian.AppendUint64(layout, uint64(x.Length))
	}
	if v == Full {
		s := blake3.New()
		_, _ = s.Write(layout)
		_, _ = s.Write(data)
		s.Sum(h[:0])
		return h
	}
	sum := xxh3.Hash128(data)
	layout = binary.LittleEndian.AppendUint64(layout, sum.Lo)
	layout = binary.LittleEndian.AppendUint64(layout, sum.Hi)
	sum = xxh3.Hash128(layout)
	binary.LittleEndian.PutUint64(h[:8], sum.Lo)
	binary.LittleEndian.PutUint64(h[8:16], sum.Hi)
	return h
}

// Check says what is wrong with a block that was received for a file of a size: bounds
// first, then its XXH3-128.
func (b *Block) Check(v Verify, size int64) error {
	if b.Index < 0 || b.Index >= Blocks(size) {
		return fmt.Errorf("block %d of a file of %d blocks", b.Index, Blocks(size))
	}
	if len(b.Extents) == 0 || len(b.Extents) > MaxExtents {
		return fmt.Errorf("block %d has %d extents", b.Index, len(b.Extents))
	}
	at, end, sum := b.Index*BlockSize, min(size, (b.Index+1)*BlockSize), int64(0)
	for _, x := range b.Extents {
		if x.Length <= 0 || x.Offset < at || x.Length > end-x.Offset {
			return fmt.Errorf("block %d has an extent outside its range", b.Index)
		}
		at = x.Offset + x.Length
		sum += x.Length
	}
	if sum != int64(len(b.Data)) {
		return fmt.Errorf("block %d has %d bytes for extents of %d", b.Index, len(b.Data), sum)
	}
	good := false
	if v == Full {
		good = quick(b.Extents, b.Data) == b.Quick
	} else {
		good = Sum(v, b.Extents, b.Data) == b.Hash
	}
	if !good {
		return &CorruptError{Index: b.Index}
	}
	return nil
}

// CorruptError is a block that is not what its source read: it is asked for again.
type CorruptError struct{ Index int64 }

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("block %d: its hash differs from the source's", e.Index)
}

// Blocks is how many ranges a file of a size has.
func Blocks(size int64) int64 { return (size + BlockSize - 1) / BlockSize }

// Leaf is the hash of one block.
type Leaf struct {
	Index int64
	Hash  Hash
}

// Root is a file's hash: BLAKE3 over its size and its leaves in ascending order, each with
// its index. Both ends compute it from the leaves they have.
func Root(size int64, leaves func(yield func(Leaf) bool)) Hash {
	var h Hash
	s := blake3.New()
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, 40), uint64(size))
	_, _ = s.Write(buf)
	for l := range leaves {
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(l.Index))
		_, _ = s.Write(append(buf, l.Hash[:]...))
	}
	s.Sum(h[:0])
	return h
}

// Digest is BLAKE3 of what a range reads as, its holes being zeroes.
func Digest(content []byte) Hash { return blake3.Sum256(content) }

// IsDigest tells whether a block has no data: its one extent is empty, and its Hash is the
// Digest of the range.
func (b *Block) IsDigest() bool { return len(b.Extents) == 1 && b.Extents[0].Length == 0 }
