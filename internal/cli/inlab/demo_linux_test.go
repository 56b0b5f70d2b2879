package inlab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/cli"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

// needRoot skips where namespaces cannot be made as root; CI runs as root.
func needRoot(t testing.TB) {
	t.Helper()
	labtest.Needs(t, labtest.Root, labtest.Namespaces)
}

// program prepares the linerate binary with its own home.
func program(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"))
	return cmd
}

// home is a private place whose runtime directory the program may use.
func home(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDemoNamesTheWindowAndLeavesNothing(t *testing.T) {
	needRoot(t)
	dir := home(t)
	before := look(t, filepath.Join(dir, "run"))
	labtest.Tries(t, 3, func(a testing.TB) {
		cmd := program(t, dir, "demo", "--json", "--fault", "window", "--no-proof")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			a.Fatalf("%v\n%s", err, stderr.String())
		}
		var out model.Outcome
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			a.Fatalf("%v in %s", err, stdout.String())
		}
		if out.Verdict.Fix.Kind != model.FixSetting || out.Verdict.Limiter != model.ReceiverWindow {
			a.Errorf("named %s (fix %s), want receiver-window and a setting\n%s", out.Verdict.Limiter, out.Verdict.Fix.Kind, stdout.String())
		}
		if !out.Restored || out.Proof != nil { // whatever was named
			t.Errorf("restored %v, proof %v; want true and none", out.Restored, out.Proof)
		}
		if _, err := os.Stat(out.Report); err != nil {
			t.Errorf("the report: %v", err)
		}
	})
	wantNothingNew(t, before, filepath.Join(dir, "run"))
}

// Each stage that the demo announces is a place to be killed at. Whatever was
// going on, no process, namespace, link or setting survives; what a cgroup or
// a state file needs is done by the next start.
func TestKillAtEachStageLeavesNothing(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		stage  string
		signal syscall.Signal
		long   bool
	}{
		{"built the lab", syscall.SIGKILL, false},
		{"looking at", syscall.SIGKILL, false},
		{"running memory-to-memory", syscall.SIGKILL, false},
		{"proving: run 1 of", syscall.SIGKILL, true},
		{"(pair 1 treated)", syscall.SIGKILL, true},
		{"built the lab", os.Interrupt.(syscall.Signal), false},
		{"running memory-to-memory", os.Interrupt.(syscall.Signal), false},
		{"(pair 1 treated)", os.Interrupt.(syscall.Signal), true},
	} {
		t.Run(c.signal.String()+" at "+strings.Trim(c.stage, "()"), func(t *testing.T) {
			if c.long {
				labtest.Long(t)
			}
			dir := home(t)
			run := filepath.Join(dir, "run")
			before := look(t, run)
			cmd := program(t, dir, "demo", "--fault", "window", "--seed", "1")
			code := signalAt(t, cmd, c.stage, c.signal)
			if c.signal == syscall.SIGKILL {
				sweepByNextStart(t, dir)
			} else if code != cli.ExitInterrupted {
				t.Errorf("exit code %d after an interrupt, want %d", code, cli.ExitInterrupted)
			}
			wantNothingNew(t, before, run)
		})
	}
}

// A host that dies half way is one clear line, exit code 1, and nothing left.
func TestAHostThatDiesIsNamed(t *testing.T) {
	needRoot(t)
	dir := home(t)
	run := filepath.Join(dir, "run")
	before := look(t, run)
	cmd := program(t, dir, "demo", "--fault", "window", "--no-proof")
	code, said := actAt(t, cmd, "running memory-to-memory", func() {
		for _, p := range ownProcesses(t) {
			pid, what, _ := strings.Cut(p, " ")
			if strings.Contains(what, " agent ") && strings.Contains(what, "server1") && !strings.Contains(what, "lab-enter") {
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	last := said[len(said)-1]
	if code != cli.ExitFailed || !strings.HasPrefix(last, "linerate: ") || !strings.Contains(last, "server1") || !strings.Contains(last, "agent ended") {
		t.Errorf("exit code %d, last words %q; want %d and a line that names the host", code, last, cli.ExitFailed)
	}
	wantNothingNew(t, before, run)
}

// signalAt starts cmd, waits until stderr shows stage, sends sig, and returns
// the exit code.
func signalAt(t testing.TB, cmd *exec.Cmd, stage string, sig syscall.Signal) int {
	t.Helper()
	code, _ := actAt(t, cmd, stage, func() {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	})
	return code
}

// actAt starts cmd, acts once stderr shows stage, and returns the exit code
// and all that was said.
func actAt(t testing.TB, cmd *exec.Cmd, stage string, act func()) (code int, said []string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(100*time.Second, func() { _ = cmd.Process.Kill() }) // a hang must fail, not block
	defer guard.Stop()
	acted := false
	for s := bufio.NewScanner(stderr); s.Scan(); {
		said = append(said, s.Text())
		if !acted && strings.Contains(s.Text(), stage) {
			acted = true
			act()
		}
	}
	_ = cmd.Wait() // the exit code is what the caller asks for
	if !acted {
		t.Fatalf("never came to %q:\n%s", stage, strings.Join(said, "\n"))
	}
	return cmd.ProcessState.ExitCode(), said
}

// sweepByNextStart starts the program once more: it begins by removing what a
// killed run left. Once it has, it is interrupted.
func sweepByNextStart(t testing.TB, dir string) {
	t.Helper()
	cmd := program(t, dir, "demo", "--fault", "none", "--no-proof")
	if code := signalAt(t, cmd, "built the lab", os.Interrupt.(syscall.Signal)); code != cli.ExitInterrupted {
		t.Errorf("the next start: exit code %d after an interrupt, want %d", code, cli.ExitInterrupted)
	}
}
