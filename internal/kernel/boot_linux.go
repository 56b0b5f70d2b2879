package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LoadModule loads the kernel module in a file. A module that is already loaded is no error.
func LoadModule(path, params string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load module: %w", err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), params, 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load module %s: %w", path, err)
	}
	return nil
}

// Do mounts m.
func (m Mount) Do() error {
	if _, err := os.Stat(m.Target); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(m.Target, 0o755); err != nil {
			return fmt.Errorf("mount %s: %w", m.Source, err)
		}
	}
	var flags uintptr
	if m.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if m.Bind {
		flags |= unix.MS_BIND
	}
	if err := unix.Mount(m.Source, m.Target, m.Type, flags, m.Options); err != nil {
		return fmt.Errorf("mount %s (%s) at %s: %w", m.Source, m.Type, m.Target, err)
	}
	return nil
}

// SwitchRoot makes the file system mounted at dir the root of this process and of its children,
// in place of the initial one, which cannot be unmounted.
func SwitchRoot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move %s to /: %w", dir, err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("change root to %s: %w", dir, err)
	}
	return unix.Chdir("/")
}

// OpenVirtioPort opens the virtio-serial port of that name, raw, and waits until its other end is
// connected or ctx is done: a read of an unconnected port returns end of file.
func OpenVirtioPort(ctx context.Context, name string) (*os.File, error) {
	dev, err := virtioPort("/sys/class/virtio-ports", name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dev, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	const between = 10 * time.Millisecond
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		on, err := connected(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if on {
			return f, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

func virtioPort(dir, name string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "name"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(b)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", fmt.Errorf("no virtio port %s below %s: %w", name, dir, fs.ErrNotExist)
}

// connected tells whether the other end of f is connected.
func connected(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	fds := []unix.PollFd{{Events: unix.POLLIN | unix.POLLOUT}}
	var perr error
	err = raw.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		if _, perr = unix.Poll(fds, 0); errors.Is(perr, unix.EINTR) {
			perr, fds[0].Revents = nil, unix.POLLHUP // poll again
		}
	})
	return fds[0].Revents&unix.POLLHUP == 0, errors.Join(err, perr)
}
