package watch

import (
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

// clockSlack is the largest difference between the steps of a host's wall clock and of the time
// since its agent began that delays explain. Beyond it the wall clock was set.
const clockSlack = time.Second

// closest is how much later than the newest a sample has to be. Where one sampling takes the place of
// another both send for a moment, and their times since the agent began differ by the milliseconds that
// each took to begin: the later one may have read the counters first.
const closest = 20 * time.Millisecond

// drift is by how much two clocks that nobody sets may run apart; crystals are within 100 parts in a
// million.
const drift = 200e-6

// Window keeps the newest samples of one host, placed on the controller's clock. The zero value
// with a Span is ready.
type Window struct {
	Span time.Duration
	// Counters are the names of the SNMP counters that are kept of a sample; nil: all of them. A kernel
	// has hundreds, which are most of what a sample takes.
	Counters []string
	// Jumps is by how much the host's clock was set while it was watched, summed.
	Jumps time.Duration

	samples []model.Sample
	own     []time.Duration // their times since the host's agent began
	arrived time.Duration   // of the newest
	base    time.Duration   // what lies between those times and the controller's
	// older has of samples before those what they tell of cores and queues, as far as others tell of them
	// in turns, at their own times.
	older []model.Sample
}

// turnSpans is for how many Spans what was told of a core in turns is remembered.
const turnSpans = 6

// Add takes the next sample of the host, that came in at a time of the controller's clock, counted
// from any beginning that is the same for all hosts. The sample's own time is At, counted from the
// beginning of its agent by a clock that nobody sets; one that is not later than the newest, or hardly,
// was seen before, and is left out: false. A sample that was long on its way lies where it was taken.
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
		if step > w.Span+w.samples[n-1].Next { // what is between was lost: nothing is counted across it
			w.Clear()
		}
		// The quickest sample tells what lies between the clocks: others were delayed on their way.
		w.base = min(w.base+time.Duration(drift*float64(arrived-w.arrived)), late)
	}
	if w.Counters != nil {
		s.SNMP = some(s.SNMP, w.Counters)
		if n := len(w.samples); n > 0 && maps.Equal(s.SNMP, w.samples[n-1].SNMP) {
			s.SNMP = w.samples[n-1].SNMP // of most hosts they stand still
		}
	}
	w.samples, w.own, w.arrived = append(w.samples, s), append(w.own, s.At), arrived
	for i := range w.samples {
		w.samples[i].At = w.own[i] + w.base
	}
	w.forget(w.samples[len(w.samples)-1].At - w.Span)
	return true
}

// some are those counters that have one of the names; none: nil.
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

// forget drops what is older than a time, but for one sample to count from.
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

// remember keeps of the first n samples, which are to be forgotten, what the others may lack.
func (w *Window) remember(n int) {
	if !partial(w.samples) {
		w.older = nil
		return
	}
	for i, s := range w.samples[:n] {
		if !s.Partial { // it tells all, and later
			w.older = nil
		}
		w.older = append(w.older, model.Sample{At: w.own[i], CPUs: s.CPUs, Softnet: s.Softnet, Queues: s.Queues, Partial: s.Partial})
	}
	for len(w.older) > 1 && w.older[0].At < w.own[len(w.own)-1]-turnSpans*w.Span {
		w.older = w.older[1:]
	}
}

// Samples are those that the window keeps, oldest first. The caller may change the list and the
// times in it, not what the samples point to.
func (w *Window) Samples() []model.Sample { return slices.Clone(w.samples) }

// Older are samples before those, oldest first, that have nothing but what they tell of cores and
// queues: that of hosts which tell of them in turns.
func (w *Window) Older() []model.Sample {
	out := slices.Clone(w.older)
	for i := range out {
		out[i].At += w.base
	}
	return out
}

// Own are the samples with the times that they came with; Base is what lies between those and the
// controller's.
func (w *Window) Own() []model.Sample {
	out := slices.Clone(w.samples)
	for i := range out {
		out[i].At = w.own[i]
	}
	return out
}

// Base is what lies between the times that samples came with and those of the controller.
func (w *Window) Base() time.Duration { return w.base }

// Newest is the newest sample with the time that it came with; there has to be one.
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

// Clear forgets all samples: after a gap nothing is counted across it.
func (w *Window) Clear() { w.samples, w.own, w.older = nil, nil, nil }
