package study

import (
	"math"
	"math/rand/v2"
	"testing"
)

// remembering is a series of rates with first-order memory, gaps, and now and then an outlier.
func remembering(rng *rand.Rand, n int, rho, level float64) []Slot {
	out := make([]Slot, n)
	v := rng.NormFloat64()
	for i := range out {
		v = rho*v + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		rate := level * math.Exp(0.1*v)
		if rng.Float64() < 0.01 {
			rate /= 4
		}
		if rng.Float64() >= 0.05 {
			out[i] = Slot{Bytes: 10 * rate, Seconds: 10}
		}
	}
	return out
}

// The A/A check of the method: two stretches that do not differ are told apart no more often
// than the error rate says, whatever the memory of the path, also among those that have an
// interval: more than the upper 99.9% bound of 5% of them is too many.
func TestStretchesThatDoNotDifferAreNotToldApart(t *testing.T) {
	const studies = 400
	for _, n := range []int{360, 2000} {
		for _, rho := range []float64{0, 0.5, 0.8, 0.95} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(100*rho)))
			wrong, decided := 0, 0
			for range studies {
				o := Observe(remembering(rng, n, rho, 1e8), remembering(rng, n, rho, 1e8))
				if o.Low != nil {
					decided++
				}
				if o.Effect == ObservedHigher || o.Effect == ObservedLower {
					wrong++
				}
			}
			t.Logf("n %d, memory %.2f: %d of %d have an interval, %d wrong", n, rho, decided, studies, wrong)
			if most := 0.05*float64(decided) + 3.1*math.Sqrt(0.05*0.95*float64(decided)) + 1; float64(wrong) > most {
				t.Errorf("n %d, memory %.2f: %d of %d are told apart, more than %.1f", n, rho, wrong, decided, most)
			}
		}
	}
}

// A path that carries 5% more is seen to, by about that; one that carries as much is, too.
func TestADifferenceBetweenStretchesIsSeen(t *testing.T) {
	found, covered, same := 0, 0, 0
	const studies = 100
	rng := rand.New(rand.NewPCG(1, 2))
	for range studies {
		a := remembering(rng, 2000, 0.5, 1e8)
		o := Observe(a, remembering(rng, 2000, 0.5, 1.05e8))
		if o.Effect == ObservedHigher {
			found++
		}
		if o.Low != nil && *o.Low <= 1.05 && *o.High >= 1.05 {
			covered++
		}
		if o := Observe(remembering(rng, 2000, 0, 1e8), remembering(rng, 2000, 0, 1e8)); o.Effect == ObservedSame {
			same++
		}
	}
	t.Logf("of %d: %d found, %d covered, %d seen to be the same", studies, found, covered, same)
	if found < 90 || covered < 85 || same < 80 {
		t.Errorf("of %d: %d found, %d covered, %d seen to be the same", studies, found, covered, same)
	}
}

func TestWhatCannotBeComparedHasNoInterval(t *testing.T) {
	one := func(n int) []Slot {
		out := make([]Slot, n)
		for i := range out {
			out[i] = Slot{Bytes: 1e9, Seconds: 10}
		}
		return out
	}
	early, late := one(1000), one(1000)
	clear(early[500:])
	clear(late[:500])
	for name, c := range map[string]struct {
		a, b  []Slot
		pairs int
		ratio bool
	}{
		"nothing":           {nil, one(100), 0, false},
		"no common time":    {early, late, 0, false},
		"too short":         {one(100), one(159), 5, true},
		"half of one":       {early, one(1000), 11, true},
		"as long as it has": {one(160), one(160), 8, true},
	} {
		o := Observe(c.a, c.b)
		if o.Pairs != c.pairs || (o.Ratio != nil) != c.ratio || (o.Low != nil) != (c.pairs >= leastPairs) || (o.Why == "") != (o.Low != nil) {
			t.Errorf("%s: %+v", name, o)
		}
		if o.Low == nil && (o.P != 1 || o.Effect != Undecided) {
			t.Errorf("%s: concludes without an interval: %+v", name, o)
		}
	}
}
