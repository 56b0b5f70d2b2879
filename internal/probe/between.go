package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
)

// End is one of two hosts: the operations of its agent.
type End interface {
	// ProbeOpen opens a Socket, and returns its number and port.
	ProbeOpen(ctx context.Context, s Spec) (id int, port uint16, err error)
	ProbeSend(ctx context.Context, id int, b Batch) (Sent, error)
	ProbeAwait(ctx context.Context, id int, w Await) (Heard, error)
	ProbeEcho(ctx context.Context, id int, e Echo) (model.RTT, error)
	ProbeClose(ctx context.Context, id int) error
	// LookToward returns the host's route from one address to another, and its hardware
	// addresses.
	LookToward(ctx context.Context, from, to netip.Addr) (Toward, error)
}

// Toward is a host's route to an address.
type Toward struct {
	Leaving model.Leaving     `json:"leaving"`
	MACs    map[string]string `json:"macs"` // by interface
}

// Side is one end of a path to be probed.
type Side struct {
	Name string // for messages
	End  End
	Addr netip.Addr
}

// Load is the traffic of the probes, both directions together.
type Load struct {
	Datagrams int `json:"datagrams"`
	Bytes     int `json:"bytes"` // of IP packets
}

// Result is what the probes found of a path. A fact without a value has its reason in Why.
type Result struct {
	A, B       model.Fact[Toward]
	AToB, BToA model.Crossing
	RTT        model.Fact[model.RTT]
	Load       Load
}

const (
	marks     = 3                // small datagrams after each of the sizes
	copies    = 3                // of each size, per round
	asks      = 10               // round trips
	firstWait = 1 * time.Second  // for marks, before the round trip is known
	longest   = 30 * time.Second // for all of it
)

// Between probes the path between two hosts: some small datagrams each way, a few round trips,
// and the largest packet in each direction. Token is a secret that the caller drew for this call.
func Between(ctx context.Context, a, b Side, token string) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("probing %s and %s took longer than %v", a.Name, b.Name, longest))
	defer cancel()
	p := path{wait: firstWait}
	if err := p.open(ctx, a, b, token); err != nil {
		return Result{}, errors.Join(err, p.close(ctx))
	}
	r, err := p.run(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r, errors.Join(err, p.close(ctx))
}

// path is two open sockets.
type path struct {
	side   [2]Side
	id     [2]int
	port   [2]uint16
	opened [2]bool
	round  uint32
	wait   time.Duration
	load   Load
}

func (p *path) open(ctx context.Context, a, b Side, token string) error {
	p.side = [2]Side{a, b}
	for i, s := range p.side {
		var err error
		p.id[i], p.port[i], err = s.End.ProbeOpen(ctx, Spec{Local: s.Addr, Peer: p.side[1-i].Addr, Token: token})
		if err != nil {
			return fmt.Errorf("probe between %s and %s: %w", a.Name, b.Name, err)
		}
		p.opened[i] = true
	}
	return nil
}

// close closes the opened sockets, even if ctx is over.
func (p *path) close(ctx context.Context) error {
	var errs []error
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), MaxWait)
	defer cancel()
	for i, s := range p.side {
		if p.opened[i] {
			errs = append(errs, s.End.ProbeClose(ctx, p.id[i]))
		}
	}
	return errors.Join(errs...)
}

func (p *path) run(ctx context.Context) (r Result, err error) {
	way := [2]*model.Crossing{&r.AToB, &r.BToA}
	for i := range p.side {
		if *way[i], err = p.reach(ctx, i); err != nil {
			return r, err
		}
	}
	r.RTT = model.Unknown[model.RTT](model.Absent, "datagrams do not pass both ways")
	if r.AToB.Through.Value && r.BToA.Through.Value {
		if r.RTT, err = p.roundTrip(ctx); err != nil {
			return r, err
		}
	}
	toward := [2]*model.Fact[Toward]{&r.A, &r.B}
	for i, s := range p.side {
		t, err := s.End.LookToward(ctx, s.Addr, p.side[1-i].Addr)
		if *toward[i] = model.Known(t); err != nil {
			*toward[i] = model.Unknown[Toward](model.Unsupported, err.Error())
		}
		if !way[i].Through.Value || err != nil {
			continue
		}
		if err := errors.Join(p.measure(ctx, i, t.Leaving.MTU, way[i]), p.trace(ctx, i, way[i])); err != nil {
			return r, err
		}
	}
	r.Load = p.load
	return r, nil
}

// reach tests whether small datagrams from side i arrive, and at which interface.
func (p *path) reach(ctx context.Context, i int) (model.Crossing, error) {
	c := model.Crossing{PathMTU: model.Unknown[int](model.Absent, "small datagrams do not arrive"), Hops: model.Unknown[int](model.Absent, "no hop limit was seen")}
	for range 3 {
		h, _, err := p.exchange(ctx, i, nil)
		if err != nil {
			return c, err
		}
		if h.Marks > 0 {
			c.Through, c.ArrivedBy = model.Known(true), h.Arrive
			if h.TTL > 0 && h.TTL <= hopLimit {
				c.Hops = model.Known(hopLimit - h.TTL)
			}
			return c, nil
		}
	}
	c.Through = model.Known(false)
	return c, nil
}

// exchange sends sizes and then marks from side i, and waits for the marks at the other side:
// datagrams that were sent before the marks and have not arrived by then are lost.
func (p *path) exchange(ctx context.Context, i int, sizes []int) (Heard, Sent, error) {
	p.round++
	s, err := p.side[i].End.ProbeSend(ctx, p.id[i], Batch{Port: p.port[1-i], Round: p.round, Sizes: append(slices.Clone(sizes), make([]int, marks)...)})
	if err != nil {
		return Heard{}, s, err
	}
	p.load.Datagrams += s.Datagrams
	p.load.Bytes += s.Bytes
	h, err := p.side[1-i].End.ProbeAwait(ctx, p.id[1-i], Await{Round: p.round, Marks: marks, Wait: p.wait})
	return h, s, err
}

func (p *path) roundTrip(ctx context.Context) (model.Fact[model.RTT], error) {
	rtt, err := p.side[0].End.ProbeEcho(ctx, p.id[0], Echo{Port: p.port[1], N: asks, Wait: firstWait})
	if err != nil {
		return model.Fact[model.RTT]{}, err
	}
	small := payloadLen + headers(p.side[0].Addr)
	p.load.Datagrams += rtt.Sent + rtt.N
	p.load.Bytes += (rtt.Sent + rtt.N) * small
	if rtt.N == 0 {
		return model.Unknown[model.RTT](model.Absent, "no answer came back"), nil
	}
	return model.Known(rtt), nil
}

// Smallest MTUs that a path must support: RFC 791 (hosts accept 576), RFC 8200.
func smallest(a netip.Addr) int {
	if a.Is4() {
		return 576
	}
	return 1280
}

// measure finds the largest packet that arrives from side i, of at most mtu bytes, by bisection.
func (p *path) measure(ctx context.Context, i, mtu int, c *model.Crossing) error {
	low, high := smallest(p.side[i].Addr), min(mtu, 1<<16-1)
	for {
		ok, s, err := p.passes(ctx, i, high)
		if err != nil {
			return err
		}
		c.Told, c.ToldBy = s.Told, s.By
		if s.TooBig > 0 && s.TooBig < high {
			high = s.TooBig // the interface changed while we looked, or has a tunnel's headers to add
			continue
		}
		c.Tried = high
		if ok {
			c.PathMTU = model.Known(high)
			return nil
		}
		break
	}
	if ok, _, err := p.passes(ctx, i, low); err != nil || !ok {
		c.PathMTU = model.Unknown[int](model.Absent, fmt.Sprintf("packets of %d bytes do not arrive either", low))
		return err
	}
	for high-low > 1 {
		mid := (low + high) / 2
		ok, s, err := p.passes(ctx, i, mid)
		if err != nil {
			return err
		}
		if s.Told > 0 {
			c.Told, c.ToldBy = s.Told, s.By
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	c.PathMTU = model.Known(low)
	return nil
}

// passes tells whether packets of a size arrive. They do not if two rounds in which marks arrived
// delivered none of them: one round is not enough, since a path may lose some.
func (p *path) passes(ctx context.Context, i, size int) (bool, Sent, error) {
	sizes := slices.Repeat([]int{size}, copies)
	for heard, round := 0, 0; heard < 2; round++ {
		h, s, err := p.exchange(ctx, i, sizes)
		switch {
		case err != nil:
			return false, s, err
		case h.Sizes[size] > 0:
			return true, s, nil
		case s.TooBig > 0:
			return false, s, nil
		case h.Marks > 0:
			heard++
		case round >= 5:
			return false, s, fmt.Errorf("find the path MTU from %s: small datagrams stopped arriving", p.side[i].Name)
		}
		if heard == 2 {
			return false, s, nil
		}
	}
	return false, Sent{}, nil
}
