package chart

import (
	"math"
	"strconv"

	"linerate/internal/stat"
)

// axis maps values to coordinates, with round ticks.
type axis struct {
	lo, hi   float64 // values
	from, to float64 // coordinates
	step     float64
}

// newAxis covers [lo, hi] with about n steps of 1, 2 or 5 × 10^k, and widens
// hi to the next tick where grow is set.
func newAxis(lo, hi, from, to float64, n int, grow bool) axis {
	if !stat.Finite(lo) || !stat.Finite(hi) || hi <= lo || hi-lo > 1e300 {
		lo, hi = 0, 1
	}
	a := axis{lo: lo, hi: hi, from: from, to: to, step: niceStep((hi - lo) / float64(n))}
	if grow {
		a.hi = math.Ceil(hi/a.step-1e-9) * a.step
	}
	return a
}

// niceStep is the smallest 1, 2 or 5 × 10^k that is at least raw.
func niceStep(raw float64) float64 {
	if raw < 1e-12 {
		raw = 1e-12
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func (a axis) at(v float64) float64 {
	return a.from + (v-a.lo)/(a.hi-a.lo)*(a.to-a.from)
}

// ticks are the multiples of step within the axis.
func (a axis) ticks() []float64 {
	var out []float64
	first := math.Ceil(a.lo/a.step - 1e-9)
	for i := 0.0; i < 50; i++ {
		v := (first + i) * a.step
		if v > a.hi+a.step*1e-6 {
			break
		}
		out = append(out, v)
	}
	return out
}

// label prints a tick with as many decimals as its step has.
func (a axis) label(v float64) string {
	decimals := 0
	if a.step < 1 {
		decimals = min(12, int(math.Ceil(-math.Log10(a.step)-1e-9)))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if math.Abs(v) < a.step/2 {
		return "0"
	}
	return s
}

// sigLabel prints a number that was chosen by people: 1, 16, 2.5.
func sigLabel(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
