package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel/golden"
)

var hostile = "<script>alert(1)</script>\"'&\x1b[31m\x00\xff"

func ptr(v float64) *float64 { return &v }

func figures() map[string]string {
	nan, inf := math.NaN(), math.Inf(1)
	id := func(s string) Figure { return Figure{ID: s, Title: "Goodput of " + hostile, Desc: "n = 3"} }
	wave := []Point{{0, 100}, {0.5, 120}, {1, nan}, {1.5, 118}, {2, 117.5}, {2.5, inf}}
	return map[string]string{
		"line": Line{Figure: id("line"), XUnit: "s", YUnit: "Mbit/s", Shade: 0.5,
			Series: []Series{{"sender", "s1", wave}, {"receiver", `s2" onload="`, wave[:3]}},
			Marks:  []Mark{{938, "ceiling " + hostile}, {nan, "none"}}}.SVG(),
		"line-empty":  Line{Figure: id("e"), XUnit: "s", YUnit: "ms"}.SVG(),
		"line-single": Line{Figure: id("one"), XUnit: "s", YUnit: "ms", Series: []Series{{"rtt", "s1", []Point{{1, 16}}}}}.SVG(),
		"line-extreme": Line{Figure: id("x"), Series: []Series{{"a", "s1",
			[]Point{{-math.MaxFloat64, -5}, {math.MaxFloat64, math.MaxFloat64}}}}}.SVG(),
		"pairs": Pairs{Figure: id("pairs"), YUnit: "Mbit/s", Marks: []Mark{{938, "ceiling"}}, Pairs: []Pair{
			{Label: "A/A", Before: 118, After: 117, Control: true},
			{Label: "1", Before: 118, After: 902, BeforeDetail: hostile}, {Label: "2", Before: nan, After: 1}}}.SVG(),
		"pairs-empty":  Pairs{Figure: id("pe")}.SVG(),
		"meter":        Meter{Figure: id("m"), Scale: 1000, Ceiling: ptr(938), Value: ptr(118)}.SVG(),
		"meter-beyond": Meter{Figure: id("m"), Scale: 1000, Ceiling: nil, Value: ptr(24000)}.SVG(),
		"meter-odd":    Meter{Figure: id("m"), Scale: nan, Ceiling: ptr(inf), Value: ptr(-1)}.SVG(),
		"stack": Stack{Figure: id("s"), Parts: []Part{{"rwnd-limited", "p1", 0.98, "98%"}, {"odd", "p2", nan, ""},
			{"other", "p3", 0.5, ""}}}.SVG(),
		"bars": Bars{Figure: id("b"), Unit: "%", Ref: ptr(100), Band: &[2]float64{98, 102}, Top: 120, Rows: []Bar{
			{Label: "Baseline", Text: "100%", Class: "b5", Value: ptr(100)},
			{Label: "a name that is much longer than what there is room for " + hostile, Text: "112% gain", Class: `b1" onload="`, Value: ptr(112), Low: ptr(109), High: ptr(114), Span: true, Title: hostile},
			{Label: "no upper bound", Class: "b4", Value: ptr(101), Low: ptr(-3), Span: true}, {Label: "none"}, {Label: "odd", Value: ptr(nan), High: ptr(inf), Span: true}}}.SVG(),
		"bars-empty": Bars{Figure: id("be"), Ref: ptr(nan), Band: &[2]float64{nan, inf}}.SVG(),
		"trend": Trend{Figure: id("t"), XUnit: "clients", YUnit: "Mbit/s", Marks: []Mark{{941, "ceiling"}, {nan, ""}}, Curves: []Curve{
			{"all", "s1", []Spot{{1, 280, 270, 285, hostile}, {2, 560, 555, 570, ""}, {5, 940, 940, 940, ""}, {nan, 1, 1, 1, ""}, {6, inf, 1, 1, ""}}}, {"each", "s2", []Spot{{1, 280, nan, inf, ""}}}}}.SVG(),
		"trend-empty": Trend{Figure: id("te")}.SVG(),
		"dots": Dots{Figure: id("d"), XUnit: "run", YUnit: "%", Marks: []Mark{{100, ""}}, Dots: []Dot{{1, 99.1, "before", hostile}, {2, 112, "after", ""}, {3, 100.4, "control", ""},
			{4, 71, "out", ""}, {5, nan, "before", ""}}}.SVG(),
		"dots-empty":  Dots{Figure: id("de")}.SVG(),
		"small":       Small{Figure: id("sm"), XUnit: "s", Right: 3, Top: 10, Runs: [][]Point{wave, {{1, 9}, {2, 8.5}, {3, 9.1}}}, Mid: []Point{{1, 9}, {2, nan}, {3, 9}}}.SVG(),
		"small-empty": Small{Figure: id("se")}.SVG(),
	}
}

func TestGoldens(t *testing.T) {
	for name, got := range figures() {
		path := filepath.Join("testdata", name+".svg")
		golden.Same(t, path, got+"\n")
	}
}

func TestEveryFigureIsWellFormedAndSafe(t *testing.T) {
	for name, got := range figures() {
		d := xml.NewDecoder(strings.NewReader(got))
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "script" || hasHandler(e)) {
				t.Errorf("%s: has element %v", name, e)
			}
		}
		for _, bad := range []string{"NaN", "Inf", "\x1b", "http"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
		if !strings.Contains(got, "<title ") || !strings.Contains(got, "<desc ") {
			t.Errorf("%s has no title or desc", name)
		}
	}
}

func hasHandler(e xml.StartElement) bool {
	for _, a := range e.Attr {
		if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
			return true
		}
	}
	return false
}

func TestTicksAreRoundAndCoverTheRange(t *testing.T) {
	for _, c := range []struct {
		hi     float64
		labels string
	}{
		{938, "0 200 400 600 800 1000"}, {1000, "0 200 400 600 800 1000"}, {0.4, "0 0.1 0.2 0.3 0.4"}, {16.4, "0 5 10 15 20"},
		{3, "0 1 2 3"}, {0, "0 0.2 0.4 0.6 0.8 1.0"}, {math.NaN(), "0 0.2 0.4 0.6 0.8 1.0"}, {1e-20, "0"},
	} {
		a := newAxis(0, c.hi, 0, 1, 5, true)
		var got []string
		for _, v := range a.ticks() {
			got = append(got, a.label(v))
		}
		if s := strings.Join(got, " "); s != c.labels && c.hi != 1e-20 {
			t.Errorf("0..%v: %s, want %s", c.hi, s, c.labels)
		}
		if len(got) == 0 || len(got) > 12 || a.hi < c.hi {
			t.Errorf("0..%v: axis to %v with ticks %v", c.hi, a.hi, got)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add(0.0, 1.0, 2.0, 3.0, "x")
	f.Fuzz(func(t *testing.T, x1, y1, x2, y2 float64, s string) {
		got := Line{Figure: Figure{s, s, s}, XUnit: s, YUnit: s,
			Series: []Series{{s, s, []Point{{x1, y1}, {x2, y2}}}}, Marks: []Mark{{y2, s}}}.SVG()
		d := xml.NewDecoder(strings.NewReader(got))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("%v in %s", err, got)
			}
		}
	})
}
