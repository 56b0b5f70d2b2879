package shape

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Request is what a Walk asks for next.
type Request struct {
	Offset int64
	Size   int
	Write  bool
	// Due is when it should start, from the start of the run; 0 with Closed.
	Due time.Duration
}

// Walk yields the requests of a Shape, without an end and without garbage.
// Several walks share one workload as its parts: part p of n takes every n-th
// sequential or once-only block and an n-th of the rate.
type Walk struct {
	shape   Shape
	rng     *rand.PCG
	step    int64
	blocks  uint64 // offsets that a request of the largest size can have
	part, n uint64
	at      uint64  // requests so far, of Sequential and Once; of Seek the next block
	drawn   uint64  // requests so far, of Uniform
	due     float64 // seconds, of Exponential
	perm    permutation
	zipf    zipf
	// What is asked for every request, found out once: the size where there is one
	// only (else 0), and whether a block is drawn from everywhere.
	size1  int
	plain  bool
	closed bool
	stream *stream // of Sequential with several sizes
}

// NewWalk starts the walk of part p of n, 0 <= p < n. The shape must pass its
// Check.
func NewWalk(s Shape, seed uint64, p, n int) *Walk {
	w := &Walk{shape: s, rng: rand.NewPCG(seed, uint64(p)), step: int64(s.Step()), part: uint64(p), n: uint64(n)}
	w.blocks = uint64((int64(s.Area)-int64(s.Largest()))/w.step) + 1
	if s.Pattern == Once || s.Pattern == Sequential || s.Pattern == Seek {
		// Requests that do not overlap.
		w.step = int64(s.Largest())
		w.blocks = uint64(int64(s.Area) / w.step)
	}
	if len(s.Sizes) == 1 {
		w.size1 = int(s.Sizes[0].Size)
	}
	w.plain, w.closed = s.Pattern == Random && len(s.Hot) == 0, s.Arrivals == Closed
	if s.Pattern == Sequential && len(s.Sizes) > 1 {
		w.stream = newStream(s, seed, p, n)
	}
	w.perm = newPermutation(w.blocks, seed)
	switch s.Pattern {
	case Zipf:
		w.zipf = newZipf(w.blocks, s.Theta)
	case Seek:
		w.at = w.blocks / w.n * w.part // each part goes its own way
	}
	return w
}

// Blocks is how many different offsets there are.
func (w *Walk) Blocks() int64 { return int64(w.blocks) }

// Next is the next request.
func (w *Walk) Next() Request {
	r := Request{Size: w.size1, Write: w.shape.Read < 1 && (w.shape.Read <= 0 || w.float() >= w.shape.Read)}
	switch {
	case w.stream != nil:
		r.Offset, r.Size = w.stream.next()
	case w.plain && r.Size > 0:
		r.Offset = int64(w.below(w.blocks)) * w.step
	default:
		if r.Size == 0 {
			r.Size = size(w.shape.Sizes, w.rng)
		}
		r.Offset = int64(w.block()) * w.step
	}
	if w.closed {
		return r
	}
	switch w.shape.Arrivals {
	case Uniform:
		// From the count, so that rounding does not add up over a long run.
		r.Due = time.Duration(math.Round(float64(w.drawn*w.n+w.part) / w.shape.Rate * 1e9))
		w.drawn++
	case Exponential:
		w.due -= math.Log(1-w.float()) * float64(w.n) / w.shape.Rate
		r.Due = time.Duration(w.due * 1e9)
	}
	return r
}

func (w *Walk) float() float64 { return float(w.rng) }

// float is from 0 to below 1.
func float(rng *rand.PCG) float64 { return float64(rng.Uint64()>>11) * 0x1p-53 }

func (w *Walk) below(n uint64) uint64 {
	hi, _ := bits.Mul64(w.rng.Uint64(), n) // the bias is below n/2^64
	return hi
}

// size draws one of several sizes.
func size(of []SizeShare, rng *rand.PCG) int {
	u := float(rng)
	for _, z := range of {
		if u -= z.Share; u < 0 {
			return int(z.Size)
		}
	}
	return int(of[len(of)-1].Size)
}

func (w *Walk) block() uint64 {
	switch w.shape.Pattern {
	case Random:
		return w.random()
	case Zipf:
		return w.perm.of(w.zipf.draw(w.float) - 1)
	case Seek:
		if w.float() < w.shape.Jump {
			w.at = w.below(w.blocks)
		}
		i := w.at % w.blocks
		w.at = i + 1
		return i
	}
	i := (w.at*w.n + w.part) % w.blocks
	w.at++
	if w.shape.Pattern == Once {
		return w.perm.of(i)
	}
	return i
}

// random draws from a hot band, or from everywhere.
func (w *Walk) random() uint64 {
	if len(w.shape.Hot) > 0 {
		u := w.float()
		for _, b := range w.shape.Hot {
			if u -= b.Share; u < 0 {
				// Bands that touch share no offset, and leave none out.
				from := min(uint64(math.Ceil(b.From*float64(w.blocks))), w.blocks-1)
				to := max(uint64(math.Ceil(b.To*float64(w.blocks))), from+1)
				return from + w.below(to-from)
			}
		}
	}
	return w.below(w.blocks)
}

// permutation is a bijection of 0..n-1 that needs no memory: a Feistel network
// over the next even power of two, walked until it lands inside (J. Black, P.
// Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002).
type permutation struct {
	n    uint64
	half uint // bits of a half
	keys [4]uint64
}

func newPermutation(n, seed uint64) permutation {
	p := permutation{n: n, half: uint(max(1, (bits.Len64(n-1)+1)/2))}
	rng := rand.NewPCG(seed, 0x9e3779b97f4a7c15)
	for i := range p.keys {
		p.keys[i] = rng.Uint64() | 1
	}
	return p
}

func (p permutation) of(i uint64) uint64 {
	mask := uint64(1)<<p.half - 1
	for {
		left, right := i>>p.half, i&mask
		for _, k := range p.keys {
			mixed := (right + k) * k
			left, right = right, left^(mixed>>(64-p.half))&mask
		}
		if i = left<<p.half | right; i < p.n {
			return i
		}
	}
}

// zipf draws ranks 1..n with probability proportional to rank^-theta by
// rejection inversion, in constant time and memory.
//
// Source: W. Hörmann, G. Derflinger, Rejection-inversion to generate variates
// from monotone discrete distributions, ACM TOMACS 6 (1996) 169.
type zipf struct {
	n, theta             float64
	first, last, squeeze float64
}

func newZipf(n uint64, theta float64) zipf {
	z := zipf{n: float64(n), theta: theta}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(z.n + 0.5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -theta))
	return z
}

// integral of x^-theta.
func (z zipf) integral(x float64) float64 {
	if z.theta == 1 {
		return math.Log(x)
	}
	return math.Expm1((1-z.theta)*math.Log(x)) / (1 - z.theta)
}

func (z zipf) inverse(x float64) float64 {
	if z.theta == 1 {
		return math.Exp(x)
	}
	return math.Exp(math.Log1p(max(-1, x*(1-z.theta))) / (1 - z.theta))
}

func (z zipf) draw(uniform func() float64) uint64 {
	for {
		u := z.last + uniform()*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.squeeze || u >= z.integral(k+0.5)-math.Pow(k, -z.theta) {
			return uint64(k)
		}
	}
}
