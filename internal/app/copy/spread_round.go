package copy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
	"linerate/internal/reach"
)

// spreadPair is a source's host and a target in one round.
type spreadPair struct {
	from, to *spreadEnd
	i, j     int // their numbers in the round: each names the other by it
	fromAddr netip.Addr
	toAddr   netip.Addr
	// dials and listens are who does so now; turned: it was tried the other way before.
	dials, listens *spreadEnd
	turned         bool
	through        bool         // ssh: who listens is another host, who dials is this one
	tunnel         net.Listener // of who dials then; nil: nobody has dialled yet
	over           bool
	err            string
}

// of is the number by which an end names the pair: that of the other end.
func (p *spreadPair) of(e *spreadEnd) int {
	if e == p.from {
		return p.j
	}
	return p.i
}

func (p *spreadPair) other(e *spreadEnd) *spreadEnd {
	if e == p.from {
		return p.to
	}
	return p.from
}

// round goes through the sources once; more tells that it has to be done again, because a
// target has failed and others are left.
func (s *spreading) round(ctx context.Context) (more bool, err error) {
	first := s.out.Spread.Rounds == 0
	if err := s.some(); err != nil {
		return false, err
	}
	sources, targets := s.sources(), s.targets()
	if err := s.tasks(sources, targets); err != nil {
		return false, err
	}
	if err := s.start(ctx, sources, targets); err != nil {
		if first || ctx.Err() != nil {
			return false, s.usage(ctx, err)
		}
		return true, nil // an end that cannot be had again is out
	}
	if err := s.paths(ctx); err != nil {
		return false, err
	}
	if first && s.o.Far.ThroughSSH {
		s.p.Say("%s", saySlow)
	}
	if first && s.do == mover.Copying {
		s.p.Say("spread: %s over %s; each file goes to one of them", several(len(s.o.Sources), "source"), several(len(targets), "target"))
		s.out.note(s.env, s.o, false)
	}
	s.out.Spread.Rounds++
	if err := s.failed.close(); err != nil {
		return false, fmt.Errorf("forget what failed before: %w", err)
	}
	err = s.move(ctx)
	s.count(first)
	if err != nil {
		return false, err
	}
	if s.do != mover.Copying {
		return false, s.unlike()
	}
	return s.judge()
}

// unlike is the error of a plan or a check that is not complete, because an end failed; nil: it is
// complete.
func (s *spreading) unlike() error {
	errs := s.whys()
	for _, p := range s.pairs {
		if p.over && p.err != "" && len(errs) == 0 {
			errs = append(errs, errors.New(p.err))
		}
	}
	return errors.Join(errs...)
}

// usage is the error of a copy that ended before it began: Ctrl-C, or the error given.
func (s *spreading) usage(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; nothing was copied")
	}
	return err
}

// tasks makes the task of each end for this round, with the pairs that it belongs to.
func (s *spreading) tasks(sources, targets []*spreadEnd) error {
	s.pairs = nil
	each := int64(s.o.Limit) / int64(len(sources))
	if s.o.Limit > 0 {
		each = max(1, each)
	}
	empty := s.guessed() && s.out.Spread.Rounds == 0
	for _, e := range append(sources, targets...) {
		e.task = mover.Task{Read: e.task.Read, Write: e.task.Write, Do: s.do, Full: s.o.Full, Buffered: s.o.Buffered, Plain: s.o.Far.Plain, Exclude: move.Raws(s.o.Exclude)}
		e.over, e.failed, e.doomed, e.answered, e.last, e.work = false, false, nil, false, mover.Work{}, nil
		if e.source {
			e.task.Limit, e.task.Streams, e.task.Count = each, s.o.Far.Streams, s.p.Live()
			e.task.Congestion = wire.Congestion(s.o.Far.Congestion)
		} else {
			e.task.Setuid, e.task.Empty = s.o.Setuid, empty && s.do != mover.Comparing
			// A further round follows the failure of an end. What that end had is not known then,
			// so nothing is deleted.
			e.task.Delete, e.task.MaxDelete = s.o.Delete && s.out.Spread.Rounds == 0, s.o.MaxDelete
		}
	}
	for i, from := range sources {
		from.task.Turn = i
		for j, to := range targets {
			run, secret, err := wire.Draw()
			if err != nil {
				return err
			}
			from.task.Spread = append(from.task.Spread, mover.Pair{Run: run, Secret: secret, Closed: to.closed, Name: to.as})
			to.task.Spread = append(to.task.Spread, mover.Pair{Run: run, Secret: secret, Name: from.as})
			s.pairs = append(s.pairs, &spreadPair{from: from, to: to, i: i, j: j})
		}
	}
	return s.through(s.pairs)
}

// start has all movers open their files. An end whose mover cannot is left out of the copy.
func (s *spreading) start(ctx context.Context, sources, targets []*spreadEnd) error {
	all := append(slices.Clone(sources), targets...)
	err := s.all(all, func(e *spreadEnd) error { return s.begin(ctx, e) })
	if err == nil {
		var c mover.Command
		if c, err = whatComes(sources); err != nil {
			return err
		}
		err = s.all(all, func(e *spreadEnd) error { return s.open(ctx, e, c) })
	}
	if err == nil {
		return nil
	}
	var errs []error
	for _, e := range append(sources, targets...) {
		if e.failed {
			errs = append(errs, e.why)
		}
		e.end(ctx)
	}
	err = errors.Join(errs...)
	if s.o.Spread.Guessed && failure.KindOf(err) == failure.Usage {
		n := len(s.o.Spread.Targets)
		err = failure.Of(failure.Usage, "%w; the last %d of %d paths were taken for targets", err, n, n+len(s.o.Sources))
		err = failure.Advise(err, failure.SayTargets, n)
	}
	return err
}

// whatComes is what a target has to know of all sources together, in one line.
func whatComes(sources []*spreadEnd) (mover.Command, error) {
	c := mover.Command{Order: mover.Open}
	for _, e := range sources {
		c.Whole, c.Lie = append(c.Whole, e.whole...), c.Lie.Join(e.lie)
	}
	var err error
	c.Lie, err = c.Lie.Within(mover.MaxLie)
	return c, err
}

// all does something with all ends at once. An end for which it fails is left out of the copy.
func (s *spreading) all(ends []*spreadEnd, do func(*spreadEnd) error) error {
	var g errgroup.Group
	for _, e := range ends {
		g.Go(func() error {
			err := do(e)
			if err != nil {
				e.fail(err)
				e.out = true
			}
			return err
		})
	}
	return g.Wait()
}

// begin starts the mover of an end.
func (s *spreading) begin(ctx context.Context, e *spreadEnd) error {
	m, err := e.agent.StartMover(ctx, e.task)
	if err != nil && s.out.Spread.Rounds > 0 {
		m, err = s.again(ctx, e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.as, err)
	}
	e.stop = e.hear(ctx, m, s)
	ready, err := e.await(ctx, mover.Ready)
	if err != nil {
		return err
	}
	e.pin, e.whole, e.lie = ready.Pin, ready.Whole, ready.Lie
	return nil
}

// open has an end open its files. c has what all sources together are, for a target.
func (s *spreading) open(ctx context.Context, e *spreadEnd, c mover.Command) error {
	if e.source {
		c = mover.Command{Order: mover.Open}
	}
	if err := e.m.Tell(ctx, c); err != nil {
		return err
	}
	opened, err := e.await(ctx, mover.Opened)
	if err == nil && opened.Text != "" && s.out.Spread.Rounds == 0 {
		s.mu.Lock()
		s.out.Warnings = append(s.out.Warnings, e.as+": "+clean(opened.Text))
		s.mu.Unlock()
	}
	return err
}

// redialTime bounds the second login to a host whose agent has gone.
const redialTime = 20 * time.Second

// again logs in once more to a host whose agent may have ended, and starts a mover there.
func (s *spreading) again(ctx context.Context, e *spreadEnd) (*host.Mover, error) {
	ctx, cancel := context.WithTimeout(ctx, redialTime)
	defer cancel()
	a, err := s.env.Reach(s.p).Dial(ctx, e.name)
	if err != nil {
		return nil, err
	}
	e.agent = a
	s.mu.Lock()
	s.spare = append(s.spare, a)
	s.mu.Unlock()
	return a.StartMover(ctx, e.task)
}

// fail notes why an end failed.
func (e *spreadEnd) fail(err error) {
	e.failed = true
	if e.why == nil {
		e.why = err
	}
}

// paths finds the data addresses of every pair.
func (s *spreading) paths(ctx context.Context) error {
	loop := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for _, p := range s.pairs {
		p.dials, p.listens = p.roles()
		a, b := loop, loop
		if p.through = s.isThrough(p.from, p.to); !p.through && p.from.agent != p.to.agent && p.from.name != p.to.name {
			var err error
			if a, b, err = reach.Path(ctx, "", []host.Name{p.dials.name, p.listens.name}, []*host.Client{p.dials.agent, p.listens.agent}); err != nil {
				return fmt.Errorf("data path between %s and %s: %w", p.from.as, p.to.as, err)
			}
		}
		if p.dials == p.from {
			p.fromAddr, p.toAddr = a, b
		} else {
			p.fromAddr, p.toAddr = b, a
		}
	}
	return nil
}

// endEvent is what an end says.
type endEvent struct {
	end *spreadEnd
	mover.Event
}

// move connects the ends of all pairs, and waits until every end is done or has failed.
func (s *spreading) move(ctx context.Context) error {
	stop := s.follow(ctx)
	events := make(chan endEvent)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	left := 0
	for _, e := range s.ends {
		if e.out || e.m == nil {
			continue
		}
		left++
		ev := e.ev // that of this round
		go func() {
			for {
				select {
				case x := <-ev:
					select {
					case events <- endEvent{e, x}:
					case <-inner.Done():
						return
					}
				case <-inner.Done():
					return
				}
			}
		}()
	}
	for _, p := range s.pairs {
		s.order(inner, p.listens, mover.Command{Order: mover.Listen, Pair: p.of(p.listens), At: netip.AddrPortFrom(p.addr(p.listens), 0), Peer: p.dials.pin})
	}
	interrupted := ctx.Done()
	var late <-chan time.Time
	for left > 0 {
		select {
		case e := <-events:
			if s.hears(inner, e) {
				left--
			}
			s.decide(inner)
		case <-interrupted:
			interrupted, late = nil, time.After(partingTime)
			for _, e := range s.ends {
				s.order(inner, e, mover.Command{Order: mover.Stop})
			}
		case <-late:
			left = 0
		}
	}
	stop()
	for _, p := range s.pairs {
		if p.tunnel != nil {
			_ = p.tunnel.Close() // nobody dials any more
		}
	}
	for _, e := range s.ends {
		if e.m != nil {
			e.seen()
		}
		e.end(inner)
	}
	return context.Cause(ctx)
}

// order tells an end what to do. An end that cannot be told has failed, and its events say so.
func (s *spreading) order(ctx context.Context, e *spreadEnd, c mover.Command) {
	if e.m == nil || e.over {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, partingTime)
	defer cancel()
	_ = e.m.Tell(ctx, c)
}

// hears handles an event of an end, and reports whether it is the last one of that end.
func (s *spreading) hears(ctx context.Context, e endEvent) (last bool) {
	switch e.Kind {
	case mover.Over:
		e.end.over = true
		return true
	case mover.Failed:
		e.end.over = true
		e.end.fail(e.end.side.failed(e.Event))
		for _, p := range s.pairs {
			if p.from == e.end || p.to == e.end {
				s.giveUp(ctx, p, e.end, "")
			}
		}
		return true
	}
	if e.Kind == mover.Doomed {
		e.end.doomed = &e.Event
		return false
	}
	for _, p := range s.pairs {
		if p.from != e.end && p.to != e.end || p.of(e.end) != e.Pair {
			continue
		}
		switch e.Kind {
		case mover.Listening:
			s.dialPair(ctx, p, netip.AddrPortFrom(p.addr(p.listens), e.Addr.Port()))
		case mover.Unreached:
			s.turn(ctx, p, clean(e.Text))
		case mover.Parted:
			if e.Text != "" {
				s.giveUp(ctx, p, e.end, p.blamed(e.end, clean(e.Text)))
			}
		}
	}
	return false
}

// turn connects a pair the other way round: who listened dials. Through ssh there is only one way.
func (s *spreading) turn(ctx context.Context, p *spreadPair, why string) {
	if p.turned || p.through {
		s.order(ctx, p.dials, mover.Command{Order: mover.Drop, Pair: p.of(p.dials)})
		s.giveUp(ctx, p, p.dials, fmt.Sprintf("neither %s nor %s reaches the other's port (%s)", p.from.as, p.to.as, why))
		return
	}
	p.turned = true
	p.dials, p.listens = p.listens, p.dials
	s.order(ctx, p.listens, mover.Command{Order: mover.Listen, Pair: p.of(p.listens), At: netip.AddrPortFrom(p.addr(p.listens), 0), Peer: p.dials.pin})
}

// giveUp ends a pair after one of its ends has said that its connections are over.
func (s *spreading) giveUp(ctx context.Context, p *spreadPair, told *spreadEnd, why string) {
	if p.err == "" {
		p.err = why
	}
	if !p.over {
		p.over = true
		other := p.other(told)
		s.order(ctx, other, mover.Command{Order: mover.Drop, Pair: p.of(other)})
	}
}

// judge draws the consequences of a round. A source that failed is left out. A target that failed,
// or whose connection to a source was lost, gets no more files. more: what it lacks needs another
// round.
func (s *spreading) judge() (more bool, err error) {
	for _, e := range s.sources() {
		if e.failed {
			e.out = true
		}
	}
	var failed []*spreadEnd
	for _, e := range s.targets() {
		why := e.why
		lost := e.failed
		for _, p := range s.pairs {
			if p.to == e && !p.from.failed && p.over {
				lost = true
				if why == nil && p.err != "" {
					why = errors.New(p.err)
				}
			}
		}
		if !lost {
			continue
		}
		if why == nil {
			why = errors.New("its connections were lost")
		}
		e.fail(why)
		e.out, e.closed = e.closed, true
		more, failed = true, append(failed, e)
	}
	if !more {
		return false, s.some()
	}
	if err := s.some(); err != nil {
		return false, err
	}
	for _, e := range failed {
		s.p.Say("target %s has failed; the others get its files: %v", e.as, e.why)
	}
	return true, nil
}

// whys are the reasons of the ends that have failed so far.
func (s *spreading) whys() (errs []error) {
	for _, e := range s.ends {
		if e.why != nil {
			errs = append(errs, e.why)
		}
	}
	return errs
}

// some is the error that no source is left, or no target that still takes files; nil: there are
// both.
func (s *spreading) some() error {
	open := 0
	for _, e := range s.targets() {
		if !e.closed {
			open++
		}
	}
	switch {
	case len(s.sources()) == 0:
		return fmt.Errorf("no source is left: %w", errors.Join(s.whys()...))
	case open == 0:
		return fmt.Errorf("no target is left: %w", errors.Join(s.whys()...))
	}
	return nil
}
