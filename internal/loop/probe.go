package loop

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Labels of the probes' runs in a bundle.
const (
	pacedLabel = "paced probe"
	portsLabel = "other ports"
)

// runner makes one run of a workload, for this time.
type runner func(ctx context.Context, label string, w model.Workload, d, warmup time.Duration) (model.Run, error)

// probe runs the experiments that distinguish the named limiter from others that look like it.
func (l *Loop) probe(ctx context.Context, rec *Record, c explain.Case) error {
	run := func(ctx context.Context, label string, w model.Workload, d, warmup time.Duration) (model.Run, error) {
		return l.measureAs(ctx, w, label, d, warmup)
	}
	j, err := l.probes(ctx, rec, judged{c, rec.Results.Verdict}, run)
	if err == nil && !l.Prove && !l.climbs { // a proof shows how far the path goes without this limiter
		j, err = l.several(ctx, rec, j)
	}
	if lost := l.lost(ctx); len(lost) > 0 {
		j.kase.Lost = lost
		j = judge(j.kase)
	}
	rec.Results.Verdict = j.verdict
	return err
}

// probes runs those that load one direction as the diagnosis did, each where the verdict calls
// for it.
func (l *Loop) probes(ctx context.Context, rec *Record, j judged, run runner) (judged, error) {
	j, err := l.paced(ctx, rec, j, run)
	if err != nil {
		return j, err
	}
	return l.ports(ctx, rec, j, run)
}

// ports opens as many connections again, from other ports, if only some were worse off.
func (l *Loop) ports(ctx context.Context, rec *Record, j judged, run runner) (judged, error) {
	plan, ok := explain.PlanPorts(j.kase, j.verdict)
	if !ok {
		return j, nil
	}
	l.say("load: some connections are worse off than others: %d new ones, from other ports, for %s", plan.Streams, explain.PortsTime)
	w := l.Workload
	w.Streams, w.From, w.To = plan.Streams, l.Sender.Addr, l.Receiver.Addr
	got, err := run(ctx, portsLabel, w, explain.PortsTime, explain.PortsWarmup)
	if err != nil {
		return j, fmt.Errorf("run connections from other ports: %w", err)
	}
	rec.Results.Runs = append(rec.Results.Runs, got)
	rec.Results.Warnings = append(rec.Results.Warnings, got.Warnings...)
	return j.after(plan.Seen(l.caseOf(rec, got))), nil
}

// severalLabel is the label of the run with several connections in a bundle.
const severalLabel = "several connections"

// several runs several connections at once, to find the next limiter behind one that limits
// each single connection.
func (l *Loop) several(ctx context.Context, rec *Record, j judged) (judged, error) {
	plan, ok := explain.PlanSeveral(j.verdict, max(1, l.Workload.Streams))
	if !ok {
		return j, nil
	}
	l.say("load: what binds next: %d connections at once for %s", plan.Streams, severalTime)
	w := l.Workload
	w.Streams = plan.Streams
	run, err := l.measureAs(ctx, w, severalLabel, severalTime, severalWarmup)
	if err != nil {
		return j, fmt.Errorf("run several connections: %w", err)
	}
	rec.Results.Runs = append(rec.Results.Runs, run)
	return j.after(plan.Seen(l.caseOf(rec, run))), nil
}

const (
	severalTime   = 3 * time.Second
	severalWarmup = time.Second
)

// paced runs the paced probe if the verdict asks for it and enough losses are to be expected;
// otherwise it returns j unchanged. The probe sends no faster than the diagnosis did.
func (l *Loop) paced(ctx context.Context, rec *Record, j judged, run runner) (judged, error) {
	plan, ok := explain.PlanPaced(j.kase, j.verdict)
	if !ok {
		return j, nil
	}
	l.say("load: telling %s from what looks like it: sending evenly at %s in each of %s for %s", j.verdict.Limiter, plan.Rate, unit.CountInWords(plan.Streams, "connection"), plan.Duration.Round(100*time.Millisecond))
	w := l.Workload
	w.Streams, w.MaxPacing, w.Rate, w.From, w.To = plan.Streams, plan.Rate, 0, l.Sender.Addr, l.Receiver.Addr
	got, err := run(ctx, pacedLabel, w, plan.Duration, plan.Warmup)
	if err != nil {
		return j, fmt.Errorf("run the paced probe: %w", err)
	}
	rec.Results.Runs = append(rec.Results.Runs, got)
	rec.Results.Warnings = append(rec.Results.Warnings, got.Warnings...)
	return j.after(plan.Seen(l.caseOf(rec, got))), nil
}

// caseOf is the case of one run, seen from both ends.
func (l *Loop) caseOf(rec *Record, run model.Run) explain.Case {
	return explain.Case{
		Sender:   l.seen(rec, run, l.Sender, l.Receiver),
		Receiver: l.seen(rec, run, l.Receiver, l.Sender),
		LineRate: l.LineRate,
		Goodput:  model.Known(run.Goodput),
	}
}
