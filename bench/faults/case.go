package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
)

// command is one that works on both hosts of the lab, or on hosts of its own.
type command struct {
	name string
	args []string
}

func commands(home string) []command {
	return []command{
		{"load", []string{"load", "tcp", "lab:client1", "lab:server1", "--seconds", "2"}},
		{"tune", []string{"tune", "apply", "lab:client1", "--set", "tcp_slow_start_after_idle=0", "--set", "tcp_rmem=4096 131072 33554432", "--confirm-within", "10s"}},
		{"explain", []string{"explain", "lab:client1", "lab:server1", "--load"}},
		{"demo", []string{"demo", "--fault", "window"}},
		{"study", []string{"study", "run", filepath.Join(home, "study.yaml"), "--yes", "--seed", "3"}},
		{"fix", []string{"fix", "lab:client1", "lab:server1", "--yes", "--budget", "20s"}},
	}
}

// studyText changes a setting of one host, again and again.
const studyText = `v: 1
name: faults
question: does the window matter at 16 ms?
hosts: {client: lab:client1, server: lab:server1}
factors:
  - name: rmem
    levels:
      - name: tiny
        set: {server: {linux.sysctl.net.ipv4.tcp_rmem: 4096 16384 65536}}
workloads:
  - {name: bulk, senders: [client], receivers: [server], seconds: 0.3, warmup: 100ms}
primary: bulk
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 1}
`

// mishap is a signal to one of a command's processes.
type mishap struct {
	name   string
	role   string // of the process; empty: the command itself
	signal syscall.Signal
}

func mishaps() []mishap {
	return []mishap{
		{"Ctrl-C", "", syscall.SIGINT},
		{"TERM", "", syscall.SIGTERM},
		{"kill -9 of the controller", "", syscall.SIGKILL},
		{"kill -9 of an agent", "agent", syscall.SIGKILL},
		{"kill -9 of a worker", "worker", syscall.SIGKILL},
	}
}

// bench is the lab with what draws the moments.
type bench struct {
	kit.User
	moments *rand.Rand
	pids    map[int]bool // of every process of the bench that was ever seen
}

// usual is how long a command takes without a mishap.
func (b bench) usual(ctx context.Context, c command) (time.Duration, error) {
	begun := time.Now()
	if out, err := b.Command(ctx, c.args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	took := time.Since(begun)
	return took, b.putBack(ctx)
}

// putBack has the hosts as they were, whatever a command keeps.
func (b bench) putBack(ctx context.Context) error {
	var errs []error
	for _, h := range hosts() {
		_, err := b.Run(ctx, "tune", "undo", "lab:"+h)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// one is one mishap in one run of a command.
func (b bench) one(ctx context.Context, c command, m mishap, usual time.Duration, r *row) error {
	before, err := b.look(ctx)
	if err != nil {
		return err
	}
	at := time.Duration(b.moments.Int64N(int64(usual)))
	said, hit, err := b.strike(ctx, c, m, at)
	if err != nil {
		return err
	}
	r.cases++
	if hit {
		r.hit++
	}
	tell := func(format string, args ...any) {
		r.seen = append(r.seen, fmt.Sprintf("after %s: ", at.Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
	now, err := b.settings(ctx)
	if err != nil {
		return err
	}
	if left := differ(before.settings, now); len(left) > 0 && claims(said) {
		r.words++
		tell("says %q while %s", lastLine(said), strings.Join(left, ", "))
	}
	left, err := b.settled(ctx, c, before.settings)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		r.settings++
		tell("still changed: %s; it said %q", strings.Join(left, ", "), lastLine(said))
	}
	after, err := b.cleaned(ctx, before)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		count *int
		what  string
		left  []string
	}{
		{&r.processes, "processes", extra(before.processes, after.processes)}, {&r.namespaces, "namespaces", extra(before.namespaces, after.namespaces)},
		{&r.cgroups, "cgroups", extra(before.cgroups, after.cgroups)}, {&r.files, "files", extra(before.files, after.files)},
	} {
		if len(x.left) > 0 {
			*x.count += len(x.left)
			tell("%s left: %s", x.what, strings.Join(x.left, ", "))
		}
	}
	return nil
}

// strike runs the command, does the mishap, and waits for the end.
func (b bench) strike(ctx context.Context, c command, m mishap, at time.Duration) (said string, hit bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	known, err := b.running()
	if err != nil {
		return "", false, err
	}
	var out bytes.Buffer
	cmd := b.Command(ctx, c.args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", false, err
	}
	b.pids[cmd.Process.Pid] = true
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-time.After(at):
	case err = <-done:
		return out.String(), false, exited(err)
	}
	hit, err = b.send(cmd, m, known)
	if err != nil {
		return "", false, errors.Join(err, cmd.Process.Kill(), exited(<-done))
	}
	err = exited(<-done)
	return out.String(), hit, err
}

// exited forgives the exit codes of a command that a mishap has met.
func exited(err error) error {
	var code *exec.ExitError
	if errors.As(err, &code) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// send signals the process that a mishap is about, of those that the command has started.
func (b bench) send(cmd *exec.Cmd, m mishap, known map[int]string) (bool, error) {
	if m.role == "" {
		return true, cmd.Process.Signal(m.signal)
	}
	all, err := b.running()
	if err != nil {
		return false, err
	}
	var of []int
	for pid, line := range all {
		if _, old := known[pid]; !old && strings.Contains(line, " "+m.role) && pid != cmd.Process.Pid {
			of = append(of, pid)
		}
	}
	if len(of) == 0 {
		return false, nil
	}
	p, err := os.FindProcess(of[b.moments.IntN(len(of))])
	if err == nil {
		err = p.Signal(m.signal)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	return err == nil, err
}

// settled waits until the hosts have undone what nobody confirmed, and returns what is still
// changed. What fix has proved and kept goes back by undo, as the user would have it.
func (b bench) settled(ctx context.Context, c command, before map[string]string) ([]string, error) {
	for end := time.Now().Add(settle); ; {
		now, err := b.settings(ctx)
		if err != nil {
			return nil, err
		}
		left := differ(before, now)
		if len(left) == 0 || c.name == "fix" || time.Now().After(end) {
			if err := b.putBack(ctx); err != nil {
				return append(left, "undo says: "+lastLine(err.Error())), nil
			}
			if c.name == "fix" {
				now, err = b.settings(ctx)
				return differ(before, now), err
			}
			return left, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claims tells whether a command says that all is as it was.
func claims(said string) bool {
	for _, words := range []string{"everything was put back", "nothing to undo", "nothing was changed", "All is as it was", "undone"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// cleaned starts linerate on both hosts once more, which removes what a killed one left, and
// looks again until nothing more goes away.
func (b bench) cleaned(ctx context.Context, before traces) (now traces, err error) {
	for _, h := range hosts() {
		if _, err := b.Run(ctx, "tune", "history", "lab:"+h); err != nil {
			return now, err
		}
	}
	if _, err := b.Run(ctx, "lab", "status", "--json"); err != nil {
		return now, err
	}
	for end := time.Now().Add(settle); ; time.Sleep(500 * time.Millisecond) {
		if now, err = b.look(ctx); err != nil {
			return now, err
		}
		clean := len(extra(before.processes, now.processes)) + len(extra(before.namespaces, now.namespaces)) + len(extra(before.cgroups, now.cgroups)) + len(extra(before.files, now.files))
		if clean == 0 || time.Now().After(end) {
			return now, ctx.Err()
		}
	}
}

func hosts() []string { return []string{"client1", "server1"} }

// own tells whether a process is of this bench: it runs the binary that was built for it.
func (b bench) own(pid string) bool {
	exe, err := os.Readlink("/proc/" + pid + "/exe")
	return err == nil && strings.TrimSuffix(exe, " (deleted)") == b.Binary
}
