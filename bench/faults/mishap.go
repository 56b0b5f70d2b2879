package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// nothing is the mishap of a control.
const nothing = "nothing"

// mishap is what happens to a command at work.
type mishap struct {
	name   string
	weight int
	role   string // of the process that it meets; empty: the command itself, or none
	// harmless: the work has to be done as if nothing were.
	harmless bool
	// lasts: it may go on after the command, while the hosts undo by themselves.
	lasts bool
	do    func(ctx context.Context, s *station, x *strike) error
}

// fits tells whether a work can meet it. A host with a kernel of its own takes seconds, and is
// there for its clock alone.
func (m mishap) fits(w work) bool {
	return m.role == "" && w.lab == nil || slices.Contains(w.has, m.role)
}

func mishaps() []mishap {
	return []mishap{
		{"Ctrl-C", 3, "", false, false, signal(syscall.SIGINT)},
		{"TERM", 2, "", false, false, signal(syscall.SIGTERM)},
		{"kill -9 of the controller", 3, "", false, false, signal(syscall.SIGKILL)},
		{"TERM of an agent", 1, agent, false, false, signal(syscall.SIGTERM)},
		{"kill -9 of an agent", 3, agent, false, false, signal(syscall.SIGKILL)},
		{"kill -9 of a worker", 2, worker, false, false, signal(syscall.SIGKILL)},
		{"kill -9 of a mover", 3, mover, false, false, signal(syscall.SIGKILL)},
		{"kill -9 of ssh", 2, ssh, false, false, signal(syscall.SIGKILL)},
		{"kill -9 of sshd", 2, sshd, false, false, signal(syscall.SIGKILL)},
		{"kill -9 of the dead-man", 2, watcher, false, false, signal(syscall.SIGKILL)},
		{"agent stopped for 7 s", 1, agent, false, false, stopped(7 * time.Second)},
		{"agent stopped for 36 s", 1, agent, false, false, stopped(36 * time.Second)},
		{"agent stopped, Ctrl-C, agent goes on", 2, agent, false, false, stoppedAndInterrupted},
		{"disk full", 2, "", false, true, full},
		{"disk read-only", 1, "", false, true, readOnly},
		{"agent has 128 MB", 1, agent, true, false, squeezed(128 << 20)},
		{"agent has 24 MB", 1, agent, false, false, squeezed(24 << 20)},
		{"processes and connections come and go", 1, "", true, false, churn},
		{"clock put forward by an hour", 3, clock, true, false, clockBy(time.Hour)},
		{"clock put back by an hour", 3, clock, true, false, clockBy(-time.Hour)},
		{"clock slewed by 500 ppm", 2, clock, true, false, slewed(500)},
		{"clock slewed by -8%", 2, clock, true, false, slewed(-80000)},
	}
}

func mishapNamed(name string) (mishap, error) {
	if name == nothing {
		return mishap{name: nothing, harmless: true, do: witness}, nil
	}
	all := mishaps()
	i := slices.IndexFunc(all, func(m mishap) bool { return m.name == name })
	if i < 0 {
		return mishap{}, fmt.Errorf("no mishap %q", name)
	}
	return all[i], nil
}

// strike is a mishap that meets a command.
type strike struct {
	cmd   *exec.Cmd
	known []process // before the command
	// at is from the command's beginning, or from the first sight of a process of the role.
	at    time.Duration
	over  <-chan struct{}
	role  string
	hit   bool
	lives map[string]time.Duration // of a control: how long there were processes of a role
	// undo takes the mishap away again, after the command.
	undo func() error
}

// moment waits until it is time; false where the command is over before.
func (x *strike) moment(ctx context.Context, s *station) bool {
	if x.role != "" && x.role != clock {
		if pid, err := x.victim(s); err != nil || pid == 0 {
			return false
		}
	}
	select {
	case <-x.over:
	case <-ctx.Done():
	case <-time.After(x.at):
		return true
	}
	return false
}

// victim waits for a process of the role that the command has started; 0 where none comes.
func (x *strike) victim(s *station) (int, error) {
	for {
		select {
		case <-x.over:
			return 0, nil
		case <-time.After(sight):
		}
		of, err := x.victims(s)
		if err != nil {
			return 0, err
		}
		if len(of) > 0 {
			return of[s.moments.IntN(len(of))], nil
		}
	}
}

func (x *strike) victims(s *station) (of []int, err error) {
	all, err := s.running()
	for _, p := range all {
		if p.is(x.role) && x.fresh(p) {
			of = append(of, p.pid)
		}
	}
	return of, err
}

// fresh tells whether the command started a process. A dead-man may be of a command before.
func (x *strike) fresh(p process) bool {
	return p.is(watcher) || !slices.ContainsFunc(x.known, func(k process) bool { return k.pid == p.pid })
}

// sight is how often processes are looked for: those of a role may live for some hundredths of a
// second.
const sight = 3 * time.Millisecond

// witness sees how long there are processes of each role, without a mishap.
func witness(ctx context.Context, s *station, x *strike) error {
	first := map[string]time.Time{}
	x.lives = map[string]time.Duration{}
	for {
		all, err := s.running()
		if err != nil {
			return err
		}
		for _, p := range all {
			for _, role := range []string{agent, worker, mover, watcher, ssh, sshd} {
				if !p.is(role) || !x.fresh(p) {
					continue
				}
				if first[role].IsZero() {
					first[role] = time.Now()
				}
				x.lives[role] = time.Since(first[role]) + sight
			}
		}
		select {
		case <-x.over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(sight):
		}
	}
}

func (x *strike) signal(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	x.hit = err == nil
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

func signal(sig syscall.Signal) func(context.Context, *station, *strike) error {
	return func(ctx context.Context, s *station, x *strike) error {
		if !x.moment(ctx, s) {
			return nil
		}
		if x.role == "" {
			return x.signal(x.cmd.Process.Pid, sig)
		}
		pid, err := x.victim(s)
		if err != nil || pid == 0 {
			return err
		}
		return x.signal(pid, sig)
	}
}

// stopped stops an agent for so long, whatever the command does meanwhile.
func stopped(d time.Duration) func(context.Context, *station, *strike) error {
	return func(ctx context.Context, s *station, x *strike) error {
		if !x.moment(ctx, s) {
			return nil
		}
		pid, err := x.victim(s)
		if err != nil || pid == 0 {
			return err
		}
		if err := x.signal(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		since := time.Now()
		x.undo = func() error {
			err := wait(ctx, max(0, d-time.Since(since)))
			if kerr := syscall.Kill(pid, syscall.SIGCONT); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
				err = errors.Join(err, kerr)
			}
			return errors.Join(err, wait(ctx, 2*time.Second)) // for what it still does
		}
		select {
		case <-x.over:
		case <-time.After(d):
			return x.signal(pid, syscall.SIGCONT)
		}
		return nil
	}
}

// stoppedAndInterrupted stops an agent, interrupts the command, and lets the agent go on when
// the command has ended.
func stoppedAndInterrupted(ctx context.Context, s *station, x *strike) error {
	if !x.moment(ctx, s) {
		return nil
	}
	pid, err := x.victim(s)
	if err != nil || pid == 0 {
		return err
	}
	if err := x.signal(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	x.undo = func() error {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return wait(ctx, 2*time.Second) // for what it still does
	}
	if err := wait(ctx, time.Duration(s.moments.IntN(500))*time.Millisecond); err != nil {
		return err
	}
	return x.signal(x.cmd.Process.Pid, syscall.SIGINT)
}

// full fills the file system of all state, but for some pages.
func full(ctx context.Context, s *station, x *strike) error {
	if s.moments.IntN(3) > 0 && !x.moment(ctx, s) { // else from the beginning
		return nil
	}
	filler := filepath.Join(s.Home, ".filler")
	x.undo = func() error { return os.Remove(filler) }
	x.hit = true
	f, err := os.Create(filler)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for size := len(block); size >= 4096; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(max(0, info.Size()-int64(s.moments.IntN(16))*4096))
	}
	return errors.Join(err, f.Close())
}

// readOnly has the file system of all state refuse writes, as an error of its disk would.
func readOnly(ctx context.Context, s *station, x *strike) error {
	if !x.moment(ctx, s) {
		return nil
	}
	remount := func(flags uintptr) error {
		return syscall.Mount("", s.Home, "", syscall.MS_REMOUNT|flags, "")
	}
	for { // the kernel refuses while a file is open for writing
		err := remount(syscall.MS_RDONLY)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-x.over:
			return nil
		case <-time.After(time.Millisecond):
		}
	}
	x.hit = true
	x.undo = func() error { return remount(0) }
	return nil
}

// squeezed has every agent of the command share so much memory.
func squeezed(limit int64) func(context.Context, *station, *strike) error {
	return func(_ context.Context, s *station, x *strike) error {
		dir, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if _, err := os.Stat(dir); err != nil {
			dir, file = "/sys/fs/cgroup", "memory.max"
		}
		group := filepath.Join(dir, "faults-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			return err
		}
		x.undo = func() error { return removeGroup(group, dir) }
		if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
			return err
		}
		in := map[int]bool{}
		for {
			of, err := x.victims(s)
			if err != nil {
				return err
			}
			for _, pid := range of {
				if !in[pid] && os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) == nil {
					in[pid], x.hit = true, true
				}
			}
			select {
			case <-x.over:
				return nil
			case <-time.After(sight):
			}
		}
	}
}

// removeGroup moves what is left in a group out of it, and removes it.
func removeGroup(group, parent string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			return err
		}
		for _, pid := range bytes.Fields(b) {
			_ = os.WriteFile(filepath.Join(parent, "cgroup.procs"), pid, 0) // it may have ended
		}
		if err = os.Remove(group); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// clockBy steps the clock of the host that has a kernel of its own.
func clockBy(d time.Duration) func(context.Context, *station, *strike) error {
	return func(ctx context.Context, s *station, x *strike) error {
		if !x.moment(ctx, s) {
			return nil
		}
		x.hit = true
		_, err := s.Run(ctx, onHost(kernelHost, "date", "-s", fmt.Sprint("@", time.Now().Add(d).Unix()))...)
		return err
	}
}
