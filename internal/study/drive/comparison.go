package drive

import (
	"fmt"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// comparison is one thing that the study compares: a level with the baseline; the
// baseline with itself (A/A); all cases of a crossed design; in protocol "paper" one case;
// or in design "search" first the search itself, then the state that it found.
type comparison struct {
	file          *model.StudyFile
	factor, level string
	steps         int // steps of the baseline in force in treated runs
	beside        int // steps of the baseline in force in untreated runs
	hard          bool
	workloads     []string // on which the level changes something
	cases         []study.Case
	paper         bool

	blocks    []block
	out, why  string // conclusion and reason, once the comparison is given up
	lost      []lost // levels of a crossed design
	made      int
	took      time.Duration
	unit      map[string]string // unit of the outcomes, by workload
	reference *comparison       // in protocol "paper": what the case is compared with

	search *study.Search // of the search
	found  study.Case    // of what the search finds: that state; nil: it is not over
	finds  bool          // it is what the search finds
}

// lost is a level that was given up in a crossed design.
type lost struct{ factor, level, conclusion, why string }

// block is a set of runs that are compared with each other, in the order in which they are to
// be run.
type block struct{ slots []*slot }

// slot is the place of one run.
type slot struct {
	want      Want
	of        *comparison
	filled    bool
	value     float64
	n         int // of the run
	tries     int // runs that did not count
	effective *bool
	state     study.Case // of a search
	barred    bool       // its state was taken out of the search
}

// next is the first slot without a run; nil: the block is complete.
func (b block) next() *slot {
	for _, s := range b.slots {
		if !s.filled && !s.barred {
			return s
		}
	}
	return nil
}

// takes reports whether a run can belong to this comparison.
func (c *comparison) takes(r model.StudyRun) bool {
	switch {
	case c.aa() || r.Stage == StageAA:
		return c.aa() && r.Stage == StageAA
	case c.searches() || r.Stage == StageSearch:
		return c.searches() && r.Stage == StageSearch
	case c.crossed() || c.finds:
		return true
	case c.paper:
		return c.factor == r.Factor && c.level == r.Level && c.steps == r.Steps && c.workloads[0] == r.Workload
	}
	return c.factor == r.Factor && c.level == r.Level || r.Against == c.String()
}

// open is the first slot that fits the run; nil: there is none.
func (b block) open(r model.StudyRun) *slot {
	for _, s := range b.slots {
		if !s.filled && !s.barred && s.want.same(r) {
			return s
		}
	}
	return nil
}

func (c *comparison) aa() bool {
	return c.factor == "" && c.cases == nil && !c.paper && !c.searches()
}
func (c *comparison) crossed() bool  { return c.cases != nil }
func (c *comparison) searches() bool { return c.search != nil }
func (c *comparison) over() bool     { return c.out != "" }

func (c *comparison) giveUp(conclusion, why string) {
	if c.out == "" {
		c.out, c.why = conclusion, why
	}
}

func (c *comparison) has(factor, level string) bool {
	i := slices.IndexFunc(c.file.Factors, func(f model.StudyFactor) bool { return f.Name == factor })
	return i >= 0 && slices.ContainsFunc(c.file.Factors[i].Levels, func(l model.StudyLevel) bool { return l.Name == level })
}

// done is how many blocks are complete.
func (c *comparison) done() int {
	n := 0
	for _, b := range c.blocks {
		if b.next() == nil {
			n++
		}
	}
	return n
}

// String is the comparison in words, as in StudyRun.Against.
func (c *comparison) String() string { return c.factor + " " + c.level }

// comparisons returns those that a file declares, in its order.
func comparisons(f model.StudyFile) ([]*comparison, error) {
	last := len(f.Baseline)
	if f.Protocol.Name == file.Paper {
		return paperCases(f), nil
	}
	var out []*comparison
	if f.Protocol.AA > 0 {
		out = append(out, &comparison{file: &f, steps: last, beside: last, workloads: workloadsOf(f, nil)})
	}
	if file.Crossed(f.Protocol.Design) {
		cases, err := file.Cases(f)
		if err != nil {
			return nil, err
		}
		return append(out, &comparison{file: &f, steps: last, beside: last, workloads: workloadsOf(f, nil), cases: cases}), nil
	}
	if f.Protocol.Design == file.Search {
		found, err := searchOf(&f)
		return append(out, found...), err
	}
	if f.Protocol.Design == file.Sequence {
		for i, step := range f.Baseline {
			out = append(out, &comparison{
				file: &f, factor: file.StepFactor, level: step.Name, steps: i + 1, beside: i, hard: true, workloads: workloadsOf(f, step.Workload),
			})
		}
	}
	for _, x := range f.Factors {
		for _, l := range x.Levels {
			out = append(out, &comparison{
				file: &f, factor: x.Name, level: l.Name, steps: last, beside: last, hard: x.Hard || x.Operator, workloads: workloadsOf(f, l.Workload),
			})
		}
	}
	return out, nil
}

// workloadsOf returns the workloads that a level's changes affect.
func workloadsOf(f model.StudyFile, changes map[string]string) []string {
	var out []string
	for _, w := range f.Workloads {
		if len(changes) == 0 || file.Applies(w, changes) {
			out = append(out, w.Name)
		}
	}
	return out
}

// block draws the n-th block, from 1 on. It depends on the file and n only.
func (c *comparison) block(n int) block {
	rng := random(c.file.Protocol.Seed, "block of "+c.String(), n)
	var b block
	add := func(w Want) { b.slots = append(b.slots, &slot{want: w, of: c}) }
	workloads := slices.Clone(c.workloads)
	rng.Shuffle(len(workloads), func(i, j int) { workloads[i], workloads[j] = workloads[j], workloads[i] })
	switch {
	case c.paper:
		c.group(n, add)
	case c.searches():
		return c.pass(n, rng)
	case c.crossed():
		for _, state := range study.Order(file.Factors(*c.file), c.cases, rng) {
			for _, w := range workloads {
				add(Want{Stage: StageCompare, Block: n, Levels: c.levelsOf(state), Workload: w, Steps: c.steps})
			}
		}
	case c.aa():
		for range 2 {
			for _, w := range workloads {
				add(Want{Stage: StageAA, Block: n, Workload: w, Steps: c.steps})
			}
		}
	default:
		for _, treated := range []bool{c.treatedFirst(n), !c.treatedFirst(n)} {
			for _, w := range workloads {
				want := Want{Stage: StageCompare, Block: n, Against: c.String(), Workload: w, Steps: c.beside}
				switch {
				case c.finds && treated:
					want.Levels, want.Against = c.levelsOf(c.found), ""
				case treated:
					want = Want{Stage: StageCompare, Block: n, Factor: c.factor, Level: c.level, Workload: w, Steps: c.steps}
				}
				add(want)
			}
		}
	}
	return b
}

// treatedFirst decides the order within a block. It is random, but balanced between two looks,
// so that a steady drift cancels out.
func (c *comparison) treatedFirst(n int) bool {
	from, stage := 0, 0
	for _, look := range c.file.Protocol.Looks {
		if n <= look {
			return study.Schedule(look-from, random(c.file.Protocol.Seed, fmt.Sprintf("order of %s", c), stage))[n-1-from]
		}
		from, stage = look, stage+1
	}
	return false
}

// levelsOf names the levels of a case that are not the baseline's. For the baseline the result
// is empty, not nil, which marks it as part of a crossed design.
func (c *comparison) levelsOf(state study.Case) map[string]string {
	out := map[string]string{}
	for i, l := range state {
		if l > 0 {
			out[c.file.Factors[i].Name] = c.file.Factors[i].Levels[l-1].Name
		}
	}
	return out
}
