package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// labArg makes a process of the bench, inside a guest, the controller of one
// pass over a lab whose link is netem. The demo itself would take the lab's
// own link there.
const labArg = "kernelhost-lab"

// labMain prints a netemResult. args: fault, link rate in bit/s.
func labMain(args []string) {
	res, err := labPass(context.Background(), args)
	if err != nil {
		res.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(res); err != nil {
		fmt.Fprintf(os.Stderr, "print result: %v\n", err)
		os.Exit(1)
	}
}

func labPass(ctx context.Context, args []string) (res netemResult, err error) {
	if len(args) != 2 {
		return res, fmt.Errorf("want fault and rate, got %q", args)
	}
	i := slices.IndexFunc(lab.Faults(), func(f lab.Fault) bool { return f.ID == args[0] })
	if i < 0 {
		return res, fmt.Errorf("no fault %q", args[0])
	}
	fault := lab.Faults()[i]
	rate, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return res, err
	}
	network, err := topology.Demo()
	if err != nil {
		return res, err
	}
	for _, s := range []*topology.Shape{&network.Links[0].AB, &network.Links[0].BA} {
		s.Rate = unit.BitRate(rate)
		// This kernel's timers come a tick of 10 ms late at times: what arrives
		// then at once has to fit into the queue.
		s.Queue = unit.Bytes(rate / 8 * (2*s.Delay + 20*time.Millisecond).Seconds())
	}
	network = fault.Topology(network)
	res.Expected, res.Topology = fault.Limiter, network.String()
	l, err := lab.Up(ctx, network, lab.Options{Self: []string{guestBin + "/linerate"}, StateDir: "/run/linerate-lab", Mode: fabric.ModeNetem})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, l.Down(ctx)) }()
	if err := l.Inject(ctx, fault); err != nil {
		return res, err
	}
	res.LeftOut = l.LeftOut()
	return res, passOver(ctx, l, fault, &res)
}

// passOver reaches both hosts and makes one pass without a proof.
func passOver(ctx context.Context, l *lab.Lab, fault lab.Fault, res *netemResult) error {
	var ends [2]loop.End
	for i, h := range l.Topology().Hosts {
		name := h.Name
		ep := host.Endpoint{
			Name: name, Argv: l.Enter(name), Self: []string{guestBin + "/linerate"},
			Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name),
		}
		c, err := host.Dial(ctx, ep, host.Options{Log: func(s string) { fmt.Fprintln(os.Stderr, s) }, Now: time.Now})
		if err != nil {
			return fmt.Errorf("reach %s: %w", name, err)
		}
		defer c.Close()
		ends[i] = loop.End{Name: name, Addr: l.Addr(name), Agent: c}
	}
	pass := loop.Loop{
		Sender: ends[0], Receiver: ends[1],
		Workload: model.Workload{Streams: 1, CC: "cubic", Rate: fault.SourceRate},
		LineRate: model.Known(l.Topology().Links[0].AB.Rate),
		Timing:   loop.DefaultTiming(),
		Now:      time.Now,
	}
	rec, err := pass.Run(ctx)
	if err != nil {
		return err
	}
	res.Verdict = rec.Results.Verdict
	for _, run := range rec.Results.Runs {
		res.Goodput = run.Goodput
		res.path(run.Samples[ends[0].Name])
	}
	return nil
}

// path reads the delay and loss of the link from the sender's last sample.
func (r *netemResult) path(samples []model.Sample) {
	for _, s := range samples {
		for _, c := range s.Conns {
			if c.MinRTT > 0 && c.DataSegsOut > 0 {
				r.MinRTT, r.Lost = c.MinRTT, float64(c.TotalRetrans)/float64(c.DataSegsOut)
			}
		}
	}
}
