package study

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWorseIsBeyondTheFloor(t *testing.T) {
	still := []float64{10, 11, 10, 12, 10, 11, 10, 11, 10, 11}
	shifted := func(by float64) []float64 {
		out := slices.Clone(still)
		for i := range out {
			out[i] += by
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		before []float64
		after  []float64
		least  float64
		worse  bool
	}{
		{"the same", still, still, 0, false},
		{"within what it differs by itself", still, shifted(1.9), 0, false},
		{"beyond", still, shifted(2.1), 0, true},
		{"beyond, and too little to count", still, shifted(2.1), 3, false},
		{"better", still, shifted(-9), 0, false},
		{"too few before", still[:Least-1], shifted(100), 0, false},
		{"too few after", still, shifted(100)[:Least-1], 0, false},
		{"without any noise", make([]float64, Least), slices.Repeat([]float64{1}, Least), 0.5, true},
	} {
		if by, floor, worse := Worse(SpreadOf(tt.before), SpreadOf(tt.after), tt.least); worse != tt.worse {
			t.Errorf("%s: by %v, floor %v, worse %v", tt.name, by, floor, worse)
		}
	}
}

// A path on which nothing has changed is called worse as seldom as Least promises, whatever its
// round trips are like.
func TestWorseOfNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1126, 21))
	const times = 20_000
	for name, draw := range map[string]func() float64{
		"uniform": rng.Float64, "normal": rng.NormFloat64, "long tail": func() float64 { x := rng.ExpFloat64(); return x * x },
	} {
		n := 0
		for range times {
			before, after := make([]float64, Least), make([]float64, Least)
			for i := range before {
				before[i], after[i] = draw(), draw()
			}
			if _, _, worse := Worse(SpreadOf(before), SpreadOf(after), 0); worse {
				n++
			}
		}
		if n > times/100 {
			t.Errorf("%s: %d of %d", name, n, times)
		}
	}
}
