package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// However slowly the disk makes things durable, no more is written than a kill may cost: the
// journal itself is read at each write.
func TestNoMoreIsWrittenAheadOfTheJournalThanAKillMayCost(t *testing.T) {
	const blocks, most = aloneFrom / move.BlockSize, 5
	dir := t.TempDir()
	known := func() (n int) {
		b, err := os.ReadFile(filepath.Join(dir, journal.Name))
		if err != nil {
			t.Error(err)
			return blocks
		}
		j, err := journal.Read(b)
		if err == nil && j.Files["f"] != nil { // else the run has just begun
			n = len(j.Files["f"].Blocks)
		}
		return n
	}
	var begun, syncs atomic.Int64
	at := func(point string) {
		switch point {
		case "write":
			if n, had := int(begun.Add(1)), known(); n-had > most {
				t.Errorf("%d blocks were being written while the journal knew %d", n, had)
			}
		case "fdatasync":
			syncs.Add(1)
			for range 10000 { // the others go on as far as they may
				runtime.Gosched()
			}
		}
	}
	p, err := Open(dir, Options{Run: "test", Journal: most * move.BlockSize, At: at}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	f, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, move.BlockSize)
	var leaves [blocks]move.Leaf
	var next atomic.Int64
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < blocks; i = next.Add(1) - 1 {
				x := []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}
				leaves[i] = move.Leaf{Index: i, Hash: move.Sum(move.Fast, x, data)}
				if err := f.Write(context.Background(), move.Block{Index: i, Extents: x, Data: data, Hash: leaves[i].Hash}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if least := int64(blocks/most) - 1; syncs.Load() < least {
		t.Errorf("the journal was written %d times, want at least %d", syncs.Load(), least)
	}
	each := func(yield func(move.Leaf) bool) {
		for _, l := range leaves {
			if !yield(l) {
				return
			}
		}
	}
	if err := f.Commit(t.Context(), move.Root(e.Size, each)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// What the journal could not be told beside the copy ends the writing of what it is to know.
func TestAJournalThatCannotBeWrittenEndsTheFile(t *testing.T) {
	p, err := Open(t.TempDir(), Options{Run: "test", Journal: 4 * move.BlockSize}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	f, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.journal.f.Close(); err != nil {
		t.Fatal(err)
	}
	var failed error
	for i := range int64(aloneFrom / move.BlockSize) {
		b := move.Block{Index: i, Extents: []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}, Data: make([]byte, move.BlockSize)}
		b.Seal(move.Fast)
		if failed = f.Write(t.Context(), b); failed != nil {
			break
		}
	}
	if failed == nil {
		t.Error("all was written")
	}
	_ = errors.Join(f.Abort(true), p.Close()) // the journal is closed already
}
