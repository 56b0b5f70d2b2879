package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
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

// An agent of another version is said to be one, and nothing is asked of it.
func TestAgentOfAnotherVersion(t *testing.T) {
	t.Setenv(attackEnv, otherVersion)
	_, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{closeTime: time.Second})
	wantError(t, err, "host server1", fmt.Sprintf("protocol %d (build older), this linerate %d", Protocol-1, Protocol), "use the same build on both")
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

// A controller that stands still loses nothing: the host goes on reading, and what came together
// meanwhile is sent when it is taken again.
func TestAControllerThatStandsStillMissesNothing(t *testing.T) {
	c, _ := dial(t, "here")
	got := make(chan model.Sample, 1000)
	stop, err := c.FollowSampling(t.Context(), measure.Watch{}, minInterval, func(s model.Sample) { got <- s })
	if err != nil {
		t.Fatal(err)
	}
	<-got
	c.decoding.Lock() // nothing is taken until the pipe is full
	time.Sleep(3 * batchTime)
	c.decoding.Unlock()
	samples, err := stop()
	if err != nil {
		t.Fatal(err)
	}
	widest := time.Duration(0)
	for i := range samples[1:] {
		widest = max(widest, samples[i+1].At-samples[i].At)
	}
	if covers := samples[len(samples)-1].At - samples[0].At; covers < 2*batchTime || widest > covers/2 { // the last sample may be late on a busy machine
		t.Errorf("%d samples cover %v, with a gap of %v", len(samples), covers, widest)
	}
}
