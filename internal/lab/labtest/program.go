package labtest

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
)

// Program writes a program that the test then starts: all of r, executable by everybody.
// The test fails when it cannot be written.
//
// A process that another goroutine starts meanwhile holds a copy of the file that is open for
// writing until it calls exec, and the kernel refuses to execute such a file (ETXTBSY). So no
// process starts while it is open.
func Program(t testing.TB, path string, r io.Reader) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err != nil {
		t.Fatal(err)
	}
}
