package kit

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"linerate/internal/stat"
)

// None is the cell of a figure that does not exist.
const None = "–"

// Head prints the head of a Markdown table.
func Head(w io.Writer, titles ...string) {
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(titles, " | "), strings.Repeat("---|", len(titles)))
}

// List is a cell with several words.
func List(words []string) string {
	if len(words) == 0 {
		return None
	}
	return strings.Join(words, ", ")
}

// MedianOrZero is the median of figures or times; 0 of none.
func MedianOrZero[T ~int64 | ~float64](v []T) T {
	if len(v) == 0 {
		return 0
	}
	x := make([]float64, len(v))
	for i := range v {
		x[i] = float64(v[i])
	}
	return T(stat.Median(x))
}

// Spread is the median of ratios with their range.
func Spread(v []float64) string {
	return fmt.Sprintf("%.2f (%.2f-%.2f)", MedianOrZero(v), slices.Min(v), slices.Max(v))
}

// Of is k of n cases.
func Of(k, n int) string {
	if n == 0 {
		return None
	}
	return fmt.Sprintf("%d/%d", k, n)
}

// Interval is the 95% interval of the share of k in n.
func Interval(k, n int) string {
	if n == 0 {
		return None
	}
	lo, hi := wilson(k, n)
	return fmt.Sprintf("%.2f-%.2f", lo, hi)
}

// Share is k of n cases with the 95% interval.
func Share(k, n int) string {
	if n == 0 {
		return None
	}
	return fmt.Sprintf("%s (%s)", Of(k, n), Interval(k, n))
}

// wilson is the 95% score interval of k successes in n (Wilson 1927).
func wilson(k, n int) (lo, hi float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	centre, width := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	return max(0, (centre-width)/scale), min(1, (centre+width)/scale)
}
