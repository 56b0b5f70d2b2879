package load

import (
	"context"
	"fmt"

	"linerate/internal/app"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

// PoolsResult says how much two targets slow each other down.
type PoolsResult struct {
	Targets [2]PoolTarget       `json:"targets"`
	Rounds  []storage.PoolRound `json:"rounds"`
	// Kept is what both together moved over what each moved alone, medians added.
	Kept        float64  `json:"kept_of_sum"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Evidence    []string `json:"evidence"`
	kept
}

// PoolTarget is one of the two.
type PoolTarget struct {
	Target       string               `json:"target"`
	Workload     string               `json:"workload"`
	Interference storage.Interference `json:"interference"`
}

// busyHost: from this share of this host's cores on, the host itself may be why two targets
// slow each other down.
const busyHost = 0.8

// rareChance bounds how often chance alone may look like interference. Three rounds are
// enough to get below it.
const rareChance = 0.1

// Pools makes rounds of runs on two targets, each alone and both at once, with so much
// memory at most; 0: no limit. If they are cut short, the complete rounds are returned with
// the error.
func Pools(ctx context.Context, e app.Env, tasks [2]Task, rounds int, memory unit.Bytes, p app.Progress) (*Made, error) {
	s := here(e, p)
	out := &PoolsResult{Evidence: []string{}}
	first, second := tasks[0].Spec, tasks[1].Spec
	err := s.onStorage(ctx, memory, func(h storage.Hooks) (err error) {
		out.Rounds, err = storage.Pools(ctx, h, tasks, rounds, nil)
		return ended(ctx, err, first.Path+" and "+second.Path, first.Shape.Read < 1 || second.Shape.Read < 1)
	})
	if len(out.Rounds) == 0 || err != nil && ctx.Err() == nil {
		return nil, err
	}
	out.Interrupted = err != nil
	for i, t := range tasks {
		out.Targets[i] = PoolTarget{t.Spec.Path, t.Name, storage.Interfere(out.Rounds, i)}
	}
	out.judge()
	if memory > 0 {
		out.doubt("this program and what the page cache held for it had at most %v of memory", memory)
	}
	line := fmt.Sprintf("%s and %s together kept %.0f%% of what each moved alone (%s)", first.Path, second.Path, 100*out.Kept, unit.Count(len(out.Rounds), "round"))
	return s.made(ctx, "pools", out, line, nil), err
}

func (r *PoolsResult) doubt(format string, args ...any) {
	r.Evidence = append(r.Evidence, fmt.Sprintf(format, args...))
}

// judge says what the rounds show, and what they cannot.
func (r *PoolsResult) judge() {
	alone, together := 0.0, 0.0
	for i, t := range r.Targets {
		x, other := t.Interference, r.Targets[1-i].Target
		alone, together = alone+x.Alone, together+x.Together
		switch {
		case x.Apart && x.Chance > rareChance:
			r.doubt("%s: every run beside %s differs from every run alone, but %s cannot tell that from chance: make at least 3", t.Target, other, unit.Count(x.N, "round"))
		case x.Apart:
			r.doubt("%s: every run beside %s differs from every run alone; by chance that would come in %.2g of all cases (%d rounds)", t.Target, other, x.Chance, x.N)
		default:
			r.doubt("%s: the runs beside %s overlap with those alone (%s): no interference is shown", t.Target, other, unit.Count(x.N, "round"))
		}
	}
	if alone > 0 {
		r.Kept = together / alone
	}
	busy, cached, failed := 0.0, 0.0, int64(0)
	for _, round := range r.Rounds {
		busy = max(busy, round.Busy)
		for _, run := range append(round.Alone[:], round.Together[:]...) {
			if run.FromCache != nil {
				cached = max(cached, *run.FromCache)
			}
			failed += run.Failed
		}
	}
	if busy >= busyHost {
		r.doubt("the load took %.0f%% of this host's cores while both ran: what they do to each other may be this host's doing; run them from two hosts (--on)", 100*busy)
	}
	if cached > 0.05 {
		r.doubt("at least %.0f%% of what was read came from this host's page cache: use --direct or --drop-cache to measure the targets", 100*cached)
	}
	if failed > 0 {
		r.doubt("%s failed", unit.Count(int(failed), "request"))
	}
}
