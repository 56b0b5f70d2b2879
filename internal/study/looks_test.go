package study

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"linerate/internal/unit"
)

// noisy is a path whose runs vary by noise and whose treatment multiplies its rate.
type noisy struct {
	rng           *rand.Rand
	noise, effect float64
	on            bool
	applied, left int
}

func (p *noisy) Apply(context.Context) error { p.on = true; p.applied++; return nil }
func (p *noisy) Undo(context.Context) error  { p.on = false; p.left++; return nil }

func (p *noisy) run(context.Context, string) (unit.BitRate, error) {
	log := p.noise * p.rng.NormFloat64()
	if p.on {
		log += math.Log(p.effect)
	}
	return unit.BitRate(1e9 * math.Exp(log)), nil
}

func planned(t *testing.T, blocks ...int) Sequence {
	t.Helper()
	s, err := NewSequence(SequenceAlpha, 1, blocks...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALookEndsWhatItDecides(t *testing.T) {
	for name, c := range map[string]struct {
		noise, effect float64
		pairs         int
		want          string
	}{
		"large":        {0.02, 1.5, 8, Gain},
		"large loss":   {0.02, 0.5, 8, Loss},
		"none, quiet":  {0.001, 1, 8, NoEffectAbove},
		"hidden":       {0.5, 1.02, 32, Undecided},
		"nothing ever": {0, 1, 8, NoEffectAbove},
	} {
		p := &noisy{rng: rand.New(rand.NewPCG(5, 5)), noise: c.noise, effect: c.effect}
		var totals []int
		got, err := RunLooks(t.Context(), Options{AAPairs: 2, Seed: 3, Undo: time.Second,
			Progress: func(done, total int, label string) { totals = append(totals, total-done) }}, planned(t, PlannedBlocks()...), p, p.run)
		if err != nil {
			t.Fatal(err)
		}
		if got.Effect != c.want || got.Pairs != c.pairs || len(got.Baseline) != c.pairs || len(got.Looks) != 4 || got.AAPairs != 2 {
			t.Errorf("%s: %s after %d pairs, want %s after %d", name, got.Effect, got.Pairs, c.want, c.pairs)
		}
		if p.applied != c.pairs || p.left != c.pairs || p.on || totals[len(totals)-1] != 0 {
			t.Errorf("%s: applied %d times, undone %d, in force %v, %d runs to go at the end", name, p.applied, p.left, p.on, totals[len(totals)-1])
		}
		if got.CILow == nil || got.CIHigh == nil || *got.CILow > c.effect || *got.CIHigh < c.effect {
			t.Errorf("%s: the interval leaves %v out: %+v", name, c.effect, got)
		}
	}
}

// A path that carries nothing without the treatment has no ratio, and is decided.
func TestLooksAtAPathThatMovesNothing(t *testing.T) {
	p := &noisy{rng: rand.New(rand.NewPCG(1, 1))}
	got, err := RunLooks(t.Context(), Options{Undo: time.Second}, planned(t, 8, 12), p, func(context.Context, string) (unit.BitRate, error) {
		if p.on {
			return unit.Gbit, nil
		}
		return 0, nil
	})
	if err != nil || got.Effect != Gain || got.Ratio != nil || got.Pairs != 8 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestLooksRefuse(t *testing.T) {
	p := &noisy{rng: rand.New(rand.NewPCG(1, 1)), effect: 1}
	if _, err := RunLooks(t.Context(), Options{Undo: time.Second}, Sequence{}, p, p.run); err == nil {
		t.Error("a study without looks was made")
	}
	if _, err := RunLooks(t.Context(), Options{}, planned(t, 8), p, p.run); err == nil {
		t.Error("a study without time for an undo was made")
	}
	broken := errors.New("broken")
	if _, err := RunLooks(t.Context(), Options{Undo: time.Second}, planned(t, 8), p, func(context.Context, string) (unit.BitRate, error) {
		return 0, broken
	}); !errors.Is(err, broken) {
		t.Errorf("a run that failed: %v", err)
	}
	if _, err := ProveAt(Series{Pairs: make([]Pair, 7)}, planned(t, 8)); !errors.Is(err, ErrNoLook) {
		t.Errorf("a look that is not planned: %v", err)
	}
}

// Of proofs without any effect no more end in one than is spent.
func TestLooksSpendWhatTheyMay(t *testing.T) {
	found, seq := 0, planned(t, 8, 12, 20)
	seq.Draws = 1 << 9
	const studies = 120
	for i := range studies {
		p := &noisy{rng: rand.New(rand.NewPCG(uint64(i), 9)), noise: 0.1, effect: 1}
		got, err := RunLooks(t.Context(), Options{Seed: uint64(i), Undo: time.Second}, seq, p, p.run)
		if err != nil {
			t.Fatal(err)
		}
		if got.Effect == Gain || got.Effect == Loss {
			found++
		}
	}
	// 4.5% of 120 are 5.4; three standard deviations more are 12.2.
	if found > 12 {
		t.Errorf("%d of %d proofs of nothing found something", found, studies)
	}
}
