package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// zeroCopies are the sends of a wire whose pages go out as they are
// (MSG_ZEROCOPY, Documentation/networking/msg_zerocopy.rst of the kernel). The
// kernel tells of each when it has let go of the pages, and whether it had copied
// them after all, as it does where the packets are looped back to a socket of the
// same host. What is sent here never changes, so that nobody waits for that.
type zeroCopies struct {
	sent, done int64 // calls; done: told of
	copied     int64 // of those done
}

// tellEvery is how many sends may be out before their completions are read: they
// are charged to the socket's option memory (net.core.optmem_max).
const tellEvery = 16

// askZeroCopy has the socket take MSG_ZEROCOPY.
func (w *wire) askZeroCopy() error {
	if err := unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return fmt.Errorf("send without a copy: %w", err)
	}
	return nil
}

// sendZero is send without a copy.
func (w *wire) sendZero(b []byte, z *zeroCopies) (int, error) {
	if z.sent-z.done >= tellEvery {
		if err := w.completions(z); err != nil {
			return 0, err
		}
	}
	r := rawCall(unix.SYS_SENDTO, w.fd, b, unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	switch r.errno {
	case 0:
		z.sent++
	case unix.ENOBUFS: // too many are out
		if err := w.wait(0); err != nil {
			return 0, err
		}
		return 0, w.completions(z)
	case unix.EAGAIN: // what is told of would wake the wait for room at once
		if err := w.completions(z); err != nil {
			return 0, err
		}
	}
	return w.done(unix.POLLOUT, r)
}

// completions reads what the kernel has told so far.
func (w *wire) completions(z *zeroCopies) error {
	var control [128]byte
	for {
		_, n, _, _, err := unix.RecvmsgBuffers(w.fd, nil, control[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return nil
		case err != nil:
			return fmt.Errorf("read what was sent without a copy: %w", err)
		}
		if err := z.note(control[:n]); err != nil {
			return err
		}
	}
}

// note takes in a message of the error queue: struct sock_extended_err
// (include/uapi/linux/errqueue.h), in which ee_info and ee_data are the first and
// the last send of a range.
func (z *zeroCopies) note(control []byte) error {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return fmt.Errorf("read what was sent without a copy: %w", err)
	}
	for _, m := range messages {
		if len(m.Data) < 16 || m.Data[4] != unix.SO_EE_ORIGIN_ZEROCOPY {
			continue
		}
		first, last := binary.NativeEndian.Uint32(m.Data[8:]), binary.NativeEndian.Uint32(m.Data[12:])
		n := int64(last-first) + 1
		if n < 1 || n > z.sent-z.done {
			return fmt.Errorf("read what was sent without a copy: the kernel tells of sends %d to %d, and %d are out", first, last, z.sent-z.done)
		}
		z.done += n
		if m.Data[6]&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 {
			z.copied += n
		}
	}
	return nil
}
