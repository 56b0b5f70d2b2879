package study

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestEquivalent(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   bool
	}{
		{-0.01, 0.01, true},
		{0.005, 0.015, true}, // a small effect, and none above 2%
		{-0.03, 0.03, false}, // nothing seen, nothing excluded
		{math.Inf(-1), math.Inf(1), false},
		{0.01, 0.03, false},
	} {
		if got := Equivalent(c.lo, c.hi, Margin); got != c.want {
			t.Errorf("%v..%v: %v", c.lo, c.hi, got)
		}
	}
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.04}, []float64{0.04}},
		// By hand: 0.01*4, 0.02*3, 0.03*2 (not below the one before), 0.5.
		{[]float64{0.03, 0.01, 0.5, 0.02}, []float64{0.06, 0.04, 0.5, 0.06}},
		{[]float64{0.6, 0.7}, []float64{1, 1}},
	} {
		if diff := cmp.Diff(c.want, Holm(c.p), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("%v: %s", c.p, diff)
		}
	}
}

func TestSmallest(t *testing.T) {
	// (1.959964+1.281552)*0.02/sqrt(8) = 0.02292.
	if got := Smallest(0.02, 8, 0.05); math.Abs(got-math.Exp(0.02292)) > 1e-5 {
		t.Errorf("%v", got)
	}
	if got := Smallest(0.02, 5, 0.05); !math.IsInf(got, 1) {
		t.Errorf("5 blocks show %v at 0.05", got)
	}
}

func TestGate(t *testing.T) {
	g := Gate{Runs: 3, RSD: 0.05, Margin: 0.05}
	got, err := g.Apply([]float64{100, 80, 120, 99, 100, 101, 50, 50, 50})
	if err != nil {
		t.Fatal(err)
	}
	want := Gated{Kept: []float64{99, 100, 101}, Discarded: [][]float64{{100, 80, 120}}, Passed: true}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	for name, runs := range map[string][]float64{"too few": {100, 100}, "never": {1, 2, 3, 4, 9, 1}, "nothing moved": {0, 0, 0}} {
		if got, err := g.Apply(runs); err != nil || got.Passed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := (Gate{Runs: 1, RSD: 1}).Apply(nil); err == nil {
		t.Error("a gate of one run")
	}
}
