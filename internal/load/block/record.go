package block

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is the largest latency that a histogram holds; a longer one counts
// as it, while the maximum is kept exactly.
const Longest = time.Hour

// digits of a histogram: 3 keep the error of a value below 0.1%.
const digits = 3

// Times are the latencies of requests of one kind, mergeable.
type Times struct {
	Histogram *hdrhistogram.Histogram
	Max       time.Duration // exact
}

func newTimes() *Times { return &Times{Histogram: hdrhistogram.New(1, int64(Longest), digits)} }

func (t *Times) add(d time.Duration) error {
	t.Max = max(t.Max, d)
	return t.Histogram.RecordValue(int64(min(max(d, 1), Longest)))
}

// Merge adds what o holds.
func (t *Times) Merge(o *Times) error {
	if n := t.Histogram.Merge(o.Histogram); n > 0 {
		return fmt.Errorf("merge latencies: %d of them do not fit", n)
	}
	t.Max = max(t.Max, o.Max)
	return nil
}

// Quantile is the latency that a share of the requests, 0 to 1, do not exceed.
// It is never above Max.
func (t *Times) Quantile(share float64) time.Duration {
	return min(time.Duration(t.Histogram.ValueAtQuantile(share*100)), t.Max)
}

// Count is how many requests there were.
func (t *Times) Count() int64 { return t.Histogram.TotalCount() }

// Second is what was completed in one second of a run.
type Second struct {
	Reads        int64         `json:"reads"`
	Writes       int64         `json:"writes"`
	ReadBytes    int64         `json:"read_bytes"`
	WrittenBytes int64         `json:"written_bytes"`
	MaxLatency   time.Duration `json:"max_latency_ns"`
}

func (t *Second) add(s *slot, latency time.Duration) {
	t.MaxLatency = max(t.MaxLatency, latency)
	if s.write {
		t.Writes++
		t.WrittenBytes += int64(s.size)
	} else {
		t.Reads++
		t.ReadBytes += int64(s.size)
	}
}

// Failure is a request that ended in an error, or short.
type Failure struct {
	Offset int64
	Write  bool
	Errno  int // 0: it moved fewer bytes than asked for
	Moved  int
	Why    string // what Errno means where it happened
}

// maxFailures that are kept; the rest are counted.
const maxFailures = 100

// recorder is what one thread has seen. Nothing in it grows during a run.
type recorder struct {
	latency, service [2]*Times // read, write
	syncs            *Times
	seconds          []Second
	failures         []Failure
	failed, unbegun  int64
	from, whole      time.Duration // where the measured part begins, and its length
}

func newRecorder(warmup, duration time.Duration) *recorder {
	return &recorder{
		latency: [2]*Times{newTimes(), newTimes()}, service: [2]*Times{newTimes(), newTimes()}, syncs: newTimes(),
		seconds:  make([]Second, int((duration+time.Second-1)/time.Second)),
		failures: make([]Failure, 0, maxFailures),
		from:     warmup,
		whole:    duration,
	}
}

// done records a request that succeeded. Its latency counts whenever it ends;
// its bytes count when it ends within the measured part.
func (r *recorder) done(s *slot, now time.Duration) error {
	if now < r.from {
		return nil
	}
	kind := 0
	if s.write {
		kind = 1
	}
	latency := now - s.due
	if i := int((now - r.from) / time.Second); now-r.from < r.whole {
		r.seconds[i].add(s, latency)
	}
	if err := r.latency[kind].add(latency); err != nil {
		return err
	}
	return r.service[kind].add(now - s.started)
}

// missed records a request that was due and never began, with the least that
// its latency can have been. It has no service time, and no part in the rates.
func (r *recorder) missed(write bool, waited time.Duration) error {
	r.unbegun++
	kind := 0
	if write {
		kind = 1
	}
	return r.latency[kind].add(waited)
}

func (r *recorder) fail(f Failure) {
	r.failed++
	if len(r.failures) < cap(r.failures) {
		r.failures = append(r.failures, f)
	}
}
