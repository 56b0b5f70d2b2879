package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func twoLevels(n int) []Factor {
	var out []Factor
	for i := range n {
		out = append(out, Factor{Name: fmt.Sprint("f", i), Levels: []string{"off", "on"}})
	}
	return out
}

func TestOneAtATime(t *testing.T) {
	got, err := OneAtATime([]Factor{{Name: "mtu", Levels: []string{"1500", "9000"}}, {Name: "rings", Levels: []string{"256", "1024", "4096"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Case{{0, 0}, {1, 0}, {0, 1}, {0, 2}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFactorial(t *testing.T) {
	got, err := Factorial([]Factor{{Name: "a", Levels: []string{"0", "1"}}, {Name: "b", Levels: []string{"0", "1", "2"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Case{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Factorial(twoLevels(13)); err == nil {
		t.Error("8192 cases are a study")
	}
}

// Every factor is on in half of the cases, and any two are on together in a
// quarter: the columns are orthogonal.
func TestPlackettBurmanIsOrthogonal(t *testing.T) {
	for _, c := range []struct{ factors, cases int }{{11, 12}, {19, 20}, {5, 12}, {12, 20}} {
		for _, fold := range []bool{false, true} {
			want := c.cases
			if fold {
				want *= 2
			}
			cases, err := PlackettBurman(twoLevels(c.factors), fold)
			if err != nil || len(cases) != want {
				t.Fatalf("%d factors: %d cases, %v", c.factors, len(cases), err)
			}
			for i := range c.factors {
				for j := range i + 1 {
					both := 0
					for _, k := range cases {
						both += k[i] * k[j]
					}
					if i == j && both != want/2 || i != j && both != want/4 {
						t.Errorf("%d factors: %d and %d are on together in %d of %d", c.factors, i, j, both, want)
					}
				}
			}
		}
	}
	if _, err := PlackettBurman(twoLevels(20), false); err == nil {
		t.Error("20 factors were screened")
	}
	if _, err := PlackettBurman([]Factor{{Name: "a", Levels: []string{"0", "1", "2"}}}, false); err == nil {
		t.Error("three levels were screened")
	}
}

// Folded over, a main effect is not disturbed by an interaction of two others.
func TestFoldOverClearsInteractions(t *testing.T) {
	outcome := func(c Case) float64 {
		sign := func(i int) float64 { return float64(2*c[i] - 1) }
		return 0.05*sign(0) + 0.2*sign(1)*sign(2)
	}
	worst := func(fold bool) float64 {
		cases, err := PlackettBurman(twoLevels(11), fold)
		if err != nil {
			t.Fatal(err)
		}
		var y []float64
		for _, c := range cases {
			y = append(y, outcome(c))
		}
		effects := mainEffects(cases, y)
		off := math.Abs(effects[0] - 0.1)
		for _, e := range effects[1:] {
			off = max(off, math.Abs(e))
		}
		return off
	}
	if got := worst(true); got > 1e-12 {
		t.Errorf("folded over, an effect is off by %v", got)
	}
	if got := worst(false); got < 0.05 {
		t.Errorf("not folded over, no effect is off by more than %v: the test shows nothing", got)
	}
}

// What is hard to change is changed once per group.
func TestSplitPlot(t *testing.T) {
	factors := []Factor{{Name: "firmware", Levels: []string{"old", "new"}, Hard: true}, {Name: "mtu", Levels: []string{"1500", "9000"}}, {Name: "gro", Levels: []string{"on", "off"}}}
	cases, err := Factorial(factors)
	if err != nil {
		t.Fatal(err)
	}
	seen, orders := map[string]bool{}, map[string]bool{}
	for seed := range uint64(20) {
		got := Order(factors, cases, rand.New(rand.NewPCG(seed, 0)))
		changes := 0
		for i, c := range got {
			seen[fmt.Sprint(seed, c)] = true
			if i > 0 && c[0] != got[i-1][0] {
				changes++
			}
		}
		if changes != 1 {
			t.Errorf("%v: the hard factor changes %d times", got, changes)
		}
		orders[fmt.Sprint(got)] = true
	}
	if len(seen) != 20*8 {
		t.Errorf("%d cases in 20 orders of 8", len(seen))
	}
	if len(orders) < 15 {
		t.Errorf("%d different orders of 20", len(orders))
	}
}

func TestDesignRefuses(t *testing.T) {
	for name, f := range map[string][]Factor{
		"none":      nil,
		"one level": {{Name: "a", Levels: []string{"0"}}},
		"same name": {{Name: "a", Levels: []string{"0", "1"}}, {Name: "a", Levels: []string{"0", "1"}}},
	} {
		if _, err := OneAtATime(f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// mainEffects are, for each factor of two levels, the mean outcome of the cases with
// level 1 less that of the cases with level 0.
func mainEffects(cases []Case, outcomes []float64) []float64 {
	effects := make([]float64, len(cases[0]))
	for i := range effects {
		var sum, n [2]float64
		for j, c := range cases {
			sum[c[i]] += outcomes[j]
			n[c[i]]++
		}
		effects[i] = sum[1]/n[1] - sum[0]/n[0]
	}
	return effects
}
