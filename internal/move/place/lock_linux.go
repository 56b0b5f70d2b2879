package place

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move/journal"
)

// BusyError is a target that another copy writes to.
type BusyError struct{ Root string }

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("another copy is writing to %s: wait for its end, or stop it", e.Root)
}

// probeFolding tells whether the target takes upper for lower case, by the journal, which is there:
// file systems that do tell it in too many ways to ask each.
func (p *Place) probeFolding() (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.root, strings.ToUpper(journal.Name), &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return true, err
}

// lock opens the journal's file and locks it. The one that is locked has to be the one that
// has the name: the copy before us may have removed it meanwhile.
func (p *Place) lock(root string) (*os.File, error) {
	if p.fsType == 0 {
		p.fsType = kernel.TypeOf(p.root)
	}
	held := func(err error) bool { return p.onSMB() && (errors.As(err, new(*BusyError)) || isBusy(err)) }
	for range 100 {
		var f *os.File
		err := patiently(held, func() (err error) {
			if f, err = p.lockOnce(root); f != nil && p.onSMB() {
				f, err = calmed(f)
			}
			return err
		})
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, errors.New("lock target: its journal is removed again and again")
}

// lockOnce gives no file where another one has the name by now. Beside the lock it looks at the
// target's file system: on a mount each asks the server.
func (p *Place) lockOnce(root string) (locked *os.File, err error) {
	asked := time.Now()
	fd, err := unix.Openat(p.root, journal.Name, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write to target %s: open journal: %w%s", root, err, p.owned())
	}
	p.near = time.Since(asked) < nearAnswer
	f := os.NewFile(uintptr(fd), journal.Name)
	defer func() {
		if locked == nil {
			err = errors.Join(err, f.Close())
		}
	}()
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return nil, fmt.Errorf("lock target: %w", err)
	}
	var probing errgroup.Group
	if p.onSMB() {
		p.probed = true // nearly all fold case; one that does not is asked for a directory's names more often
	} else {
		probing.Go(func() (err error) { p.probed, err = p.probeFolding(); return err })
	}
	err = kernel.LockOpened(f)
	p.unlocked = errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
	switch {
	case errors.Is(err, kernel.ErrLocked):
		err = &BusyError{root}
	case err != nil && !p.unlocked:
		err = fmt.Errorf("lock target: %w", err)
	default:
		var same bool
		var listing sync.WaitGroup
		listing.Go(func() { p.fresh[""] = p.holdsNothing() })
		if same, err = p.named(&is); same {
			locked = f
		}
		listing.Wait()
	}
	if perr := probing.Wait(); perr != nil && err == nil {
		return nil, fmt.Errorf("look at target: %w", perr)
	}
	return locked, err
}

// owned says whose the journal is that could not be opened, where it is another user's.
func (p *Place) owned() string {
	var st unix.Stat_t
	if err := unix.Fstatat(p.root, journal.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Uid == p.uid {
		return ""
	}
	return fmt.Sprintf(": %s is of a copy by user %d, which is under way or did not end", journal.Name, st.Uid)
}

// nearAnswer is less than a server takes to make the journal's file where the way to it counts. From one
// that is nearer than that the requests of a file cost more than the wait for them.
const nearAnswer = 4 * time.Millisecond

// holdsNothing tells whether the target holds nothing but the journal; what cannot be listed may.
func (p *Place) holdsNothing() bool {
	other := errors.New("another entry")
	return list(p.root, func(name string) error {
		if name == journal.Name {
			return nil
		}
		return other
	}) == nil
}

// named tells whether a file has the journal's name. A client of NFS takes what it knows of a
// directory for true for seconds, but asks the server for what it opens.
func (p *Place) named(is *unix.Stat_t) (bool, error) {
	var has unix.Stat_t
	var err error
	if p.fsType == unix.NFS_SUPER_MAGIC {
		var fd int
		if fd, err = unix.Openat(p.root, journal.Name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			err = errors.Join(unix.Fstat(fd, &has), unix.Close(fd))
		}
	} else {
		err = unix.Fstatat(p.root, journal.Name, &has, unix.AT_SYMLINK_NOFOLLOW)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock target: %w", err)
	}
	return is.Dev == has.Dev && is.Ino == has.Ino, nil
}

// forgetAll ends the journal: gone where all is done, else kept for the next run.
func (p *Place) forgetAll() error {
	m := p.journal
	if m == nil {
		return nil
	}
	m.rest() // what it could not write nobody misses any more: what had a name is durable without it
	err := m.beside.Wait()
	if !m.keepNothing(p.finished) {
		m.mu.Lock()
		ends := m.afterEnds(nil)
		m.mu.Unlock()
		if _, werr := m.f.Write(ends); werr != nil {
			err = errors.Join(err, fmt.Errorf("write journal: %w", werr))
		}
		return errors.Join(err, m.f.Close())
	}
	// Closed before the times are set again: an NFS client only renames what is open, and
	// removes it with its last close, which changes the directory once more. That takes it more
	// questions than to be told so; the lock goes with the close, and the name has to be gone by then.
	end := func() error {
		if p.fsType != unix.NFS_SUPER_MAGIC {
			return errors.Join(unix.Unlinkat(p.root, journal.Name, 0), m.f.Close())
		}
		gone := tempName(journal.Name, p.o.Run, false)
		err := unix.Renameat(p.root, journal.Name, p.root, gone)
		var beside sync.WaitGroup
		beside.Go(func() { allowed(p.root) })
		err = errors.Join(err, m.f.Close())
		if beside.Wait(); err == nil {
			err = unix.Unlinkat(p.root, gone, 0)
		}
		return err
	}
	if p.last == nil || !p.finished {
		return errors.Join(err, ending(keepingTimes(p.root, end)))
	}
	if eerr := end(); eerr != nil {
		return errors.Join(err, ending(eerr))
	}
	switch {
	case p.last.Stood:
		p.mend(p.root, p.last)
	case !p.bare.Load() || len(p.last.Xattrs) > 0 || !p.onlyTimed(p.root, p.last):
		p.describe(p.root, p.last)
	}
	return err
}

// ending says of an error that it came as the journal was removed: with the target, or because that
// keeps what is in it.
func ending(err error) error {
	if err != nil {
		err = fmt.Errorf("remove %s from the target: %w", journal.Name, err)
	}
	return err
}

// keepingTimes changes a directory whose metadata are set already, and sets its times again. Those
// of somebody else's directory cannot be set: it was changed as by anybody who may write there.
func keepingTimes(dir int, change func() error) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	keep := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, st.Mtim}
	err := unix.UtimesNanoAt(dir, "", keep, unix.AT_EMPTY_PATH) // by its name a mount would look that up again
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		err = unix.UtimesNanoAt(dir, ".", keep, 0) // before Linux 5.8
	}
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// keepNothing tells whether a later run would learn nothing from the journal.
func (m *memory) keepNothing(finished bool) bool {
	return finished || !m.kept && !m.resumed
}
