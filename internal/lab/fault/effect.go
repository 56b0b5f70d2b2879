package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"linerate/internal/lab/topology"
)

// effect is one reversible step of a fault.
type effect func(ctx context.Context, l Lab) (Undo, error)

// apply makes the steps in order; the undo takes them back in reverse. When a
// step fails those before it are taken back.
func apply(ctx context.Context, l Lab, effects []effect) (Undo, error) {
	var done []Undo
	undo := func(ctx context.Context) error {
		for len(done) > 0 {
			if err := done[len(done)-1](ctx); err != nil {
				return err
			}
			done = done[:len(done)-1]
		}
		return nil
	}
	for _, e := range effects {
		u, err := e(ctx, l)
		if err != nil {
			return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
		done = append(done, u)
	}
	return undo, nil
}

// reshape changes one direction of a link. The undo puts back only what
// changed, so that two faults of one link can go in any order.
func reshape(link string, dir int, change func(*topology.Shape)) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		before := l.Shapes(link)[dir]
		after := before
		change(&after)
		if err := l.Reshape(ctx, link, dir, change); err != nil {
			return nil, fmt.Errorf("change link %s: %w", link, err)
		}
		return func(ctx context.Context) error {
			if err := l.Reshape(ctx, link, dir, func(s *topology.Shape) { putBack(s, before, after) }); err != nil {
				return fmt.Errorf("put link %s back: %w", link, err)
			}
			return nil
		}, nil
	}
}

// putBack sets those fields of s that differ between before and after to what
// they were before.
func putBack(s *topology.Shape, before, after topology.Shape) {
	restore(&s.Rate, before.Rate, after.Rate)
	restore(&s.Delay, before.Delay, after.Delay)
	restore(&s.Jitter, before.Jitter, after.Jitter)
	restore(&s.Loss, before.Loss, after.Loss)
	restore(&s.LossBurst, before.LossBurst, after.LossBurst)
	restore(&s.Duplicate, before.Duplicate, after.Duplicate)
	restore(&s.Reorder, before.Reorder, after.Reorder)
	restore(&s.ReorderBy, before.ReorderBy, after.ReorderBy)
	restore(&s.MTU, before.MTU, after.MTU)
	restore(&s.Queue, before.Queue, after.Queue)
}

func restore[T comparable](field *T, before, after T) {
	if before != after {
		*field = before
	}
}

// sysctl writes a key of a host.
func sysctl(host, key, value string) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		old, err := l.Sysctl(ctx, host, key, value)
		if err != nil {
			return nil, fmt.Errorf("set %s on %s: %w", key, host, err)
		}
		return func(ctx context.Context) error {
			if _, err := l.Sysctl(ctx, host, key, old); err != nil {
				return fmt.Errorf("put %s back to %q on %s: %w", key, old, host, err)
			}
			return nil
		}, nil
	}
}

// features switches the named features of an interface off (or on).
func features(e topology.End, on bool, names ...string) effect {
	want := map[string]bool{}
	for _, n := range names {
		want[n] = on
	}
	return func(ctx context.Context, l Lab) (Undo, error) {
		old, err := l.Features(ctx, e.Node, e.Interface, want)
		if err != nil {
			return nil, fmt.Errorf("switch features of %s on %s: %w", e.Interface, e.Node, err)
		}
		return func(ctx context.Context) error {
			if _, err := l.Features(ctx, e.Node, e.Interface, old); err != nil {
				return fmt.Errorf("put features of %s on %s back: %w", e.Interface, e.Node, err)
			}
			return nil
		}, nil
	}
}

func hostMTU(e topology.End, mtu int) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		old, err := l.SetMTU(ctx, e.Node, e.Interface, mtu)
		if err != nil {
			return nil, fmt.Errorf("set MTU of %s on %s to %d: %w", e.Interface, e.Node, mtu, err)
		}
		return func(ctx context.Context) error {
			if _, err := l.SetMTU(ctx, e.Node, e.Interface, old); err != nil {
				return fmt.Errorf("put MTU of %s on %s back to %d: %w", e.Interface, e.Node, old, err)
			}
			return nil
		}, nil
	}
}

func switchMTU(sw string, mtu int) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		old, err := l.SwitchMTU(ctx, sw, mtu)
		if err != nil {
			return nil, fmt.Errorf("set MTU of switch %s to %d: %w", sw, mtu, err)
		}
		return func(ctx context.Context) error {
			if _, err := l.SwitchMTU(ctx, sw, old); err != nil {
				return fmt.Errorf("put MTU of switch %s back to %d: %w", sw, old, err)
			}
			return nil
		}, nil
	}
}

// running keeps a command running inside a host.
func running(host, name string, argv ...string) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		stop, err := l.Start(ctx, host, name, argv...)
		if err != nil {
			return nil, fmt.Errorf("start %s on %s: %w", name, host, err)
		}
		stopped := false
		return func(context.Context) error {
			if stopped {
				return nil
			}
			if err := stop(); err != nil {
				return fmt.Errorf("stop %s on %s: %w", name, host, err)
			}
			stopped = true
			return nil
		}, nil
	}
}

// command runs put inside a host, and back to undo it.
func command(host string, put, back []string) effect {
	put, back = slices.Clone(put), slices.Clone(back)
	return func(ctx context.Context, l Lab) (Undo, error) {
		if _, err := l.Run(ctx, host, put...); err != nil {
			return nil, fmt.Errorf("run %v on %s: %w", put, host, err)
		}
		return func(ctx context.Context) error {
			if _, err := l.Run(ctx, host, back...); err != nil {
				return fmt.Errorf("run %v on %s: %w", back, host, err)
			}
			return nil
		}, nil
	}
}
