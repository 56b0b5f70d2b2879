package compare

import (
	"fmt"
	"strings"

	"linerate/internal/unit"
)

// measured tells whether any effect was found on both sides.
func measured(all []Effect) bool {
	for _, e := range all {
		if e.Ratio != nil {
			return true
		}
	}
	return false
}

// line is the answer in one sentence.
func line(c Comparison) string {
	switch {
	case c.Rate != nil:
		return rateLine(*c.Rate)
	case len(c.Effects) > 0:
		return effectLine(c.Effects)
	case len(c.Figures) > 0:
		return fmt.Sprintf("%d figures of two loads, one run each", len(c.Figures))
	case len(c.Rung) > 0:
		return fmt.Sprintf("%d rungs were measured on both sides, once each", len(c.Rung))
	}
	return fmt.Sprintf("The two have nothing measured in common; %d things differ between their hosts", len(c.Changed))
}

func rateLine(r Rate) string {
	text := fmt.Sprintf("%s → %s", r.A, r.B)
	if r.Ratio != nil {
		text += fmt.Sprintf(", %s of A, one run each", RatioText(r.Ratio))
	}
	if r.ALimiter == r.BLimiter {
		return text + "; limited by " + string(r.ALimiter) + " on both sides"
	}
	return fmt.Sprintf("%s; limiter %s → %s", text, r.ALimiter, r.BLimiter)
}

func effectLine(all []Effect) string {
	n := map[string]int{}
	for _, e := range all {
		n[e.Conclusion]++
	}
	var parts []string
	for _, x := range []string{Differ, MayDiffer, Equal, NotTold, NoInterval, NotSame, OneSide, NoSide} {
		if n[x] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[x], x))
		}
	}
	return fmt.Sprintf("Of %d effects: %s", len(all), strings.Join(parts, ", "))
}

// RatioText prints a ratio in whole percent, near 100 with one decimal: 112%, 99.4%; from ten
// times on as a factor.
func RatioText(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case *v >= 10:
		return fmt.Sprintf("%.1f×", *v)
	case *v*100 > 90.05 && *v*100 < 109.95:
		return unit.PercentTenths(*v)
	}
	return unit.Percent(*v)
}

// Outcome prints a value in the unit of its runs.
func Outcome(v float64, u string) string {
	if u == "bit/s" {
		return unit.BitRate(v).String()
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, u))
}
