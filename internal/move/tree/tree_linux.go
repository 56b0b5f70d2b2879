package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/beneath"
)

// Tree is a move.Source of one or several tops.
type Tree struct {
	tops     []top
	o        Options
	excludes Excludes
	report   *move.Report
	links    map[move.Node]*linked
	next     uint64
	unread   atomic.Int64
	ahead    bool     // files may be opened ahead of their turn
	near     sync.Map // by device: whether its files are on a disk of this host (bool)
	begun    *begun   // nil: the scan was not begun before its time
}

// top is an open Top.
type top struct {
	Top
	fd   int
	node move.Node
}

// linked is an inode with several names, of which some are still to come.
type linked struct {
	first string
	left  uint32
}

// Open opens the tops of a tree. What cannot be read below them goes to the report.
func Open(tops []Top, o Options, r *move.Report) (*Tree, error) {
	if err := checkTops(tops); err != nil {
		return nil, err
	}
	x, err := NewExcludes(o.Exclude)
	if err != nil {
		return nil, err
	}
	t := &Tree{o: o, excludes: x, report: r, links: map[move.Node]*linked{}, ahead: mayOpenMany()}
	for _, w := range tops {
		fd, err := unix.Open(w.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", w.Dir, err), t.Close())
		}
		t.tops = append(t.tops, top{Top: w, fd: fd})
		e, err := statEntry(fd, w.Name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("look at %s/%s: %w", strings.TrimSuffix(w.Dir, "/"), w.Name, err), t.Close())
		}
		t.tops[len(t.tops)-1].node = e.Node
	}
	return t, nil
}

// Device is the number of the block device that the first top lies on, "8:16", where it lies
// on one.
func (t *Tree) Device() string {
	if len(t.tops) == 0 {
		return ""
	}
	dev := t.tops[0].node.Dev
	return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
}

// IsTop tells whether an entry is one of the tops.
func (t *Tree) IsTop(n move.Node) bool {
	return slices.ContainsFunc(t.tops, func(w top) bool { return w.node == n })
}

// Close closes the tops.
func (t *Tree) Close() error {
	t.begun.end()
	var errs []error
	for _, w := range t.tops {
		errs = append(errs, unix.Close(w.fd))
	}
	t.tops = nil
	return errors.Join(errs...)
}

// Unread implements move.Keeper.
func (t *Tree) Unread(context.Context) (int64, error) { return t.unread.Load(), nil }

// Keeps implements move.Keeper.
func (t *Tree) Keeps(ctx context.Context, names []move.Name) ([]bool, error) {
	out := make([]bool, len(names))
	for i, n := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if out[i] = !t.covers(n.Path) || t.excluded(n.Path, n.Directory); out[i] {
			continue
		}
		e, err := t.Lookup(n.Path)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", move.Quote(n.Path), err)
		}
		out[i] = e != nil
	}
	return out, nil
}

// fail reports what could not be read.
func (t *Tree) fail(path string, err error) {
	t.unread.Add(1)
	t.report.Lose(move.Failed, path, "read: %v", err)
}

// Scan implements move.Source.
func (t *Tree) Scan(ctx context.Context, yield func(*move.Entry) error) error {
	if b := t.begun; b != nil && !b.asked.Swap(true) {
		return b.pass(ctx, yield)
	}
	return t.walk(ctx, yield)
}

// walk hands over the entries of all tops.
func (t *Tree) walk(ctx context.Context, yield func(*move.Entry) error) error {
	for _, w := range t.tops {
		s := &scan{t: t, ctx: ctx, yield: yield, top: w}
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}

// Lookup is the entry at a path of the target as it is now, with its xattrs unless it is a
// file; nil if there is none.
func (t *Tree) Lookup(path string) (*move.Entry, error) {
	w, rel, ok := t.locate(path)
	if !ok {
		return nil, nil
	}
	dir, name := beneath.Split(rel)
	fd, err := beneath.Open(w.fd, dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		defer unix.Close(fd)
		var e *move.Entry
		if e, err = statEntry(fd, name); err == nil {
			e.Path = path
			if name == "" {
				name = "."
			}
			if err = t.complete(fd, name, e); err == nil {
				return e, nil
			}
		}
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	return nil, err
}

// excluded tells whether a path of the target is one that Scan leaves out, by itself or with a
// directory above it.
func (t *Tree) excluded(path string, directory bool) bool {
	w, _, ok := t.locate(path)
	if !ok {
		return false
	}
	rel := matched(w.Top, strings.TrimPrefix(strings.TrimPrefix(path, w.As), "/"))
	for i := range len(rel) {
		if rel[i] == '/' && t.excludes.Match(rel[:i], true) {
			return true
		}
	}
	return t.excludes.Match(rel, directory)
}

// matched is the path that globs see: below the source, with its own name if that is copied.
func matched(w Top, rel string) string {
	switch {
	case w.Name == "":
		return rel
	case rel == "":
		return w.Name
	}
	return w.Name + "/" + rel
}

// locate is the top of a path of the target, and the path below the top's directory.
func (t *Tree) locate(path string) (top, string, bool) {
	for _, w := range t.tops {
		rest, ok := strings.CutPrefix(path, w.As)
		if !ok || w.As != "" && rest != "" && rest[0] != '/' {
			continue
		}
		return w, matched(w.Top, strings.TrimPrefix(rest, "/")), true
	}
	return top{}, "", false
}

// covers tells whether a path of the target lies in a tree that is copied as a whole.
func (t *Tree) covers(path string) bool {
	_, _, ok := t.locate(path)
	return ok
}

// statMask is what an entry needs.
const statMask = unix.STATX_BASIC_STATS

// statEntry looks at a name without following it; "" is the directory itself.
func statEntry(dir int, name string) (*move.Entry, error) {
	var st unix.Statx_t
	if err := statx(dir, name, 0, &st); err != nil {
		return nil, err
	}
	return entryOf(&st), nil
}

func statx(dir int, name string, flags int, st *unix.Statx_t) error {
	flags |= unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	for {
		err := unix.Statx(dir, name, flags, statMask, st)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// identityOf is what tells whether a file is still what it was, as statx says it.
func identityOf(st *unix.Statx_t) move.Identity {
	return move.Identity{
		Node: move.Node{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}, Size: int64(st.Size),
		Mtime: move.Time{Sec: st.Mtime.Sec, Nsec: int64(st.Mtime.Nsec)}, Ctime: move.Time{Sec: st.Ctime.Sec, Nsec: int64(st.Ctime.Nsec)},
	}
}

// entryOf is what statx says as an entry.
func entryOf(st *unix.Statx_t) *move.Entry {
	e := &move.Entry{
		Mode: uint32(st.Mode & 0o7777), UID: st.Uid, GID: st.Gid, Links: st.Nlink,
		Mtime: move.Time{Sec: st.Mtime.Sec, Nsec: int64(st.Mtime.Nsec)}, Ctime: move.Time{Sec: st.Ctime.Sec, Nsec: int64(st.Ctime.Nsec)},
		Node:  move.Node{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
		Major: st.Rdev_major, Minor: st.Rdev_minor,
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind, e.Size = move.File, int64(st.Size)
		e.Sparse = st.Blocks*512 < st.Size
	case unix.S_IFDIR:
		e.Kind = move.Directory
	case unix.S_IFLNK:
		e.Kind = move.Symlink
	case unix.S_IFIFO:
		e.Kind = move.Fifo
	case unix.S_IFSOCK:
		e.Kind = move.Socket
	case unix.S_IFCHR:
		e.Kind = move.CharDevice
	case unix.S_IFBLK:
		e.Kind = move.BlockDevice
	}
	return e
}
