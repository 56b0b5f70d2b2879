package beneath

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// Open opens path below the directory root; "" is root itself. flags are of openat, to
// which O_CLOEXEC and O_NOFOLLOW are added.
func Open(root int, path string, flags int, mode uint32) (int, error) {
	if err := move.CheckPath(path); err != nil {
		return -1, err
	}
	if path == "" {
		return openat(root, ".", flags|unix.O_CLOEXEC, mode)
	}
	at := root
	for {
		first, rest := piece(path)
		want, perm := flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode
		if rest != "" {
			want, perm = unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0
		}
		fd, err := open2(at, first, want, perm)
		if at != root {
			_ = unix.Close(at) // only a place to walk from
		}
		if err != nil {
			return -1, err
		}
		if rest == "" {
			return fd, nil
		}
		at, path = fd, rest
	}
}

// open2 is openat2 with no way out, or its like where it is missing.
func open2(at int, path string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for range 100 { // EAGAIN: a rename elsewhere while it walked; the kernel asks to try again
		fd, err := unix.Openat2(at, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) && flags&unix.O_CREAT == 0:
			return parts(at, path, flags, mode)
		default:
			return -1, err
		}
	}
	return -1, fmt.Errorf("walk: %w", unix.EAGAIN)
}

// parts opens part by part: O_NOFOLLOW refuses a link in each. Kernels before 5.6, and
// filters that know no openat2, leave this.
func parts(at int, path string, flags int, mode uint32) (int, error) {
	from := at
	for {
		part, rest, more := strings.Cut(path, "/")
		want, perm := flags, mode
		if more {
			want, perm = unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0
		}
		fd, err := openat(at, part, want, perm)
		if at != from {
			_ = unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, path = fd, rest
	}
}

// openat is openat that a signal does not end.
func openat(at int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
