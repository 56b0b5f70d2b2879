package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"linerate/internal/stat"
)

// Passes of a step of a Search before states are dropped: with many states left two are
// enough to drop the worse half; the last few are told apart by four.
const (
	searchMany       = 4 // more states than this are many
	searchPassesMany = 2
	searchPassesFew  = 4
)

// Search looks for the best state of factors whose levels are ordered, such as sizes of a
// buffer, in a number of runs that is known before the first. Factors that help only
// together, such as the buffers of both ends, are first raised together; then each is
// searched by itself, with the others where they were found best.
//
// Each of these steps is sequential halving (Z. Karnin, T. Koren, O. Somekh, Proc. ICML 28
// (2013) 1238): all states are measured in passes, the worse half is dropped, and what is
// left is measured again. A pass measures every state once, so that drift of the path hits
// all alike. States whose means are within the margin of the best count as equally good, and
// of those the one nearest to the baseline is preferred: the least change that does it.
//
// What it finds is the best of many and looks better than it is. It is no conclusion: the
// state has to be compared with the baseline in runs of their own.
type Search struct {
	factors []Factor
	slack   float64        // logarithm of the margin
	at      Case           // the best so far
	alive   []*SearchState // of the present step, the one nearest to the baseline first
	passes  int            // since states were dropped last
	steps   []SearchStep
	barred  []Case
}

// SearchStep is one step of a Search.
type SearchStep struct {
	Factor int            // -1: all factors together
	States []*SearchState // the one nearest to the baseline first
	Found  Case           // nil: the step is not over
}

// SearchState is one state of a step, and what it was measured at.
type SearchState struct {
	Case   Case
	Logs   []float64 // logarithm of each outcome, in the order of the passes
	Barred string    // why it was taken out; empty: it was not
}

// NewSearch begins a search. margin is the ratio below which a difference is of no use, 1 or
// more.
func NewSearch(factors []Factor, margin float64) (*Search, error) {
	if err := checkFactors(factors); err != nil {
		return nil, err
	}
	if !(margin >= 1) {
		return nil, fmt.Errorf("begin search: a margin of %v: want a ratio of at least 1", margin)
	}
	s := &Search{factors: factors, slack: math.Log(margin), at: make(Case, len(factors))}
	s.begin()
	return s, nil
}

// SearchRuns is how many passes and runs a search of these factors takes if no state is
// barred.
func SearchRuns(factors []Factor) (passes, runs int) {
	sizes := make([]int, 0, len(factors)+1)
	most := 0
	for _, f := range factors {
		sizes = append(sizes, len(f.Levels))
		most = max(most, len(f.Levels))
	}
	if len(factors) > 1 {
		sizes = append(sizes, most)
	}
	for _, n := range sizes {
		for ; n > 1; n = kept(n) {
			passes += searchPasses(n)
			runs += searchPasses(n) * n
		}
	}
	return passes, runs
}

// searchPasses is after how many passes states are dropped, with n of them left.
func searchPasses(n int) int {
	if n > searchMany {
		return searchPassesMany
	}
	return searchPassesFew
}

// kept is how many of n states are left after some are dropped.
func kept(n int) int {
	if n <= 2 {
		return 1
	}
	return (n + 1) / 2
}

// Pass returns the states of the next pass, the one nearest to the baseline first; nil: the
// search is over.
func (s *Search) Pass() []Case {
	var out []Case
	for _, x := range s.alive {
		out = append(out, x.Case)
	}
	return out
}

// Take takes the outcomes of a pass, in the order of Pass. A state whose outcome is not a
// number was not measured, and has to be barred. 0 is an outcome: nothing moved.
func (s *Search) Take(outcomes []float64) {
	for i, x := range s.alive {
		if i < len(outcomes) && !math.IsNaN(outcomes[i]) {
			x.Logs = append(x.Logs, math.Log(outcomes[i]))
		}
	}
	s.passes++
	s.alive = slices.DeleteFunc(s.alive, func(x *SearchState) bool { return s.isBarred(x.Case) })
	if n := len(s.alive); n > 1 && s.passes < searchPasses(n) {
		return
	}
	s.passes = 0
	if s.drop(); len(s.alive) <= 1 {
		s.end()
		s.begin()
	}
}

// Bar takes a state out of this step and all that follow: it cannot be had, or not measured.
// The pass that is under way is completed with Take.
func (s *Search) Bar(state Case, why string) {
	if s.isBarred(state) {
		return
	}
	s.barred = append(s.barred, state)
	for _, x := range s.alive {
		if slices.Equal(x.Case, state) {
			x.Barred = why
		}
	}
}

func (s *Search) isBarred(state Case) bool {
	return slices.ContainsFunc(s.barred, func(b Case) bool { return slices.Equal(b, state) })
}

// Found is the best state so far; the baseline's if nothing is better by more than the margin.
func (s *Search) Found() Case { return s.at }

// Over reports whether the search has come to its end.
func (s *Search) Over() bool { return len(s.alive) == 0 }

// Steps are the steps so far, the present one last.
func (s *Search) Steps() []SearchStep { return s.steps }

// begin prepares the next step that has something to compare.
func (s *Search) begin() {
	for len(s.alive) == 0 {
		factor := len(s.steps)
		if len(s.factors) > 1 {
			factor--
		}
		if factor >= len(s.factors) {
			return
		}
		for _, c := range s.states(factor) {
			if !s.isBarred(c) {
				s.alive = append(s.alive, &SearchState{Case: c})
			}
		}
		s.steps = append(s.steps, SearchStep{Factor: factor, States: slices.Clone(s.alive)})
		if len(s.alive) <= 1 {
			s.end()
		}
	}
}

// end ends a step with the one state that is left; where none is, the best so far stays.
func (s *Search) end() {
	if len(s.alive) == 1 {
		s.at = s.alive[0].Case
	}
	s.steps[len(s.steps)-1].Found = s.at
	s.alive = nil
}

// states are those that a step compares, the one nearest to the baseline first.
func (s *Search) states(factor int) []Case {
	var out []Case
	if factor >= 0 {
		for l := range s.factors[factor].Levels {
			c := slices.Clone(s.at)
			c[factor] = l
			out = append(out, c)
		}
		return out
	}
	most := 0
	for _, f := range s.factors {
		most = max(most, len(f.Levels)-1)
	}
	for k := range most + 1 {
		c := make(Case, len(s.factors))
		for i, f := range s.factors {
			c[i] = (k*(len(f.Levels)-1) + most - 1) / most // at least 1 once k is
		}
		out = append(out, c)
	}
	return out
}

// drop leaves the better half: of those within the margin of the best the ones nearest to
// the baseline, then the best of the others.
func (s *Search) drop() {
	if len(s.alive) < 2 {
		return
	}
	means := make(map[*SearchState]float64, len(s.alive))
	best := math.Inf(-1)
	for _, x := range s.alive {
		means[x] = x.Mean()
		best = max(best, means[x])
	}
	as := func(x *SearchState) float64 { // those within the margin count as the best itself
		if means[x] >= best-s.slack {
			return best
		}
		return means[x]
	}
	ranked := slices.Clone(s.alive)
	slices.SortStableFunc(ranked, func(a, b *SearchState) int { return cmp.Compare(as(b), as(a)) })
	left := ranked[:kept(len(ranked))]
	s.alive = slices.DeleteFunc(s.alive, func(x *SearchState) bool { return !slices.Contains(left, x) })
}

// Mean is the mean of the logarithms: -Inf where nothing moved, or nothing was measured.
func (x *SearchState) Mean() float64 {
	if len(x.Logs) == 0 {
		return math.Inf(-1)
	}
	return stat.Mean(x.Logs)
}
