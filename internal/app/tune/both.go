package tune

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/failure"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/tune"
)

// applyMTU has both ends take a larger MTU, or neither.
func (d *drafted) applyMTU(ctx context.Context, plans []hostPlan, made *application) error {
	p := plans[0]
	if p.ConfirmWithin == model.NoConfirm {
		return failure.As(failure.Usage, &Error{Unguarded, d.to, errors.New("a larger MTU wants to be confirmed")})
	}
	own, err := reach.Source(d.facts, d.peerTo)
	if err != nil {
		return fmt.Errorf("find the data path from %s: %w", d.name, err)
	}
	a := loop.Together{Name: d.name, Addr: own, Plan: p.Plan}
	b := loop.Together{Name: d.to, Addr: d.peerTo, Host: bystander{d.peer}, Plan: p.Plan}
	changers := []*changer{{changeable: p.agent}}
	a.Host = changers[0]
	if len(plans) > 1 {
		changers = append(changers, &changer{changeable: plans[1].agent})
		b.Host, b.Plan = changers[1], plans[1].Plan
	}
	size := octets(p.Changes[0].To)
	if err := loop.ApplyTogether(ctx, a, b, size); err != nil {
		return afterMTU(ctx, d.ends(), p.ID, err)
	}
	for i, c := range changers {
		c.res.Deadline = time.Time{} // confirmed by then
		for j := range c.res.Changes {
			c.res.Changes[j].Observed = fmt.Sprintf("packets of %d octets that nobody may fragment get through, both ways", size)
		}
		made.take(plans[i].end, c.res)
	}
	made.notes = append(made.notes, fmt.Sprintf("The MTU is confirmed (%s): packets of %d octets get from %s to %s and back, and both ends still answer.", p.ID, size, d.name, d.to))
	return nil
}

// afterMTU tells whether a failure left an end changed: an exit code of 4 from
// any of them stands.
func afterMTU(ctx context.Context, ends []end, plan string, cause error) error {
	var left error
	for _, e := range ends {
		if err := afterFailure(ctx, e.agent, plan, fmt.Errorf("%s", e.name)); failure.KindOf(err) == failure.NotRestored {
			left = errors.Join(left, err)
		}
	}
	if left != nil {
		return failure.Of(failure.NotRestored, "%w\n%w", cause, left)
	}
	return failure.Of(failure.Failed, "%w; no MTU is changed, at neither end", cause)
}

// changer is an end that is changed.
type changer struct {
	changeable
	res tune.Result
}

// Apply implements loop.Changer.
func (c *changer) Apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	var err error
	c.res, err = c.changeable.Apply(ctx, p)
	return c.res, err
}

// ProbePath implements loop.Changer. What the connection to the agent carries
// has to get through too: facts take many full packets.
func (c *changer) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	return probeBoth(ctx, c.changeable, to, size)
}

func probeBoth(ctx context.Context, c changeable, to netip.Addr, size int) error {
	if err := c.ProbePath(ctx, to, size); err != nil {
		return err
	}
	if _, err := c.Facts(ctx); err != nil {
		return fmt.Errorf("hear from it in full packets: %w", err)
	}
	return nil
}

// bystander is an end whose port takes the packets already: it is asked to send
// some, and changed in nothing.
type bystander struct{ c changeable }

// Apply implements loop.Changer.
func (bystander) Apply(context.Context, model.Plan) (tune.Result, error) { return tune.Result{}, nil }

// Confirm implements loop.Changer.
func (bystander) Confirm(context.Context, string) error { return nil }

// Undo implements loop.Changer.
func (bystander) Undo(context.Context, string) (tune.Result, error) { return tune.Result{}, nil }

// ProbePath implements loop.Changer.
func (b bystander) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	return probeBoth(ctx, b.c, to, size)
}
