package watch

import (
	"math"
	"slices"
	"time"

	"linerate/internal/model"
)

// clockSlack is the largest difference between the steps of a host's clock and of the
// controller's from one sample to the next that delays explain. Beyond it the host's clock was
// set.
const clockSlack = time.Second

// Window keeps the newest samples of one host, placed on the controller's clock. The zero value
// with a Span is ready.
type Window struct {
	Span time.Duration
	// Jumps is by how much the host's clock was set while it was watched, summed.
	Jumps time.Duration

	samples []model.Sample
	arrived []time.Duration
}

// Add takes the next sample of the host, that came in at a time of the controller's clock, counted
// from any beginning that is the same for all hosts. The sample's place is that of the host's own
// clock, which is read when the counters are; where that clock was set, the time of arrival counts.
func (w *Window) Add(s model.Sample, arrived time.Duration) {
	if n := len(w.samples); n == 0 {
		s.At = arrived
	} else {
		last := w.samples[n-1]
		gap, passed := s.HostAt.Sub(last.HostAt), arrived-w.arrived[n-1]
		if d := gap - passed; d > clockSlack || d < -clockSlack || gap <= 0 {
			w.Jumps += gap - passed
			gap = max(passed, time.Millisecond)
		}
		s.At = last.At + gap
	}
	w.samples, w.arrived = append(w.samples, s), append(w.arrived, arrived)
	w.place()
	w.forget(w.samples[len(w.samples)-1].At - w.Span)
}

// place shifts all samples by one offset, with which the sample that had the shortest delay
// lies at its time of arrival: the others were delayed longer on their way. The offset follows
// the drift between the two clocks, too.
func (w *Window) place() {
	quickest := time.Duration(math.MaxInt64)
	for i := range w.samples {
		quickest = min(quickest, w.arrived[i]-w.samples[i].At)
	}
	for i := range w.samples {
		w.samples[i].At += quickest
	}
}

// forget drops what is older than a time, but for one sample to count from.
func (w *Window) forget(before time.Duration) {
	n := 0
	for n+1 < len(w.samples) && w.samples[n+1].At <= before {
		n++
	}
	if n > 0 {
		w.samples, w.arrived = slices.Delete(w.samples, 0, n), slices.Delete(w.arrived, 0, n)
	}
}

// Samples are those that the window keeps, oldest first. The caller may change the list and the
// times in it, not what the samples point to.
func (w *Window) Samples() []model.Sample { return slices.Clone(w.samples) }

// Last is when the newest sample came in; false before the first.
func (w *Window) Last() (time.Duration, bool) {
	if len(w.arrived) == 0 {
		return 0, false
	}
	return w.arrived[len(w.arrived)-1], true
}

// Covers is the time between the oldest sample and the newest.
func (w *Window) Covers() time.Duration {
	if len(w.samples) == 0 {
		return 0
	}
	return w.samples[len(w.samples)-1].At - w.samples[0].At
}

// Clear forgets all samples: after a gap nothing is counted across it.
func (w *Window) Clear() { w.samples, w.arrived = nil, nil }

// Newest is the newest sample's time by the host's own clock; false before the first.
func (w *Window) Newest() (time.Time, bool) {
	if len(w.samples) == 0 {
		return time.Time{}, false
	}
	return w.samples[len(w.samples)-1].HostAt, true
}
