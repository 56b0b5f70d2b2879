package shape

import "math/rand/v2"

// stream goes through an area from its beginning with requests of several sizes,
// one right behind the other, and starts again where the next one does not fit.
// The parts of a workload draw the same sizes, and each takes every n-th request:
// together they leave nothing out and touch nothing twice.
type stream struct {
	sizes       []SizeShare
	area, align int64
	rng         *rand.PCG
	skip        int // requests of other parts before the next one
	n           int
	at          int64
}

func newStream(s Shape, seed uint64, part, n int) *stream {
	// A sequence of its own: the mix of reads and writes is drawn from another.
	return &stream{sizes: s.Sizes, area: int64(s.Area), align: int64(s.Align), rng: rand.NewPCG(seed, 0xd1b54a32d192ed03), skip: part, n: n}
}

func (s *stream) next() (offset int64, bytes int) {
	for range s.skip {
		s.step()
	}
	s.skip = s.n - 1
	return s.step()
}

func (s *stream) step() (offset int64, bytes int) {
	bytes = size(s.sizes, s.rng)
	if s.align > 0 {
		s.at = (s.at + s.align - 1) / s.align * s.align
	}
	if s.at+int64(bytes) > s.area {
		s.at = 0
	}
	offset = s.at
	s.at += int64(bytes)
	return offset, bytes
}
