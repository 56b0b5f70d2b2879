package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/move"
	"linerate/internal/move/movetest"
)

func open(t *testing.T, o Options, tops ...Top) (*Tree, *move.Report) {
	t.Helper()
	r := move.NewReport(nil)
	s, err := Open(tops, o, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, r
}

func entries(t *testing.T, s *Tree) (order []string, byPath map[string]*move.Entry) {
	t.Helper()
	byPath = map[string]*move.Entry{}
	err := s.Scan(context.Background(), func(e *move.Entry) error {
		if byPath[e.Path] != nil {
			t.Errorf("%q came twice", e.Path)
		}
		if dir := filepath.Dir(e.Path); e.Path != "" && dir != "." && byPath[dir] == nil {
			t.Errorf("%q came before its directory", e.Path)
		}
		order, byPath[e.Path] = append(order, e.Path), e
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return order, byPath
}

func TestScanFindsAllOfAHostileTree(t *testing.T) {
	dir := t.TempDir()
	movetest.Hostile(t, dir)
	s, r := open(t, Options{}, Top{Dir: dir})
	_, got := entries(t, s)
	want := movetest.Describe(t, dir)
	if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
		t.Errorf("%d paths, want %d", len(g), len(w))
	}
	if counts, losses, _ := r.Losses(); len(counts) > 0 {
		t.Error(losses)
	}
	linked := 0
	for _, p := range []string{"plain", "plain 2", "a/b/plain 3"} {
		if e := got[p]; e.Linked {
			linked++
			if got[e.First] == nil || got[e.First].Node != e.Node {
				t.Errorf("%s is said to be %q", p, e.First)
			}
		}
	}
	if linked != 2 || len(s.links) != 0 {
		t.Errorf("%d of 3 names are further ones, %d inodes are still waited for", linked, len(s.links))
	}
	if e := got["dangling"]; e.Kind != move.Symlink || e.Target != "nowhere/at\xffall" || e.Mtime != (move.Time{Sec: 1, Nsec: 123456789}) {
		t.Errorf("%+v", e)
	}
	if e := got["empty"]; e.Mtime.Sec != -86400*365*60 {
		t.Errorf("%+v", e)
	}
}

func TestTopsSayWhereThingsCome(t *testing.T) {
	dir := t.TempDir()
	movetest.Write(t, dir+"/a/x/y.tmp", "1")
	movetest.Write(t, dir+"/a/x/z", "2")
	movetest.Write(t, dir+"/f", "3")
	s, r := open(t, Options{Exclude: []string{"/a/x/*.tmp"}}, Top{Dir: dir, Name: "a", As: "b"}, Top{Dir: dir, Name: "f", As: "c"})
	order, got := entries(t, s)
	if want := []string{"b", "b/x", "b/x/z", "c"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	if r.Summary().Excluded != 1 {
		t.Error("nothing was left out")
	}
	f, err := s.Open(context.Background(), got["b/x/z"])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Read(context.Background(), 0, make([]byte, move.BlockSize))
	if err != nil || string(b.Data) != "2" {
		t.Error(string(b.Data), err)
	}
	for path, there := range map[string]bool{"b/x/z": true, "b/x/q": false, "c": true, "other": false, "bb": false} {
		if e, err := s.Lookup(path); err != nil || (e != nil) != there {
			t.Errorf("Lookup(%q) = %v, %v", path, e, err)
		}
	}
	if !s.excluded("b/x/y.tmp", false) || s.excluded("b/x/z", false) || s.excluded("y.tmp", false) {
		t.Error("excluded differs from what the scan left out")
	}
	for _, bad := range [][]Top{{{Dir: dir}, {Dir: dir, Name: "f", As: "f"}}, {{Dir: dir, As: "x"}, {Dir: dir, As: "x"}}, {{Dir: dir, As: "../x"}}} {
		if _, err := Open(bad, Options{}, r); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// content is a file put together from its blocks; bytes is how many of them are data.
func content(t *testing.T, s *Tree, e *move.Entry, v move.Verify) (out []byte, data int64) {
	t.Helper()
	f, err := s.Open(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, buf := make([]byte, f.Entry().Size), make([]byte, move.BlockSize)
	for i := int64(0); ; i++ {
		if i, err = f.Next(i); errors.Is(err, io.EOF) {
			break
		}
		b, err := f.Read(context.Background(), i, buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Extents) == 0 {
			continue
		}
		if err := b.Check(v, e.Size); err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, x := range b.Extents {
			n += int64(copy(out[x.Offset:x.Offset+x.Length], b.Data[n:]))
		}
		data += n
	}
	if err := f.Changed(); err != nil {
		t.Error(err)
	}
	return out, data
}

func TestBlocksGiveBackTheFileAndLeaveItsHolesOut(t *testing.T) {
	dir := t.TempDir()
	movetest.Hostile(t, dir)
	movetest.Write(t, dir+"/huge", string(movetest.Pattern(directFrom+4097, 9)))
	for _, v := range []move.Verify{move.Fast, move.Full} {
		s, _ := open(t, Options{Verify: v, Direct: true}, Top{Dir: dir})
		_, got := entries(t, s)
		for _, name := range []string{"large", "sparse", "empty", "plain", "huge"} {
			want, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			b, data := content(t, s, got[name], v)
			if !bytes.Equal(b, want) {
				t.Errorf("%s: other content (verify %v)", name, v)
			}
			if name == "sparse" && data != 3*4096 {
				t.Errorf("%d bytes of data in a sparse file, want 12288 (verify %v)", data, v)
			}
		}
	}
}

// A hole that the file system speaks of and that is none is found where all is proven.
func TestWhatLiesInAHoleIsFoundByFull(t *testing.T) {
	whole := make([]byte, 5*zeroUnit+100)
	whole[0], whole[2*zeroUnit+5], whole[5*zeroUnit+99] = 1, 2, 3
	at := int64(move.BlockSize)
	x, data := proof([]move.Extent{{Offset: at, Length: zeroUnit}}, at, bytes.Clone(whole))
	want := []move.Extent{{Offset: at, Length: zeroUnit}, {Offset: at + 2*zeroUnit, Length: zeroUnit}, {Offset: at + 5*zeroUnit, Length: 100}}
	if !slices.Equal(x, want) || len(data) != 2*zeroUnit+100 || data[zeroUnit+5] != 2 || data[2*zeroUnit+99] != 3 {
		t.Errorf("%v, %d bytes", x, len(data))
	}
	x, data = proof([]move.Extent{{Offset: at + 10, Length: 20}}, at, make([]byte, 100))
	if !slices.Equal(x, []move.Extent{{Offset: at + 10, Length: 20}}) || len(data) != 20 {
		t.Errorf("%v, %d bytes", x, len(data))
	}
}

func TestASourceThatChangesIsSeen(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"grown":    func(p string) error { return os.WriteFile(p, []byte("longer than it was"), 0o644) },
		"cut":      func(p string) error { return os.Truncate(p, 1) },
		"same len": func(p string) error { return os.WriteFile(p, []byte("CONTENT"), 0o644) },
		"deleted":  os.Remove,
		"replaced": func(p string) error {
			return errors.Join(os.WriteFile(p+".new", []byte("CONTENT"), 0o644), os.Rename(p+".new", p))
		},
	} {
		dir := t.TempDir()
		movetest.Write(t, dir+"/f", "content")
		if err := os.Chtimes(dir+"/f", time.Unix(5, 0), time.Unix(5, 0)); err != nil {
			t.Fatal(err)
		}
		s, _ := open(t, Options{}, Top{Dir: dir})
		_, got := entries(t, s)
		f, err := s.Open(context.Background(), got["f"])
		if err != nil {
			t.Fatal(err)
		}
		if err := change(dir + "/f"); err != nil {
			t.Fatal(err)
		}
		_, rerr := f.Read(context.Background(), 0, make([]byte, move.BlockSize))
		if err := f.Changed(); !errors.Is(err, move.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "cut" && !errors.Is(rerr, move.ErrChanged) {
			t.Errorf("cut: read says %v", rerr)
		}
		f.Close()
	}
}

// A directory that a link takes the place of, after it was listed, is not read through it.
func TestALinkThatTookADirectorysPlaceIsNotFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	movetest.Write(t, elsewhere+"/secret", "3")
	movetest.Write(t, dir+"/d/x", "1")
	movetest.Write(t, dir+"/open/y", "2")
	s, _ := open(t, Options{}, Top{Dir: dir})
	var paths []string
	err := s.Scan(context.Background(), func(e *move.Entry) error {
		paths = append(paths, e.Path)
		if e.Path != "" {
			return nil
		}
		return errors.Join(os.Rename(dir+"/d", elsewhere+"/d"), os.Symlink(elsewhere, dir+"/d"))
	})
	if err != nil || !slices.Contains(paths, "open/y") || slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, "d/") }) {
		t.Errorf("%q, %v", paths, err)
	}
}

func TestADirectoryThatCannotBeReadIsNamedAndTheRestIsRead(t *testing.T) {
	if !labtest.Ordinary(t) { // root reads everything
		return
	}
	dir := t.TempDir()
	movetest.Write(t, dir+"/shut/x", "1")
	movetest.Write(t, dir+"/open/y", "2")
	if err := os.Chmod(dir+"/shut", 0); err != nil {
		t.Fatal(err)
	}
	s, r := open(t, Options{}, Top{Dir: dir})
	order, _ := entries(t, s)
	if err := os.Chmod(dir+"/shut", 0o700); err != nil {
		t.Fatal(err)
	}
	unread, err := s.Unread(t.Context())
	if counts, _, _ := r.Losses(); counts[move.Failed] != 1 || unread != 1 || err != nil || !slices.Contains(order, "open/y") {
		t.Errorf("%q, %v", order, counts)
	}
}

// A change of the same length right after a file was opened is seen, also of one that was
// written the instant before: without waiting both would have one time on most kernels.
func TestAChangeWithinOneTickIsSeen(t *testing.T) {
	dir := t.TempDir()
	movetest.Write(t, dir+"/f", "before")
	s, _ := open(t, Options{}, Top{Dir: dir})
	_, got := entries(t, s)
	for range 20 {
		movetest.Write(t, dir+"/f", "before")
		f, err := s.Open(context.Background(), got["f"])
		if err != nil {
			t.Fatal(err)
		}
		at, err := os.OpenFile(dir+"/f", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = at.WriteAt([]byte("after!"), 0)
		if err := errors.Join(err, at.Close()); err != nil {
			t.Fatal(err)
		}
		if err := f.Changed(); !errors.Is(err, move.ErrChanged) {
			t.Fatalf("a change was not seen: %v", err)
		}
		f.Close()
	}
}

// A tree deeper than the levels that are held open is read to its end, and what follows the
// deep part too.
func TestTreesDeeperThanTheOpenLevelsAreRead(t *testing.T) {
	dir := t.TempDir()
	path := dir
	for i := range openLevels + 40 {
		movetest.Write(t, fmt.Sprintf("%s/f%d", path, i), "x")
		movetest.Write(t, fmt.Sprintf("%s/e/f%d", path, i), "x")
		path += "/d"
	}
	before := fds(t)
	s, r := open(t, Options{}, Top{Dir: dir})
	most := 0
	n := 0
	err := s.Scan(context.Background(), func(e *move.Entry) error {
		most = max(most, fds(t)-before)
		n++
		return nil
	})
	if want := 4 * (openLevels + 40); err != nil || n != want {
		t.Errorf("%d entries, want %d: %v", n, want, err)
	}
	if most > openLevels+8 {
		t.Errorf("%d descriptors were open at once", most)
	}
	if counts, losses, _ := r.Losses(); len(counts) > 0 {
		t.Error(losses)
	}
}

func fds(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
