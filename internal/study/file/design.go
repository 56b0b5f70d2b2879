package file

import (
	"linerate/internal/conf"
	"linerate/internal/model"
	"linerate/internal/study"
)

// Names of protocols.
const (
	Linerate = "linerate"
	Paper    = "paper"
)

// Names of designs.
const (
	// Sequence measures the steps of the baseline one after the other, each
	// against the one before, then every level against the last: tables 1 to 5 of
	// Dell's BP1057 (2013), in the order of the file.
	Sequence = "sequence"
	// OneAtATime compares every level with the baseline, alone.
	OneAtATime = "one-at-a-time"
	// Factorial runs every combination of levels.
	Factorial = "factorial"
	// PlackettBurman screens many factors of two levels in 12 or 20 cases.
	PlackettBurman         = "plackett-burman"
	PlackettBurmanFoldOver = "plackett-burman-fold-over"
	// SplitPlot is a factorial whose hard factors change once per block only.
	SplitPlot = "split-plot"
	// Search looks for the best state of factors whose levels are ordered, then
	// compares that state with the baseline.
	Search = "search"
)

// Designs are the names of all designs.
func Designs() []string {
	return []string{Sequence, OneAtATime, Factorial, PlackettBurman, PlackettBurmanFoldOver, SplitPlot, Search}
}

// Crossed tells whether a design varies several factors at once, so that its
// effects come out of whole replicates and not out of pairs of runs.
func Crossed(design string) bool {
	return design != Sequence && design != OneAtATime && design != Search
}

// Factors are the factors of a file as package study has them: level 0 is the
// baseline's.
func Factors(f model.StudyFile) []study.Factor {
	out := make([]study.Factor, 0, len(f.Factors))
	for _, x := range f.Factors {
		s := study.Factor{Name: x.Name, Levels: []string{"baseline"}, Hard: x.Hard}
		for _, l := range x.Levels {
			s.Levels = append(s.Levels, l.Name)
		}
		out = append(out, s)
	}
	return out
}

// Cases are the states that a crossed design runs in every replicate.
func Cases(f model.StudyFile) ([]study.Case, error) {
	switch f.Protocol.Design {
	case PlackettBurman:
		return study.PlackettBurman(Factors(f), false)
	case PlackettBurmanFoldOver:
		return study.PlackettBurman(Factors(f), true)
	case Factorial, SplitPlot:
		return study.Factorial(Factors(f))
	}
	return study.OneAtATime(Factors(f))
}

// design checks that the factors fit the design.
func (r *reader) design(t conf.Table, f *model.StudyFile) {
	d := f.Protocol.Design
	if len(f.Factors) == 0 {
		switch {
		case f.Protocol.Name == Linerate && f.Protocol.AA > 0 && d == OneAtATime:
			return // an A/A study: what the path does by itself
		case d == Sequence && len(f.Baseline) > 0:
			return
		}
		t.Problem("factors", "there is none, and so nothing to compare; a study of the noise alone has protocol: {aa: 8} and design one-at-a-time")
		return
	}
	if (Crossed(d) || d == Search) && f.Protocol.Name == Paper {
		t.Problem("protocol", "paper compares one case with one baseline; design %s needs protocol linerate", d)
	}
	if _, err := Cases(*f); err != nil {
		t.Problem("protocol", "%v", err)
	}
	hard := 0
	for _, x := range f.Factors {
		if x.Hard {
			hard++
		}
	}
	if d == Search {
		r.search(t, f)
	}
	if d == SplitPlot && (hard == 0 || hard == len(f.Factors)) {
		t.Problem("protocol", "a split plot has factors with hard: true and others without: %d of %d have it; take design factorial", hard, len(f.Factors))
	}
}

// maxSearchRuns bounds a search: more is a mistake in the study file.
const maxSearchRuns = 2000

// search checks the factors of a search, which changes them at every run.
func (r *reader) search(t conf.Table, f *model.StudyFile) {
	for _, x := range f.Factors {
		switch {
		case x.Operator:
			r.Problem(r.factors[x.Name], "factor %s: a search changes its factors at every run, which no operator can; compare its levels in a study of their own", x.Name)
		case x.Hard:
			r.Problem(r.factors[x.Name], "factor %s: a search changes its factors at every run, and hard: true says that this one is costly; take it out", x.Name)
		}
	}
	if _, runs := study.SearchRuns(Factors(*f)); runs > maxSearchRuns {
		t.Problem("factors", "a search over them takes %d runs, at most %d; give them fewer levels, or range fewer points", runs, maxSearchRuns)
	}
}
