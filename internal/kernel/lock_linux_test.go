package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What LockWrites locks another open file of the same name finds locked, and LockOpened does not.
func TestLockWritesLocksAllBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if err := LockWrites(int(files[0].Fd())); err != nil {
		t.Fatal(err)
	}
	has := unix.Flock_t{Type: unix.F_WRLCK, Start: 1 << 40, Len: 1}
	if err := unix.FcntlFlock(files[1].Fd(), unix.F_OFD_GETLK, &has); err != nil || has.Type != unix.F_WRLCK || has.Pid != int32(os.Getpid()) {
		t.Errorf("%+v, %v", has, err)
	}
	if err := LockOpened(files[1]); err != nil {
		t.Errorf("the other kind of lock: %v", err)
	}
	if err := LockWrites(-1); err == nil {
		t.Error("no file was locked")
	}
}
