package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
	"linerate/internal/move/movetest/baddisk"
)

// After a kill the client of SMB opens neither journal nor file at first, and tells the next who opens them of
// data that the killed run lost: that is waited for, and what the journal tells of is gone on with, unless it is
// not there as it was written.
func TestWhatAKilledRunLeftOnSMBIsGoneOnWith(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil bool
		had   int
	}{{"as it was left", false, 2}, {"with another byte", true, 0}} {
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
		open := func() *Place {
			t.Helper()
			p, err := openOn(unix.SMB2_SUPER_MAGIC, at, Options{Run: "test"}, move.NewReport(nil))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := open()
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
		temp := tempName("f", "test", true)
		if c.spoil {
			spoil(t, filepath.Join(below, temp), 3*move.BlockSize+7)
		}
		faults := []baddisk.Fault{
			{Op: baddisk.Open, Name: journal.Name, Times: 1, Err: unix.EIO},
			{Op: baddisk.Sync, Name: journal.Name, Times: 2, Err: unix.EBADF}, // until it is opened anew
			{Op: baddisk.Sync, Name: journal.Name, Times: 1, Err: unix.ENOSPC},
			{Op: baddisk.Open, Name: temp, Times: 1, Err: unix.EIO},
			{Op: baddisk.Open, Name: temp, Times: 1, Err: unix.EFAULT},
			{Op: baddisk.Sync, Name: temp, Times: 2, Err: unix.EBADF},
			{Op: baddisk.Sync, Name: temp, Times: 1, Err: unix.ECONNABORTED},
		}
		met := 0
		for _, x := range faults {
			met += x.Times
		}
		d.Set(faults...)
		p = open()
		f, have, err := p.Begin(t.Context(), large("f"))
		if err != nil {
			t.Fatal(err)
		}
		if len(have.Leaves) != c.had || d.Failed() != met {
			t.Errorf("%s: goes on with %d blocks, want %d; %d faults were met", c.name, len(have.Leaves), c.had, d.Failed())
		}
		root := goOn(t, f, have.Leaves)
		if err := errors.Join(f.Commit(t.Context(), root), p.Finish(t.Context()), p.Close()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		list, err := os.ReadDir(below)
		if err != nil || len(list) != 1 || list[0].Name() != "f" {
			t.Errorf("%s: in the target: %v, %v", c.name, list, err)
		}
	}
}

// goOn writes the blocks of large that a file does not have, and gives its root hash.
func goOn(t *testing.T, f move.SinkFile, have []move.Leaf) move.Hash {
	t.Helper()
	has := map[int64]bool{}
	for _, l := range have {
		has[l.Index] = true
	}
	var leaves []move.Leaf
	for i := range int64(aloneFrom / move.BlockSize) {
		b := zeros(i, move.Fast)
		leaves = append(leaves, move.Leaf{Index: i, Hash: b.Hash})
		if has[i] {
			continue
		}
		if err := f.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return move.Root(aloneFrom, func(yield func(move.Leaf) bool) {
		for _, l := range leaves {
			if !yield(l) {
				return
			}
		}
	})
}

// The wait for a client begins with its first answer, which itself may take long.
func TestPatienceBeginsWithTheFirstAnswerAndEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		errs   []error // of one try after another; the last one of all that follow
		err    error
		atMost time.Duration
	}{
		{"at once", []error{nil}, nil, 0},
		{"another error", []error{unix.ENOENT}, unix.ENOENT, 0},
		{"busy for a while", []error{unix.EIO, unix.EFAULT, unix.EBUSY, nil}, nil, time.Second},
		{"busy, then another error", []error{unix.EIO, unix.ENOENT}, unix.ENOENT, time.Second},
		{"busy without end", []error{unix.EIO}, unix.EIO, smbWaits + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			const first = 7 * time.Second
			tries, begun := 0, time.Now()
			err := patiently(isBusy, func() error {
				if tries++; tries == 1 {
					time.Sleep(first)
				}
				return c.errs[min(tries, len(c.errs))-1]
			})
			took := time.Since(begun) - first
			if !errors.Is(err, c.err) || took > c.atMost {
				t.Errorf("%s: %v after %v", c.name, err, took)
			}
			if c.err == unix.EIO && took < smbWaits {
				t.Errorf("%s: given up after %v", c.name, took)
			}
		})
	}
}
