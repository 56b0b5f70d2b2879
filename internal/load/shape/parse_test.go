package shape

import (
	"math"
	"slices"
	"strings"
	"testing"

	"linerate/internal/unit"
)

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]struct {
		pattern Pattern
		number  float64 // theta or jump
		hot     []Band
	}{
		"random":                    {Random, 0, nil},
		"once":                      {Once, 0, nil},
		"sequential":                {Sequential, 0, nil},
		"zipf:1.2":                  {Zipf, 1.2, nil},
		"seek:20":                   {Seek, 0.2, nil},
		"zoned:50/5:50/95":          {Random, 0, []Band{{0, 0.05, 0.5}, {0.05, 1, 0.5}}},
		"zoned:0/40:90/20:10/40":    {Random, 0, []Band{{0.4, 0.6, 0.9}, {0.6, 1, 0.1}}},
		"zoned:100/100":             {Random, 0, []Band{{0, 1, 1}}},
		"zoned:33.3/33.3:66.7/66.7": {Random, 0, []Band{{0, 0.333, 0.333}, {0.333, 1, 0.667}}},
	} {
		s := Shape{Theta: 3, Jump: 0.5, Hot: []Band{{0, 1, 1}}} // of a named workload, which was typed over
		err := ParsePattern(text, &s)
		if err != nil || s.Pattern != want.pattern || s.Theta+s.Jump != want.number || !slices.EqualFunc(s.Hot, want.hot, alike) {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"snake":              "choose sequential, random, once, zipf:EXPONENT, seek:PERCENT (of the requests that do not follow the one before) or zoned:90/10:10/90",
		"random:5":           "choose sequential",
		"zipf":               "want an exponent",
		"zipf:x":             "want an exponent",
		"seek":               "want the percentage",
		"seek:0":             "above 0 (sequential)",
		"seek:100":           "below 100 (random)",
		"seek:-3":            "want the percentage",
		"zoned":              "want REQUESTS/SPACE",
		"zoned:90":           "want REQUESTS/SPACE",
		"zoned:90/10,10/90":  "want REQUESTS/SPACE",
		"zoned:90/0:10/100":  "want REQUESTS/SPACE",
		"zoned:NaN/10:10/90": "want REQUESTS/SPACE",
		"zoned:90/10":        "the zones have 90% of the requests, not 100%",
		"zoned:90/10:10/10":  "the zones have 20% of the space, not 100%; a gap is a zone that no request goes to, as 0/80",
	} {
		if err := ParsePattern(text, &Shape{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := ParsePattern("zoned:"+strings.Repeat("1/1:", 99)+"1/1", &Shape{}); err == nil || !strings.Contains(err.Error(), "100 zones") {
		t.Errorf("a hundred zones: %v", err)
	}
}

func alike(a, b Band) bool {
	return math.Abs(a.From-b.From) < 1e-9 && math.Abs(a.To-b.To) < 1e-9 && math.Abs(a.Share-b.Share) < 1e-9
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string][]SizeShare{
		"4k":                 {{4096, 1}},
		"4KB":                {{4000, 1}},
		"1MiB":               {{unit.MiB, 1}},
		"4k/60:64k/30:1m/10": {{4096, 0.6}, {65536, 0.3}, {1 << 20, 0.1}},
	} {
		if got, err := ParseSizes(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                   "size",
		"0":                                  "above 0",
		"4k:60,64k:40":                       "such as 4k/60:64k/30:1m/10",
		"4k,64k":                             "such as 4k/60:64k/30:1m/10",
		"4k/:64k/50":                         "such as 4k/60:64k/30:1m/10",
		"4k/60:64k/30":                       "add up to 90, not 100",
		"4k/60:4k/40":                        "4 KiB stands twice",
		"4k/0:64k/100":                       "such as",
		"x/50:4k/50":                         "such as",
		strings.Repeat("1k/5:", 20) + "2k/0": "21 sizes, want at most 16",
	} {
		if _, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"zoned:60/10:30/20:8/30:2/40", "zipf:0.99", "seek:20", "4k/60:64k/40", "4k"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := random8k()
		s.Area = unit.GiB
		var err error
		if err = ParsePattern(text, &s); err == nil && s.Check() == nil {
			inside(t, s)
		}
		s = random8k()
		if s.Sizes, err = ParseSizes(text); err == nil && s.Check() == nil {
			inside(t, s)
		}
	})
}

func inside(t *testing.T, s Shape) {
	w := NewWalk(s, 1, 0, 1)
	for range 100 {
		if r := w.Next(); r.Offset < 0 || r.Offset+int64(r.Size) > int64(s.Area) {
			t.Fatalf("%+v of %+v", r, s)
		}
	}
}

// fit is Pearson's chi-square of counts against shares.
func fit(counts []int, shares []float64) float64 {
	n, x := 0, 0.0
	for _, c := range counts {
		n += c
	}
	for i, c := range counts {
		want := float64(n) * shares[i]
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// Zones and sizes are drawn as they were asked for: by Pearson's chi-square with the
// 99.9th percentile of 3 and of 2 degrees of freedom (16.27, 13.82), and within a
// zone no tenth of it is favoured (9 degrees, 27.88).
func TestZonesAndSizesAreDrawnAsAskedFor(t *testing.T) {
	s := random8k()
	var err error
	if err = ParsePattern("zoned:60/10:30/20:8/30:2/40", &s); err != nil {
		t.Fatal(err)
	}
	w := NewWalk(s, 4, 0, 1)
	zone, tenth := make([]int, 4), make([]int, 10)
	for range 100_000 {
		at := float64(w.Next().Offset/8192) / float64(w.Blocks())
		i := 0
		for i < 3 && at >= []float64{0.1, 0.3, 0.6}[i] {
			i++
		}
		zone[i]++
		if i == 2 {
			tenth[min(int((at-0.3)/0.03), 9)]++
		}
	}
	if x := fit(zone, []float64{0.6, 0.3, 0.08, 0.02}); x > 16.27 {
		t.Errorf("zones %v: chi-square %.1f", zone, x)
	}
	even := slices.Repeat([]float64{0.1}, 10)
	if x := fit(tenth, even); x > 27.88 {
		t.Errorf("tenths of a zone %v: chi-square %.1f", tenth, x)
	}
	s = random8k()
	if s.Sizes, err = ParseSizes("4k/60:64k/30:1m/10"); err != nil {
		t.Fatal(err)
	}
	w = NewWalk(s, 4, 0, 1)
	sizes := make([]int, 3)
	for range 100_000 {
		sizes[map[int]int{4096: 0, 65536: 1, 1 << 20: 2}[w.Next().Size]]++
	}
	if x := fit(sizes, []float64{0.6, 0.3, 0.1}); x > 13.82 {
		t.Errorf("sizes %v: chi-square %.1f", sizes, x)
	}
}

// Of a seeking load the share that was asked for goes elsewhere, to any block alike,
// and the others go on from there: by Pearson's chi-square with the 99.9th percentile
// of 1 and of 9 degrees of freedom (10.83, 27.88). Its parts go their own ways.
func TestSeek(t *testing.T) {
	s := random8k()
	s.Pattern, s.Jump = Seek, 0.2
	w := NewWalk(s, 7, 0, 1)
	kinds, tenth := make([]int, 2), make([]int, 10)
	last := w.Next().Offset / 8192
	for range 100_000 {
		at := w.Next().Offset / 8192
		if at == (last+1)%w.Blocks() {
			kinds[0]++ // one jump of as many as there are blocks lands there, too
		} else {
			kinds[1]++
			tenth[10*at/w.Blocks()]++
		}
		last = at
	}
	if x := fit(kinds, []float64{0.8, 0.2}); x > 10.83 {
		t.Errorf("%v of 80%% and 20%%: chi-square %v", kinds, x)
	}
	even := slices.Repeat([]float64{0.1}, 10)
	if x := fit(tenth, even); x > 27.88 {
		t.Errorf("%v: chi-square %v", tenth, x)
	}
	s.Jump = 1e-9
	for part := range 4 {
		w := NewWalk(s, 7, part, 4)
		if from, then := w.Next().Offset, w.Next().Offset; from != int64(s.Area)/4*int64(part) || then != from+8192 {
			t.Errorf("part %d begins at %d and goes on at %d", part, from, then)
		}
	}
}

// Zones that touch share no block and leave none out.
func TestZonesTouch(t *testing.T) {
	s := random8k()
	s.Area = 101 * 8 * unit.KiB
	if err := ParsePattern("zoned:50/33.3:30/33.3:20/33.4", &s); err != nil {
		t.Fatal(err)
	}
	w, seen := NewWalk(s, 1, 0, 1), map[int64]int{}
	for range 20_000 {
		seen[w.Next().Offset]++
	}
	if len(seen) != 101 {
		t.Errorf("%d of 101 blocks are touched", len(seen))
	}
}

// A sequential walk with several sizes leaves nothing out and touches nothing twice
// before it starts again, however many parts it has.
func TestSequentialOfSeveralSizes(t *testing.T) {
	for _, parts := range []int{1, 3} {
		s := random8k()
		s.Pattern, s.Sizes = Sequential, []SizeShare{{4 * unit.KiB, 0.5}, {12 * unit.KiB, 0.3}, {64 * unit.KiB, 0.2}}
		var walks []*Walk
		for p := range parts {
			walks = append(walks, NewWalk(s, 4, p, parts))
		}
		at, small, n := int64(0), 0, 90_000
		for i := range n {
			r := walks[i%parts].Next()
			if r.Offset != at && !(r.Offset == 0 && at+64*1024 > int64(s.Area)) {
				t.Fatalf("%d parts: request %d is at %d, the one before it ended at %d", parts, i, r.Offset, at)
			}
			if r.Size == 4096 {
				small++
			}
			at = r.Offset + int64(r.Size)
		}
		near(t, "small requests", float64(small)/float64(n), 0.5)
	}
}
