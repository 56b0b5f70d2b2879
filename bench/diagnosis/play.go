package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/explain"
	"linerate/internal/host"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Times of the runs: the judged one is as long as a demo's; the others are for
// the truth alone.
const (
	truthRun    = 1600 * time.Millisecond
	truthWarmup = 500 * time.Millisecond
)

// players are the agents at both ends of the flow.
type players struct {
	sender, receiver loop.End
	line             unit.BitRate
	agents           []*host.Client
	cpus             map[string][]int // by host, once it was looked at
}

// newPlayers reaches the ends of the flow; reach says how.
func newPlayers(ctx context.Context, t topology.Topology, reach func(host string) host.Endpoint, log func(string)) (*players, error) {
	p := &players{cpus: map[string][]int{}}
	p.line, _, _ = t.Ceiling(t.Flow.Senders[0], t.Flow.Receiver, t.Flow.Via)
	for i, name := range []string{t.Flow.Senders[0], t.Flow.Receiver} {
		ep := reach(name)
		c, err := host.Dial(ctx, ep, host.Options{Log: log, Now: time.Now})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reach %s: %w", name, err), p.leave())
		}
		p.agents = append(p.agents, c)
		end := loop.End{Name: name, Addr: ep.Data[0], Agent: c}
		if i == 0 {
			p.sender = end
		} else {
			p.receiver = end
		}
	}
	return p, nil
}

func (p *players) leave() error {
	var err error
	for _, a := range p.agents {
		err = errors.Join(err, a.Close())
	}
	p.agents = nil
	return err
}

// Diagnose implements stage: one pass of the loop up to the verdict.
func (p *players) Diagnose(ctx context.Context, w model.Workload) (model.Results, explain.Case, error) {
	pass := loop.Loop{
		Sender: p.sender, Receiver: p.receiver, Workload: w, LineRate: model.Known(p.line),
		Timing: loop.DefaultTiming(), Now: time.Now,
	}
	rec, err := pass.Run(ctx)
	if err != nil {
		return model.Results{}, explain.Case{}, fmt.Errorf("diagnose: %w", err)
	}
	for name, f := range rec.Facts {
		p.cpus[name] = f.CPUs
	}
	return rec.Results, rec.Case, nil
}

// Measure implements stage.
func (p *players) Measure(ctx context.Context, w model.Workload) (unit.BitRate, error) {
	w.Sender, w.Receiver = p.sender.Name, p.receiver.Name
	w.From, w.To = p.sender.Addr, p.receiver.Addr
	w.SenderCPUs, w.ReceiverCPUs = p.cpus[w.Sender], p.cpus[w.Receiver]
	w.Duration, w.Warmup = truthRun, truthWarmup
	run, err := measure.Run(ctx, w, measure.Ends{Sender: p.sender.Agent, Receiver: p.receiver.Agent},
		measure.Options{Label: "truth", Now: time.Now})
	if err != nil {
		return 0, fmt.Errorf("measure the truth: %w", err)
	}
	return run.Goodput, nil
}
