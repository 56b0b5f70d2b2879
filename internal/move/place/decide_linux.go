package place

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// Decide says what becomes of an entry: a plan prints it, a copy does it.
func (p *Place) Decide(e *move.Entry) (Action, error) {
	if e.Path == "" {
		if p.root < 0 {
			return New, nil
		}
		return Same, nil
	}
	d, name, err := p.parent(e.Path)
	if p.o.Plan && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)) {
		return New, nil // a copy would have made its directory by now, in place of a file or a link
	}
	if err != nil {
		return New, err
	}
	defer p.release(d)
	a, _, err := p.decide(d, name, e)
	return a, err
}

// decide looks at what has the name of an entry.
func (p *Place) decide(d *dir, name string, e *move.Entry) (Action, *unix.Stat_t, error) {
	if e.Path == journal.Name {
		return New, nil, errJournalName
	}
	if d.fresh && e.Kind == move.File && !e.Linked {
		return New, nil, nil // at most this run's own entry has the name, or folds to it: see give
	}
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return New, nil, nil
	}
	if err != nil {
		return New, nil, err
	}
	if d.folds {
		if exact, err := d.exact(name); err != nil || !exact {
			return New, nil, errors.Join(&CollisionError{name}, err)
		}
	}
	format := st.Mode & unix.S_IFMT
	is := format == formats[e.Kind]
	switch {
	case format == unix.S_IFDIR && !is:
		return Replace, &st, p.emptyDir(d, name)
	case !is && (format == unix.S_IFCHR || format == unix.S_IFBLK) && st.Rdev != 0: // 0: a file that an overlay hides
		return Replace, &st, errDevice
	case e.Linked:
		return p.decideLink(e, &st)
	}
	switch e.Kind {
	case move.Directory:
		if is {
			return Same, &st, nil
		}
	case move.File:
		if is && st.Size == e.Size && sameTime(st.Mtim, e.Mtime) && (st.Nlink == 1 || e.Links > 1) && p.o.Verify != move.Full {
			return Same, &st, nil
		}
	case move.Symlink:
		if is {
			b := make([]byte, len(e.Target)+1)
			if n, err := unix.Readlinkat(d.fd, name, b); err == nil && string(b[:n]) == e.Target {
				return Same, &st, nil
			}
		}
	case move.CharDevice, move.BlockDevice:
		if is && st.Rdev == unix.Mkdev(e.Major, e.Minor) {
			return Same, &st, nil
		}
	default:
		if is {
			return Same, &st, nil
		}
	}
	return Replace, &st, nil
}

// errDevice refuses to put something else in a device's place: who names /dev/null wants no file there.
var errDevice = errors.New("a device has its name: remove it, or copy elsewhere")

// sameTime tells whether a file has the time of its source, as far as its file system keeps
// it: SMB keeps 100 ns, some NFS servers 1 µs. Coarser ones would hide changes.
func sameTime(have unix.Timespec, want move.Time) bool {
	if int64(have.Sec) != want.Sec {
		return false
	}
	for _, tick := range []int64{1, 100, 1000} {
		if int64(have.Nsec) == want.Nsec/tick*tick {
			return true
		}
	}
	return false
}

// emptyDir refuses a directory that holds anything, for which another kind of entry comes.
func (p *Place) emptyDir(d *dir, name string) error {
	in, err := p.dir(joined(d.path, name))
	if err != nil {
		return err
	}
	defer p.release(in)
	full := errors.New("full")
	err = list(in.fd, func(string) error { return full })
	if errors.Is(err, full) {
		p.mu.Lock()
		p.inWay[in.path] = true
		p.mu.Unlock()
		return fmt.Errorf("a directory that is not empty has its name: remove it, or copy elsewhere")
	}
	return err
}

// decideLink compares with the inode of the first name.
func (p *Place) decideLink(e *move.Entry, st *unix.Stat_t) (Action, *unix.Stat_t, error) {
	first, name, err := p.parent(e.First)
	if err != nil {
		return Replace, st, nil // it is not there yet
	}
	defer p.release(first)
	var other unix.Stat_t
	if err := unix.Fstatat(first.fd, name, &other, unix.AT_SYMLINK_NOFOLLOW); err == nil && other.Dev == st.Dev && other.Ino == st.Ino {
		return Same, st, nil
	}
	return Replace, st, nil
}

// formats are the kinds as st_mode has them.
var formats = map[move.Kind]uint32{
	move.File: unix.S_IFREG, move.Directory: unix.S_IFDIR, move.Symlink: unix.S_IFLNK, move.Fifo: unix.S_IFIFO,
	move.Socket: unix.S_IFSOCK, move.CharDevice: unix.S_IFCHR, move.BlockDevice: unix.S_IFBLK,
}
