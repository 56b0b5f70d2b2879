package loop

import (
	"context"

	"linerate/internal/explain"
)

// moreReaders reads the same file at several offsets at once, which distinguishes too few
// calls in flight from a server or a path at its limit. The verdict stays if it does not need
// this probe, or if the probe fails.
func (c *Climb) moreReaders(ctx context.Context, name string, j judged) judged {
	plan, ok := explain.PlanReaders(j.kase, j.verdict)
	if !ok || c.stopped != nil {
		return j
	}
	what := c.read
	what.Readers = plan.Readers
	c.say("load: telling %s from what looks like it: reading in %d places at once for %v", j.verdict.Limiter, plan.Readers, c.Rungs.Read)
	run, _, err := c.readMount(ctx, name+", several readers", what)
	if err != nil {
		c.missed(name+", several readers", err)
		c.note("the probe with %d readers failed, so it decides nothing: %v", plan.Readers, err)
		return j
	}
	return j.after(plan.Seen(c.caseSeen(run, true)))
}
