package copy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move/mover"
	"linerate/internal/reach"
)

// meetingPoint finds the data address of the end that listens.
func (b *between) meetingPoint(ctx context.Context) (err error) {
	dialler, listener := b.roles()
	loop := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	switch {
	case dialler.addr.IsValid(): // the caller knows them
	case b.o.Far.ThroughSSH || dialler.agent == listener.agent:
		dialler.addr, listener.addr = loop, loop
	default:
		listener.addr, err = reach.Receiver(ctx, b.o.Far.Via, listener.name, listener.agent)
	}
	return err
}

// path finds the data address of the end that dials.
func (b *between) path(ctx context.Context) (err error) {
	dialler, listener := b.roles()
	if !dialler.addr.IsValid() {
		// Not from its facts: to read them takes a good part of a short copy.
		if dialler.addr, err = dialler.agent.SourceTo(ctx, listener.addr); err != nil {
			err = fmt.Errorf("find the data path from %s: %w", dialler.name, err)
		}
	}
	return err
}

// start starts both movers and finds the path meanwhile, and has them open their files.
func (b *between) start(ctx context.Context, from, to mover.Task) error {
	if err := b.meetingPoint(ctx); err != nil {
		return err
	}
	ahead := b.from.m != nil
	var path errgroup.Group
	path.Go(func() error { return b.path(ctx) })
	err := b.startMovers(ctx, from, to)
	if err := errors.Join(err, path.Wait()); err != nil || b.o.Far.Mem > 0 {
		return err
	}
	late := b.late()
	if !late && !ahead {
		if err := b.open(ctx, b.from, mover.Command{}); err != nil {
			return err
		}
	}
	if !ahead {
		if err := b.open(ctx, b.to, b.whatComes()); err != nil {
			return err
		}
	}
	opened, err := b.opened(ctx, b.to)
	if err != nil {
		return err
	}
	if opened.Text != "" {
		b.out.Warnings = append(b.out.Warnings, clean(opened.Text))
	}
	if late {
		if err := b.open(ctx, b.from, mover.Command{As: opened.As, New: opened.New}); err != nil {
			return err
		}
	}
	_, err = b.opened(ctx, b.from)
	return err
}

// whatComes is what the target's end has to know of the source.
func (b *between) whatComes() mover.Command {
	return mover.Command{One: b.from.one, Whole: b.from.whole, Lie: b.from.lie}
}

// late reports whether the source opens its files after the target has: what that tells is then needed, or
// worth its wait, which is no round trip.
func (b *between) late() bool { return b.from.one || b.to.here() }

// startAhead starts the source's mover before the target's host is reached.
func (b *between) startAhead(ctx context.Context, from mover.Task) error {
	err := b.startMover(ctx, b.from, from)
	if err == nil {
		err = b.ready(ctx, b.from)
	}
	if err == nil && !b.late() {
		err = b.open(ctx, b.from, mover.Command{})
	}
	return err
}

// open makes one end open its files, and listen if the other is to dial it, in one round trip.
func (b *between) open(ctx context.Context, s *side, c mover.Command) error {
	return s.m.Tell(ctx, b.opening(s, c))
}

func (b *between) opening(s *side, c mover.Command) mover.Command {
	c.Order = mover.Open
	if dialler, listener := b.roles(); s == listener {
		c.At, c.Peer = netip.AddrPortFrom(s.addr, b.o.Far.Port), dialler.pin
	}
	return c
}

// opened waits until an end has opened its files.
func (b *between) opened(ctx context.Context, s *side) (mover.Event, error) {
	e, err := s.await(ctx, mover.Opened)
	s.pin, s.device, s.isNew = e.Pin, e.Device, e.New
	if e.Addr.IsValid() {
		s.meets = netip.AddrPortFrom(s.addr, e.Addr.Port())
	}
	return e, err
}

// startMovers starts both at once: either takes a process, and a round trip. Where the source's was
// started before, the target's is told at once what to open.
func (b *between) startMovers(ctx context.Context, from, to mover.Task) error {
	if b.from.m != nil {
		first := b.opening(b.to, b.whatComes())
		to.First = &first
		return b.startMover(ctx, b.to, to)
	}
	var g errgroup.Group
	g.Go(func() error { return b.startMover(ctx, b.from, from) })
	g.Go(func() error { return b.startMover(ctx, b.to, to) })
	err := g.Wait()
	for _, s := range []*side{b.from, b.to} {
		if err == nil {
			err = b.ready(ctx, s)
		}
	}
	return err
}

// startMover starts one, which is ended with the copy, also where the other was not to be had.
func (b *between) startMover(ctx context.Context, s *side, t mover.Task) error {
	m, err := s.agent.StartMover(ctx, t)
	if err == nil {
		b.hear(ctx, s, m)
	}
	return err
}

// ready waits for a mover's first message, which describes it.
func (b *between) ready(ctx context.Context, s *side) error {
	e, err := s.await(ctx, mover.Ready)
	s.pin, s.one, s.whole, s.lie = e.Pin, e.One, e.Whole, e.Lie
	return err
}
