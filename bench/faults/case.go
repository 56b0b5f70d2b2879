package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// settle is how long after a command the hosts may take to undo by themselves: the longest time
// to confirm of what is made here, what a hung agent is granted, and a while for a busy machine.
const settle = 3 * time.Minute

// atMost bounds a command.
const atMost = 5 * time.Minute

// outcome is what one case came to.
type outcome struct {
	order
	Took time.Duration `json:"took_ns"` // of the command
	At   time.Duration `json:"at_ns"`
	// Hit: the mishap came while the command ran, and there was whom to meet.
	Hit        bool     `json:"hit"`
	Code       int      `json:"code"` // the exit code; -1: it was killed
	Settings   int      `json:"settings"`
	Processes  int      `json:"processes"`
	Namespaces int      `json:"namespaces"`
	Cgroups    int      `json:"cgroups"`
	Files      int      `json:"files"`
	Words      int      `json:"words"`
	NotDone    int      `json:"not_done"` // of what has to be done as if nothing were
	Seen       []string `json:"seen,omitempty"`
	Said       string   `json:"said,omitempty"` // what the command printed, where it is not all 0
	// Lives is, of a control, how long there were processes of a role.
	Lives map[string]time.Duration `json:"lives_ns,omitempty"`
}

// lasts is the time in which the moment of a mishap falls: that of the command, or from the first
// sight of a process of its role to the last.
func (o order) lasts(m mishap) time.Duration {
	if o.Mishap == nothing {
		return 0
	}
	if m.role == "" || m.role == clock {
		return o.Usual
	}
	return o.Life
}

func (c *outcome) tell(count *int, format string, args ...any) {
	*count++
	c.Seen = append(c.Seen, fmt.Sprintf("after %s: ", c.At.Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// one is one mishap in one run of a command.
func (s *station) one(ctx context.Context, o order) (out outcome, err error) {
	out.order = o
	w, err := workNamed(o.Work)
	if err != nil {
		return out, err
	}
	m, err := mishapNamed(o.Mishap)
	if err != nil {
		return out, err
	}
	if w.lab != nil {
		down, err := s.another(ctx, w.lab)
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, down()) }()
	}
	s.pids = map[int]bool{} // a number is soon another's
	before, err := s.look(ctx)
	if err != nil {
		return out, err
	}
	s.first, s.begun = before.settings, time.Now()
	if w.before != nil {
		if err := w.before(ctx, s); err != nil {
			return out, fmt.Errorf("before the command: %w", err)
		}
	}
	prepared, err := s.look(ctx)
	if err != nil {
		return out, err
	}
	said, lift, err := s.met(ctx, w, m, prepared, &out)
	if err != nil {
		return out, err
	}
	// Too late to confirm is no fault where the machine took the time.
	late := w.name == confirms && out.Code == 1 && time.Since(s.begun) > within
	if m.harmless && out.Code != 0 && !late {
		out.tell(&out.NotDone, "exit code %d: %q", out.Code, lastLine(said))
	}
	if err := s.settled(ctx, w, said, lift, &out); err != nil {
		return out, err
	}
	if len(out.Seen) > 0 {
		out.Said = said
	}
	if w.again {
		if err := s.repeated(ctx, w, &out); err != nil {
			return out, err
		}
	}
	after, err := s.cleaned(ctx, w, prepared)
	if err != nil {
		return out, err
	}
	for _, x := range []struct {
		count *int
		what  string
		left  []string
	}{
		{&out.Processes, "process", extra(prepared.processes, after.processes)}, {&out.Namespaces, "namespace", extra(prepared.namespaces, after.namespaces)},
		{&out.Cgroups, "cgroup", extra(prepared.cgroups, after.cgroups)}, {&out.Files, "file", extra(prepared.files, after.files)},
	} {
		for _, left := range x.left {
			out.tell(x.count, "%s left: %s", x.what, left)
		}
	}
	return out, s.recover(ctx, prepared)
}

// met runs the command, has the mishap meet it, and compares what it says with what is. lift
// takes a mishap away that lasts.
func (s *station) met(ctx context.Context, w work, m mishap, before traces, out *outcome) (said string, lift func() error, err error) {
	lift = func() error { return nil }
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	known, err := s.running()
	if err != nil {
		return "", lift, err
	}
	var text bytes.Buffer
	cmd := s.Command(ctx, w.args(s)...)
	cmd.Stdout, cmd.Stderr = &text, &text
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return "", lift, err
	}
	s.pids[cmd.Process.Pid] = true
	over, done, met := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	if usual := out.lasts(m); usual > 0 {
		out.At = time.Duration(s.moments.Int64N(int64(usual))) >> (2 * out.Try)
	}
	x := &strike{cmd: cmd, known: known, at: out.At, over: over, role: m.role}
	go func() { met <- m.do(ctx, s, x) }()
	go func() { done <- cmd.Wait(); close(over) }()
	err = exited(<-done)
	out.Took, out.Code = time.Since(begun), cmd.ProcessState.ExitCode()
	if err = errors.Join(err, <-met); err != nil {
		return "", lift, err
	}
	out.Hit, said = x.hit, text.String()
	if m.name == nothing {
		out.Lives = x.lives
	}
	if err := s.weigh(ctx, w, m, before, said, out); err != nil {
		return said, lift, err
	}
	if x.undo != nil && m.lasts && s.moments.IntN(2) == 0 {
		return said, x.undo, nil
	}
	if x.undo != nil {
		if err := x.undo(); err != nil {
			return said, lift, fmt.Errorf("take the mishap away: %w", err)
		}
		err = s.weigh(ctx, w, m, before, said, out)
	}
	return said, lift, err
}

// repeated runs the command again, with nothing in its way.
func (s *station) repeated(ctx context.Context, w work, out *outcome) error {
	text, err := s.Command(ctx, w.args(s)...).CombinedOutput()
	var code *exec.ExitError
	if errors.As(err, &code) {
		out.tell(&out.NotDone, "the same again: exit code %d: %q", code.ExitCode(), lastLine(string(text)))
		return nil
	}
	if err != nil {
		return err
	}
	if w.claims == nil {
		return nil
	}
	for _, wrong := range w.claims(ctx, s, string(text), nil, nil) {
		out.tell(&out.Words, "the same again, exit code 0: %s", wrong)
	}
	return nil
}

// weigh counts what was said and is not so.
func (s *station) weigh(ctx context.Context, w work, m mishap, before traces, said string, out *outcome) error {
	if out.Code < 0 {
		return nil // it could not say anything
	}
	now, err := s.settings(ctx)
	if err != nil {
		return err
	}
	left := differ(s.first, now)
	if out.Code == 0 && w.claims != nil && m.role != watcher {
		for _, wrong := range w.claims(ctx, s, said, before.settings, now) {
			out.tell(&out.Words, "exit code 0: %s", wrong)
		}
	}
	if len(left) > 0 && claims(said) {
		out.tell(&out.Words, "exit code %d and %q while %s", out.Code, lastLine(said), strings.Join(left, ", "))
		return nil
	}
	// Of 1 and 130 docs/exit-codes.md says that all changes were undone; of a confirmation, that
	// it did not come; of fix, that it says what stays.
	undone := (out.Code == 1 || out.Code == 130) && w.name != confirms
	if w.name == "fix" && strings.Contains(said, "what had earned its place before is kept") {
		undone = false
	}
	if undone && len(left) > 0 && w.changes {
		out.tell(&out.Words, "exit code %d and %q while %s", out.Code, lastLine(said), strings.Join(left, ", "))
	}
	if strings.Contains(said, "nothing to undo") && len(left) > 0 {
		out.tell(&out.Words, "says nothing is to undo while %s", strings.Join(left, ", "))
	}
	return nil
}

// claims tells whether a command says that all is as it was.
func claims(said string) bool {
	for _, words := range []string{"everything was put back", "nothing was changed", "All is as it was"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// exited forgives the exit codes of a command that a mishap has met.
func exited(err error) error {
	var code *exec.ExitError
	if errors.As(err, &code) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// settled has all as it was before, by the hosts themselves or, in half of the cases and where
// the change was to stay, by undo, and counts what is not. The history has to agree throughout.
func (s *station) settled(ctx context.Context, w work, said string, lift func() error, out *outcome) error {
	byUser := w.keeps && s.moments.IntN(2) == 0
	waits := !byUser
	for end := time.Now().Add(settle); waits && time.Now().Before(end); {
		var err error
		if waits, err = s.waiting(ctx, w); err != nil {
			return err
		}
		if err := wait(ctx, time.Second); waits && err != nil {
			return err
		}
	}
	now, err := s.settings(ctx)
	if err != nil {
		return err
	}
	// Where the disk refuses to have it written down, a plan that was undone is there still.
	if left := differ(s.first, now); waits && len(left) > 0 {
		out.tell(&out.Settings, "a plan still waits after %v, and in force is %s", settle, strings.Join(left, ", "))
	}
	if left := differ(s.first, now); len(left) > 0 && !byUser && !w.keeps {
		out.tell(&out.Settings, "nothing waits, and still changed: %s; it said %q", strings.Join(left, ", "), lastLine(said))
	}
	if left := differ(s.first, now); len(left) > 0 && !byUser && w.name == confirms && (out.Code == 1 || out.Code == 130) {
		out.tell(&out.Words, "exit code %d and %q, and it was confirmed: %s", out.Code, lastLine(said), strings.Join(left, ", "))
	}
	if w.changes {
		// While the mishap lasts undoing may fail, and must not say that it did not.
		for _, h := range w.hosts {
			if err := s.undone(ctx, h, out); err != nil {
				return err
			}
		}
	}
	if err := lift(); err != nil {
		return fmt.Errorf("take the mishap away: %w", err)
	}
	for _, h := range w.hosts {
		if !w.changes {
			break
		}
		told, code, err := s.undo(ctx, h)
		if err != nil {
			return err
		}
		if code != 0 {
			out.tell(&out.Settings, "undo ends with %d: %q", code, lastLine(told))
		}
	}
	if now, err = s.settings(ctx); err != nil {
		return err
	}
	if left := differ(s.first, now); len(left) > 0 {
		out.tell(&out.Settings, "still changed after undo: %s", strings.Join(left, ", "))
	}
	return nil
}

// undone runs tune undo, and counts what it says and is not so.
func (s *station) undone(ctx context.Context, h string, out *outcome) error {
	told, code, err := s.undo(ctx, h)
	if err != nil {
		return err
	}
	now, err := s.settings(ctx)
	if left := of(h, differ(s.first, now)); err == nil && (code == 0 || code == 1) && len(left) > 0 {
		out.tell(&out.Words, "undo ends with %d and says %q while %s", code, lastLine(told), strings.Join(left, ", "))
	}
	return err
}

// of are the differences that are of a host.
func of(host string, differences []string) (out []string) {
	for _, d := range differences {
		name, _, _ := strings.Cut(d, " ")
		if name == host {
			out = append(out, d)
		}
	}
	return out
}

// called is what a host is called in commands.
func called(host string) string {
	if host == "" {
		return "localhost"
	}
	return "lab:" + host
}

// undo runs tune undo on a host.
func (s *station) undo(ctx context.Context, host string) (said string, code int, err error) {
	cmd := s.Command(ctx, "tune", "undo", called(host))
	text, err := cmd.CombinedOutput()
	if err := exited(err); err != nil {
		return "", 0, err
	}
	return string(text), cmd.ProcessState.ExitCode(), nil
}

// waiting tells whether a plan waits to be confirmed on a host of the work.
func (s *station) waiting(ctx context.Context, w work) (bool, error) {
	for _, h := range w.hosts {
		if !w.changes {
			return false, nil
		}
		var history struct {
			Waiting *json.RawMessage `json:"waiting"`
		}
		if err := s.Ask(ctx, &history, "tune", "history", called(h), "--json"); err != nil {
			return false, err
		}
		if history.Waiting != nil {
			return true, nil
		}
	}
	return false, nil
}

// another brings one more lab up.
func (s *station) another(ctx context.Context, args []string) (down func() error, err error) {
	if _, err := s.Run(ctx, append([]string{"lab", "up"}, args...)...); err != nil {
		return nil, err
	}
	s.kernel = true
	return func() error {
		s.kernel = false
		_, err := s.Run(context.WithoutCancel(ctx), "lab", "down", "--name", "kern")
		return err
	}, nil
}

// leftTime is how long what was left may take to go away after the next start.
const leftTime = 45 * time.Second

// age has files be of yesterday: what a start removes may have to be older than a session takes
// to begin.
func (s *station) age(files []string) {
	then := time.Now().Add(-24 * time.Hour)
	for _, f := range files {
		_ = os.Chtimes(filepath.Join(s.Home, f), then, then) // it may have gone
	}
}

// cleaned starts linerate on the hosts once more, which removes what a killed one left, and
// looks again until nothing more goes away.
func (s *station) cleaned(ctx context.Context, w work, before traces) (now traces, err error) {
	left, err := s.kept()
	if err != nil {
		return now, err
	}
	s.age(extra(before.files, left))
	for _, h := range s.hosts() {
		if _, err := s.Run(ctx, "tune", "history", called(h)); err != nil {
			return now, err
		}
	}
	// What a killed lab left goes when another is brought up.
	for _, argv := range [][]string{{"lab", "up", "back-to-back", "--name", "next"}, {"lab", "down", "--name", "next"}} {
		if !w.labs {
			break
		}
		if _, err := s.Run(ctx, argv...); err != nil {
			return now, err
		}
	}
	for end := time.Now().Add(leftTime); ; {
		if now, err = s.look(ctx); err != nil {
			return now, err
		}
		clean := len(extra(before.processes, now.processes)) + len(extra(before.namespaces, now.namespaces)) + len(extra(before.cgroups, now.cgroups)) + len(extra(before.files, now.files))
		if clean == 0 || time.Now().After(end) {
			return now, nil
		}
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return now, err
		}
	}
}

// recover has the next case begin where this one began: what was left is counted once. Results
// are removed, so that the disk does not fill by itself.
func (s *station) recover(ctx context.Context, before traces) error {
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	for _, p := range extra(before.processes, after.processes) {
		var pid int
		if _, err := fmt.Sscan(p, &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	for _, f := range extra(before.files, after.files) {
		if err := s.removeLeft(f); err != nil {
			return err
		}
	}
	for _, dir := range []string{"linerate/runs", "linerate/studies", "linerate/copies", "data"} {
		if err := s.removeLeft(dir); err != nil {
			return err
		}
	}
	if left := differ(s.first, after.settings); len(left) > 0 {
		return fmt.Errorf("the station cannot go on: %s", strings.Join(left, ", "))
	}
	return nil
}
