package place

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
	"linerate/internal/move/movetest/baddisk"
)

// openedAs opens a target that is taken for one of this type of file system.
func openedAs(t *testing.T, dir string, fsType int64) *Place {
	t.Helper()
	p, err := Open(dir, Options{Run: "test", Direct: true}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = fsType
	return p
}

// On a mount a large file has no size before its writes give it one; where its last block has gone from
// the source meanwhile, it gets its size at the end.
func TestALargeFileOnAMountGetsItsSizeFromItsWrites(t *testing.T) {
	for _, fsType := range []int64{unix.NFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC} {
		dir := t.TempDir()
		p := openedAs(t, dir, fsType)
		f, _, err := p.Begin(t.Context(), large("f"))
		if err != nil {
			t.Fatal(err)
		}
		temp := filepath.Join(dir, tempName("f", "test", p.probed))
		if st, err := os.Stat(temp); err != nil || st.Size() != 0 {
			t.Errorf("before its data: %v, %v", st, err)
		}
		b := zeros(2, move.Fast)
		b.Data[5] = 1
		b.Seal(move.Fast)
		root := move.Root(aloneFrom, func(yield func(move.Leaf) bool) { yield(move.Leaf{Index: 2, Hash: b.Hash}) })
		if err := errors.Join(f.Write(t.Context(), b), f.Commit(t.Context(), root), p.Finish(t.Context()), p.Close()); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, aloneFrom)
		want[2*move.BlockSize+5] = 1
		if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// A later run goes on with a file that is not as long yet as its source, but not with one that does not
// reach as far as the journal says.
func TestAFileOnAMountIsGoneOnWithAsFarAsItReaches(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  int64
		had  int
	}{{"as it was left", 4 * move.BlockSize, 2}, {"cut within a block", 4*move.BlockSize - 1, 0}, {"longer than its source", aloneFrom + 1, 0}} {
		dir := t.TempDir()
		p := openedAs(t, dir, unix.SMB2_SUPER_MAGIC)
		f, _, err := p.Begin(t.Context(), large("f"))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int64{1, 3} {
			if err := f.Write(t.Context(), zeros(i, move.Fast)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(f.Abort(true), p.Close()); err != nil {
			t.Fatal(err)
		}
		temp := filepath.Join(dir, tempName("f", "test", p.probed))
		if err := os.Truncate(temp, c.cut); err != nil {
			t.Fatal(err)
		}
		p = openedAs(t, dir, unix.SMB2_SUPER_MAGIC)
		f, have, err := p.Begin(t.Context(), large("f"))
		if err != nil {
			t.Fatal(err)
		}
		if len(have.Leaves) != c.had {
			t.Errorf("%s: goes on with %d blocks, want %d", c.name, len(have.Leaves), c.had)
		}
		if end := f.(*file).end.Load(); end != int64(c.had)/2*c.cut {
			t.Errorf("%s: written to %d", c.name, end)
		}
		if err := errors.Join(f.Abort(false), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSpanOfBlocksHasAllOfEach(t *testing.T) {
	block := func(i int64) journal.Block { return journal.Block{Leaf: move.Leaf{Index: i}} }
	for _, c := range []struct {
		list    []journal.Block
		from, n int64
	}{
		{[]journal.Block{block(0)}, 0, move.BlockSize},
		{[]journal.Block{block(7), block(3), block(5)}, 3 * move.BlockSize, 5 * move.BlockSize},
	} {
		if from, n := span(c.list); from != c.from || n != c.n {
			t.Errorf("%v: %d bytes from %d, want %d from %d", c.list, n, from, c.n, c.from)
		}
	}
}

// Whether a range can be mapped or not, its file system is asked to make it durable, and what that says
// is heard.
func TestASpanIsMadeDurableByItsFileSystem(t *testing.T) {
	at, below := t.TempDir(), t.TempDir()
	d, err := baddisk.Mount(at, below)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, flags := range []int{unix.O_RDWR, unix.O_WRONLY} { // nobody maps what may not be read
		d.Set()
		fd, err := unix.Open(filepath.Join(at, "f"), flags|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		m := mapped(fd, 3*move.BlockSize/2) // longer than it is by now
		if (m != nil) != (flags == unix.O_RDWR) {
			t.Errorf("flags %#x: mapped %d bytes", flags, len(m))
		}
		if _, err := unix.Pwrite(fd, make([]byte, 8192), move.BlockSize); err != nil {
			t.Fatal(err)
		}
		if err := m.sync(fd, move.BlockSize, move.BlockSize); err != nil {
			t.Errorf("flags %#x: %v", flags, err)
		}
		d.Set(baddisk.Fault{Op: baddisk.Sync, Err: syscall.EIO})
		if _, err := unix.Pwrite(fd, make([]byte, 8192), move.BlockSize); err != nil {
			t.Fatal(err)
		}
		if err := m.sync(fd, move.BlockSize, move.BlockSize); !errors.Is(err, unix.EIO) || d.Failed() == 0 {
			t.Errorf("flags %#x, data are lost: %v, asked %d times", flags, err, d.Failed())
		}
		d.Set()
		if err := errors.Join(m.close(), unix.Close(fd)); err != nil {
			t.Error(err)
		}
	}
}
