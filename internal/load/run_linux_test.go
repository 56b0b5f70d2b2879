package load

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// oneCPU is a CPU that this process may run on.
func oneCPU(t *testing.T) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return []int{cpu}
		}
	}
	t.Fatal("no CPU in the affinity mask")
	return nil
}

// process starts a worker as a process of its own.
func process(t *testing.T, spec Spec) (*proc, *exec.Cmd) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), exe)
	cmd.Env = append(os.Environ(), asWorker)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &proc{t: t, events: make(chan Event, 16), done: make(chan error, 1)}
	scanned := make(chan struct{})
	go func() { p.scan(stdout); close(scanned) }()
	go func() { <-scanned; p.done <- cmd.Wait() }()
	t.Cleanup(func() { stdin.Close(); cmd.Process.Kill() })
	r, w := io.Pipe()
	p.stdin = w
	go func() {
		io.Copy(stdin, r) // the end of either side ends it, as it should
		stdin.Close()
	}()
	p.say(spec)
	return p, cmd
}

func TestKilledSourceEndsTheSink(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	sink.Duration, source.Duration = bound, bound
	sink.Warmup, source.Warmup = 0, 0
	k := startWorker(t, sink, defaultLimits())
	source.Peer = k.want(Listening).Addr
	s, cmd := process(t, source)
	s.want(Connected)
	k.want(Connected)
	k.begin()
	s.begin()
	s.want(Started)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if res := k.result(); !res.Early {
		t.Errorf("sink does not say that its streams ended early: %+v", res)
	}
}

func TestKilledSinkEndsTheSource(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	sink.Duration, source.Duration = bound, bound
	k, cmd := process(t, sink)
	source.Peer = k.want(Listening).Addr
	s := startWorker(t, source, defaultLimits())
	s.want(Connected)
	k.want(Connected)
	s.begin()
	s.want(Started)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e := s.want(Finished)
	if !e.Result.Early || e.Result.Streams[0].Error == "" {
		t.Errorf("source does not say that the peer ended the streams: %+v", e.Result)
	}
}

func TestTokenIsNotInArgvOrEnvironment(t *testing.T) {
	spec := testSpec(Sink)
	k, cmd := process(t, spec)
	k.want(Listening)
	for _, f := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, f))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			t.Fatalf("nothing in %s", f)
		}
		if bytes.Contains(b, spec.Token[:]) || bytes.Contains(b, []byte(hex.EncodeToString(spec.Token[:]))) {
			t.Errorf("the token is in %s", f)
		}
	}
}

func TestThreadsAndCongestionControlAreReported(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	source.CC = "reno"
	k := startWorker(t, sink, defaultLimits())
	source.Peer = k.want(Listening).Addr
	s := startWorker(t, source, defaultLimits())
	e := s.want(Connected)
	if e.CC != "reno" || e.PID != os.Getpid() || len(e.TIDs) != 2 || e.TIDs[0] == e.TIDs[1] {
		t.Errorf("connected event %+v, want reno, this process and two threads", e)
	}
	for _, tid := range e.TIDs {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			t.Errorf("thread %d: %v", tid, err)
		}
	}
}

// A request whose second piece waits for the acknowledgement of the first takes the
// 40 ms by which Linux delays that (TCP_DELACK_MIN); without Nagle's algorithm it
// takes two ways through the loopback.
func TestNoDelay(t *testing.T) {
	moved := func(noDelay bool) int64 {
		sink, source := testSpec(Sink), testSpec(Source)
		sink.Exchange, source.Exchange, source.NoDelay = 1024, 1024, noDelay
		k, s := pair(t, sink, source)
		k.begin()
		s.begin()
		s.result()
		return k.result().Bytes
	}
	for range 3 { // a machine that has no time for the one half of a try may have it for the next
		held, free := moved(false), moved(true)
		if free > 3*held {
			return
		}
		t.Logf("%d bytes with Nagle's algorithm, %d without", held, free)
	}
	t.Error("requests are as slow without Nagle's algorithm as with it")
}
