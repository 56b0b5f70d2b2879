package unit

import (
	"strconv"
	"strings"
	"time"
)

// Count prints a number of things with their noun: 1 pair, 8 pairs.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
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

// Ranges prints numbers that rise, with those that follow each other as a range: 0-3,8.
func Ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		part := strconv.Itoa(numbers[i])
		if last > i {
			part += "-" + strconv.Itoa(numbers[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
