package place

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// ErrTooMany is a target that holds more that the source does not have than may be deleted.
var ErrTooMany = errors.New("more than may be deleted")

// Doomed is an entry that is to be deleted.
type Doomed struct {
	Path string
	Kind move.Kind
	node move.Node
}

// Extra lists what the target holds and keep does not want, below the directories in, what
// a directory holds before itself. More than most is ErrTooMany. It changes nothing.
func (p *Place) Extra(ctx context.Context, in []string, most int, keep func(path string, k move.Kind) (bool, error)) ([]Doomed, error) {
	var out []Doomed
	add := func(x Doomed) error {
		if out = append(out, x); len(out) > most {
			return ErrTooMany
		}
		return nil
	}
	for _, path := range in {
		err := p.extra(ctx, path, false, add, keep)
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			return nil, err
		}
	}
	return out, nil
}

// extra walks one directory; doomed: the directory itself goes, and so all of it.
func (p *Place) extra(ctx context.Context, path string, doomed bool, add func(Doomed) error, keep func(string, move.Kind) (bool, error)) error {
	d, err := p.dir(path)
	if err != nil {
		return err
	}
	defer p.release(d)
	return list(d.fd, func(name string) error {
		if path == "" && name == journal.Name || isTemp(name, p.o.Run) {
			return nil
		}
		var st unix.Stat_t
		if err := errors.Join(ctx.Err(), unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
			return err
		}
		at, kind := joined(path, name), kindOf(st.Mode)
		goes := doomed
		if !goes {
			kept, err := keep(at, kind)
			if err != nil {
				return err
			}
			goes = !kept
		}
		if kind == move.Directory {
			if err := p.extra(ctx, at, goes, add, keep); err != nil {
				return err
			}
		}
		if goes {
			return add(Doomed{at, kind, move.Node{Dev: st.Dev, Ino: st.Ino}})
		}
		return nil
	})
}

func kindOf(mode uint32) move.Kind {
	for k, f := range formats {
		if mode&unix.S_IFMT == f {
			return k
		}
	}
	return 0
}

// Remove deletes what Extra listed, unless another entry has its name by now.
func (p *Place) Remove(ctx context.Context, list []Doomed) error {
	for _, x := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.remove(x); err != nil {
			p.report.Lose(move.Failed, x.Path, "delete: %v", err)
			continue
		}
		p.report.Count(func(s *move.Summary) { s.Deleted++ })
	}
	return p.sync()
}

func (p *Place) remove(x Doomed) error {
	d, name, err := p.parent(x.Path)
	if err != nil {
		return err
	}
	defer p.release(d)
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if kindOf(st.Mode) != x.Kind || (st.Ino != x.node.Ino || st.Dev != x.node.Dev) {
		return fmt.Errorf("another entry has its name by now")
	}
	flags := 0
	if x.Kind == move.Directory {
		p.forget(x.Path)
		flags = unix.AT_REMOVEDIR
	}
	return keepingTimes(d.fd, func() error { return unix.Unlinkat(d.fd, name, flags) })
}
