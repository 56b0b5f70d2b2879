package study

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// switching makes pairs of hours of one path: in each hour the path has a level of its own, which
// remembers that of the hour before, and within the hour slots with a memory of their own. The
// last argument says which hours are B's, in order of time.
func switching(rng *rand.Rand, rho, between, effect float64, order string) []Beside {
	var a, b []Beside
	level := rng.NormFloat64()
	for hour, who := range order {
		level = rho*level + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		rate := 1e8 * math.Exp(between*level)
		from := time.Unix(int64(hour)*3600, 0)
		one := Beside{From: from, To: from.Add(time.Hour)}
		if who == 'B' {
			one.B = remembering(rng, 360, 0.5, rate*effect)
			b = append(b, one)
			continue
		}
		one.A = remembering(rng, 360, 0.5, rate)
		a = append(a, one)
	}
	out := make([]Beside, len(a))
	for i := range a {
		first, last := a[i], b[i]
		if last.From.Before(first.From) {
			first, last = last, first
		}
		out[i] = Beside{A: a[i].A, B: b[i].B, From: first.From, To: last.To}
	}
	return out
}

// What was switched without any effect is told apart no more often than the error rate says, also
// where hours resemble their neighbours; and what came once, at the end, is never told apart.
func TestWhatIsSwitchedWithoutEffectIsNotToldApart(t *testing.T) {
	const studies = 200
	for _, order := range []string{"ABABABABABABABAB", "ABBAABBAABBAABBA", "AAAAAAAABBBBBBBB"} {
		for _, rho := range []float64{0, 0.5, 0.95} {
			rng := rand.New(rand.NewPCG(7, uint64(100*rho)))
			wrong := 0
			for range studies {
				s := ObserveSwitched(switching(rng, rho, 0.05, 1, order))
				if c := s.Conclude(s.P); c == ObservedHigher || c == ObservedLower {
					wrong++
				}
				if order[1] == 'A' && (s.Groups != 1 || s.Low != nil) {
					t.Fatalf("%s: one change has an interval: %+v", order, s)
				}
			}
			t.Logf("%s, memory of hours %.2f: %d of %d wrong", order, rho, wrong, studies)
			if most := 0.05*studies + 3.1*math.Sqrt(0.05*0.95*studies); float64(wrong) > most {
				t.Errorf("%s, memory of hours %.2f: %d of %d wrong", order, rho, wrong, studies)
			}
		}
	}
}

// More records of the same hours do not make the interval narrower than the hours differ.
func TestMoreRecordsDoNotShrinkTheInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	covered, narrow := 0, 0
	const studies = 200
	for range studies {
		s := ObserveSwitched(switching(rng, 0, 0.05, 1.1, "ABBAABBAABBAABBA"))
		if *s.Low <= 1.1 && *s.High >= 1.1 {
			covered++
		}
		// The mean of 8 pairs of hours that differ by 5% each has a deviation of 2.5%.
		if math.Log(*s.High / *s.Low) < 0.05 {
			narrow++
		}
	}
	if covered < 188 || narrow > 20 {
		t.Errorf("of %d: %d intervals hold the truth, %d are narrower than the hours allow", studies, covered, narrow)
	}
}

func TestPairsOfStretches(t *testing.T) {
	hour := func(at int) time.Time { return time.Unix(int64(at)*3600, 0) }
	slots := func(rate float64, n int) []Slot {
		out := make([]Slot, n)
		for i := range out {
			out[i] = Slot{Bytes: rate * 10, Seconds: 10}
		}
		return out
	}
	pair := func(at int, ratio float64) Beside {
		return Beside{A: slots(1e6, 100), B: slots(1e6*ratio, 90), From: hour(at), To: hour(at + 2)}
	}
	for name, c := range map[string]struct {
		ratios []float64 // 0: no common time
		every  int       // hours between their beginnings
		groups int
		ratio  float64
		says   string
	}{
		"eight apart":       {[]float64{1.1, 1.11, 1.12, 1.1, 1.09, 1.1, 1.11, 1.1}, 2, 8, 1.104, ObservedHigher},
		"lower":             {[]float64{0.9, 0.91, 0.92, 0.9, 0.89, 0.9, 0.91, 0.9}, 3, 8, 0.904, ObservedLower},
		"the same":          {[]float64{1, 1.001, 0.999, 1, 1.002, 0.998, 1, 1.001}, 2, 8, 1, ObservedSame},
		"seven":             {[]float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1}, 2, 7, 1.1, Undecided},
		"one was idle":      {[]float64{1.1, 1.1, 1.1, 0, 1.1, 1.1, 1.1, 1.1}, 2, 7, 1.1, Undecided},
		"overlap":           {[]float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1}, 1, 1, 1.1, Undecided},
		"more than 20":      {[]float64{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}, 2, 22, math.Sqrt2, ObservedHigher},
		"none":              {nil, 2, 0, 0, Undecided},
		"nothing in common": {[]float64{0, 0}, 2, 0, 0, Undecided},
	} {
		var all []Beside
		for i, r := range c.ratios {
			p := pair(i*c.every, r)
			if r == 0 {
				p.B = nil
			}
			all = append(all, p)
		}
		s := ObserveSwitched(all)
		if s.Groups != c.groups || len(s.Each) != len(c.ratios) || s.Conclude(s.P) != c.says || (s.Why == "") != (s.Low != nil) {
			t.Errorf("%s: %+v, %s", name, s, s.Conclude(s.P))
		}
		if (s.Ratio == nil) != (c.ratio == 0) || s.Ratio != nil && math.Abs(*s.Ratio-c.ratio) > 0.001 {
			t.Errorf("%s: ratio %v, want %v", name, s.Ratio, c.ratio)
		}
		if s.Low != nil && c.says == ObservedHigher && s.Conclude(0.03) != Undecided {
			t.Errorf("%s: told apart at a corrected p of 0.03", name)
		}
	}
}
