package inlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"linerate/internal/cli"
	"linerate/internal/kernel"
	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// bareLab is a lab with a fault in place.
func bareLab(t testing.TB, fault string) *lab.Lab {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := lab.FindFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	network, err := topology.Demo()
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state") // the lab makes it, private
	ctx := context.Background()
	l, err := lab.Up(ctx, f.Topology(network), lab.Options{Self: []string{exe}, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := l.Inject(ctx, f); err != nil {
		t.Fatal(err)
	}
	return l
}

// labWithCopy is a lab with a fault in which a plain TCP copy runs.
func labWithCopy(t testing.TB, fault string) *lab.Lab {
	t.Helper()
	l := bareLab(t, fault)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort(l.Addr("server1").String(), "5201")
	sink := startCopy(t, l.Enter("server1"), exe, "sink "+addr)
	if _, err := io.ReadFull(sink, make([]byte, len("listening\n"))); err != nil {
		t.Fatalf("the sink did not come up: %v", err)
	}
	startCopy(t, l.Enter("client1"), exe, "source "+addr)
	return l
}

// processIn finds the process that plays a role in a copy, by what it was
// started with: how a user finds one with pgrep.
func processIn(t testing.TB, role string) string {
	t.Helper()
	pids, err := kernel.Processes("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		env, err := kernel.ProcessEnv("/proc", pid)
		if err != nil || !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, copyRole+"="+role+" ") }) {
			continue
		}
		awaitSocket(t, pid)
		return strconv.Itoa(pid)
	}
	t.Fatalf("no process plays %s", role)
	return ""
}

// awaitSocket returns once the process holds a socket: it was only just started.
func awaitSocket(t testing.TB, pid int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		fds, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
				return
			}
		}
	}
	t.Fatalf("process %d opens no socket", pid)
}

// explainHere runs linerate explain outside the lab, in this very namespace.
func explainHere(t testing.TB, args ...string) (model.Outcome, int, string) {
	t.Helper()
	cmd := program(t, home(t), append([]string{"explain", "--json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var out model.Outcome
	if err == nil {
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
	}
	t.Logf("exit %d, %s (%.2f) %q %s", cmd.ProcessState.ExitCode(), out.Verdict.Line, out.Verdict.Confidence, out.Verdict.Notes, strings.TrimSpace(stderr.String()))
	return out, cmd.ProcessState.ExitCode(), stderr.String()
}

// A process in another network namespace is attached to from outside, by root;
// both ends of a copy tell the same. In 2 s it is less sure, and says why.
func TestExplainAttachesToAProcess(t *testing.T) {
	labtest.Long(t)
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		labWithCopy(t, "window")
		for role, watch := range map[string]string{"source": "2s", "sink": "6s"} {
			out, code, _ := explainHere(t, "--attach", processIn(t, role), "--for", watch, "--line-rate", "1Gbit")
			if code != 0 || out.Verdict.Limiter != model.ReceiverWindow {
				t.Errorf("the %s: exit %d, named %s", role, code, out.Verdict.Limiter)
			}
			notes := strings.Join(out.Verdict.Notes, "\n")
			if !strings.Contains(notes, "another network namespace") {
				t.Errorf("the %s: notes %q", role, notes)
			}
			if brief := watch == "2s"; brief != strings.Contains(notes, "only: what comes and goes") || brief && out.Verdict.Confidence > 0.56 {
				t.Errorf("the %s in %s: confidence %.2f, notes %q", role, watch, out.Verdict.Confidence, notes)
			}
		}
	})
}

// Cores full of somebody else's user work are not the reader's limit unless it
// is seen to wait; a process with an idle connection is nothing to judge.
func TestExplainOnABusyOrIdleHost(t *testing.T) {
	labtest.Long(t)
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		l := labWithCopy(t, "window")
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		for range runtime.NumCPU() {
			go func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
				}
			}()
		}
		out, code, _ := explainHere(t, "--attach", processIn(t, "sink"), "--for", "5s", "--line-rate", "1Gbit")
		if v := out.Verdict; code != 0 || v.Limiter == model.ReceiverCPU && v.Confidence > 0.5 && !waits(v) {
			t.Errorf("exit %d, named %s (%.2f) with %+v", code, v.Limiter, v.Confidence, v.Evidence)
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		addr := net.JoinHostPort(l.Addr("server1").String(), "5202")
		sink := startCopy(t, l.Enter("server1"), exe, "sink "+addr)
		if _, err := io.ReadFull(sink, make([]byte, len("listening\n"))); err != nil {
			t.Fatal(err)
		}
		startCopy(t, l.Enter("client1"), exe, "idle "+addr)
		if _, code, said := explainHere(t, "--attach", processIn(t, "idle"), "--for", "1s", "--wait", "1s"); code != cli.ExitNothing || !strings.Contains(said, "start the copy") {
			t.Errorf("an idle process: exit %d, %s", code, said)
		}
	})
}

// waits tells whether the evidence shows a reader that lacks a CPU.
func waits(v model.Verdict) bool {
	return slices.ContainsFunc(v.Evidence, func(e model.Evidence) bool {
		return (e.Metric == "reader_run_delay_share" || e.Metric == "reader_throttled_share") && e.Value >= 0.3
	})
}

// Errors in one line, and what to do.
func TestExplainOfAProcessWithoutConnections(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleep.Process.Kill() // it may be over
		_ = sleep.Wait()         // killed by design
	})
	_, code, said := explainHere(t, "--attach", strconv.Itoa(sleep.Process.Pid))
	if code != cli.ExitNothing || !strings.Contains(said, "holds no TCP connection") || !strings.Contains(said, "attach to the process that copies, or name the mount") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d: %s", code, said)
	}
}

func startCopy(t testing.TB, enter []string, exe, role string) io.Reader {
	t.Helper()
	argv := append(append([]string{}, enter...), exe)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), copyRole+"="+role)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it is the end of the copy, whatever Close says
		_ = cmd.Wait()    // a copy that is cut off fails by design
	})
	return stdout
}

// explainIn runs linerate explain inside a host of the lab.
func explainIn(t testing.TB, l *lab.Lab, host string, args ...string) (model.Outcome, int) {
	t.Helper()
	p := program(t, home(t), append([]string{"explain", "--json"}, args...)...)
	argv := append(append([]string{}, l.Enter(host)...), p.Args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = p.Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	var out model.Outcome
	if err == nil {
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
	}
	t.Logf("%s: exit %d, %s %s", host, cmd.ProcessState.ExitCode(), out.Verdict.Line, strings.TrimSpace(stderr.String()))
	return out, cmd.ProcessState.ExitCode()
}

func TestExplainNamesTheLimiterOfARunningCopyFromEitherEnd(t *testing.T) {
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		l := labWithCopy(t, "window")
		from, code := explainIn(t, l, "client1", "--attach", l.Addr("server1").String()+":5201", "--for", "4s", "--line-rate", "1Gbit")
		if code != 0 || from.Verdict.Limiter != model.ReceiverWindow {
			t.Errorf("from the sender: exit %d, named %s", code, from.Verdict.Limiter)
		}
		if len(from.Verdict.CouldNotSee) == 0 {
			t.Error("from the sender: does not say that the receiver was not seen")
		}
		to, code := explainIn(t, l, "server1", "--attach", l.Addr("client1").String()+":5201", "--for", "4s", "--line-rate", "1Gbit")
		if code != 0 || to.Verdict.Limiter != model.ReceiverWindow {
			t.Errorf("from the receiver: exit %d, named %s", code, to.Verdict.Limiter)
		}
		if len(from.Ladder) != 9 || from.Ladder[8].Rung != "whole path" || !from.Ladder[8].Seen {
			t.Errorf("the ladder: %+v", from.Ladder)
		}
		if _, err := os.Stat(filepath.Clean(from.Report)); err != nil {
			t.Errorf("the report: %v", err)
		}
	})
}

// A copy to another port of that host is not what was asked for.
func TestExplainSaysWhenThereIsNothingToWatch(t *testing.T) {
	t.Parallel()
	needRoot(t)
	l := labWithCopy(t, "window")
	if _, code := explainIn(t, l, "client1", "--attach", l.Addr("server1").String()+":80", "--for", "1s", "--wait", "0"); code != cli.ExitNothing {
		t.Errorf("exit code %d, want %d", code, cli.ExitNothing)
	}
}
