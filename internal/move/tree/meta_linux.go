package tree

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// complete adds what statx does not say: a symlink's target, and the xattrs of what is not
// a file with data, whose come when it is opened.
func (t *Tree) complete(dir int, name string, e *move.Entry) (err error) {
	if e.Kind == move.Symlink {
		if e.Target, err = readlink(dir, name); err != nil {
			return err
		}
	}
	if e.Kind == move.File || t.o.Plan {
		return nil
	}
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	e.Xattrs, err = xattrsAt(fmt.Sprintf("/proc/self/fd/%d", fd), t.lostXattr(e.Path))
	if err != nil {
		t.report.Lose(move.LostXattr, e.Path, "list: %v", err)
	}
	return nil
}

// readlink reads a target of any length.
func readlink(dir int, name string) (string, error) {
	for size := 256; size <= move.MaxTarget; size *= 2 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, b)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(b[:n]), nil
		}
	}
	return "", fmt.Errorf("its target is longer than %d bytes", move.MaxTarget)
}

func (t *Tree) lostXattr(path string) func(name string, err error) {
	return func(name string, err error) {
		t.report.Lose(move.LostXattr, path, "read %s: %v", move.Quote(name), err)
	}
}

// xattrsOf reads the attributes of an open file; what cannot be read goes to lost.
func xattrsOf(fd int, lost func(string, error)) ([]move.Xattr, error) {
	return xattrs(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) },
		func(name string, b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) }, lost)
}

// xattrsAt reads those of a path whose last part is followed: one of /proc/self/fd.
func xattrsAt(path string, lost func(string, error)) ([]move.Xattr, error) {
	return xattrs(func(b []byte) (int, error) { return unix.Listxattr(path, b) },
		func(name string, b []byte) (int, error) { return unix.Getxattr(path, name, b) }, lost)
}

func xattrs(list func([]byte) (int, error), get func(string, []byte) (int, error), lost func(string, error)) ([]move.Xattr, error) {
	names, err := grown(list)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		return nil, nil // a file system without them; EPERM: kernels answer so for some specials
	}
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var out []move.Xattr
	for _, name := range strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		value, err := grown(func(b []byte) (int, error) { return get(name, b) })
		switch {
		case errors.Is(err, unix.ENODATA): // gone since
		case err != nil:
			lost(name, err)
		case name == "system.nfs4_acl" && trivialACL(value):
		default:
			out = append(out, move.Xattr{Name: name, Value: value})
		}
	}
	return out, nil
}

// grown calls a system call that says ERANGE until its buffer is large enough.
func grown(call func([]byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		b := make([]byte, size)
		n, err := call(b)
		switch {
		case err == nil:
			return b[:n], nil
		case !errors.Is(err, unix.ERANGE) || size >= move.MaxValue:
			return nil, err
		}
	}
}
