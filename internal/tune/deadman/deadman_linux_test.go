package deadman

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/setter"
)

// Roles of the test binary: the watcher that a Starter starts, and a process
// that applies a plan and does not live to confirm it.
const (
	watchRole = "watch"
	applyRole = "apply"
	rootEnv   = "LINERATE_DEADMAN_TEST_ROOT"
	killEnv   = "LINERATE_DEADMAN_TEST_KILL"
	withinEnv = "LINERATE_DEADMAN_TEST_WITHIN"
	// realCgroupsEnv: the machine's own are left, not those of the tree.
	realCgroupsEnv = "LINERATE_DEADMAN_TEST_CGROUPS"
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != watchRole && os.Args[1] != applyRole {
		os.Exit(m.Run())
	}
	err := role(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func role(name string, args []string) error {
	t := tuner(os.Getenv(rootEnv))
	if name == watchRole {
		a, err := ParseArgs(args)
		if err != nil {
			return err
		}
		return Main(context.Background(), t, a, os.Stdout)
	}
	if os.Getenv(realCgroupsEnv) != "" {
		s := t.DeadMan.(Starter)
		s.Root = "/"
		t.DeadMan = s
	}
	within, err := time.ParseDuration(os.Getenv(withinEnv))
	if err != nil {
		return err
	}
	if os.Getenv(killEnv) == hang {
		t.Setters = []setter.Setter{hanger{t.Setters[0]}}
	}
	if n, err := strconv.Atoi(os.Getenv(killEnv)); err == nil {
		t.Setters = []setter.Setter{&killer{Setter: t.Setters[0], left: n}}
	}
	_, err = t.Apply(context.Background(), plan(within))
	return err
}

// killer kills its process at a write, before or after it.
type killer struct {
	setter.Setter
	left int
}

func (k *killer) Write(ctx context.Context, at setter.Place, value string) error {
	k.die()
	defer k.die()
	return k.Setter.Write(ctx, at, value)
}

func (k *killer) die() {
	if k.left--; k.left == 0 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err == nil {
			select {}
		}
	}
}

// hanger hangs after its first write.
const hang = "hang"

type hanger struct{ setter.Setter }

func (h hanger) Write(ctx context.Context, at setter.Place, value string) error {
	if err := h.Setter.Write(ctx, at, value); err != nil {
		return err
	}
	fmt.Println("hangs")
	select {}
}

const boot = "5f0c9f1e-0000-4000-8000-000000000001"

func names() []string { return []string{"ipv4/tcp_words", "core/words", "core/more_words"} }

func tuner(root string) *tune.Tuner {
	dir := filepath.Join(root, "state")
	t := &tune.Tuner{Dir: dir, BootID: boot, By: "test", Root: kernel.Root(root), Setters: []setter.Setter{setter.Sysctl{Root: kernel.Root(root)}}}
	t.DeadMan = Starter{
		Program: func(bool) ([]string, error) { self, err := os.Executable(); return []string{self}, err },
		Role:    watchRole, StateDir: dir, Root: kernel.Root(root), Path: filepath.Join(root, "bin"),
	}
	if os.Getenv(killEnv) == hang {
		t.Grace = time.Second
	}
	return t
}

func plan(within time.Duration) model.Plan {
	p := model.Plan{V: model.PlanVersion, ID: "p1", BootID: boot, ConfirmWithin: within}
	for _, n := range names() {
		p.Changes = append(p.Changes, model.Change{Setting: "linux.sysctl.net." + strings.ReplaceAll(n, "/", "."), From: "1", To: "2"})
	}
	return p
}

// host is a tree that stands for a host's files.
func host(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv(rootEnv, root)
	for _, n := range names() {
		path := filepath.Join(root, "proc/sys/net", n)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func values(t *testing.T, root string) string {
	t.Helper()
	var out []string
	for _, n := range names() {
		b, err := os.ReadFile(filepath.Join(root, "proc/sys/net", n))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(string(b)))
	}
	return strings.Join(out, " ")
}

// bound is how long a test waits for what has to come; reaching it is a failure.
const bound = time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: not within %v", what, bound)
}

// watchers are the processes that watch over this host.
func watchers(t *testing.T, root string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), "\x00"+watchRole+"\x00"+root) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
	}
	return out
}

func apply(t *testing.T, root string, within time.Duration) tune.Result {
	t.Helper()
	res, err := tuner(root).Apply(t.Context(), plan(within))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestUndoesWhatNobodyConfirms(t *testing.T) {
	root := host(t)
	res := apply(t, root, time.Second)
	if res.Deadline.IsZero() || len(res.Changes) != 3 || !res.Changes[0].Applied || res.Changes[0].Effective != "yes" {
		t.Errorf("%+v", res)
	}
	eventually(t, "undone", func() bool { return values(t, root) == "1 1 1" })
	eventually(t, "the watcher ends", func() bool { return len(watchers(t, root)) == 0 })
	if err := tuner(root).Confirm(t.Context(), "p1"); !errors.Is(err, tune.ErrTooLate) {
		t.Errorf("confirmed afterwards: %v", err)
	}
	if open, err := tuner(root).Open(); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	apply(t, root, time.Hour) // and again, as if nothing had been
	if _, err := tuner(root).Undo(t.Context(), ""); err != nil {
		t.Error(err)
	}
	eventually(t, "undo ends the watcher", func() bool { return len(watchers(t, root)) == 0 })
}

func TestConfirmDisarms(t *testing.T) {
	root := host(t)
	apply(t, root, time.Hour)
	pids := watchers(t, root)
	if len(pids) != 1 {
		t.Fatalf("watchers: %v", pids)
	}
	if sid, err := getsid(pids[0]); err != nil || sid != pids[0] {
		t.Errorf("the watcher is of session %d, %v, not of its own", sid, err)
	}
	other := plan(0)
	other.ID = "p2"
	if _, err := tuner(root).Apply(t.Context(), other); !errors.Is(err, tune.ErrUnconfirmed) {
		t.Errorf("a plan on top of one that waits: %v", err)
	}
	if _, err := tuner(root).Leave(t.Context()); !errors.Is(err, tune.ErrOpen) {
		t.Errorf("left a plan that waits: %v", err)
	}
	for range 2 {
		if err := tuner(root).Confirm(t.Context(), "p1"); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the watcher ends", func() bool { return len(watchers(t, root)) == 0 })
	if got := values(t, root); got != "2 2 2" {
		t.Errorf("confirmed: %s", got)
	}
	if err := tuner(root).Confirm(t.Context(), "p9"); !errors.Is(err, tune.ErrPlan) {
		t.Errorf("confirmed what never was: %v", err)
	}
}

func getsid(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	return strconv.Atoi(f[3])
}

// Whoever applies is killed at a write: the watcher puts everything back.
func TestAppliersThatAreKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 6; n++ {
		root := host(t)
		cmd := kernel.Exec(t.Context(), self, applyRole)
		cmd.Env = append(os.Environ(), killEnv+"="+strconv.Itoa(n), withinEnv+"=100ms")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err := cmd.Run()
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("kill %d: %v", n, err)
		}
		// The session that it was of ends with it.
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("kill %d: undone", n), func() bool {
			open, err := tuner(root).Open()
			return err == nil && len(open) == 0 && values(t, root) == "1 1 1"
		})
		eventually(t, "the watcher ends", func() bool { return len(watchers(t, root)) == 0 })
	}
}

// Whoever applies hangs in the middle of the plan, with the lock: the watcher
// ends it and puts everything back.
func TestAnApplierThatHangs(t *testing.T) {
	root := host(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := kernel.Exec(t.Context(), self, applyRole)
	cmd.Env = append(os.Environ(), killEnv+"="+hang, withinEnv+"=100ms")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "hangs\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the applier: %v", err)
	}
	eventually(t, "undone", func() bool {
		open, err := tuner(root).Open()
		return err == nil && len(open) == 0 && values(t, root) == "1 1 1"
	})
	eventually(t, "the watcher ends", func() bool { return len(watchers(t, root)) == 0 })
}

// A service manager ends a session by its control group: by what it lists, and
// by cgroup.kill. The watcher is not in it any more.
func TestTheGroupOfTheSessionEnds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a control group")
	}
	if (Starter{}).systemd() {
		t.Skip("this machine's systemd would be asked, which TestSystemd plays")
	}
	root, group := host(t), sessionGroup(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(realCgroupsEnv, "1")
	cmd := kernel.Exec(t.Context(), "/bin/sh", "-c", `echo $$ > "$1"/cgroup.procs && exec "$2" `+applyRole, "sh", string(group), self)
	cmd.Env = append(os.Environ(), withinEnv+"=2s")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pids, err := group.Processes()
	if err != nil || len(pids) > 0 {
		t.Errorf("still in the session's group: %v, %v", pids, err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "undone", func() bool { return values(t, root) == "1 1 1" })
	eventually(t, "the watcher ends", func() bool { return len(watchers(t, root)) == 0 })
}

// sessionGroup makes a control group as a login manager does.
func sessionGroup(t *testing.T) kernel.Cgroup {
	t.Helper()
	all, err := kernel.CgroupHierarchies("/")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if !h.V2 && !slices.ContainsFunc(h.Controllers, func(c string) bool { return strings.HasPrefix(c, "name=") }) {
			continue
		}
		group := kernel.Cgroup(filepath.Join(h.Dir, fmt.Sprintf("linerate-test-%d.scope", os.Getpid())))
		if err := os.Mkdir(string(group), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := group.Remove(bound); err != nil {
				t.Error(err)
			}
		})
		return group
	}
	t.Fatal("this machine has no control groups of version 2, and no named ones")
	return ""
}

func TestNothingChangesWithoutAWatcher(t *testing.T) {
	for name, self := range map[string][]string{
		"no such program":  {"/nonexistent/linerate"},
		"dies":             {"/bin/false"},
		"says other words": {"/bin/echo"},
	} {
		root := host(t)
		tn := tuner(root)
		s := tn.DeadMan.(Starter)
		s.Program = func(bool) ([]string, error) { return self, nil }
		tn.DeadMan = s
		if _, err := tn.Apply(t.Context(), plan(time.Second)); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", name, err)
		}
		if open, err := tn.Open(); err != nil || len(open) != 0 || values(t, root) != "1 1 1" {
			t.Errorf("%s: left %s, open %v, %v", name, values(t, root), open, err)
		}
		if _, waits, err := tn.Waiting(); waits || err != nil {
			t.Errorf("%s: waits %v, %v", name, waits, err)
		}
	}
	tn := tuner(host(t))
	tn.DeadMan = nil
	if _, err := tn.Apply(t.Context(), plan(time.Second)); !errors.Is(err, tune.ErrPlan) {
		t.Errorf("no dead-man at all: %v", err)
	}
}

// systemd is played by two scripts that write down what they are asked.
func TestSystemd(t *testing.T) {
	root := host(t)
	for _, dir := range []string{"run/systemd/system", "proc/self/ns", "proc/1/ns", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"self", "1"} {
		for _, ns := range []string{"net", "mnt"} {
			if err := os.Symlink(ns+":[1]", filepath.Join(root, "proc", who, "ns", ns)); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, state := filepath.Join(root, "log"), filepath.Join(root, "active")
	script := func(name, text string) {
		labtest.Program(t, filepath.Join(root, "bin", name), strings.NewReader("#!/bin/sh\necho "+name+" \"$@\" >> "+log+"\n"+text))
	}
	script("systemd-run", "touch "+state+"\n")
	script("systemctl", "case $1 in is-active) test -e "+state+";; stop) rm "+state+";; esac\n")
	// The check runs without our environment: the root comes with the program.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tn := tuner(root)
	s := tn.DeadMan.(Starter)
	s.Program = func(later bool) ([]string, error) {
		if !later {
			t.Error("asked for a program that starts now")
		}
		return []string{"/usr/bin/env", rootEnv + "=" + root, self}, nil
	}
	tn.DeadMan = s
	if _, err := tn.Apply(t.Context(), plan(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	if n := len(watchers(t, root)); n != 0 {
		t.Errorf("%d watchers beside systemd's timer", n)
	}
	if err := tn.Confirm(t.Context(), "p1"); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(log)
	for _, want := range []string{"--on-active=90000000us", "--unit=linerate-watch-", "AccuracySec", "Restart=on-abnormal", watchRole + " " + tn.Dir + " p1\n", "systemctl is-active --quiet linerate-watch-", "systemctl stop linerate-watch-"} {
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("no %q in %v:\n%s", want, err, b)
		}
	}
	// Another network namespace than the first process's: systemd is not asked.
	if err := errors.Join(os.Remove(filepath.Join(root, "proc/1/ns/net")), os.Symlink("net:[2]", filepath.Join(root, "proc/1/ns/net"))); err != nil {
		t.Fatal(err)
	}
	if s.systemd() {
		t.Error("a namespace's host would be watched from outside")
	}
}

func TestParseArgs(t *testing.T) {
	for _, bad := range [][]string{nil, {"/x"}, {"x", "p"}, {"/x", ""}, {"--check", "/x"}, {"/x", "p", "more"}} {
		if a, err := ParseArgs(bad); err == nil {
			t.Errorf("%q: %+v", bad, a)
		}
	}
	if a, err := ParseArgs([]string{"--check", "/x", "p"}); err != nil || a != (Args{true, "/x", "p"}) {
		t.Errorf("%+v, %v", a, err)
	}
}
