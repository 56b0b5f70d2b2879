package study

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func plan(t *testing.T) Sequence {
	t.Helper()
	s, err := NewSequence(SequenceAlpha, 7, PlannedBlocks()...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpending(t *testing.T) {
	s, err := NewSequence(0.05, 0, PlannedBlocks()...)
	if err != nil {
		t.Fatal(err)
	}
	// alpha*ln(1+(e-1)t) at t = 1/4, 3/8, 5/8, 1.
	for i, want := range []float64{0.0179, 0.0249, 0.0365, 0.05} {
		if got := s.Looks[i].Spent; math.Abs(got-want) > 5e-5 {
			t.Errorf("look %d: %v spent, want %v", i+1, got, want)
		}
	}
	for _, blocks := range [][]int{{}, {0, 8}, {8, 8}, {12, 8}} {
		if _, err := NewSequence(Alpha, 0, blocks...); err == nil {
			t.Errorf("looks after %v blocks were planned", blocks)
		}
	}
	if _, err := plan(t).Decide(make([]float64, 9)); !errors.Is(err, ErrNoLook) {
		t.Errorf("a look that was not planned: %v", err)
	}
}

// The first look is the test without looks, at the level spent there.
func TestFirstLookIsSignFlip(t *testing.T) {
	s, rng := plan(t), rand.New(rand.NewPCG(3, 4))
	for range 50 {
		x := make([]float64, 8)
		for i := range x {
			x[i] = rng.NormFloat64() + 1
		}
		d, err := s.Decide(x)
		if err != nil {
			t.Fatal(err)
		}
		if want := SignFlip(x); math.Abs(d.P-want) > 1e-12 || d.Rejected != (want <= s.Looks[0].Spent) {
			t.Errorf("%v: %+v, the test without looks has p %v", x, d, want)
		}
		lo, hi, err := s.Interval(x)
		if err != nil {
			t.Fatal(err)
		}
		wantLo, wantHi := Interval(x, s.Looks[0].Spent)
		if math.Abs(lo-wantLo) > 1e-6 || math.Abs(hi-wantHi) > 1e-6 {
			t.Errorf("interval %v..%v, without looks %v..%v", lo, hi, wantLo, wantHi)
		}
	}
}

// By hand, with looks after 2 and 3 blocks and half of everything to spend at
// the first: values 1, 1, 1 sum to ±2 in half of the patterns, so the first
// look rejects them and of those with 0 the second look sees ±1 only.
func TestLaterLooksSeeWhatIsLeft(t *testing.T) {
	s := Sequence{Looks: []Look{{2, 0.5}, {3, 0.75}}, Draws: 10}
	for _, c := range []struct {
		x    []float64
		p    float64
		over bool
	}{
		{[]float64{1, 1}, 0.5, true},
		{[]float64{1, -1}, 1, false},
		{[]float64{1, -1, 1}, 1, false}, // 0.5 spent, and all that is left is as far out
	} {
		d, err := s.Decide(c.x)
		if err != nil || math.Abs(d.P-c.p) > 1e-12 || d.Rejected != c.over {
			t.Errorf("%v: %+v, %v; want p %v, rejected %v", c.x, d, err, c.p, c.over)
		}
	}
}

// simulate runs studies and returns how many found an effect and the blocks
// they took on average.
func simulate(t *testing.T, studies int, effect float64, noise func(*rand.Rand) func() float64) (found int, blocks float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 12))
	s := plan(t)
	s.Draws = 1 << 11
	for i := range studies {
		s.Seed = uint64(i)
		run, took := noise(rng), 0
		var x []float64
		for _, look := range s.Looks {
			for _, treatedFirst := range Schedule(look.Blocks-len(x), rng) {
				first, second := run(), run()
				if treatedFirst {
					first, second = second, first
				}
				x = append(x, second+effect-first)
			}
			took = look.Blocks
			d, err := s.Decide(x)
			if err != nil {
				t.Fatal(err)
			}
			if d.Rejected {
				found++
				break
			}
		}
		blocks += float64(took) / float64(studies)
	}
	return found, blocks
}

// roughPath is log goodput as a shared machine gives it: 2% of noise that
// remembers the run before, a drift, and one run in twenty that was disturbed.
func roughPath(rng *rand.Rand) func() float64 {
	at, memory, drift := 0.0, 0.0, 0.004*rng.NormFloat64()
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

// steady is noise of 2% per run.
func steady(rng *rand.Rand) func() float64 {
	return func() float64 { return 0.02 * rng.NormFloat64() }
}

// wilsonHigh is the upper end of the 95% interval of a share (Wilson 1927).
func wilsonHigh(k, n int) float64 {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	return (p + z*z/(2*m) + z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))) / (1 + z*z/m)
}

func TestNullStudies(t *testing.T) {
	found, _ := simulate(t, 2000, 0, roughPath)
	t.Logf("%d of 2000 null studies found an effect: at most %.4f", found, wilsonHigh(found, 2000))
	if wilsonHigh(found, 2000) > 0.06 {
		t.Errorf("%d of 2000 null studies found an effect", found)
	}
}

func TestPower(t *testing.T) {
	found, blocks := simulate(t, 400, math.Log(1.05), steady)
	t.Logf("5%% at 2%% noise: found in %d of 400 studies, after %.1f blocks on average", found, blocks)
	if found < 380 {
		t.Errorf("a true effect of 5%% at 2%% noise was found in %d of 400 studies", found)
	}
}

// At whichever look a study ends, its interval holds the true effect.
func TestIntervalCovers(t *testing.T) {
	const effect = 0.03
	rng := rand.New(rand.NewPCG(31, 32))
	s := plan(t)
	s.Draws = 1 << 9
	missed := 0
	const studies = 100
	for i := range studies {
		s.Seed = uint64(i)
		run := roughPath(rng)
		var x []float64
		for _, look := range s.Looks[:3] {
			for _, treatedFirst := range Schedule(look.Blocks-len(x), rng) {
				first, second := run(), run()
				if treatedFirst {
					first, second = second, first
				}
				x = append(x, second+effect-first)
			}
			d, err := s.Decide(x)
			if err != nil {
				t.Fatal(err)
			}
			if !d.Rejected && look.Blocks < 20 {
				continue
			}
			lo, hi, err := s.Interval(x)
			if err != nil {
				t.Fatal(err)
			}
			if d.Rejected && lo <= 0 && hi >= 0 {
				t.Fatalf("the look at %d blocks rejects 0, and %v..%v holds it", look.Blocks, lo, hi)
			}
			if lo > effect || hi < effect {
				missed++
			}
			break
		}
	}
	if missed > studies/10 {
		t.Errorf("%d of %d intervals missed the effect", missed, studies)
	}
}

func TestLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for n := range 60 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(12)) // with ties
		}
		sorted := slices.Sorted(slices.Values(x))
		m := rng.IntN(n + 1)
		if got := largest(x, m); !slices.Equal(got, sorted[n-m:]) {
			t.Errorf("the %d largest of %v: %v", m, sorted, got)
		}
	}
}
