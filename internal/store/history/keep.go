package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch/past"
)

// seal writes each segment of a level that has parts, but for the one that is being written, anew
// as one block, and then removes the parts. A segment of which something could not be read stays
// as it is: it may be read better some day.
func (s *Store) seal(l level, writing string) error {
	all, err := l.files(s.root)
	if err != nil {
		return err
	}
	for i := 0; i < len(all); {
		n, parts := i, 0
		for n < len(all) && all[n].from.Equal(all[i].from) {
			if filepath.Ext(all[n].path) == partEnd {
				parts++
			}
			n++
		}
		if name := l.name(all[i].from); parts > 0 && name != writing {
			if err := s.sealOne(l, name, all[i:n]); err != nil {
				return err
			}
		}
		i = n
	}
	return nil
}

func (s *Store) sealOne(l level, name string, files []file) error {
	var out Read
	records, err := l.read(s.root, files[0].from, files[0].to, &out)
	if err != nil {
		return err
	}
	h := header{V: withoutLate, Set: s.set}
	for _, f := range files {
		seg, err := open(f.path)
		if err != nil || len(seg.spoiled) > 0 {
			return nil
		}
		if filepath.Ext(f.path) == partEnd {
			h.Replaces = append(h.Replaces, filepath.Base(f.path))
		}
	}
	if err := s.whole(filepath.Join(s.root, l.dir, name+sealedEnd), h, past.Slots(l.span, records)); err != nil {
		return err
	}
	for _, part := range h.Replaces {
		if err := os.Remove(filepath.Join(s.root, l.dir, part)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep history: %w", err)
		}
	}
	return nil
}

// whole writes a segment as one block.
func (s *Store) whole(path string, h header, records []past.Record) error {
	if slices.ContainsFunc(records, func(r past.Record) bool { return r.Late }) {
		h.V = Version
	}
	b, err := appendHeader(nil, h)
	if err != nil {
		return err
	}
	if b, err = appendBlock(s.zstd, b, records...); err != nil {
		return err
	}
	return replace(path, b)
}

// replace has a file hold b, or what it held before, whatever happens meanwhile.
func replace(path string, b []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keep history: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("keep history: %w", errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// prune drops the segments that are too old, once the clock is to be believed, and while there are too many bytes the oldest of the
// finest level that has more than the one that is being written.
func (s *Store) prune(now time.Time) error {
	var total unit.Bytes
	var left [][]file
	for _, l := range levels() {
		all, err := l.files(s.root)
		if err != nil {
			return err
		}
		for len(all) > 0 && !s.even.IsZero() && now.Sub(s.even) >= evenly && all[0].to.Before(now.Add(-l.keep)) {
			if err := drop(all[0]); err != nil {
				return err
			}
			all = all[1:]
		}
		for _, f := range all {
			total += unit.Bytes(f.size)
		}
		left = append(left, all)
	}
	for i := range left {
		for total > s.limit && len(left[i]) > 1 && left[i][0].to.Before(now) {
			if err := drop(left[i][0]); err != nil {
				return err
			}
			total -= unit.Bytes(left[i][0].size)
			left[i] = left[i][1:]
		}
	}
	s.size = total
	return nil
}

func drop(f file) error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep history: %w", err)
	}
	return nil
}
