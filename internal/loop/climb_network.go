package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// inside measures each host by itself: memory and loopback. The slower host is the rung's
// value.
func (c *Climb) inside(ctx context.Context) {
	c.slower(ctx, explain.RungMemory, c.copyMemory)
	c.slower(ctx, explain.RungLoopback, c.loopback)
}

// slower measures both hosts and keeps the lower rate.
func (c *Climb) slower(ctx context.Context, name string, measured func(ctx context.Context, e End) (unit.BitRate, string, error)) {
	c.expect(name)
	var rate unit.BitRate
	var methods []string
	for _, e := range c.ends() {
		r, method, err := measured(ctx, e)
		if err != nil {
			c.missed(name, fmt.Errorf("%s: %w", e.Name, err))
			return
		}
		if rate == 0 || r < rate {
			rate = r
		}
		methods = append(methods, fmt.Sprintf("%s %s: %s", e.Name, r, method))
	}
	c.reached(name, rate, strings.Join(methods, "; "))
}

func (c *Climb) copyMemory(ctx context.Context, e End) (unit.BitRate, string, error) {
	f := c.rec.Facts[e.Name]
	spec := load.Spec{Role: load.Copy, Duration: c.Rungs.Copy, CPUs: f.CPUs}
	c.say("load: one core of %s copies memory for %v", e.Name, c.Rungs.Copy)
	res, err := c.local(ctx, e, spec, func(worker.Event) error { return nil })
	if err != nil {
		return 0, "", err
	}
	rate := rateOf(res)
	near := unit.BitRate(res.Alone.InCache * 8)
	c.ground.Copy[e.Name] = rate
	if near > 0 {
		c.ground.CopyNear[e.Name] = near
	}
	return rate, fmt.Sprintf("%s, %s within its caches, of %s", res.Alone.Method, near, unit.CountInWords(len(f.CPUs), "core")), nil
}

// smallWrite is the payload of one segment: writes of this size make the stack handle packets
// of that size.
const smallWrite = 1448

// loopback runs TCP inside a host, with large and with small packets: their
// difference is what a packet costs.
func (c *Climb) loopback(ctx context.Context, e End) (unit.BitRate, string, error) {
	cpus := c.rec.Facts[e.Name].CPUs
	w := model.Workload{Streams: 1, From: loopbackAddr(), To: loopbackAddr()}
	method := "both ends on one core"
	if len(cpus) > 0 {
		w.SenderCPUs, w.ReceiverCPUs = cpus[:1], cpus[len(cpus)-1:]
	}
	if len(cpus) > 1 {
		method = "each end on a core of its own"
	}
	var runs []explain.LoopRun
	for _, size := range []unit.Bytes{0, smallWrite} {
		w.WriteSize = size
		c.say("load: TCP inside %s for %v", e.Name, c.Rungs.Loopback)
		run, err := c.tcp(ctx, "loopback "+e.Name, e, e, w, c.Rungs.Loopback, c.Rungs.Loopback/4, nil)
		if err != nil {
			return 0, "", err
		}
		packet := unit.Bytes(64 << 10)
		if size > 0 {
			packet = size
		}
		runs = append(runs, explain.LoopRun{Rate: run.Goodput, Packet: packet, Share: explain.BusiestShare(run.Samples[e.Name], c.Rungs.Loopback/4)})
	}
	if cost, ok := explain.CostOf(runs[0], runs[1]); ok {
		c.ground.Cost[e.Name] = cost
		method += fmt.Sprintf(", the busier thread at %.3g ns/B and %.3g µs per packet", cost.PerByte*1e9, cost.PerPacket*1e6)
	}
	return runs[0].Rate, method, nil
}

// tcp is one run between two ends.
func (c *Climb) tcp(ctx context.Context, label string, from, to End, w model.Workload, d, warmup time.Duration, each func(string, model.Sample)) (model.Run, error) {
	w.Sender, w.Receiver, w.Duration, w.Warmup = from.Name, to.Name, d, warmup
	return measure.Run(ctx, w, measure.Ends{Sender: from.Agent, Receiver: to.Agent},
		measure.Options{Label: label, Interval: sampleInterval, Now: c.Now, Each: each})
}

// judged is a verdict with the case that it was concluded from.
type judged struct {
	kase    explain.Case
	verdict model.Verdict
}

func judge(c explain.Case) judged { return judged{c, explain.Judge(c)} }

// after judges again with the result of one more probe.
func (j judged) after(t explain.Trial) judged {
	j.kase.Trials = append(slices.Clone(j.kase.Trials), t)
	return judge(j.kase)
}

// network measures the rungs of the link and returns their judgement.
func (c *Climb) network(ctx context.Context) (judged, error) {
	diagnosed := explain.RungStream
	if c.Workload.Streams > 1 {
		diagnosed = explain.RungStreams
	}
	if err := c.trickle(ctx); err != nil {
		return c.unreachedOr(ctx, err)
	}
	c.cross(ctx)
	var found judged
	seen := false
	for _, name := range []string{explain.RungStream, explain.RungStreams, explain.RungReverse} {
		var run model.Run
		err := c.load(ctx, name, func(ctx context.Context) (err error) {
			run, err = c.streams(ctx, name, name == diagnosed)
			return err
		})
		if plan, ok := explain.PlanSeveral(found.verdict, 1); ok && name == explain.RungStreams && diagnosed == explain.RungStream && err == nil {
			plan.Streams = c.Streams // this rung serves as the probe
			found = found.after(plan.Seen(c.caseSeen(run, false)))
		}
		if name != diagnosed {
			continue
		}
		if err != nil && c.stopped == nil {
			return c.unreachedOr(ctx, fmt.Errorf("run the workload: %w", err))
		}
		if seen = len(run.Samples[c.Sender.Name]) >= leastSamples; seen {
			found = judge(c.caseSeen(run, false))
		}
		if seen && c.stopped == nil {
			if err := c.probed(ctx, &found); err != nil {
				return found, err
			}
		}
	}
	if !seen {
		return c.passive(ctx)
	}
	return found, nil
}

// unreachedOr judges err if it says that no connection came up, and returns it
// otherwise.
func (c *Climb) unreachedOr(ctx context.Context, err error) (judged, error) {
	j, ok := c.unreached(ctx, c.rec, err)
	if !ok {
		return judged{}, err
	}
	c.down(*j.kase.Unreached)
	return j, nil
}

// probed runs the probes that the verdict calls for, under guard. One that has to stop does not
// change the judgement.
func (c *Climb) probed(ctx context.Context, j *judged) error {
	during := ""
	found, err := c.Loop.probes(ctx, c.rec, *j, func(ctx context.Context, label string, w model.Workload, d, warmup time.Duration) (run model.Run, err error) {
		during = label
		err = c.guarded(ctx, func(ctx context.Context, each func(string, model.Sample)) (err error) {
			run, err = c.tcp(ctx, label, c.Sender, c.Receiver, w, d, warmup, each)
			return err
		})
		return run, err
	})
	*j = found
	var stopped *measure.StoppedError
	if errors.As(err, &stopped) {
		c.stop("the probe ("+during+")", stopped)
		return nil
	}
	return err
}

// leastSamples is the number of samples from which a run that was stopped is judged.
const leastSamples = 20

// trickle sends at a very low rate, to learn RTT, MSS and options of a connection before the
// link is loaded.
func (c *Climb) trickle(ctx context.Context) error {
	c.say("load: 1 Mbit/s from %s to %s for %v, to learn the round trip", c.Sender.Name, c.Receiver.Name, c.Rungs.Trickle)
	w := model.Workload{Streams: 1, SourceUse: model.SourceUse{Rate: unit.Mbit}, From: c.Sender.Addr, To: c.Receiver.Addr}
	run, err := c.tcp(ctx, "trickle", c.Sender, c.Receiver, w, c.Rungs.Trickle, c.Rungs.Trickle/10, nil)
	if err != nil {
		return fmt.Errorf("learn the round trip: %w", err)
	}
	c.rec.Results.Runs = append(c.rec.Results.Runs, run)
	c.ground.Sender.Samples, c.ground.Receiver.Samples = run.Samples[c.Sender.Name], run.Samples[c.Receiver.Name]
	c.ground.RTT = minRTT(run.Samples[c.Sender.Name])
	return nil
}

// streams runs one rung of the link.
func (c *Climb) streams(ctx context.Context, name string, diagnosis bool) (model.Run, error) {
	from, to, w := c.Sender, c.Receiver, c.Workload
	if w.Streams = c.Streams; name == explain.RungStream {
		w.Streams = 1
	}
	if name == explain.RungReverse {
		from, to, w.SenderCPUs, w.ReceiverCPUs = to, from, w.ReceiverCPUs, w.SenderCPUs
	}
	w.From, w.To = from.Addr, to.Addr
	label, d, warmup := name, c.Rungs.Streams, c.Rungs.Streams/3
	if diagnosis {
		label, d, warmup = "diagnosis", c.Timing.Diagnosis, c.Timing.DiagnosisWarmup
	}
	if err := c.quiet(ctx); err != nil {
		return model.Run{}, err
	}
	c.say("load: %s at full speed from %s to %s for %v", unit.CountInWords(w.Streams, "TCP stream"), from.Name, to.Name, d)
	var run model.Run
	err := c.guarded(ctx, func(ctx context.Context, each func(string, model.Sample)) (err error) {
		run, err = c.tcp(ctx, label, from, to, w, d, warmup, each)
		return err
	})
	var stopped *measure.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		return run, err
	}
	c.rec.Results.Runs = append(c.rec.Results.Runs, run)
	if err != nil {
		return run, err
	}
	c.rec.Results.Warnings = append(c.rec.Results.Warnings, run.Warnings...)
	c.reached(name, run.Goodput, fmt.Sprintf("%s from %s to %s, memory to memory, for %v after %v of warm-up", unit.CountInWords(w.Streams, "TCP stream"), from.Name, to.Name, d-warmup, warmup))
	return run, nil
}
