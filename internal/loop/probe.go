package loop

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/explain"
	"linerate/internal/model"
)

// pacedLabel is the label of the paced probe's run in a bundle.
const pacedLabel = "paced probe"

// runner makes one run of a workload, for this time.
type runner func(ctx context.Context, w model.Workload, d, warmup time.Duration) (model.Run, error)

// probe runs the one experiment that distinguishes the named limiter from another that looks
// like it.
func (l *Loop) probe(ctx context.Context, rec *Record, c explain.Case) error {
	j, err := l.paced(ctx, rec, judged{c, rec.Results.Verdict}, func(ctx context.Context, w model.Workload, d, warmup time.Duration) (model.Run, error) {
		return l.measureAs(ctx, w, pacedLabel, d, warmup)
	})
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
	l.say("load: telling %s from what looks like it: sending evenly at %s for %s", j.verdict.Limiter, plan.Rate, plan.Duration.Round(100*time.Millisecond))
	w := l.Workload
	w.MaxPacing, w.Rate, w.From, w.To = plan.Rate, 0, l.Sender.Addr, l.Receiver.Addr
	got, err := run(ctx, w, plan.Duration, plan.Warmup)
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
