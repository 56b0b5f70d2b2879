package load

import (
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/model"
)

// courses returns rate and latency over time, of all hosts together and, if there are several, of each.
func (r *BlockResult) courses() []model.LoadSeries {
	each, name := max(r.Each, 1), r.Load.Workload
	latency := name + ": latency"
	out := []model.LoadSeries{
		course("", name, "B/s", each, r.PerSecond, bytesOf(each)),
		course(latency, "longest", "ms", each, r.PerSecond, longestOf),
		course(latency, "mean", "ms", each, r.PerSecond, meanOf),
	}
	out[1].Most = true
	if c := r.Load.Change; c != nil {
		out[0].Change = &model.LoadChange{At: c.At, Before: c.Before, Behind: c.Behind}
	}
	rates, longest := name+": each host", name+": longest latency on each host"
	for i, all := range r.ofHosts {
		points, each := block.Bound(all, block.MaxPoints)
		out = append(out, course(rates, r.Hosts[i].Name, "B/s", each, points, bytesOf(each)))
	}
	for i, all := range r.ofHosts {
		points, each := block.Bound(all, block.MaxPoints)
		one := course(longest, r.Hosts[i].Name, "ms", each, points, longestOf)
		one.Most = true
		out = append(out, one)
	}
	return out
}

func course[T any](figure, name, unit string, each int, points []T, of func(T) float64) model.LoadSeries {
	s := model.LoadSeries{Figure: figure, Name: name, Unit: unit, Each: each, Values: make([]float64, 0, len(points))}
	for _, p := range points {
		s.Values = append(s.Values, of(p))
	}
	return s
}

func bytesOf(each int) func(block.Second) float64 {
	return func(s block.Second) float64 { return float64(s.ReadBytes+s.WrittenBytes) / float64(each) }
}

func longestOf(s block.Second) float64 { return milliseconds(s.MaxLatency) }

// meanOf is the mean latency; 0 if no request ended in that second.
func meanOf(s block.Second) float64 {
	return milliseconds(s.SumLatency) / float64(max(s.Reads+s.Writes, 1))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// courses returns the payload over time of each direction, if there are several.
func (r *TCPResult) courses() (out []model.LoadSeries) {
	if len(r.Directions) < 2 {
		return nil
	}
	for _, d := range r.Directions {
		out = append(out, course("payload of each direction", d.From+" → "+d.To, "bit/s", 1, d.PerSecond, func(n int64) float64 { return float64(n) * 8 }))
	}
	return out
}

// courses returns how the frames fared, by the second in which they were due.
func (r *FramesResult) courses() []model.LoadSeries {
	out := []model.LoadSeries{
		course("frames", "in time", "frames", 1, r.PerSecond, func(s frames.Second) float64 { return float64(s.Frames) }),
		course("frames", "dropped", "frames", 1, r.PerSecond, func(s frames.Second) float64 { return float64(s.Dropped) }),
		course("", "longest frame", "ms", 1, r.PerSecond, func(s frames.Second) float64 { return milliseconds(s.Max) }),
	}
	out[2].Most = true
	return out
}
