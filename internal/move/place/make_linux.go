package place

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// Make implements move.Sink.
func (p *Place) Make(ctx context.Context, e *move.Entry) error {
	if err := errors.Join(ctx.Err(), e.Check()); err != nil {
		return err
	}
	if e.Linked {
		return p.link(ctx, e)
	}
	switch e.Kind {
	case move.Directory:
		return p.directory(e)
	case move.File:
		return fmt.Errorf("%s is a file with data", move.Quote(e.Path))
	}
	d, name, err := p.parent(e.Path)
	if err != nil {
		return err
	}
	defer p.release(d)
	action, _, err := p.decide(d, name, e)
	if err != nil {
		return err
	}
	temp := name
	if action != Same {
		temp = tempName(name, p.o.Run, d.folds)
		if err := p.claim(d, temp); err != nil {
			return err
		}
		defer p.unclaim(d, temp)
		if err := p.special(d, temp, e); err != nil {
			return err
		}
	}
	fd, err := unix.Openat(d.fd, temp, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if action == Same {
		p.mend(fd, e)
	} else {
		p.describe(fd, e)
	}
	err = unix.Close(fd)
	if action != Same && err == nil {
		if err = p.give(d, temp, name); err != nil {
			return errors.Join(err, unix.Unlinkat(d.fd, temp, 0))
		}
	}
	if err == nil && action == Same {
		p.kept(e)
	} else if err == nil {
		p.committed(e)
	}
	return err
}

// special makes what has no data under a temporary name.
func (p *Place) special(d *dir, temp string, e *move.Entry) (err error) {
	if e.Kind == move.Symlink {
		err = unix.Symlinkat(e.Target, d.fd, temp)
	} else {
		err = unix.Mknodat(d.fd, temp, formats[e.Kind]|0o600, int(unix.Mkdev(e.Major, e.Minor)))
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: %v: %w", move.ErrUnmade, e.Kind, err)
	}
	return fmt.Errorf("make %v: %w", e.Kind, p.sinkError(err))
}

// directory makes a directory that only we may use, until Finish sets its metadata.
func (p *Place) directory(e *move.Entry) (err error) {
	x, made := *e, false
	if e.Path == "" {
		x.Stood, err = p.heldSomething()
	} else {
		made, x.Stood, err = p.haveDir(e)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	err = p.dirs.Add(&x)
	p.mu.Unlock()
	if err == nil {
		p.report.Count(func(s *move.Summary) {
			if s.Directories++; made {
				s.NewDirs++
			}
		})
	}
	return err
}

// heldSomething tells whether the root held anything before: one that did not may be made for the copy.
func (p *Place) heldSomething() (bool, error) {
	root, err := p.dir("")
	if err != nil {
		return false, err
	}
	defer p.release(root)
	return !root.fresh, nil
}

// haveDir makes a directory that is not there: made. stood: it was, and is as the end is to find it.
func (p *Place) haveDir(e *move.Entry) (made, stood bool, err error) {
	d, name, err := p.parent(e.Path)
	if err != nil {
		return false, false, err
	}
	defer p.release(d)
	if d.fresh { // at most this run's own entry has the name
		if err := p.makeDir(d, name, e); !errors.Is(err, unix.EEXIST) {
			return err == nil, false, err
		}
	}
	action, st, err := p.decide(d, name, e)
	if err != nil {
		return false, false, err
	}
	const all = unix.R_OK | unix.W_OK | unix.X_OK
	switch {
	case action == Replace:
		if err := unix.Unlinkat(d.fd, name, 0); err != nil {
			return false, false, fmt.Errorf("replace what is no directory: %w", err)
		}
	case action == Same && st.Mode&0o700 != 0o700 && unix.Faccessat(d.fd, name, all, 0) != nil:
		if st.Mode&0o7777 != e.Mode || st.Uid != e.UID || st.Gid != e.GID {
			p.report.Count(func(s *move.Summary) { s.Mended++ }) // in the end its mode may be right by unlocking
		}
		return false, false, p.unlock(e.Path, st.Mode)
	case action == Same:
		return false, true, nil
	}
	err = p.makeDir(d, name, e)
	return err == nil, false, err
}

func (p *Place) makeDir(d *dir, name string, e *move.Entry) error {
	if err := unix.Mkdirat(d.fd, name, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", p.sinkError(err))
	}
	d.named(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fresh) < freshDirs {
		p.fresh[e.Path] = true
	}
	return nil
}

// unlock lets us write to a directory whose owner may not; its metadata come at the end.
func (p *Place) unlock(path string, mode uint32) error {
	d, err := p.dir(path)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	defer p.release(d)
	if err := unix.Fchmod(d.fd, mode&0o7777|0o700); err != nil {
		return fmt.Errorf("make directory writable: %w", err)
	}
	return nil
}

// link makes a further name of what was committed before.
func (p *Place) link(ctx context.Context, e *move.Entry) error {
	if err := p.flush(ctx); err != nil { // its first name may be in the batch
		return err
	}
	p.mu.Lock()
	there := p.done[e.First]
	p.mu.Unlock()
	if !there {
		p.report.Lose(move.LostLink, e.Path, "%v: %s", move.ErrNoFirst, move.Quote(e.First))
		return move.ErrNoFirst
	}
	d, name, err := p.parent(e.Path)
	if err != nil {
		return err
	}
	defer p.release(d)
	action, _, err := p.decide(d, name, e)
	if err != nil {
		return err
	}
	if action == Same {
		p.report.Count(func(s *move.Summary) { s.Same++ })
		return nil
	}
	if err := p.linked(d, name, e); err != nil {
		return err
	}
	p.report.Count(func(s *move.Summary) { s.HardLinks++ })
	return nil
}

func (p *Place) linked(d *dir, name string, e *move.Entry) error {
	first, from, err := p.parent(e.First)
	if err != nil {
		return err
	}
	defer p.release(first)
	temp := tempName(name, p.o.Run, d.folds)
	if err := p.claim(d, temp); err != nil {
		return err
	}
	defer p.unclaim(d, temp)
	err = unix.Linkat(first.fd, from, d.fd, temp, 0)
	for _, cannot := range []error{unix.EMLINK, unix.EPERM, unix.ENOTSUP, unix.EXDEV, unix.ENOSYS, unix.EINVAL} {
		if errors.Is(err, cannot) {
			p.report.Lose(move.LostLink, e.Path, "%v", err)
			return move.ErrNoFirst
		}
	}
	if err != nil {
		return fmt.Errorf("link: %w", p.sinkError(err))
	}
	if err := p.give(d, temp, name); err != nil {
		return errors.Join(err, unix.Unlinkat(d.fd, temp, 0))
	}
	return nil
}

// stands notes an entry that further names may be linked to.
func (p *Place) stands(e *move.Entry) {
	if e.Links > 1 {
		p.mu.Lock()
		p.done[e.Path] = true
		p.mu.Unlock()
	}
}

// kept counts an entry whose content was there.
func (p *Place) kept(e *move.Entry) {
	p.stands(e)
	p.report.Count(func(s *move.Summary) { s.Same++; s.SameBytes += e.Size })
}

// committed counts an entry that stands under its name.
func (p *Place) committed(e *move.Entry) {
	p.stands(e)
	p.report.Count(func(s *move.Summary) {
		switch e.Kind {
		case move.File:
			s.Files++
		case move.Symlink:
			s.Symlinks++
		default:
			s.Specials++
		}
	})
}

// isNew tells whether an open file is one that was just made.
func isNew(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 && st.Nlink == 1
}
