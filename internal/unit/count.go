package unit

import "strconv"

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
