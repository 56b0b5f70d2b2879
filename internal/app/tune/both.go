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
	near, far := &changer{changeable: p.agent}, &changer{changeable: d.peer, stays: len(plans) == 1}
	a := loop.Together{Name: d.name, Addr: own, Host: near, Plan: p.Plan}
	b := loop.Together{Name: d.to, Addr: d.peerTo, Host: far, Plan: plans[len(plans)-1].Plan}
	size := octets(p.Changes[0].To)
	if err := loop.ApplyTogether(ctx, a, b, size); err != nil {
		return afterMTU(ctx, d.ends(), p.ID, err)
	}
	for i, c := range []*changer{near, far}[:len(plans)] {
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
		if err := afterFailure(ctx, e, plan, fmt.Errorf("%s", e.name)); failure.KindOf(err) == failure.NotRestored {
			left = errors.Join(left, err)
		}
	}
	if left != nil {
		return failure.Of(failure.NotRestored, "%w\n%w", cause, left)
	}
	return failure.Of(failure.Failed, "%w; the MTU is changed at neither end", cause)
}

// changer is an end of a larger MTU. One that stays takes the packets already: it is
// asked to send some, and changed in nothing.
type changer struct {
	changeable
	stays bool
	res   tune.Result
}

// Apply implements loop.Changer.
func (c *changer) Apply(ctx context.Context, p model.Plan) (_ tune.Result, err error) {
	if !c.stays {
		c.res, err = c.changeable.Apply(ctx, p)
	}
	return c.res, err
}

// Confirm implements loop.Changer.
func (c *changer) Confirm(ctx context.Context, plan string) error {
	if c.stays {
		return nil
	}
	return c.changeable.Confirm(ctx, plan)
}

// Undo implements loop.Changer.
func (c *changer) Undo(ctx context.Context, plan string) (tune.Result, error) {
	if c.stays {
		return tune.Result{}, nil
	}
	return c.changeable.Undo(ctx, plan)
}

// ProbePath implements loop.Changer. What the connection to the agent carries
// has to get through too: facts take many full packets.
func (c *changer) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	if err := c.changeable.ProbePath(ctx, to, size); err != nil {
		return err
	}
	if _, err := c.Facts(ctx); err != nil {
		return fmt.Errorf("hear from it in full packets: %w", err)
	}
	return nil
}
