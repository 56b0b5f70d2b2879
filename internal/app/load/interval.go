package load

import (
	"time"

	"linerate/internal/app"
	"linerate/internal/load/worker"
	"linerate/internal/unit"
)

// Interval is what a load did in a part of its time.
type Interval struct {
	V    int    `json:"v"`
	Work string `json:"work"`
	// At is its end, from when the load was seen to begin, warm-up included.
	At time.Duration `json:"at_ns"`
	// For is how long it was: about what was asked for.
	For       time.Duration `json:"for_ns"`
	BytesPerS float64       `json:"bytes_per_s"`
	// IOPS and Longest are of requests; null and 0 for TCP, which has none.
	IOPS    *float64      `json:"iops"`
	Longest time.Duration `json:"max_latency_ns,omitempty"`
	// HeldBy is what most of the waiting was for, as far as it was seen.
	HeldBy string `json:"held_by,omitempty"`
}

// Watcher is a Progress that wants every interval of a load.
type Watcher interface {
	app.Progress
	Every() time.Duration // above 0
	Interval(Interval)
}

// watching is how often p is told, and the Watcher that it may be; 0: nobody watches.
func watching(p app.Progress) (time.Duration, Watcher) {
	if w, ok := p.(Watcher); ok && w.Every() > 0 {
		return w.Every(), w
	}
	if !p.Live() {
		return 0, nil
	}
	return watchEvery, nil
}

// intervalOf is what was done since before.
func intervalOf(work string, all, before worker.Work, at, while time.Duration) Interval {
	iops := float64(all.Requests-before.Requests) / while.Seconds()
	return Interval{V: 1, Work: work, At: at, For: while, IOPS: &iops, Longest: all.Longest, HeldBy: all.HeldBy,
		BytesPerS: float64(all.Bytes-before.Bytes) / while.Seconds()}
}

// String is the interval for a log.
func (i Interval) String() string {
	if i.IOPS == nil {
		return unit.BitRate(8*i.BytesPerS).String() + leftText(0, i.HeldBy)
	}
	return runText(worker.Work{Requests: int64(*i.IOPS * i.For.Seconds()), Bytes: int64(i.BytesPerS * i.For.Seconds()), Longest: i.Longest, HeldBy: i.HeldBy}, worker.Work{}, i.For, 0)
}
