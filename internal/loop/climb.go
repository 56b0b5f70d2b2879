package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Climb measures the ladder between two hosts rung by rung, from memory to the
// whole path. Before each rung it reports the model's prediction and the load to come. A rung
// on the link stops when other traffic needs the link. Climb changes no setting, and writes no
// file except one below Write.
type Climb struct {
	Loop             // Sender, Receiver, Workload, LineRate, Timing
	Streams int      // number of streams of the rungs with N streams
	Export  *Export  // nil: the network only. Else the server is the Sender
	Write   string   // directory on the client's mount of Export to write a file in; empty: none
	Rungs   RungTime // zero is DefaultRungTime
	Token   string   // secret of the probes of the way; empty: it is not probed

	rec      *Record
	ground   explain.Ground
	guard    *guard
	read     load.ReadSpec // of the mount, once it was read
	rungs    map[string]*rung
	notes    []string
	way      *model.Crossing // as probed, from sender to receiver
	stopped  *measure.StoppedError
	clocks   map[string]model.Clock
	clocksAt map[string]time.Time
}

// RungTime is how long each rung loads.
type RungTime struct {
	Copy, Loopback, Trickle, Streams, Read time.Duration
	Quiet                                  time.Duration // watch of the link before each load on it
	Passive                                time.Duration // watch in place of a load, if the link is in use
}

// DefaultRungTime lets a whole climb take at most half a minute.
func DefaultRungTime() RungTime {
	return RungTime{Copy: 400 * time.Millisecond, Loopback: time.Second, Trickle: 700 * time.Millisecond,
		Streams: 3 * time.Second, Read: 4 * time.Second, Quiet: 1200 * time.Millisecond, Passive: 5 * time.Second}
}

// rung is one rung of the ladder: its prediction and its measurement.
type rung struct {
	expected explain.Expectation
	measured *unit.BitRate
	method   string
	how      string // why it was not measured
}

// defaultStreams is N if the user gave none.
const defaultStreams = 4

// Run climbs. The record is never nil. A rung that cannot be measured says why and
// the climb goes on; it is an error only if nothing of the path could be read.
func (c *Climb) Run(ctx context.Context) (*Record, error) {
	c.rec = &Record{Facts: map[string]*model.Facts{}}
	r := &c.rec.Results
	r.V, r.Restored, r.Started = model.OutcomeVersion, true, c.Now()
	r.Hosts = []string{c.Sender.Name, c.Receiver.Name}
	defer func() { r.Took = c.Now().Sub(r.Started) }()
	c.say("looking at %s and %s", c.Sender.Name, c.Receiver.Name)
	if err := c.look(ctx, c.rec.Facts); err != nil {
		return c.rec, err
	}
	if err := c.begin(ctx); err != nil {
		return c.rec, err
	}
	c.inside(ctx)
	found, err := c.network(ctx)
	if err != nil {
		return c.rec, err
	}
	if c.Export != nil && found.verdict.Limiter != model.Outage { // without its server a mount blocks readers
		found = c.export(ctx, found)
	}
	if err := ctx.Err(); err != nil {
		return c.rec, fmt.Errorf("climb the ladder: %w", context.Cause(ctx))
	}
	if err := c.end(ctx); err != nil {
		return c.rec, err
	}
	c.conclude(ctx, found)
	return c.rec, nil
}

// begin reads the clocks, and sets up the inputs of the predictions and the guard.
func (c *Climb) begin(ctx context.Context) error {
	if c.Rungs == (RungTime{}) {
		c.Rungs = DefaultRungTime()
	}
	if c.Streams <= 1 {
		c.Streams = defaultStreams
	}
	s, r := c.rec.Facts[c.Sender.Name], c.rec.Facts[c.Receiver.Name]
	c.Workload.SenderCPUs, c.Workload.ReceiverCPUs = s.CPUs, r.CPUs
	c.rungs, c.clocks, c.clocksAt = map[string]*rung{}, map[string]model.Clock{}, map[string]time.Time{}
	c.ground = explain.Ground{
		Sender:   &explain.End{Host: c.Sender.Name, Facts: s, Peer: c.Receiver.Addr},
		Receiver: &explain.End{Host: c.Receiver.Name, Facts: r, Peer: c.Sender.Addr},
		LineRate: c.LineRate, Streams: c.Streams,
		Copy: map[string]unit.BitRate{}, CopyNear: map[string]unit.BitRate{}, Cost: map[string]explain.CPUCost{}, Measured: map[string]unit.BitRate{},
	}
	if e := c.Export; e != nil {
		c.ground.File = &explain.FileGround{Mount: e.Mount, RAM: e.RAM, Disk: e.Disk}
	}
	c.guard = newGuard(explain.Ceiling(explain.Case{Sender: c.ground.Sender, Receiver: c.ground.Receiver, LineRate: c.LineRate}).Inputs.LineRate,
		&namedAddr{c.Sender.Name, s, c.Sender.Addr}, &namedAddr{c.Receiver.Name, r, c.Receiver.Addr})
	for _, e := range c.ends() {
		if c.guard.nics[e.Name] == nil {
			c.note("no interface of %s has the address %s: other traffic there cannot be seen, and stops no load", e.Name, e.Addr)
		}
		clock, err := e.Agent.Clock(ctx)
		if err != nil {
			return fmt.Errorf("read clock of %s: %w", e.Name, err)
		}
		c.clocks[e.Name], c.clocksAt[e.Name] = clock, c.Now()
	}
	return nil
}

// ends are the hosts with an agent: both, or only the client if linerate has no login on the
// server of the mount.
func (c *Climb) ends() []End {
	return slices.DeleteFunc([]End{c.Sender, c.Receiver}, func(e End) bool { return e.Agent == nil })
}

// end reads the clocks again: their drift over the whole climb.
func (c *Climb) end(ctx context.Context) error {
	for _, e := range c.ends() {
		again, err := e.Agent.Clock(ctx)
		if err != nil {
			return fmt.Errorf("read clock of %s again: %w", e.Name, err)
		}
		clock, set := measure.Drift(c.clocks[e.Name], again, c.Now().Sub(c.clocksAt[e.Name]))
		c.clocks[e.Name] = clock
		if set != 0 {
			c.note("clock of %s: it was set while this went on, by about %v: what was sampled there later is placed at another time by so much",
				e.Name, set.Round(time.Millisecond))
		}
		if clock.Drift != nil {
			c.note("clock of %s: %v from this machine's (±%v), drifting %+.0f ± %.0f ppm; samples are placed on this machine's clock",
				e.Name, clock.Offset.Round(time.Microsecond), clock.Error.Round(time.Microsecond), *clock.Drift, *clock.DriftError)
		}
	}
	c.rec.Results.Clocks = c.clocks
	return nil
}

func (c *Climb) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// expect begins a rung with the model's current prediction.
func (c *Climb) expect(name string) *rung {
	r := &rung{expected: explain.Expect(c.ground, name)}
	c.rungs[name] = r
	if p := r.expected.Predicted; p != nil {
		c.say("%s: the model predicts %s", name, *p)
	}
	return r
}

// reached records the measured rate of a rung, which also enters the predictions of the rungs
// above it.
func (c *Climb) reached(name string, rate unit.BitRate, method string) {
	r := c.rungs[name]
	r.measured, r.method, r.how = &rate, method, ""
	c.ground.Measured[name] = rate
}

// missed records why a rung was not measured. After a rung was stopped, no later rung loads
// anything.
func (c *Climb) missed(name string, err error) {
	r := c.rungs[name]
	if r == nil {
		r = c.expect(name)
	}
	var stopped *measure.StoppedError
	if errors.As(err, &stopped) {
		c.stop(name, stopped)
	}
	r.how = err.Error()
}

// stop ends all loading for the rest of the climb.
func (c *Climb) stop(what string, why *measure.StoppedError) {
	if c.stopped != nil {
		return
	}
	c.stopped = why
	c.say("%s: %s", what, why)
	c.rec.Results.Warnings = append(c.rec.Results.Warnings, model.Warning{
		ID: "load-stopped", What: what + " was stopped, and nothing further was loaded",
		Evidence: why.Why, Next: "run it again when the link is quiet and its counters of errors stand still",
	})
}

// load runs one rung unless an earlier one was stopped. It records a failure and returns it.
func (c *Climb) load(ctx context.Context, name string, run func(context.Context) error) error {
	if c.stopped != nil {
		err := fmt.Errorf("not loaded: an earlier rung was stopped (%s)", c.stopped.Why)
		c.missed(name, err)
		return err
	}
	c.expect(name)
	err := run(ctx)
	if err != nil {
		c.missed(name, err)
	}
	return err
}

// caseSeen is the case of one run, seen from both ends; a run that was stopped has no goodput.
func (c *Climb) caseSeen(run model.Run, passive bool) explain.Case {
	kase := c.caseOf(c.rec, run)
	kase.Passive, kase.Way = passive, c.way
	if run.Goodput <= 0 {
		kase.Goodput = model.Fact[unit.BitRate]{}
	}
	return kase
}

// conclude fills in the ladder and checks the rules.
func (c *Climb) conclude(ctx context.Context, found judged) {
	r := &c.rec.Results
	r.Ladder = explain.Ladder(found.kase, found.verdict)
	if c.Write != "" {
		r.Ladder = append(r.Ladder, explain.Writing(c.ground))
	}
	for i := range r.Ladder {
		c.rungs[r.Ladder[i].Rung].fill(&r.Ladder[i])
	}
	if s := explain.FirstDrop(r.Ladder); s != "" {
		found.kase.Notes = append(found.kase.Notes, s)
	}
	found.kase.Notes = append(found.kase.Notes, c.notes...)
	for _, e := range c.ends() {
		check(r, &found.kase, c.rec.Facts[e.Name], rules.Context{LineRate: c.LineRate.Or(0), RTT: c.ground.RTT})
	}
	if found.kase.Unreached == nil && !found.kase.Passive {
		found.kase.Rungs = c.ground.Measured
	}
	found.kase.Lost = c.lost(ctx)
	r.Verdict = explain.Judge(found.kase)
}

// fill completes the ladder's rung with the measurement, or with the reason why there is none;
// r may be nil.
func (r *rung) fill(into *model.Rung) {
	if r == nil {
		return
	}
	if r.expected.Ceiling != nil {
		into.Ceiling, into.Formula = r.expected.Ceiling, r.expected.Formula
	}
	into.Predicted, into.PredictedFrom = r.expected.Predicted, r.expected.From
	switch {
	case r.measured != nil:
		into.Measured, into.Seen, into.How, into.Method = r.measured, true, "", r.method
	case r.how != "" && !(into.Seen && into.Rung == explain.RungWhole): // it may have been watched
		into.Measured, into.Seen, into.How, into.Tried = nil, false, r.how, true
	}
}

// quiet watches the link before it is loaded: all its traffic is foreign then.
func (c *Climb) quiet(ctx context.Context) error {
	_, err := c.watchFirst(ctx, nil)
	return err
}

// watchFirst is quiet for other things to watch as well.
func (c *Climb) watchFirst(ctx context.Context, watch map[string]measure.Watch) (samples map[string][]model.Sample, err error) {
	err = c.guarded(ctx, func(ctx context.Context, each func(string, model.Sample)) error {
		stop, err := c.sample(ctx, watch, each)
		if err != nil {
			return err
		}
		wait(ctx, c.Rungs.Quiet)
		samples, err = stop()
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	})
	return samples, err
}

// guarded runs something that the guard may stop.
func (c *Climb) guarded(ctx context.Context, run func(ctx context.Context, each func(host string, s model.Sample)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.guard.begin()
	err := run(ctx, func(host string, s model.Sample) {
		if why := c.guard.see(host, s); why != nil {
			cancel(why)
		}
	})
	var stopped *measure.StoppedError
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return err
}

// sample watches both ends; stop returns the samples on this machine's clock,
// counted from now.
func (c *Climb) sample(ctx context.Context, watch map[string]measure.Watch, each func(string, model.Sample)) (stop func() (map[string][]model.Sample, error), err error) {
	stops := map[string]func() ([]model.Sample, error){}
	start := c.Now()
	stop = func() (map[string][]model.Sample, error) {
		out := map[string][]model.Sample{}
		var errs []error
		for host, stop := range stops {
			s, err := stop()
			if err != nil {
				errs = append(errs, fmt.Errorf("sample %s: %w", host, err))
				continue
			}
			out[host] = measure.Place(s, c.clocks[host], start, c.Now().Sub(start))
		}
		return out, errors.Join(errs...)
	}
	for _, e := range c.ends() {
		s, err := e.Agent.(measure.Follower).FollowSampling(ctx, watch[e.Name], sampleInterval, func(s model.Sample) { each(e.Name, s) })
		if err != nil {
			_, serr := stop()
			return nil, errors.Join(fmt.Errorf("sample %s: %w", e.Name, err), serr)
		}
		stops[e.Name] = s
	}
	return stop, nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// local runs a load without a peer. It calls ready when everything is prepared and nothing is
// loaded yet.
func (c *Climb) local(ctx context.Context, e End, spec load.Spec, ready func(up worker.Event) error) (res load.Result, err error) {
	w, err := e.Agent.StartWorker(ctx, worker.Task{Load: &spec, Deadline: spec.Duration + 2*time.Minute})
	if err != nil {
		return res, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if serr := w.Stop(ctx); err == nil {
			err = serr
		}
	}()
	up, err := connectedWithin(ctx, w, localGrace)
	if err != nil {
		return res, err
	}
	if up.Alone == nil {
		return res, fmt.Errorf("%s does not say what it is about to load", e.Name)
	}
	if up.PID == 0 {
		up.PID = w.PID()
	}
	if err := ready(up); err != nil {
		return res, err
	}
	if err := w.Go(ctx); err != nil {
		return res, err
	}
	// A read from a mount whose server is gone never returns.
	within := 2*spec.Duration + localGrace
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no result within %v: is its server or disk gone?", within))
	defer cancel()
	return w.Wait(ctx)
}

// connectedWithin waits for a worker to be ready. A worker that opens a file on a mount whose
// server is gone never is.
func connectedWithin(ctx context.Context, w measure.Worker, d time.Duration) (worker.Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("not ready to read within %v: is its server or disk gone?", d))
	defer cancel()
	up, err := w.Connected(ctx)
	if err != nil && ctx.Err() != nil {
		return up, context.Cause(ctx)
	}
	return up, err
}

// localGrace is how long a load without a peer may take to get ready. It may also run
// that much longer than twice its duration, since one block may be slow to come.
const localGrace = 15 * time.Second

// rateOf is the rate of a load without a peer.
func rateOf(r load.Result) unit.BitRate {
	if r.Window <= 0 {
		return 0
	}
	return unit.BitRate(float64(r.Bytes) * 8 / r.Window.Seconds())
}

// loopbackAddr is where both ends of a local run are.
func loopbackAddr() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
