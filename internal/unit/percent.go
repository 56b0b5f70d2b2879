package unit

import (
	"math"
	"strconv"
	"strings"
)

// Percent prints a share of one in whole percent: 0%, 13%, 100%.
func Percent(share float64) string { return percentWith(share, 'f', 0) }

// PercentTenths prints it with one decimal: 0.0%, 13.4%, 100.0%.
func PercentTenths(share float64) string { return percentWith(share, 'f', 1) }

// PercentDigits prints it with so many significant digits, without trailing zeros: 0.01%, 33.3%.
func PercentDigits(share float64, digits int) string { return percentWith(share, 'g', digits) }

// PercentBelowTen prints whole percent, and below ten one decimal if it is not 0: 13%, 0.4%, 3%.
// A little is not none: it is < 0.1%.
func PercentBelowTen(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 0.05:
		return "< 0.1%"
	case p == 0 || math.Abs(p) >= 9.95:
		return Percent(share)
	}
	text := strings.Replace(PercentTenths(share), ".0%", "%", 1)
	return strings.Replace(text, "-0%", "0%", 1)
}

// PercentNearOne prints one decimal, and from 99.95% to below 100% three: what 100.0% would hide.
func PercentNearOne(share float64) string {
	if share < 1 && share >= 0.9995 {
		return percentWith(share, 'f', 3)
	}
	return PercentTenths(share)
}

func percentWith(share float64, form byte, digits int) string {
	return strconv.FormatFloat(share*100, form, digits, 64) + "%"
}
