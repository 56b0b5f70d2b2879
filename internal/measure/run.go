package measure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// End is one host of a run. Calls end when their context does; what they started is ended by Stop
// and stop.
type End interface {
	// Clock measures the offset of the host's clock from the controller's.
	Clock(ctx context.Context) (model.Clock, error)
	// StartWorker returns once a sink listens or a source runs.
	StartWorker(ctx context.Context, t worker.Task) (Worker, error)
	// StartSampling returns once the first sample is taken. stop ends it and returns all samples,
	// with At unset; it does not block for long.
	StartSampling(ctx context.Context, w Watch, interval time.Duration) (stop func() ([]model.Sample, error), err error)
}

// sampled is an End whose host it may not be possible to sample: its system is not Linux. Then
// StartSampling is not called.
type sampled interface{ Samples() bool }

// Worker is one load generator on an End.
type Worker interface {
	PID() int
	// Addr is the address of a listening sink; zero for a source.
	Addr() netip.AddrPort
	// Connected returns once all streams are up.
	Connected(ctx context.Context) (worker.Event, error)
	// Go passes the start barrier, and returns once the load has begun.
	Go(ctx context.Context) error
	// Wait returns what was transferred, once the run is over.
	Wait(ctx context.Context) (load.Result, error)
	// Stop ends the worker in any state, and does nothing after its end.
	Stop(ctx context.Context) error
}

// Ends are the two hosts of a run.
type Ends struct{ Sender, Receiver End }

// Options of a run.
type Options struct {
	Label    string
	Interval time.Duration    // between samples; 0 is 100 ms
	Now      func() time.Time // the controller's clock; nil is time.Now
	// Each gets every sample as it arrives, from several goroutines; the ends must then be
	// Followers. nil: samples are not passed on.
	Each func(host string, s model.Sample)
	// Barrier is called once both ends are ready, and returns at the common start with other
	// runs. nil: the run starts at once.
	Barrier func(ctx context.Context) error
}

// Times that a run grants the ends, beyond its own duration.
const (
	setUpTime   = 30 * time.Second
	graceTime   = 5 * time.Second
	cleanUpTime = 5 * time.Second
)

// Run makes one run of w: it starts sink, source and sampling, passes both ends through the start
// barrier, and takes as goodput what the receiving worker counted after the warm-up. A run that
// transferred nothing has a goodput of 0 and is no error. With an error there is no goodput, and
// there are samples only if the run was stopped on purpose (StoppedError). When Run returns, no
// worker and no sampling is left.
func Run(ctx context.Context, w model.Workload, ends Ends, o Options) (model.Run, error) {
	if o.Interval == 0 {
		o.Interval = 100 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if w.Streams == 0 {
		w.Streams = 1
	}
	r := &running{w: w, o: o, ends: ends, run: model.Run{Label: o.Label, Workload: w, Started: o.Now()}}
	err := r.do(ctx)
	err = errors.Join(err, r.cleanUp(ctx))
	var stopped *StoppedError
	if errors.As(context.Cause(ctx), &stopped) {
		r.keepSamples()
		err = stopped // the other errors follow from the stop
	}
	if err != nil {
		return r.run, fmt.Errorf("run %q from %s to %s: %w", o.Label, w.Sender, w.Receiver, err)
	}
	return r.run, nil
}

// running is a run under way.
type running struct {
	w    model.Workload
	o    Options
	ends Ends
	run  model.Run

	sink, source Worker
	cc           string // in force at the source
	stops        []func() error
	samples      map[string][]model.Sample
	clocksAt     map[string]time.Time     // when the clocks were first read
	clocksSet    map[string]time.Duration // by how much those were set that were, while the run went on
}

func (r *running) do(ctx context.Context) error {
	if err := r.setUp(ctx); err != nil {
		return err
	}
	if r.o.Barrier != nil {
		if err := r.o.Barrier(ctx); err != nil {
			return fmt.Errorf("wait for the others: %w", err)
		}
	}
	r.run.Started = r.o.Now()
	sent, got, err := r.move(ctx)
	if err != nil {
		return err
	}
	if err := r.stopSampling(); err != nil {
		return err
	}
	r.run.Bytes, r.run.Window = unit.Bytes(got.BytesAfterWarmup), got.Window
	if len(r.run.Unsampled) > 0 {
		r.run.Counted = model.Counted{PerSecond: got.PerSecond, SenderCPU: sent.CPU, SenderWindow: sent.Window, ReceiverCPU: got.CPU, ReceiverWindow: got.Window}
	}
	for _, st := range sent.Streams {
		r.run.ZeroSends, r.run.ZeroCopied = r.run.ZeroSends+st.ZeroSends, r.run.ZeroCopied+st.ZeroCopied
	}
	if got.Window > 0 {
		r.run.Goodput = unit.BitRate(float64(got.BytesAfterWarmup) * 8 / got.Window.Seconds())
	}
	if err := r.readClocksAgain(ctx); err != nil {
		return err
	}
	r.keepSamples()
	r.run.Warnings = r.doubts(sent, got)
	return nil
}

// keepSamples converts the samples to the controller's clock. Where they show that the host's
// clock was set, what its readings differ by is no drift.
func (r *running) keepSamples() {
	r.run.Samples = map[string][]model.Sample{}
	for host, s := range r.samples {
		c := r.run.Clocks[host]
		if set := setAmong(s); set != 0 {
			c.Drift, c.DriftError = nil, nil
			r.run.Clocks[host], r.clocksSet[host] = c, set
		}
		r.run.Samples[host] = Place(s, c, r.run.Started, r.w.Duration)
	}
}

// setUp brings both workers to the barrier and starts sampling.
func (r *running) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setUpTime, fmt.Errorf("the run did not come up within %v", setUpTime))
	defer cancel()
	token, err := load.NewToken(rand.Reader)
	if err != nil {
		return err
	}
	if err := r.readClocks(ctx); err != nil {
		return err
	}
	if r.sink, err = r.ends.Receiver.StartWorker(ctx, r.task(load.Sink, token, netip.AddrPort{})); err != nil {
		return fmt.Errorf("start sink: %w", err)
	}
	if r.source, err = r.ends.Sender.StartWorker(ctx, r.task(load.Source, token, r.sink.Addr())); err != nil {
		return fmt.Errorf("start source: %w", err)
	}
	up, err := r.source.Connected(ctx)
	if err != nil {
		if _, cerr := r.ends.Receiver.Clock(ctx); cerr != nil {
			return fmt.Errorf("connect source: %w", cerr) // the sink's host failed
		}
		return fmt.Errorf("connect source: %w", err)
	}
	r.cc = up.CC
	if _, err := r.sink.Connected(ctx); err != nil {
		return fmt.Errorf("connect sink: %w", err)
	}
	return r.startSampling(ctx)
}

func (r *running) readClocks(ctx context.Context) error {
	r.run.Clocks, r.clocksAt, r.clocksSet = map[string]model.Clock{}, map[string]time.Time{}, map[string]time.Duration{}
	for _, e := range r.hosts() {
		c, err := e.end.Clock(ctx)
		if err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		r.run.Clocks[e.name], r.clocksAt[e.name] = c, r.o.Now()
	}
	return nil
}

// readClocksAgain computes the clocks' drift since the start.
func (r *running) readClocksAgain(ctx context.Context) error {
	for _, e := range r.hosts() {
		c, err := e.end.Clock(ctx)
		if err != nil {
			return fmt.Errorf("read clock again: %w", err)
		}
		var set time.Duration
		r.run.Clocks[e.name], set = Drift(r.run.Clocks[e.name], c, r.o.Now().Sub(r.clocksAt[e.name]))
		if set != 0 {
			r.clocksSet[e.name] = set
		}
	}
	return nil
}

type namedEnd struct {
	name   string
	end    End
	worker Worker
}

func (r *running) hosts() []namedEnd {
	return []namedEnd{{r.w.Sender, r.ends.Sender, r.source}, {r.w.Receiver, r.ends.Receiver, r.sink}}
}

func (r *running) task(role load.Role, token load.Token, peer netip.AddrPort) worker.Task {
	s := load.Spec{
		Role: role, Bind: r.w.To, Peer: peer, Token: token,
		Streams: r.w.Streams, Duration: r.w.Duration, Warmup: r.w.Warmup,
		Dialogue: r.w.Dialogue,
	}
	if role == load.Source {
		s.Bind, s.CC, s.CPUs, s.SourceUse = r.w.From, r.w.CC, r.w.SenderCPUs, r.w.SourceUse
	} else {
		s.CPUs, s.From, s.SinkUse = r.w.ReceiverCPUs, r.w.From, r.w.SinkUse
	}
	return worker.Task{Load: &s, Deadline: r.w.Duration + setUpTime + 2*graceTime}
}

func (r *running) startSampling(ctx context.Context) error {
	r.samples = map[string][]model.Sample{}
	for _, e := range r.hosts() {
		if s, ok := e.end.(sampled); ok && !s.Samples() {
			r.unsampled(e.name)
			continue
		}
		var each func(model.Sample)
		if r.o.Each != nil {
			each = func(s model.Sample) { r.o.Each(e.name, s) }
		}
		stop, err := follow(ctx, e.end, Watch{
			Addrs: []netip.Addr{r.w.From, r.w.To},
			Ports: []uint16{r.sink.Addr().Port()},
			PIDs:  []int{e.worker.PID()},
		}, r.o.Interval, each)
		if err != nil {
			return fmt.Errorf("start sampling %s: %w", e.name, err)
		}
		r.stops = append(r.stops, func() error {
			s, err := stop()
			if err != nil {
				return fmt.Errorf("sample %s: %w", e.name, err)
			}
			r.samples[e.name] = append(r.samples[e.name], s...)
			return nil
		})
	}
	return nil
}

func (r *running) stopSampling() error {
	var err error
	for _, stop := range r.stops {
		err = errors.Join(err, stop())
	}
	r.stops = nil
	return err
}

// unsampled notes a host of which only the run's own process can be seen.
func (r *running) unsampled(name string) {
	if !slices.Contains(r.run.Unsampled, name) {
		r.run.Unsampled = append(r.run.Unsampled, name)
	}
}

// move passes the barrier and waits for both results. The sink passes first: the source then
// writes until after the sink has stopped counting.
func (r *running) move(ctx context.Context) (sent, got load.Result, err error) {
	within := r.w.Duration + graceTime
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no result within %v of the start", within))
	defer cancel()
	if err := r.sink.Go(ctx); err != nil {
		return sent, got, fmt.Errorf("start sink: %w", err)
	}
	if err := r.source.Go(ctx); err != nil {
		return sent, got, fmt.Errorf("start source: %w", err)
	}
	fromSink := make(chan error, 1)
	go func() {
		var err error
		if got, err = r.sink.Wait(ctx); err != nil {
			err = fmt.Errorf("sink: %w", err)
			cancel() // without its count the run has no result
		}
		fromSink <- err
	}()
	if sent, err = r.source.Wait(ctx); err != nil {
		err = fmt.Errorf("source: %w", err)
		cancel()
	}
	sinkErr := <-fromSink
	if errors.Is(sinkErr, context.Canceled) && err != nil {
		sinkErr = nil // a consequence of the source's end
	} else if errors.Is(err, context.Canceled) && sinkErr != nil {
		err = nil
	}
	return sent, got, errors.Join(err, sinkErr)
}

// cleanUp ends what is left, even if ctx is over.
func (r *running) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	err := r.stopSampling()
	for _, e := range r.hosts() {
		if e.worker == nil {
			continue
		}
		if serr := e.worker.Stop(ctx); serr != nil {
			err = errors.Join(err, fmt.Errorf("stop worker on %s: %w", e.name, serr))
		}
	}
	return err
}
