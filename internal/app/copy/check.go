package copy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/unit"
)

// What differs, beside the kinds of move.Loss.
const (
	missing = "missing"
	extra   = "extra"
	kind    = "kind"
	content = "content"
	target  = "link target"
)

// checkers compare so many files at once.
const checkers = 8

// Check compares two trees without copying: everything that a copy keeps, and every byte,
// read past this host's cache. What differs comes as Losses, with an error.
func Check(ctx context.Context, e app.Env, o Options, p app.Progress) (*Result, error) {
	o.Full, o.MaxDelete = false, math.MaxInt-1
	s, err := begin(e, o, p, true)
	if err != nil {
		return nil, err
	}
	if s.route.make {
		return nil, errors.Join(failure.Of(failure.Usage, "target %s is not there", o.Target), s.close())
	}
	if err := errors.Join(s.src.Close(), s.dst.Close()); err != nil {
		return nil, err
	}
	cold := tree.Options{Exclude: o.Exclude, Direct: true, Cold: true}
	if s.src, err = tree.Open(s.route.tops, cold, s.report); err != nil {
		return nil, err
	}
	cold.Exclude = nil
	dst, err := tree.Open([]tree.Top{{Dir: s.route.root}}, cold, s.report)
	if err != nil {
		return nil, errors.Join(err, s.src.Close())
	}
	if s.dst, err = place.Open(s.route.root, place.Options{Run: runName(), Plan: true}, s.report); err != nil {
		return nil, errors.Join(err, s.src.Close(), dst.Close())
	}
	stop := s.follow(ctx)
	err = s.compare(ctx, dst)
	if err == nil {
		err = s.extras(ctx)
	}
	stop()
	r, err := s.ended(ctx, "different", errors.Join(err, s.close(), dst.Close()))
	if err == nil {
		r.State = "same"
	}
	r.Verified, r.HeldBy = "every byte of both was read past this host's cache, where the file system lets go of it, and compared", ""
	return r, err
}

// compare looks at every entry of the source.
func (s *session) compare(ctx context.Context, dst *tree.Tree) error {
	g, ctx := errgroup.WithContext(ctx)
	files := make(chan [2]*move.Entry, checkers)
	g.Go(func() error {
		defer close(files)
		return s.src.Scan(ctx, func(x *move.Entry) error {
			y, err := dst.Lookup(x.Path)
			if err != nil || y == nil {
				s.report.Lose(missing, x.Path, "not in the target%s", because(err))
				return nil
			}
			same := s.metadata(x, y)
			if x.Linked {
				if first, err := dst.Lookup(x.First); err == nil && first != nil && first.Node != y.Node {
					s.report.Lose(move.LostLink, x.Path, "another inode than %s has", shown(x.First))
				}
				return nil
			}
			if !same || x.Kind != move.File {
				return nil
			}
			select {
			case files <- [2]*move.Entry{x, y}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range checkers {
		g.Go(func() error {
			a, b, tmp := make([]byte, move.BlockSize), make([]byte, move.BlockSize), make([]byte, move.BlockSize)
			for pair := range files {
				err := s.bytes(ctx, dst, pair, [3][]byte{a, b, tmp})
				if cerr := ctx.Err(); cerr != nil {
					return cerr
				}
				if err != nil {
					s.report.Lose(move.Failed, pair[0].Path, "compare: %v", err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// metadata compares what statx says; false: the contents need not be read.
func (s *session) metadata(x, y *move.Entry) bool {
	if x.Kind != y.Kind {
		s.report.Lose(kind, x.Path, "%v instead of %v", y.Kind, x.Kind)
		return false
	}
	if x.UID != y.UID || x.GID != y.GID {
		s.report.Lose(move.LostOwner, x.Path, "%d:%d instead of %d:%d", y.UID, y.GID, x.UID, x.GID)
	}
	if x.Kind != move.Symlink && x.Mode != y.Mode {
		s.report.Lose(move.LostMode, x.Path, "%04o instead of %04o", y.Mode, x.Mode)
	}
	if x.Mtime != y.Mtime {
		s.report.Lose(move.LostMtime, x.Path, "%d.%09d instead of %d.%09d", y.Mtime.Sec, y.Mtime.Nsec, x.Mtime.Sec, x.Mtime.Nsec)
	}
	if (x.Kind == move.CharDevice || x.Kind == move.BlockDevice) && (x.Major != y.Major || x.Minor != y.Minor) {
		s.report.Lose(kind, x.Path, "device %d:%d instead of %d:%d", y.Major, y.Minor, x.Major, x.Minor)
	}
	if x.Kind == move.Symlink && x.Target != y.Target {
		s.report.Lose(target, x.Path, "%s instead of %s", shown(y.Target), shown(x.Target))
	}
	if x.Kind != move.File {
		s.attributes(x, y)
	}
	if x.Kind == move.File && x.Size != y.Size {
		s.report.Lose(content, x.Path, "%d bytes instead of %d", y.Size, x.Size)
		return false
	}
	return true
}

// attributes compares extended attributes, ACLs among them.
func (s *session) attributes(x, y *move.Entry) {
	have := map[string][]byte{}
	for _, a := range y.Xattrs {
		have[a.Name] = a.Value
	}
	for _, a := range x.Xattrs {
		v, ok := have[a.Name]
		if !ok || !bytes.Equal(v, a.Value) {
			s.report.Lose(move.LostXattr, x.Path, "%s is missing or has another value", shown(a.Name))
		}
		delete(have, a.Name)
	}
	for name := range have {
		s.report.Lose(move.LostXattr, x.Path, "%s is not in the source", shown(name))
	}
}

// bytes compares the contents of two files of one size. Ranges that are holes in both are
// not read.
func (s *session) bytes(ctx context.Context, dst *tree.Tree, pair [2]*move.Entry, buf [3][]byte) (err error) {
	a, err := s.src.Open(ctx, pair[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := dst.Open(ctx, pair[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	s.attributes(a.Entry(), b.Entry())
	for i := int64(0); ; i++ {
		x, xerr := a.Next(i)
		y, yerr := b.Next(i)
		if errors.Is(xerr, io.EOF) && errors.Is(yerr, io.EOF) {
			break
		}
		if i = nearer(x, xerr, y, yerr); i < 0 {
			return errors.Join(xerr, yerr)
		}
		n, err := fill(ctx, a, i, buf[0], buf[2])
		if err != nil {
			return err
		}
		if _, err := fill(ctx, b, i, buf[1], buf[2]); err != nil {
			return err
		}
		if !bytes.Equal(buf[0], buf[1]) {
			s.report.Lose(content, pair[0].Path, "differs between %v and %v", unit.Bytes(i*move.BlockSize), unit.Bytes((i+1)*move.BlockSize))
			return nil
		}
		s.report.Count(func(m *move.Summary) { m.Bytes += n })
	}
	s.report.Count(func(m *move.Summary) { m.Files++ })
	return errors.Join(a.Changed(), b.Changed())
}

// nearer is the lower of two indexes of which one may be at its end; -1: an error.
func nearer(x int64, xerr error, y int64, yerr error) int64 {
	switch {
	case xerr == nil && yerr == nil:
		return min(x, y)
	case xerr == nil && errors.Is(yerr, io.EOF):
		return x
	case yerr == nil && errors.Is(xerr, io.EOF):
		return y
	}
	return -1
}

// fill puts the content of a range into out, zeroes for its holes.
func fill(ctx context.Context, f move.SourceFile, i int64, out, tmp []byte) (int64, error) {
	b, err := f.Read(ctx, i, tmp)
	if err != nil {
		return 0, fmt.Errorf("read %v: %w", unit.Bytes(i*move.BlockSize), err)
	}
	clear(out)
	rest := b.Data
	for _, x := range b.Extents {
		at := x.Offset - i*move.BlockSize
		copy(out[at:at+x.Length], rest)
		rest = rest[x.Length:]
	}
	return int64(len(b.Data)), nil
}

// extras are what the target holds and the source does not.
func (s *session) extras(ctx context.Context) error {
	list, err := s.extra(ctx)
	for _, d := range list {
		s.report.Lose(extra, d.Path, "%v that the source does not have", d.Kind)
	}
	return err
}
