package guide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Condition is a test of a value: "any", "= V", "< N", "> N" or "~ TEXT" (contains). Numbers are
// compared with the last number of the value, which is the largest of a triple.
type Condition struct{ op, arg string }

// ParseCondition reads one.
func ParseCondition(s string) (Condition, error) {
	if s == "any" {
		return Condition{op: s}, nil
	}
	op, arg, ok := strings.Cut(s, " ")
	if !ok || arg == "" || len(op) != 1 || !strings.Contains("=<>~", op) {
		return Condition{}, fmt.Errorf(`parse condition %q: want any, "= V", "< N", "> N" or "~ TEXT"`, s)
	}
	if _, err := strconv.ParseInt(arg, 10, 64); err != nil && (op == "<" || op == ">") {
		return Condition{}, fmt.Errorf("parse condition %q: %s needs a number", s, op)
	}
	return Condition{op, arg}, nil
}

// Holds reports whether a value satisfies the condition.
func (c Condition) Holds(value string) bool {
	switch c.op {
	case "any":
		return true
	case "=":
		return strings.EqualFold(canonical(value), c.arg)
	case "~":
		return strings.Contains(strings.ToUpper(value), strings.ToUpper(c.arg))
	}
	n := numbers(value)
	arg, err := strconv.ParseInt(c.arg, 10, 64)
	if err != nil || len(n) == 0 {
		return false
	}
	last := n[len(n)-1]
	return c.op == "<" && last < arg || c.op == ">" && last > arg
}

// canonical is a value with single spaces between its words.
func canonical(value string) string { return strings.Join(strings.Fields(value), " ") }

// sameValue compares two values as a host would: 0x8 equals 8.
func sameValue(a, b string) bool {
	x, y := numbers(a), numbers(b)
	return strings.EqualFold(canonical(a), canonical(b)) || x != nil && slices.Equal(x, y)
}

// numbers parses a value that consists of whole numbers, decimal or 0x-hexadecimal; else the
// result is empty.
func numbers(value string) []int64 {
	var out []int64
	for _, w := range strings.Fields(value) {
		n, err := strconv.ParseInt(w, 10, 64)
		if hex, ok := strings.CutPrefix(strings.ToLower(w), "0x"); ok {
			n, err = strconv.ParseInt(hex, 16, 64)
		}
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}
