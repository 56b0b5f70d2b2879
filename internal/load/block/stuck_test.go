package block

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// hung is a file whose server went away: reads come back once it is released.
type hung struct {
	asked    atomic.Int32
	answers  int32 // reads that are answered first
	released chan struct{}
	closed   atomic.Bool
}

func (h *hung) readAt(b []byte, _ int64) int32 {
	if h.asked.Add(1) > h.answers {
		<-h.released
	}
	return int32(len(b))
}
func (h *hung) writeAt(b []byte, at int64) int32 { return h.readAt(b, at) }
func (h *hung) sync(bool) int32                  { return min(h.readAt(nil, 0), 0) }
func (h *hung) handle() int32                    { return -1 }
func (h *hung) close() error                     { h.closed.Store(true); return nil }

// Threads that are held in pread are left behind, and what they are held in is named;
// the target is not closed, which would wait for it.
func TestThreadsHeldInCallsAreNamed(t *testing.T) {
	h := &hung{released: make(chan struct{}), answers: 10}
	defer close(h.released)
	target := &Target{Path: "/mnt/gone", Size: unit.MiB, file: h}
	s := Spec{Path: "/mnt/gone", Threads: 2, Depth: 2, Engine: Calls, Sync: None, Duration: time.Hour, Seed: 1, Stuck: 300 * time.Millisecond, From: 4096,
		Shape: shape.Shape{Pattern: shape.Sequential, Read: 1, Sizes: []shape.SizeShare{{Size: 8 * unit.KiB, Share: 1}}, Area: 512 * unit.KiB, Arrivals: shape.Closed}}
	_, err := Run(context.Background(), s, target)
	var stuck *StuckError
	if !errors.As(err, &stuck) || len(stuck.Out) != 4 || stuck.After != s.Stuck {
		t.Fatalf("%+v, %v", stuck, err)
	}
	seen := map[int64]bool{}
	for i, o := range stuck.Out {
		if o.Write || o.Size != 8192 || o.Offset < 4096 || o.Age <= 0 || seen[o.Offset] || i > 0 && o.Age > stuck.Out[i-1].Age {
			t.Errorf("%+v", o)
		}
		seen[o.Offset] = true
	}
	if stuck.Out[0].Age <= s.Stuck {
		t.Errorf("the oldest is %v old", stuck.Out[0].Age)
	}
	for _, want := range []string{"the target does not answer within 300ms: 4 requests are out: a read of 8192 bytes at offset ", " for "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if err := target.Close(); err != nil || h.closed.Load() {
		t.Errorf("the target was closed: %v", err)
	}
}

// Told to stop, a run does not wait longer than it may for what is out.
func TestStoppedRunDoesNotWaitForTheTarget(t *testing.T) {
	h := &hung{released: make(chan struct{})}
	defer close(h.released)
	ctx, cancel := context.WithCancel(context.Background())
	s := Spec{Path: "/x", Threads: 1, Depth: 1, Engine: Calls, Sync: None, Duration: time.Hour, Seed: 1, Stuck: time.Second,
		Shape: shape.Shape{Pattern: shape.Random, Read: 1, Sizes: []shape.SizeShare{{Size: 4096, Share: 1}}, Area: unit.MiB, Arrivals: shape.Closed}}
	go func() {
		for h.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := Run(ctx, s, &Target{Path: "/x", Size: unit.MiB, file: h})
	var stuck *StuckError
	if !errors.As(err, &stuck) || len(stuck.Out) != 1 {
		t.Fatal(err)
	}
}

// All threads' requests are named, the oldest first.
func TestStuckThreadsAreGathered(t *testing.T) {
	outs := []outcome{
		{stuck: &StuckError{After: time.Minute, Out: []Outstanding{{Offset: 1, Age: 60 * time.Second}}}}, {},
		{stuck: &StuckError{After: 5 * time.Second, Out: []Outstanding{{Offset: 2, Age: 65 * time.Second, Write: true}, {Sync: true, Age: time.Second}}}},
	}
	got := gatherStuck(outs)
	want := "the target does not answer within 1m0s: 3 requests are out: a write of 0 bytes at offset 2 for 1m5s, a read of 0 bytes at offset 1 for 1m0s, a sync for 1s"
	if got.Error() != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	if gatherStuck(outs[1:2]) != nil {
		t.Error("a thread that is not stuck is")
	}
	got.Out = append(got.Out, Outstanding{}, Outstanding{})
	if !strings.HasSuffix(got.Error(), ", 1 more") {
		t.Error(got)
	}
}

func TestVerifyGivesUpOnATargetThatDoesNotAnswer(t *testing.T) {
	h := &hung{released: make(chan struct{}), answers: 2}
	defer close(h.released)
	target := &Target{Path: "/mnt/gone", Size: 8 * unit.MiB, file: h}
	_, err := Verify(context.Background(), target, Span{0, 8 * unit.MiB}, nil, 200*time.Millisecond, nil)
	var stuck *StuckError
	if !errors.As(err, &stuck) || len(stuck.Out) != 1 || stuck.Out[0].Size != 1<<20 || !strings.Contains(err.Error(), "verify /mnt/gone: the target does not answer within 200ms: 1 request is out: a read of 1048576 bytes at offset") {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil || h.closed.Load() {
		t.Errorf("the target was closed: %v", err)
	}
}

func TestWithin(t *testing.T) {
	want := errors.New("no")
	if err := Within(context.Background(), time.Minute, "open x", func() error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
	never := make(chan struct{})
	defer close(never)
	err := Within(context.Background(), time.Millisecond, "open x", func() error { <-never; return nil })
	if err == nil || err.Error() != "open x: the target does not answer within 1ms" || !errors.Is(err, errStuck) {
		t.Error(err)
	}
	// Who is told to stop waits a moment for what is under way, and no longer.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Within(ctx, time.Minute, "open x", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := Within(ctx, 10*time.Millisecond, "open x", func() error { <-never; return nil }); !errors.Is(err, errStuck) {
		t.Error(err)
	}
}

// A target whose server is gone is neither waited for when the page cache is to forget
// it or it is to be synced, nor when it is closed after that.
func TestForgetAndSyncGiveUp(t *testing.T) {
	for doing, call := range map[string]func(*Target) error{
		"drop the page cache of /mnt/gone": func(t *Target) error { return t.Forget(context.Background(), time.Millisecond) },
		"sync /mnt/gone":                   func(t *Target) error { return t.Sync(context.Background(), time.Millisecond) },
	} {
		if runtime.GOOS != "linux" && strings.HasPrefix(doing, "drop") {
			t.Logf("skipped: %s: only Linux is asked to", doing)
			continue
		}
		h := &hung{released: make(chan struct{})}
		target := &Target{Path: "/mnt/gone", file: h}
		err := call(target)
		var stuck *StuckError
		if !errors.As(err, &stuck) || stuck.Doing != doing || stuck.After != 10*time.Millisecond {
			t.Errorf("%s: %v", doing, err)
		}
		if err := target.Close(); err != nil || h.closed.Load() {
			t.Errorf("%s: it was closed, which waits for it: %v", doing, err)
		}
		close(h.released)
	}
}
