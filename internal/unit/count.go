package unit

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Count prints a number of things with their noun: 1 pair, 8 pairs, 3 entries.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + Plural(noun)
}

// Plural is the noun of several things: pairs, entries.
func Plural(noun string) string {
	stem, ends := strings.CutSuffix(noun, "y")
	if ends && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}

// CountInWords is Count for the middle of a sentence: one pair, 8 pairs.
func CountInWords(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return Count(n, noun)
}

// Short rounds a time to three digits.
func Short(d time.Duration) time.Duration {
	for grain := time.Duration(1); ; grain *= 10 {
		if d < 1000*grain {
			return d.Round(grain)
		}
	}
}

// CPUList writes CPU numbers in the kernel's list format: sorted, with ranges, "0-3,8".
func CPUList(cpus []int) string {
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	var out []string
	for i := 0; i < len(cpus); {
		last := i
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		text := strconv.Itoa(cpus[i])
		if last > i {
			text += "-" + strconv.Itoa(cpus[last])
		}
		out = append(out, text)
		i = last + 1
	}
	return strings.Join(out, ",")
}
