package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"linerate/internal/lab/topology"
)

// effect is one reversible step of a fault.
type effect func(ctx context.Context, l Lab) (Undo, error)

// UndoTime bounds the undoing of a fault: a host that no longer answers is not waited for.
const UndoTime = 2 * time.Minute

// InTurn applies the steps in order; the returned Undo reverts them in reverse order. If a step
// fails, InTurn reverts the steps before it.
func InTurn[E ~func(context.Context, Lab) (Undo, error)](ctx context.Context, l Lab, steps []E) (Undo, error) {
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
	for _, step := range steps {
		u, err := step(ctx, l)
		if err != nil {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
			defer cancel()
			return nil, errors.Join(err, undo(after))
		}
		done = append(done, u)
	}
	return undo, nil
}

// errChanged: somebody changed the value after the fault set it. To restore the original now
// would undo that later change, and undoing the later change would then restore the fault.
var errChanged = errors.New("it was changed again since: take that out first")

// swap sets a value and returns the Undo that restores the old one. set returns the value that
// was there before. The kernel may round a value, so swap sets it twice: the second call
// returns the value that is in force.
func swap[T any](ctx context.Context, set func(context.Context, T) (T, error), want T, same func(a, b T) bool) (Undo, error) {
	old, err := set(ctx, want)
	if err != nil {
		return nil, err
	}
	taken, err := set(ctx, want)
	if err != nil {
		_, back := set(context.WithoutCancel(ctx), old)
		return nil, errors.Join(err, back)
	}
	return func(ctx context.Context) error {
		now, err := set(ctx, old)
		if err != nil || same(now, taken) {
			return err
		}
		_, err = set(ctx, now)
		return errors.Join(errChanged, err)
	}, nil
}

// named adds what an effect does to the errors of its application and of its undo.
func named(what string, e effect) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		undo, err := e(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", what, err)
		}
		return func(ctx context.Context) error {
			if err := undo(ctx); err != nil {
				return fmt.Errorf("put %s back: %w", what, err)
			}
			return nil
		}, nil
	}
}

func equal[T comparable](a, b T) bool { return a == b }

// reshape changes one direction of a link. The undo restores only the fields that changed, so
// that several faults of one link can be removed in any order unless they set the same field.
func reshape(link string, dir int, change func(*topology.Shape)) effect {
	return named("link "+link, func(ctx context.Context, l Lab) (Undo, error) {
		before := l.Shapes(link)[dir]
		after := before
		change(&after)
		if err := l.Reshape(ctx, link, dir, change); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			now := l.Shapes(link)[dir]
			if again := now; !putBack(&again, before, after) {
				return errChanged
			}
			return l.Reshape(ctx, link, dir, func(s *topology.Shape) { putBack(s, before, after) })
		}, nil
	})
}

// putBack sets the fields of s that differ between before and after to their values in before.
// It reports whether all of them still had their values in after.
func putBack(s *topology.Shape, before, after topology.Shape) bool {
	return restore(&s.Rate, before.Rate, after.Rate) &&
		restore(&s.Delay, before.Delay, after.Delay) &&
		restore(&s.Jitter, before.Jitter, after.Jitter) &&
		restore(&s.Loss, before.Loss, after.Loss) &&
		restore(&s.LossBurst, before.LossBurst, after.LossBurst) &&
		restore(&s.Duplicate, before.Duplicate, after.Duplicate) &&
		restore(&s.Reorder, before.Reorder, after.Reorder) &&
		restore(&s.ReorderBy, before.ReorderBy, after.ReorderBy) &&
		restore(&s.MTU, before.MTU, after.MTU) &&
		restore(&s.Queue, before.Queue, after.Queue)
}

func restore[T comparable](field *T, before, after T) bool {
	if before == after {
		return true
	}
	was := *field
	*field = before
	return was == after
}

// sysctl writes a key of a host.
func sysctl(host, key, value string) effect {
	return named(key+" on "+host, func(ctx context.Context, l Lab) (Undo, error) {
		set := func(ctx context.Context, v string) (string, error) { return l.Sysctl(ctx, host, key, v) }
		return swap(ctx, set, value, func(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) })
	})
}

// features switches the named features of an interface on or off.
func features(e topology.End, on bool, names ...string) effect {
	want := map[string]bool{}
	for _, n := range names {
		want[n] = on
	}
	return named("features of "+e.String(), func(ctx context.Context, l Lab) (Undo, error) {
		set := func(ctx context.Context, w map[string]bool) (map[string]bool, error) {
			return l.Features(ctx, e.Node, e.Interface, w)
		}
		return swap(ctx, set, want, maps.Equal)
	})
}

func hostMTU(e topology.End, mtu int) effect {
	return named("MTU of "+e.String(), func(ctx context.Context, l Lab) (Undo, error) {
		set := func(ctx context.Context, mtu int) (int, error) { return l.SetMTU(ctx, e.Node, e.Interface, mtu) }
		return swap(ctx, set, mtu, equal)
	})
}

func switchMTU(sw string, mtu int) effect {
	return named("MTU of switch "+sw, func(ctx context.Context, l Lab) (Undo, error) {
		set := func(ctx context.Context, mtu int) (int, error) { return l.SwitchMTU(ctx, sw, mtu) }
		return swap(ctx, set, mtu, equal)
	})
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

// command runs the command put inside a host; its undo runs the command back.
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
