package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

// Samples of a host that nobody looks at tell of its cores and queues in turns (model.Sample.Partial).
// What one of them does not tell is then known from another, which was taken at another time.

// told is what samples tell of something, first and last.
type told[T any] struct {
	first, last T
	from, to    time.Duration
	twice       bool
}

// toldOf is what is told last of each core, say, and first of what is told within a span before that;
// where nothing is, what was told last before.
func toldOf[K comparable, T any](samples []model.Sample, span time.Duration, list func(model.Sample) []T, key func(T) K) map[K]*told[T] {
	out := map[K]*told[T]{}
	for _, s := range slices.Backward(samples) {
		for _, x := range list(s) {
			t := out[key(x)]
			switch {
			case t == nil:
				out[key(x)] = &told[T]{last: x, to: s.At}
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

// coresInTurns are the cores of which something was told twice, each over the time between.
func coresInTurns(samples []model.Sample, span time.Duration) []Core {
	out := []Core{}
	for _, t := range toldOf(samples, span, cpusOf, cpuOf) {
		if t.twice && t.to > t.from {
			out = append(out, coreOf(t.first, t.last, spanFor(t.to-t.from)))
		}
	}
	slices.SortFunc(out, func(a, b Core) int { return cmp.Compare(a.CPU, b.CPU) })
	return out
}

// whole is a sample with what is told last of each core and queue.
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

// Whole are samples of which the first has what is told first of each core and queue, and the last what
// is told last: where cores are told in turns, the shares of a core's time are then those between these,
// and rates of what cores count in packets are too low. The list is the caller's own.
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
