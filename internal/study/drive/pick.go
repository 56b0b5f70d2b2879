package drive

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// Overhead of a run besides warm-up and measured part, assumed until the study has runs of its
// own: connecting, reading counters at both ends, the change and its undo.
const (
	runOverhead = 2 * time.Second
	// hardOverhead is the same for a link flap, and operatorOverhead for an
	// operator, whose time is not charged to the budget.
	hardOverhead     = 10 * time.Second
	operatorOverhead = 10 * time.Minute
)

// pick chooses the comparison of the next block; nil: all have ended, or the budget
// reaches no further planned look.
//
// A/A blocks come first. Then as many comparisons as the budget allows are taken
// to their first look that can show an effect, in the order of the file: the easy
// ones in rounds of random order, so that drift of the path hits all alike; steps
// of the baseline and hard factors one after the other. From then on the budget goes to the
// comparison that is nearest to a decision, since two decided comparisons are worth more than
// four undecided ones.
func (d *Drive) pick(left time.Duration) *comparison {
	holm := d.holm(deciding)
	var open []*comparison
	for _, c := range d.units {
		if d.settled(c, holm) {
			continue
		}
		if c.aa() || c.paper || c.searches() {
			if left < d.blockTime(c) {
				return nil
			}
			return c
		}
		if !c.stuck() && d.toLook(c) <= left {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if c := d.first(open, left); c != nil {
		return c
	}
	return d.nearest(open, holm)
}

// useful is the number of blocks at the first look that can show an effect, once p is corrected for
// all that was declared: 8 blocks cannot give a p below 0.0078. Fewer blocks can only decide that
// there is no effect.
func (d *Drive) useful() int {
	declared := 0
	for _, e := range d.found {
		if e.primary {
			declared++
		}
	}
	for _, look := range d.seq.Looks {
		if math.Exp2(1-float64(look.Blocks)) <= look.Spent/float64(declared) {
			return look.Blocks
		}
	}
	return d.file.Protocol.Looks[0]
}

// toLook is the time until the next planned look that can decide something for a comparison.
func (d *Drive) toLook(c *comparison) time.Duration {
	n, useful := c.done(), d.useful()
	for _, look := range d.file.Protocol.Looks {
		if look > n && look >= useful {
			return time.Duration(look-n) * d.blockTime(c)
		}
	}
	return 0
}

// first chooses among the comparisons that have not reached a useful look; nil: the
// budget reaches that look of none.
func (d *Drive) first(open []*comparison, left time.Duration) *comparison {
	var active []*comparison
	useful := d.useful()
	for _, begun := range []bool{true, false} {
		for _, c := range open {
			if c.done() < useful && (c.done() > 0) == begun && d.toLook(c) <= left {
				active = append(active, c)
				left -= d.toLook(c)
			}
		}
	}
	if len(active) == 0 {
		return nil
	}
	for _, c := range d.units { // steps first, and each hard factor without interruption
		if c.hard && slices.Contains(active, c) && (c.done() > 0 || c.factor == file.StepFactor) {
			return c
		}
	}
	easy := slices.DeleteFunc(slices.Clone(active), func(c *comparison) bool { return c.hard })
	if len(easy) == 0 {
		return active[0]
	}
	round := math.MaxInt
	for _, c := range easy {
		round = min(round, c.done())
	}
	easy = slices.DeleteFunc(easy, func(c *comparison) bool { return c.done() > round })
	// One draw for the round, so that a second call returns the same.
	order := random(d.file.Protocol.Seed, "round", round).Perm(len(d.units))
	return slices.MinFunc(easy, func(a, b *comparison) int {
		return order[slices.Index(d.units, a)] - order[slices.Index(d.units, b)]
	})
}

// nearest is the open comparison that is nearest to a decision, in time; one that is
// between two looks comes before all.
func (d *Drive) nearest(open []*comparison, holm map[*effect]float64) *comparison {
	var best *comparison
	least := math.Inf(1)
	for _, c := range open {
		if c.done() < d.useful() {
			continue
		}
		if !slices.Contains(d.file.Protocol.Looks, c.done()) {
			return c
		}
		far := d.blocksToGo(c, holm) * d.blockTime(c).Seconds()
		if best == nil || far < least {
			best, least = c, far
		}
	}
	return best
}

// blocksToGo predicts from the last look how many more blocks will decide the first undecided
// effect of a comparison: the smallest effect that a look shows (study.Smallest) shrinks as
// one over the root of the blocks, and the effect is decided when its mean is farther than
// that from zero, or that far inside the margin.
func (d *Drive) blocksToGo(c *comparison, holm map[*effect]float64) float64 {
	least := math.Inf(1)
	for _, e := range d.found {
		if e.of != c || !e.primary || d.verdict(e, holm[e]) != model.StudyUndecided {
			continue
		}
		if !e.ratio {
			continue
		}
		n, m := float64(e.blocks), math.Log(d.file.Protocol.Margin)
		half := math.Log(study.Smallest(e.spread, e.blocks, d.file.Protocol.Alpha))
		need := math.Inf(1)
		if centre := math.Abs(e.mean); centre > 0 {
			need = n * (half / centre) * (half / centre)
		}
		if inside := m - math.Abs(e.mean); inside > 0 {
			need = min(need, n*(half/inside)*(half/inside))
		}
		least = min(least, need-n)
	}
	return max(least, 1)
}

// blockTime is what a block of a comparison is expected to take of the budget.
func (d *Drive) blockTime(c *comparison) time.Duration {
	total := c.changeTime()
	for _, w := range c.workloads {
		total += time.Duration(c.runsPerBlock()) * d.runTime(w)
	}
	return total
}

// runsPerBlock is how many runs of each workload a block has.
func (c *comparison) runsPerBlock() int {
	switch {
	case c.paper:
		return c.file.Protocol.Runs
	case c.searches():
		return len(c.search.Pass())
	case c.crossed():
		return len(c.cases)
	}
	return 2
}

// longest is the longest of its runs.
func (d *Drive) longest(c *comparison) time.Duration {
	most := time.Duration(0)
	for _, w := range c.workloads {
		most = max(most, d.runTime(w))
	}
	return most
}

// changeTime is what the changes within one block take of the budget beside its
// runs.
func (c *comparison) changeTime() time.Duration {
	total := time.Duration(0)
	for _, f := range c.varied() {
		if f.Hard && !f.Operator {
			total += hardOverhead
		}
	}
	if c.factor == file.StepFactor {
		total += hardOverhead
	}
	return total
}

// varied are the factors that change within a block.
func (c *comparison) varied() []model.StudyFactor {
	var out []model.StudyFactor
	for _, f := range c.file.Factors {
		if c.factor == f.Name || c.crossed() || c.searches() || c.finds {
			out = append(out, f)
		}
	}
	return out
}

// runTime is the median of what the runs of a workload took so far; before there
// are any, what the file says.
func (d *Drive) runTime(workload string) time.Duration {
	if took := d.took[workload]; len(took) > 0 {
		return stat.UpperMiddle(took)
	}
	for _, w := range d.file.Workloads {
		if w.Name == workload {
			return w.Warmup + w.Duration + runOverhead
		}
	}
	return runOverhead
}

// Ended returns why Next has no more runs, and whether every comparison was completed.
func (d *Drive) Ended() (why string, complete bool) {
	holm := d.holm(deciding)
	complete = true
	for _, c := range d.units {
		if c.stuck() {
			return fmt.Sprintf("level %s of %s could not be tried, and design %s needs all of them", c.lost[0].level, c.lost[0].factor, d.file.Protocol.Design), false
		}
		complete = complete && d.settled(c, holm)
	}
	switch {
	case complete:
		return "every comparison came to its end", true
	case d.file.Budget > 0:
		return fmt.Sprintf("the budget of %v does not reach another planned look", d.file.Budget), false
	}
	return "it was stopped", false
}
