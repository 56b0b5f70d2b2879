package load

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memoryFile is a file that lies in memory and nowhere else (memfd_create(2)). Its
// pages go out as they are: sendfile(2) hands them to the socket, and loopback passes
// them on to the receiver, who makes the only copy there is. What is sent never
// changes, so that nobody has to know when the kernel lets go of it.
type memoryFile struct{ fd int }

func newMemoryFile(content []byte) (*memoryFile, error) {
	fd, err := unix.MemfdCreate("linerate-payload", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make file to send from memory: %w", err)
	}
	m := &memoryFile{fd}
	for at := 0; at < len(content); {
		n, err := unix.Pwrite(fd, content[at:], int64(at))
		if err != nil && !errors.Is(err, unix.EINTR) {
			m.close()
			return nil, fmt.Errorf("fill file to send from memory: %w", err)
		}
		at += max(n, 0)
	}
	return m, nil
}

// close frees the memory; of none it does nothing.
func (m *memoryFile) close() {
	if m != nil {
		_ = unix.Close(m.fd) // what was written there is wanted no more
	}
}

// sendFile sends up to n bytes from the start of the file. It returns 0 and no error
// when the socket stayed full for a while. A connection that has ended raises SIGPIPE,
// which Go ignores of anything but standard output.
func (w *wire) sendFile(m *memoryFile, n int) (int, error) {
	var from int64
	sent, _, e := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(w.fd), uintptr(m.fd), uintptr(unsafe.Pointer(&from)), uintptr(n), 0, 0)
	if e != 0 {
		return w.done(unix.POLLOUT, callResult{errno: e})
	}
	return w.done(unix.POLLOUT, callResult{n: int(sent)})
}
