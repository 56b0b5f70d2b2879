// Package loop runs linerate's one loop over two hosts: read the facts of both, compute the
// ceiling, run the workload, name the limiter from what was observed, change one setting,
// prove the gain with interleaved pairs, undo the change. It only connects the rooms: it knows
// nothing about namespaces or how a host is reached, writes nothing to disk, and does not know
// which fault a lab has injected.
package loop

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/tune"
	"linerate/internal/unit"
)

// Agent is what the loop needs of a host.
type Agent interface {
	measure.End
	Facts(ctx context.Context) (*model.Facts, error)
	Apply(ctx context.Context, p model.Plan) (tune.Result, error)
	Undo(ctx context.Context, planID string) (tune.Result, error)
}

// End is one host of the path.
type End struct {
	Name  string
	Addr  netip.Addr // data address
	Agent Agent
}

// Operator makes the changes that linerate cannot: to a cable, a switch, an application. In a
// lab the lab acts as the operator.
type Operator interface {
	// Remove does what the advice for this limiter says. It reports whether
	// it found the thing to remove.
	Remove(ctx context.Context, limiter model.LimiterID) (found bool, err error)
	// PutBack restores what Remove removed; without one it does nothing.
	PutBack(ctx context.Context) error
}

// Timing of the runs.
type Timing struct {
	Diagnosis, DiagnosisWarmup time.Duration // the diagnosis run
	Pair, PairWarmup           time.Duration // each run of the proof
	Pairs, AAPairs             int
	Looks                      []int // pairs after which a proof may end; none: after Pairs only
}

// DefaultTiming fits the whole loop into less than a minute: cubic takes more
// than 3 s to fall to its loss rate, so the judged run is longer than a pair's.
func DefaultTiming() Timing {
	return Timing{
		Diagnosis: 5500 * time.Millisecond, DiagnosisWarmup: time.Second,
		Pair: 1300 * time.Millisecond, PairWarmup: 400 * time.Millisecond,
		Pairs: 8, AAPairs: 4,
	}
}

// Loop is one pass over one path. Operator and Progress may be nil.
type Loop struct {
	Sender, Receiver End
	Workload         model.Workload // CC, Streams, Rate; addresses and durations are filled in
	LineRate         model.Fact[unit.BitRate]
	Timing           Timing
	Prove            bool
	Operator         Operator
	Seed             uint64 // of the proof's randomisation
	// DeadMan is after how long a host undoes a change of the proof by itself; 0:
	// it does so only with changes that can cut the operator off.
	DeadMan  time.Duration
	Now      func() time.Time
	Progress func(step string)
	Report   func(v model.Verdict) // called once, when there is a verdict
	// Lost returns what an emulated path itself lost, beyond its injected faults, since the pass
	// began. It may be nil.
	Lost func(ctx context.Context) []string

	climbs bool // the next limiter is found by removing the current one
	// over makes the runs of the proof in another way than by the workload.
	over func(ctx context.Context, label string) (model.Run, error)
}

// Record is all that a pass saw and concluded: the content of a bundle.
type Record struct {
	Results model.Results
	Facts   map[string]*model.Facts
	// Case is the case from which the verdict was first concluded, before any probe.
	Case explain.Case
}

// Run makes the pass. The record is never nil: with an error it has what was seen until then.
// When Run returns, with or without an error, it has undone all its changes unless
// Results.Restored is false.
func (l *Loop) Run(ctx context.Context) (*Record, error) {
	rec := &Record{Facts: map[string]*model.Facts{}}
	r := &rec.Results
	r.V, r.Restored = model.OutcomeVersion, true
	r.Started = l.Now()
	r.Hosts = []string{l.Sender.Name, l.Receiver.Name}
	defer func() { r.Took = l.Now().Sub(r.Started) }()

	l.say("looking at %s and %s", l.Sender.Name, l.Receiver.Name)
	if err := l.look(ctx, rec.Facts); err != nil {
		return rec, err
	}
	l.say("running memory-to-memory TCP from %s to %s for %s", l.Sender.Name, l.Receiver.Name, l.Timing.Diagnosis)
	l.Workload.SenderCPUs, l.Workload.ReceiverCPUs = rec.Facts[l.Sender.Name].CPUs, rec.Facts[l.Receiver.Name].CPUs
	run, err := l.measure(ctx, "diagnosis", l.Timing.Diagnosis, l.Timing.DiagnosisWarmup)
	if j, ok := l.unreached(ctx, rec, err); ok {
		r.Verdict, r.Ladder = j.verdict, explain.Ladder(j.kase, j.verdict)
		if l.Report != nil {
			l.Report(r.Verdict)
		}
		return rec, nil
	}
	if err != nil {
		return rec, fmt.Errorf("run the workload: %w", err)
	}
	r.Runs = append(r.Runs, run)
	r.Warnings = append(r.Warnings, run.Warnings...)
	if err := l.probe(ctx, rec, l.judge(rec, run)); err != nil {
		return rec, err
	}
	if l.Report != nil {
		l.Report(r.Verdict)
	}
	if !l.Prove {
		return rec, nil
	}
	proveErr := l.prove(ctx, rec)
	if err := l.checkRestored(ctx, rec); err != nil && proveErr == nil {
		proveErr = err
	}
	return rec, proveErr
}

// lost is what an emulated path itself lost; nothing if nobody counts it.
func (l *Loop) lost(ctx context.Context) []string {
	if l.Lost == nil {
		return nil
	}
	return l.Lost(ctx)
}

func (l *Loop) say(format string, args ...any) {
	if l.Progress != nil {
		l.Progress(fmt.Sprintf(format, args...))
	}
}

func (l *Loop) look(ctx context.Context, into map[string]*model.Facts) error {
	for _, e := range []End{l.Sender, l.Receiver} {
		f, err := e.Agent.Facts(ctx)
		if err != nil {
			return fmt.Errorf("look at %s: %w", e.Name, err)
		}
		into[e.Name] = f
	}
	return nil
}

func (l *Loop) measure(ctx context.Context, label string, duration, warmup time.Duration) (model.Run, error) {
	return l.measureAs(ctx, l.Workload, label, duration, warmup)
}

// pair is one run of a proof.
func (l *Loop) pair(ctx context.Context, label string) (model.Run, error) {
	if l.over != nil {
		return l.over(ctx, label)
	}
	return l.measure(ctx, label, l.Timing.Pair, l.Timing.PairWarmup)
}

func (l *Loop) measureAs(ctx context.Context, w model.Workload, label string, duration, warmup time.Duration) (model.Run, error) {
	w.Sender, w.Receiver = l.Sender.Name, l.Receiver.Name
	w.From, w.To = l.Sender.Addr, l.Receiver.Addr
	w.Duration, w.Warmup = duration, warmup
	return measure.Run(ctx, w, measure.Ends{Sender: l.Sender.Agent, Receiver: l.Receiver.Agent},
		measure.Options{Label: label, Interval: 100 * time.Millisecond, Now: l.Now})
}

// judge fills in the verdict, the ladder and the findings, and returns the case that they were
// concluded from.
func (l *Loop) judge(rec *Record, run model.Run) explain.Case {
	r := &rec.Results
	c := l.caseOf(rec, run)
	for _, e := range []End{l.Sender, l.Receiver} {
		check(r, &c, rec.Facts[e.Name], rules.Context{LineRate: l.LineRate.Or(0), RTT: minRTT(run.Samples[e.Name])})
	}
	r.Verdict, rec.Case = explain.Judge(c), c
	r.Ladder = explain.Ladder(c, r.Verdict)
	return c
}

func (l *Loop) seen(rec *Record, run model.Run, e, peer End) *explain.End {
	return &explain.End{Host: e.Name, Facts: rec.Facts[e.Name], Samples: run.Samples[e.Name], Peer: peer.Addr}
}

// minRTT is the smallest RTT that any connection saw; 0 when none was timed.
func minRTT(samples []model.Sample) time.Duration {
	var best time.Duration
	for _, s := range samples {
		for _, c := range s.Conns {
			// The kernel's "not measured yet" is 2^32-1 µs.
			if c.MinRTT > 0 && c.MinRTT < time.Minute && (best == 0 || c.MinRTT < best) {
				best = c.MinRTT
			}
		}
	}
	return best
}
