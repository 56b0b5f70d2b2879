package drive

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// Stages of a study, for model.StudyRun.Stage.
const (
	StageAA        = "a/a"       // both runs of a block are of the baseline
	StageSearch    = "search"    // one state of a pass of a search
	StageCompare   = "compare"   // a run of a block: treated, or the baseline beside it
	StageReference = "reference" // in protocol "paper": the baseline of all cases
)

// maxAgain bounds how often a run that did not count is repeated: if the path is disturbed
// that many times in a row, more repeats will not measure it either.
const maxAgain = 5

// Want is a run to be made: what is measured, and in which state.
type Want struct {
	Stage string
	Block int // from 1 within its comparison; of "paper": the group of runs
	// Factor and Level are empty for the baseline and in designs that vary
	// several factors at once; those have Levels. Factor file.StepFactor is a step
	// of the baseline.
	Factor, Level string
	Against       string // in a baseline run: the "factor level" that it is compared with
	Levels        map[string]string
	Workload      string
	Steps         int // how many steps of the file's baseline are in force
}

// State is the level of every factor that is not at its baseline, by factor. The
// steps of the baseline that are in force are Steps.
func (w Want) State() map[string]string {
	if w.Levels != nil {
		return w.Levels
	}
	if w.Factor == "" || w.Factor == file.StepFactor {
		return nil
	}
	return map[string]string{w.Factor: w.Level}
}

// Run is the record of the run before it is measured.
func (w Want) Run() model.StudyRun {
	return model.StudyRun{
		Stage: w.Stage, Block: w.Block, Factor: w.Factor, Level: w.Level, Against: w.Against,
		Levels: w.Levels, Workload: w.Workload, Steps: w.Steps,
	}
}

// same reports whether r is a run of this Want.
func (w Want) same(r model.StudyRun) bool {
	return w.Stage == r.Stage && w.Block == r.Block && w.Factor == r.Factor && w.Level == r.Level && w.Against == r.Against &&
		w.Workload == r.Workload && w.Steps == r.Steps && maps.Equal(w.Levels, r.Levels)
}

// String names the run for people.
func (w Want) String() string {
	what := "baseline"
	switch {
	case w.Stage == StageAA:
		what = "A/A"
	case w.Factor != "":
		what = w.Factor + " " + w.Level
	case len(w.Levels) > 0:
		what = ""
		for _, f := range slices.Sorted(maps.Keys(w.Levels)) {
			what += f + " " + w.Levels[f] + ", "
		}
		what = what[:len(what)-2]
	case w.Against != "":
		what = "baseline beside " + w.Against
	}
	return fmt.Sprintf("%s, %s %d", what, w.Workload, w.Block)
}

// Drive is a study in progress.
type Drive struct {
	file  model.StudyFile
	seq   study.Sequence
	units []*comparison // in the order of the file; A/A first, if any
	found []*effect     // what is compared, in the order of the file
	runs  []model.StudyRun
	took  map[string][]time.Duration // of the runs that counted, by workload, sorted
	// draws is the number of sign patterns to draw if they cannot be enumerated; 0: the test's
	// default.
	draws int
}

// New begins a study of a file that package file has read. The file must have a seed, which
// the caller draws and records.
func New(f model.StudyFile) (*Drive, error) {
	if f.Protocol.Seed == 0 {
		return nil, errors.New("begin study: the file has no seed: draw one before the first run, and keep it")
	}
	d := &Drive{file: f, runs: []model.StudyRun{}, took: map[string][]time.Duration{}}
	if f.Protocol.Name == file.Linerate {
		var err error
		if d.seq, err = study.NewSequence(f.Protocol.Alpha, f.Protocol.Seed, f.Protocol.Looks...); err != nil {
			return nil, fmt.Errorf("begin study: %w", err)
		}
	}
	units, err := comparisons(f)
	if err != nil {
		return nil, fmt.Errorf("begin study: %w", err)
	}
	d.units = units
	for _, c := range units {
		d.found = append(d.found, effectsOf(c)...)
	}
	return d, nil
}

// Add takes a finished run, whether it counts or not. It refuses a run that has no place in
// the study: then file and runs belong to different studies.
func (d *Drive) Add(r model.StudyRun) error {
	s := d.slot(r)
	if s == nil {
		return fmt.Errorf("add run %d: the study has no %s in block %d of %q %q: the study file is not the one that these runs were made by",
			r.N, r.Stage, r.Block, r.Factor+r.Against, r.Level)
	}
	if r.Value != nil && (!(*r.Value >= 0) || math.IsInf(*r.Value, 1)) {
		return fmt.Errorf("add run %d: an outcome of %v: want a finite number, at least 0", r.N, *r.Value)
	}
	d.runs = append(d.runs, r)
	s.of.took += r.Took
	s.of.made++
	refused := r.Effective != nil && !*r.Effective
	switch {
	case s.of.searches() && refused:
		d.bar(s, r.Why)
	case refused && (r.Factor != "" || s.of.finds):
		s.of.giveUp(model.StudyNotInForce, r.Why)
	}
	if !r.Counted || r.Value == nil {
		if s.tries++; s.tries >= maxAgain {
			why := fmt.Sprintf("a run did not count %d times in a row, the last time: %s", s.tries, r.Why)
			if s.of.searches() {
				d.bar(s, why)
			} else {
				s.of.giveUp(model.StudyUndecided, why)
			}
		}
		return nil
	}
	at, _ := slices.BinarySearch(d.took[r.Workload], r.Took)
	d.took[r.Workload] = slices.Insert(d.took[r.Workload], at, r.Took)
	s.filled, s.value, s.n = true, *r.Value, r.N
	s.effective = r.Effective
	if s.of.unit == nil {
		s.of.unit = map[string]string{}
	}
	s.of.unit[r.Workload] = r.Unit
	if s.of.searches() {
		d.passed(s.of)
		return nil
	}
	return d.look(s.of)
}

// slot returns the open slot for a run; nil: there is none.
func (d *Drive) slot(r model.StudyRun) *slot {
	for _, c := range d.units {
		if !c.takes(r) {
			continue
		}
		for b := range c.blocks {
			if s := c.blocks[b].open(r); s != nil {
				return s
			}
		}
		if next := c.block(len(c.blocks) + 1); next.open(r) != nil {
			c.blocks = append(c.blocks, next)
			return c.blocks[len(c.blocks)-1].open(r)
		}
	}
	return nil
}

// GiveUp ends a comparison: its level was seen not to be in force, or could not
// be tried. conclusion is model.StudyNotInForce, model.StudyNotTried or
// model.StudyUndecided. A design that varies several factors at once cannot go
// on without one of their levels, and ends with it.
func (d *Drive) GiveUp(factor, level, conclusion, why string) error {
	found := false
	for _, c := range d.units {
		switch {
		case c.crossed() && c.has(factor, level):
			c.lost = append(c.lost, lost{factor, level, conclusion, why})
			found = true
		case c.factor == factor && c.level == level && factor != "": // of "paper" one for each workload
			c.giveUp(conclusion, why)
			found = true
		}
	}
	if found {
		return nil
	}
	return fmt.Errorf("give up %s %s: the study compares no such level", factor, level)
}

// Next returns the next run, given the budget spent so far; false: there is none, and Ended
// says why. Called again before Add, it returns the same run.
func (d *Drive) Next(spent time.Duration) (Want, bool) {
	c := d.current()
	left := d.left(spent)
	if c == nil {
		c = d.pick(left)
		if c == nil {
			return Want{}, false
		}
		return c.block(len(c.blocks) + 1).slots[0].want, true
	}
	if left < d.longest(c) {
		return Want{}, false
	}
	return c.blocks[len(c.blocks)-1].next().want, true
}

// left is what the budget leaves; for ever without one.
func (d *Drive) left(spent time.Duration) time.Duration {
	if d.file.Budget == 0 {
		return math.MaxInt64
	}
	return d.file.Budget - spent
}

// current is the comparison with an incomplete block.
func (d *Drive) current() *comparison {
	for _, c := range d.units {
		if !c.over() && len(c.blocks) > 0 && c.blocks[len(c.blocks)-1].next() != nil {
			return c
		}
	}
	return nil
}

// random returns a separate source for each draw, so that a draw does not depend
// on when it is made.
func random(seed uint64, what string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", what, n)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
