package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
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

// Where the report is told after Finish, what the target itself loses is in it by then.
func TestWhatTheTargetOfNFSLosesIsToldAtFinish(t *testing.T) {
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test", Told: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.NFS_SUPER_MAGIC
	at := move.Time{Sec: 1_000_000_000}
	root := &move.Entry{Kind: move.Directory, Mode: 0o750, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Mtime: at, Xattrs: []move.Xattr{{Name: "nowhere.x", Value: []byte("1")}}}
	if err := errors.Join(p.Make(t.Context(), root), p.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	counts, _, err := r.Losses()
	if err != nil || counts[move.LostXattr] != 1 {
		t.Errorf("lost %v, %v", counts, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	looksAs(t, dir, 0o750, time.Unix(at.Sec, 0))
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

// On NFS a temporary file is made without O_EXCL: what has its name already is left as it is.
func TestWhatHasATemporaryNameOfNFSIsNotWritten(t *testing.T) {
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.NFS_SUPER_MAGIC
	temp := filepath.Join(dir, tempName("f", "test", false))
	if err := os.WriteFile(temp, []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, b := small("f", "content")
	if err := p.Put(t.Context(), e, b); err == nil {
		t.Error("it was written")
	}
	if got, err := os.ReadFile(temp); err != nil || string(got) != "of somebody else" {
		t.Errorf("%q, %v", got, err)
	}
	e, b = small("g", "content") // there others go on, and have their names at once
	if err := p.Put(t.Context(), e, b); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "g")); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Error(err)
	}
}

// Whoever has locked a journal that has lost its name since does not take it for the target's.
func TestAJournalThatLostItsNameIsNotTheTargets(t *testing.T) {
	p, _, dir := openPlace(t)
	var is unix.Stat_t
	if err := unix.Fstat(int(p.journal.f.Fd()), &is); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, journal.Name)
	for _, fs := range []int64{unix.NFS_SUPER_MAGIC, unix.EXT4_SUPER_MAGIC} {
		p.fsType = fs
		if same, err := p.named(&is); err != nil || !same {
			t.Errorf("it has its name: %v, %v", same, err)
		}
		if err := os.Rename(at, at+".gone"); err != nil {
			t.Fatal(err)
		}
		if same, err := p.named(&is); err != nil || same {
			t.Errorf("nothing has its name: %v, %v", same, err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if same, err := p.named(&is); err != nil || same {
			t.Errorf("another has its name: %v, %v", same, err)
		}
		if err := os.Rename(at+".gone", at); err != nil {
			t.Fatal(err)
		}
	}
}

// Directories are described several at once, but none before what it holds: its mode may lock it.
func TestOnAServerADirectoryIsDescribedAfterWhatItHolds(t *testing.T) {
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	p.fsType = unix.SMB2_SUPER_MAGIC
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	var paths []string
	for _, a := range []string{"a", "b", "c"} {
		paths = append(paths, a)
		for i := range 20 {
			paths = append(paths, filepath.Join(a, string(rune('a'+i))), filepath.Join(a, string(rune('a'+i)), "x"))
		}
	}
	for i, path := range append([]string{""}, paths...) {
		e := &move.Entry{Path: path, Kind: move.Directory, Mode: 0o500, UID: uid, GID: gid, Mtime: move.Time{Sec: int64(1_000_000 + i)}}
		if err := p.Make(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	for i, path := range append([]string{""}, paths...) {
		looksAs(t, filepath.Join(dir, path), 0o500, time.Unix(int64(1_000_000+i), 0))
	}
	if counts, _, _ := r.Losses(); len(counts) > 0 {
		t.Error(counts)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Error(err)
	}
}

// What a killed run left, and a client of SMB keeps open, cannot be removed: the file is written under
// another name meanwhile, the copy says what is left, and a later one removes it.
func TestAFileIsWrittenWhileALeftOverOfItCannotBeRemoved(t *testing.T) {
	dir := t.TempDir()
	open := func() *Place {
		t.Helper()
		p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
		if err != nil {
			t.Fatal(err)
		}
		p.fsType = unix.SMB2_SUPER_MAGIC
		return p
	}
	p := open()
	f, _, err := p.Begin(t.Context(), large("f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), zeros(0, move.Fast)), f.Abort(true), p.Close()); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, tempName("f", "test", p.probed))
	if err := errors.Join(os.Remove(left), os.Mkdir(left, 0o700)); err != nil { // no unlink removes it
		t.Fatal(err)
	}
	p = open()
	if f, _, err = p.Begin(t.Context(), large("f")); err != nil {
		t.Fatal(err)
	}
	b := zeros(3, move.Fast)
	root := move.Root(aloneFrom, func(yield func(move.Leaf) bool) { yield(move.Leaf{Index: 3, Hash: b.Hash}) })
	if err := errors.Join(f.Write(t.Context(), b), f.Commit(t.Context(), root)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context()); err == nil || !strings.Contains(err.Error(), filepath.Base(left)) {
		t.Errorf("of what is left: %v", err)
	}
	if err := errors.Join(p.Close(), os.Remove(left), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	p = open()
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "f" {
		t.Errorf("in the target: %v, %v", list, err)
	}
}

// Where a client of SMB has made a large file durable with its time, it is not asked to once more; what
// is known to be lost of it stays lost.
func TestALargeFileThatItsTimeMadeDurableIsNotSyncedAgain(t *testing.T) {
	for _, lost := range []bool{false, true} {
		dir := t.TempDir()
		p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
		if err != nil {
			t.Fatal(err)
		}
		p.fsType = unix.SMB2_SUPER_MAGIC
		sf, _, err := p.Begin(t.Context(), large("f"))
		if err != nil {
			t.Fatal(err)
		}
		f, b := sf.(*file), zeros(0, move.Fast)
		f.d.timeSyncs = true
		if err := f.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if lost {
			err := error(unix.EIO)
			f.lost.Store(&err)
		}
		fd := f.fd
		f.fd, f.flushed = -1, true // a sync fails
		if err := f.settled(); (err != nil) != lost {
			t.Errorf("lost %v, settled: %v", lost, err)
		}
		f.fd, f.flushed = fd, false
		root := move.Root(aloneFrom, func(yield func(move.Leaf) bool) { yield(move.Leaf{Index: 0, Hash: b.Hash}) })
		err = f.Commit(t.Context(), root)
		if !f.flushed || errors.Is(err, unix.EIO) != lost {
			t.Errorf("lost %v, flushed %v: %v", lost, f.flushed, err)
		}
		if _, serr := os.Stat(filepath.Join(dir, "f")); (serr != nil) != lost {
			t.Errorf("lost %v: %v", lost, serr)
		}
		if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
			t.Error(err)
		}
	}
}

// What the journal's sync beside is told of, after a large file was settled, nothing else hears: the file
// gets no name.
func TestALargeFileThatIsLostBesideItsEndGetsNoName(t *testing.T) {
	var lose atomic.Pointer[file]
	in := ""
	f, root := proving(t, func(dir, point string) {
		if in = dir; point != "prove" {
			return
		}
		if f := lose.Load(); f != nil {
			err := error(unix.EIO)
			f.lost.Store(&err)
		}
	})
	unprove(f)
	f.d.timeSyncs = true
	lose.Store(f)
	if err := f.Commit(t.Context(), root); !f.flushed || !errors.Is(err, unix.EIO) {
		t.Errorf("flushed %v: %v", f.flushed, err)
	}
	if _, err := os.Stat(filepath.Join(in, "f")); err == nil {
		t.Error("it has its name")
	}
}

// Before files get their names a client of SMB is asked about all of some at once, another one about none.
func TestAClientOfSMBIsAskedAboutSomeFilesAtOnce(t *testing.T) {
	for fs, want := range map[int64]int{unix.SMB2_SUPER_MAGIC: namedNext, unix.NFS_SUPER_MAGIC: 0, unix.EXT4_SUPER_MAGIC: 0} {
		d := &dir{remote: isRemote(fs), nfs: fs == unix.NFS_SUPER_MAGIC}
		var all sync.WaitGroup
		all.Add(want)
		var asked atomic.Int64
		files := make([]*file, namedNext)
		for i := range files {
			files[i] = &file{d: d}
		}
		refresh(files, func(*file) {
			asked.Add(1)
			all.Done()
			all.Wait() // ends if they are asked about at once
		})
		if int(asked.Load()) != want {
			t.Errorf("%x: asked about %d, want %d", fs, asked.Load(), want)
		}
	}
}

// More files than are made, asked about and named at once get their names in a directory of SMB: each at
// once where the server is near, else together.
func TestManyFilesOfADirectoryOfSMBGetTheirNames(t *testing.T) {
	for _, near := range []bool{true, false} {
		manyOfSMB(t, near)
	}
}

func manyOfSMB(t *testing.T, near bool) {
	t.Helper()
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	p.fsType, p.near = unix.SMB2_SUPER_MAGIC, near
	const many = 5*namedNext + 1
	var g errgroup.Group
	for i := range many {
		g.Go(func() error {
			e, b := small(fmt.Sprintf("f%03d", i), "content")
			return p.Put(t.Context(), e, b)
		})
	}
	err = g.Wait()
	if waiting := len(p.batch.files); (waiting == 0) != near {
		t.Errorf("near %v: %d files wait for their names", near, waiting)
	}
	if err := errors.Join(err, p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != many || list[0].Name() != "f000" || list[many-1].Name() != fmt.Sprintf("f%03d", many-1) {
		t.Errorf("%d files, %v", len(list), err)
	}
	if counts, _, _ := r.Losses(); len(counts) > 0 {
		t.Error(counts)
	}
}
