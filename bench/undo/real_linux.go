package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/setter"
)

// Roles of this program in namespaces of its own.
const (
	insideRole = "inside" // every case, one after the other
	actRole    = "act"    // the process that is killed: DIR PLAN STEP MISHAP
)

func role(args []string) (int, bool) {
	var err error
	switch {
	case len(args) == 2 && args[0] == insideRole:
		err = inside(args[1])
	case len(args) == 5 && args[0] == actRole:
		err = act(args[1:])
	default:
		return 0, false
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

// report is one case as the process inside tells it.
type report struct {
	Plan   string `json:"plan"`
	What   mishap `json:"what"`
	Step   int    `json:"step"`
	Forced bool   `json:"forced"`
	Error  string `json:"error,omitempty"`
}

// realCases runs cases on this machine's kernel, in namespaces of their own.
func realCases(ctx context.Context, all *table) error { return realSample(ctx, all, 1) }

func realSample(ctx context.Context, all *table, every int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := kernel.Exec(ctx, self, insideRole, strconv.Itoa(every))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	cmd.Stderr = all.progress
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return errors.Join(fmt.Errorf("read %q: %w", lines.Text(), err), cmd.Cancel(), cmd.Wait())
		}
		var failed error
		if r.Error != "" {
			failed = errors.New(r.Error)
		}
		all.add("namespace", r.Plan, r.What, r.Step, outcome{forced: r.Forced}, failed)
	}
	return errors.Join(lines.Err(), cmd.Wait())
}

const (
	card     = "undo0"
	realRmem = "linux.sysctl.net.ipv4.tcp_rmem"
)

// realPlans read the values of the namespace that they are to change.
func realPlans(t *tune.Tuner) ([]planned, error) {
	windows := []model.Change{
		{Setting: realRmem, To: "4096 131072 8388608"}, {Setting: "linux.sysctl.net.ipv4.tcp_wmem", To: "4096 16384 8388608"},
		{Setting: "linux.sysctl.net.ipv4.tcp_notsent_lowat", To: "131072"},
	}
	offloads := []model.Change{
		{Setting: setter.FeaturesSetting, Target: "if:" + card, To: "tx-generic-segmentation=off tx-tcp-segmentation=off"},
		{Setting: "linux.sysctl.net.ipv4.conf." + card + ".rp_filter", To: "2"},
	}
	out := []planned{
		{name: "windows", changes: windows, persist: true}, {name: "offloads", changes: offloads},
		{name: "both", changes: append(append([]model.Change{}, windows...), offloads...), persist: true},
	}
	for _, p := range out {
		for i, c := range p.changes {
			for _, s := range t.Setters {
				if !s.Owns(c.Setting) {
					continue
				}
				from, err := s.Read(context.Background(), setter.Place{Setting: c.Setting, Target: c.Target}, c.To)
				if err != nil {
					return nil, err
				}
				p.changes[i].From = from
			}
		}
	}
	return out, nil
}

type offloads struct{}

// Get implements setter.Offloads.
func (offloads) Get(ifname string) (map[string]bool, error) { return kernel.ReadFeatures(ifname) }

// Set implements setter.Offloads.
func (offloads) Set(ifname string, on map[string]bool) error { return kernel.SetFeatures(ifname, on) }

func realTuner(dir string) *tune.Tuner {
	find := func(device string) (string, error) { return strings.TrimPrefix(device, "if:"), nil }
	return &tune.Tuner{
		Dir: filepath.Join(dir, "state"), BootID: firstBoot, By: "bench", Root: kernel.Root(dir),
		Setters: []setter.Setter{setter.Sysctl{}, setter.Features{Offloads: offloads{}, Interface: find}},
	}
}

// inside runs one of every so many cases in the namespace that it is in.
func inside(every string) error {
	n, err := strconv.Atoi(every)
	if err != nil {
		return err
	}
	if err := kernel.MountOwnSys(); err != nil {
		return err
	}
	if err := kernel.AddVeth(kernel.Veth{Name: card, Peer: card + "p", PeerPID: os.Getpid(), MTU: 1500}); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	plans, err := realPlans(realTuner("/nonexistent"))
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, p := range plans {
		for _, what := range []mishap{fails, killed, runTwice, undoTwice} {
			for step := 1; ; step += n {
				c := oneCase{plan: p, step: step, what: what}
				reached, forced, err := realCase(self, c)
				if err == nil && !reached {
					break
				}
				r := report{Plan: p.name, What: what, Step: step, Forced: forced}
				if err != nil {
					r.Error = err.Error()
				}
				if err := out.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// realCase has another process do it, which is killed at the step, and then
// undoes.
func realCase(self string, c oneCase) (reached, forced bool, err error) {
	dir, err := scratch()
	if err != nil {
		return false, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.MkdirAll(filepath.Join(dir, "etc/sysctl.d"), 0o755); err != nil {
		return false, false, err
	}
	first, err := realState(dir)
	if err != nil {
		return false, false, err
	}
	cmd := kernel.Exec(context.Background(), self, actRole, dir, c.plan.name, strconv.Itoa(c.step), string(c.what))
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	failed := cmd.Run()
	switch {
	case failed == nil:
		return false, false, sameState(dir, first)
	case cmd.ProcessState.ExitCode() == failedCode:
	case cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
		return true, false, fmt.Errorf("the process ended by itself: %w", failed)
	}
	t := realTuner(dir)
	if c.what == runTwice {
		var conflict *tune.ConflictError
		var changed *tune.ChangedError
		if _, err := t.Apply(context.Background(), c.model(firstBoot)); err != nil && !errors.As(err, &changed) && !errors.As(err, &conflict) {
			return true, false, fmt.Errorf("apply again: %w", err)
		}
	}
	var o outcome
	if err := undoAll(t, false, &o); err != nil {
		return true, o.forced, err
	}
	if c.what == undoTwice {
		if res, err := t.Undo(context.Background(), ""); err != nil || len(res.Entries) > 0 {
			return true, o.forced, fmt.Errorf("undo again did %v, %w", res.Entries, err)
		}
	}
	if _, err := t.Leave(context.Background()); err != nil {
		return true, o.forced, err
	}
	return true, o.forced, sameState(dir, first)
}

func sameState(dir, first string) error {
	now, err := realState(dir)
	if err != nil {
		return err
	}
	if now != first {
		return fmt.Errorf("the host is not as it was:\n%s", difference(first, now))
	}
	return nil
}

// act is the process that does not live long.
func act(args []string) error {
	step, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	t := realTuner(args[0])
	plans, err := realPlans(t)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.name != args[1] {
			continue
		}
		c := oneCase{plan: p, step: step, what: mishap(args[3])}
		n := 0
		t.Fault = func(string) error {
			if n++; n != step {
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
	return fmt.Errorf("no plan %q", args[1])
}

// volatile are values below /proc/sys/net that change by themselves.
var volatile = map[string]bool{"/proc/sys/net/netfilter/nf_conntrack_count": true, "/proc/sys/net/ipv4/route/flush": true, "/proc/sys/net/ipv6/route/flush": true}

// realState is every value of the namespace's network, the card's features,
// and every file of /etc.
func realState(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || volatile[path] {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EIO) {
			return nil // written to only, or not for this namespace
		}
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		return "", err
	}
	have, err := kernel.ReadFeatures(card)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(have) // sorted by name
	if err != nil {
		return "", err
	}
	tree, err := treeState(filepath.Join(dir, "etc"))
	return b.String() + string(text) + "\n" + tree, err
}
