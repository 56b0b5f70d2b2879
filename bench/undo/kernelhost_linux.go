package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"linerate/internal/lab"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
)

const kernelKind = "kernel host"

// rebooter is a host that is really restarted.
type rebooter struct {
	lab    *lab.Lab
	name   string
	pool   []string
	stable map[string]bool // lines of its state that two plain boots share
	// boot is the id of the boot that answered last, ended of the one that
	// was ended last.
	boot, ended string
}

// kernelCases restart the kernel under the process that applies a plan and makes
// it permanent; then undo, and restart once more.
func kernelCases(self string) func(context.Context, *table, int) error {
	return func(ctx context.Context, all *table, every int) error {
		return inLab(ctx, self, "back-to-back", "server1", topology.Kernel, func(ctx context.Context, l *lab.Lab) error {
			r, err := newRebooter(ctx, l, "server1")
			if err != nil {
				return err
			}
			for _, plan := range []string{keptPlan, runtimePlan} {
				if err := r.plan(ctx, all, plan, every); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func newRebooter(ctx context.Context, l *lab.Lab, name string) (*rebooter, error) {
	r := &rebooter{lab: l, name: name, stable: map[string]bool{}}
	first, err := r.ask(ctx, rebootOrder{Phase: poolPhase})
	if err != nil {
		return nil, err
	}
	if err := r.reboot(ctx); err != nil {
		return nil, err
	}
	second, err := r.ask(ctx, rebootOrder{Phase: statePhase})
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for line := range strings.Lines(second.State) {
		again[line] = true
	}
	for line := range strings.Lines(first.State) {
		file, _, _ := strings.Cut(line, " ")
		if again[line] && !sizedAtBoot(file) {
			r.stable[line] = true
		}
	}
	// Values that depend on the memory that was free at boot cannot be compared.
	for _, id := range first.Pool {
		if r.has(fileOf(id) + " ") {
			r.pool = append(r.pool, id)
		}
	}
	if len(r.pool) < perSlot {
		return nil, fmt.Errorf("%s has %d settings to try, want %d", name, len(r.pool), perSlot)
	}
	return r, nil
}

// sizedAtBoot are the values that the kernel makes of the memory that is free
// when it starts (net/ipv4/tcp.c, tcp_init): one boot has others than the next.
func sizedAtBoot(file string) bool {
	switch strings.TrimPrefix(file, "/proc/sys/net/ipv4/") {
	case "tcp_ehash_entries", "tcp_max_orphans", "tcp_max_tw_buckets", "tcp_max_syn_backlog", "tcp_mem", "udp_mem":
		return true
	}
	return false
}

// fileOf is where a sysctl lies.
func fileOf(id string) string {
	return "/proc/sys/" + strings.ReplaceAll(strings.TrimPrefix(id, "linux.sysctl."), ".", "/")
}

func (r *rebooter) has(prefix string) bool {
	for line := range r.stable {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// ask has this program do a phase inside.
func (r *rebooter) ask(ctx context.Context, o rebootOrder) (a rebootAnswer, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return a, err
	}
	out, err := r.lab.Run(ctx, r.name, fault.Self, rebootRole, string(text))
	if err != nil {
		return a, fmt.Errorf("%s: %w", o.Phase, err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("%s: read %q: %w", o.Phase, out, err)
	}
	if a.BootID == "" || a.BootID == r.ended {
		return a, fmt.Errorf("%s: boot id %q, as before the restart", o.Phase, a.BootID)
	}
	r.boot = a.BootID
	return a, nil
}

// reboot also notes which boot it ends.
func (r *rebooter) reboot(ctx context.Context) error {
	r.ended = r.boot
	return r.lab.Reboot(ctx, r.name)
}

// plan runs one of every so many steps of a plan, as many at a time as there
// are settings for.
func (r *rebooter) plan(ctx context.Context, all *table, plan string, every int) error {
	for step := 1; ; {
		var cases []rebootCase
		for slot := 0; (slot+1)*perSlot <= len(r.pool); slot++ {
			cases = append(cases, rebootCase{Slot: slot, Plan: plan, Step: step, Settings: r.pool[slot*perSlot : (slot+1)*perSlot]})
			step += every
		}
		more, err := r.batch(ctx, all, cases)
		if err != nil || !more {
			return err
		}
	}
}

// batch is one restart for all cases, and one more to see what is left. It
// tells whether the plan has more steps.
func (r *rebooter) batch(ctx context.Context, all *table, cases []rebootCase) (more bool, err error) {
	fmt.Fprintf(all.progress, "%s: %s, steps %d to %d and two restarts\n", kernelKind, cases[0].Plan, cases[0].Step, cases[len(cases)-1].Step)
	lived, err := r.ask(ctx, rebootOrder{Phase: livePhase, Cases: cases})
	if err != nil {
		return false, err
	}
	if err := r.reboot(ctx); err != nil {
		return false, err
	}
	undone, err := r.ask(ctx, rebootOrder{Phase: undoPhase, Cases: cases})
	if err != nil {
		return false, err
	}
	if err := r.reboot(ctx); err != nil {
		return false, err
	}
	last, err := r.ask(ctx, rebootOrder{Phase: statePhase})
	if err != nil {
		return false, err
	}
	if len(lived.Outcome) != len(cases) || len(undone.Outcome) != len(cases) {
		return false, errors.New("not every case has an outcome")
	}
	missing := r.missing(last.State)
	for i, c := range cases {
		if !lived.Outcome[i].Reached {
			return false, nil
		}
		all.add(kernelKind, c.Plan, reboots, c.Step, outcome{}, c.judge(undone.Outcome[i], missing))
	}
	return true, nil
}

// judge tells what is wrong with a case.
func (c rebootCase) judge(done rebootDone, missing []string) error {
	if done.Error != "" {
		return errors.New(done.Error)
	}
	for _, line := range missing {
		for _, id := range c.Settings {
			if strings.HasPrefix(line, fileOf(id)+" ") {
				return fmt.Errorf("not there after the last restart: %s", line)
			}
		}
	}
	if c.Slot == 0 && len(missing) > 0 { // counted once
		return fmt.Errorf("not there after the last restart: %q", missing)
	}
	return nil
}

// missing are the lines of the first state that are not in this one.
func (r *rebooter) missing(state string) []string {
	now := map[string]bool{}
	for line := range strings.Lines(state) {
		now[line] = true
	}
	var out []string
	for line := range r.stable {
		if !now[line] {
			out = append(out, line)
		}
	}
	return out
}
