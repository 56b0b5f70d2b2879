package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRootStaysInside(t *testing.T) {
	root := t.TempDir()
	for abs, want := range map[string]string{
		"/proc/stat":          "proc/stat",
		"proc/stat":           "proc/stat",
		"/../../etc/passwd":   "etc/passwd",
		"/proc/../../sys//x/": "sys/x",
	} {
		if got := Root(root).Path(abs); got != filepath.Join(root, filepath.FromSlash(want)) {
			t.Errorf("Path(%q) = %q, want %q under the root", abs, got, want)
		}
	}
	if got := Root("").Path("/proc"); got != filepath.FromSlash("/proc") {
		t.Errorf(`Root("").Path("/proc") = %q`, got)
	}
}

func TestRootReadsAndWrites(t *testing.T) {
	dir := t.TempDir()
	root := Root(dir)
	if err := root.WriteFile("/x", []byte("1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteFile of a missing file: %v, want fs.ErrNotExist", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("longer than before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("/x", []byte("1\n")); err != nil {
		t.Fatal(err)
	}
	got, err := root.ReadFile("/x")
	if err != nil || string(got) != "1\n" {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	names, err := root.ReadDir("/")
	if err != nil || !cmp.Equal(names, []string{"x"}) {
		t.Errorf("ReadDir = %q, %v", names, err)
	}
}

func TestRootRefusesHugeFiles(t *testing.T) {
	dir := t.TempDir()
	for size, ok := range map[int]bool{MaxFile: true, MaxFile + 1: false} {
		if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Root(dir).ReadFile("/big"); (err == nil) != ok {
			t.Errorf("ReadFile of %d bytes: %v", size, err)
		}
		if err := Root(dir).WriteFile("/big", make([]byte, size)); (err == nil) != ok {
			t.Errorf("WriteFile of %d bytes: %v", size, err)
		}
	}
}

// A file of 100 MB is refused, and only as much of it is read as may be.
func TestRootRefusesAHundredMegabytes(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "meminfo"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(100<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := Root(dir).ReadFile("/meminfo")
	runtime.ReadMemStats(&after)
	if err == nil || len(b) > 0 || !strings.Contains(err.Error(), "meminfo: larger than") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*MaxFile {
		t.Errorf("%d bytes were allocated for it", took)
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "etc.conf")
	if err := os.WriteFile(file, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("etc.conf", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Root(dir).ReplaceFile("/link", []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	info, statErr := os.Lstat(file)
	if err != nil || statErr != nil || string(b) != "new\n" || info.Mode() != 0o640 {
		t.Errorf("%q %v %v, %v", b, info.Mode(), err, statErr)
	}
	if err := Root(dir).ReplaceFile("/none", []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if names, err := Root(dir).ReadDir("/"); err != nil || len(names) != 2 {
		t.Errorf("left behind: %q, %v", names, err)
	}
}
