package conf

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Closest returns up to n of the words in among that are most like name,
// whatever the case of their letters.
func Closest(name string, among []string, n int) []string {
	distances := map[string]int{}
	for _, w := range among {
		distances[w] = Away(name, w)
	}
	return Nearest(distances, n)
}

// Nearest are the n words with the smallest distances.
func Nearest(distances map[string]int, n int) []string {
	words := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(distances[a]-distances[b], cmp.Compare(a, b))
	})
	return words[:min(n, len(words))]
}

// Away is how unlike two names are, whatever the case of their letters.
func Away(a, b string) int {
	const longest = 100 // no name is longer
	a = a[:min(len(a), longest)]
	return Distance(strings.ToLower(a), strings.ToLower(b))
}

// Distance is the number of bytes to put in, take out or change, or of neighbours to
// exchange, to make one name of the other (Damerau 1964, without moves over a change).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
