package place

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// proving is a file of which some blocks are written, of a place that reads again what it wrote, and that
// makes it durable after every block.
func proving(t *testing.T, at func(dir, point string)) (f *file, root move.Hash) {
	t.Helper()
	const blocks = 4
	dir := t.TempDir()
	o := Options{Run: "test", Verify: move.Full, Direct: true, Journal: journalParts, At: func(point string) { at(dir, point) }}
	p, err := Open(dir, o, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	to, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, move.BlockSize)
	var leaves []move.Leaf
	for i := range int64(blocks) {
		data[0] = byte(i)
		x := []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}
		b := move.Block{Index: i, Extents: x, Data: data}
		b.Seal(move.Full)
		leaves = append(leaves, move.Leaf{Index: i, Hash: b.Hash})
		if err := to.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		p.journal.rest()
	}
	return to.(*file), move.Root(e.Size, func(yield func(move.Leaf) bool) {
		for _, l := range leaves {
			if !yield(l) {
				return
			}
		}
	})
}

// unprove has all blocks of a file read again once more.
func unprove(f *file) {
	f.proving.Lock() // who reads now has ended
	defer f.proving.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range f.blocks {
		w.proven = false
		f.blocks[i] = w
	}
}

func TestBlocksAreReadAgainBesideTheWritingOfOthers(t *testing.T) {
	f, root := proving(t, func(string, string) {})
	f.proving.Lock() // who reads now has ended
	if left := len(f.unproven(false)); left == 4 {
		t.Error("no block was read again before the last was written")
	}
	f.proving.Unlock()
	if err := f.Commit(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if left := len(f.unproven(false)); left > 0 {
		t.Errorf("%d blocks were not read again", left)
	}
}

// A block is on its way from the disk while another is compared: where one is held up, the next is begun.
func TestSeveralBlocksAreReadAgainAtOnce(t *testing.T) {
	var begun atomic.Int64
	second := make(chan struct{})
	var last atomic.Bool // the file is whole
	f, root := proving(t, func(_, point string) {
		if point != "prove" || !last.Load() {
			return
		}
		if begun.Add(1) == 2 {
			close(second)
		}
		select {
		case <-second:
		case <-time.After(30 * time.Second):
			t.Error("one block is read again at a time")
		}
	})
	unprove(f)
	last.Store(true)
	if err := f.Commit(t.Context(), root); err != nil {
		t.Fatal(err)
	}
}

// However many files are read again at once, their buffers are bounded.
func TestTheBuffersOfFilesThatAreReadAgainAreBounded(t *testing.T) {
	var counted atomic.Bool
	var reading, most atomic.Int64
	full := make(chan struct{})
	whole := sync.OnceFunc(func() { close(full) })
	f, root := proving(t, func(_, point string) {
		if point != "prove" || !counted.Load() {
			return
		}
		n := reading.Add(1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		if n == proveBuffers {
			whole()
		}
		<-full
	})
	unprove(f)
	counted.Store(true)
	var g errgroup.Group
	for range 2*proveBuffers/provers + 1 {
		g.Go(func() error { return f.readBack(f.ordered(), never, func(written) { reading.Add(-1) }) })
	}
	if err := g.Wait(); err != nil || most.Load() != proveBuffers {
		t.Errorf("%d blocks were read again at once, want %d: %v", most.Load(), proveBuffers, err)
	}
	counted.Store(false)
	if err := f.Commit(t.Context(), root); err != nil {
		t.Error(err)
	}
}

// Whether the target spoils a block before it is first made durable, or the last before the file is
// whole: the file does not get its name.
func TestABlockThatTheTargetSpoilsIsFoundWheneverItIsReadAgain(t *testing.T) {
	for name, when := range map[string]int{"the first": 0, "the last": 3} {
		t.Run(name, func(t *testing.T) {
			syncs, in := 0, ""
			f, root := proving(t, func(dir, point string) {
				if in = dir; point != "fdatasync" {
					return
				}
				if syncs++; syncs-1 == when {
					spoil(t, filepath.Join(dir, ".f.linerate-test"), int64(when)*move.BlockSize+12345)
				}
			})
			err := f.Commit(t.Context(), root)
			if err == nil || !strings.Contains(err.Error(), "holds something else than was written") {
				t.Errorf("%v, after %d times durable", err, syncs)
			}
			if names, err := filepath.Glob(filepath.Join(in, "f")); err != nil || len(names) > 0 {
				t.Errorf("%v %v", names, err)
			}
		})
	}
}

// spoil changes one byte.
func spoil(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{0xff}, at)
	}
	if err != nil {
		t.Error(err)
		return
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
