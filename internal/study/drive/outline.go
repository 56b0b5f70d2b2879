package drive

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/study/file"
	"linerate/internal/unit"
)

// DefaultNoise is the relative standard deviation of single runs that a plan
// assumes: typical of quiet machines; shared machines have more.
const DefaultNoise = 0.02

// Outline computes from the study file what the study would do and which effects it could
// show. noise is the relative standard deviation of single runs; from says where that figure
// comes from. file.Checker checks whether the hosts can do it.
func Outline(f model.StudyFile, noise float64, from string) (model.StudyPlan, error) {
	if !(noise > 0 && noise < 1) {
		return model.StudyPlan{}, fmt.Errorf("plan study: noise %v: want a share between 0 and 1, such as 0.02", noise)
	}
	if f.Protocol.Seed == 0 {
		f.Protocol.Seed = 1 // any seed: the study draws its own
	}
	d, err := New(f)
	if err != nil {
		return model.StudyPlan{}, fmt.Errorf("plan study: %w", err)
	}
	p := model.StudyPlan{
		V: model.StudyPlanVersion, Name: f.Name, Question: f.Question, Protocol: f.Protocol.Name, Design: f.Protocol.Design, Primary: f.Primary,
		Noise: noise, NoiseFrom: from, Budget: f.Budget, Problems: []model.StudyPlanProblem{}, Looked: []string{},
		Looks: []model.StudyPlanLook{}, Cases: []model.StudyPlanCase{}, Changes: []model.StudyPlanChange{},
	}
	for _, c := range d.units {
		p.Cases = append(p.Cases, d.planCase(c))
		blocks := c.mostBlocks()
		p.Most += d.timeOf(c, blocks)
		p.MostRuns += c.runsOf(blocks) * len(c.workloads)
		first := d.firstBlocks(c)
		p.Least += d.timeOf(c, first)
		p.LeastRuns += c.runsOf(first) * len(c.workloads)
	}
	if f.Protocol.Name == file.Linerate && len(d.found) > 0 {
		d.planLooks(&p)
		d.within(&p)
	}
	p.Operator = d.operatorWork()
	return p, nil
}

func (d *Drive) planCase(c *comparison) model.StudyPlanCase {
	x := model.StudyPlanCase{Name: c.String(), Workloads: c.workloads, Block: c.runsPerBlock() * len(c.workloads), Most: c.mostBlocks(), Hard: c.hard, Takes: d.wholeTime(c)}
	switch {
	case c.aa():
		x.Name = "A/A"
	case c.searches():
		_, runs := study.SearchRuns(file.Factors(d.file))
		x.Name = fmt.Sprintf("search over %s, %d runs", unit.Count(len(d.file.Factors), "factor"), runs)
	case c.finds:
		x.Name = "what it finds"
	case c.crossed():
		x.Name = fmt.Sprintf("%d cases of %d factors", len(c.cases), len(d.file.Factors))
	case c.paper && c.reference == nil:
		x.Name = "default"
		if c.steps == len(d.file.Baseline) {
			x.Name = "baseline"
		}
	}
	return x
}

// mostBlocks is the largest number of blocks of a comparison.
func (c *comparison) mostBlocks() int {
	p := c.file.Protocol
	switch {
	case c.aa():
		return p.AA
	case c.searches():
		passes, _ := study.SearchRuns(file.Factors(*c.file))
		return passes
	case c.paper:
		return p.Most
	}
	return p.Looks[len(p.Looks)-1]
}

// firstBlocks is how many it has at its first look.
func (d *Drive) firstBlocks(c *comparison) int {
	switch {
	case c.aa() || c.searches():
		return c.mostBlocks()
	case c.paper:
		return 1
	}
	return d.file.Protocol.Looks[0]
}

// smallest is the ratio that the look after so many blocks shows nine times in
// ten, after correction for all comparisons that were declared; nil: it can show
// nothing. The log-ratio of a pair varies by the noise of a run times
// the root of 2; that of a crossed design by the means over its cases.
func (d *Drive) smallest(noise float64, look study.Look, blocks int) *float64 {
	declared, spread := 0, noise*math.Sqrt2
	for _, e := range d.found {
		if !e.primary {
			continue
		}
		declared++
		if e.of.crossed() {
			with, without := 0, 0
			for _, s := range e.of.block(1).slots {
				switch in, out := e.in(s); {
				case in:
					with++
				case out:
					without++
				}
			}
			spread = noise * math.Sqrt(1/float64(with)+1/float64(without))
		}
	}
	if declared == 0 {
		return nil
	}
	return study.Exp(math.Log(study.Smallest(spread, blocks, look.Spent/float64(declared))))
}

func (d *Drive) planLooks(p *model.StudyPlan) {
	for _, look := range d.seq.Looks {
		after := time.Duration(0)
		for _, c := range d.units {
			after += d.timeOf(c, min(look.Blocks, c.mostBlocks()))
		}
		p.Looks = append(p.Looks, model.StudyPlanLook{Blocks: look.Blocks, After: after, Smallest: d.smallest(p.Noise, look, look.Blocks)})
	}
}

// within computes what the budget reaches if no comparison ends early.
func (d *Drive) within(p *model.StudyPlan) {
	left := d.left(0)
	var compared []*comparison
	w := &p.Within
	for _, e := range d.found {
		if e.primary {
			w.Of++
		}
	}
	for _, c := range d.units {
		if c.aa() || c.searches() {
			left -= d.timeOf(c, c.mostBlocks())
		} else if t := d.toLook(c); t <= left {
			left -= t
			compared = append(compared, c)
		}
	}
	for _, c := range compared {
		for _, e := range d.found {
			if e.of == c && e.primary {
				w.Comparisons++
			}
		}
	}
	if len(compared) > 0 {
		d.deepest(p, compared)
	}
	for _, look := range p.Looks {
		if look.Smallest != nil {
			w.Enough = d.budgetFor(d.units, look.Blocks)
			break
		}
	}
	d.budgetProblems(p)
}

// deepest is the last look that all compared reach within the budget.
func (d *Drive) deepest(p *model.StudyPlan, compared []*comparison) {
	for i, look := range d.seq.Looks {
		if d.budgetFor(compared, look.Blocks) <= d.left(0) {
			p.Within.Blocks, p.Within.Smallest = look.Blocks, p.Looks[i].Smallest
		}
	}
}

// budgetFor is the budget in which these comparisons come to so many blocks each,
// with the A/A blocks before them.
func (d *Drive) budgetFor(compared []*comparison, blocks int) time.Duration {
	total := time.Duration(0)
	for _, c := range d.units {
		switch {
		case c.aa() || c.searches():
			total += d.timeOf(c, c.mostBlocks())
		case slices.Contains(compared, c):
			total += time.Duration(blocks) * d.blockTime(c)
		}
	}
	return total
}

// runsOf is how many runs of each workload so many blocks have; a search has all of its own
// or none.
func (c *comparison) runsOf(blocks int) int {
	if c.searches() {
		_, runs := study.SearchRuns(file.Factors(*c.file))
		return runs
	}
	return blocks * c.runsPerBlock()
}

// timeOf is the time that so many blocks take, with the operator's work.
func (d *Drive) timeOf(c *comparison, blocks int) time.Duration {
	if c.searches() {
		return time.Duration(c.runsOf(blocks)) * d.runTime(c.workloads[0])
	}
	return time.Duration(blocks) * d.wholeTime(c)
}

// wholeTime is the time of a block with the operator's work.
func (d *Drive) wholeTime(c *comparison) time.Duration {
	total := d.blockTime(c)
	for _, f := range c.varied() {
		if f.Operator && !slices.ContainsFunc(f.Levels, func(l model.StudyLevel) bool { return file.ByLab(d.file, l) }) {
			total += operatorOverhead
		}
	}
	return total
}

func (d *Drive) budgetProblems(p *model.StudyPlan) {
	w := p.Within
	enough := strings.TrimSuffix((w.Enough + time.Minute - 1).Truncate(time.Minute).String(), "0s") // never less than enough
	next := fmt.Sprintf("give it %s (--budget), declare fewer factors, or make runs shorter", enough)
	switch {
	case w.Enough == 0:
		p.Problems = append(p.Problems, model.StudyPlanProblem{Fatal: true,
			What: fmt.Sprintf("no planned look can show anything after correction for %d comparisons", w.Of), Next: "declare fewer factors, or looks after more blocks"})
	case d.file.Budget == 0:
	case w.Comparisons == 0:
		p.Problems = append(p.Problems, model.StudyPlanProblem{Fatal: true,
			What: fmt.Sprintf("the budget of %v concludes nothing: not one comparison reaches a planned look that can show an effect, corrected for all %d", d.file.Budget, w.Of), Next: next})
	case w.Comparisons < w.Of:
		p.Problems = append(p.Problems, model.StudyPlanProblem{
			What: fmt.Sprintf("the budget of %v reaches %d of %d comparisons, in the order of the file", d.file.Budget, w.Comparisons, w.Of), Next: next})
	}
}

// operatorWork lists what an operator has to do, and how often at most.
func (d *Drive) operatorWork() []model.StudyPlanHands {
	out := []model.StudyPlanHands{}
	add := func(factor string, l model.StudyLevel, times int) {
		if l.Instruct == "" {
			return
		}
		h := model.StudyPlanHands{Factor: factor, Level: l.Name, Instruct: l.Instruct, Back: l.Back, Times: times}
		if l.Verify != nil {
			h.Verify = *l.Verify
		}
		if file.ByLab(d.file, l) {
			h.Lab = strings.Join(l.Lab, " ")
		}
		out = append(out, h)
	}
	p := d.file.Protocol
	for _, l := range d.file.Baseline {
		add(file.StepFactor, l, 2)
	}
	for _, x := range d.file.Factors {
		for _, l := range x.Levels {
			times := 2 // there once, and back
			if p.Name == file.Linerate {
				times = 2 * p.Looks[len(p.Looks)-1]
			}
			add(x.Name, l, times)
		}
	}
	return out
}
