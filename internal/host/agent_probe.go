package host

import (
	"context"
	"fmt"

	"linerate/internal/kernel"
	"linerate/internal/probe"
)

// maxProbes bounds the probes that are open at once.
const maxProbes = 8

func (a *agent) openProbe(_ context.Context, p probe.Spec) (openedResult, error) {
	s, err := probe.Open(p)
	if err != nil {
		return openedResult{}, err
	}
	id, err := a.probes.add(s)
	if err != nil {
		_ = s.Close() // the caller gets the refusal
		return openedResult{}, err
	}
	return openedResult{ID: id, Port: s.Port()}, nil
}

func (a *agent) sendProbe(ctx context.Context, p sendProbeParams) (probe.Sent, error) {
	s, err := a.probes.get(p.ID)
	if err != nil {
		return probe.Sent{}, err
	}
	return s.Send(ctx, p.Batch)
}

func (a *agent) awaitProbe(ctx context.Context, p awaitProbeParams) (probe.Heard, error) {
	s, err := a.probes.get(p.ID)
	if err != nil {
		return probe.Heard{}, err
	}
	return s.Await(ctx, p.Await)
}

func (a *agent) echoProbe(ctx context.Context, p echoProbeParams) (rttResult, error) {
	s, err := a.probes.get(p.ID)
	if err != nil {
		return rttResult{}, err
	}
	r, err := s.Echo(ctx, p.Echo)
	return rttResult{r}, err
}

// closeProbe does nothing if the probe has ended.
func (a *agent) closeProbe(_ context.Context, p idParams) (none, error) {
	if s, ok := a.probes.remove(p.ID); ok {
		return none{}, s.Close()
	}
	return none{}, nil
}

// lookToward reads the routing and the neighbour table; it sends nothing.
func (a *agent) lookToward(_ context.Context, p towardParams) (probe.Toward, error) {
	if !p.From.IsValid() || !p.To.IsValid() || p.From.Is4() != p.To.Is4() {
		return probe.Toward{}, fmt.Errorf("find route from %s to %s: want two addresses of one kind", p.From, p.To)
	}
	l, err := kernel.LeavingTo(p.From, p.To)
	if err != nil {
		return probe.Toward{}, err
	}
	macs, err := kernel.HardwareAddrs()
	return probe.Toward{Leaving: l, MACs: macs}, err
}

// sourceTo asks the system which address it would send from; it sends nothing.
func (a *agent) sourceTo(_ context.Context, p towardParams) (sourceResult, error) {
	from, err := kernel.SourceTo(p.To)
	return sourceResult{from}, err
}
