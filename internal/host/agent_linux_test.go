package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func TestHelloAndFacts(t *testing.T) {
	c, _ := dial(t, "here")
	h := c.Hello()
	if h.Protocol != Protocol || h.OS != runtime.GOOS || h.UID != os.Getuid() || h.BootID == "" || h.Build != "test" || len(h.Capabilities) == 0 {
		t.Errorf("hello: %+v", h)
	}
	f, err := c.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.Host != "here" || f.BootID != h.BootID {
		t.Errorf("facts are of %q, boot %q", f.Host, f.BootID)
	}
	v, err := c.ReadSetting(t.Context(), "linux.sysctl.net.ipv4.tcp_rmem", "", "")
	if err != nil || len(strings.Fields(v)) != 3 {
		t.Errorf("tcp_rmem reads %q, %v", v, err)
	}
	files, err := c.Files(t.Context())
	if err != nil || files.OS != "linux" || files.Kernel == "" || files.Now["net.ipv4.tcp_rmem"] != strings.Join(strings.Fields(v), " ") {
		t.Errorf("files: %s %s, tcp_rmem %q; %v", files.OS, files.Kernel, files.Now["net.ipv4.tcp_rmem"], err)
	}
	open, err := c.OpenJournal(t.Context())
	if err != nil || len(open) != 0 {
		t.Errorf("journal of an untouched host: %v, %v", open, err)
	}
}

func TestAgentRefuses(t *testing.T) {
	c, _ := dial(t, "here")
	ctx := t.Context()
	var none struct{}
	for name, tt := range map[string]struct {
		method string
		params any
		want   string
	}{
		"a method it does not have": {"exec", map[string]any{"argv": []string{"id"}}, "method not found"},
		"a field it does not know":  {methodFacts.name, map[string]any{"host": "x", "path": "/etc/shadow"}, "unknown field"},
		"to read a named file":      {methodFiles.name, map[string]any{"path": "/etc/shadow"}, "unknown field"},
		"the library's own methods": {"rpc.serverInfo", nil, "method not found"},
		"sampling too often":        {methodSample.name, sampleParams{Interval: time.Nanosecond}, "interval"},
		"a worker that is not":      {methodWorkerBegin.name, beginParams{ID: 77}, "there is none"},
		"a worker without a token":  {methodWorker.name, worker.Task{V: worker.Version, Load: &load.Spec{Role: load.Sink, Bind: loopback}, Deadline: bound}, "no token"},
		"a file as a setting":       {methodRead.name, readParams{Setting: "linux.sysctl.kernel.core_pattern"}, "no mechanism"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call(ctx, tt.method, tt.params, &none)
			wantError(t, err, "host here", tt.want)
		})
	}
}

func TestAgentThatIsNone(t *testing.T) {
	said := &logged{}
	t.Run("dies", func(t *testing.T) {
		t.Setenv(brokenEnv, "dies")
		_, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{Log: said.add})
		wantError(t, err, "server1", "agent ended (exit status 1", "cannot be an agent")
		if strings.Contains(err.Error()+said.String(), "\x1b") {
			t.Error("an agent's stderr can steer the terminal")
		}
	})
	t.Run("deaf", func(t *testing.T) {
		t.Setenv(brokenEnv, "deaf")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := Dial(ctx, localEndpoint(t, "server1"), Options{closeTime: 100 * time.Millisecond})
		wantError(t, err, "server1", "killed")
	})
	t.Run("not there", func(t *testing.T) {
		_, err := Dial(t.Context(), Endpoint{Name: "server1", Self: []string{"/nonexistent/linerate"}}, Options{})
		wantError(t, err, "reach server1", "no such file")
	})
	t.Run("says more than JSON", func(t *testing.T) {
		t.Setenv(brokenEnv, "chatty")
		_, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{})
		wantError(t, err, "server1", "cannot be read")
	})
}

// What the protocol calls a method that reads leaves nothing in the agent's directory,
// whatever it answers to no parameters; one that writes is there to tell them apart.
func TestMethodsThatReadWriteNothing(t *testing.T) {
	ep := localEndpoint(t, "here")
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, err := newAgent(AgentOptions{StateDir: ep.StateDir})
	if err != nil {
		t.Fatal(err)
	}
	count := map[effect]int{}
	for name, m := range a.methods() {
		if count[m.effect]++; m.effect != reads {
			continue
		}
		var refused *jrpc2.Error
		if _, err := c.rpc.Call(t.Context(), name, nil); err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(ep.StateDir); err == nil {
		t.Errorf("%s was made, with %v", ep.StateDir, left)
	}
	if len(count) != 4 || count[reads] == 0 {
		t.Errorf("effects of methods: %v", count)
	}
}

// agentPID finds the agent by what it samples: it has no other name.
func agentPID(t *testing.T, c *Client) int {
	t.Helper()
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var ppid int
	if _, err := fmt.Sscan(strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))[1], &ppid); err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ppid
}

func testTask(role load.Role) worker.Task {
	s := load.Spec{Role: role, Bind: loopback, Streams: 1, Duration: time.Second, Warmup: 100 * time.Millisecond}
	s.Token[0] = 1
	return worker.Task{V: worker.Version, Load: &s, Deadline: bound}
}

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

// wantGone waits for a process to end that was told to.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// An orphan that nobody reaps is over as well.
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

func TestInterruptOfTheControllerDoesNotReachTheAgent(t *testing.T) {
	c, _ := dial(t, "here")
	pid := agentPID(t, c)
	group, err := syscall.Getpgid(pid)
	if err != nil || group != pid {
		t.Errorf("agent %d is of process group %d (%v): a Ctrl-C would end it before it has undone its changes", pid, group, err)
	}
}

func TestWorkerThatIsKilled(t *testing.T) {
	c, _ := dial(t, "server1")
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(w.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err = w.Connected(t.Context())
	wantError(t, err, "host server1", fmt.Sprintf("worker %d ended", w.PID()), "killed")
}

// What keeps a connection from coming up arrives as what it is.
func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	task := testTask(load.Source)
	spec := task.Load
	spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ := dial(t, "client1")
	w, err := c.StartWorker(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Connected(t.Context())
	var not *load.UnreachedError
	if !errors.As(err, &not) || not.How != model.Refused || not.To != spec.Peer || not.From != spec.Bind {
		t.Errorf("%v (%+v)", err, not)
	}
	wantError(t, err, "host client1", "refused")
}

// A load that a host cannot make says so with its kind: a host has no congestion
// control of this name, and there is no such file.
func TestRefusedLoadsKeepTheirKind(t *testing.T) {
	sink, _ := dial(t, "server1")
	to, err := sink.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	source := testTask(load.Source)
	source.Load.Peer, source.Load.CC = to.Addr(), "no-such-cc"
	reading := testTask(load.Read)
	read := reading.Load
	read.Bind, read.Streams, read.Warmup, read.Token = netip.Addr{}, 0, 0, load.Token{}
	read.Read = &load.ReadSpec{File: filepath.Join(t.TempDir(), "none"), Cache: load.Dropped, Readers: 1}
	for want, task := range map[string]worker.Task{"no-such-cc": source, "none": reading} {
		c, _ := dial(t, "client1")
		w, err := c.StartWorker(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Connected(t.Context())
		var no *load.RefusedError
		if !errors.As(err, &no) || !strings.Contains(no.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	c, _ := dial(t, "server1")
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, fmt.Errorf("out of patience"))
	defer cancel()
	_, err = w.Wait(ctx)
	wantError(t, err, "host server1", "out of patience")
}

// What an agent starts after its caller gave up is ended: nobody else knows of it.
func TestWorkerThatNobodyWaitsFor(t *testing.T) {
	c, _ := dial(t, "server1")
	pid := agentPID(t, c)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := c.StartWorker(ctx, testTask(load.Sink))
		ended <- err
	}()
	// Until the request is on its way nothing is to be seen of it: this may come
	// earlier, and then nothing starts.
	time.AfterFunc(50*time.Millisecond, func() {
		cancel(errors.New("out of patience"))
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	wantError(t, <-ended, "host server1", "out of patience")
	if _, err := c.Clock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := workersOf(t); len(n) != 0 {
		t.Errorf("workers %v are left", n)
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

func TestClockOfAHostThatIsOff(t *testing.T) {
	const off = 5 * time.Second
	t.Setenv(clockEnv, off.String())
	c, _ := dial(t, "server1")
	clock, err := c.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := (clock.Offset - off).Abs(); d > clock.Error {
		t.Errorf("offset %v ± %v, want %v", clock.Offset, clock.Error, off)
	}
	if clock.Error <= 0 || clock.Error > bound {
		t.Errorf("error bound %v", clock.Error)
	}
	before := time.Now()
	stop, err := c.StartSampling(t.Context(), measure.Watch{}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := stop()
	after := time.Now()
	if err != nil || len(samples) == 0 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, s := range samples {
		at := s.HostAt.Add(-clock.Offset)
		if at.Before(before.Add(-clock.Error)) || at.After(after.Add(clock.Error)) {
			t.Errorf("a sample taken between %v and %v is put at %v ± %v", before, after, at, clock.Error)
		}
	}
}

func TestApplyAndUndoThroughTheAgent(t *testing.T) {
	c, _ := dial(t, "here")
	// A plan of another boot is refused before anything is touched: this
	// test changes no host.
	_, err := c.Apply(t.Context(), model.Plan{V: model.PlanVersion, ID: "p1", Host: "here", BootID: "another", Changes: []model.Change{
		{Setting: "linux.sysctl.net.ipv4.tcp_rmem", From: "1 2 3", To: "1 2 3"},
	}})
	wantError(t, err, "host here")
	if _, err := c.Undo(t.Context(), "p1"); err != nil {
		t.Errorf("undoing a plan that changed nothing: %v", err)
	}
}

func TestSamplesArriveInOrder(t *testing.T) {
	c, _ := dial(t, "here")
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	stop, err := c.StartSampling(t.Context(), measure.Watch{PIDs: []int{w.PID()}}, minInterval)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := c.Clock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	samples, err := stop()
	if err != nil {
		t.Fatal(err)
	}
	for i := range samples[1:] {
		if samples[i+1].HostAt.Before(samples[i].HostAt) {
			t.Fatalf("sample %d is older than the one before", i+1)
		}
	}
	if len(samples[0].Tasks) == 0 || len(samples[0].CPUs) == 0 {
		t.Errorf("the first sample has no tasks or no cores: %+v", samples[0])
	}
	if _, err := stop(); err == nil {
		t.Error("stopped the same sampling twice")
	}
}

func TestAgentTakesNoMoreThanItCanBear(t *testing.T) {
	c, _ := dial(t, "here")
	for range maxSamplers {
		if _, err := c.StartSampling(t.Context(), measure.Watch{}, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.StartSampling(t.Context(), measure.Watch{}, time.Second)
	wantError(t, err, "run already")
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
	if err := rpc.CallResult(t.Context(), methodSample.name, sampleParams{measure.Watch{}, minInterval}, &id); err != nil {
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
