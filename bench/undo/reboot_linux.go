package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/setter"
)

// rebootRole does one phase of the cases with a restart, on a host that has a
// kernel of its own: its argument is a rebootOrder.
const rebootRole = "reboot"

// Phases. Between live and undo, and between undo and state, the host is
// restarted.
const (
	poolPhase  = "pool"  // which settings can be changed here
	livePhase  = "live"  // every case's process, up to its step
	diePhase   = "die"   // that process
	undoPhase  = "undo"  // what starts the system reads its files; then undo
	statePhase = "state" // likewise; then what the host is
)

// rebootOrder is a phase of some cases.
type rebootOrder struct {
	Phase string       `json:"phase"`
	Cases []rebootCase `json:"cases,omitempty"`
}

// rebootCase is a plan, a step and the settings that it has for itself, so that
// one restart serves many cases.
type rebootCase struct {
	Slot     int      `json:"slot"`
	Plan     string   `json:"plan"`
	Step     int      `json:"step"`
	Settings []string `json:"settings"`
}

// rebootAnswer is what a phase found.
type rebootAnswer struct {
	BootID  string       `json:"boot_id"`
	Pool    []string     `json:"pool,omitempty"`
	State   string       `json:"state,omitempty"`
	Outcome []rebootDone `json:"outcome,omitempty"` // in the order of the cases
}

type rebootDone struct {
	Reached  bool   `json:"reached,omitempty"`
	Closed   int    `json:"closed,omitempty"`   // runtime values of the boot before
	Restored int    `json:"restored,omitempty"` // files
	Error    string `json:"error,omitempty"`
}

// rebootDir is on the host's own disk.
const rebootDir = "/var/tmp/linerate-bench-undo"

// Plans of these cases: of so many settings, and made permanent or not.
const (
	keptPlan    = "kept over a restart"
	runtimePlan = "not kept"
	perSlot     = 3
)

func (c rebootCase) dir() string { return filepath.Join(rebootDir, strconv.Itoa(c.Slot)) }

func (c rebootCase) tuner() (*tune.Tuner, error) {
	id, err := bootID()
	return &tune.Tuner{
		Dir: filepath.Join(c.dir(), "state"), BootID: id, By: "bench", Root: kernel.Root(c.dir()), Setters: []setter.Setter{setter.Sysctl{}},
	}, err
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

func rebootMain(order string, out io.Writer) error {
	var o rebootOrder
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	id, err := bootID()
	if err != nil {
		return err
	}
	a := rebootAnswer{BootID: id}
	switch o.Phase {
	case poolPhase:
		if a.Pool, err = pool(); err == nil {
			a.State, err = rebootState()
		}
	case livePhase:
		a.Outcome, err = liveOut(o.Cases)
	case diePhase:
		return o.Cases[0].die()
	case undoPhase:
		a.Outcome, err = undoAfter(o.Cases)
	case statePhase:
		if err = startSystem(); err == nil {
			a.State, err = rebootState()
		}
	default:
		err = fmt.Errorf("no phase %q", o.Phase)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

// pool is the settings of TCP here that hold a number and take one more.
func pool() ([]string, error) {
	files, err := filepath.Glob("/proc/sys/net/ipv4/tcp_*")
	if err != nil {
		return nil, err
	}
	s := setter.Sysctl{}
	var out []string
	for _, f := range files {
		at := setter.Place{Setting: "linux.sysctl.net.ipv4." + filepath.Base(f)}
		now, next, err := oneMore(s, at)
		if err != nil {
			continue // written to only, or no number
		}
		if s.Write(context.Background(), at, next) != nil {
			continue // read only, or not this number
		}
		got, err := s.Read(context.Background(), at, "")
		if err := errors.Join(err, s.Write(context.Background(), at, now)); err != nil {
			return nil, err
		}
		if got == next {
			out = append(out, at.Setting)
		}
	}
	return out, nil
}

// oneMore is what a setting has, and one more.
func oneMore(s setter.Setter, at setter.Place) (now, next string, err error) {
	if now, err = s.Read(context.Background(), at, ""); err != nil {
		return "", "", err
	}
	n, err := strconv.Atoi(now)
	return now, strconv.Itoa(n + 1), err
}

// liveOut runs each case's process to where it is killed.
func liveOut(cases []rebootCase) ([]rebootDone, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out []rebootDone
	for _, c := range cases {
		if err := os.MkdirAll(filepath.Join(c.dir(), "etc/sysctl.d"), 0o755); err != nil {
			return nil, err
		}
		order, err := json.Marshal(rebootOrder{Phase: diePhase, Cases: []rebootCase{c}})
		if err != nil {
			return nil, err
		}
		cmd := kernel.Exec(context.Background(), self, rebootRole, string(order))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives us
		said, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, err
		}
		line, _ := bufio.NewReader(said).ReadString('\n') // Wait tells how it ended
		if line != atTheStep {
			if err := cmd.Wait(); err != nil {
				return nil, fmt.Errorf("%s, step %d ended by itself: %w", c.Plan, c.Step, err)
			}
		}
		out = append(out, rebootDone{Reached: line == atTheStep})
	}
	return out, nil
}

// atTheStep is the last line of a process whose kernel is then stopped.
const atTheStep = "at the step\n"

// die applies the plan and makes it permanent, and waits at its step: the restart then
// stops its kernel, as a loss of power does.
func (c rebootCase) die() error {
	t, err := c.tuner()
	if err != nil {
		return err
	}
	p := planned{name: c.Plan, persist: c.Plan == keptPlan}
	for _, id := range c.Settings {
		from, to, err := oneMore(t.Setters[0], setter.Place{Setting: id})
		if err != nil {
			return err
		}
		p.changes = append(p.changes, model.Change{Setting: id, From: from, To: to})
	}
	n := 0
	t.Fault = func(string) error {
		if n++; n != c.Step {
			return nil
		}
		if _, err := fmt.Print(atTheStep); err != nil {
			return err
		}
		for {
			time.Sleep(time.Hour)
		}
	}
	return oneCase{plan: p}.do(t)
}

// startSystem does what sysctl.d(5) says the system does when it starts.
func startSystem() error {
	files, err := filepath.Glob(rebootDir + "/*/etc/sysctl.d/*.conf")
	if err != nil {
		return err
	}
	for _, f := range files {
		if out, err := kernel.Exec(context.Background(), "sysctl", "-q", "-p", f).CombinedOutput(); err != nil {
			return fmt.Errorf("apply %s: %w: %s", f, err, out)
		}
	}
	return nil
}

// undoAfter starts the system and undoes every case; it notes what could not be
// undone as the case's.
func undoAfter(cases []rebootCase) ([]rebootDone, error) {
	if err := startSystem(); err != nil {
		return nil, err
	}
	var out []rebootDone
	for _, c := range cases {
		t, err := c.tuner()
		if err != nil {
			return nil, err
		}
		res, err := t.Undo(context.Background(), "")
		var done rebootDone
		for _, e := range res.Entries {
			switch e.State {
			case tune.Closed:
				done.Closed++
			case tune.Undone:
				done.Restored++
			}
		}
		if err == nil {
			err = c.left(t)
		}
		if err != nil {
			done.Error = err.Error()
		}
		out = append(out, done)
	}
	return out, nil
}

// left checks that nothing is left of a case, and takes its directory away.
func (c rebootCase) left(t *tune.Tuner) error {
	if _, err := t.Leave(context.Background()); err != nil {
		return err
	}
	text, err := treeState(c.dir())
	if err != nil {
		return err
	}
	if lines := strings.Count(text, "\n"); lines != 3 { // itself, etc and etc/sysctl.d
		return fmt.Errorf("left below %s:\n%s", c.dir(), text)
	}
	return os.RemoveAll(c.dir())
}

// rebootState is every value below /proc/sys/net and all that lies in the
// directory of the cases.
func rebootState() (string, error) {
	values, err := sysctlState()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(rebootDir, 0o755); err != nil {
		return "", err
	}
	tree, err := treeState(rebootDir)
	return values + tree, err
}
