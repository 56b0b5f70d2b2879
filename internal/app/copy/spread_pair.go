package copy

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

// through gives the pairs whose data go through ssh the streams that an agent passes on, and refuses
// what cannot be led through this host. More streams bring nothing there: all share one channel.
func (s *spreading) through(pairs []*spreadPair) error {
	if !s.o.Far.ThroughSSH {
		return nil
	}
	of, most := map[host.Name]int{}, 0
	for _, p := range pairs {
		switch {
		case !s.isThrough(p.from, p.to):
			continue
		case !p.from.here() && !p.to.here():
			return failure.Of(failure.Usage, "through ssh, this host has to be at one end of every pair: the data from %s to %s would go from host to host by way of it; copy from, or to, this host", p.from.as, p.to.as)
		}
		_, listens := p.roles()
		of[listens.name]++
		most = max(most, of[listens.name])
	}
	if most == 0 {
		return nil // all is on one host
	}
	streams := s.o.Far.Streams
	if streams == 0 {
		streams = max(1, min(wire.FirstStreams, host.MaxTunnels/most-1))
	}
	if most*(streams+1) > host.MaxTunnels {
		return failure.Of(failure.Usage, "through ssh, %d streams for each of %d pairs of one host, with one more each that controls them: want at most %d at once; name fewer paths, or fewer streams", streams, most, host.MaxTunnels)
	}
	for _, p := range pairs {
		p.from.task.Streams = streams
	}
	return nil
}

// isThrough tells whether the data of two ends go through ssh: within one host they do not.
func (s *spreading) isThrough(from, to *spreadEnd) bool {
	return s.o.Far.ThroughSSH && from.name != to.name
}

// roles are who dials and who listens, as it is tried first: the other host listens, as servers do;
// where both are other hosts, the target.
func (p *spreadPair) roles() (dials, listens *spreadEnd) {
	if p.to.here() && !p.from.here() {
		return p.to, p.from
	}
	return p.from, p.to
}

// blamed is why an end parted from the other, with the name of the one that said so first.
func (p *spreadPair) blamed(e *spreadEnd, text string) string {
	if _, told, far := strings.Cut(text, "the other end: "); far {
		return p.other(e).as + ": " + told
	}
	return e.as + ": " + text
}

func (p *spreadPair) addr(e *spreadEnd) netip.Addr {
	if e == p.from {
		return p.fromAddr
	}
	return p.toAddr
}

// dialPair has one end of a pair dial the other, which listens at an address of its own.
func (s *spreading) dialPair(ctx context.Context, p *spreadPair, at netip.AddrPort) {
	if p.through {
		var err error
		if p.tunnel, at, err = tunnel(ctx, p.addr(p.dials), p.listens.m, p.of(p.listens)); err != nil {
			s.order(ctx, p.dials, mover.Command{Order: mover.Drop, Pair: p.of(p.dials)})
			s.giveUp(ctx, p, p.dials, fmt.Sprintf("%s: %v", p.dials.as, err))
			return
		}
	}
	s.order(ctx, p.dials, mover.Command{Order: mover.Dial, Pair: p.of(p.dials), Peer: p.listens.pin, At: at, From: p.addr(p.dials)})
}
