package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"linerate/internal/cli"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/setter"
)

// Roles of this program on the host that it is tried on.
const (
	insideRole = "inside" // every case, one after the other: KIND EVERY
	actRole    = "act"    // the process that is killed: KIND DIR PLAN STEP MISHAP
)

// role runs this program as one of its own processes, or as one of the lab's,
// which are linerate's: those begin with no dash.
func role(args []string) (int, bool) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return 0, false
	}
	var err error
	switch {
	case len(args) == 3 && args[0] == insideRole:
		err = inside(args[1], args[2])
	case len(args) == 6 && args[0] == actRole:
		err = act(args[1:])
	case len(args) == 2 && args[0] == rebootRole:
		err = rebootMain(args[1], os.Stdout)
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		return cli.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr), true
	}
	if errors.Is(err, errFailed) {
		return failedCode, true
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "undo:", err)
		return 1, true
	}
	return 0, true
}

// failedCode is how a process ends whose step failed as it should.
const failedCode = 7

// realHost is a kernel to run cases on, seen from inside.
type realHost struct {
	setUp func() error
	plans func() ([]planned, error) // without what they change from
	state func(dir string) (string, error)
}

func realHosts() map[string]realHost {
	return map[string]realHost{
		namespaceKind: {namespaceSetUp, namespacePlans, namespaceState},
		deviceKind:    {func() error { return nil }, devicePlans, deviceState},
	}
}

// realKinds are the kinds of real hosts by the word of -hosts. self is this
// program as hosts of a lab are to run it; empty is as it is.
func realKinds(self string) map[string]func(context.Context, *table, int) error {
	return map[string]func(context.Context, *table, int) error{
		"namespaces": namespaceCases, "devices": deviceCases(self), "kernels": kernelCases(self),
	}
}

func findReal(kind string) (realHost, error) {
	h, ok := realHosts()[kind]
	if !ok {
		return h, fmt.Errorf("no host of kind %q", kind)
	}
	return h, nil
}

// readPlans are the plans with the values that are to be changed.
func (h realHost) readPlans(dir string) ([]planned, error) {
	out, err := h.plans()
	if err != nil {
		return nil, err
	}
	for _, p := range out {
		if err := readFrom(realTuner(dir), p.changes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readFrom fills in what changes are made from.
func readFrom(t *tune.Tuner, changes []model.Change) error {
	for i, c := range changes {
		for _, s := range t.Setters {
			if !s.Owns(c.Setting) {
				continue
			}
			from, err := s.Read(context.Background(), setter.Place{Setting: c.Setting, Target: c.Target}, c.To)
			if err != nil {
				return err
			}
			changes[i].From = from
		}
	}
	return nil
}

// report is one case as the process inside tells it.
type report struct {
	Plan   string `json:"plan"`
	What   mishap `json:"what"`
	Step   int    `json:"step"`
	Forced bool   `json:"forced"`
	Error  string `json:"error,omitempty"`
}

// addReports reads the lines that a process inside prints.
func addReports(all *table, host string, out io.Reader) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		var failed error
		if r.Error != "" {
			failed = errors.New(r.Error)
		}
		all.add(host, r.Plan, r.What, r.Step, outcome{forced: r.Forced}, failed)
	}
	return lines.Err()
}

// inside runs one of every so many cases on the host that it is on.
func inside(kind, every string) error {
	n, err := strconv.Atoi(every)
	if err != nil {
		return err
	}
	h, err := findReal(kind)
	if err != nil {
		return err
	}
	if err := h.setUp(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	plans, err := h.readPlans("/nonexistent")
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, p := range plans {
		for i, what := range []mishap{fails, killed, runTwice, undoTwice} {
			for step := 1 + i*n/4; ; step += n {
				r, reached := h.one(self, kind, oneCase{plan: p, step: step, what: what})
				if !reached && r.Error == "" {
					break
				}
				if err := out.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (h realHost) one(self, kind string, c oneCase) (report, bool) {
	reached, forced, err := h.realCase(self, kind, c)
	r := report{Plan: c.plan.name, What: c.what, Step: c.step, Forced: forced}
	if err != nil {
		r.Error = err.Error()
	}
	return r, reached
}

// realCase has another process do it, which is killed at the step, and then
// undoes.
func (h realHost) realCase(self, kind string, c oneCase) (reached, forced bool, err error) {
	dir, err := scratch()
	if err != nil {
		return false, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.MkdirAll(filepath.Join(dir, "etc/sysctl.d"), 0o755); err != nil {
		return false, false, err
	}
	state := func() (string, error) { return h.state(dir) }
	first, err := state()
	if err != nil {
		return false, false, err
	}
	cmd := kernel.Exec(context.Background(), self, actRole, kind, dir, c.plan.name, strconv.Itoa(c.step), string(c.what))
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	failed := cmd.Run()
	switch {
	case failed == nil:
		return false, false, sameState(state, first)
	case cmd.ProcessState.ExitCode() == failedCode:
	case cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
		return true, false, fmt.Errorf("the process ended by itself: %w", failed)
	}
	t := realTuner(dir)
	if c.what == runTwice {
		if err := c.applyAgain(t); err != nil {
			return true, false, err
		}
	}
	var o outcome
	if err := undoAll(t, false, &o); err != nil {
		return true, o.forced, err
	}
	if c.what == undoTwice {
		if err := undoAgain(t); err != nil {
			return true, o.forced, err
		}
	}
	if _, err := t.Leave(context.Background()); err != nil {
		return true, o.forced, err
	}
	return true, o.forced, sameState(state, first)
}

// act is the process that is killed.
func act(args []string) error {
	h, err := findReal(args[0])
	if err != nil {
		return err
	}
	plans, err := h.readPlans(args[1])
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.name != args[2] {
			continue
		}
		step, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return oneCase{plan: p, step: step, what: mishap(args[4])}.mortally(realTuner(args[1]))
	}
	return fmt.Errorf("no plan %q", args[2])
}

// mortally runs a plan to its end, or up to the step.
func (c oneCase) mortally(t *tune.Tuner) error {
	n := 0
	t.Fault = func(string) error {
		if n++; n != c.step {
			return nil
		}
		if c.what == fails {
			return errFailed
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
		select {} // the signal is on its way
	}
	return c.do(t)
}
