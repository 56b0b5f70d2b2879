package kernel

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// firstRead is more than most files of /proc and /sys hold.
const firstRead = 1 << 10

// readFile reads a whole file of at most most bytes, and tells whether there was more. A regular
// open would ask the poller about each file of /proc, and grow its buffer as it reads, which
// together take as long as the kernel does to write what most of them hold. A FIFO among them is
// read as empty and does not hold the caller up.
func readFile(path string, most int) (b []byte, more bool, err error) {
	var fd int
	again(func() error { fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); return err })
	if err != nil {
		return nil, false, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, firstRead)
	for n := 0; ; {
		got := 0
		again(func() error { got, err = unix.Read(fd, buf[n:min(len(buf), most+1)]); return err })
		if err != nil {
			return nil, false, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		n += got
		switch {
		case n > most:
			return nil, true, nil
		case got == 0:
			return buf[:n], false, nil
		case n == len(buf):
			buf = append(buf, make([]byte, 3*len(buf))...)
		}
	}
}

// again calls f until no signal interrupts it.
func again(f func() error) {
	for f() == unix.EINTR {
	}
}
