package study

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"linerate/internal/unit"
)

// DefaultAAPairs is how many A/A pairs a study has whose file does not say.
const DefaultAAPairs = 4

// Treatment is the one thing that differs between the runs of a pair. Undo
// must be safe to call after an Apply that failed or never changed anything.
type Treatment interface {
	Apply(ctx context.Context) error
	Undo(ctx context.Context) error
}

// Measure makes one run and returns its goodput. label names the run, e.g.
// "A/A 1a" or "pair 3 treated".
type Measure func(ctx context.Context, label string) (unit.BitRate, error)

// Options fix a study before its first run.
type Options struct {
	Pairs   int           // 1 to MaxPairs; RunLooks has its own
	AAPairs int           // 0 to MaxPairs
	Seed    uint64        // of the order within pairs; recorded, for repeats
	Undo    time.Duration // how long an undo may take, even after ctx is done
	// Progress is called before every run and once at the end; may be nil.
	Progress func(done, total int, label string)
}

// Schedule draws for each of n pairs whether its treated run comes first. That is so for
// exactly half of the pairs, so that a steady drift cancels out; if n is odd, a coin decides
// for the remaining pair.
func Schedule(n int, rng *rand.Rand) []bool {
	first := make([]bool, n)
	for i := range n / 2 {
		first[i] = true
	}
	if n%2 == 1 {
		first[n-1] = rng.IntN(2) == 1
	}
	rng.Shuffle(n, func(i, j int) { first[i], first[j] = first[j], first[i] })
	return first
}

// RunPairs runs the A/A pairs, then the treated pairs in random order, and
// returns what was measured. Every Apply, even a failed one, is followed by an Undo, also if a
// run fails or panics or ctx ends. On any error there is no Series: half a study proves
// nothing. Errors of the run and of the undo are joined.
func RunPairs(ctx context.Context, o Options, t Treatment, m Measure) (Series, error) {
	if err := o.check(MaxPairs); err != nil {
		return Series{}, err
	}
	l := &loop{Options: o, treatment: t, measure: m}
	var s Series
	if err := l.aaPairs(ctx, &s); err != nil {
		return Series{}, err
	}
	if err := l.pairs(ctx, &s, o.Pairs, rand.New(rand.NewPCG(o.Seed, 0))); err != nil {
		return Series{}, err
	}
	l.report("")
	return s, nil
}

// aaPairs runs the A/A pairs.
func (l *loop) aaPairs(ctx context.Context, s *Series) error {
	for i := range l.AAPairs {
		p, err := l.aaPair(ctx, i+1)
		if err != nil {
			return err
		}
		s.AA = append(s.AA, p)
	}
	return nil
}

// pairs runs n more pairs, half of which begin with the treated run.
func (l *loop) pairs(ctx context.Context, s *Series, n int, rng *rand.Rand) error {
	for _, first := range Schedule(n, rng) {
		p, err := l.pair(ctx, len(s.Pairs)+1, first)
		if err != nil {
			return err
		}
		s.Pairs = append(s.Pairs, p)
	}
	return nil
}

func (o Options) check(most int) error {
	if o.Pairs < 1 || o.Pairs > most || o.AAPairs < 0 || o.AAPairs > MaxPairs || o.Undo <= 0 {
		return fmt.Errorf("run study: %d pairs, %d A/A pairs, undo in %v: want 1 to %d, 0 to %d and a positive time", o.Pairs, o.AAPairs, o.Undo, most, MaxPairs)
	}
	return nil
}

type loop struct {
	Options
	treatment Treatment
	measure   Measure
	done      int
}

func (l *loop) aaPair(ctx context.Context, n int) (p Pair, err error) {
	if p.Baseline, err = l.run(ctx, fmt.Sprintf("A/A %da", n)); err != nil {
		return Pair{}, err
	}
	if p.Treated, err = l.run(ctx, fmt.Sprintf("A/A %db", n)); err != nil {
		return Pair{}, err
	}
	return p, nil
}

func (l *loop) pair(ctx context.Context, n int, treatedFirst bool) (p Pair, err error) {
	baseline := func() (err error) {
		p.Baseline, err = l.run(ctx, fmt.Sprintf("pair %d baseline", n))
		return err
	}
	treated := func() (err error) {
		p.Treated, err = l.treatedRun(ctx, fmt.Sprintf("pair %d treated", n))
		return err
	}
	steps := []func() error{baseline, treated}
	if treatedFirst {
		steps = []func() error{treated, baseline}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Pair{}, err
		}
	}
	return p, nil
}

func (l *loop) treatedRun(ctx context.Context, label string) (rate float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("run %s: %w", label, err)
	}
	defer func() {
		undoCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Undo)
		defer cancel()
		if undoErr := l.treatment.Undo(undoCtx); undoErr != nil {
			err = errors.Join(err, fmt.Errorf("undo treatment after %s: %w", label, undoErr))
		}
	}()
	if err := l.treatment.Apply(ctx); err != nil {
		return 0, fmt.Errorf("apply treatment for %s: %w", label, err)
	}
	return l.run(ctx, label)
}

func (l *loop) run(ctx context.Context, label string) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("run %s: %w", label, err)
	}
	l.report(label)
	rate, err := l.measure(ctx, label)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", label, err)
	}
	l.done++
	return float64(rate), nil
}

func (l *loop) report(label string) {
	if l.Progress != nil {
		l.Progress(l.done, 2*(l.AAPairs+l.Pairs), label)
	}
}
