package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// unknown stands for every number that there is not.
const unknown = "not known"

// rate prints a rate, or that there is none.
func rate(r *unit.BitRate) string {
	if r == nil || !stat.Finite(float64(*r)) {
		return unknown
	}
	return r.String()
}

// shareText prints a share of one in percent: 13%, 0.4%, 0%.
func shareText(v float64) string {
	if !stat.Finite(v) {
		return unknown
	}
	return unit.PercentBelowTen(v)
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// sig prints v with three significant digits and no exponent where it can.
func sig(v float64) string {
	switch a := math.Abs(v); {
	case !stat.Finite(v):
		return unknown
	case a >= 1e15 || a != 0 && a < 1e-6:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return trim(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 1 || a == 0:
		return trim(strconv.FormatFloat(v, 'f', 2, 64))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// factor prints a ratio: 7.60×, 1.00×.
func factor(v *float64) string {
	if v == nil || !stat.Finite(*v) {
		return unknown
	}
	return strconv.FormatFloat(*v, 'f', 2, 64) + "×"
}

// probability prints a p-value with two significant digits.
func probability(p float64) string {
	switch {
	case !stat.Finite(p):
		return unknown
	case p < 0.0001:
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// duration prints with three significant digits: 16.2 ms, 48 s, 2 min 5 s.
func duration(d time.Duration) string {
	switch a := d.Abs(); {
	case a >= time.Minute:
		return d.Round(time.Second).String()
	case a >= time.Second:
		return sig(d.Seconds()) + " s"
	case a >= time.Millisecond:
		return sig(float64(d)/1e6) + " ms"
	case a >= time.Microsecond:
		return sig(float64(d)/1e3) + " µs"
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

func moment(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2 January 2006, 15:04:05 UTC")
}

// evidenceValue prints one observation's value in its unit.
func evidenceValue(e model.Evidence) string {
	switch e.Unit {
	case "share", "ratio of time":
		return shareText(e.Value)
	case "ratio":
		if strings.Contains(e.Metric, "_over_") {
			return sig(e.Value) + "×"
		}
		return shareText(e.Value)
	case "":
		return sig(e.Value)
	case "bps", "bit/s":
		r := unit.BitRate(e.Value)
		return rate(&r)
	case "bytes", "B":
		if stat.Finite(e.Value) && math.Abs(e.Value) < math.MaxInt64/2 {
			return unit.Bytes(e.Value).String()
		}
	case "s":
		if stat.Finite(e.Value) && math.Abs(e.Value) < 1e6 {
			return duration(time.Duration(e.Value * 1e9))
		}
	}
	if !stat.Finite(e.Value) {
		return unknown
	}
	return sig(e.Value) + " " + e.Unit
}

// limiterName is a limiter id in words.
func limiterName(id model.LimiterID) string {
	switch id {
	case "":
		return unknown
	case model.None:
		return "None"
	}
	words := strings.Split(string(id), "-")
	for i, w := range words {
		switch w {
		case "mtu", "cpu", "sack", "nfs":
			words[i] = strings.ToUpper(w)
		}
	}
	if words[0] == "sack" || words[0] == strings.ToUpper(words[0]) {
		return strings.Join(words, " ")
	}
	words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	return strings.Join(words, " ")
}

// spread describes measurements of one kind by their median and range.
type spread struct {
	N             int
	Low, Mid, Top unit.BitRate
}

func spreadOf(rates []unit.BitRate) spread {
	ok := slices.DeleteFunc(slices.Clone(rates), func(r unit.BitRate) bool { return !stat.Finite(float64(r)) })
	if len(ok) == 0 {
		return spread{}
	}
	return spread{N: len(ok), Low: slices.Min(ok), Mid: stat.Median(ok), Top: slices.Max(ok)}
}

// rateScale chooses the prefix that a chart of rates up to top is drawn in.
func rateScale(top float64) (div float64, name string) {
	switch {
	case top >= 2e9:
		return 1e9, "Gbit/s"
	case top >= 1e6:
		return 1e6, "Mbit/s"
	}
	return 1e3, "kbit/s"
}

// byteScale chooses the prefix that a chart of sizes up to top is drawn in.
func byteScale(top float64) (div float64, name string) {
	switch {
	case top >= 2<<20:
		return 1 << 20, "MiB"
	case top >= 1<<10:
		return 1 << 10, "KiB"
	}
	return 1, "B"
}

// finiteMedian is the median of what is finite; ok is false when nothing is.
func finiteMedian(vs []float64) (m float64, ok bool) {
	vs = slices.DeleteFunc(slices.Clone(vs), func(v float64) bool { return !stat.Finite(v) })
	if len(vs) == 0 {
		return 0, false
	}
	return stat.Median(vs), true
}

// What reports are made of, in one line each.

func pair(name, value string) document.Pair { return document.Pair{Name: name, Value: value} }

func tile(label, value, note string) document.Tile {
	return document.Tile{Label: label, Value: value, Note: note}
}

func legend(class, name, value string) document.Legend {
	return document.Legend{Class: class, Name: name, Value: value}
}

func panel(title string, c document.Drawing) document.Panel {
	return document.Panel{Title: title, Chart: c}
}
