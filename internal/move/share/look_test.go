package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// linkedTo is a further name.
func linkedTo(path, first string) *move.Entry {
	e := file(path, 4)
	e.Links, e.Linked, e.First = 2, true, first
	return e
}

func named(path string) *move.Entry {
	e := file(path, 4)
	e.Links = 2
	return e
}

// looked is what a look found of each entry, and what each target was given.
func looked(t *testing.T, plan bool, src *flat, finders ...move.Finder) (found map[string][]int, got [][]string, lost map[string]int64) {
	t.Helper()
	found = map[string][]int{}
	rep := move.NewReport(nil)
	s := Examine(src, len(finders), rep, Look{Plan: plan, Found: func(e *move.Entry, at []int) error {
		found[e.Path] = at
		return nil
	}})
	got = taken(t, s, finders...)
	lost, _, _ = rep.Losses()
	return found, got, lost
}

// A check has every target that has something of a name look at it.
func TestACheckGoesWhereverSomethingIs(t *testing.T) {
	src := &flat{entries: []*move.Entry{dir("a"), file("a/none", 9<<20), file("a/one", 9<<20), file("a/both", 3), named("a/first"), linkedTo("a/with", "a/first"), linkedTo("a/apart", "a/first")}}
	found, got, lost := looked(t, false, src,
		has{"a": move.Present, "a/both": move.Present, "a/first": move.Present, "a/with": move.Present},
		has{"a": move.Present, "a/both": move.Differs, "a/one": move.Differs, "a/apart": move.Present})
	if fmt.Sprint(found) != "map[a:[0 1] a/apart:[1] a/both:[0 1] a/first:[0] a/none:[] a/one:[1] a/with:[0]]" {
		t.Errorf("found %v", found)
	}
	if fmt.Sprint(got) != "[[a a/both a/first a/with] [a a/one a/both a/apart]]" {
		t.Errorf("they looked at %v", got)
	}
	if lost[move.LostLink] != 1 {
		t.Errorf("a further name without its first one: %v", lost)
	}
}

// A plan tells what no target has, and has the others say what a copy would do: large files are
// told of and not opened.
func TestAPlanGoesWhereACopyWould(t *testing.T) {
	src := &flat{entries: []*move.Entry{dir("a"), file("a/new", 9<<20), file("a/large", 9<<20), named("a/first"), linkedTo("a/with", "a/first"), named("a/second"), linkedTo("a/fresh", "a/second")}}
	found := map[string][]int{}
	s := Examine(src, 2, move.NewReport(nil), Look{Plan: true, Found: func(e *move.Entry, at []int) error {
		found[e.Path] = at
		return nil
	}})
	finders := []move.Finder{has{"a": move.Present, "a/large": move.Differs, "a/first": move.Present}, has{"a/with": move.Present}}
	got := make([][]string, 2)
	var g errgroup.Group
	for i := range got {
		s.Part(i).Met(finders[i])
		g.Go(func() error {
			return s.Part(i).Scan(t.Context(), func(e *move.Entry) error { got[i] = append(got[i], e.Path); return nil })
		})
	}
	if err := errors.Join(s.Run(t.Context()), g.Wait()); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(found) != "map[a/fresh:[] a/new:[] a/second:[]]" || fmt.Sprint(got) != "[[a a/large a/first a/with] []]" {
		t.Errorf("found %v, and they were told of %v", found, got)
	}
}

// What a target has that does not answer is not known, and is not said to be missing.
func TestALookEndsWithATargetThatDoesNotAnswer(t *testing.T) {
	s := Examine(&flat{entries: []*move.Entry{file("x", 1)}}, 2, move.NewReport(nil), Look{Found: func(e *move.Entry, at []int) error {
		t.Errorf("%s is said to be at %v", e.Path, at)
		return nil
	}})
	s.Part(0).Met(has{})
	s.Part(1).Met(broken{})
	if err := s.Run(t.Context()); !errors.Is(err, errUnknown) {
		t.Errorf("%v", err)
	}
	if err := s.Part(0).Scan(t.Context(), func(*move.Entry) error { return nil }); !errors.Is(err, errUnknown) {
		t.Errorf("a target that answers: %v", err)
	}
}

// tidy is a sink that keeps what its sources say of some names.
type tidy struct {
	last
	keeps  []bool
	unread int64
	err    error
	n      int
}

func (s *tidy) Tidy(ctx context.Context, k move.Keeper) (err error) {
	s.n++
	if s.unread, err = k.Unread(ctx); err == nil {
		s.keeps, err = k.Keeps(ctx, []move.Name{{Path: "a/x"}, {Path: "a/old"}, {Path: "b/old"}})
	}
	return errors.Join(err, s.err)
}

// covers is a source that keeps all but some names.
type covers struct {
	not    []string
	unread int64
	err    error
}

func (c covers) Keeps(_ context.Context, names []move.Name) (out []bool, err error) {
	for _, n := range names {
		out = append(out, !slices.Contains(c.not, n.Path))
	}
	return out, c.err
}
func (c covers) Unread(context.Context) (int64, error) { return c.unread, nil }

func TestATargetIsTidiedOnceByAllItsSources(t *testing.T) {
	for name, c := range map[string]struct {
		gone    int // of three sessions, after they have finished
		keepErr error
		tidied  int
		fails   bool
	}{
		"all are there":       {0, nil, 1, false},
		"one has gone":        {1, nil, 0, false},
		"one does not answer": {0, errors.New("lost"), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &tidy{}
			all := Gather(sink, 3)
			sources := []covers{{unread: 1}, {not: []string{"a/old"}, unread: 2}, {not: []string{"b/old"}, err: c.keepErr}}
			var g errgroup.Group
			for i := range 3 {
				s := all.Session()
				g.Go(func() error {
					if err := s.Finish(t.Context()); err != nil {
						return err
					}
					if i < c.gone {
						s.Gone(t.Context())
						return nil
					}
					if err := s.Tidy(t.Context(), sources[i]); (err != nil) != c.fails {
						return fmt.Errorf("session %d heard %v", i, err)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if sink.n != c.tidied {
				t.Errorf("it was tidied %d times, want %d", sink.n, c.tidied)
			}
			if c.tidied == 1 && !c.fails && (sink.unread != 3 || fmt.Sprint(sink.keeps) != "[true false false]") {
				t.Errorf("%d unread, keeps %v", sink.unread, sink.keeps)
			}
		})
	}
}
