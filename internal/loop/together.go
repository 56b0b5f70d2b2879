package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"linerate/internal/model"
	"linerate/internal/tune"
)

// Changer is what ApplyTogether needs of a host.
type Changer interface {
	Apply(ctx context.Context, p model.Plan) (tune.Result, error)
	Confirm(ctx context.Context, planID string) error
	Undo(ctx context.Context, planID string) (tune.Result, error)
	// ProbePath sends packets of size octets with the don't-fragment bit to an address, and
	// fails unless one is answered.
	ProbePath(ctx context.Context, to netip.Addr, size int) error
}

// Together is one end of a change that has to be made at both ends.
type Together struct {
	Name string
	Addr netip.Addr // data address
	Host Changer
	Plan model.Plan
}

// ApplyTogether raises the MTU of both ends of a path, or of neither: it applies both plans,
// sends packets of size octets with the don't-fragment bit in both directions, and confirms
// both plans if they arrive; otherwise it undoes both. An end that can no longer be reached
// undoes its plan by itself, through the dead-man that every plan here must have.
//
// Errors: what failed, joined with what could not be undone.
func ApplyTogether(ctx context.Context, a, b Together, size int) error {
	for _, e := range []Together{a, b} {
		if e.Plan.DeadMan() == 0 {
			return fmt.Errorf("change %s and %s together: the plan of %s has no dead-man, so it could stay alone", a.Name, b.Name, e.Name)
		}
	}
	err := applyBoth(ctx, a, b, size)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a Ctrl-C must not leave one end changed
	for _, e := range []Together{b, a} {
		if _, undoErr := e.Host.Undo(ctx, e.Plan.ID); undoErr != nil {
			err = errors.Join(err, fmt.Errorf("undo it on %s, which undoes it by itself within %v: %w", e.Name, e.Plan.DeadMan(), undoErr))
		}
	}
	return err
}

func applyBoth(ctx context.Context, a, b Together, size int) error {
	for _, e := range []Together{a, b} {
		if _, err := e.Host.Apply(ctx, e.Plan); err != nil {
			return fmt.Errorf("change %s: %w", e.Name, err)
		}
	}
	for _, way := range [][2]Together{{a, b}, {b, a}} {
		if err := way[0].Host.ProbePath(ctx, way[1].Addr, size); err != nil {
			return fmt.Errorf("see whether packets of %d octets get from %s to %s: %w", size, way[0].Name, way[1].Name, err)
		}
	}
	for _, e := range []Together{a, b} {
		if err := e.Host.Confirm(ctx, e.Plan.ID); err != nil {
			return fmt.Errorf("confirm the change of %s: %w", e.Name, err)
		}
	}
	return nil
}
