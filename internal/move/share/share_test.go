package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// flat is a source that is a list of entries.
type flat struct{ entries []*move.Entry }

func (f *flat) Scan(_ context.Context, yield func(*move.Entry) error) error {
	for i, e := range f.entries {
		e.ID = uint64(i + 1)
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *flat) Open(_ context.Context, e *move.Entry) (move.SourceFile, error) {
	return &opened{e}, nil
}

type opened struct{ e *move.Entry }

func (o *opened) Entry() *move.Entry { return o.e }
func (o *opened) Next(i int64) (int64, error) {
	if i >= move.Blocks(o.e.Size) {
		return 0, io.EOF
	}
	return i, nil
}
func (o *opened) Read(_ context.Context, _ int64, buf []byte) (move.Block, error) {
	return move.Block{Data: buf[:min(int64(len(buf)), o.e.Size)]}, nil
}
func (o *opened) Changed() error { return nil }
func (o *opened) Close() error   { return nil }

func dir(path string) *move.Entry { return &move.Entry{Path: path, Kind: move.Directory} }
func file(path string, size int64) *move.Entry {
	return &move.Entry{Path: path, Kind: move.File, Size: size, Links: 1}
}

// has is a target that has some paths.
type has map[string]move.Presence

func (h has) Find(_ context.Context, in []*move.Entry) ([]move.Presence, error) {
	out := make([]move.Presence, len(in))
	for i, e := range in {
		out[i] = h[e.Path]
	}
	return out, nil
}

type broken struct{}

func (broken) Find(context.Context, []*move.Entry) ([]move.Presence, error) {
	return nil, errors.New("gone")
}

// taken is what each part was given, with all parts taking at once.
func taken(t *testing.T, s *Source, finders ...move.Finder) [][]string {
	t.Helper()
	out := make([][]string, len(s.parts))
	var mu sync.Mutex
	var g errgroup.Group
	for i := range s.parts {
		p := s.Part(i)
		p.Met(finders[i])
		g.Go(func() error {
			err := p.Scan(t.Context(), func(e *move.Entry) error {
				mu.Lock()
				out[i] = append(out[i], e.Path)
				mu.Unlock()
				if e.Kind != move.File || e.Linked {
					return nil
				}
				f, err := p.Open(t.Context(), e)
				if err != nil {
					return err
				}
				return errors.Join(f.Changed(), f.Close())
			})
			if errors.Is(err, ErrNobody) {
				return nil
			}
			return err
		})
	}
	if err := errors.Join(s.Run(t.Context()), g.Wait()); err != nil {
		t.Fatal(err)
	}
	return out
}

func count(in [][]string) map[string]int {
	n := map[string]int{}
	for _, l := range in {
		for _, p := range l {
			n[p]++
		}
	}
	return n
}

func TestEveryFileGoesToOneTargetAndItsDirectoriesBeforeIt(t *testing.T) {
	src := &flat{entries: []*move.Entry{dir("a")}}
	for i := range 2000 {
		src.entries = append(src.entries, file(fmt.Sprintf("a/f%d", i), int64(i)*2000))
	}
	src.entries = append(src.entries, dir("a/empty"), dir("a/b"), dir("a/b/c"), file("a/b/c/deep", 3))
	got := taken(t, Divide(src, []bool{false, false}, 0, move.NewReport(nil)), has{}, has{})
	n := count(got)
	for _, e := range src.entries {
		if e.Kind == move.File && n[e.Path] != 1 || n[e.Path] == 0 {
			t.Errorf("%s came to %d targets", e.Path, n[e.Path])
		}
	}
	for _, l := range got {
		for i, p := range l {
			if p == "a/b/c/deep" && (slices.Index(l[:i], "a/b/c") < 0 || slices.Index(l[:i], "a") < 0) {
				t.Errorf("%q came before its directories: %q", p, l)
			}
		}
		slices.Sort(l)
		if len(slices.Compact(l)) != len(l) {
			t.Errorf("something came twice: %q", l)
		}
	}
}

// Some files are all there is of many a source: no target takes more of them ahead than it reads.
func TestSmallFilesAreNotAllTakenByWhoComesFirst(t *testing.T) {
	for name, c := range map[string]struct{ files, size, most int }{
		"many small ones":  {300, 4 << 10, lightMost},
		"some of half one": {100, 512 << 10, 32},
	} {
		t.Run(name, func(t *testing.T) {
			src := &flat{}
			for i := range c.files {
				src.entries = append(src.entries, file(fmt.Sprintf("f%d", i), int64(c.size)))
			}
			s := Divide(src, []bool{false, false}, 0, move.NewReport(nil))
			s.Part(0).Met(has{})
			s.Part(1).Met(has{})
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			scan, stuck := context.WithCancel(t.Context())
			n := 0
			err := s.Part(0).Scan(scan, func(*move.Entry) error { // and reads none
				if n++; n == c.most {
					stuck() // which is heard while it waits for more
				}
				return nil
			})
			if n != c.most || !errors.Is(err, context.Canceled) {
				t.Errorf("it took %d of %d and ended with %v, want %d", n, c.files, err, c.most)
			}
			if rest := count([][]string{scanned(t, s.Part(1))}); len(rest) != c.files-c.most {
				t.Errorf("the other one got %d, want %d", len(rest), c.files-c.most)
			}
		})
	}
}

// scanned is what a part gets that reads each file, or whose file cannot be opened, at once.
func scanned(t *testing.T, p *Part) (out []string) {
	t.Helper()
	err := p.Scan(t.Context(), func(e *move.Entry) error {
		out = append(out, e.Path)
		if len(out)%3 == 0 { // it changed: it is opened and closed again
			if f, err := p.Open(t.Context(), e); err != nil || f.Close() != nil {
				t.Errorf("%s: %v", e.Path, err)
			}
		}
		f, err := p.Open(t.Context(), e)
		if err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// Who waits and has fewer large files gets the next, and of two that have none who it is the turn of.
func TestLargeFilesGoToWhoHasFewest(t *testing.T) {
	for turn := range 3 {
		s := Divide(&flat{}, make([]bool, 3), turn, move.NewReport(nil))
		for i := range 3 {
			s.Part(i).waits = true
		}
		for i := range 6 {
			s.large = append(s.large, item{e: file(fmt.Sprintf("l%d", i), 9<<20)})
		}
		var got []int
		for len(s.large) > 0 {
			for _, p := range s.parts {
				if _, ok := p.pull(); ok {
					got = append(got, p.i)
				}
			}
		}
		order := []int{turn, (turn + 1) % 3, (turn + 2) % 3}
		slices.Sort(got[:3])
		slices.Sort(got[3:])
		if fmt.Sprint(got) != "[0 1 2 0 1 2]" {
			t.Errorf("turn %d: they went to %v", turn, got)
		}
		s.large = []item{{e: file("one more", 9<<20)}}
		for _, p := range s.parts {
			p.pending = map[*move.Entry]item{}
		}
		for _, i := range []int{order[2], order[1], order[0]} {
			if _, ok := s.Part(i).pull(); ok != (i == turn) {
				t.Errorf("turn %d: part %d got it: %v", turn, i, ok)
			}
		}
	}
}

// What a target was found to have as it is, its sender knows as it is handed over.
func TestWhatATargetHasIsToldWithIt(t *testing.T) {
	src := &flat{entries: []*move.Entry{file("same", 1), file("other", 2), file("new", 3)}}
	s := Divide(src, []bool{false}, 0, move.NewReport(nil))
	s.Part(0).Met(has{"same": move.Present, "other": move.Differs})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	var last *move.Entry
	err := s.Part(0).Scan(t.Context(), func(e *move.Entry) error {
		told[e.Path] = s.Part(0).Has(e)
		if last != nil && s.Part(0).Has(last) {
			t.Errorf("%s is told of when %s is handed over", last.Path, e.Path)
		}
		last = e
		return nil
	})
	if err != nil || fmt.Sprint(told) != "map[new:false other:false same:true]" {
		t.Errorf("told %v, %v", told, err)
	}
}

func TestWhatATargetHasGoesThere(t *testing.T) {
	first := file("a/first", 4)
	first.Links = 2
	further := file("a/further", 4)
	further.Links, further.Linked, further.First = 2, true, "a/first"
	src := &flat{entries: []*move.Entry{dir("a"), file("a/x", 1), file("a/y", 9<<20), first, further, file("a/both", 3)}}
	got := taken(t, Divide(src, []bool{false, false}, 0, move.NewReport(nil)),
		has{"a/x": move.Present, "a/both": move.Differs}, has{"a": move.Present, "a/y": move.Differs, "a/first": move.Present, "a/both": move.Present})
	for i, want := range []string{"a a/x a/both", "a a/y a/first a/further a/both"} {
		if s := fmt.Sprint(got[i]); s != "["+want+"]" {
			t.Errorf("target %d got %s, want %s", i, s, want)
		}
	}
}

func TestATargetThatIsClosedGetsNothingAndKeepsWhatItShows(t *testing.T) {
	first := file("first", 4)
	first.Links = 2
	further := file("further", 4)
	further.Links, further.Linked, further.First = 2, true, "first"
	src := &flat{entries: []*move.Entry{file("there", 5), file("stale", 1), first, further}}
	rep := move.NewReport(nil)
	got := taken(t, Divide(src, []bool{true, false}, 0, rep), has{"there": move.Present, "stale": move.Differs, "first": move.Present}, has{})
	slices.Sort(got[1]) // what comes anew waits for nothing of what is asked for
	if fmt.Sprint(got) != "[[] [further stale]]" {
		t.Errorf("they got %v", got)
	}
	if m := rep.Summary(); m.Same != 2 || m.SameBytes != 9 {
		t.Errorf("%+v", m)
	}
	if lost, _, _ := rep.Losses(); lost[move.LostLink] != 1 {
		t.Errorf("lost %v", lost)
	}
}

func TestATargetThatDoesNotAnswerLeavesAllToTheOthers(t *testing.T) {
	src := &flat{entries: []*move.Entry{dir("a"), file("a/x", 1), file("a/y", 2)}}
	if got := taken(t, Divide(src, []bool{false, false}, 0, move.NewReport(nil)), broken{}, has{}); count(got[1:])["a/x"] != 1 || len(got[0]) != 0 {
		t.Errorf("they got %v", got)
	}
	s := Divide(src, []bool{false}, 0, move.NewReport(nil))
	s.Part(0).Met(broken{})
	if err := s.Run(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("without a target: %v", err)
	}
}

// One target has read a block of its file and stands still; the other is idle and fast.
func TestAFileIsMovedFromATargetThatFallsBehind(t *testing.T) {
	const size = 100 * move.BlockSize
	slow, quick := file("slow", size), file("quick", size)
	src := &flat{entries: []*move.Entry{slow, quick}}
	s := Divide(src, []bool{false, false}, 0, move.NewReport(nil))
	a, b := s.Part(0), s.Part(1)
	a.Met(has{})
	b.Met(has{})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	take := func(p *Part) move.SourceFile {
		t.Helper()
		x, _, err := p.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Open(t.Context(), x.e)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	read := func(f move.SourceFile) error {
		_, err := f.Read(t.Context(), 0, make([]byte, move.BlockSize))
		return err
	}
	behind, ahead := take(a), take(b)
	if err := errors.Join(read(behind)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := read(ahead); err != nil {
			t.Fatal(err)
		}
	}
	s.Passed(1)
	if err := errors.Join(ahead.Changed(), ahead.Close()); err != nil {
		t.Fatal(err)
	}
	more := make(chan item, 1)
	go func() {
		if x, ok, _ := b.next(t.Context()); ok {
			more <- x
		}
		close(more)
	}()
	var x item
	for moved := false; !moved; {
		s.Passed(1) // nothing is moved before b waits
		select {
		case x, moved = <-more:
			if !moved {
				t.Fatal("nothing was moved")
			}
		default:
		}
	}
	if x.e != slow {
		t.Errorf("%s was moved", x.e.Path)
	}
	if err := read(behind); !errors.Is(err, move.ErrMoved) {
		t.Errorf("its first target still reads it: %v", err)
	}
	if err := behind.Changed(); !errors.Is(err, move.ErrMoved) {
		t.Errorf("its first target would commit it: %v", err)
	}
}

// last is a sink of which Finish alone is looked at.
type last struct {
	move.Sink
	n   int
	err error
}

func (l *last) Finish(context.Context) error { l.n++; return l.err }

func TestATargetIsFinishedOnceAllSourcesAreDoneOrGone(t *testing.T) {
	for name, gone := range map[string]int{"all finish": 0, "one is gone": 1, "all are gone": 3} {
		t.Run(name, func(t *testing.T) {
			sink := &last{err: errors.New("full")}
			all := Gather(sink, 3)
			var g errgroup.Group
			for i := range 3 {
				s := all.Session()
				g.Go(func() error {
					defer s.Gone(t.Context())
					if i < gone {
						return nil
					}
					if err := s.Finish(t.Context()); !errors.Is(err, sink.err) {
						return fmt.Errorf("session %d heard %v", i, err)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if want := min(1, 3-gone); sink.n != want {
				t.Errorf("it was finished %d times, want %d", sink.n, want)
			}
		})
	}
}
