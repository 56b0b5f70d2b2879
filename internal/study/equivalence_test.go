package study

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Fisher's own example: by how many eighths of an inch Darwin's crossed maize was taller than the
// self-fertilised of its pair. The Design of Experiments, section 21: of 32,768 patterns 863 give a
// sum at least as large as the one observed, and as many one as small.
func TestOneSidedOfDarwinsMaize(t *testing.T) {
	darwin := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	if p := upperShare(darwin); p != 863.0/32768 {
		t.Errorf("%v of 32768 patterns, Fisher has 863", p*32768)
	}
	if p := SignFlip(darwin); p != 2*863.0/32768 {
		t.Errorf("both sides: %v of 32768 patterns", p*32768)
	}
	// Equivalence within a margin that no pattern exceeds, by hand: an effect of -100 or less has
	// none of the patterns, one of 100 or more the one observed alone.
	scale := make([]float64, len(darwin))
	for i, v := range darwin {
		scale[i] = v / 1000
	}
	if p := TwoOneSided(scale, math.Exp(0.1)); p != 1.0/32768 {
		t.Errorf("within 100: %v of 32768 patterns", p*32768)
	}
}

func TestTwoOneSided(t *testing.T) {
	near := []float64{0.001, -0.002, 0.0005, 0.001, -0.001, 0, 0.002, -0.0005}
	for name, c := range map[string]struct {
		logs   []float64
		margin float64
		p      float64
	}{
		// Every value lies within the margin: of 256 patterns each test has the observed one alone.
		"all within":       {near, 1.02, 1.0 / 256},
		"beyond":           {[]float64{0.03, 0.03, 0.03, 0.03, 0.03}, 1.02, 1},
		"at the margin":    {[]float64{math.Log(1.02), math.Log(1.02), math.Log(1.02)}, 1.02, 1},
		"too few":          {[]float64{0, 0, 0, 0}, 1.02, 1.0 / 16},
		"none":             {nil, 1.02, 1},
		"no margin":        {near, 1, 1},
		"more than fit":    {make([]float64, MaxPairs+1), 1.02, 1},
		"wide, not alike":  {[]float64{0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1}, 1.02, -1},
		"below the margin": {[]float64{-0.03, -0.03, -0.03, -0.03, -0.03}, 1.02, 1},
	} {
		p := TwoOneSided(c.logs, c.margin)
		if c.p >= 0 && math.Abs(p-c.p) > 1e-12 || c.p < 0 && p <= 0.05 {
			t.Errorf("%s: %v, want %v", name, p, c.p)
		}
	}
}

// At alpha it decides as the interval of level 1-2*alpha within the margin, and where the true effect is
// the margin itself it errs no more often than alpha.
func TestTwoOneSidedAgreesWithTheIntervalAndErrsSeldom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const alpha, margin, studies = 0.05, 1.02, 400
	wrong := 0
	for range studies {
		logs := make([]float64, 10)
		for i := range logs {
			logs[i] = math.Log(margin) + 0.01*rng.NormFloat64()
		}
		p := TwoOneSided(logs, margin)
		if lo, hi := Interval(logs, 2*alpha); (p <= alpha) != Equivalent(lo, hi, margin) {
			t.Errorf("p %v beside an interval of %v to %v", p, lo, hi)
		}
		if p <= alpha {
			wrong++
		}
	}
	if wrong > 34 { // 20 are expected, with a deviation of 4.4
		t.Errorf("%d of %d are called equivalent at the margin itself", wrong, studies)
	}
}
