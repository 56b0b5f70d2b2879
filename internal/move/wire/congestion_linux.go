package wire

import (
	"errors"

	"golang.org/x/sys/unix"
)

func (c Congestion) setFD(fd int) error {
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, string(c))
}

// try gives it to a socket that is used for nothing else.
func (c Congestion) try() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(c.setFD(fd), unix.Close(fd))
}
