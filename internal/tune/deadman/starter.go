package deadman

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/tune"
)

// Starter is a tune.DeadMan.
type Starter struct {
	// Program is the argv that starts linerate on this host. With later it is started only when
	// the time of a plan is over, and has to be there then; else it starts now, and has to be
	// readable until then whatever the plan cuts off.
	Program func(later bool) ([]string, error)
	// Role is the subcommand that calls Main; its arguments are those of ParseArgs.
	Role     string
	StateDir string // absolute
	// Root is where /run and /proc are; empty is "/". Path is where systemctl and systemd-run are
	// searched; empty is the usual places.
	Root kernel.Root
	Path string
}

// armTime bounds how long a watcher may take to report that it watches.
const armTime = 20 * time.Second

// The words of a watcher's report.
const (
	watching = "watching"
	unspared = "watching, not spared when memory runs out"
	checked  = "would watch"
	checkArg = "--check"
)

func (s Starter) Arm(ctx context.Context, plan string, within time.Duration) (notes []string, err error) {
	later := s.systemd()
	argv, err := s.Program(later)
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 || !filepath.IsAbs(s.StateDir) {
		return nil, fmt.Errorf("start a watcher: program %q, state directory %q: want both by their full path", argv, s.StateDir)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, armTime, fmt.Errorf("no answer within %v", armTime))
	defer cancel()
	argv = append(append([]string{}, argv...), s.Role)
	if later {
		return nil, s.armUnit(ctx, argv, plan, within)
	}
	return s.armChild(ctx, append(argv, s.StateDir, plan))
}

// Disarm implements tune.DeadMan. A child ends by itself when it sees that the record is gone.
func (s Starter) Disarm(ctx context.Context, plan string) error {
	if !s.systemd() {
		return nil
	}
	return s.disarmUnit(ctx, plan)
}

// Watching implements tune.DeadMan: systemd's timer or the service that it started is active, or
// there is a process that was started as the watcher of this plan.
func (s Starter) Watching(ctx context.Context, plan string) (bool, error) {
	if s.systemd() {
		for _, kind := range []string{".timer", ".service"} {
			if s.run(ctx, "systemctl", "is-active", "--quiet", unit(plan)+kind) == nil {
				return true, nil
			}
		}
		return false, nil
	}
	names, err := kernel.Root("").ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("look for the watcher of %s: %w", plan, err)
	}
	want := "\x00" + strings.Join([]string{s.Role, s.StateDir, plan}, "\x00") + "\x00"
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		// A process that ends meanwhile is none.
		b, err := kernel.Root("").ReadFile("/proc/" + name + "/cmdline")
		if err == nil && strings.HasSuffix(string(b), want) {
			return true, nil
		}
	}
	return false, nil
}

// armChild starts the watcher in a session of its own, which inherits only the pipe for its
// report, and moves it out of the control groups by which the session that started it could be
// ended.
func (s Starter) armChild(ctx context.Context, argv []string) (notes []string, err error) {
	cmd := kernel.Exec(context.WithoutCancel(ctx), argv...)
	cmd.Dir, cmd.Env = "/", environment(os.Environ())
	cmd.SysProcAttr = ownSession()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read: a close that fails loses nothing
	cmd.Stdout = w
	err = cmd.Start()
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("start a watcher: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // reaps it, if it ends before us
	said := make(chan string, 1)
	go func() { said <- answerOf(r) }()
	var how error
	select {
	case line := <-said:
		switch line {
		case watching:
			return s.detach(cmd.Process.Pid)
		case unspared:
			notes, err := s.detach(cmd.Process.Pid)
			return append(notes, "the process that would undo an unconfirmed plan may be ended when memory runs out: this host did not let it ask to be spared (oom_score_adj); the next linerate that starts there then undoes what is overdue"), err
		}
		how = fmt.Errorf("it said %q", line)
	case <-ctx.Done():
		how = context.Cause(ctx)
	}
	_ = cmd.Process.Kill() // may have ended by itself
	return nil, fmt.Errorf("start a watcher: %w (%w)", how, <-ended)
}

// detach is the last step that makes a watcher independent.
func (s Starter) detach(pid int) (notes []string, err error) {
	stuck, err := kernel.LeaveSessionGroups(s.Root, pid)
	if err != nil {
		stuck = []string{err.Error()}
	}
	for _, group := range stuck {
		notes = append(notes, "the process that would undo an unconfirmed plan could not leave a control group of this session, "+group+
			": whatever ends that group ends it too (logind does with KillUserProcesses=yes)")
	}
	return notes, alive(pid)
}

// environment drops the session's variables, whose targets could end with it.
func environment(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "SSH_") && !strings.HasPrefix(e, "TMPDIR=") && !strings.HasPrefix(e, "XDG_RUNTIME_DIR=") {
			out = append(out, e)
		}
	}
	return out
}

func answerOf(r io.Reader) string {
	const most = 200
	line, err := bufio.NewReader(io.LimitReader(r, most)).ReadString('\n')
	if err != nil && line == "" {
		return "nothing: " + err.Error()
	}
	return strings.TrimSpace(line)
}

// Args are the arguments that a Starter appends to its Role.
type Args struct {
	// Check only tests whether the watcher could do its work.
	Check          bool
	StateDir, Plan string
}

// ParseArgs parses [--check] STATEDIR PLAN.
func ParseArgs(args []string) (Args, error) {
	a := Args{Check: len(args) > 0 && args[0] == checkArg}
	rest := args
	if a.Check {
		rest = args[1:]
	}
	if len(rest) != 2 || !filepath.IsAbs(rest[0]) || rest[1] == "" {
		return Args{}, fmt.Errorf("read arguments of the watcher: want [%s] STATEDIR PLAN, got %q", checkArg, args)
	}
	a.StateDir, a.Plan = rest[0], rest[1]
	return a, nil
}

// Main is the watcher. It reports on out that it watches, closes out, and returns when there is
// nothing left to watch. It does nothing for a plan that no longer waits.
func Main(ctx context.Context, t *tune.Tuner, a Args, out io.WriteCloser) error {
	w, ok, err := t.Waiting()
	if errors.Is(err, tune.ErrRecord) && !a.Check { // it means undo, which Watch does
		w, ok, err = tune.Waiting{Plan: a.Plan}, true, nil
	}
	if err != nil || !ok || w.Plan != a.Plan {
		return errors.Join(err, out.Close())
	}
	word := watching
	if a.Check {
		word = checked
	} else if kernel.SpareFromOOM() != nil { // the changes are still there when it is gone
		word = unspared
	}
	_, err = fmt.Fprintln(out, word)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("watch plan %s: %w", a.Plan, err)
	}
	if a.Check {
		return nil
	}
	return t.Watch(ctx, a.Plan)
}
