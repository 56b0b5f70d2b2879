package measure

import (
	"sort"
	"time"

	"linerate/internal/model"
)

// clockSlack is by how much more or less a host's clock may go between two samples than the time since
// its agent's start, before it is taken to have been set. Both are read one right after the other.
const clockSlack = 100 * time.Millisecond

// setBetween is by how much a host's clock was set ahead between two samples that follow each other; 0: it
// was not. It is no sum over many, which a clock that an NTP daemon slews would reach in the end.
func setBetween(a, b model.Sample) time.Duration {
	own := b.At - a.At
	if set := b.HostAt.Sub(a.HostAt) - own; own > 0 && set.Abs() > clockSlack {
		return set
	}
	return 0
}

// setAmong is the sum of the steps by which a host's clock was set while its samples were taken.
func setAmong(in []model.Sample) time.Duration {
	var sum time.Duration
	for i := 1; i < len(in); i++ {
		sum += setBetween(in[i-1], in[i])
	}
	return sum
}

// Place converts samples to the controller's clock, as time since the start of the run, sorts
// them, and leaves out those after its end. Their At is the time since their agent's start, which
// no setting of the clock moves: it places those that were taken after the clock was set.
func Place(in []model.Sample, c model.Clock, start time.Time, end time.Duration) []model.Sample {
	out := make([]model.Sample, 0, len(in))
	var set time.Duration
	for i, s := range in {
		if i > 0 {
			set += setBetween(in[i-1], s)
		}
		s.At = s.HostAt.Add(-set - c.Offset).Sub(start)
		if c.Drift != nil {
			s.At -= time.Duration(float64(s.At) * *c.Drift / 1e6)
		}
		if s.At <= end {
			out = append(out, s)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].At < out[j].At })
	return out
}
