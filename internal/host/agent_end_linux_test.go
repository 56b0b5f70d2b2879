package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/load"
	"linerate/internal/measure"
)

func TestAgentThatDiesHalfWay(t *testing.T) {
	c, _ := dial(t, "server1")
	pid := agentPID(t, c)
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { _, err := w.Wait(t.Context()); waited <- err }()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-waited, "host server1", "agent ended (signal: killed")
	_, err = c.Facts(t.Context())
	wantError(t, err, "host server1", "agent ended (signal: killed")
	wantGone(t, w.PID())
}

func TestCloseLeavesNothing(t *testing.T) {
	c, _ := dial(t, "here")
	pid := agentPID(t, c)
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartSampling(t.Context(), measure.Watch{PIDs: []int{w.PID()}}, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, pid)
	wantGone(t, w.PID())
	if err := c.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestInterruptOfTheControllerDoesNotReachTheAgent(t *testing.T) {
	c, _ := dial(t, "here")
	pid := agentPID(t, c)
	group, err := syscall.Getpgid(pid)
	if err != nil || group != pid {
		t.Errorf("agent %d is of process group %d (%v): a Ctrl-C would end it before it has undone its changes", pid, group, err)
	}
}

// stopped is an agent that hangs: calls must not.
func TestHangingAgent(t *testing.T) {
	ep := localEndpoint(t, "server1")
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pid := agentPID(t, c)
	c.o.CallTimeout, c.o.closeTime = 50*time.Millisecond, 100*time.Millisecond
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := c.Facts(t.Context())
		wantError(t, err, "host server1", "no answer within")
	}
	wantError(t, c.Close(), "killed")
	wantGone(t, pid)
}

// A child of the agent that holds its stdout, as one of a hostile agent may, does not keep Close.
func TestCloseOfAnAgentWhoseChildHoldsItsOutput(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	holding := `sleep 1000 2>/dev/null & echo $! > "$1"; shift; exec "$@"`
	ep := Endpoint{Name: "server1", Argv: []string{"sh", "-c", holding, "sh", pidFile}, Self: []string{self}, StateDir: filepath.Join(t.TempDir(), "state")}
	c, err := Dial(t.Context(), ep, Options{closeTime: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		wantError(t, err, "server1", "did not end within")
	case <-time.After(bound):
		t.Fatal("Close waits for as long as the child lives")
	}
}

func TestKeepsTheBinaryWhileChangesAreOpen(t *testing.T) {
	dir, self := t.TempDir(), filepath.Join(t.TempDir(), "linerate")
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(self, []byte("a program"), 0o700)); err != nil {
		t.Fatal(err)
	}
	said := &strings.Builder{}
	a, err := newAgent(AgentOptions{StateDir: dir, Deployed: true, Self: []string{self}, Log: said})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.end(); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "linerate")
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Fatalf("kept the binary although nothing is open: %v", err)
	}
	line := fmt.Sprintf(`{"v":1,"seq":1,"plan":"p","boot_id":%q,"by":"test","target":"","setting":"linux.sysctl.net.ipv4.tcp_rmem","before":"1 2 3","wanted":"1 2 4","after":"1 2 4","state":"applied"}`, a.bootID())
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.keepBinary(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(kept)
	if err != nil || string(b) != "a program" || !strings.Contains(said.String(), "1 changes are still open") {
		t.Errorf("kept %q (%v), said %q", b, err, said)
	}
}

// A controller that is killed closes the pipe and says nothing.
func TestAgentEndsWithItsController(t *testing.T) {
	ep := localEndpoint(t, "here")
	cmd := exec.Command(ep.Self[0], "agent", ep.StateDir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rpc := jrpc2.NewClient(newLines(out, in), nil)
	var r startedResult
	if err := rpc.CallResult(t.Context(), methodWorker.name, testTask(load.Sink), &r); err != nil {
		t.Fatal(err)
	}
	var id idResult
	if err := rpc.CallResult(t.Context(), methodSample.name, sampleParams{Interval: minInterval, Keep: mostKeep}, &id); err != nil {
		t.Fatal(err)
	}
	// Both pipes at once, as when the process is gone.
	out.Close()
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Logf("the agent ended with: %v", err)
	}
	wantGone(t, r.PID)
}
