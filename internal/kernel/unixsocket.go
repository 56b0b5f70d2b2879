package kernel

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// mostSocketPath is how long the path of a Unix socket may be, in bytes (unix(7): sun_path).
const mostSocketPath = 107

// ListenUnix listens on a new Unix socket at path, of any length, that its owner alone may use.
// Closing the listener removes the socket.
func ListenUnix(path string) (net.Listener, error) {
	short, done, err := shortSocket(path)
	if err != nil {
		return nil, err
	}
	defer done()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // it would remove by a path that is no more
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close(), os.Remove(path))
	}
	return unixListener{ln, path}, nil
}

// DialUnix connects to the Unix socket at path, of any length.
func DialUnix(ctx context.Context, path string) (net.Conn, error) {
	short, done, err := shortSocket(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

type unixListener struct {
	net.Listener
	path string
}

func (l unixListener) Close() error {
	err := l.Listener.Close()
	if gone := os.Remove(l.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// shortSocket is a path to the same socket that a socket's address can hold: through its
// directory, which stays open until done is called.
func shortSocket(path string) (short string, done func(), err error) {
	if len(path) <= mostSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
