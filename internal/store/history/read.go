package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/watch/past"
)

// Endings of segment files: sealed ones, and those that are still written, or were when their
// writer ended.
const (
	sealedEnd = ".seg"
	partEnd   = ".part"
)

// file is a segment's file. Its name is the segment's, for a part with a dot and a number of its own.
type file struct {
	path     string
	from, to time.Time
	size     int64
}

// Problem is a file of which something could not be read.
type Problem struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// Read is what was found of a stretch of time.
type Read struct {
	Records  []past.Record
	Problems []Problem
}

// files are the segments of a level, the oldest first. A folder that is not there has none.
func (l level) files(root string) ([]file, error) {
	entries, err := os.ReadDir(filepath.Join(root, l.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []file
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		end := filepath.Ext(e.Name())
		from, to, ok := l.bounds(name)
		info, err := e.Info()
		if !ok || end != sealedEnd && end != partEnd || err != nil || !info.Mode().IsRegular() {
			continue // of somebody else, or just gone
		}
		out = append(out, file{filepath.Join(root, l.dir, e.Name()), from, to, info.Size()})
	}
	slices.SortFunc(out, func(a, b file) int {
		return cmp.Or(a.from.Compare(b.from), cmp.Compare(filepath.Ext(b.path), filepath.Ext(a.path)), cmp.Compare(a.path, b.path))
	})
	return out, nil
}

// read reads the segments of a level that overlap a stretch of time; their records may lie outside.
func (l level) read(root string, from, to time.Time, out *Read) ([]past.Record, error) {
	all, err := l.files(root)
	if err != nil {
		return nil, err
	}
	var records []past.Record
	replaced := map[string]bool{}
	for _, f := range all { // a sealed segment comes before its parts
		if !f.from.Before(to) || !f.to.After(from) || replaced[filepath.Base(f.path)] {
			continue
		}
		s, err := open(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was sealed or dropped meanwhile
		}
		if err != nil {
			out.Problems = append(out.Problems, Problem{f.path, "skipped: " + err.Error()})
			continue
		}
		for _, name := range s.Replaces {
			replaced[name] = true
		}
		out.Problems = append(out.Problems, problems(f.path, s)...)
		records = append(records, s.records...)
	}
	return records, nil
}

func problems(path string, s segment) (out []Problem) {
	if s.torn {
		out = append(out, Problem{path, "skipped its end, which was not written whole"})
	}
	for _, why := range s.spoiled {
		out = append(out, Problem{path, "skipped " + why})
	}
	return out
}

// open reads a file.
func open(path string) (segment, error) {
	b, err := kernel.ReadNamed(path, maxSegment)
	if err != nil {
		return segment{}, err
	}
	return readSegment(b)
}

// between reads the records whose slot begins in [from, to), of the narrowest level that is at
// least as wide as asked for, or the widest; where that has no more, of the next wider one.
// Records of the same slot, of two writers in turn, become one.
func between(root string, from, to time.Time, width time.Duration) (Read, error) {
	var out Read
	all := levels()
	i := 0
	for i+1 < len(all) && all[i].span < width {
		i++
	}
	records, err := upTo(root, i, from, to, &out)
	if err != nil {
		return out, err
	}
	for _, l := range all[i+1:] {
		begin := to
		if len(records) > 0 {
			begin = records[0].At
		}
		older, err := l.in(root, from, begin, &out)
		if err != nil {
			return out, err
		}
		older = slices.DeleteFunc(older, func(r past.Record) bool { return r.End().After(begin) })
		records = append(older, records...)
	}
	out.Records = records
	return out, nil
}

// upTo reads a level's records, and adds up the finer ones for what it does not have yet.
func upTo(root string, i int, from, to time.Time, out *Read) ([]past.Record, error) {
	l := levels()[i]
	records, err := l.in(root, from, to, out)
	if err != nil || i == 0 {
		return records, err
	}
	if n := len(records); n > 0 {
		from = records[n-1].End()
	}
	finer, err := upTo(root, i-1, from, to, out)
	return append(records, past.Slots(l.span, finer)...), err
}

// in are the records of a level whose slot begins in [from, to), one for each slot.
func (l level) in(root string, from, to time.Time, out *Read) ([]past.Record, error) {
	if !from.Before(to) {
		return nil, nil
	}
	records, err := l.read(root, from, to, out)
	if err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r past.Record) bool { return r.At.Before(from) || !r.At.Before(to) })
	return past.Slots(l.span, records), nil
}
