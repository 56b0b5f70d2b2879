package load

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cachedFile is a file without a name whose pages lie in the page cache. They go out as
// they are: sendfile(2) hands them to the socket, and loopback passes them on to the
// receiver, who makes the only copy there is. What is sent never changes, so that
// nobody has to know when the kernel lets go of it.
type cachedFile struct{ fd int }

// spool is where the file lies if that can be: the page cache of a file system on a
// disk is of large folios (ext4, xfs, btrfs), of which a packet needs few; that of a
// file in memory is of single pages, which took a third more CPU.
const spool = "/var/tmp"

// newCachedFile makes the file in dir, or in memory (memfd_create(2)) where dir takes
// none.
func newCachedFile(content []byte, dir string) (*cachedFile, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		m := &cachedFile{fd}
		if m.fill(content) == nil {
			return m, nil
		}
		m.close() // a full disk is no reason not to send
	}
	if fd, err = unix.MemfdCreate("linerate-payload", unix.MFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make file to send from memory: %w", err)
	}
	m := &cachedFile{fd}
	if err := m.fill(content); err != nil {
		m.close()
		return nil, fmt.Errorf("fill file to send from memory: %w", err)
	}
	return m, nil
}

func (m *cachedFile) fill(content []byte) error {
	for at := 0; at < len(content); {
		n, err := unix.Pwrite(m.fd, content[at:], int64(at))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		at += max(n, 0)
	}
	return nil
}

// close frees what it took; of none it does nothing.
func (m *cachedFile) close() {
	if m != nil {
		_ = unix.Close(m.fd) // what was written there is wanted no more
	}
}

// sendFile sends up to n bytes from the start of the file. It returns 0 and no error
// when the socket stayed full for a while. A connection that has ended raises SIGPIPE,
// which Go ignores of anything but standard output.
func (w *wire) sendFile(m *cachedFile, n int) (int, error) {
	var from int64
	sent, _, e := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(w.fd), uintptr(m.fd), uintptr(unsafe.Pointer(&from)), uintptr(n), 0, 0)
	if e != 0 {
		return w.done(unix.POLLOUT, callResult{errno: e})
	}
	return w.done(unix.POLLOUT, callResult{n: int(sent)})
}
