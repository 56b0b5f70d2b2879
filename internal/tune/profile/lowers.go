package profile

import (
	"strconv"
	"strings"
)

// Lowers tells whether a change from one value to another may lower it. Values that cannot be
// compared count as lowered: without numbers, with other names, with more or fewer numbers, or
// with numbers of other units.
func Lowers(from, to string) bool {
	falls, comparable := compare(from, to)
	return falls || !comparable
}

// compare tells whether any number of a value falls, and whether all of the value can be
// compared. Equal words are comparable without numbers.
func compare(from, to string) (falls, comparable bool) {
	a, b := strings.Fields(inOrder(from)), strings.Fields(inOrder(to))
	if len(a) == 0 || len(a) != len(b) {
		return false, false
	}
	comparable = true
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		nameA, x, unitA, okA := amount(a[i])
		nameB, y, unitB, okB := amount(b[i])
		if !okA || !okB || nameA != nameB || unitA != unitB {
			comparable = false
			continue
		}
		falls = falls || y < x
	}
	return falls, comparable
}

// amount splits a word like rx=4096 or 64K into its name, number and unit; =4096 is none.
func amount(word string) (name string, n int64, unit string, ok bool) {
	number := word
	if before, after, named := strings.Cut(word, "="); named {
		if before == "" {
			return "", 0, "", false
		}
		name, number = before, after
	}
	digits := strings.TrimRight(number, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
	n, err := strconv.ParseInt(digits, 10, 64)
	return name, n, number[len(digits):], err == nil
}
