package study

import (
	"math"
	"strings"
	"testing"
)

// pairs builds n pairs of 100 Mbit/s times the given ratios, repeated.
func pairs(n int, ratios ...float64) []Pair {
	out := make([]Pair, n)
	for i := range out {
		out[i] = Pair{1e8, 1e8 * ratios[i%len(ratios)]}
	}
	return out
}

func TestProveEffects(t *testing.T) {
	quiet := pairs(4, 1.001, 0.999)
	for _, c := range []struct {
		name   string
		s      Series
		effect string
		ratio  float64 // 0: none
		p      float64
		warn   []string // one substring per warning
	}{
		{"gain", Series{pairs(8, 2, 2.1), quiet}, Gain, math.Sqrt(2 * 2.1), 2. / 256, nil},
		{"loss", Series{pairs(8, 0.5), quiet}, Loss, 0.5, 2. / 256, nil},
		{"nothing", Series{pairs(8, 1.01, 1/1.01), quiet}, NoEffect, 1, 1, nil},
		{"same to the bit", Series{pairs(8, 1), pairs(4, 1)}, NoEffect, 1, 1, nil},
		{"too few pairs", Series{pairs(5, 2), quiet}, NoEffect, 2, 2. / 32, []string{"at least 6"}},
		{"no A/A", Series{pairs(8, 2), nil}, Gain, 2, 2. / 256, []string{"no A/A check"}},
		{"A/A drifts", Series{pairs(8, 2), pairs(4, 1.2)}, Gain, 2, 2. / 256, []string{"identical runs differ by a factor of 1.2: the path varies as much by itself, or something changes it"}},
		{"A/A drifts for long", Series{pairs(8, 2), pairs(8, 1.2)}, Gain, 2, 2. / 256, []string{"identical runs differ by a factor of 1.2: something changes the path"}},
		{"A/A as wide as the effect", Series{pairs(8, 1.03), pairs(4, 1.04, 1/1.04)}, Gain, 1.03, 2. / 256, []string{"within what identical runs"}},
		{"blackhole removed", Series{zeroBaseline(8), []Pair{{0, 0}, {0, 0}}}, Gain, 0, 2. / 256, []string{"moved nothing"}},
		{"dead before and after", Series{make([]Pair, 8), nil}, NoEffect, 0, 1, []string{"moved nothing", "no A/A"}},
		{"killed", Series{swap(zeroBaseline(8)), quiet}, Loss, 0, 2. / 256, []string{"moved nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Prove(c.s)
			if err != nil {
				t.Fatal(err)
			}
			if p.Effect != c.effect || math.Abs(p.P-c.p) > 1e-9 {
				t.Errorf("%s at p = %v, want %s at %v", p.Effect, p.P, c.effect, c.p)
			}
			if c.ratio == 0 && (p.Ratio != nil || p.CILow != nil || p.CIHigh != nil) {
				t.Errorf("ratio where none exists: %+v", p)
			}
			if c.ratio != 0 && (p.Ratio == nil || math.Abs(*p.Ratio-c.ratio) > 1e-9) {
				t.Errorf("ratio %v, want %v", p.Ratio, c.ratio)
			}
			if len(p.Warnings) != len(c.warn) {
				t.Fatalf("warnings %q, want %q", p.Warnings, c.warn)
			}
			for i, w := range c.warn {
				if !strings.Contains(p.Warnings[i], w) {
					t.Errorf("warning %q, want %q", p.Warnings[i], w)
				}
			}
		})
	}
}

func zeroBaseline(n int) []Pair {
	out := make([]Pair, n)
	for i := range out {
		out[i] = Pair{0, 1e8 + float64(i)}
	}
	return out
}

func swap(in []Pair) []Pair {
	out := make([]Pair, len(in))
	for i, p := range in {
		out[i] = Pair{p.Treated, p.Baseline}
	}
	return out
}

func TestProveFillsTheRecord(t *testing.T) {
	p, err := Prove(Series{
		Pairs: []Pair{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 4}},
		AA:    []Pair{{10, 11}, {11, 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Pairs != 6 || p.AAPairs != 2 || len(p.Baseline) != 6 || p.Treated[5] != 4 {
		t.Errorf("%+v", p)
	}
	if len(p.AA) != 4 || p.AA[1] != 11 || p.AA[3] != 10 { // A1 B1 A2 B2
		t.Errorf("A/A runs %v", p.AA)
	}
	if math.Abs(*p.AARatio-1) > 1e-9 || p.AAP != 1 {
		t.Errorf("A/A ratio %v, p %v", *p.AARatio, p.AAP)
	}
	if math.Abs(*p.CILow-2) > 1e-9 || math.Abs(*p.CIHigh-4) > 1e-9 {
		t.Errorf("interval %v..%v, want 2..4", *p.CILow, *p.CIHigh)
	}
}

func TestProveUnboundedIntervalIsNull(t *testing.T) {
	p, err := Prove(Series{Pairs: pairs(4, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if p.Ratio == nil || p.CILow != nil || p.CIHigh != nil {
		t.Errorf("4 pairs: ratio %v, interval %v..%v, want a ratio and no interval", p.Ratio, p.CILow, p.CIHigh)
	}
}

func TestProveRefuses(t *testing.T) {
	for name, s := range map[string]Series{
		"no pair":      {},
		"too many":     {Pairs: pairs(MaxPairs+1, 1)},
		"too many A/A": {Pairs: pairs(8, 1), AA: pairs(MaxPairs+1, 1)},
		"negative":     {Pairs: []Pair{{-1, 1}}},
		"NaN":          {Pairs: []Pair{{1, math.NaN()}}},
		"infinite A/A": {Pairs: pairs(8, 1), AA: []Pair{{math.Inf(1), 1}}},
	} {
		if _, err := Prove(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
