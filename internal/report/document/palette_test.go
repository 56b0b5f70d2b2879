package document

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// themes are the colours of the page: light, dark, print.
func themes(t *testing.T) map[string]map[string][3]float64 {
	t.Helper()
	out := map[string]map[string][3]float64{"light": {}, "dark": {}, "print": {}}
	root := regexp.MustCompile(`(?s)(@media \(prefers-color-scheme:dark\)\{|@media print\{\s*)?:root\{([^}]*)\}`)
	color := regexp.MustCompile(`--([a-z0-9-]+):#([0-9a-f]{3,6})`)
	for _, m := range root.FindAllStringSubmatch(styleText, -1) {
		theme := "light"
		switch {
		case strings.Contains(m[1], "dark"):
			theme = "dark"
		case strings.Contains(m[1], "print"):
			theme = "print"
		}
		for _, c := range color.FindAllStringSubmatch(m[2], -1) {
			out[theme][c[1]] = rgb(t, c[2])
		}
	}
	for name, colors := range out {
		if len(colors) < 20 {
			t.Fatalf("%s: found only %d colours", name, len(colors))
		}
	}
	return out
}

// rgb reads a colour as linear light, 0 to 1 (IEC 61966-2-1, sRGB).
func rgb(t *testing.T, hex string) [3]float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	var out [3]float64
	for i := range out {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if out[i] = c / 12.92; c > 0.04045 {
			out[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return out
}

// sight is how colours are seen: as they are, or without one kind of cone.
// Matrices: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, IEEE Trans. Vis.
// Comput. Graph. 15 (2009) 1291, severity 1.0, on linear light.
var sights = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
}

// lab is CIE 1976 L*a*b* under D65.
func lab(c [3]float64, sight [3][3]float64) [3]float64 {
	var s [3]float64
	for i, row := range sight {
		s[i] = math.Max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2])
	}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x, y, z := f((0.4124*s[0]+0.3576*s[1]+0.1805*s[2])/0.9505), f(luminance(s)), f((0.0193*s[0]+0.1192*s[1]+0.9505*s[2])/1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func luminance(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return math.Max(x, y) / math.Min(x, y)
}

// TestColoursAreToldApart looks at the colours that stand beside each other in
// a figure with the eyes of readers who lack red or green cones. 20 units of
// CIE 1976 difference are far more than neighbouring areas need.
func TestColoursAreToldApart(t *testing.T) {
	together := [][]string{{"b1", "b2", "b3"}, {"b1", "b2", "b5"}, {"accent", "amber"}, {"violet", "b2"}, {"accent", "ceiling"}}
	for theme, colors := range themes(t) {
		for sight, matrix := range sights {
			for _, group := range together {
				for i, a := range group {
					for _, b := range group[i+1:] {
						p, q := lab(colors[a], matrix), lab(colors[b], matrix)
						if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); d < 20 {
							t.Errorf("%s, %s: %s and %s differ by %.0f only", theme, sight, a, b, d)
						}
					}
				}
			}
		}
	}
}

// TestContrast holds WCAG 2.2: 4.5 to 1 for text (1.4.3), 3 to 1 for parts of
// figures that are needed to understand them (1.4.11).
func TestContrast(t *testing.T) {
	for theme, colors := range themes(t) {
		need := func(what, ground string, least float64) {
			if c := contrast(colors[what], colors[ground]); c < least {
				t.Errorf("%s: %s on %s has %.2f to 1, wants %.1f", theme, what, ground, c, least)
			}
		}
		for _, part := range []string{"b1", "b2", "b3", "b5", "accent", "amber", "violet"} {
			need(part, "card", 3)
		}
		need("ink", "card", 4.5)
		need("ink", "band", 4.5)
		need("soft", "card", 4.5)
		need("accent", "card", 4.5)
		for i := range 10 {
			ink := "heat-ink"
			if i >= 7 || i == 6 && theme == "dark" { // as style.css has them
				ink = "heat-ink-strong"
			}
			need(ink, "h"+strconv.Itoa(i), 4.5)
		}
	}
}
