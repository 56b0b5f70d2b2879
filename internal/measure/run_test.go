package measure

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// stage is two fake hosts and what happened on them.
type stage struct {
	mu     sync.Mutex
	log    []string
	fail   string // the step that fails
	hang   string // the step that ends only with its context
	result map[load.Role]load.Result
	specs  map[load.Role]load.Spec
	start  time.Time
	live   int // workers and samplings under way
	ready  func(context.Context) error
	unseen bool // the sender cannot be sampled
}

func newStage() *stage {
	return &stage{
		start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		specs: map[load.Role]load.Spec{},
		result: map[load.Role]load.Result{
			load.Source: {Bytes: 2000, Unacked: 100, BytesAfterWarmup: 1500, Window: time.Second},
			load.Sink:   {Bytes: 1800, BytesAfterWarmup: 1250, Window: 500 * time.Millisecond, RecvSpace: 1000},
		},
	}
}

func (s *stage) step(ctx context.Context, name string) error {
	s.mu.Lock()
	s.log = append(s.log, name)
	fail, hang := s.fail == name, s.hang == name
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if fail {
		return fmt.Errorf("%s failed", name)
	}
	return nil
}

func (s *stage) count(d int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live += d
}

type fakeEnd struct {
	*stage
	unseen bool // its host cannot be sampled
	name   string
	offset time.Duration
}

func (e *fakeEnd) Clock(ctx context.Context) (model.Clock, error) {
	return model.Clock{Offset: e.offset, Error: time.Millisecond}, e.step(ctx, e.name+" clock")
}

func (e *fakeEnd) Samples() bool { return !e.unseen }

func (e *fakeEnd) StartSampling(ctx context.Context, w Watch, _ time.Duration) (func() ([]model.Sample, error), error) {
	if err := e.step(ctx, e.name+" sample"); err != nil {
		return nil, err
	}
	if len(w.Addrs) != 2 || len(w.Ports) != 1 || w.Ports[0] != 5001 || len(w.PIDs) != 1 {
		return nil, fmt.Errorf("unexpected watch %+v", w)
	}
	e.count(1)
	return func() ([]model.Sample, error) {
		e.count(-1)
		var out []model.Sample
		for at := -100 * time.Millisecond; at <= 1200*time.Millisecond; at += 100 * time.Millisecond {
			out = append(out, model.Sample{V: 1, HostAt: e.start.Add(at + e.offset)})
		}
		return out, e.step(ctx, e.name+" sampled")
	}, nil
}

func (e *fakeEnd) StartWorker(ctx context.Context, t worker.Task) (Worker, error) {
	spec := *t.Load
	if err := e.step(ctx, string(spec.Role)+" start"); err != nil {
		return nil, err
	}
	e.specs[spec.Role] = spec
	e.count(1)
	return &fakeWorker{e, spec.Role, false}, nil
}

type fakeWorker struct {
	e       *fakeEnd
	role    load.Role
	stopped bool
}

func (w *fakeWorker) PID() int             { return 77 }
func (w *fakeWorker) Addr() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.2:5001") }
func (w *fakeWorker) Connected(ctx context.Context) (worker.Event, error) {
	return worker.Event{Up: load.Up{CC: "cubic"}}, w.e.step(ctx, string(w.role)+" connected")
}
func (w *fakeWorker) Go(ctx context.Context) error { return w.e.step(ctx, string(w.role)+" go") }
func (w *fakeWorker) Wait(ctx context.Context) (load.Result, error) {
	return w.e.result[w.role], w.e.step(ctx, string(w.role)+" wait")
}
func (w *fakeWorker) Stop(ctx context.Context) error {
	if !w.stopped {
		w.stopped = true
		w.e.count(-1)
	}
	return w.e.step(ctx, string(w.role)+" stop")
}

func (s *stage) run(ctx context.Context) (model.Run, error) {
	w := model.Workload{
		Sender: "client1", Receiver: "server1", From: netip.MustParseAddr("192.0.2.1"), To: netip.MustParseAddr("192.0.2.2"),
		Streams: 1, Duration: time.Second, Warmup: 500 * time.Millisecond, CC: "cubic", SourceUse: model.SourceUse{Rate: 5},
	}
	ends := Ends{&fakeEnd{s, s.unseen, "client1", 5 * time.Second}, &fakeEnd{s, false, "server1", -time.Hour}}
	return Run(ctx, w, ends, Options{Label: "pair 1", Now: func() time.Time { return s.start }, Barrier: s.ready})
}

func TestRun(t *testing.T) {
	s := newStage()
	run, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if run.Goodput != 20_000*unit.BitRate(1) || run.Bytes != 1250 || run.Window != 500*time.Millisecond {
		t.Errorf("goodput %v, bytes %v, window %v; want what the receiving worker counted", run.Goodput, run.Bytes, run.Window)
	}
	for host, samples := range run.Samples {
		if len(samples) != 12 || samples[0].At != -100*time.Millisecond || samples[11].At != time.Second {
			t.Errorf("%s: %d samples, from %v to %v", host, len(samples), samples[0].At, samples[len(samples)-1].At)
		}
	}
	if len(run.Warnings) != 0 {
		t.Errorf("doubts about a clean run: %+v", run.Warnings)
	}
	src, sink := s.specs[load.Source], s.specs[load.Sink]
	if sink.Bind.String() != "192.0.2.2" || src.Bind.String() != "192.0.2.1" || src.Peer.Port() != 5001 || src.Token != sink.Token || src.CC != "cubic" || src.Rate != 5 {
		t.Errorf("specs %+v, %+v", src, sink)
	}
	if slices.Index(s.log, "sink go") > slices.Index(s.log, "source go") {
		t.Error("the source started before the sink counted")
	}
	if s.live != 0 {
		t.Errorf("%d things are left running", s.live)
	}
}

// Of a host that cannot be sampled there is what the run's own processes count, and no more.
func TestRunWithAHostThatCannotBeSampled(t *testing.T) {
	s := newStage()
	s.unseen = true
	cpu := 300 * time.Millisecond
	sent, got := s.result[load.Source], s.result[load.Sink]
	sent.CPU, got.PerSecond = &cpu, []int64{7}
	s.result[load.Source], s.result[load.Sink] = sent, got
	run, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := model.Counted{PerSecond: []int64{7}, SenderCPU: &cpu, SenderWindow: time.Second, ReceiverWindow: 500 * time.Millisecond}
	if !reflect.DeepEqual(run.Counted, want) || !slices.Equal(run.Unsampled, []string{"client1"}) {
		t.Errorf("counted %+v, not sampled %v", run.Counted, run.Unsampled)
	}
	if len(run.Samples["client1"]) != 0 || len(run.Samples["server1"]) == 0 || slices.Contains(s.log, "client1 sample") {
		t.Errorf("samples of %d hosts after %v", len(run.Samples), s.log)
	}
	if len(run.Warnings) != 0 {
		t.Errorf("doubts about a clean run: %+v", run.Warnings)
	}
}

func TestRunThatFailsLeavesNothing(t *testing.T) {
	steps := []string{
		"client1 clock", "server1 clock", "sink start", "source start", "source connected", "sink connected",
		"client1 sample", "server1 sample", "sink go", "source go", "sink wait", "source wait", "client1 sampled", "server1 sampled",
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			s := newStage()
			s.fail = step
			_, err := s.run(t.Context())
			if err == nil || !strings.Contains(err.Error(), step+" failed") || !strings.Contains(err.Error(), `run "pair 1" from client1 to server1`) {
				t.Errorf("error %v, want %q and the run's name", err, step+" failed")
			}
			if s.live != 0 {
				t.Errorf("%d things are left running after %v", s.live, s.log)
			}
		})
		if strings.HasSuffix(step, "sampled") {
			continue // has its own bound, see End
		}
		t.Run(step+" hangs until Ctrl-C", func(t *testing.T) {
			s := newStage()
			s.hang = step
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for {
					s.mu.Lock()
					reached := slices.Contains(s.log, step)
					s.mu.Unlock()
					if reached {
						break
					}
					time.Sleep(time.Millisecond)
				}
				cancel(errors.New("interrupted"))
			}()
			if _, err := s.run(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") {
				t.Errorf("error %v, want the interruption", err)
			}
			if s.live != 0 {
				t.Errorf("%d things are left running after %v", s.live, s.log)
			}
		})
	}
}

func TestRunThatMovesNothingIsARun(t *testing.T) {
	s := newStage()
	s.result[load.Sink] = load.Result{Window: 500 * time.Millisecond, RecvSpace: 1000}
	s.result[load.Source] = load.Result{Bytes: 900, Unacked: 900}
	run, err := s.run(t.Context())
	if err != nil || run.Goodput != 0 || run.Window == 0 {
		t.Errorf("goodput %v, window %v, %v", run.Goodput, run.Window, err)
	}
	if len(run.Warnings) != 0 {
		t.Errorf("doubts about a blackhole: %+v", run.Warnings)
	}
}

func TestDoubts(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(sent, got *load.Result)
		want   string
	}{
		"discard":            {func(_, got *load.Result) { got.Discard = true }, "discard"},
		"more than was sent": {func(_, got *load.Result) { got.Bytes = 2001 }, "bytes-differ"},
		"lost on the way":    {func(sent, _ *load.Result) { sent.Bytes = 5000 }, "bytes-differ"},
		"cut":                {func(sent, _ *load.Result) { sent.Early = true }, "ended-early"},
		"strangers":          {func(_, got *load.Result) { got.Evicted = 3 }, "strangers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			sent, got := s.result[load.Source], s.result[load.Sink]
			tt.change(&sent, &got)
			s.result[load.Source], s.result[load.Sink] = sent, got
			run, err := s.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Warnings) != 1 || run.Warnings[0].ID != tt.want || run.Warnings[0].Next == "" {
				t.Errorf("doubts %+v, want %s", run.Warnings, tt.want)
			}
		})
	}
}

func TestDoubtCongestionControl(t *testing.T) {
	s := newStage()
	r := &running{w: model.Workload{CC: "bbr", Duration: time.Second}, cc: "reno", o: Options{Interval: time.Second}, sink: &fakeWorker{}, source: &fakeWorker{}}
	got := r.doubts(s.result[load.Source], s.result[load.Sink])
	if len(got) != 1 || got[0].ID != "cc-differs" {
		t.Errorf("doubts %+v, want cc-differs", got)
	}
}

func TestDoubtSampling(t *testing.T) {
	at := func(ms ...int) []model.Sample {
		var out []model.Sample
		for _, m := range ms {
			out = append(out, model.Sample{At: time.Duration(m) * time.Millisecond})
		}
		return out
	}
	for name, tt := range map[string]struct {
		samples []model.Sample
		want    string
	}{
		"even":          {at(-50, 50, 150, 250, 350, 450), ""},
		"a hole":        {at(-50, 50, 400, 450), "for 350ms, from 50ms"},
		"ended early":   {at(-50, 50, 100), "for 400ms, from 100ms"},
		"late to start": {at(-50, 400), "for 400ms, from 0s"},
		"none":          {nil, "for 500ms, from 0s"},
	} {
		got := doubtSampling("h", tt.samples, 100*time.Millisecond, 500*time.Millisecond)
		if (len(got) == 0) != (tt.want == "") || len(got) == 1 && !strings.Contains(got[0].What, tt.want) {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
	}
}

func TestDoubtGenerator(t *testing.T) {
	load := func(share float64, pid int) []model.Sample {
		var out []model.Sample
		for i := range 11 {
			at := time.Duration(i) * 100 * time.Millisecond
			out = append(out, model.Sample{At: at, Tasks: []model.Task{{PID: pid, TID: 1, CPU: time.Duration(share * float64(at))}, {PID: pid, TID: 2}}})
		}
		return out
	}
	for name, tt := range map[string]struct {
		samples []model.Sample
		want    bool
	}{
		"idle":            {load(0.1, 7), false},
		"busy":            {load(0.99, 7), true},
		"somebody else's": {load(0.99, 8), false},
		"no samples":      {nil, false},
	} {
		if got := doubtGenerator("h", tt.samples, 7, 300*time.Millisecond); (len(got) == 1) != tt.want {
			t.Errorf("%s: %+v, want a doubt: %v", name, got, tt.want)
		}
	}
}

// Runs that wait for each other have everything up before they do, and one whose
// others never come leaves nothing behind.
func TestReadyComesBeforeTheBarrier(t *testing.T) {
	s := newStage()
	never := errors.New("the others never came")
	s.ready = func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.live != 4 || slices.ContainsFunc(s.log, func(l string) bool { return strings.HasSuffix(l, " go") }) {
			t.Errorf("ready with %d under way, after %q", s.live, s.log)
		}
		return never
	}
	_, err := s.run(t.Context())
	if !errors.Is(err, never) || s.live != 0 {
		t.Errorf("%d left under way: %v", s.live, err)
	}
}
