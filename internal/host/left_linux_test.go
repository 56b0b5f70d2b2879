package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/load"
)

// A session whose disk had turned read-only leaves its copy: the next start removes it, and
// nothing else.
func TestCopiesThatWereLeftAreRemoved(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	put := func(name string, age time.Duration, files ...string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(path, f), []byte("x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	left := []string{put("linerate.AAAAAAAAAA", 2*leftAge, copyFile), put("linerate.BBBBBBBBBB", 2*leftAge)}
	held := put("linerate.CCCCCCCCCC", 2*leftAge, copyFile)
	put("linerate.DDDDDDDDDD", leftAge/2, copyFile)
	put("linerate.EEEEEEEEEE", 2*leftAge, copyFile, "data")
	put("linerate.FFFFFFFFFF", 2*leftAge, "data")
	put("linerate.short", 2*leftAge, copyFile)
	outside := put("outside", 2*leftAge, copyFile)
	// A link where a directory, or the file in it, would be.
	if err := os.Symlink(outside, filepath.Join(dir, "linerate.GGGGGGGGGG")); err != nil {
		t.Fatal(err)
	}
	linked := put("linerate.HHHHHHHHHH", 2*leftAge)
	if err := os.Symlink(filepath.Join(outside, copyFile), filepath.Join(linked, copyFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(linked, now.Add(-2*leftAge), now.Add(-2*leftAge)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(held, copyFile))
	if err == nil {
		err = kernel.LockOpened(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := removeLeftIn(dir, now.Add(-leftAge))
	slices.Sort(removed)
	if err != nil || !slices.Equal(removed, left) {
		t.Errorf("removed %q, %v; want %q", removed, err, left)
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before)-len(left) {
		t.Errorf("%d of %d are there, %v", len(after), len(before), err)
	}
	if _, err := os.Stat(filepath.Join(outside, copyFile)); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if removed, err = removeLeftIn(dir, now.Add(-leftAge)); err != nil || !slices.Equal(removed, []string{held}) {
		t.Errorf("when its agent has ended: removed %q, %v", removed, err)
	}
	if removed, err = removeLeftIn(filepath.Join(dir, "none"), now); err != nil || len(removed) > 0 {
		t.Errorf("no such directory: %q, %v", removed, err)
	}
}

// Over a real sshd: what was left on the host goes with the next session, but not the copy of
// one that is older and at work.
func TestSSHRemovesWhatWasLeft(t *testing.T) {
	s := startSSHD(t)
	old := time.Now().Add(-2 * leftAge)
	reach := func() *Client {
		t.Helper()
		ep, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Dial(t.Context(), ep, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	working := reach()
	defer working.Close()
	mine := s.left(t)
	dead := filepath.Join(s.tmp, "linerate.AAAAAAAAAA")
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead, copyFile), []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(mine, dead) {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next := reach()
	if got := s.left(t); slices.Contains(got, dead) || len(mine) != 1 || !slices.Contains(got, mine[0]) {
		t.Errorf("on the host: %q; want %q and no %s", got, mine, dead)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	w, err := working.StartWorker(t.Context(), testTask(load.Sink)) // from its copy
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := working.Close(); err != nil {
		t.Error(err)
	}
	s.wantNothingLeft(t)
}
