package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// What a server was asked ahead spares questions, and nothing else: the root gets what it has to, also
// where somebody has changed it since.
func TestTheRootIsDescribedAlsoWhereItWasAskedAbout(t *testing.T) {
	for _, fsType := range []int64{unix.NFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC} {
		dir, r := t.TempDir(), move.NewReport(nil)
		p, err := Open(dir, Options{Run: "test"}, r)
		if err != nil {
			t.Fatal(err)
		}
		p.fsType = fsType
		at := move.Time{Sec: 1_000_000_000}
		root := &move.Entry{Kind: move.Directory, Mode: 0o750, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Mtime: at}
		if err := errors.Join(p.Make(t.Context(), root), p.askAhead(), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		if !p.bare.Load() {
			t.Error("it has attributes of ours")
		}
		if d, _ := p.dir(""); (d.hands.Load() == handsNothing) != (fsType == unix.SMB2_SUPER_MAGIC) {
			t.Errorf("%x: the root hands down: %v", fsType, d.hands.Load())
		}
		if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
			t.Fatal(err)
		}
		looksAs(t, dir, 0o750, time.Unix(at.Sec, 0))
	}
}

// An attribute that the root had, or that it hands down, is seen.
func TestAttributesOfTheRootAreSeenAhead(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Setxattr(dir, "user.old", []byte("x"), 0); err != nil {
		t.Skipf("no attributes here: %v", err)
	}
	p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.SMB2_SUPER_MAGIC
	if err := unix.Fsetxattr(int(p.journal.f.Fd()), "user.handed", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if err := p.askAhead(); err != nil || p.bare.Load() {
		t.Errorf("bare %v: %v", p.bare.Load(), err)
	}
	if d, _ := p.dir(""); d.hands.Load() == handsNothing {
		t.Error("what the journal has was handed down")
	}
	root := &move.Entry{Kind: move.Directory, Mode: 0o750, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if err := errors.Join(p.Make(t.Context(), root), p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Getxattr(dir, "user.old", nil); err == nil {
		t.Errorf("the root kept an attribute of %d bytes", n)
	}
}

// The end of a place waits for what is asked beside, and holds nothing meanwhile that this wants.
func TestAPlaceIsClosedWhileItsServerIsAsked(t *testing.T) {
	p, err := Open(t.TempDir(), Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.SMB2_SUPER_MAGIC
	p.mu.Lock()
	p.journal.beside.Go(p.askAhead)
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	p.mu.Unlock()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}

// A file of which all was written is made durable by its end, and not by the journal beside it.
func TestTheLastBlockOfAFileBeginsNoAppend(t *testing.T) {
	for _, blocks := range []int64{aloneFrom / move.BlockSize, aloneFrom/move.BlockSize + 1} {
		appends := 0
		p, err := Open(t.TempDir(), Options{Run: "test", At: func(point string) {
			if point == "append" {
				appends++
			}
		}}, move.NewReport(nil))
		if err != nil {
			t.Fatal(err)
		}
		p.journal.last = time.Now().Add(24 * time.Hour) // none is due by time
		e := large("f")
		e.Size = blocks * move.BlockSize
		f, _, err := p.Begin(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			if err := f.Write(t.Context(), zeros(i, move.Fast)); err != nil {
				t.Fatal(err)
			}
			p.journal.rest()
		}
		if want := int(blocks - aloneFrom/move.BlockSize); appends != want {
			t.Errorf("%d blocks: %d appends", blocks, appends)
		}
		if err := errors.Join(f.Abort(false), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A mount of SMB is taken to fold case: one that does not keeps both of two names that differ in that
// alone, and has either replaced.
func TestATargetThatIsTakenToFoldCaseKeepsBothNames(t *testing.T) {
	dir := t.TempDir()
	for run, text := range []string{"first", "other text"} {
		r := move.NewReport(nil)
		p, err := Open(dir, Options{Run: "test"}, r)
		if err != nil {
			t.Fatal(err)
		}
		p.probed = true
		for _, name := range []string{"name", "NAME"} {
			e := &move.Entry{Path: name, Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: int64(len(text)), Links: 1}
			b := move.Block{Extents: []move.Extent{{Length: e.Size}}, Data: []byte(text)}
			b.Seal(move.Fast)
			if err := p.Put(t.Context(), e, b); err != nil {
				t.Errorf("run %d, %s: %v", run, name, err)
			}
		}
		if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"name", "NAME"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
				t.Errorf("run %d: %s holds %q: %v", run, name, b, err)
			}
		}
		if counts, _, err := r.Losses(); err != nil || len(counts) > 0 {
			t.Errorf("run %d: lost %v: %v", run, counts, err)
		}
	}
}

// What a server has not got of a large file is bounded: a block waits for the one so far before it, and
// where that was lost the file is. Elsewhere, and for the first ones, there is nothing to wait for.
func TestABlockFollowsTheOneThatTheServerHas(t *testing.T) {
	for _, x := range []struct {
		nfs   bool
		index int64
		lost  bool
	}{{true, cachedAhead - 1, false}, {true, cachedAhead, true}, {false, cachedAhead, false}} {
		p, err := Open(t.TempDir(), Options{Run: "test"}, move.NewReport(nil))
		if err != nil {
			t.Fatal(err)
		}
		e := large("f")
		e.Size = (cachedAhead + 1) * move.BlockSize
		sf, _, err := p.Begin(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		f := sf.(*file)
		f.d.nfs, f.d.remote = x.nfs, x.nfs
		if err := f.Write(t.Context(), zeros(x.index, move.Fast)); err != nil {
			t.Error(err)
		}
		fd := f.fd
		f.fd = -1 // no wait ends well
		err = f.follow(x.index)
		if (err != nil) != x.lost || (f.isLost() != nil) != x.lost {
			t.Errorf("%+v: %v, lost: %v", x, err, f.isLost())
		}
		f.fd = fd
		if x.lost && f.Write(t.Context(), zeros(x.index, move.Fast)) == nil {
			t.Error("it is written on")
		}
		if err := errors.Join(f.Abort(false), p.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Of lost data the kernel tells one who asks: the journal waits for a writer that may have been told.
func TestTheJournalHearsOfWhatAWriterWasTold(t *testing.T) {
	var f file
	f.following.RLock()
	heard := make(chan bool)
	go func() { heard <- f.toldOthers() }()
	err := errors.New("lost")
	f.lost.Store(&err)
	f.following.RUnlock()
	if !<-heard {
		t.Error("the data count as durable")
	}
}
