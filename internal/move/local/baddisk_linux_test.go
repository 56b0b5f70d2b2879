package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"linerate/internal/move"
	"linerate/internal/move/movetest"
	"linerate/internal/move/movetest/baddisk"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
)

// badDisk mounts a disk that fails as it is told; below has what it really holds.
func badDisk(t *testing.T) (d *baddisk.Disk, at, below string) {
	t.Helper()
	at, below = t.TempDir(), t.TempDir()
	d, err := baddisk.Mount(at, below)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, at, below
}

// named are the files that were reported as failed.
func named(r *move.Report) (out []string) {
	_, first, _ := r.Losses()
	for _, l := range first {
		if l.What == move.Failed {
			out = append(out, l.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compareFiles says which files of the source the target has as they are, and fails the test for
// one that it has under its name and with another content.
func compareFiles(t *testing.T, src, dst string) (right []string) {
	t.Helper()
	err := filepath.WalkDir(src, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dst, rel))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s is in the target with another content", rel)
		}
		right = append(right, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return right
}

// A disk that fails in the middle of a copy costs the files that it fails, which are named. Once it
// is well the same copy again has everything, whatever the journal says by then.
func TestADiskThatFailsInTheMiddle(t *testing.T) {
	const large = 70<<20 + 4099
	src := t.TempDir()
	for i := range 12 {
		movetest.Write(t, fmt.Sprintf("%s/d%d/small%02d", src, i%3, i), strings.Repeat("x", 1000+i*100))
	}
	for name, n := range map[string]int{"large": large, "middle": 9 << 20} {
		if err := os.WriteFile(filepath.Join(src, name), movetest.Pattern(n, byte(n)), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	all := compareFiles(t, src, src)
	for name, c := range map[string]struct {
		source bool
		faults []baddisk.Fault
		failed []string // with all others right; nil: the copy stops
	}{
		"a block of the source cannot be read":     {true, []baddisk.Fault{{Op: baddisk.Read, Name: "middle", From: 5 << 20, To: 5<<20 + 1, Err: syscall.EIO}}, []string{"middle"}},
		"the last block of a large source":         {true, []baddisk.Fault{{Op: baddisk.Read, Name: "large", From: large - 1, To: large, Err: syscall.EIO}}, []string{"large"}},
		"a small source":                           {true, []baddisk.Fault{{Op: baddisk.Read, Name: "small07", Err: syscall.EIO}}, []string{"d1/small07"}},
		"a block of the target cannot be written":  {false, []baddisk.Fault{{Op: baddisk.Write, Name: "large", From: 20 << 20, To: 20<<20 + 1, Err: syscall.EIO}}, []string{"large"}},
		"a small target":                           {false, []baddisk.Fault{{Op: baddisk.Write, Name: "small07", Err: syscall.EIO}}, []string{"d1/small07"}},
		"a small one is lost when made durable":    {false, []baddisk.Fault{{Op: baddisk.Sync, Name: "small07", Times: 1, Err: syscall.EIO}}, []string{"d1/small07"}},
		"a large one is lost at its first sync":    {false, []baddisk.Fault{{Op: baddisk.Sync, Name: "large", Times: 1, Err: syscall.EIO}}, []string{"large"}},
		"a large one is lost at its third sync":    {false, []baddisk.Fault{{Op: baddisk.Sync, Name: "large", After: 2, Times: 1, Err: syscall.EIO}}, []string{"large"}},
		"the journal cannot be made durable":       {false, []baddisk.Fault{{Op: baddisk.Sync, Name: "journal", After: 1, Times: 1, Err: syscall.EIO}}, []string{"large"}},
		"the disk is full":                         {false, []baddisk.Fault{{Op: baddisk.Write, Name: "large", From: 30 << 20, To: large, Err: syscall.ENOSPC}}, nil},
		"a quota is reached":                       {false, []baddisk.Fault{{Op: baddisk.Write, Name: "middle", Err: syscall.EDQUOT}}, nil},
		"full when a large one is made durable":    {false, []baddisk.Fault{{Op: baddisk.Sync, Name: "large", After: 1, Times: 1, Err: syscall.ENOSPC}}, nil},
		"no inode is left":                         {false, []baddisk.Fault{{Op: baddisk.Create, Name: "small", After: 4, Err: syscall.ENOSPC}}, nil},
		"nothing can be written from some time on": {false, []baddisk.Fault{{Op: baddisk.Write, After: 6, Err: syscall.EIO}, {Op: baddisk.Sync, After: 3, Err: syscall.EIO}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, at, below := badDisk(t)
			from, to, holds := src, at, below
			if c.source {
				if err := os.CopyFS(below, os.DirFS(src)); err != nil {
					t.Fatal(err)
				}
				from, to = at, t.TempDir()
				holds = to
			}
			s := setup{tree: tree.Options{Direct: true}, place: place.Options{Direct: true, Journal: 16 << 20}, local: Options{Blocks: 1}}
			d.Set(c.faults...)
			r, err := attempt(t, from, to, s)
			if d.Failed() == 0 {
				t.Error("the disk did not fail")
			}
			failed, right := named(r), compareFiles(t, src, holds)
			if stops := errors.Is(err, move.ErrSink); stops != (c.failed == nil) || err != nil && !stops {
				t.Errorf("ended with %v, failed %q", err, failed)
			}
			if c.failed != nil && (!slices.Equal(failed, c.failed) || len(right)+len(failed) != len(all)) {
				t.Errorf("failed %q, want %q; right are %q", failed, c.failed, right)
			}
			if len(failed) == 0 {
				t.Error("no file was named")
			}
			d.Set()
			r, err = run(t, from, to, s)
			if right := compareFiles(t, src, holds); err != nil || !slices.Equal(right, all) || len(named(r)) > 0 {
				t.Errorf("once it is well: %v, right are %q, failed %q", err, right, named(r))
			}
		})
	}
}

// A disk that keeps another bit than it was given, once or always, is found by --verify full: the block is
// written again, or the file fails by name. Whatever happens at a request of it, that is done.
func TestADiskThatKeepsAnotherBitIsFoundInFull(t *testing.T) {
	const size = 9 << 20
	src := t.TempDir()
	for name, n := range map[string]int{"middle": size, "small": 5000} {
		if err := os.WriteFile(filepath.Join(src, name), movetest.Pattern(n, byte(n)), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		times int
	}{{"middle", 1}, {"middle", 0}, {"small", 0}} {
		d, at, below := badDisk(t)
		var renamed, synced atomic.Int32
		note := func(op baddisk.Op, n *atomic.Int32) baddisk.Fault {
			return baddisk.Fault{Op: op, Times: 1, Meet: func() { n.Add(1) }}
		}
		d.Set(baddisk.Fault{Op: baddisk.Write, Name: c.name, From: 4500, To: 4501, Times: c.times, Flip: true}, note(baddisk.Rename, &renamed), note(baddisk.SyncDir, &synced))
		r, err := attempt(t, src, at, full())
		right := compareFiles(t, src, below)
		if failed := named(r); err != nil || len(right)+len(failed) != 2 || c.times == 0 && !slices.Equal(failed, []string{c.name}) {
			t.Errorf("%s, %d times: %v, right are %q, failed %q", c.name, c.times, err, right, failed)
		}
		if renamed.Load() != 1 || synced.Load() != 1 || d.Failed() < 3 {
			t.Errorf("%d renames, %d directories made durable were met, %d faults", renamed.Load(), synced.Load(), d.Failed())
		}
		d.Set()
		if _, err := run(t, src, at, full()); err != nil || len(compareFiles(t, src, below)) != 2 {
			t.Errorf("%s, once it is well: %v", c.name, err)
		}
	}
}
