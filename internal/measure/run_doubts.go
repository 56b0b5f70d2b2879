package measure

import (
	"fmt"
	"slices"
	"time"

	"linerate/internal/load"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// doubts are the reasons to distrust the run.
func (r *running) doubts(sent, got load.Result) []model.Warning {
	var out []model.Warning
	out = append(out, doubtBytes(sent, got)...)
	if r.w.CC != "" && r.cc != "" && r.cc != r.w.CC {
		out = append(out, model.Warning{
			ID: "cc-differs", What: fmt.Sprintf("the source ran %s, not %s as asked", r.cc, r.w.CC),
			Next: "see which ones the sender has: sysctl net.ipv4.tcp_available_congestion_control",
		})
	}
	if got.Discard {
		out = append(out, model.Warning{
			ID: "discard", What: "received data was dropped in the kernel, which no real receiver does",
			Next: "take the figure as a bound, or run without discard",
		})
	}
	if got.Refused+got.Evicted > 0 {
		out = append(out, model.Warning{
			ID: "strangers", What: fmt.Sprintf("another host or process connected to the sink on %s", r.w.Receiver),
			Evidence: fmt.Sprintf("%d connections refused, %d evicted", got.Refused, got.Evicted),
			Next:     "find out who scans the data network; the run itself was not touched",
		})
	}
	out = append(out, r.doubtBefore()...)
	for _, e := range r.hosts() {
		if set := r.clocksSet[e.name]; set != 0 {
			out = append(out, model.Warning{
				ID: "clock-set", What: fmt.Sprintf("the clock of %s was set during the run", e.name),
				Evidence: fmt.Sprintf("what it differs by from this machine's changed by %v", set.Round(time.Millisecond)),
				Next:     "see what sets that clock, and run again once it is steady: its drift is not known",
			})
		}
		if slices.Contains(r.run.Unsampled, e.name) {
			continue
		}
		samples := r.run.Samples[e.name]
		out = append(out, doubtSampling(e.name, samples, r.o.Interval, r.w.Duration)...)
		out = append(out, doubtGenerator(e.name, samples, e.worker.PID(), r.w.Warmup)...)
		if c := r.run.Clocks[e.name]; c.Error > r.o.Interval {
			out = append(out, model.Warning{
				ID: "clock-uncertain", What: fmt.Sprintf("the clock of %s is known to ±%v only, samples are %v apart", e.name, c.Error, r.o.Interval),
				Next: "do not compare single samples of the two ends",
			})
		}
	}
	return out
}

// earlyShare of what a run moved makes a difference if it came in before the window.
const earlyShare = 0.005

// doubtBefore: what waited to be read when the window began counts as moved in it, though
// it had come in before, and what waits in the end does not. In a short run that can show
// more than the link carries.
func (r *running) doubtBefore() []model.Warning {
	at, left := int64(-1), int64(0)
	for _, s := range r.run.Samples[r.w.Receiver] {
		waiting := int64(0)
		for _, c := range s.Conns {
			waiting += c.RecvQ
		}
		if s.At <= r.w.Warmup || at < 0 {
			at = waiting
		}
		left = waiting
	}
	more := float64(at - left)
	if at < 0 || !(more > earlyShare*float64(r.run.Bytes)) || r.run.Window <= 0 {
		return nil
	}
	fewer := unit.BitRate(max(0, float64(r.run.Bytes)-more) * 8 / r.run.Window.Seconds())
	return []model.Warning{{
		ID: "waited-before", What: fmt.Sprintf("%s were read within the measured time that had come in before it: the path itself carried about %s", unit.Bytes(more), fewer),
		Evidence: fmt.Sprintf("%s waited in the receive queue of %s when the measured time began, %s when it ended", unit.Bytes(at), r.w.Receiver, unit.Bytes(left)),
		Next:     "take the lower rate, or run for longer: the difference is the same however long a run is",
	}}
}

func doubtBytes(sent, got load.Result) []model.Warning {
	var out []model.Warning
	if sent.Early || got.Early {
		out = append(out, model.Warning{
			ID: "ended-early", What: "the streams ended before the run was over", Evidence: firstStreamError(sent, got),
			Next: "see whether a middlebox or an administrator cut the connection, and run again",
		})
	}
	// Only the source's queue and the sink's receive buffer lie between what was sent and what
	// was received.
	missing := sent.Bytes - sent.Unacked - got.Bytes
	if got.Bytes > sent.Bytes || got.RecvSpace > 0 && missing > got.RecvSpace {
		out = append(out, model.Warning{
			ID: "bytes-differ", What: "the ends do not agree on what was moved",
			Evidence: fmt.Sprintf("%d bytes sent, %d of them not acknowledged, %d received, receive space %d", sent.Bytes, sent.Unacked, got.Bytes, got.RecvSpace),
			Next:     "a proxy or accelerator may answer for the receiver: look at the path",
		})
	}
	return out
}

func firstStreamError(results ...load.Result) string {
	for _, r := range results {
		for i, s := range r.Streams {
			if s.Error != "" {
				return fmt.Sprintf("stream %d: %s", i, s.Error)
			}
		}
	}
	return ""
}

// doubtSampling finds gaps in the samples.
func doubtSampling(host string, samples []model.Sample, interval, duration time.Duration) []model.Warning {
	var widest, at, last time.Duration
	n := 0
	for _, s := range samples {
		if s.At < 0 {
			continue
		}
		if gap := s.At - last; gap > widest {
			widest, at = gap, last
		}
		last = s.At
		n++
	}
	if gap := duration - last; gap > widest {
		widest, at = gap, last
	}
	if widest <= 3*interval {
		return nil
	}
	return []model.Warning{{
		ID: "sampling-gap", What: fmt.Sprintf("%s was not sampled for %v, from %v on", host, widest.Round(time.Millisecond), at.Round(time.Millisecond)),
		Evidence: fmt.Sprintf("%d samples, %v asked between two", n, interval),
		Next:     "see what keeps that host so busy; conclusions rest on the rest of the run",
	}}
}

// saturated is the share of one core from which on the generator itself may be the limit.
const saturated = 0.95

// doubtGenerator finds a generator thread that used a whole core.
func doubtGenerator(host string, samples []model.Sample, pid int, warmup time.Duration) []model.Warning {
	type reading struct {
		at  time.Duration
		cpu time.Duration
	}
	first, last := map[int]reading{}, map[int]reading{}
	for _, s := range samples {
		if s.At < warmup {
			continue
		}
		for _, t := range s.Tasks {
			if t.PID != pid {
				continue
			}
			if _, ok := first[t.TID]; !ok {
				first[t.TID] = reading{s.At, t.CPU}
			}
			last[t.TID] = reading{s.At, t.CPU}
		}
	}
	busiest := 0.0
	for tid, l := range last {
		if d := l.at - first[tid].at; d > 0 {
			busiest = max(busiest, float64(l.cpu-first[tid].cpu)/float64(d))
		}
	}
	if busiest < saturated {
		return nil
	}
	return []model.Warning{{
		ID: "generator-saturated", What: fmt.Sprintf("the load generator on %s used a whole core", host),
		Evidence: fmt.Sprintf("busiest stream: %.0f%% of a core", busiest*100),
		Next:     "use more streams, or take the figure as what one core of that host can move",
	}}
}
