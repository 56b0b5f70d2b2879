package study

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSignFlipByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		p    float64
	}{
		{"nothing", nil, 1},
		{"one value", []float64{3}, 1},                            // ±3: both as far out
		{"two, same sign", []float64{1, 2}, 0.5},                  // ±3 of {3,1,-1,-3}
		{"two, opposite", []float64{2, -1}, 1},                    // |1| or more: all four
		{"three, same sign", []float64{1, 2, 3}, 0.25},            // ±6 of 8
		{"three, one small against", []float64{-1, 2, 3}, 0.5},    // ±4, ±6 of 8
		{"all zero", []float64{0, 0, 0}, 1},                       //
		{"ties broken by rounding", []float64{0.1, 0.2, -0.3}, 1}, // the sum is 5e-17, not 0
		{"six, same sign", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64}, // no lower than .031
		{"eight, same sign", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 2. / 256},
		{"eight, one against", []float64{1, 1, 1, 1, 1, 1, 1, -1}, 18. / 256}, // 2 all + 16 one off
		{"too many", make([]float64, MaxPairs+1), 1},
	} {
		if p := SignFlip(c.x); math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%s: p = %v, want %v", c.name, p, c.p)
		}
	}
}

func TestIntervalByHand(t *testing.T) {
	lo, hi := Interval([]float64{1, 2, 3, 4, 5}, 0.05)
	if !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("5 values cannot reject at 0.05, got %v..%v", lo, hi)
	}
	// 6 values: p(mu) <= 2/64 only where no split is extreme, so the ends
	// are the smallest and the largest value.
	lo, hi = Interval([]float64{6, 1, 3, 2, 5, 4}, 0.05)
	if lo != 1 || hi != 6 {
		t.Errorf("6 values: %v..%v, want 1..6", lo, hi)
	}
	// 3 values at alpha 0.5: need (0.5*8-2)/2+1 = 2 splits. Lower means of
	// {1|2.5, 2|2, 3|1.5} sorted: 1, 1.5, 2; upper: 2, 2.5, 3.
	lo, hi = Interval([]float64{1, 2, 3}, 0.5)
	if lo != 1.5 || hi != 2.5 {
		t.Errorf("3 values: %v..%v, want 1.5..2.5", lo, hi)
	}
	// Equal values carry no spread.
	lo, hi = Interval([]float64{2, 2, 2, 2, 2, 2, 2, 2}, 0.05)
	if lo != 2 || hi != 2 {
		t.Errorf("equal values: %v..%v, want 2..2", lo, hi)
	}
}

// The test and the interval are one thing seen from two sides.
func TestIntervalInvertsTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		x := make([]float64, 6+rng.IntN(5))
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		lo, hi := Interval(x, 0.05)
		for _, mu := range []float64{lo - 1e-6, lo + 1e-6, hi - 1e-6, hi + 1e-6} {
			inside := mu > lo && mu < hi
			if p := SignFlip(shift(x, mu)); (p > 0.05) != inside {
				t.Fatalf("x %v: interval %v..%v but p(%v) = %v", x, lo, hi, mu, p)
			}
		}
	}
}

func shift(x []float64, mu float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mu
	}
	return out
}

// noises are run-to-run scatters of a log goodput. Links stall now and then
// and never run faster than they can, so most are skewed.
func noises() map[string]func(*rand.Rand) float64 {
	return map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return 0.05 * r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return -0.1 * r.ExpFloat64() },
		"stalls": func(r *rand.Rand) float64 {
			if r.Float64() < 0.1 {
				return -1 + 0.01*r.NormFloat64()
			}
			return 0.01 * r.NormFloat64()
		},
		"two modes": func(r *rand.Rand) float64 { return 0.3*float64(r.IntN(2)) + 0.01*r.NormFloat64() },
	}
}

func TestCoverageAndFalsePositives(t *testing.T) {
	const studies, pairs, effect = 4000, 8, 0.4
	for name, noise := range noises() {
		rng := rand.New(rand.NewPCG(7, 11))
		covered, alarms := 0, 0
		for range studies {
			null, shifted := make([]float64, pairs), make([]float64, pairs)
			for i := range null {
				null[i] = noise(rng) - noise(rng)
				shifted[i] = null[i] + effect
			}
			if SignFlip(null) <= 0.05 {
				alarms++
			}
			if lo, hi := Interval(shifted, 0.05); lo <= effect && effect <= hi {
				covered++
			}
		}
		fpr, cover := float64(alarms)/studies, float64(covered)/studies
		t.Logf("%s: coverage %.3f, false positives %.3f", name, cover, fpr)
		if fpr > 0.06 {
			t.Errorf("%s: false positives %.3f, want <= 0.06", name, fpr)
		}
		if cover < 0.94 || cover > 0.99 {
			t.Errorf("%s: coverage %.3f, want 0.94 to 0.99", name, cover)
		}
	}
}
