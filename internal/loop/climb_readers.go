package loop

import (
	"context"

	"linerate/internal/explain"
)

// moreReaders reads the same file in several places at once. That tells too few calls
// under way from a server or a path at its limit. A verdict that does not ask for this
// probe, and one whose probe fails, stay as they were.
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
		c.note("the probe with %d readers settles nothing: %v", plan.Readers, err)
		return j
	}
	return j.after(plan.Seen(c.caseSeen(run, true)))
}
