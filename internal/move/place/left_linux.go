package place

import (
	"errors"
	"fmt"
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
// opens a file of which it has data that it cannot send any more, the last three while it connects anew.
func isBusy(err error) bool {
	for _, busy := range []error{
		unix.EIO, unix.EBUSY, unix.EFAULT, unix.EAGAIN, unix.ECONNABORTED, unix.EHOSTDOWN,
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
	if err := patiently(isBusy, open); err != nil {
		return -1, err
	}
	if err := calm(fd); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// calm has a client send, or give up, what it still has of a file that a killed process wrote, until it says
// of nothing that it is lost: whoever opens the file next is told of the loss. It is called before this run
// writes to the file, so that nothing of it can be meant, and what the journal tells of was durable before.
func calm(fd int) error {
	return patiently(func(error) bool { return true }, func() error { return unix.Fsync(fd) })
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
