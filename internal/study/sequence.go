package study

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"linerate/internal/stat"
)

// Look is one planned interim analysis, at which a study may end: the number of blocks before
// it, and the share of the error rate spent up to and including it.
type Look struct {
	Blocks int
	Spent  float64
}

// Sequence is the sign-flip test with planned looks. Under the hypothesis of
// no effect the sign of every block's log-ratio is a fair coin, so the joint distribution of
// the sums at all looks is known from the values themselves. Each look rejects the most
// extreme sums, as many as its share of the error rate allows, among those that no earlier
// look rejected. The chance of ever rejecting is at most the Spent of the last look, whatever
// the distribution of the values.
//
// Up to maxExact patterns are enumerated; beyond, Draws patterns are drawn,
// from Seed, and the observed one is counted among them, which keeps the test
// valid.
//
// Sources: K. K. G. Lan, D. L. DeMets, Discrete sequential boundaries for
// clinical trials, Biometrika 70 (1983) 659 (spending); B. Phipson, G. K. Smyth,
// Stat. Appl. Genet. Mol. Biol. 9 (2010) 39 (counting the observed pattern).
type Sequence struct {
	Looks []Look
	Draws int
	Seed  uint64
}

const (
	maxExact     = 1 << 12
	defaultDraws = 1 << 15
)

// NewSequence plans looks after the given numbers of blocks, at an error rate
// of alpha over all of them, spent as Pocock's boundary would:
// alpha*ln(1+(e-1)*t) at share t of the blocks (Lan and DeMets 1983). It spends enough at the
// first look to detect a large effect there: 8 blocks cannot give a p below 0.0078. Blocks
// must rise, from 1 on.
func NewSequence(alpha float64, seed uint64, blocks ...int) (Sequence, error) {
	if !(alpha > 0 && alpha < 1) || len(blocks) == 0 {
		return Sequence{}, fmt.Errorf("plan looks: error rate %v over %d looks", alpha, len(blocks))
	}
	s := Sequence{Draws: defaultDraws, Seed: seed}
	last := float64(blocks[len(blocks)-1])
	for i, b := range blocks {
		if b < 1 || i > 0 && b <= blocks[i-1] {
			return Sequence{}, fmt.Errorf("plan looks: after %v blocks: they must rise", blocks)
		}
		s.Looks = append(s.Looks, Look{b, alpha * math.Log(1+(math.E-1)*float64(b)/last)})
	}
	return s, nil
}

// SequenceAlpha is the error rate that a study with looks spends. It is a little
// below Alpha, since the assumption holds only nearly: an order that is balanced
// within a stage is not a series of independent coin tosses.
const SequenceAlpha = 0.045

// PlannedBlocks are the looks of a study by default.
func PlannedBlocks() []int { return []int{8, 12, 20, 32} }

// Decision is the result of one look.
type Decision struct {
	// P is the stagewise p-value: at most the error rate spent so far exactly
	// when the look rejects.
	P        float64
	Rejected bool
}

// ErrNoLook is the cause when no look is planned after so many blocks.
var ErrNoLook = errors.New("no look is planned here")

// Decide tests the log-ratios of all blocks so far, in the order in which they were run; their
// number must be that of a planned look.
func (s Sequence) Decide(logRatios []float64) (Decision, error) {
	k, err := s.look(len(logRatios))
	if err != nil {
		return Decision{}, err
	}
	p := s.p(logRatios, 0, k)
	return Decision{p, p <= s.Looks[k].Spent}, nil
}

// Interval returns the shifts that the look after so many blocks does not
// reject. It covers the centre of the log-ratios with at least one minus the
// error rate at whichever look the study ends (a repeated confidence interval:
// C. Jennison, B. W. Turnbull, J. R. Statist. Soc. B 51 (1989) 305).
func (s Sequence) Interval(logRatios []float64) (lo, hi float64, err error) {
	k, err := s.look(len(logRatios))
	if err != nil {
		return 0, 0, err
	}
	centre := stat.Mean(logRatios)
	rejects := func(mu float64) bool { return s.p(logRatios, mu, k) <= s.Looks[k].Spent }
	// A shift beyond every value gives all of them the same sign: no sum is more extreme.
	reach := 1.01*maxAbs(shifted(logRatios, centre)) + tie
	lo, hi = edge(centre, centre-reach, rejects), edge(centre, centre+reach, rejects)
	// With drawn patterns the ends of the interval are slightly uncertain. If an end is that
	// close to 0, the test of 0 decides on which side of 0 it lies.
	if lo <= 0 && hi >= 0 && rejects(0) {
		if centre > 0 {
			return math.SmallestNonzeroFloat64, hi, nil
		}
		return lo, -math.SmallestNonzeroFloat64, nil
	}
	return lo, hi, nil
}

func (s Sequence) look(blocks int) (int, error) {
	k := slices.IndexFunc(s.Looks, func(l Look) bool { return l.Blocks == blocks })
	if k < 0 {
		return 0, fmt.Errorf("look at %d blocks: %w", blocks, ErrNoLook)
	}
	return k, nil
}

// edge finds where rejection begins between a shift that is not rejected and one farther out;
// infinite if even that is not rejected.
func edge(in, out float64, rejects func(float64) bool) float64 {
	if !rejects(out) {
		return math.Inf(int(math.Copysign(1, out-in)))
	}
	for range 40 {
		mid := (in + out) / 2
		if rejects(mid) {
			out = mid
		} else {
			in = mid
		}
	}
	return out
}

// p is the stagewise p-value at look k of the values less mu.
func (s Sequence) p(values []float64, mu float64, k int) float64 {
	x := shifted(values, mu)
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	zero := tie * absSum(x)
	sums, weight, spent, from := []float64{0}, 1.0, 0.0, 0
	for i, look := range s.Looks[:k+1] {
		var drawn bool
		mass := weight * float64(len(sums))
		sums, drawn = s.extend(sums, x[from:look.Blocks], rng)
		weight, from = mass/float64(len(sums)), look.Blocks
		if i == k {
			return min(1, spent+weight*farther(sums, total(x[:look.Blocks]), zero, drawn))
		}
		var rejected int
		rejected, sums = reject(sums, (look.Spent-spent)/weight, zero)
		spent += weight * float64(rejected)
	}
	return 1
}

// extend adds every pattern of signs of next to every sum; if that gives too many sums, it
// draws Draws of them.
func (s Sequence) extend(sums, next []float64, rng *rand.Rand) (out []float64, drawn bool) {
	if len(next) <= 12 && len(sums)<<len(next) <= maxExact {
		t := total(next)
		out = make([]float64, 0, len(sums)<<len(next))
		for _, a := range subsetSums(next) {
			for _, b := range sums {
				out = append(out, b+t-2*a)
			}
		}
		return out, false
	}
	out = make([]float64, 0, s.Draws)
	for range s.Draws {
		sum, signs := sums[rng.IntN(len(sums))], rng.Uint64()
		for i, v := range next {
			if signs>>(i%64)&1 == 1 {
				v = -v
			}
			sum += v
		}
		out = append(out, sum)
	}
	return out, true
}

// farther counts the sums at least as far from zero as t; the observed sum is
// counted in addition to drawn ones.
func farther(sums []float64, t, zero float64, drawn bool) float64 {
	n := 0.0
	if drawn {
		n = 1
	}
	for _, v := range sums {
		if math.Abs(v) >= math.Abs(t)-zero {
			n++
		}
	}
	return n
}

// reject removes the sums that are farthest from zero, at most that many, and equal ones only
// together.
func reject(sums []float64, most, zero float64) (int, []float64) {
	far := make([]float64, len(sums))
	for i, v := range sums {
		far[i] = math.Abs(v)
	}
	// One more than may be removed: if it equals the last of them, that whole group stays.
	top := largest(far, min(len(far), int(most)+1))
	n := len(top)
	for end := n; end > 0; {
		at := top[end-1]
		for end > 0 && top[end-1] >= at-zero {
			end--
		}
		if float64(len(top)-end) > most {
			break
		}
		n = end
	}
	if n == len(top) {
		return 0, sums
	}
	left := make([]float64, 0, len(far)-len(top)+n)
	for _, v := range sums {
		if math.Abs(v) < top[n] {
			left = append(left, v)
		}
	}
	return len(sums) - len(left), left
}

// largest returns the m largest of x, sorted; it reorders x (C. A. R. Hoare, Comm. ACM 4
// (1961) 321). Sorting all of x would take most of the time of a look.
func largest(x []float64, m int) []float64 {
	k := len(x) - m
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot, i, j := x[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			lo = hi
		}
	}
	slices.Sort(x[k:])
	return x[k:]
}

func shifted(x []float64, mu float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mu
	}
	return out
}

func total(x []float64) float64 {
	t := 0.0
	for _, v := range x {
		t += v
	}
	return t
}
