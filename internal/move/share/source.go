// Package share divides the entries of one source among several targets, and has several
// sources write to one target. Each target takes the next file when it is free, so that a
// faster one gets more; a file that a target has already goes there and to no other; further
// names of an inode go where its first name went; a directory is made wherever something of it
// comes to lie, and at one target at least. At the end a large file that would be over far
// sooner elsewhere is taken from its target and begun anew there.
//
// It opens no connection and keeps no clock: who uses it tells it which targets are there and
// gone, and when time has passed. It divides no file: each is whole at one target.
package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// Bounds of what is decided and not taken yet, in entries.
const (
	askedAtOnce = 512  // what targets have is asked for so many together
	waitingMost = 4096 // of each queue
	heavyMost   = 2    // large files that a target has at once

	// Small files that a target has at once before they are read: what one takes ahead the others do not
	// get, and a few files are all there is of many a source.
	lightMost  = 64
	lightBytes = 16 << 20
)

// MaxTargets bounds the targets of one source.
const MaxTargets = 64

// ErrNobody is a source of which no target is left.
var ErrNobody = errors.New("no target is left that takes anything")

// node is a directory of the source, with those above it.
type node struct {
	e     *move.Entry
	above *node
	made  uint64 // parts that have it; guarded by Source.mu
}

// item is an entry that waits for its target.
type item struct {
	e  *move.Entry
	in *node // its directory; nil: it lies in the target's root
	// self is the entry as a directory.
	self *node
	// owned: its target has some of it, so that it goes to no other. has: all of it, as it is.
	owned, has bool
}

// heavy tells whether a file goes block by block.
func (x item) heavy() bool {
	return x.e.Kind == move.File && !x.e.Linked && x.e.Size > move.PackSize
}

// light tells whether it is a file that goes as a whole.
func (x item) light() bool { return x.e.Kind == move.File && !x.e.Linked && !x.heavy() }

// Source is a source that is divided.
type Source struct {
	src   move.Source
	rep   *move.Report
	parts []*Part
	turn  int // of the parts that have as much to do, this one is given a large file first

	mu      sync.Mutex // of what follows, and of the parts
	changed *sync.Cond
	missing int // parts of which it is not known yet whether they are there
	large   []item
	small   []item
	scanned bool
	err     error
	firsts  map[string]int // which part has the first name of an inode
	open    []*node        // the directories that the scan is in

	look *Look             // nil: the targets get what they lack
	seen map[string]uint64 // the parts that have the first name of an inode, where it is looked
}

// Divide divides src. closed[i] tells that target i is asked what it has, and gets nothing. turn is
// another number at each of several sources with the same targets, from 0 on: a source that has one large
// file begins with another target than the next source.
func Divide(src move.Source, closed []bool, turn int, rep *move.Report) *Source {
	s := &Source{src: src, rep: rep, turn: turn, missing: len(closed), firsts: map[string]int{}}
	s.changed = sync.NewCond(&s.mu)
	for i, c := range closed {
		s.parts = append(s.parts, &Part{s: s, i: i, closed: c, pending: map[*move.Entry]item{}, light: map[*move.Entry]bool{}, flights: map[*flight]bool{}})
	}
	return s
}

// Part is what target i gets.
func (s *Source) Part(i int) *Part { return s.parts[i] }

// Run scans the source once it is known of every target whether it is there, and returns when
// the scan is over. An error is also given to every Part.
func (s *Source) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	for s.missing > 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
	s.mu.Unlock()
	var batch []item
	err := s.src.Scan(ctx, func(e *move.Entry) error {
		batch = append(batch, s.locate(e))
		if len(batch) < askedAtOnce {
			return nil
		}
		full := batch
		batch = nil
		return s.assign(ctx, full)
	})
	if err == nil {
		err = s.assign(ctx, batch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scanned, s.err = true, err
	s.changed.Broadcast()
	return err
}

// locate finds the directory that an entry lies in: a scan is in it, or in one below it.
func (s *Source) locate(e *move.Entry) item {
	for n := len(s.open); n > 0 && !within(s.open[n-1].e.Path, e.Path); n-- {
		s.open = s.open[:n-1]
	}
	x := item{e: e}
	if n := len(s.open); n > 0 {
		x.in = s.open[n-1]
	}
	if e.Kind == move.Directory {
		x.self = &node{e: e, above: x.in}
		s.open = append(s.open, x.self)
	}
	return x
}

func within(dir, path string) bool {
	return dir == "" && path != "" || strings.HasPrefix(path, dir+"/")
}

// assign gives a batch its targets.
func (s *Source) assign(ctx context.Context, batch []item) error {
	have := s.ask(ctx, batch)
	if s.look != nil && !s.allThere() {
		return errUnknown
	}
	for i, x := range batch {
		var err error
		switch {
		case s.look != nil:
			err = s.show(ctx, x, have, i)
		case x.e.Linked:
			err = s.assignLink(ctx, x, have, i)
		default:
			err = s.assignOne(ctx, x, have, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask asks all targets what they have of a batch. One that does not answer is gone, which its
// own end tells of.
func (s *Source) ask(ctx context.Context, batch []item) [][]move.Presence {
	have := make([][]move.Presence, len(s.parts))
	entries := make([]*move.Entry, len(batch))
	for i, x := range batch {
		entries[i] = x.e
	}
	var g errgroup.Group
	for i, p := range s.parts {
		s.mu.Lock()
		find := p.finder
		if p.gone {
			find = nil
		}
		s.mu.Unlock()
		have[i] = make([]move.Presence, len(batch))
		if find == nil || len(batch) == 0 {
			continue
		}
		g.Go(func() error {
			if got, err := find.Find(ctx, entries); err != nil {
				p.Lost()
			} else if len(got) == len(entries) {
				have[i] = got
			}
			return nil
		})
	}
	_ = g.Wait() // none fails
	return have
}

// assignOne decides who gets an entry: whoever has it, and else who is free first.
func (s *Source) assignOne(ctx context.Context, x item, have [][]move.Presence, at int) error {
	var owners []*Part
	shown := false // by a target that gets nothing
	for i, p := range s.parts {
		switch h := have[i][at]; {
		case h == move.Absent:
		case !p.closed:
			owners = append(owners, p)
		case h == move.Present:
			shown = true
			s.first(x.e, i)
		}
	}
	if len(owners) == 0 && shown {
		s.rep.Count(func(m *move.Summary) {
			if x.e.Kind != move.Directory {
				m.Same++
				m.SameBytes += x.e.Size
			}
		})
		return nil
	}
	if len(owners) == 0 && x.e.Links > 1 && x.e.Kind != move.Directory {
		owners = s.least()
	}
	if len(owners) == 0 {
		return s.push(ctx, x, nil)
	}
	s.first(x.e, owners[0].i)
	for _, p := range owners {
		x.has = have[p.i][at] == move.Present
		if err := s.push(ctx, x, p); err != nil {
			return err
		}
	}
	return nil
}

// first notes where the first name of an inode goes.
func (s *Source) first(e *move.Entry, i int) {
	if e.Links < 2 || e.Kind == move.Directory {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firsts[e.Path] = i
}

// least is the part that has least to do, as a list of one; none where all are gone.
func (s *Source) least() []*Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *Part
	for _, p := range s.parts {
		if p.takes() && (best == nil || len(p.own) < len(best.own)) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	return []*Part{best}
}

// assignLink sends a further name where the first one is. Where that can get nothing more, it
// is copied as a file of its own.
func (s *Source) assignLink(ctx context.Context, x item, have [][]move.Presence, at int) error {
	s.mu.Lock()
	i, known := s.firsts[x.e.First]
	takes := known && s.parts[i].takes()
	s.mu.Unlock()
	if takes {
		return s.push(ctx, x, s.parts[i])
	}
	if known && s.parts[i].closed && have[i][at] == move.Present {
		s.rep.Count(func(m *move.Summary) { m.Same++ })
		return nil
	}
	e := *x.e
	s.rep.Lose(move.LostLink, e.Path, "its first name %s is at a target that takes nothing more", move.Quote(e.First))
	e.Linked, e.First = false, ""
	x.e = &e
	return s.assignOne(ctx, x, have, at)
}

// push lets an entry wait for its part, nil being whoever is free first.
func (s *Source) push(ctx context.Context, x item, p *Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := &s.small
	switch {
	case p != nil:
		to = &p.own
	case x.heavy():
		to = &s.large
	}
	for len(*to) >= waitingMost && ctx.Err() == nil && (p == nil || !p.gone) && s.anyTakes() {
		s.changed.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !s.anyTakes():
		return ErrNobody
	case p != nil && p.gone:
		return nil // its own end tells of it
	}
	x.owned = p != nil
	*to = append(*to, x)
	s.changed.Broadcast()
	return nil
}

// anyTakes tells whether a part is left that takes something; s.mu is held.
func (s *Source) anyTakes() bool {
	return slices.ContainsFunc(s.parts, func(p *Part) bool { return p.takes() })
}

// busy tells whether a large file is under way that could still come to another part; s.mu is
// held.
func (s *Source) busy() bool {
	for _, p := range s.parts {
		if !p.takes() {
			continue
		}
		if len(p.pending) > 0 {
			return true
		}
		for f := range p.flights {
			if !f.moved && !f.ending {
				return true
			}
		}
	}
	return false
}

// What has to be gained by a move: a file begins anew then, and rates are guesses.
const (
	movedGain = 2.0 // times faster
	movedLeft = 5.0 // seconds sooner
)

// Passed tells that time has passed since it was called last: the rates of the targets are
// taken, and at the end of the copy a large file is moved that would be over far sooner.
func (s *Source) Passed(seconds float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		p.measure(seconds)
	}
	if !s.scanned || len(s.large) > 0 || len(s.small) > 0 {
		return
	}
	for _, to := range s.parts {
		if to.takes() && to.idle && to.rate > 0 {
			s.relieve(to)
		}
	}
}

// relieve has an idle part take over the file for which that brings most; s.mu is held.
func (s *Source) relieve(to *Part) {
	var best *flight
	most := movedLeft
	for _, p := range s.parts {
		if p == to || !p.takes() {
			continue
		}
		for f := range p.flights {
			if f.moved || f.ending || f.item.owned {
				continue
			}
			stay := float64(f.item.e.Size-f.read) * float64(len(p.flights)) / max(p.rate, 1)
			move := float64(f.item.e.Size) / to.rate
			if stay > movedGain*move && stay-move > most {
				best, most = f, stay-move
			}
		}
	}
	if best == nil {
		return
	}
	best.moved = true
	to.idle = false
	to.own = append(to.own, best.item)
	s.changed.Broadcast()
}

// betterFor tells whether a part that waits should rather have the next large file than p: it has fewer,
// or as many and it is its turn; s.mu is held.
func (s *Source) betterFor(p *Part) bool {
	rank := func(p *Part) int {
		n := len(s.parts)
		return p.heavies()*n + ((p.i-s.turn)%n+n)%n
	}
	return slices.ContainsFunc(s.parts, func(q *Part) bool { return q != p && q.waits && q.takes() && rank(q) < rank(p) })
}

// errText is an error of one part as another may tell it.
func errText(err error) error { return fmt.Errorf("scan: %w", err) }
