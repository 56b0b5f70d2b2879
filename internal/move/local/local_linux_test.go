package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/movetest"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
)

// setup is one copy of a test.
type setup struct {
	tree  tree.Options
	place place.Options
	local Options
	wrap  func(move.Source) move.Source
}

func run(t *testing.T, src, dst string, s setup) (*move.Report, error) {
	t.Helper()
	r, err := attempt(t, src, dst, s)
	leftovers(t, dst)
	return r, err
}

// attempt is a copy that may keep what a later one goes on with.
func attempt(t *testing.T, src, dst string, s setup) (*move.Report, error) {
	t.Helper()
	r := move.NewReport(nil)
	from, err := tree.Open([]tree.Top{{Dir: src}}, s.tree, r)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	s.place.Run = "test"
	to, err := place.Open(dst, s.place, r)
	if err != nil {
		t.Fatal(err)
	}
	var source move.Source = from
	if s.wrap != nil {
		source = s.wrap(from)
	}
	_, err = Copy(context.Background(), source, to, r, s.local)
	if cerr := to.Close(); cerr != nil {
		t.Error(cerr)
	}
	return r, err
}

// leftovers finds temporary files.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	for path := range movetest.Describe(t, dir) {
		if strings.Contains(path, "linerate-test") {
			t.Errorf("%q was left", path)
		}
	}
}

func full() setup {
	return setup{tree: tree.Options{Verify: move.Full, Direct: true}, place: place.Options{Verify: move.Full, Direct: true}, local: Options{Verify: move.Full}}
}

func fast() setup {
	return setup{tree: tree.Options{Direct: true}, place: place.Options{Direct: true}, local: Options{Clone: true}}
}

func lossless(t *testing.T, r *move.Report) {
	t.Helper()
	if counts, first, _ := r.Losses(); len(counts) > 0 {
		t.Errorf("%v: %+v", counts, first)
	}
}

func TestAHostileTreeArrivesWhole(t *testing.T) {
	for name, s := range map[string]setup{"fast": fast(), "full": full(), "one at a time": {local: Options{Files: 1, Blocks: 1}}} {
		src, dst := t.TempDir(), t.TempDir()
		movetest.Hostile(t, src)
		if err := os.WriteFile(src+"/huge", movetest.Pattern(70<<20+4099, 5), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := run(t, src, dst, s)
		if err != nil {
			t.Fatal(name, err)
		}
		lossless(t, r)
		movetest.Same(t, src, dst)
		if got := movetest.Allocated(t, dst+"/sparse"); got > 1<<20 {
			t.Errorf("%s: the sparse file has %d bytes on disk", name, got)
		}
		if sum := r.Summary(); sum.HardLinks != 2 || sum.Symlinks != 4 || sum.Specials < 1 || sum.Same != 0 {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

func TestASecondCopyMovesNothing(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	movetest.Hostile(t, src)
	if _, err := run(t, src, dst, fast()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dst+"/large", 0o777), os.WriteFile(src+"/plain", []byte("other"), 0o600), os.Remove(dst+"/fifo"), os.Remove(dst+"/link"), os.Symlink("other", dst+"/link")); err != nil {
		t.Fatal(err)
	}
	r, err := run(t, src, dst, fast())
	if err != nil {
		t.Fatal(err)
	}
	lossless(t, r)
	movetest.Same(t, src, dst)
	if sum := r.Summary(); sum.Bytes != 5 || sum.Files != 1 || sum.Same < 10 {
		t.Errorf("%+v", sum)
	}
}

// What stands in the way is replaced, unless it is a directory that holds anything.
func TestOtherKindsAreReplacedFullDirectoriesAreNot(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/dir/f", "1")
	movetest.Write(t, src+"/file", "2")
	movetest.Write(t, src+"/full", "3")
	movetest.Write(t, dst+"/dir", "in the way")
	movetest.Write(t, dst+"/full/of/it", "kept")
	if err := os.Mkdir(dst+"/file", 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := run(t, src, dst, fast())
	if err != nil {
		t.Fatal(err)
	}
	counts, first, _ := r.Losses()
	if counts[move.Failed] != 1 || first[0].Path != "full" || !strings.Contains(first[0].Detail, "not empty") {
		t.Errorf("%+v", first)
	}
	for path, want := range map[string]string{"dir/f": "1", "file": "2", "full/of/it": "kept"} {
		if b, err := os.ReadFile(filepath.Join(dst, path)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}

// swapping replaces a directory of the target by a link to elsewhere while files come.
type swapping struct {
	move.Source
	at   string
	swap func() error
}

func (s swapping) Scan(ctx context.Context, yield func(*move.Entry) error) error {
	return s.Source.Scan(ctx, func(e *move.Entry) error {
		err := yield(e)
		if e.Path == s.at && err == nil {
			err = s.swap()
		}
		return err
	})
}

func TestNothingIsWrittenThroughALinkThatTookADirectorysPlace(t *testing.T) {
	src, dst, outside := t.TempDir(), t.TempDir(), t.TempDir()
	for i := range 20 {
		movetest.Write(t, fmt.Sprintf("%s/d/sub%d/f", src, i), "x")
	}
	s := fast()
	s.wrap = func(from move.Source) move.Source {
		return swapping{from, "d", func() error {
			return errors.Join(os.Rename(dst+"/d", dst+"/moved"), os.Symlink(outside, dst+"/d"))
		}}
	}
	r, err := run(t, src, dst, s)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("%v was written outside", names)
	}
	if counts, _, _ := r.Losses(); counts[move.Failed] == 0 {
		t.Error("nothing is said to have failed")
	}
}

// A link in the way of a directory is replaced, not followed.
func TestALinkInTheWayIsNotFollowed(t *testing.T) {
	src, dst, outside := t.TempDir(), t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/d/f", "x")
	movetest.Write(t, src+"/g", "y")
	movetest.Write(t, outside+"/g", "outside")
	if err := errors.Join(os.Symlink(outside, dst+"/d"), os.Symlink(outside+"/g", dst+"/g")); err != nil {
		t.Fatal(err)
	}
	r, err := run(t, src, dst, fast())
	if err != nil {
		t.Fatal(err)
	}
	lossless(t, r)
	movetest.Same(t, src, dst)
	if b, _ := os.ReadFile(outside + "/g"); string(b) != "outside" {
		t.Errorf("written through a link: %q", b)
	}
	if _, err := os.Stat(outside + "/f"); err == nil {
		t.Error("written through a link")
	}
}

// changing changes files of the source while they are read, so many times each.
type changing struct {
	move.Source
	dir   string
	times map[string]int
}

func (s changing) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := s.Source.Open(ctx, e)
	if s.times[e.Path] > 0 && err == nil {
		s.times[e.Path]--
		err = os.WriteFile(filepath.Join(s.dir, e.Path), movetest.Pattern(int(e.Size)+1, byte(s.times[e.Path])), 0o644)
	}
	return f, err
}

func TestASourceThatChangesOnceIsCopiedTwiceFails(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	for _, name := range []string{"once", "twice"} {
		movetest.Write(t, filepath.Join(src, name), "small")
		movetest.Write(t, filepath.Join(src, name+"-large"), string(movetest.Pattern(5<<20, 1)))
		movetest.Write(t, filepath.Join(dst, name+"-large"), "as it was")
	}
	s := fast()
	s.local.Files, s.local.Clone = 1, false
	s.wrap = func(from move.Source) move.Source {
		return changing{from, src, map[string]int{"once": 1, "once-large": 1, "twice": 2, "twice-large": 2}}
	}
	r, err := run(t, src, dst, s)
	if err != nil {
		t.Fatal(err)
	}
	counts, first, _ := r.Losses()
	if counts[move.Failed] != 2 || !strings.HasPrefix(first[0].Path, "twice") || !strings.HasPrefix(first[1].Path, "twice") || r.Summary().Retried != 4 {
		t.Errorf("%+v, %+v", r.Summary(), first)
	}
	var there int64 // of what was copied
	for _, name := range []string{"once", "once-large"} {
		st, err := os.Stat(filepath.Join(dst, name))
		if err != nil {
			t.Fatal(err)
		}
		there += st.Size()
	}
	if m := r.Summary(); m.Kept() != there || m.Vain <= 5<<20 {
		t.Errorf("%d of %d bytes count as copied, and %d are there", m.Kept(), m.Bytes, there)
	}
	want, got := movetest.Describe(t, src), movetest.Describe(t, dst)
	for _, name := range []string{"once", "once-large"} {
		if got[name] != want[name] {
			t.Errorf("%s is %s, want %s", name, got[name], want[name])
		}
	}
	if b, _ := os.ReadFile(dst + "/twice-large"); string(b) != "as it was" || got["twice"] != "" {
		t.Errorf("a file that failed was changed: %q, %s", b, got["twice"])
	}
}

// flipping spoils blocks after they were hashed.
type flipping struct {
	move.Source
	times *int
}

type flippingFile struct {
	move.SourceFile
	times *int
}

func (s flipping) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := s.Source.Open(ctx, e)
	return flippingFile{f, s.times}, err
}

func (f flippingFile) Read(ctx context.Context, i int64, buf []byte) (move.Block, error) {
	b, err := f.SourceFile.Read(ctx, i, buf)
	if *f.times > 0 && err == nil {
		*f.times--
		b.Data[len(b.Data)/2] ^= 0x10
	}
	return b, err
}

func TestABitThatFlipsInMemoryIsFoundAndTheBlockReadAgain(t *testing.T) {
	for times, fails := range map[int]int64{2: 0, 100: 1} {
		src, dst := t.TempDir(), t.TempDir()
		movetest.Write(t, src+"/f", string(movetest.Pattern(5<<20, 1)))
		s, n := fast(), times
		s.local = Options{Files: 1, Blocks: 1}
		s.wrap = func(from move.Source) move.Source { return flipping{from, &n} }
		r, err := run(t, src, dst, s)
		if err != nil {
			t.Fatal(err)
		}
		if counts, _, _ := r.Losses(); counts[move.Failed] != fails {
			t.Errorf("%d flips: %v", times, counts)
		}
		if fails == 0 {
			movetest.Same(t, src, dst)
		} else if _, err := os.Stat(dst + "/f"); err == nil {
			t.Error("a wrong file has its name")
		}
	}
}

func TestATargetThatIsFullEndsTheCopyAndLeavesNoHalfFile(t *testing.T) {
	dst := t.TempDir()
	if err := unix.Mount("tmpfs", dst, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("mount a small tmpfs: %v", err)
	}
	defer unix.Unmount(dst, unix.MNT_DETACH)
	src := t.TempDir()
	for i := range 10 {
		movetest.Write(t, fmt.Sprintf("%s/f%d", src, i), string(movetest.Pattern(5<<20, byte(i))))
	}
	r, err := run(t, src, dst, fast())
	if !errors.Is(err, move.ErrSink) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("ended with %v", err)
	}
	if counts, _, _ := r.Losses(); counts[move.Failed] == 0 {
		t.Error("no file is said to have failed")
	}
	want := movetest.Describe(t, src)
	for path, line := range movetest.Describe(t, dst) {
		if path != "" && line != want[path] {
			t.Errorf("%s is %s", path, line)
		}
	}
}

func TestSetuidIsKeptOnlyWhenAsked(t *testing.T) {
	src := t.TempDir()
	movetest.Write(t, src+"/su", "x")
	if err := os.Chmod(src+"/su", 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		dst := t.TempDir()
		s := fast()
		s.place.Setuid = keep
		r, err := run(t, src, dst, s)
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(dst + "/su")
		if err != nil || (st.Mode()&os.ModeSetuid != 0) != keep {
			t.Error(st.Mode(), err)
		}
		if counts, _, _ := r.Losses(); (counts[move.LostSetuid] == 1) == keep {
			t.Error(counts)
		}
	}
}

// A file under its name is whole at any instant: a reader that looks all the time never
// sees another size or content than the old or the new one.
func TestAReaderNeverSeesHalfAFile(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/f", string(movetest.Pattern(6<<20, 1)))
	movetest.Write(t, dst+"/f", "old")
	stop, seen := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				seen <- nil
				return
			default:
			}
			if st, err := os.Stat(dst + "/f"); err != nil || st.Size() != 3 && st.Size() != 6<<20 {
				seen <- fmt.Errorf("%v, %v", st, err)
				return
			}
		}
	}()
	_, err := run(t, src, dst, fast())
	close(stop)
	if err := errors.Join(err, <-seen); err != nil {
		t.Error(err)
	}
	movetest.Same(t, src, dst)
}

func TestATargetThatFoldsCaseKeepsTheFirstAndNamesTheOther(t *testing.T) {
	dst := t.TempDir()
	if err := unix.Mount("tmpfs", dst, "tmpfs", 0, "casefold"); err != nil {
		t.Skipf("mount a tmpfs that folds case: %v", err)
	}
	defer unix.Unmount(dst, unix.MNT_DETACH)
	src := t.TempDir()
	for _, name := range []string{"README", "readme", "dir/x", "DIR/x", "ok"} {
		movetest.Write(t, filepath.Join(src, name), name)
	}
	r, err := run(t, src, dst, fast())
	if err != nil {
		t.Fatal(err)
	}
	if counts, first, _ := r.Losses(); counts[move.Failed] < 2 {
		t.Errorf("%+v", first)
	}
}

// A device that has the name of a file is not replaced by it: "copy file /dev/null" would break the host.
func TestADeviceIsNotReplacedByAFile(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	if err := unix.Mknod(dst+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("make a device: %v", err)
	}
	movetest.Write(t, src+"/null", "1")
	movetest.Write(t, src+"/other", "2")
	r, err := run(t, src, dst, fast())
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dst+"/null", &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		t.Errorf("mode %o, %v", st.Mode, err)
	}
	if counts, _, _ := r.Losses(); counts[move.Failed] != 1 || r.Summary().Files != 1 {
		t.Errorf("%v, %+v", counts, r.Summary())
	}
}
