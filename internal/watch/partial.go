package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

// While nobody looks at a host, each of its samples has the counters of some of its cores and queues
// only, and the next sample those of the next ones (model.Sample.Partial): that takes fewer bytes.
// The two readings that a rate is computed from then come from samples that lie further apart.

// readings are two readings of one counter, and when they were taken; twice: there are two.
type readings[T any] struct {
	first, last T
	from, to    time.Duration
	twice       bool
}

// readingsOf finds the two readings of each counter, by its key. The last is the newest there is.
// The first is the oldest that was taken within span before the last; if none was, it is the newest
// that was taken earlier.
func readingsOf[K comparable, T any](samples []model.Sample, span time.Duration, list func(model.Sample) []T, key func(T) K) map[K]*readings[T] {
	out := map[K]*readings[T]{}
	for _, s := range slices.Backward(samples) {
		for _, x := range list(s) {
			t := out[key(x)]
			switch {
			case t == nil:
				out[key(x)] = &readings[T]{last: x, to: s.At}
			case !t.twice || s.At >= t.to-span:
				t.first, t.from, t.twice = x, s.At, true
			}
		}
	}
	return out
}

func cpusOf(s model.Sample) []model.CPUTime      { return s.CPUs }
func softnetOf(s model.Sample) []model.Softnet   { return s.Softnet }
func queuesOf(s model.Sample) []model.QueueCount { return s.Queues }
func cpuOf(c model.CPUTime) int                  { return c.CPU }
func softnetCPU(c model.Softnet) int             { return c.CPU }

// queueKey is a queue of an interface.
type queueKey struct {
	dev   string
	queue int
}

func queueOf(q model.QueueCount) queueKey { return queueKey{q.Dev, q.Queue} }

func partial(samples []model.Sample) bool {
	return slices.ContainsFunc(samples, func(s model.Sample) bool { return s.Partial })
}

// coresInTurns are the cores that were read twice, each over the time between its two readings.
func coresInTurns(samples []model.Sample, span time.Duration) []Core {
	out := []Core{}
	for _, t := range readingsOf(samples, span, cpusOf, cpuOf) {
		if t.twice && t.to > t.from {
			out = append(out, coreOf(t.first, t.last, spanFor(t.to-t.from)))
		}
	}
	slices.SortFunc(out, func(a, b Core) int { return cmp.Compare(a.CPU, b.CPU) })
	return out
}

// whole completes sample s: it gets the reading of each core and queue that comes last in samples.
func whole(s model.Sample, samples []model.Sample) model.Sample {
	s.CPUs = newest(samples, cpusOf, cpuOf, func(a, b model.CPUTime) int { return a.CPU - b.CPU })
	s.Softnet = newest(samples, softnetOf, softnetCPU, func(a, b model.Softnet) int { return a.CPU - b.CPU })
	s.Queues = newest(samples, queuesOf, queueOf, func(a, b model.QueueCount) int {
		return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Queue, b.Queue))
	})
	return s
}

func newest[K comparable, T any](samples []model.Sample, list func(model.Sample) []T, key func(T) K, order func(a, b T) int) []T {
	last := map[K]T{}
	for _, s := range samples {
		for _, x := range list(s) {
			last[key(x)] = x
		}
	}
	return slices.SortedFunc(maps.Values(last), order)
}

// Whole returns samples whose first one has the earliest reading of every core and queue, and whose
// last one has the latest. If samples are partial, the shares of a core's time that follow from these
// two are right, but rates of packets per core are too low: the readings lie closer together than the
// samples. The caller may change the returned list.
func Whole(samples []model.Sample) []model.Sample {
	if !partial(samples) || len(samples) < 2 {
		return samples
	}
	n := len(samples) - 1
	back := slices.Clone(samples)
	slices.Reverse(back)
	out := slices.Clone(samples)
	out[0], out[n] = whole(samples[0], back), whole(samples[n], samples)
	return out
}
