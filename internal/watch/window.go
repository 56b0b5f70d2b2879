package watch

import (
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

// clockSlack: between two samples, the host's wall clock and its agent's own clock should advance
// equally. If they differ by more than this, somebody set the wall clock; less is delay.
const clockSlack = time.Second

// closest is how much later than the newest sample the next one has to be. When one sampling replaces
// another, both send for a moment. Each counts time from its own start, so of two samples within some
// milliseconds it is not known which read the counters first.
const closest = 20 * time.Millisecond

// drift is by how much two clocks may run apart: crystals are within 100 parts in a million each.
const drift = 200e-6

// Window keeps the newest samples of one host, placed on the controller's clock. The zero value
// with a Span is ready.
type Window struct {
	Span time.Duration
	// Counters names the SNMP counters that are kept from each sample; nil: all. A kernel has hundreds,
	// which are most of a sample's memory.
	Counters []string
	// Jumps is the sum of the steps by which the host's clock was set while it was watched.
	Jumps time.Duration

	samples []model.Sample
	own     []time.Duration // their times by the agent's clock, which begins at its start
	arrived time.Duration   // when the newest arrived
	base    time.Duration   // add to an agent's time to get the controller's
	// older are earlier samples, at the agent's times, with their cores and queues only. They are kept
	// while samples are partial, because they may have the earlier reading of some cores.
	older []model.Sample
}

// turnSpans is for how many Spans the reading of a core is kept while samples are partial.
const turnSpans = 6

// Add takes the next sample of the host. arrived is when it came, by the controller's clock; all hosts
// share the zero of that clock. The sample's At counts from the start of its agent, by a clock that
// nobody sets. A sample that is not clearly later than the newest was seen before and is left out:
// Add returns false. A sample that was delayed on its way is placed at the time at which it was taken.
func (w *Window) Add(s model.Sample, arrived time.Duration) bool {
	late := arrived - s.At
	if n := len(w.samples); n == 0 {
		w.base = late
	} else {
		step, wall := s.At-w.own[n-1], s.HostAt.Sub(w.samples[n-1].HostAt)
		if step <= 0 {
			return false
		}
		if set := wall - step; set.Abs() > clockSlack {
			w.Jumps += set
		} else if !s.HostAt.IsZero() && wall < closest {
			return false
		}
		if step > w.Span+w.samples[n-1].Next { // samples in between were lost: no rate is computed across the gap
			w.Clear()
		}
		// The sample with the least delay gives the offset of the clocks; others were delayed more.
		w.base = min(w.base+time.Duration(drift*float64(arrived-w.arrived)), late)
	}
	if w.Counters != nil {
		s.SNMP = some(s.SNMP, w.Counters)
		if n := len(w.samples); n > 0 && maps.Equal(s.SNMP, w.samples[n-1].SNMP) {
			s.SNMP = w.samples[n-1].SNMP // on most hosts they seldom change: share the map
		}
	}
	w.samples, w.own, w.arrived = append(w.samples, s), append(w.own, s.At), arrived
	for i := range w.samples {
		w.samples[i].At = w.own[i] + w.base
	}
	w.forget(w.samples[len(w.samples)-1].At - w.Span)
	return true
}

// some returns the counters that have one of the names; nil: none has.
func some(counters map[string]int64, names []string) (out map[string]int64) {
	for _, name := range names {
		if n, ok := counters[name]; ok {
			if out == nil {
				out = make(map[string]int64, len(names))
			}
			out[name] = n
		}
	}
	return out
}

// forget drops the samples before a time, except the last of them, from which the first rate counts.
func (w *Window) forget(before time.Duration) {
	n := 0
	for n+1 < len(w.samples) && w.samples[n+1].At <= before {
		n++
	}
	w.remember(n)
	if n > 0 {
		w.samples, w.own = slices.Delete(w.samples, 0, n), slices.Delete(w.own, 0, n)
	}
}

// remember moves the cores and queues of the first n samples, which are about to go, to older.
func (w *Window) remember(n int) {
	if !partial(w.samples) {
		w.older = nil
		return
	}
	for i, s := range w.samples[:n] {
		if !s.Partial { // it has a later reading of everything
			w.older = nil
		}
		w.older = append(w.older, model.Sample{At: w.own[i], CPUs: s.CPUs, Softnet: s.Softnet, Queues: s.Queues, Partial: s.Partial})
	}
	for len(w.older) > 1 && w.older[0].At < w.own[len(w.own)-1]-turnSpans*w.Span {
		w.older = w.older[1:]
	}
}

// Samples returns the samples in the window, oldest first. The caller may change the list and the
// times in it, but not what the samples point to.
func (w *Window) Samples() []model.Sample { return slices.Clone(w.samples) }

// Older returns samples from before the window, oldest first, with their cores and queues only. It is
// empty unless the host's samples are partial.
func (w *Window) Older() []model.Sample {
	out := slices.Clone(w.older)
	for i := range out {
		out[i].At += w.base
	}
	return out
}

// Own returns the samples with their times by the agent's clock; add Base to get the controller's.
func (w *Window) Own() []model.Sample {
	out := slices.Clone(w.samples)
	for i := range out {
		out[i].At = w.own[i]
	}
	return out
}

// Base is the offset from the agent's clock to the controller's.
func (w *Window) Base() time.Duration { return w.base }

// Newest is the newest sample with its time by the agent's clock; the window must not be empty.
func (w *Window) Newest() model.Sample {
	s := w.samples[len(w.samples)-1]
	s.At = w.own[len(w.own)-1]
	return s
}

// Last is when the newest sample was taken; false before the first.
func (w *Window) Last() (time.Duration, bool) {
	if len(w.samples) == 0 {
		return 0, false
	}
	return w.samples[len(w.samples)-1].At, true
}

// Next is how long after the newest sample its host takes the next, where it said so.
func (w *Window) Next() time.Duration {
	if len(w.samples) == 0 {
		return 0
	}
	return w.samples[len(w.samples)-1].Next
}

// Len is how many samples the window keeps.
func (w *Window) Len() int { return len(w.samples) }

// Covers is the time between the oldest sample and the newest.
func (w *Window) Covers() time.Duration {
	if len(w.samples) == 0 {
		return 0
	}
	return w.samples[len(w.samples)-1].At - w.samples[0].At
}

// Recent is the number of samples in the newest part of the window.
func (w *Window) Recent(long time.Duration) (n int) {
	for i := len(w.samples) - 1; i >= 0 && w.samples[len(w.samples)-1].At-w.samples[i].At < long; i-- {
		n++
	}
	return n
}

// Clear drops all samples, so that no rate is computed across a gap.
func (w *Window) Clear() { w.samples, w.own, w.older = nil, nil, nil }
