package drive

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// Names of the comparison of what a search finds, until it has found it.
const (
	searchFactor = "search"
	searchLevel  = "what it finds"
)

// searchOf is the search of a file, and the comparison of what it finds with the baseline.
func searchOf(f *model.StudyFile) ([]*comparison, error) {
	s, err := study.NewSearch(file.Factors(*f), f.Protocol.Margin)
	if err != nil {
		return nil, err
	}
	last := len(f.Baseline)
	return []*comparison{
		{file: f, steps: last, beside: last, workloads: []string{f.Primary}, search: s},
		{file: f, factor: searchFactor, level: searchLevel, steps: last, beside: last, workloads: workloadsOf(*f, nil), finds: true},
	}, nil
}

// pass is the next pass of a search: each of its states once, in random order.
func (c *comparison) pass(n int, rng *rand.Rand) block {
	var b block
	for _, state := range c.search.Pass() {
		want := Want{Stage: StageSearch, Block: n, Levels: c.levelsOf(state), Workload: c.workloads[0], Steps: c.steps}
		b.slots = append(b.slots, &slot{want: want, of: c, state: state})
	}
	rng.Shuffle(len(b.slots), func(i, j int) { b.slots[i], b.slots[j] = b.slots[j], b.slots[i] })
	return b
}

// bar takes the state of a run out of the search. Without the baseline there is nothing to
// search from.
func (d *Drive) bar(s *slot, why string) {
	if len(s.want.Levels) == 0 {
		s.of.giveUp(model.StudyUndecided, "the baseline could not be measured: "+why)
		d.foundOf().giveUp(model.StudyUndecided, s.of.why)
		return
	}
	s.barred = true
	s.of.search.Bar(s.state, why)
	d.passed(s.of)
}

// passed takes a pass of the search, once it is complete, and names what was found, once the
// search is over.
func (d *Drive) passed(c *comparison) {
	b := c.blocks[len(c.blocks)-1]
	if b.next() != nil {
		return
	}
	var outcomes []float64
	for _, state := range c.search.Pass() {
		i := slices.IndexFunc(b.slots, func(s *slot) bool { return slices.Equal(s.state, state) })
		v := math.NaN()
		if !b.slots[i].barred {
			v = b.slots[i].value
		}
		outcomes = append(outcomes, v)
	}
	c.search.Take(outcomes)
	if c.search.Over() {
		d.name(c.search.Found())
	}
}

// name gives what was found to the comparison that waits for it.
func (d *Drive) name(found study.Case) {
	c := d.foundOf()
	levels := c.levelsOf(found)
	if len(levels) == 0 {
		c.giveUp(model.StudyUndecided, fmt.Sprintf("no state that was searched came out more than %.3g%% better than the baseline: nothing is left to compare",
			100*(d.file.Protocol.Margin-1)))
		return
	}
	var factors, names []string
	for _, f := range d.file.Factors {
		if l, ok := levels[f.Name]; ok {
			factors, names = append(factors, f.Name), append(names, l)
		}
	}
	c.found, c.factor, c.level = found, strings.Join(factors, " × "), strings.Join(names, " × ")
	for _, e := range d.found {
		if e.of == c {
			e.factor, e.level = c.factor, c.level
		}
	}
}

// foundOf is the comparison of what the search finds.
func (d *Drive) foundOf() *comparison {
	return d.units[slices.IndexFunc(d.units, func(c *comparison) bool { return c.finds })]
}

// parts are the levels of the factors of which a comparison consists, each with its figures.
func (d *Drive) parts(c model.StudyComparison) []model.StudyComparison {
	if d.file.Protocol.Design != file.Search {
		return []model.StudyComparison{c}
	}
	var out []model.StudyComparison
	found := d.foundOf()
	levels := found.levelsOf(found.found)
	for _, f := range d.file.Factors {
		if l, ok := levels[f.Name]; ok {
			part := c
			part.Factor, part.Level = f.Name, l
			out = append(out, part)
		}
	}
	return out
}

// searched is what the search did so far; nil: another design.
func (d *Drive) searched() *model.StudySearch {
	i := slices.IndexFunc(d.units, func(c *comparison) bool { return c.searches() })
	if i < 0 {
		return nil
	}
	c := d.units[i]
	out := &model.StudySearch{Steps: []model.StudySearchStep{}, Found: map[string]string{}, Over: c.search.Over()}
	if out.Over {
		maps.Copy(out.Found, c.levelsOf(c.search.Found()))
	}
	for _, s := range c.search.Steps() {
		step := model.StudySearchStep{States: []model.StudySearchState{}}
		if s.Factor >= 0 {
			step.Factor = d.file.Factors[s.Factor].Name
		}
		for _, x := range s.States {
			state := model.StudySearchState{Levels: c.levelsOf(x.Case), Runs: len(x.Logs), Unit: c.unit[c.workloads[0]],
				Barred: x.Barred, Found: s.Found != nil && slices.Equal(s.Found, x.Case)}
			if len(x.Logs) > 0 {
				state.Value = math.Exp(stat.Mean(x.Logs))
			}
			step.States = append(step.States, state)
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// searchThreats are factors of which the search found the last level: the best may lie beyond.
func (d *Drive) searchThreats() (out []model.Warning) {
	s := d.searched()
	if s == nil {
		return nil
	}
	for _, f := range d.file.Factors {
		if last := f.Levels[len(f.Levels)-1].Name; s.Found[f.Name] == last {
			out = append(out, model.Warning{ID: "search-edge", What: fmt.Sprintf("the search found the last level of %s, %s: a better one may lie beyond it", f.Name, last),
				Next: "search again with levels beyond it"})
		}
	}
	return out
}
