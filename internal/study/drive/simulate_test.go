package drive

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/study/file"
)

// roughPath is log goodput as a shared machine gives it: 2% of noise that
// remembers the run before, a drift, and one run in twenty that was disturbed.
func roughPath(rng *rand.Rand) func() float64 {
	at, memory, drift := 0.0, 0.0, 0.002*rng.NormFloat64()
	return func() float64 {
		at += drift
		memory = 0.6*memory + 0.016*rng.NormFloat64()
		v := at + memory
		if rng.IntN(20) == 0 {
			v -= rng.ExpFloat64() * 0.3
		}
		return v
	}
}

// wilsonHigh is the upper end of the 95% interval of a share (Wilson 1927).
func wilsonHigh(k, n int) float64 {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	return (p + z*z/(2*m) + z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))) / (1 + z*z/m)
}

// simulate runs whole studies and hands each to see. The test draws fewer
// patterns than it does for users, which makes it a little weaker, never less
// valid.
func simulate(t *testing.T, studies int, f model.StudyFile, effects map[string]float64, noise func(*rand.Rand) func() float64, see func(*Drive)) {
	t.Helper()
	for i := range studies {
		f.Protocol.Seed = uint64(i + 1)
		d := begin(t, f)
		d.draws = 1 << 8
		finish(t, d, path{noise: noise(rand.New(rand.NewPCG(uint64(i), 77))), effects: effects, took: 8 * time.Second})
		see(d)
	}
}

// decided are the conclusions by which the study acts, without what is worked
// out for readers only.
func (d *Drive) decided() map[string]string {
	holm := d.holm(deciding)
	out := map[string]string{}
	for _, e := range d.found {
		out[e.factor] = d.verdict(e, holm[e])
	}
	return out
}

// The chance that a study in which nothing has an effect finds any is what was
// promised, over the whole machine: several comparisons, looks, correction, and
// a budget that goes where a decision is near.
func TestNullStudies(t *testing.T) {
	const studies = 2000 / fewer
	f := fileOf(3)
	f.Budget = 15 * time.Minute
	found := falseFindings(t, studies, f)
	t.Logf("%d of %d null studies found an effect: at most %.4f", found, studies, wilsonHigh(found, studies))
	if wilsonHigh(found, studies) > 0.06 && fewer == 1 || wilsonLow(found, studies) > 0.05 {
		t.Errorf("%d of %d null studies found an effect", found, studies)
	}
}

// The same of designs that vary several factors at once; fewer of them, for they
// have many runs.
func TestNullStudiesCrossed(t *testing.T) {
	const studies = 200 / fewer
	f := fileOf(3)
	f.Protocol.Design = file.Factorial
	found := falseFindings(t, studies, f)
	t.Logf("%d of %d null studies found an effect", found, studies)
	if wilsonLow(found, studies) > 0.05 {
		t.Errorf("%d of %d null studies found an effect", found, studies)
	}
}

// falseFindings are the studies without any effect that found one.
func falseFindings(t *testing.T, studies int, f model.StudyFile) (found int) {
	t.Helper()
	simulate(t, studies, f, nil, roughPath, func(d *Drive) {
		for _, conclusion := range d.decided() {
			if conclusion == model.StudyGain || conclusion == model.StudyLoss {
				found++
				return
			}
		}
	})
	return found
}

// A true effect of 5% at 2% of noise per run is found within the planned looks,
// also beside others, for which p is corrected.
func TestPower(t *testing.T) {
	const studies = 200 / fewer
	found, runs := 0, 0
	simulate(t, studies, fileOf(3), map[string]float64{"f2 on": math.Log(1.05)},
		func(rng *rand.Rand) func() float64 { return func() float64 { return 0.02 * rng.NormFloat64() } },
		func(d *Drive) {
			runs += len(d.runs)
			if d.decided()["f2"] == model.StudyGain {
				found++
			}
		})
	t.Logf("5%% at 2%% noise, one of three factors: found in %d of %d studies, of %d runs on average", found, studies, runs/studies)
	if found < studies*9/10 {
		t.Errorf("found in %d of %d studies", found, studies)
	}
}

// Intervals hold the true effect, at whichever look a comparison ended, also
// those that ended because an effect was shown or excluded.
func TestIntervalsCover(t *testing.T) {
	const studies, effect = 60, 0.03
	missed, ended := 0, 0
	simulate(t, studies, fileOf(2), map[string]float64{"f1 on": effect}, roughPath, func(d *Drive) {
		for i, e := range d.found {
			x, err := d.show(e)
			if err != nil {
				t.Fatal(err)
			}
			ended++
			if truth := []float64{effect, 0}[i]; x.lo > truth || x.hi < truth {
				missed++
			}
			if e.rejects && x.lo <= 0 && x.hi >= 0 {
				t.Errorf("no effect is rejected and within %v..%v", x.lo, x.hi)
			}
		}
	})
	t.Logf("%d of %d intervals missed the effect", missed, ended)
	if wilsonLow(missed, ended) > 0.05 {
		t.Errorf("%d of %d intervals missed the effect", missed, ended)
	}
}

// wilsonLow is the lower end of that interval.
func wilsonLow(k, n int) float64 { return 1 - wilsonHigh(n-k, n) }

// A study of Dell's size, in less time than its protocol of three runs of 20
// minutes each: what was spent is known, and every true effect is found.
func TestBudgetDecides(t *testing.T) {
	const studies = 60
	f := fileOf(6)
	f.Budget = time.Hour
	effects := map[string]float64{"f1 on": math.Log(1.5), "f3 on": math.Log(0.93), "f5 on": math.Log(1.07)}
	right := 0
	simulate(t, studies, f, effects, func(rng *rand.Rand) func() float64 { return func() float64 { return 0.02 * rng.NormFloat64() } }, func(d *Drive) {
		got := d.decided()
		if got["f1"] == model.StudyGain && got["f3"] == model.StudyLoss && got["f5"] == model.StudyGain {
			right++
		}
	})
	t.Logf("all three effects among six factors found in %d of %d studies of an hour", right, studies)
	if right < studies*9/10 {
		t.Errorf("all effects were found in %d of %d studies", right, studies)
	}
}
