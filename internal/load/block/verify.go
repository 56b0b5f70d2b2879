package block

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/load/ring"
	"linerate/internal/unit"
)

// Unreadable: the target gave an error instead of data.
const Unreadable Fault = "unreadable"

// Verdict is what a target was found to hold.
type Verdict struct {
	Checked, Proven int64 // bytes; proven: as a run wrote them, where it wrote them
	Zero            int64 // bytes of zeroes: never written, or lost
	Wrong           int64 // bytes at Places
	// Unsure bytes are of blocks whose last write failed or was not heard of
	// again, by the journal: whatever a run wrote there is accepted.
	Unsure int64
	Runs   []Written // the first to write first
	Places []Place   // by offset; the first maxPlaces
	More   int       // places beyond those
}

// What is read at once at least, by how many readers, and how many places are
// named.
const (
	verifyPart    = unit.MiB
	verifyReaders = 4
	maxPlaces     = 100
)

// Verify reads an area and compares it with what its stamps say that runs wrote
// there; with a Journal, also with what was acknowledged. It writes nothing. done
// is told the bytes that were looked at so far, now and then, by one goroutine at
// a time; nil: nobody is.
//
// The area must begin at a multiple of 512 bytes; so must what runs wrote in it.
// An error is that the target cannot be looked at at all, or a *StuckError where a
// read takes longer than stuck (0: StuckAfter); a part that cannot be read is a Place.
func Verify(ctx context.Context, t *Target, area Span, j *Journal, stuck time.Duration, done func(unit.Bytes)) (Verdict, error) {
	part, err := partOf(area, j)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify %s: %w", t.Path, err)
	}
	v := &verifying{target: t, area: area, part: part, journal: j, done: done, stuck: cmp.Or(stuck, StuckAfter)}
	n := int((area.Size + part - 1) / part)
	v.tallies = make([]*tally, n)
	g, ctx := errgroup.WithContext(ctx)
	for r := range min(verifyReaders, n) {
		g.Go(func() error { return v.read(ctx, r, min(verifyReaders, n)) })
	}
	if err := g.Wait(); err != nil {
		return Verdict{}, fmt.Errorf("verify %s: %w", t.Path, err)
	}
	return v.sum(), nil
}

// partOf is how much is read at once: whole blocks of the journal.
func partOf(area Span, j *Journal) (unit.Bytes, error) {
	if area.From%grain != 0 || area.Size < 1 {
		return 0, fmt.Errorf("an area of %d bytes from %d on, want one from a multiple of %d on", area.Size, area.From, grain)
	}
	if j == nil {
		return verifyPart, nil
	}
	if j.Block > unit.Bytes(MaxThreadMemory)/verifyReaders || (area.From-j.From)%j.Block != 0 {
		return 0, fmt.Errorf("the journal has blocks of %v from %d on: choose an area that begins with one", j.Block, j.From)
	}
	return (verifyPart + j.Block - 1) / j.Block * j.Block, nil
}

// verifying is a verification under way.
type verifying struct {
	target  *Target
	area    Span
	part    unit.Bytes
	journal *Journal
	tallies []*tally // by part
	stuck   time.Duration

	mu     sync.Mutex
	looked unit.Bytes
	done   func(unit.Bytes)
}

// read looks at every n-th part from the first-th on.
func (v *verifying) read(ctx context.Context, first, n int) (err error) {
	b, err := ring.Memory(int(v.part) + 3*sector)
	if err != nil {
		return err
	}
	defer func() {
		var stuck *StuckError
		if !errors.As(err, &stuck) { // else the kernel may still write to it
			err = errors.Join(err, ring.Free(b))
		}
	}()
	for i := first; i < len(v.tallies); i += n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from := v.area.From + unit.Bytes(i)*v.part
		to := min(from+v.part, v.area.From+v.area.Size)
		if v.tallies[i], err = v.within(ctx, b, int64(from), int64(to)); err != nil {
			return err
		}
		v.tell(to - from)
	}
	return nil
}

// within looks at a part, and gives up on a target that does not answer.
func (v *verifying) within(ctx context.Context, b []byte, from, to int64) (*tally, error) {
	var t *tally
	err := Within(ctx, v.stuck, "read", func() error { t = v.one(b, from, to); return nil })
	var stuck *StuckError
	if errors.As(err, &stuck) {
		v.target.abandon()
		stuck.Out = []Outstanding{{Offset: from, Size: int(to - from), Age: stuck.After}}
		return nil, err
	}
	return t, err
}

func (v *verifying) tell(n unit.Bytes) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looked += n
	if v.done != nil {
		v.done(v.looked)
	}
}

// one looks at a part: from a sector before it on, since a stamp may reach over,
// and in whole sectors, as direct I/O wants it.
func (v *verifying) one(b []byte, from, to int64) *tally {
	base := max(0, from-sector) / sector * sector
	want := (to - base + sector - 1) / sector * sector
	n := v.target.file.readAt(b[:want], base)
	if got := base + int64(max(n, 0)); got < to {
		return v.unreadable(b, from, to)
	}
	return look(b[:to-base], base, from, v.journal)
}

// unreadable looks at a part sector by sector, so that an error costs no more
// than its place.
func (v *verifying) unreadable(b []byte, from, to int64) *tally {
	t := &tally{runs: map[uint64]*Written{}}
	step := int64(sector)
	if v.journal != nil {
		step = max(step, int64(v.journal.Block))
	}
	for at := from; at < to; at += step {
		end := min(at+step, to)
		base := max(0, at-sector) / sector * sector
		n := v.target.file.readAt(b[:(end-base+sector-1)/sector*sector], base)
		if base+int64(max(n, 0)) >= end {
			t.add(look(b[:end-base], base, at, v.journal))
			continue
		}
		if base < at { // it may be the sector before that cannot be read
			n = v.target.file.readAt(b[:(end-at+sector-1)/sector*sector], at)
		}
		if at+int64(max(n, 0)) >= end {
			t.add(look(b[:end-at], at, at, v.journal))
			continue
		}
		why := "the target ends before"
		if n < 0 {
			why = errorOf(-int(n)).Error()
		}
		t.checked += end - at
		t.fault(Unreadable, at, int(end-at), why)
	}
	return t
}

// add takes in what was found behind.
func (t *tally) add(o *tally) {
	t.checked += o.checked
	t.proven += o.proven
	t.blank += o.blank
	t.unsure += o.unsure
	for _, p := range o.places {
		t.fault(p.Fault, p.Offset, int(p.Bytes), p.Detail)
	}
	for run, w := range o.runs {
		if t.runs[run] == nil {
			t.runs[run] = &Written{Run: run, First: w.First, Last: w.Last}
		}
		mine := t.runs[run]
		mine.Bytes += w.Bytes
		if w.First.Before(mine.First) {
			mine.First = w.First
		}
		if w.Last.After(mine.Last) {
			mine.Last = w.Last
		}
	}
}

func (v *verifying) sum() Verdict {
	all := &tally{runs: map[uint64]*Written{}}
	for _, t := range v.tallies {
		all.add(t)
	}
	out := Verdict{Checked: all.checked, Proven: all.proven, Zero: all.blank, Wrong: all.wrong, Unsure: all.unsure, Places: all.places}
	if n := len(out.Places); n > maxPlaces {
		out.Places, out.More = out.Places[:maxPlaces], n-maxPlaces
	}
	for _, w := range all.runs {
		out.Runs = append(out.Runs, *w)
	}
	slices.SortFunc(out.Runs, func(a, b Written) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Run, b.Run)) })
	return out
}
