package kernel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// pipePatience is how long a pipe may say nothing before it is given up.
const pipePatience = 10 * time.Second

// ErrNotPlain is the kind of the error where a path names no file that can be read to its end.
var ErrNotPlain = errors.New("no plain file")

// ReadNamed reads a file that a user named, of at most most bytes. A link is followed: the user
// named it. Of a pipe, as a shell makes it for <(command), everything is read; one into which
// nobody writes is an error and does not hold the caller up. Directories, devices and sockets
// are refused: a device may have no end.
//
// Errors: ErrNotPlain, or what the system answered.
func ReadNamed(path string, most int64) ([]byte, error) {
	return readNamed(path, most, pipePatience)
}

// OpenNamed opens a file that a user named for reading, as ReadNamed does. What is read of a
// pipe fails with os.ErrDeadlineExceeded where it says nothing for too long.
func OpenNamed(path string) (*os.File, error) {
	f, _, err := openNamed(path, pipePatience)
	return f, err
}

func openNamed(path string, patience time.Duration) (f *os.File, pipe bool, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|Unblocked, 0)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		pipe, err = true, f.SetReadDeadline(time.Now().Add(patience))
	} else if err == nil {
		err = plainFile(path, info)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return f, pipe, nil
}

func readNamed(path string, most int64, patience time.Duration) ([]byte, error) {
	f, pipe, err := openNamed(path, patience)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read: a close that fails loses nothing
	b, err := readMost(f, path, most)
	if pipe && (err == nil && len(b) == 0 || errors.Is(err, os.ErrDeadlineExceeded)) {
		return nil, fmt.Errorf("read %s: it is a pipe, and nobody wrote into it and ended within %v", path, patience)
	}
	return b, err
}

// ReadPrivate is ReadNamed of a file with a secret: a plain one, of whose permissions none is in
// others, such as 0o077. What is looked at is what was opened, so that nothing else can take its
// place in between. Its errors hold nothing of the file's text.
//
// Errors: ErrNotPlain, fs.ErrPermission, or what the system answered.
func ReadPrivate(path string, most int64, others fs.FileMode) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|Unblocked, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read: a close that fails loses nothing
	info, err := f.Stat()
	if err == nil {
		err = plainFile(path, info)
	}
	if err != nil {
		return nil, err
	}
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&others != 0 {
		return nil, fmt.Errorf("read %s: others may read it (mode %v): chmod 600 it: %w", path, perm, fs.ErrPermission)
	}
	return readMost(f, path, most)
}

func plainFile(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "a device or socket"
	if info.IsDir() {
		kind = "a directory"
	} else if info.Mode()&fs.ModeNamedPipe != 0 {
		kind = "a pipe"
	}
	return fmt.Errorf("read %s: %w: it is %s", path, ErrNotPlain, kind)
}

func readMost(f *os.File, path string, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("read %s: it has more than %d KiB, the most that is read of such a file", path, most>>10)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
