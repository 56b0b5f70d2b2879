package place

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// The client of SMB is done with what a killed process had open, with its lock and with the data that it had
// not sent yet after a while: so long that is waited for. A kill in the middle of a send costs the client its
// connection; that of Linux 6.1 may take 7 s to notice it, in which all that asks waits by itself.
const (
	smbWaits = 5 * time.Second
	smbEvery = 100 * time.Millisecond
)

// isBusy tells whether an error is one that such a client answers with until then: EIO and EFAULT as it
// opens a file of which it has data that it cannot send any more, EBADF as it flushes one that was opened
// by the connection before, the last three while it connects anew.
func isBusy(err error) bool {
	for _, busy := range []error{
		unix.EIO, unix.EBUSY, unix.EFAULT, unix.EBADF, unix.EAGAIN, unix.ECONNABORTED, unix.EHOSTDOWN,
	} {
		if errors.Is(err, busy) {
			return true
		}
	}
	return false
}

// patiently tries once more while what is met is busy, for smbWaits from the first time on.
func patiently(busy func(error) bool, try func() error) error {
	var until time.Time
	for {
		err := try()
		if err == nil || !busy(err) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(smbWaits)
		} else if time.Now().After(until) {
			return err
		}
		time.Sleep(smbEvery)
	}
}

// openLeft opens what an earlier run left under the temporary name. On a mount of SMB nothing is under way to
// it any more then, and no error of that run is left to tell.
func (f *file) openLeft() (fd int, err error) {
	open := func() (err error) {
		fd, err = unix.Openat(f.d.fd, f.temp, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	}
	if !f.d.smb() {
		return fd, open()
	}
	err = patiently(isBusy, func() error {
		if err := open(); err != nil {
			return err
		}
		if err := calm(fd); err != nil { // it may be no better until it is opened anew
			return errors.Join(err, unix.Close(fd))
		}
		return nil
	})
	return fd, err
}

// calm has a client send, or give up, what it still has of a file that a killed process wrote: whoever opens
// the file next is told, once, of what was lost of it. It is called before this run writes to the file, so
// that nothing of it can be meant, and what the journal tells of was durable before.
func calm(fd int) error {
	if unix.Fsync(fd) == nil {
		return nil
	}
	return unix.Fsync(fd)
}

// calmed does so with the journal that an earlier run left.
func calmed(f *os.File) (*os.File, error) {
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		err = calm(int(f.Fd()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look at journal: %w", err), f.Close())
	}
	return f, nil
}

// sweep removes temporary files of this run that nobody will go on with: of a run that was
// killed, and of files that failed.
func (p *Place) sweep() error {
	m := p.journal
	if !m.resumed && !m.kept {
		return nil
	}
	return p.sweepDir("", time.Now().Add(smbWaits))
}

// removeLeft removes a temporary file.
func (p *Place) removeLeft(d *dir, name string, until time.Time) error {
	for {
		err := unix.Unlinkat(d.fd, name, 0)
		if !isBusy(err) || !d.smb() || time.Now().After(until) {
			return err
		}
		time.Sleep(smbEvery)
	}
}

func (p *Place) sweepDir(path string, until time.Time) error {
	d, err := p.dir(path)
	if err != nil {
		return err
	}
	defer p.release(d)
	return list(d.fd, func(name string) error {
		if isTemp(name, p.o.Run) {
			if err := p.removeLeft(d, name, until); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("remove %s: %w", move.Quote(joined(path, name)), err)
			}
			return nil
		}
		var st unix.Stat_t
		if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return nil
		}
		if err := p.sweepDir(joined(path, name), until); err != nil && !errors.Is(err, unix.EACCES) {
			return err
		}
		return nil
	})
}
