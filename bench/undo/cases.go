package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/persist"
	"linerate/internal/tune/setter"
)

// mishap is what happens at a step.
type mishap string

// A step that fails, fails once. After a kill something follows: undo; the
// plan again and then undo; undo twice; a restart and then undo.
const (
	fails     mishap = "fail"
	killed    mishap = "kill -9"
	runTwice  mishap = "run twice"
	undoTwice mishap = "undo twice"
	reboots   mishap = "reboot"
)

func mishaps() []mishap { return []mishap{fails, killed, runTwice, undoTwice, reboots} }

const (
	firstBoot  = "5f0c9f1e-0000-4000-8000-000000000001"
	secondBoot = "5f0c9f1e-0000-4000-8000-000000000002"
	planID     = "bench"
)

// dead is the panic that stands for SIGKILL on the fake host.
type dead struct{}

// errFailed is the step that fails.
var errFailed = errors.New("no space left on device")

// oneCase is one plan, one step, one mishap.
type oneCase struct {
	plan planned
	step int // counted over apply, persist and undo; 0 is none
	what mishap
}

// outcome of a case.
type outcome struct {
	reached bool   // the step
	steps   int    // all that there were
	name    string // of the step
	forced  bool   // undo showed a three-way conflict and was forced
}

// runFake runs a case below dir, which is its own. Any error is a broken
// promise.
func runFake(dir string, c oneCase) (o outcome, err error) {
	h, err := newFakeHost(dir)
	if err != nil {
		return o, err
	}
	first, err := h.state()
	if err != nil {
		return o, err
	}
	t := &tune.Tuner{
		Dir: filepath.Join(dir, "state"), BootID: firstBoot, By: "bench", Setters: []setter.Setter{h}, Root: kernel.Root(dir),
		Persisting: func(context.Context) (persist.Host, error) {
			return persist.Host{NICs: []persist.NIC{{Device: nic, Name: "eth0"}}, Ethtool: "/usr/sbin/ethtool"}, nil
		},
	}
	t.Fault = c.fault(&o)
	died, err := mortal(func() error { return c.do(t) })
	t.Fault = nil
	if err != nil && !errors.Is(err, errFailed) && !c.plan.fails {
		return o, fmt.Errorf("apply, persist or undo: %w", err)
	}
	if err == nil && c.plan.fails && !died {
		return o, errors.New("the plan went through although the kernel did not do what it asked")
	}
	if err := c.recover(t, h, &o); err != nil {
		return o, err
	}
	return o, c.same(t, h, first)
}

// fault has the mishap happen at the case's step.
func (c oneCase) fault(o *outcome) func(string) error {
	return func(step string) error {
		o.steps++
		if o.steps != c.step {
			return nil
		}
		o.reached, o.name = true, step
		if c.what == fails {
			return errFailed
		}
		panic(dead{})
	}
}

// mortal runs f, which may be killed.
func mortal(f func() error) (died bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(dead); !ok {
				panic(r)
			}
			died = true
		}
	}()
	return false, f()
}

func (c oneCase) model(bootID string) model.Plan {
	return model.Plan{V: model.PlanVersion, ID: planID, BootID: bootID, Changes: c.plan.changes}
}

// do is the whole life of a plan.
func (c oneCase) do(t *tune.Tuner) error {
	ctx := context.Background()
	if _, err := t.Apply(ctx, c.model(t.BootID)); err != nil {
		return err
	}
	if c.plan.persist {
		if _, err := t.Persist(ctx, planID, false); err != nil {
			return err
		}
	}
	_, err := t.Undo(ctx, planID)
	return err
}

// recover is what the operator does after the mishap.
func (c oneCase) recover(t *tune.Tuner, h *fakeHost, o *outcome) error {
	switch c.what {
	case reboots:
		t.BootID = secondBoot
		if err := h.reboot(); err != nil {
			return err
		}
	case runTwice:
		if err := c.applyAgain(t); err != nil {
			return err
		}
	}
	if err := undoAll(t, c.plan.asks, o); err != nil {
		return err
	}
	if c.what == reboots { // what a file had set at the start is in force until the next
		return h.reboot()
	}
	return nil
}

// applyAgain may be refused only because of what the first time has left.
func (c oneCase) applyAgain(t *tune.Tuner) error {
	_, err := t.Apply(context.Background(), c.model(t.BootID))
	var conflict *tune.ConflictError
	var changed *tune.ChangedError
	if err == nil || c.plan.fails || errors.As(err, &changed) || errors.As(err, &conflict) {
		return nil
	}
	return fmt.Errorf("apply again: %w", err)
}

// undoAgain has nothing left to do.
func undoAgain(t *tune.Tuner) error {
	if res, err := t.Undo(context.Background(), ""); err != nil || len(res.Entries) > 0 {
		return fmt.Errorf("undo again did %v, %w", res.Entries, err)
	}
	return nil
}

// undoAll undoes; where the plan makes a three-way possible, it then insists.
func undoAll(t *tune.Tuner, asks bool, o *outcome) error {
	_, err := t.Undo(context.Background(), "")
	var conflict *tune.ConflictError
	if errors.As(err, &conflict) && asks {
		o.forced = true
		_, err = t.UndoWith(context.Background(), tune.UndoRequest{Force: true})
	}
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return nil
}

// sameState holds the state of a host against what it was at first.
func sameState(state func() (string, error), first string) error {
	now, err := state()
	if err == nil && now != first {
		err = fmt.Errorf("the host is not as it was:\n%s", difference(first, now))
	}
	return err
}

// same compares the host with what it was, and undoes once more, which must
// do nothing.
func (c oneCase) same(t *tune.Tuner, h *fakeHost, first string) error {
	if err := sameState(h.state, first); err != nil {
		return err
	}
	if open, err := t.Open(); err != nil || len(open) > 0 {
		return fmt.Errorf("still open: %v, %w", open, err)
	}
	if _, err := os.Stat(filepath.Join(t.Dir, "undo.sh")); err == nil {
		return errors.New("undo.sh is still there")
	}
	writes := h.writes
	if c.what == undoTwice {
		if err := undoAgain(t); err != nil {
			return err
		}
		if h.writes != writes {
			return fmt.Errorf("undo again wrote %d values", h.writes-writes)
		}
	}
	if _, err := t.Leave(context.Background()); err != nil {
		return err
	}
	if _, err := os.Stat(t.Dir); err == nil {
		return errors.New("leave left the state directory")
	}
	return nil
}
