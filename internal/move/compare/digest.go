package compare

import (
	"context"
	"sync"

	"linerate/internal/move"
)

// Digested is a source of whose files only hashes travel: every block that holds data comes
// as the digest of its range.
type Digested struct {
	Source
	bufs sync.Pool
}

// Source is a source that can be asked.
type Source interface {
	move.Source
	move.Keeper
}

// Digests makes a source one of digests.
func Digests(s Source) *Digested {
	d := &Digested{Source: s}
	d.bufs.New = func() any { b := make([]byte, move.BlockSize); return &b }
	return d
}

// Open implements move.Source.
func (d *Digested) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := d.Source.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	return &digested{f, d}, nil
}

type digested struct {
	move.SourceFile
	d *Digested
}

// Read implements move.SourceFile.
func (f *digested) Read(ctx context.Context, index int64, buf []byte) (move.Block, error) {
	// A pack's buffer has room for a small file only, and whole needs a range's.
	out, _ := f.d.bufs.Get().(*[]byte)
	defer f.d.bufs.Put(out)
	content, n, err := whole(ctx, f.SourceFile, index, *out, buf)
	if err != nil || n == 0 {
		return move.Block{Index: index}, err
	}
	return move.Block{Index: index, Hash: move.Digest(content), Extents: []move.Extent{{Offset: index * move.BlockSize}}}, nil
}
