package frames

import (
	"fmt"
	"slices"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// Verdict is what a format is on a target.
type Verdict string

// Sustained: every frame in time. Drops: some were not. Behind: this host's page
// cache took what the storage did not, which would have shown in a longer recording.
// Impossible: the streams need more than the line carries, whatever the storage.
const (
	Sustained  Verdict = "sustained"
	Drops      Verdict = "drops"
	Behind     Verdict = "behind"
	Impossible Verdict = "impossible"
)

// Second is what happened to the frames that were due in one second.
type Second struct {
	Frames  int           `json:"frames"` // moved in time
	Dropped int           `json:"dropped"`
	Max     time.Duration `json:"max_frame_ns"`
}

// Summary is a run in figures.
type Summary struct {
	Frames   int64 // that were moved in time
	Dropped  int64
	Failed   int64
	BytesPer float64 // bytes per second of frames moved in time
	// Latency counts from when a frame was due, Service from when it was begun;
	// nil: no frame was moved.
	Latency, Service *block.Quantiles
	PerSecond        []Second
	Verdict          Verdict
	GeneratorLimited bool
	FromCache        *float64 // the least share; nil: nothing was played, or not known
	Evidence         []string
}

// makingShare of a stream's time from which on it is the content, and not the
// target, that frames may have waited for.
const makingShare = 0.5

// Summarise is pure. line is what the link carries at most; 0: not stated.
func Summarise(s Spec, r Result, line unit.BitRate) Summary {
	var out Summary
	var latency, service []time.Duration
	out.PerSecond = []Second{}
	for _, stream := range r.Streams {
		for _, f := range stream {
			out.count(f)
			if f.Took > 0 && !f.Failed {
				latency, service = append(latency, f.Took), append(service, f.Service)
			}
		}
	}
	out.Latency, out.Service = quantiles(latency), quantiles(service)
	if r.Took > 0 {
		out.BytesPer = float64(out.Frames) * float64(s.Format.Bytes) / r.Took.Seconds()
	}
	out.judge(s, r, line)
	out.doubt(s, r)
	return out
}

func (o *Summary) count(f Frame) {
	i := int(f.Due / time.Second)
	for len(o.PerSecond) <= i {
		o.PerSecond = append(o.PerSecond, Second{})
	}
	sec := &o.PerSecond[i]
	sec.Max = max(sec.Max, f.Took)
	switch {
	case f.Failed:
		o.Failed++
	case f.Dropped:
		o.Dropped++
	default:
		o.Frames++
		sec.Frames++
		return
	}
	sec.Dropped++
}

func quantiles(d []time.Duration) *block.Quantiles {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	at := func(q float64) int64 { return int64(stat.NearestRank(d, q)) }
	return &block.Quantiles{N: int64(len(d)), P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: int64(d[len(d)-1])}
}

func (o *Summary) judge(s Spec, r Result, line unit.BitRate) {
	behind := s.Rate.At(s.Buffer)
	asks := fmt.Sprintf("%d × %d bytes × 8 × %s frames per second = %v", s.Streams, int64(s.Format.Bytes), s.Rate, s.Asks())
	switch {
	case line > 0 && s.Asks() > line:
		o.Verdict = Impossible
		o.Evidence = append(o.Evidence, fmt.Sprintf("%s, and the line carries %v", asks, line))
		return
	case o.Dropped+o.Failed > 0:
		o.Verdict = Drops
	case r.Flush > behind && !s.Direct:
		o.Verdict = Behind
		o.Evidence = append(o.Evidence, fmt.Sprintf("after the last frame it took %v until the storage had all of them: the page cache hid that much, and the buffer holds %v", r.Flush.Round(time.Millisecond), behind))
	default:
		o.Verdict = Sustained
	}
	if s.Direct && r.Flush > behind {
		o.Evidence = append(o.Evidence, fmt.Sprintf("the sync at the end took %v: a cache of the target has taken what it had not stored", r.Flush.Round(time.Millisecond)))
	}
	o.Evidence = append(o.Evidence, "the streams ask for "+asks)
}

func (o *Summary) doubt(s Spec, r Result) {
	for _, err := range r.Errors {
		o.Evidence = append(o.Evidence, "frames failed: "+err)
	}
	if all := r.Took * time.Duration(max(len(r.Streams), 1)); all > 0 && !s.Play {
		share := r.Making.Seconds() / all.Seconds()
		o.GeneratorLimited = share > makingShare
		o.Evidence = append(o.Evidence, fmt.Sprintf("making the frames took %.1f%% of the streams' time", 100*share))
	}
	if !s.Play {
		return
	}
	if r.Kept != "" {
		o.Evidence = append(o.Evidence, "the page cache was not dropped before: "+r.Kept)
	}
	if played := float64(o.Frames+o.Dropped) * float64(s.Format.Bytes); r.Fetched >= 0 && played > 0 {
		share := max(0, 1-float64(r.Fetched)/played)
		o.FromCache = &share
		if share > 0.05 {
			o.Evidence = append(o.Evidence, fmt.Sprintf("at least %.0f%% of what was played came from this host's page cache, not from the target", 100*share))
		}
	}
}
