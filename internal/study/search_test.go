package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ordered are factors with so many levels each, beside the baseline.
func ordered(levels ...int) []Factor {
	var out []Factor
	for i, n := range levels {
		f := Factor{Name: fmt.Sprintf("f%d", i), Levels: []string{"baseline"}}
		for l := range n {
			f.Levels = append(f.Levels, fmt.Sprint(l+1))
		}
		out = append(out, f)
	}
	return out
}

// hunt searches to the end; rate is the goodput of a state without noise.
func hunt(t *testing.T, factors []Factor, noise float64, seed uint64, rate func(Case) float64) (*Search, int) {
	t.Helper()
	s, err := NewSearch(factors, Margin)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	runs := 0
	for pass := s.Pass(); pass != nil; pass = s.Pass() {
		drift := 1 + 0.2*rng.Float64() // of one pass against the next
		var out []float64
		for _, c := range pass {
			out = append(out, rate(c)*drift*math.Exp(noise*rng.NormFloat64()))
		}
		runs += len(out)
		s.Take(out)
		if runs > 100000 {
			t.Fatal("the search does not end")
		}
	}
	return s, runs
}

// window is the goodput through the smaller of two buffers that double from level to level.
func window(c Case) float64 {
	least := math.Inf(1)
	for _, l := range c {
		least = min(least, math.Exp2(float64(l)))
	}
	return min(least, 8)
}

func TestSearchFindsTheLeastThatDoesIt(t *testing.T) {
	for _, c := range []struct {
		factors []Factor
		rate    func(Case) float64
		want    Case
	}{
		{ordered(6), window, Case{3}},
		{ordered(6, 6), window, Case{3, 3}},
		{ordered(6, 2, 6), func(c Case) float64 { return window(Case{c[0], c[2]}) }, Case{3, 0, 3}},
		{ordered(3, 6), func(c Case) float64 { return window(Case{c[1]}) }, Case{0, 3}},
		{ordered(5), func(c Case) float64 { return 1 }, Case{0}},                                  // nothing helps
		{ordered(5, 5), func(c Case) float64 { return 1 / float64(1+c[0]+c[1]) }, Case{0, 0}},     // all harm
		{ordered(7), func(c Case) float64 { return 10 - math.Abs(float64(c[0])-4) }, Case{4}},     // a peak within
		{ordered(4), func(c Case) float64 { return []float64{0, 0, 5, 5, 5}[c[0]] }, Case{2}},     // nothing moves at first
		{ordered(4), func(c Case) float64 { return 0 }, Case{0}},                                  // nothing moves at all
		{ordered(1), func(c Case) float64 { return 1 + float64(c[0]) }, Case{1}},                  // two states
		{ordered(6, 6), func(c Case) float64 { return window(c) / (1 + 0.1*float64(c[1])) }, nil}, // a trade: any state but the ends
	} {
		s, runs := hunt(t, c.factors, 0, 1, c.rate)
		passes, planned := SearchRuns(c.factors)
		if runs != planned || passes == 0 {
			t.Errorf("%d runs, %d planned", runs, planned)
		}
		if got := s.Found(); c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("of %d factors: %v, want %v", len(c.factors), got, c.want)
		}
	}
}

// At 2% of noise a state as good as the best is found nearly always, mostly the least of
// those; and where nothing matters the search seldom leaves the baseline.
func TestSearchThroughNoise(t *testing.T) {
	best, least, still := 0, 0, 0
	const of = 200
	for seed := range uint64(of) {
		s, _ := hunt(t, ordered(6, 6), 0.02, seed, window)
		if window(s.Found()) == 8 {
			best++
		}
		if slices.Equal(s.Found(), Case{3, 3}) {
			least++
		}
		if s, _ := hunt(t, ordered(6), 0.005, seed, func(Case) float64 { return 1 }); slices.Equal(s.Found(), Case{0}) {
			still++
		}
	}
	t.Logf("best %d, least %d, still %d of %d", best, least, still, of)
	if best < of*95/100 || least < of*7/10 || still < of*9/10 {
		t.Errorf("best %d, least %d, still %d of %d", best, least, still, of)
	}
}

// A state that cannot be had is not found, also where it was the best so far.
func TestSearchAroundAStateThatCannotBeHad(t *testing.T) {
	s, err := NewSearch(ordered(4, 2), Margin)
	if err != nil {
		t.Fatal(err)
	}
	for pass := s.Pass(); pass != nil; pass = s.Pass() {
		var out []float64
		for _, c := range pass {
			v := window(c)
			if c[0] == 4 {
				s.Bar(c, "the host refuses it")
				v = math.NaN()
			}
			out = append(out, v)
		}
		s.Take(out)
	}
	if got := s.Found(); got[0] == 4 || got[0] == 0 {
		t.Errorf("%v", got)
	}
	barred := 0
	for _, step := range s.Steps() {
		for _, x := range step.States {
			if x.Barred != "" {
				barred++
			}
			if (x.Barred != "") != (x.Case[0] == 4) {
				t.Errorf("%+v", x)
			}
		}
	}
	if barred == 0 || !s.Over() {
		t.Errorf("%d barred", barred)
	}
}

func TestSearchRefuses(t *testing.T) {
	if _, err := NewSearch(nil, 1.02); err == nil {
		t.Error("no factor")
	}
	if _, err := NewSearch(ordered(3), 0.9); err == nil {
		t.Error("a margin below 1")
	}
}
