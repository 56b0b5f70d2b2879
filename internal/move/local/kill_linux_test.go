package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab/labtest"
	"linerate/internal/move"
	"linerate/internal/move/journal"
	"linerate/internal/move/movetest"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
)

// killAt in the environment makes the test binary a copy that kills itself: "SRC DST POINT N",
// separated by newlines, at the Nth time that it is at that point.
const killAt = "LINERATE_TEST_KILL_AT"

func TestMain(m *testing.M) {
	if what := os.Getenv(killAt); what != "" {
		if err := copyUntilKilled(strings.Split(what, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func copyUntilKilled(args []string) error {
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	var seen atomic.Int64
	r := move.NewReport(nil)
	from, err := tree.Open([]tree.Top{{Dir: args[0]}}, tree.Options{Direct: true}, r)
	if err != nil {
		return err
	}
	to, err := place.Open(args[1], place.Options{Run: "killed", Direct: true, Journal: 64 << 20, At: func(point string) {
		if point == args[2] && seen.Add(1) == int64(n) {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}}, r)
	if err != nil {
		return err
	}
	// One block at a time: then the journal is appended to after every 16 MiB.
	_, err = Copy(context.Background(), from, to, r, Options{Blocks: 1})
	return errors.Join(err, to.Close(), from.Close())
}

// largeSize is of files that are journalled.
const largeSize = 66<<20 + 321

func killTree(t *testing.T) string {
	src := t.TempDir()
	for i := range 30 {
		movetest.Write(t, fmt.Sprintf("%s/d%d/f%d", src, i%3, i), strings.Repeat("x", i*100))
	}
	if err := os.WriteFile(src+"/large", movetest.Pattern(largeSize, 7), 0o640); err != nil {
		t.Fatal(err)
	}
	return src
}

// killPoint is where a copy kills itself: the nth time that it is there.
type killPoint struct {
	point string
	n     int
	had   int64 // at least so much is resumed then
}

// Whenever a copy is killed: what has its name is whole and right, and the next copy goes on
// and leaves nothing behind.
func TestAKilledCopyLeavesNoWrongFileAndIsGoneOnWith(t *testing.T) {
	killedAt(t, []killPoint{{"append", 4, 48 << 20}, {"rename", 25, 0}, {"dirsync", 1, 0}})
}

func TestACopyIsKilledAtEveryPoint(t *testing.T) {
	labtest.Long(t)
	killedAt(t, []killPoint{
		{"open", 1, 0}, {"open", 20, 0}, {"write", 1, 0}, {"fdatasync", 1, 0}, {"fdatasync", 2, 16 << 20}, {"append", 1, 0}, {"rename", 1, 0},
	})
}

func killedAt(t *testing.T, points []killPoint) {
	t.Helper()
	src := killTree(t)
	want := movetest.Describe(t, src)
	for _, c := range points {
		dst := t.TempDir()
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), killAt+"="+strings.Join([]string{src, dst, c.point, strconv.Itoa(c.n)}, "\n"))
		out, err := cmd.CombinedOutput()
		var ee *exec.ExitError
		if !errors.As(err, &ee) || !strings.Contains(ee.Error(), "killed") {
			t.Fatalf("%s %d: the copy was not killed: %v\n%s", c.point, c.n, err, out)
		}
		wholeOnly(t, fmt.Sprint(c.point, " ", c.n), want, dst)
		s := fast()
		s.local.Clone = false
		r, err := run(t, src, dst, s)
		if err != nil {
			t.Fatal(err)
		}
		lossless(t, r)
		movetest.Same(t, src, dst)
		for path := range movetest.Describe(t, dst) {
			if strings.Contains(path, "linerate") {
				t.Errorf("%s %d: %q was left", c.point, c.n, path)
			}
		}
		if sum := r.Summary(); sum.Resumed < c.had {
			t.Errorf("%s %d: %d bytes were resumed: %+v", c.point, c.n, sum.Resumed, sum)
		}
	}
}

// wholeOnly compares the files that have their names with the source.
func wholeOnly(t *testing.T, when string, want map[string]string, dst string) {
	t.Helper()
	for path, line := range movetest.Describe(t, dst) {
		if strings.Contains(path, "linerate") || strings.HasPrefix(line, "40") {
			continue
		}
		if line != want[path] {
			t.Errorf("killed at %s: %q is\n  %s, want\n  %s", when, path, line, want[path])
		}
	}
}

// cutting ends a copy after so many blocks, as Ctrl-C does.
type cutting struct {
	move.Source
	after  *atomic.Int64
	cancel func()
}

type cuttingFile struct {
	move.SourceFile
	s cutting
}

func (s cutting) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := s.Source.Open(ctx, e)
	return cuttingFile{f, s}, err
}

func (f cuttingFile) Read(ctx context.Context, i int64, buf []byte) (move.Block, error) {
	if f.s.after.Add(-1) == 0 {
		f.s.cancel()
	}
	return f.SourceFile.Read(ctx, i, buf)
}

// interrupted makes a copy of src that is ended after some blocks of its large file.
func interrupted(t *testing.T, src, dst string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := move.NewReport(nil)
	from, err := tree.Open([]tree.Top{{Dir: src}}, tree.Options{}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := place.Open(dst, place.Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	var after atomic.Int64
	after.Store(10)
	_, err = Copy(ctx, cutting{from, &after, cancel}, to, r, Options{Files: 1, Blocks: 2})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the copy was not cut: %v", err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dst + "/large"); err == nil {
		t.Fatal("half a file has its name")
	}
}

func TestAnInterruptedCopyGoesOnWithWhatItHad(t *testing.T) {
	src := t.TempDir()
	if err := os.WriteFile(src+"/large", movetest.Pattern(largeSize, 7), 0o640); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(dst string) error
		resumes bool
	}{
		"as it was":         {func(string) error { return nil }, true},
		"target edited":     {func(dst string) error { return spoil(dst + "/.large.linerate-test") }, false},
		"source changed":    {func(string) error { return os.WriteFile(src+"/large", movetest.Pattern(largeSize, 8), 0o640) }, false},
		"temp file removed": {func(dst string) error { return os.Remove(dst + "/.large.linerate-test") }, false},
		"journal damaged":   {func(dst string) error { return spoil(dst + "/" + journal.Name) }, false},
	} {
		dst := t.TempDir()
		interrupted(t, src, dst)
		if err := c.change(dst); err != nil {
			t.Fatal(name, err)
		}
		s := setup{}
		r, err := run(t, src, dst, s)
		if err != nil {
			t.Fatal(name, err)
		}
		lossless(t, r)
		movetest.Same(t, src, dst)
		sum := r.Summary()
		if (sum.Resumed > 0) != c.resumes || sum.Resumed+sum.Bytes < largeSize {
			t.Errorf("%s: %d bytes were resumed, %d written", name, sum.Resumed, sum.Bytes)
		}
	}
}

// What an earlier run has left of a file that the source does not have any more is removed, and its
// directory has the source's time all the same.
func TestWhatIsLeftIsRemovedBeforeDirectoriesGetTheirTimes(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	if err := os.WriteFile(src+"/large", movetest.Pattern(largeSize, 7), 0o640); err != nil {
		t.Fatal(err)
	}
	interrupted(t, src, dst)
	long := time.Unix(1e9, 0)
	if err := errors.Join(os.Rename(src+"/large", src+"/other"), os.Chtimes(src, long, long)); err != nil {
		t.Fatal(err)
	}
	r, err := run(t, src, dst, setup{})
	if err != nil {
		t.Fatal(err)
	}
	lossless(t, r)
	movetest.Same(t, src, dst)
}

// spoil changes every byte of a file.
func spoil(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i := range b {
		b[i] ^= 0x55
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

func TestASecondCopyToOneTargetIsRefused(t *testing.T) {
	dst := t.TempDir()
	first, err := place.Open(dst, place.Options{Run: "one"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	var busy *place.BusyError
	if _, err := place.Open(dst, place.Options{Run: "two"}, move.NewReport(nil)); !errors.As(err, &busy) {
		t.Errorf("a second copy was let in: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := place.Open(dst, place.Options{Run: "two"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(dst); len(names) > 0 {
		t.Errorf("%v was left", names)
	}
}

// Many copies are killed at random points, and each is gone on with until one ends by itself.
func TestCopiesKilledAtRandomEndRight(t *testing.T) {
	labtest.Long(t)
	src := killTree(t)
	want := movetest.Describe(t, src)
	for i := range 11 { // the twelfth would be killed where the first was
		dst := t.TempDir()
		for j, point := range []string{"open", "write", "append", "fdatasync", "rename", "write", "dirsync"} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), killAt+"="+strings.Join([]string{src, dst, point, strconv.Itoa(1 + (i*7+j*3)%11)}, "\n"))
			if err := cmd.Run(); err == nil {
				break
			}
			wholeOnly(t, point, want, dst)
		}
		r, err := run(t, src, dst, fast())
		if err != nil {
			t.Fatal(err)
		}
		lossless(t, r)
		movetest.Same(t, src, dst)
	}
}
