package beneath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenFollowsNoLinkAndLeavesNoRoot(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.WriteFile(filepath.Join(dir, "a/b/f"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(outside, "f"), []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(dir, "away")),
		os.Symlink("a", filepath.Join(dir, "near")), os.Symlink("f", filepath.Join(dir, "a/b/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for path, ok := range map[string]bool{
		"": true, "a": true, "a/b/f": true, "away/f": false, "near/b/f": false, "a/b/link": false, "../" + filepath.Base(outside) + "/f": false,
		outside + "/f": false, "a/../a/b/f": false,
	} {
		for name, open := range map[string]func() (int, error){
			"openat2": func() (int, error) { return Open(root, path, unix.O_RDONLY, 0) },
			"parts":   func() (int, error) { return parts(root, path, unix.O_RDONLY|unix.O_NOFOLLOW, 0) },
		} {
			if name == "parts" && (path == "" || strings.Contains(path, "..") || path[0] == '/') {
				continue // Open has refused it
			}
			fd, err := open()
			if (err == nil) != ok {
				t.Errorf("%s %q: %v, want ok %v", name, path, err, ok)
			}
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}

func TestPathsBeyondPathMaxAreWalked(t *testing.T) {
	dir := t.TempDir()
	root, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	part := strings.Repeat("d", 250)
	var path []string
	for range 40 {
		at, err := Open(root, strings.Join(path, "/"), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkdirat(at, part, 0o700); err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		path = append(path, part)
	}
	fd, err := Open(root, strings.Join(path, "/")+"/f", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}
