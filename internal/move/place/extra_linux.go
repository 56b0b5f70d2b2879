package place

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/beneath"
	"linerate/internal/move/journal"
)

// Doomed is an entry that is to be deleted.
type Doomed struct {
	Path string
	Kind move.Kind
	node move.Node
}

// askedAtOnce is how many names the source is asked about with one question: it may be far.
const askedAtOnce = 1000

// mostKept directories at most may be found to stay with what stays in them: memory is bounded.
const mostKept = 250_000

// extras is a walk through what the target holds.
type extras struct {
	p       *Place
	source  move.Keeper
	most    int
	dirs    []string        // to be listed
	asked   []Doomed        // whose fate the source is to say
	out     []Doomed        // a directory before what it holds
	files   int             // of out, what is no directory
	emptied map[string]bool // directories of out of which nothing stays
}

// Extra lists what the target holds and the source does not keep, below the directories in,
// what a directory holds before itself. A directory stays with what stays in it. More than most
// is refused. It changes nothing.
func (p *Place) Extra(ctx context.Context, in []string, most int, source move.Keeper) ([]Doomed, error) {
	w := &extras{p: p, source: source, most: most, dirs: slices.Clone(in), emptied: map[string]bool{}}
	for len(w.dirs) > 0 || len(w.asked) > 0 {
		var err error
		if last := len(w.dirs) - 1; last >= 0 {
			path := w.dirs[last]
			w.dirs = w.dirs[:last]
			err = w.list(ctx, path, func(x Doomed) error {
				if w.asked = append(w.asked, x); len(w.asked) < askedAtOnce {
					return nil
				}
				return w.ask(ctx)
			})
		} else {
			err = w.ask(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	out := slices.DeleteFunc(w.out, func(x Doomed) bool { return x.Kind == move.Directory && !w.emptied[x.Path] })
	if len(out) > most {
		return nil, tooMany(most)
	}
	slices.Reverse(out)
	return out, nil
}

// list looks at every entry of one directory; one that is gone holds nothing.
func (w *extras) list(ctx context.Context, path string, each func(Doomed) error) error {
	d, err := w.p.dir(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	var others error // of each
	if err == nil {
		defer w.p.release(d)
		err = list(d.fd, func(name string) error {
			if path == "" && name == journal.Name || isTemp(name, w.p.o.Run) {
				return nil
			}
			var st unix.Stat_t
			err := errors.Join(ctx.Err(), unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW))
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			if err == nil {
				others = each(Doomed{joined(path, name), kindOf(st.Mode), move.Node{Dev: st.Dev, Ino: st.Ino}})
				err = others
			}
			return err
		})
	}
	if err != nil && others == nil {
		return fmt.Errorf("list %s: %w", move.Quote("./"+path), err)
	}
	return err
}

// ask asks the source which of the collected entries stay. What directories hold is asked about
// too, also of those that the source lacks: it may have been told to leave some of it alone.
func (w *extras) ask(ctx context.Context) error {
	names := make([]move.Name, 0, len(w.asked))
	for _, x := range w.asked {
		names = append(names, move.Name{Path: x.Path, Directory: x.Kind == move.Directory})
	}
	stay, err := w.source.Keeps(ctx, names)
	if err == nil && len(stay) != len(names) {
		err = errors.New("the source has answered about other names than it was asked about")
	}
	if err != nil {
		return err
	}
	asked := w.asked
	w.asked = nil
	for i, x := range asked {
		top := x.Kind == move.Directory && isTop(w.source, x.node)
		if x.Kind == move.Directory && !top && !w.p.isInWay(x.Path) {
			w.dirs = append(w.dirs, x.Path)
		}
		if top && !stay[i] {
			return failure.Of(failure.Usage, "the source lies in the target, at %s, and would be deleted there; nothing was deleted: copy to a directory that does not hold it", move.Quote("./"+x.Path))
		}
		if stay[i] {
			w.spare(x.Path)
		} else if err := w.doom(x); err != nil {
			return err
		}
	}
	return nil
}

// isTop tells whether an entry is what is copied, where the source is on this host and says so.
func isTop(source move.Keeper, n move.Node) bool {
	here, ok := source.(interface{ IsTop(move.Node) bool })
	return ok && here.IsTop(n)
}

func (p *Place) isInWay(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inWay[path]
}

// doom adds an entry.
func (w *extras) doom(x Doomed) error {
	w.out = append(w.out, x)
	if x.Kind == move.Directory {
		w.emptied[x.Path] = true
	} else {
		w.files++
	}
	if w.files > w.most || len(w.out)-w.files-mostKept > w.most {
		return tooMany(w.most)
	}
	return nil
}

// spare keeps the directories above an entry that stays.
func (w *extras) spare(path string) {
	for path != "" {
		path, _ = beneath.Split(path)
		delete(w.emptied, path)
	}
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
