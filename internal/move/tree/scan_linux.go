package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/beneath"
)

// openLevels is how many directories of one path are held open at once; deeper trees are
// walked to again from the top on the way back.
const openLevels = 128

// scan is the walk of one top. A directory's subdirectories are entered after all its other
// entries, so that it is read through at once and a million names are never held.
type scan struct {
	t     *Tree
	ctx   context.Context
	yield func(*move.Entry) error
	top   top
	stack []*level
	buf   []byte
}

// level is a directory that the scan is in.
type level struct {
	fd      int // -1: closed for the sake of deeper ones
	path    string
	rel     string // below the top's directory
	node    move.Node
	pending []string // subdirectories to enter
}

// errStop is the caller's error, which ends the scan; others concern one entry.
type errStop struct{ err error }

func (e errStop) Error() string { return e.err.Error() }
func (e errStop) Unwrap() error { return e.err }

func (s *scan) run() error {
	s.buf = make([]byte, 64<<10)
	defer func() {
		for _, l := range s.stack {
			if l.fd >= 0 {
				_ = unix.Close(l.fd) // was only read
			}
		}
	}()
	if err := s.entry(s.top.fd, s.top.Name, s.top.As, s.top.Name, nil); err != nil {
		return stopped(err)
	}
	for len(s.stack) > 0 {
		l := s.stack[len(s.stack)-1]
		if len(l.pending) == 0 {
			s.leave()
			continue
		}
		name := l.pending[len(l.pending)-1]
		l.pending = l.pending[:len(l.pending)-1]
		err := s.reopen(l)
		if err == nil {
			err = s.enter(l.fd, name, join(l.path, name), join(l.rel, name))
		}
		if err != nil {
			if stopped(err) != nil {
				return stopped(err)
			}
			s.t.fail(join(l.path, name), err)
		}
	}
	return nil
}

// stopped is the error with which the caller ended the scan.
func stopped(err error) error {
	var stop errStop
	if errors.As(err, &stop) {
		return stop.err
	}
	return nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// entry hands over one entry; a directory joins pending, or is entered where that is nil.
func (s *scan) entry(dir int, name, path, rel string, l *level) error {
	if err := s.ctx.Err(); err != nil {
		return errStop{err}
	}
	e, err := statEntry(dir, name)
	if err != nil {
		s.t.fail(path, err)
		return nil
	}
	if path != "" && s.t.excludes.Match(matched(s.top.Top, strings.TrimPrefix(strings.TrimPrefix(path, s.top.As), "/")), e.Kind == move.Directory) {
		s.t.report.Count(func(m *move.Summary) { m.Excluded++ })
		return nil
	}
	if e.Kind == move.Directory {
		if l != nil {
			l.pending = append(l.pending, name)
			return nil
		}
		if err = s.enter(dir, name, path, rel); err != nil && stopped(err) == nil {
			s.t.fail(path, err)
			return nil
		}
		return err
	}
	e.Path = path
	if err := s.t.complete(dir, name, e); err != nil {
		s.t.fail(path, err)
		return nil
	}
	return s.give(e)
}

// give numbers an entry, notes its other names, and hands it over.
func (s *scan) give(e *move.Entry) error {
	s.t.next++
	e.ID = s.t.next
	if e.Kind != move.Directory && e.Links > 1 {
		if known := s.t.links[e.Node]; known != nil {
			e.First, e.Linked = known.first, true
			if known.left--; known.left == 0 {
				delete(s.t.links, e.Node)
			}
		} else {
			s.t.links[e.Node] = &linked{e.Path, e.Links - 1}
		}
	}
	if err := s.yield(e); err != nil {
		return errStop{err}
	}
	return nil
}

// enter opens a directory, hands it over and reads all its entries.
func (s *scan) enter(dir int, name, path, rel string) error {
	if name == "" {
		name = "."
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	e, err := statEntry(fd, "")
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	e.Path = path
	if !s.t.o.Plan {
		if e.Xattrs, err = xattrsOf(fd, s.t.lostXattr(path)); err != nil {
			s.t.report.Lose(move.LostXattr, path, "list: %v", err)
		}
	}
	l := &level{fd: fd, path: path, rel: rel, node: e.Node}
	s.push(l)
	if err := s.give(e); err != nil {
		return err
	}
	return s.list(l)
}

// list hands over what a directory holds.
func (s *scan) list(l *level) error {
	var names []string
	for {
		n, err := unix.ReadDirent(l.fd, s.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if n <= 0 {
			return nil
		}
		_, _, names = unix.ParseDirent(s.buf[:n], -1, names[:0])
		for _, name := range names {
			if err := s.entry(l.fd, name, join(l.path, name), join(l.rel, name), l); err != nil {
				return err
			}
		}
	}
}

// push enters a level, and closes the one that is openLevels above.
func (s *scan) push(l *level) {
	s.stack = append(s.stack, l)
	if at := len(s.stack) - 1 - openLevels; at >= 0 && s.stack[at].fd >= 0 {
		_ = unix.Close(s.stack[at].fd) // is opened again on the way back
		s.stack[at].fd = -1
	}
}

func (s *scan) leave() {
	l := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	if l.fd >= 0 {
		_ = unix.Close(l.fd) // was only read
	}
}

// reopen opens a level again that deeper ones had closed, if it is still the same.
func (s *scan) reopen(l *level) error {
	if l.fd >= 0 {
		return nil
	}
	fd, err := beneath.Open(s.top.fd, l.rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	e, err := statEntry(fd, "")
	if err == nil && e.Node != l.node {
		err = errors.New("its directory was replaced while it was read")
	}
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	l.fd = fd
	return nil
}
