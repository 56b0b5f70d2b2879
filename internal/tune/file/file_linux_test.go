package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/file"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

var at = setter.Place{Setting: "linux.file./etc/sysctl.d/99-zz-linerate.conf"}

func newSetter(t *testing.T) (file.Setter, string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"etc/sysctl.d", "etc/systemd"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return file.Setter{Root: kernel.Root(root), Store: filepath.Join(root, "store")}, root
}

func keep(t *testing.T, s file.Setter, text string) string {
	t.Helper()
	if err := s.Keep([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s.Value(at, []byte(text), file.Absent)
}

func TestFileConforms(t *testing.T) {
	s, _ := newSetter(t)
	a, b := keep(t, s, "a = 1\n"), strings.Replace(keep(t, s, "it's \x00 $b"), "0644", "0600", 1)
	settertest.Conform(t, settertest.Case{
		Setter: s, At: at, A: a, B: b, Messy: " " + strings.ReplaceAll(a, " ", "  "),
		Bad: []string{"file", "present", "dir mode:0755 uid:0 gid:0", strings.Replace(a, "sha256", "md5", 1), strings.Replace(a, "uid:", "uid:-", 1), a + " x"},
		BadAt: []setter.Place{
			{Setting: "linux.file./etc/shadow"}, {Setting: "linux.file./etc/sysctl.d/../shadow"}, {Setting: "linux.file.etc/sysctl.d/x"}, {Setting: at.Setting, Target: "x"},
			{Setting: "linux.file./etc/sysctl.d/a\nb"}, {Setting: "linux.file./etc/fstab.d"}, {Setting: "linux.file./root/"}, {Setting: "linux.file."},
		},
	})
}

// What is put back has its bytes, its mode, and its attributes; and the shell
// does the same.
func TestRoundTrip(t *testing.T) {
	for _, byShell := range []bool{false, true} {
		s, root := newSetter(t)
		path := filepath.Join(root, "etc/sysctl.d/99-zz-linerate.conf")
		if err := os.WriteFile(path, []byte("theirs\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		attributes := syscall.Setxattr(path, "user.test", []byte("kept"), 0) == nil
		ctx := context.Background()
		before, err := s.Read(ctx, at, "")
		if err != nil || !strings.Contains(before, "mode:0640") {
			t.Fatalf("%q, %v", before, err)
		}
		keep(t, s, "theirs\n")
		keep(t, s, "ours\n")
		ours := s.Value(at, []byte("ours\n"), before)
		if err := s.Write(ctx, at, ours); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); string(b) != "ours\n" {
			t.Errorf("%q, %v", b, err)
		}
		if byShell {
			sh, err := s.Shell(at, "")
			if err != nil {
				t.Fatal(err)
			}
			shell(t, "value='"+before+"'; "+sh.Write)
			if got := shell(t, sh.Read); got != before {
				t.Errorf("the shell reads %q, want %q", got, before)
			}
		} else if err := s.Write(ctx, at, before); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(ctx, at, ""); got != before {
			t.Errorf("by shell %v: put back %q, %v, want %q", byShell, got, err, before)
		}
		value := make([]byte, 10)
		if n, err := syscall.Getxattr(path, "user.test", value); attributes && !byShell && string(value[:max(n, 0)]) != "kept" {
			t.Errorf("attribute %q, %v", value, err)
		}
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := kernel.Exec(context.Background(), "/bin/sh", "-c", "set -fu; "+script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestDirectories(t *testing.T) {
	s, root := newSetter(t)
	dir := setter.Place{Setting: "linux.file./etc/systemd/network/"}
	sh, err := s.Shell(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Write(t.Context(), dir, file.Directory()); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(t.Context(), dir, ""); got != file.Directory() || shell(t, sh.Read) != got {
			t.Errorf("%q, %v; by shell %q", got, err, shell(t, sh.Read))
		}
	}
	theirs := filepath.Join(root, "etc/systemd/network/theirs")
	if err := os.WriteFile(theirs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), dir, file.Absent); err == nil {
		t.Error("removed a directory that holds a file of somebody else's")
	}
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	shell(t, "value=absent; "+sh.Write)
	if got, err := s.Read(t.Context(), dir, ""); got != file.Absent {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRefusesWhatReplacingWouldBreak(t *testing.T) {
	s, root := newSetter(t)
	path := filepath.Join(root, "etc/sysctl.d/99-zz-linerate.conf")
	value := keep(t, s, "x")
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Read(t.Context(), at, ""); err == nil {
		t.Errorf("read a link as %q", v)
	}
	if err := s.Write(t.Context(), at, value); err == nil {
		t.Error("wrote over a link")
	}
	other := filepath.Join(root, "other")
	if err := errors.Join(os.Remove(path), os.WriteFile(other, nil, 0o600), os.Link(other, path)); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Read(t.Context(), at, ""); err == nil {
		t.Errorf("read a file with two names as %q", v)
	}
}

func TestDamagedCopyIsNotWritten(t *testing.T) {
	s, root := newSetter(t)
	value := keep(t, s, "x")
	copies, err := filepath.Glob(filepath.Join(root, "store/*"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	if err := os.WriteFile(copies[0], []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), at, value); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
}
