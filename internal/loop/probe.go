package loop

import (
	"context"
	"fmt"

	"linerate/internal/explain"
	"linerate/internal/model"
)

// probe runs the one experiment that would tell the named limiter from another
// that looks like it, where it is one that this loop may run: it sends no more
// than the diagnosis did.
func (l *Loop) probe(ctx context.Context, rec *Record, c explain.Case) error {
	r := &rec.Results
	if r.Verdict.Probe == nil {
		return nil
	}
	plan, ok := explain.PlanPaced(c, r.Verdict)
	if !ok {
		return nil
	}
	l.say("telling %s from what looks like it: sending evenly at %s for %s", r.Verdict.Limiter, plan.Rate, plan.Duration.Round(100e6))
	w := l.Workload
	w.MaxPacing, w.Rate = plan.Rate, 0
	run, err := l.measureAs(ctx, w, "paced probe", plan.Duration, plan.Warmup)
	if err != nil {
		return fmt.Errorf("run the paced probe: %w", err)
	}
	r.Runs = append(r.Runs, run)
	r.Warnings = append(r.Warnings, run.Warnings...)
	r.Verdict = explain.AfterPaced(r.Verdict, plan, l.caseOf(rec, run))
	return nil
}

// caseOf is what one run showed of both ends.
func (l *Loop) caseOf(rec *Record, run model.Run) explain.Case {
	return explain.Case{
		Sender:   l.seen(rec, run, l.Sender, l.Receiver),
		Receiver: l.seen(rec, run, l.Receiver, l.Sender),
		LineRate: l.LineRate,
		Goodput:  model.Known(run.Goodput),
	}
}
