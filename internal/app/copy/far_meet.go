package copy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

// saySlow is said before data go through ssh.
const saySlow = "data go through ssh, which is slow: open a port between the hosts for more"

var errUnreached = errors.New("the port could not be connected to")

// move has both ends meet, and waits until they are done.
func (b *between) move(ctx context.Context) error {
	dialler, listener := b.roles()
	b.watch(ctx)
	b.out.Wire = &Wire{Encryption: "tls", Way: "direct", From: b.from.addr.String(), To: b.to.addr.String(), Congestion: b.o.Far.Congestion}
	if b.o.Far.Plain {
		b.out.Wire.Encryption = "none"
	}
	if b.o.Far.ThroughSSH {
		b.out.Wire.Way = ThroughSSH
		b.p.Say("%s", saySlow)
		return b.through(ctx, dialler, listener)
	}
	b.p.Say("data path: %s (%s) → %s (%s), %s", b.from.as, b.from.addr, b.to.as, b.to.addr, b.protection())
	return b.either(ctx, dialler, listener)
}

// either has one end dial, and where its connections come to nothing the other.
func (b *between) either(ctx context.Context, dialler, listener *side) error {
	err := b.meet(ctx, dialler, listener)
	if errors.Is(err, errUnreached) {
		b.p.Say("%v; the other end dials instead", err)
		b.out.Wire.Way = "direct, the other end dialled"
		err = b.meet(ctx, listener, dialler)
	}
	if errors.Is(err, errUnreached) {
		return failure.Advise(failure.Of(failure.Usage, "neither end reaches the other's port (%v)", err), failure.OpenPort)
	}
	return err
}

func (b *between) protection() string {
	if b.o.Far.Plain {
		return "NOT encrypted (--plain)"
	}
	return "encrypted (AEAD, keys of TLS 1.3)"
}

// meet has one end listen and the other dial, and waits until both are done.
func (b *between) meet(ctx context.Context, dialler, listener *side) error {
	at, err := b.listen(ctx, listener, dialler.pin)
	if err != nil {
		return err
	}
	return b.dial(ctx, dialler, listener, mover.Command{Order: mover.Dial, At: at, From: dialler.addr, Peer: listener.pin})
}

// listen has an end listen, unless it does by now. What it is told once is not told again: a second
// way to meet is another one.
func (b *between) listen(ctx context.Context, s *side, peer wire.Pin) (netip.AddrPort, error) {
	if at := s.meets; at.IsValid() {
		s.meets = netip.AddrPort{}
		return at, nil
	}
	if err := s.m.Tell(ctx, mover.Command{Order: mover.Listen, At: netip.AddrPortFrom(s.addr, b.o.Far.Port), Peer: peer}); err != nil {
		return netip.AddrPort{}, err
	}
	e, err := s.await(ctx, mover.Listening)
	return netip.AddrPortFrom(s.addr, e.Addr.Port()), err
}

// through has the near end dial this process, which hands its connections to the far agent.
func (b *between) through(ctx context.Context, near, far *side) error {
	if _, err := b.listen(ctx, far, near.pin); err != nil {
		return err
	}
	l, at, err := tunnel(ctx, near.addr, far.m, 0)
	if err != nil {
		return err
	}
	defer l.Close()
	return b.dial(ctx, near, far, mover.Command{Order: mover.Dial, At: at, Peer: far.pin})
}

// tunnel listens at an address of this host, and hands connections to a far end that listens for its
// other end of this number.
func tunnel(ctx context.Context, at netip.Addr, far end, pair int) (net.Listener, netip.AddrPort, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("listen for the data of this host: %w", err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() { _ = far.Tunnel(ctx, pair, c) }() // the ends tell what became of their streams
		}
	}()
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return nil, addr, errors.Join(err, l.Close())
	}
	return l, addr, nil
}

// partingTime is how long the other end may take to say what it has, once one has ended.
const partingTime = 5 * time.Second

// dial begins the copy, and waits until both ends are done.
func (b *between) dial(ctx context.Context, dialler, listener *side, c mover.Command) error {
	c.New = b.to.isNew
	if err := dialler.m.Tell(ctx, c); err != nil {
		return err
	}
	stop := b.follow(ctx)
	defer stop()
	var errs [2]error
	sides, over := []*side{dialler, listener}, 0
	interrupted := ctx.Done()
	var late <-chan time.Time
	done := func(i int, e mover.Event) error {
		switch e.Kind {
		case mover.Unreached:
			return fmt.Errorf("%w: %s: %s", errUnreached, sides[i].as, clean(e.Text))
		case mover.Failed:
			errs[i] = sides[i].failed(e)
			late = time.After(partingTime)
			fallthrough
		case mover.Over:
			sides[i].ended = true
			over++
		}
		return nil
	}
	for over < 2 {
		var err error
		select {
		case e := <-dialler.ev:
			err = done(0, e)
		case e := <-listener.ev:
			err = done(1, e)
		case <-interrupted:
			interrupted, late = nil, time.After(partingTime)
			for _, s := range sides {
				_ = s.m.Tell(context.WithoutCancel(ctx), mover.Command{Order: mover.Stop}) // who does not hear is ended below
			}
		case <-late:
			return errors.Join(joined(errs), context.Cause(ctx))
		}
		if err != nil {
			return err
		}
	}
	return joined(errs)
}

// joined is why a copy failed: an end that only repeats what the other told adds nothing.
func joined(errs [2]error) error {
	for i, e := range errs {
		other := errs[1-i]
		if e == nil || other == nil {
			continue
		}
		_, told, _ := strings.Cut(e.Error(), "the other end: ")
		if told == "" {
			continue
		}
		full := errors.Is(other, move.ErrSink) && !strings.Contains(other.Error(), "the other end: ")
		if full || strings.Contains(other.Error(), told) { // of a full target it may have been told of several files
			return other
		}
	}
	return errors.Join(errs[0], errs[1])
}

// close ends movers and agents. One that has ended by itself is left to its agent, where that ends too:
// it would cost a round trip to be told so.
func (b *between) close() {
	for _, f := range b.closers {
		f()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*partingTime)
	defer cancel()
	for _, s := range []*side{b.from, b.to} {
		if s != nil && s.deaf != nil {
			s.deaf()
		}
		if s != nil && s.m != nil && (!s.ended || len(b.agents) == 0) {
			_ = s.m.Stop(ctx) // the agent ends it at the latest
		}
	}
	var g sync.WaitGroup
	for _, a := range b.agents {
		g.Go(func() { _ = a.Close() }) // it has told what we want to know
	}
	g.Wait()
}
