package block

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"linerate/internal/load/shape"
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

func (t *Times) add(d time.Duration, n int64) error {
	t.Max = max(t.Max, d)
	return t.Histogram.RecordValues(int64(min(max(d, 1), Longest)), n)
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
	// SumLatency is that of all requests together: over their number it is the mean.
	SumLatency time.Duration `json:"sum_latency_ns"`
}

func (t *Second) add(a *alike) {
	t.MaxLatency = max(t.MaxLatency, a.latency)
	t.SumLatency += time.Duration(a.n) * a.latency
	if a.write {
		t.Writes += a.n
		t.WrittenBytes += a.bytes
	} else {
		t.Reads += a.n
		t.ReadBytes += a.bytes
	}
}

// alike are requests of one kind and size that succeeded and took the same time, as
// those do that were handed over together and were seen to have ended together.
type alike struct {
	latency, service time.Duration
	n, bytes, size   int64 // size is of each
	write            bool
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

// OfSize is what was completed of the requests of one size, in the measured part.
type OfSize struct {
	Size     int64  `json:"size_bytes"`
	Requests int64  `json:"requests"`
	Latency  *Times `json:"latency"` // of those that ended later, too
}

// recorder is what one thread has seen. Nothing in it grows during a run.
type recorder struct {
	latency [2]*Times // read, write
	// service is latency where a request is due when it starts.
	service         [2]*Times
	syncs           *Times
	sizes           []OfSize // none where all requests have one
	seconds         []Second
	failures        []Failure
	failed, unbegun int64
	from, whole     time.Duration // where the measured part begins, and its length
}

func newRecorder(s Spec) *recorder {
	r := &recorder{
		sizes:   newSizes(s.Shape.Sizes),
		latency: [2]*Times{newTimes(), newTimes()}, syncs: newTimes(),
		seconds:  make([]Second, int((s.Duration+time.Second-1)/time.Second)),
		failures: make([]Failure, 0, maxFailures),
		from:     s.Warmup,
		whole:    s.Duration,
	}
	r.service = r.latency
	if s.Shape.Arrivals != shape.Closed {
		r.service = [2]*Times{newTimes(), newTimes()}
	}
	return r
}

// newSizes keeps requests of several sizes apart.
func newSizes(sizes []shape.SizeShare) (out []OfSize) {
	if len(sizes) < 2 {
		return nil
	}
	for _, z := range sizes {
		out = append(out, OfSize{Size: int64(z.Size), Latency: newTimes()})
	}
	return out
}

// done records requests that succeeded and were seen to have ended now. Their
// latency counts whenever that is; their bytes count when it is within the measured
// part, in that second.
func (r *recorder) done(a *alike, now time.Duration) error {
	if now < r.from {
		return nil
	}
	if now-r.from < r.whole {
		r.seconds[int((now-r.from)/time.Second)].add(a)
	}
	for k := range r.sizes {
		if r.sizes[k].Size != a.size {
			continue
		}
		if now-r.from < r.whole {
			r.sizes[k].Requests += a.n
		}
		if err := r.sizes[k].Latency.add(a.latency, a.n); err != nil {
			return err
		}
	}
	kind := kindOfRequest(a.write)
	if err := r.latency[kind].add(a.latency, a.n); err != nil || r.service[kind] == r.latency[kind] {
		return err
	}
	return r.service[kind].add(a.service, a.n)
}

// kindOfRequest is where reads and writes stand in what is kept of both.
func kindOfRequest(write bool) int {
	if write {
		return 1
	}
	return 0
}

// missed records a request that was due and never began, with the least that
// its latency can have been. It has no service time, and no part in the rates.
func (r *recorder) missed(write bool, waited time.Duration) error {
	r.unbegun++
	return r.latency[kindOfRequest(write)].add(waited, 1)
}

func (r *recorder) fail(f Failure) {
	r.failed++
	if len(r.failures) < cap(r.failures) {
		r.failures = append(r.failures, f)
	}
}
