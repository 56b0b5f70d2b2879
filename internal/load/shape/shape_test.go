package shape

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

func random8k() Shape {
	return Shape{Pattern: Random, Read: 0.67, Sizes: []SizeShare{{8 * unit.KiB, 1}}, Area: 64 * unit.MiB, Arrivals: Closed}
}

func TestCheck(t *testing.T) {
	if err := random8k().Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Shape){
		"0 request sizes":          func(s *Shape) { s.Sizes = nil },
		"add up to 0.5":            func(s *Shape) { s.Sizes[0].Share = 0.5 },
		"a request of 0 bytes":     func(s *Shape) { s.Sizes[0].Size = 0 },
		"smaller than a request":   func(s *Shape) { s.Area = 4096 },
		"reads are NaN":            func(s *Shape) { s.Read = math.NaN() },
		"reads are 1.5":            func(s *Shape) { s.Read = 1.5 },
		"pattern \"snake\"":        func(s *Shape) { s.Pattern = "snake" },
		"zipf exponent 0":          func(s *Shape) { s.Pattern = Zipf },
		"elsewhere":                func(s *Shape) { s.Pattern = Seek },
		"seek takes":               func(s *Shape) { s.Pattern, s.Jump, s.Sizes = Seek, 0.5, []SizeShare{{4096, 0.5}, {8192, 0.5}} },
		"of one size":              func(s *Shape) { s.Pattern, s.Sizes = Once, []SizeShare{{4096, 0.5}, {8192, 0.5}} },
		"hot bands go with":        func(s *Shape) { s.Pattern, s.Hot = Sequential, []Band{{0, 1, 1}} },
		"want 0 <= from < to":      func(s *Shape) { s.Hot = []Band{{0.5, 0.5, 1}} },
		"holds no request":         func(s *Shape) { s.Hot = []Band{{0.5, 0.50001, 1}} },
		"more than 1":              func(s *Shape) { s.Hot = []Band{{0, 0.5, 0.7}, {0.5, 1, 0.7}} },
		"a rate needs arrivals":    func(s *Shape) { s.Rate = 10 },
		"want above 0 and at most": func(s *Shape) { s.Arrivals = Uniform },
		"arrivals \"sometimes\"":   func(s *Shape) { s.Arrivals = "sometimes" },
		"with closed arrivals":     func(s *Shape) { s.Arrivals, s.Rate, s.Think = Uniform, 10, time.Second },
		"think time -1s":           func(s *Shape) { s.Think = -time.Second },
	} {
		s := random8k()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Each part of a sequential or once-only walk takes its own blocks, and
// together they touch every block once per pass.
func TestEveryBlockOnce(t *testing.T) {
	for _, pattern := range []Pattern{Sequential, Once} {
		for _, blocks := range []int{1, 2, 7, 64, 1000} {
			s := random8k()
			s.Pattern, s.Area = pattern, unit.Bytes(blocks)*8*unit.KiB+100
			seen := map[int64]int{}
			const parts = 3
			walks := []*Walk{NewWalk(s, 5, 0, parts), NewWalk(s, 5, 1, parts), NewWalk(s, 5, 2, parts)}
			for i := range blocks * parts { // three passes
				seen[walks[i%parts].Next().Offset]++
			}
			for off, n := range seen {
				if n != parts || off%8192 != 0 || off+8192 > int64(s.Area) {
					t.Errorf("%s, %d blocks: offset %d touched %d times", pattern, blocks, off, n)
				}
			}
			if len(seen) != blocks {
				t.Errorf("%s: %d of %d blocks touched", pattern, len(seen), blocks)
			}
		}
	}
}

func TestOnceIsNotInOrder(t *testing.T) {
	s := random8k()
	s.Pattern = Once
	w := NewWalk(s, 1, 0, 1)
	rising, last := 0, int64(-1)
	for range w.Blocks() {
		o := w.Next().Offset
		if o > last {
			rising++
		}
		last = o
	}
	if share := float64(rising) / float64(w.Blocks()); share < 0.47 || share > 0.53 {
		t.Errorf("%.2f of the steps go forward: no random order", share)
	}
}

// Shares are drawn, not dealt: over many requests they are what was asked for,
// and no short sequence repeats.
func TestShares(t *testing.T) {
	s := random8k()
	s.Sizes = []SizeShare{{4 * unit.KiB, 0.25}, {64 * unit.KiB, 0.75}}
	s.Hot = []Band{{0.2, 0.3, 0.8}}
	w := NewWalk(s, 9, 0, 1)
	const n = 200_000
	var writes, small, hot int
	mix := map[int]int{}
	word := 0
	for range n {
		r := w.Next()
		if r.Offset%4096 != 0 || r.Offset < 0 || r.Offset+int64(r.Size) > int64(s.Area) {
			t.Fatalf("%+v", r)
		}
		word = word << 1 & 15
		if r.Write {
			writes++
			word |= 1
		}
		mix[word]++
		if r.Size == 4096 {
			small++
		}
		if at := float64(r.Offset) / float64(s.Area); at >= 0.2 && at < 0.3 {
			hot++
		}
	}
	near(t, "writes", float64(writes)/n, 0.33)
	near(t, "small requests", float64(small)/n, 0.25)
	near(t, "hot requests", float64(hot)/n, 0.8+0.2*0.1)
	// Four requests in a row all read as often as chance says.
	near(t, "four reads in a row", float64(mix[0])/n, math.Pow(0.67, 4))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.01 {
		t.Errorf("%s: %.4f, want %.4f", what, got, want)
	}
}

// The k-th most popular block is drawn in proportion to 1/k^theta, for
// exponents below, at and above 1.
func TestZipf(t *testing.T) {
	for _, theta := range []float64{0.5, 0.99, 1, 1.2, 2} {
		const blocks, n = 50, 400_000
		z := newZipf(blocks, theta)
		w := NewWalk(random8k(), 3, 0, 1)
		var count [blocks + 1]float64
		for range n {
			count[z.draw(w.float)]++
		}
		sum := 0.0
		for k := 1; k <= blocks; k++ {
			sum += math.Pow(float64(k), -theta)
		}
		for k := 1; k <= blocks; k++ {
			want := n * math.Pow(float64(k), -theta) / sum
			if math.Abs(count[k]-want) > 5*math.Sqrt(want)+1 {
				t.Errorf("theta %v: rank %d drawn %v times, want %.0f", theta, k, count[k], want)
			}
		}
	}
	s := random8k()
	s.Pattern, s.Theta = Zipf, 1.2
	w, seen := NewWalk(s, 3, 0, 1), map[int64]int{}
	for range 20_000 {
		seen[w.Next().Offset]++
	}
	most, at := 0, int64(0)
	for off, n := range seen {
		if n > most {
			most, at = n, off
		}
	}
	if at == 0 || most < 2000 {
		t.Errorf("the most popular block is at %d, drawn %d times: want it elsewhere, often", at, most)
	}
}

func TestArrivals(t *testing.T) {
	s := random8k()
	s.Arrivals, s.Rate = Uniform, 1000
	a, b := NewWalk(s, 1, 0, 2), NewWalk(s, 1, 1, 2)
	for i := range 5 {
		if x, y := a.Next().Due, b.Next().Due; x != time.Duration(2*i)*time.Millisecond || y != time.Duration(2*i+1)*time.Millisecond {
			t.Errorf("request %d of each part is due at %v and %v", i, x, y)
		}
	}
	s.Arrivals = Exponential
	w := NewWalk(s, 1, 0, 1)
	const n = 100_000
	last, longer := time.Duration(0), 0
	for range n {
		due := w.Next().Due
		if due-last > time.Millisecond {
			longer++
		}
		last = due
	}
	if got := last.Seconds(); math.Abs(got-n/1000) > 2 {
		t.Errorf("%d requests at 1000/s took %.1f s", n, got)
	}
	near(t, "gaps above the mean", float64(longer)/n, math.Exp(-1))
}

func TestWalkRepeatsAndMakesNoGarbage(t *testing.T) {
	s := random8k()
	a, b, c := NewWalk(s, 1, 0, 1), NewWalk(s, 1, 0, 1), NewWalk(s, 2, 0, 1)
	same := 0
	for range 1000 {
		x := a.Next()
		if x != b.Next() {
			t.Fatal("one seed, two walks")
		}
		if x == c.Next() {
			same++
		}
	}
	if same > 10 {
		t.Errorf("two seeds share %d of 1000 requests", same)
	}
	s.Pattern, s.Theta = Zipf, 0.9
	z := NewWalk(s, 1, 0, 1)
	if n := testing.AllocsPerRun(1000, func() { a.Next(); z.Next() }); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}
