package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// What is done otherwise on a mount of NFS leaves the same: the file whole and with its metadata, the
// directory with its time, no journal and nothing under another name.
func TestATargetTakenForNFSIsLeftAsAnyOther(t *testing.T) {
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test", Direct: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.NFS_SUPER_MAGIC
	at := move.Time{Sec: 1_000_000_000}
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	root := &move.Entry{Kind: move.Directory, Mode: 0o750, UID: uid, GID: gid, Mtime: at}
	if err := p.Make(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	const blocks = 9 // from directFrom on, below aloneFrom, the last one first
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uid, GID: gid, Mtime: at, Size: blocks * move.BlockSize, Links: 1}
	f, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if f.(*file).direct >= 0 {
		t.Error("past the cache every block waits for the server's disk")
	}
	leaves := make([]move.Leaf, blocks)
	for i := int64(blocks) - 1; i >= 0; i-- {
		b := move.Block{Index: i, Extents: []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}, Data: make([]byte, move.BlockSize)}
		b.Data[0] = byte(i)
		b.Seal(move.Fast)
		leaves[i] = move.Leaf{Index: i, Hash: b.Hash}
		if err := f.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	sum := move.Root(e.Size, func(yield func(move.Leaf) bool) {
		for _, l := range leaves {
			if !yield(l) {
				return
			}
		}
	})
	if err := errors.Join(f.Commit(t.Context(), sum), p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	looksAs(t, dir, 0o750, time.Unix(at.Sec, 0))
	looksAs(t, filepath.Join(dir, "f"), 0o644, time.Unix(at.Sec, 0))
	counts, _, err := r.Losses()
	if s := r.Summary(); err != nil || s.Files != 1 || len(counts) > 0 {
		t.Errorf("%+v, lost %v, %v", s, counts, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("in the target: %v, %v", list, err)
	}
}

func looksAs(t *testing.T, path string, mode fs.FileMode, at time.Time) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != mode || !st.ModTime().Equal(at) {
		t.Errorf("%s: mode %v of %v", path, st.Mode(), st.ModTime())
	}
}

// A second copy is refused from the first one's beginning to its end, also where the journal gets
// another name before it goes.
func TestTheJournalOfNFSIsHeldUntilItsNameIsGone(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.NFS_SUPER_MAGIC
	var busy *BusyError
	if _, err := Open(dir, Options{Run: "other"}, move.NewReport(nil)); !errors.As(err, &busy) {
		t.Errorf("beside it: %v", err)
	}
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	next, err := Open(dir, Options{Run: "other"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(next.Finish(t.Context()), next.Close()); err != nil {
		t.Error(err)
	}
}
