package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/stat"
)

// RunFigures are what one target did in one run of several.
type RunFigures struct {
	IOPS      float64          `json:"iops"`
	BytesPerS float64          `json:"bytes_per_s"`
	Latency   *block.Quantiles `json:"latency_ns"`
	FromCache *float64         `json:"from_cache"`
	Failed    int64            `json:"failed"`
}

// PoolRound is a run of each of two targets alone, and of both together.
type PoolRound struct {
	Alone    [2]RunFigures `json:"alone"`
	Together [2]RunFigures `json:"together"`
	// Busy is the share of this host's cores that the load took while both ran: what
	// they do to each other may then be this host's doing.
	Busy float64 `json:"busy_share"`
}

// Pools makes rounds of runs on two targets: each alone, then both at once. The
// order of the three turns with each round, so that a target that grows slower
// with time does not look like interference. each is told of every round; ctx ends
// the rounds, and those that are whole come with the cause.
func Pools(ctx context.Context, h Hooks, tasks [2]BlockTask, rounds int, each func(PoolRound)) (out []PoolRound, err error) {
	p := pools{hooks: h}
	defer func() { err = errors.Join(err, p.targets[0].Close(), p.targets[1].Close()) }()
	for i := range tasks {
		if p.targets[i], err = OpenBlock(ctx, h, tasks[i]); err != nil {
			return nil, err
		}
	}
	if err := h.roomFor(p.targets[0].Task.Spec, p.targets[1].Task.Spec); err != nil {
		return nil, err
	}
	for n := range rounds {
		r, err := p.round(ctx, n)
		if err != nil {
			return out, err
		}
		out = append(out, r)
		if each != nil {
			each(r)
		}
	}
	return out, nil
}

type pools struct {
	hooks   Hooks
	targets [2]*Opened
}

func (p *pools) round(ctx context.Context, n int) (r PoolRound, err error) {
	steps := []func() error{
		func() error { return p.run(ctx, n, []int{0}, r.Alone[:], nil) },
		func() error { return p.run(ctx, n, []int{1}, r.Alone[:], nil) },
		func() error { return p.run(ctx, n, []int{0, 1}, r.Together[:], &r.Busy) },
	}
	for k := range steps {
		if err := steps[(k+n)%len(steps)](); err != nil {
			return r, err
		}
	}
	return r, nil
}

// run makes one run of some of the targets.
func (p *pools) run(ctx context.Context, round int, which []int, into []RunFigures, busy *float64) error {
	var specs []block.Spec
	var targets []*block.Target
	work, takes := "", time.Duration(0)
	for _, i := range which {
		s, err := p.targets[i].next(ctx)
		if err != nil {
			return err
		}
		specs, targets = append(specs, s), append(targets, p.targets[i].Target)
		if work != "" {
			work += " and "
		}
		work, takes = work+s.Path, max(takes, s.Warmup+s.Duration)
	}
	p.hooks.say("round %d: %s, for %v", round+1, work, takes)
	seen, done := p.hooks.watch(work, takes)
	for i := range specs {
		specs[i].Progress = seen
	}
	all, results, err := block.RunMany(ctx, specs, targets)
	done()
	if err != nil {
		return err
	}
	for k, i := range which {
		if into[i], err = poolRun(p.targets[i].Task.Name, results[k]); err != nil {
			return err
		}
	}
	if busy != nil && all.Took > 0 {
		*busy = (all.UserCPU + all.SystemCPU).Seconds() / all.Took.Seconds() / float64(runtime.NumCPU())
	}
	return nil
}

// FiguresOf are those of a run.
func FiguresOf(s block.Summary) RunFigures {
	return RunFigures{s.IOPS, s.BytesPerS, s.Latency, s.FromCache, s.Failed}
}

func poolRun(name string, r block.Result) (RunFigures, error) {
	s, err := block.Summarise(name, r, block.Witness{Occupied: -1})
	if err != nil {
		return RunFigures{}, err
	}
	if s.Requests == 0 {
		return RunFigures{}, fmt.Errorf("load %s: no request succeeded", name)
	}
	return FiguresOf(s), nil
}

// Interference is what one target lost while the other ran, too.
type Interference struct {
	N int `json:"n"` // rounds
	// Bytes per second, medians and what they ranged over.
	Alone         float64    `json:"alone_bytes_per_s"`
	AloneRange    [2]float64 `json:"alone_range"`
	Together      float64    `json:"together_bytes_per_s"`
	TogetherRange [2]float64 `json:"together_range"`
	// Kept is together over alone, the median of the rounds' ratios, and its range.
	Kept      float64    `json:"kept"`
	KeptRange [2]float64 `json:"kept_range"`
	// Apart: every run together was slower than every run alone, or faster. By
	// chance that comes in one of the orders that so many runs can have, on each
	// side (an exact permutation test, two-sided); Chance says how often.
	Apart  bool    `json:"apart"`
	Chance float64 `json:"chance"`
}

// Interfere compares the rounds of target i, 0 or 1. It is pure. Without rounds it
// is zero.
func Interfere(rounds []PoolRound, i int) Interference {
	if len(rounds) == 0 {
		return Interference{}
	}
	var alone, together, kept []float64
	for _, r := range rounds {
		a, b := r.Alone[i].BytesPerS, r.Together[i].BytesPerS
		alone, together, kept = append(alone, a), append(together, b), append(kept, b/a)
	}
	x := Interference{N: len(rounds), Chance: min(1, 2/orders(2*len(rounds), len(rounds)))}
	x.Alone, x.AloneRange = middle(alone)
	x.Together, x.TogetherRange = middle(together)
	x.Kept, x.KeptRange = middle(kept)
	x.Apart = x.TogetherRange[1] < x.AloneRange[0] || x.TogetherRange[0] > x.AloneRange[1]
	return x
}

// middle is the median, and the least and largest.
func middle(v []float64) (float64, [2]float64) {
	return stat.Median(v), [2]float64{slices.Min(v), slices.Max(v)}
}

// orders is in how many ways k of n can be chosen.
func orders(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}
