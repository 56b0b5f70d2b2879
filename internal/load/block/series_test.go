package block

import (
	"math/rand/v2"
	"testing"
	"time"
)

func levels(parts ...[2]int) (out []Second) {
	for _, p := range parts {
		for range p[0] {
			out = append(out, Second{Reads: 1, ReadBytes: int64(p[1]) << 20, MaxLatency: time.Duration(p[1])})
		}
	}
	return append(out, Second{ReadBytes: 1}) // the last second is short
}

func TestBound(t *testing.T) {
	if got, each := Bound(levels([2]int{99, 5}), 100); len(got) != 100 || each != 1 {
		t.Errorf("%d points of %d s", len(got), each)
	}
	got, each := Bound(levels([2]int{250, 5}, [2]int{4, 9}), 100)
	if len(got) != 85 || each != 3 {
		t.Fatalf("%d points of %d s, want 85 of 3", len(got), each)
	}
	var reads, bytes int64
	for _, s := range got {
		reads, bytes = reads+s.Reads, bytes+s.ReadBytes
	}
	if reads != 254 || bytes != 250*5<<20+4*9<<20+1 || got[83].MaxLatency != 9 {
		t.Errorf("%d reads, %d bytes, last but one %v", reads, bytes, got[83].MaxLatency)
	}
}

func TestFindChange(t *testing.T) {
	c := FindChange(levels([2]int{30, 400}, [2]int{50, 100}))
	if c == nil || c.At != 30 || c.After != 30*400<<20 || c.Before != 400<<20 || c.Behind != 100<<20 {
		t.Errorf("a cache of 12000 MiB: %+v", c)
	}
	if c := FindChange(levels([2]int{20, 100}, [2]int{20, 130})); c == nil || c.At != 20 || c.Behind <= c.Before {
		t.Errorf("it rose: %+v", c)
	}
	for name, s := range map[string][]Second{
		"too short": levels([2]int{9, 400}, [2]int{9, 100}), "level": levels([2]int{100, 400}), "a tenth": levels([2]int{50, 400}, [2]int{50, 360}),
		"one stall": levels([2]int{50, 400}, [2]int{2, 0}, [2]int{50, 400}), "nothing": nil, "all zero": levels([2]int{50, 0}),
	} {
		if c := FindChange(s); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// What only varies has no place where it changed.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s []Second
		for range 30 + rng.IntN(300) {
			s = append(s, Second{ReadBytes: 1 + int64(100*(1+0.5*rng.NormFloat64()))})
		}
		if c := FindChange(s); c != nil {
			t.Fatalf("noise of 50%%: %+v of %d", c, len(s))
		}
	}
}

// The examples are of the criterion's own words: five rounds, largest minus
// smallest, and the straight line through them.
func TestSteadyJudge(t *testing.T) {
	for name, c := range map[string]struct {
		rates        []float64
		reached      bool
		spread, line float64
	}{
		"level":                 {[]float64{100, 100, 100, 100, 100}, true, 0, 0},
		"too few":               {[]float64{100, 100, 100, 100}, false, 0, 0},
		"range too wide":        {[]float64{100, 100, 121, 100, 100}, false, 0.2015, 0},
		"rises":                 {[]float64{95, 97.5, 100, 102.5, 105}, true, 0.1, 0.1},
		"rises too much":        {[]float64{92, 96, 100, 104, 108}, false, 0.16, 0.16},
		"only the window":       {[]float64{500, 300, 100, 100, 100, 100, 100}, true, 0, 0},
		"nothing was completed": {[]float64{0, 0, 0, 0, 0}, false, 0, 0},
	} {
		s := Settled{Rates: c.rates}
		s.judge()
		near := func(a, b float64) bool { return a-b < 1e-3 && b-a < 1e-3 }
		if s.Reached != c.reached || !near(s.Range, c.spread) || !near(s.Slope, c.line) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
