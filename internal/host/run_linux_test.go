package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
)

func ends(t *testing.T) (measure.Ends, *Client, *Client) {
	t.Helper()
	t.Setenv(clockEnv, "5s")
	sender, _ := dial(t, "client1")
	t.Setenv(clockEnv, "")
	receiver, _ := dial(t, "server1")
	return measure.Ends{Sender: sender, Receiver: receiver}, sender, receiver
}

func testWorkload(d time.Duration) model.Workload {
	return model.Workload{
		Sender: "client1", Receiver: "server1", From: loopback, To: loopback,
		Streams: 2, Duration: d, Warmup: d / 5, CC: "reno",
	}
}

func TestRunBetweenTwoAgents(t *testing.T) {
	e, _, _ := ends(t)
	w := testWorkload(time.Second)
	run, err := measure.Run(t.Context(), w, e, measure.Options{Label: "diagnosis", Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if run.Goodput <= 0 || run.Bytes <= 0 || run.Window <= 0 || run.Label != "diagnosis" {
		t.Errorf("run: %+v", run)
	}
	if off := run.Clocks["client1"].Offset; (off - 5*time.Second).Abs() > run.Clocks["client1"].Error {
		t.Errorf("clock of client1 %+v, want 5 s off", run.Clocks["client1"])
	}
	for _, host := range []string{"client1", "server1"} {
		samples := run.Samples[host]
		if len(samples) < 3 {
			t.Fatalf("%s: %d samples", host, len(samples))
		}
		last := samples[len(samples)-1]
		if last.At <= 0 || last.At > w.Duration {
			t.Errorf("%s: last sample at %v of %v", host, last.At, w.Duration)
		}
		// On a busy machine the streams may have closed before the last one was read.
		seen := slices.IndexFunc(samples, func(s model.Sample) bool { return len(s.Conns) > 0 && len(s.Tasks) > 0 })
		if seen < 0 {
			t.Fatalf("%s: none of %d samples has connections and tasks", host, len(samples))
		}
		for _, c := range samples[seen].Conns {
			if c.CC != "reno" && c.BytesAcked > 1000 {
				t.Errorf("%s: a sending connection runs %q, not reno", host, c.CC)
			}
		}
	}
	for _, w := range run.Warnings {
		if w.ID == "bytes-differ" || w.ID == "cc-differs" || w.ID == "strangers" {
			t.Errorf("unexpected doubt: %+v", w)
		}
	}
}

// A clock that is 5 s off and runs fast is both measured and undone in the
// samples' times.
func TestRunMeasuresTheDrift(t *testing.T) {
	for _, ppm := range []float64{200, 900} {
		t.Run(fmt.Sprintf("%.0f ppm", ppm), func(t *testing.T) { runAdrift(t, ppm) })
	}
}

func runAdrift(t *testing.T, ppm float64) {
	t.Setenv(driftEnv, fmt.Sprint(ppm))
	e, _, _ := ends(t)
	w := testWorkload(2 * time.Second)
	run, err := measure.Run(t.Context(), w, e, measure.Options{Label: "x", Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for host, c := range run.Clocks {
		if c.Drift == nil || c.DriftError == nil {
			t.Fatalf("%s: no drift in %+v", host, c)
		}
		if off := *c.Drift - ppm; max(off, -off) > *c.DriftError+20 {
			t.Errorf("%s: drift %.0f ± %.0f ppm, want %.0f", host, *c.Drift, *c.DriftError, ppm)
		}
		s := run.Samples[host]
		last := s[len(s)-1]
		plain := last.HostAt.Add(-c.Offset).Sub(run.Started)
		if shift := plain - last.At; *c.Drift > 0 && shift <= 0 || shift.Abs() > 20*time.Millisecond {
			t.Errorf("%s: the last sample, at %v, was shifted by %v for the drift", host, last.At, shift)
		}
	}
	if off := run.Clocks["client1"].Offset; (off - 5*time.Second).Abs() > 10*time.Millisecond {
		t.Errorf("client1 is %v off, want 5 s", off)
	}
}

// A run that is stopped on purpose keeps what was seen, and both ends are
// followed while it goes on.
func TestRunStoppedOnPurposeKeepsItsSamples(t *testing.T) {
	e, _, _ := ends(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var mu sync.Mutex
	seen := map[string]int{}
	run, err := measure.Run(ctx, testWorkload(time.Minute), e, measure.Options{Label: "x", Interval: 50 * time.Millisecond,
		Each: func(host string, s model.Sample) {
			mu.Lock()
			defer mu.Unlock()
			if seen[host]++; seen["client1"] > 5 && seen["server1"] > 5 {
				cancel(&measure.StoppedError{Why: "somebody needs the link"})
			}
		}})
	var stopped *measure.StoppedError
	if !errors.As(err, &stopped) || stopped.Why != "somebody needs the link" {
		t.Fatalf("error %v", err)
	}
	for _, host := range []string{"client1", "server1"} {
		if n := len(run.Samples[host]); n < 4 {
			t.Errorf("%s: %d samples are kept", host, n)
		}
	}
	if n := workersOf(t); len(n) != 0 {
		t.Errorf("workers %v are left", n)
	}
}

func TestCancelledRunLeavesNothing(t *testing.T) {
	e, sender, receiver := ends(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		// Once a load worker is at work, somebody presses Ctrl-C.
		for len(workersOf(t)) < 2 && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel(errors.New("interrupted"))
	}()
	_, err := measure.Run(ctx, testWorkload(time.Minute), e, measure.Options{Label: "x"})
	wantError(t, err, `run "x" from client1 to server1`)
	if n := workersOf(t); len(n) != 0 {
		t.Errorf("workers %v are left", n)
	}
	for _, c := range []*Client{sender, receiver} {
		if _, err := c.Clock(t.Context()); err != nil {
			t.Errorf("the agent did not survive the end of the run: %v", err)
		}
	}
}

// workersOf finds the worker processes that descend from this test.
func workersOf(t *testing.T) []string {
	t.Helper()
	parent := map[string]string{}
	var found []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or gone
		}
		parent[e.Name()] = strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[1]
		cmdline, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.HasSuffix(string(cmdline), "\x00worker\x00") {
			found = append(found, e.Name())
		}
	}
	var ours []string
	for _, pid := range found {
		if parent[parent[pid]] == fmt.Sprint(os.Getpid()) {
			ours = append(ours, pid)
		}
	}
	return ours
}

func TestRunEndsWhenAHostDies(t *testing.T) {
	e, _, receiver := ends(t)
	pid := agentPID(t, receiver)
	go func() {
		for len(workersOf(t)) < 2 && t.Context().Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	_, err := measure.Run(t.Context(), testWorkload(time.Minute), e, measure.Options{Label: "x"})
	wantError(t, err, "host server1: agent ended")
	if n := workersOf(t); len(n) != 0 {
		t.Errorf("workers %v are left", n)
	}
}
