package probe

import (
	"context"
	"net/netip"
	"time"

	"linerate/internal/model"
)

// hopLimit is what datagrams start with; each router takes one off.
const hopLimit = 64

// Bounds of a trace.
const (
	maxRouters = 30
	expiry     = 500 * time.Millisecond // for a router's answer
)

// trace names the routers of a way whose length the datagrams told, and, where the path MTU falls
// on it, between which of them: a packet above it, sent with few hops left, is answered by the
// router that took it in and would have had to hand it on.
func (p *path) trace(ctx context.Context, i int, c *model.Crossing) error {
	n, known := c.Hops.Get()
	if !known || n < 1 || n > maxRouters {
		return nil
	}
	ask := func(ttl, size int) (netip.Addr, error) {
		p.round++
		s, err := p.side[i].End.ProbeSend(ctx, p.id[i], Batch{Port: p.port[1-i], Round: p.round, Sizes: []int{size, size}, TTL: ttl, Wait: expiry})
		p.load.Datagrams += s.Datagrams
		p.load.Bytes += s.Bytes
		return s.Expired, err
	}
	for ttl := range n {
		at, err := ask(ttl+1, 0)
		if err != nil {
			return err
		}
		c.Routers = append(c.Routers, at)
	}
	mtu, ok := c.PathMTU.Get()
	if !ok || mtu >= c.Tried {
		return nil
	}
	return fall(c, func(ttl int) (netip.Addr, error) { return ask(ttl, mtu+1) })
}

// fall finds between which routers packets above the path MTU vanish: behind the last one that
// takes one in, and before the next that takes small ones in. large sends one with few hops left.
func fall(c *model.Crossing, large func(ttl int) (netip.Addr, error)) error {
	f := model.Fall{}
	for k, at := range c.Routers {
		if !at.IsValid() {
			continue // it says nothing of small packets either
		}
		got, err := large(k + 1)
		if err != nil {
			return err
		}
		if !got.IsValid() {
			f.Before = at
			break
		}
		f.After = at
	}
	if f != (model.Fall{}) { // else no router tells anything
		c.Fall = &f
	}
	return nil
}
