package mover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
	"linerate/internal/move/compare"
	"linerate/internal/move/place"
	"linerate/internal/move/share"
	"linerate/internal/move/wire"
)

// spread is an end that has several others: a source that is divided among targets, or a
// target that several sources write to.
type spread struct {
	from  *share.Source
	to    []*share.Session
	scan  chan error // how the scan ended
	g     *errgroup.Group
	pairs []spreadPair
	ended chan pairEnd
	left  int // pairs that are not over
}

type spreadPair struct {
	m    *meeting
	over bool
}

// pairEnd is the end of a way to meet an other end, or of the session over it.
type pairEnd struct {
	pair int
	m    *meeting
	err  error
}

// errDropped is an other end that was given up by who asked for the copy.
var errDropped = errors.New("it was given up")

// passEvery is how often a source is told that time has passed.
const passEvery = time.Second

// obeySpread does what is ordered until every other end is done or gone.
func (m *mover) obeySpread(ctx context.Context, commands <-chan Command) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var g errgroup.Group
	s := &spread{pairs: make([]spreadPair, len(m.task.Spread)), ended: make(chan pairEnd), left: len(m.task.Spread), scan: make(chan error, 1)}
	end := func() {}
	defer func() {
		cancel(errAnother)
		for _, p := range s.pairs {
			if p.m != nil && !p.over {
				<-p.m.over()
			}
		}
		_ = g.Wait() // none fails
		end()
	}()
	for s.left > 0 {
		select {
		case c := <-commands:
			if c.Order == Open {
				e, err := m.open(c)
				if err == nil {
					err = m.emit(e)
				}
				if err != nil {
					return err
				}
				end = m.begin(ctx)
				s.g = &g
				m.divide(ctx, s)
				continue
			}
			if err := m.obeyPair(ctx, s, c); err != nil {
				return err
			}
		case e := <-s.ended:
			if err := m.pairEnded(ctx, s, e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if later, ok := m.dst.(*place.Later); ok && later.List.Known {
		return m.deal(ctx, commands, later)
	}
	if s.from == nil {
		return nil
	}
	if err := <-s.scan; !errors.Is(err, share.ErrNobody) { // that the pairs have told
		return err
	}
	return nil
}

// deal tells what the sources do not have, and deals with it as it is told to. All sources are done
// by then; without an order nothing is deleted.
func (m *mover) deal(ctx context.Context, commands <-chan Command, later *place.Later) error {
	e := Event{Kind: Doomed, Count: later.List.N, Unread: later.List.Unread}
	if later.List.Err != nil {
		e.Text = later.List.Err.Error()
	}
	if err := m.emit(e); err != nil {
		return err
	}
	for {
		select {
		case c := <-commands:
			switch c.Order {
			case Delete:
				return later.Deal(ctx)
			case Spare:
				return nil
			case Drop: // of an other end that is over
			default:
				return fmt.Errorf("order %q where %s or %s was to come", c.Order, Delete, Spare)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// found says of an entry of the source what only all targets together tell.
func (m *mover) found(e *move.Entry, at []int) error {
	switch {
	case len(at) == 0 && m.task.Do == Planning:
		m.report.Count(func(s *move.Summary) { place.Counted(s, e) })
		return m.step(place.Step{Do: place.New.String(), Kind: e.Kind, Path: e.Path, Size: e.Size})
	case len(at) == 0:
		m.report.Lose(compare.Missing, e.Path, "at none of the targets")
	case len(at) > 1 && e.Kind != move.Directory && m.task.Do == Comparing:
		var names []string
		for _, i := range at {
			names = append(names, m.task.Spread[i].Name)
		}
		m.report.Lose(compare.Twice, e.Path, "at %d targets: %s", len(at), strings.Join(names, "; "))
	}
	return nil
}

// divide makes of what was opened what several other ends share.
func (m *mover) divide(ctx context.Context, s *spread) {
	m.mu.Lock()
	m.spread = s
	m.mu.Unlock()
	if m.dst != nil {
		to := share.Gather(m.dst, len(m.task.Spread))
		for range m.task.Spread {
			s.to = append(s.to, to.Session())
		}
		return
	}
	closed := make([]bool, len(m.task.Spread))
	for i, p := range m.task.Spread {
		closed[i] = p.Closed
	}
	if m.task.Do == Copying {
		s.from = share.Divide(m.src, closed, m.task.Turn, m.report)
	} else {
		s.from = share.Examine(m.src, len(closed), m.report, share.Look{Plan: m.task.Do == Planning, Found: m.found})
	}
	s.g.Go(func() error { s.scan <- s.from.Run(ctx); return nil })
	s.g.Go(func() error {
		t := time.NewTicker(passEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.from.Passed(passEvery.Seconds())
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// obeyPair does what is ordered for one of the other ends.
func (m *mover) obeyPair(ctx context.Context, s *spread, c Command) error {
	if c.Pair < 0 || c.Pair >= len(s.pairs) || s.g == nil {
		return fmt.Errorf("order %q for other end %d, which cannot be", c.Order, c.Pair)
	}
	p := &s.pairs[c.Pair]
	if p.over {
		return nil // it has ended meanwhile, which was told
	}
	if p.m != nil {
		p.m.cancel(errAnother)
		<-p.m.over()
		p.m = nil
	}
	switch c.Order {
	case Drop:
		return m.part(ctx, s, c.Pair, errDropped)
	case Listen, Dial:
	default:
		return fmt.Errorf("unknown order %q", c.Order)
	}
	g, err := m.meet(ctx, c, Event{Kind: Listening, Pair: c.Pair})
	if err != nil {
		return m.part(ctx, s, c.Pair, err)
	}
	// Its end is told to whoever asks first: here, or where it is replaced.
	out := &meeting{g.cancel, make(chan error)}
	p.m = out
	go func() {
		err := <-g.done
		select {
		case s.ended <- pairEnd{c.Pair, out, err}:
			close(out.done)
		case <-ctx.Done():
			close(out.done)
		case out.done <- err:
			close(out.done)
		}
	}()
	return nil
}

// pairEnded deals with the end of a way to meet.
func (m *mover) pairEnded(ctx context.Context, s *spread, e pairEnd) error {
	p := &s.pairs[e.pair]
	if p.m != e.m || p.over {
		return nil
	}
	p.m = nil
	var not *wire.UnreachedError
	if errors.As(e.err, &not) {
		return m.emit(Event{Kind: Unreached, Text: e.err.Error(), Pair: e.pair})
	}
	return m.part(ctx, s, e.pair, e.err)
}

// part takes one of the other ends for over.
func (m *mover) part(ctx context.Context, s *spread, pair int, why error) error {
	s.pairs[pair].over = true
	s.left--
	text := ""
	if why != nil {
		text = why.Error()
		if s.from != nil {
			s.from.Part(pair).Lost()
		} else { // which may finish the target for the others
			s.g.Go(func() error { s.to[pair].Gone(ctx); return nil })
		}
	}
	return m.emit(Event{Kind: Parted, Pair: pair, Text: text})
}

// pair is the session with one of the other ends.
func (m *mover) pair(ctx context.Context, i int, p wire.Party) error {
	m.mu.Lock()
	s := m.spread
	m.mu.Unlock()
	if s.from != nil {
		part := s.from.Part(i)
		o := wire.Options{Streams: m.task.Streams, Pace: m.pace, Met: part.Met, Plan: m.task.Do == Planning, Congestion: m.task.Congestion}
		if m.task.Do == Copying && !m.task.Full {
			o.Has = part.Has // which was asked for before it was given to this target
		}
		return wire.Send(ctx, p, part, m.report, o, &m.stats[i])
	}
	return wire.Receive(ctx, p, s.to[i], m.report, wire.Near{}, &m.stats[i])
}

// pairWork is what each of the other ends got or gave, and all of it.
func (m *mover) pairWork() (out []PairWork, sum wire.Look) {
	for i := range m.stats {
		l := m.stats[i].Look()
		out = append(out, PairWork{Bytes: l.Sent + l.Received, Streams: l.Streams, Congestion: m.stats[i].Sockets().Congestion})
		sum = sum.Plus(l)
	}
	return out, sum
}
