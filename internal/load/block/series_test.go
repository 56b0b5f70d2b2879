package block

import (
	"math"
	"math/rand/v2"
	"strings"
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
	if c == nil || c.Kind != Cliff || c.At != 30 || c.After != 30*400<<20 || c.Before != 400<<20 || c.Behind != 100<<20 {
		t.Errorf("a cache of 12000 MiB: %+v", c)
	}
	if c := FindChange(levels([2]int{20, 100}, [2]int{20, 130})); c == nil || c.Kind != Rise || c.At != 20 || c.Behind <= c.Before {
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
	// A stall, and a place where it takes some seconds, leave a cliff what it is.
	for name, s := range map[string][]Second{
		"a stall before":      levels([2]int{20, 400}, [2]int{2, 10}, [2]int{20, 400}, [2]int{40, 100}),
		"two seconds between": levels([2]int{42, 400}, [2]int{1, 300}, [2]int{1, 200}, [2]int{40, 100}),
		"a little more later": levels([2]int{42, 400}, [2]int{20, 100}, [2]int{20, 130}),
	} {
		if c := FindChange(s); c == nil || c.Kind != Cliff || c.At < 42 || c.At > 44 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// What falls little by little, comes back, or falls twice has no place of its own.
	for name, s := range map[string][]Second{
		"a ramp":         ramp(60, 400, 100),
		"it comes back":  levels([2]int{30, 400}, [2]int{20, 100}, [2]int{10, 400}, [2]int{20, 100}),
		"in three steps": levels([2]int{20, 400}, [2]int{20, 250}, [2]int{20, 100}),
		"by turns":       levels([2]int{10, 400}, [2]int{10, 100}, [2]int{10, 400}, [2]int{10, 100}, [2]int{10, 400}, [2]int{10, 100}),
		"a long stall":   levels([2]int{30, 400}, [2]int{10, 0}, [2]int{30, 400}),
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

func ramp(n int, from, to float64) (out []Second) {
	for i := range n {
		out = append(out, Second{ReadBytes: int64((from + (to-from)*float64(i)/float64(n-1)) * 1e6)})
	}
	return append(out, Second{ReadBytes: 1})
}

// A noisy disk remembers: its rate wanders, or switches between levels. Of 2,000 such series of
// 30 to 330 seconds at most two have a cliff or a rise; of a disk that switches every few seconds
// at most ten, which switched once and for good as far as their run shows.
func TestNoCliffInNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	made := func(n int, next func() float64) (out []Second) {
		for range n + 1 {
			out = append(out, Second{WrittenBytes: int64(1e6 * max(0, next()))})
		}
		return out
	}
	for name, noise := range map[string]func() func() float64{
		"independent": func() func() float64 { return func() float64 { return 100 + 40*rng.NormFloat64() } },
		"memory 0.7":  func() func() float64 { return wandering(rng, 0.7) },
		"memory 0.9":  func() func() float64 { return wandering(rng, 0.9) },
		"memory 0.97": func() func() float64 { return wandering(rng, 0.97) },
		"stalls": func() func() float64 {
			return func() float64 {
				if rng.Float64() < 0.2 {
					return 5
				}
				return 100 + 5*rng.NormFloat64()
			}
		},
		"by turns": func() func() float64 {
			slow := false
			return func() float64 {
				if rng.Float64() < 0.15 {
					slow = !slow
				}
				return map[bool]float64{false: 100, true: 40}[slow] + 3*rng.NormFloat64()
			}
		},
	} {
		found := 0
		const runs = 2000
		for range runs {
			if FindChange(made(30+rng.IntN(300), noise())) != nil {
				found++
			}
		}
		t.Logf("%s: %d of %d", name, found, runs)
		if most := map[string]int{"by turns": 10}[name]; found > max(2, most) {
			t.Errorf("%s: a change in %d of %d", name, found, runs)
		}
	}
}

// wandering is a rate that is about what it was a second ago.
func wandering(rng *rand.Rand, memory float64) func() float64 {
	at := rng.NormFloat64()
	return func() float64 {
		at = memory*at + math.Sqrt(1-memory*memory)*rng.NormFloat64()
		return 100 * (1 + 0.3*at)
	}
}

// With noise, a cliff is found where it is: half of the rate is lost, and a second varies by
// 6% of the rate or less.
func TestCliffsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, noise := range []float64{0, 0.03, 0.06} {
		found := 0
		const runs = 300
		for range runs {
			before, behind := 10+rng.IntN(60), 10+rng.IntN(60)
			var s []Second
			for i := range before + behind + 1 {
				rate := 400e6
				if i >= before {
					rate = 200e6
				}
				s = append(s, Second{WrittenBytes: int64(rate * (1 + noise*rng.NormFloat64()))})
			}
			if c := FindChange(s); c != nil && c.Kind == Cliff && c.At >= before-1 && c.At <= before+1 {
				found++
			}
		}
		if found < runs*90/100 {
			t.Errorf("noise %.2f: %d of %d", noise, found, runs)
		}
	}
}

// Which cache it would be is told by what the run did.
func TestCliffNamesTheCache(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		name     string
		s        Summary
		r        Result
		seconds  []Second
		cache    CacheOf
		evidence string
	}{
		{"direct writes", Summary{}, Result{WrittenBytes: 9}, levels([2]int{30, 400}, [2]int{30, 100}), CacheOfTarget, "a cache of the target is full"},
		{"buffered writes", Summary{Buffered: true}, Result{WrittenBytes: 9}, levels([2]int{30, 400}, [2]int{30, 100}), CacheOfHost, "vm.dirty_ratio"},
		{"reads from this host's memory", Summary{FromCache: &half}, Result{ReadBytes: 9}, levels([2]int{30, 400}, [2]int{30, 100}), CacheOfHost, "comes to its end"},
		{"other reads", Summary{}, Result{ReadBytes: 9}, levels([2]int{30, 400}, [2]int{30, 100}), CacheOfTarget, "a cache of the target comes"},
		{"it rose", Summary{}, Result{WrittenBytes: 9}, levels([2]int{30, 100}, [2]int{30, 400}), "", "it rose from 100 MiB to 400 MiB per second after 2.93 GiB (30s)"},
		{"it did not change", Summary{}, Result{WrittenBytes: 9}, levels([2]int{60, 400}), "", ""},
	} {
		tt.r.Seconds = tt.seconds
		tt.s.series(tt.r)
		said := strings.Join(tt.s.Evidence, "; ")
		if c := tt.s.Change; c != nil && c.Cache != tt.cache || c == nil && tt.evidence != "" || !strings.Contains(said, tt.evidence) || (tt.cache != "") != strings.Contains(said, "a cliff: it fell from 400 MiB to 100 MiB per second after 11.7 GiB (30s)") {
			t.Errorf("%s: %+v, %q", tt.name, c, said)
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
