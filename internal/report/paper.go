package report

import (
	"cmp"

	"linerate/internal/model"
	"linerate/internal/report/document"
)

// paperWriter writes the white paper of a study.
type paperWriter struct {
	r       *model.Results
	s       *model.Study
	facts   map[string]*model.Facts
	samples map[string]map[string][]model.Sample
	states  []state
	steps   int          // steps of the baseline
	dropped map[int]bool // runs of groups that did not agree
}

// paperOf makes the white paper of r.Study. samples are by run label and host. They and facts
// may be empty: what cannot be shown then is left out, or the text says so.
func paperOf(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) document.Document {
	w := &paperWriter{r: r, s: r.Study, facts: facts, samples: samples}
	w.states, w.steps = statesOf(w.s), baselineSteps(w.s)
	w.dropped = droppedRuns(w.s)
	head := headlineOf(w.s)
	d := document.Document{Title: head + ": " + w.s.Name, Kicker: w.s.Name, Headline: head, Question: w.s.Question, Numbered: true,
		Command: r.Command, When: moment(w.started()), Build: r.Build, Saved: r.Report,
		Lead: []document.Block{{Groups: answersOf(w.s)}, {Tiles: w.tiles()}}}
	if w.s.Ended != "" {
		d.Lead = append(d.Lead, document.Block{For: document.Terminal, Pairs: []document.Pair{pair("ended", w.s.Ended)}})
	}
	d.Sections = careOf(r)
	papers := func(make func() document.Section) {
		s := make()
		s.For = cmp.Or(s.For, document.Papers)
		d.Sections = append(d.Sections, s)
	}
	for _, make := range []func() document.Section{
		w.recommendation, w.setup, w.method, w.search, w.effects, w.processors, w.scaling, w.heat, w.overTime, w.perFrames, w.perCore, w.latency,
		w.ladder, w.nothing, w.noise, w.changes,
	} {
		papers(make)
	}
	d.Sections = append(d.Sections, w.threats())
	papers(w.everyRun)
	papers(func() document.Section { return hostSection(r, facts) })
	papers(w.provenance)
	return d
}

// ladder has the ceiling and the measured rate of each part of the path.
func (w *paperWriter) ladder() document.Section {
	s := document.Section{Title: "The ladder"}
	if rungs := Rungs(w.r.Ladder, w.r.Verdict.Ceiling); len(rungs) > 0 {
		s.Blocks = []document.Block{{Text: ladderLead}, {Rungs: rungs}}
	}
	return s
}
