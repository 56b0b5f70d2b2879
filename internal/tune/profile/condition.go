package profile

import (
	"fmt"
	"strings"
)

// condition is "FORMULA >= FORMULA", with >, <, <= and == likewise; an empty one always holds.
type condition struct {
	text        string
	left, right expression
	holds       func(a, b float64) bool
}

func parseCondition(text string) (condition, error) {
	if strings.TrimSpace(text) == "" {
		return condition{}, nil
	}
	// The longer operators come first, since ">" is a prefix of ">=".
	for _, op := range []struct {
		name  string
		holds func(a, b float64) bool
	}{
		{">=", func(a, b float64) bool { return a >= b }},
		{"<=", func(a, b float64) bool { return a <= b }},
		{"==", func(a, b float64) bool { return a == b }},
		{">", func(a, b float64) bool { return a > b }},
		{"<", func(a, b float64) bool { return a < b }},
	} {
		left, right, ok := strings.Cut(text, op.name)
		if !ok {
			continue
		}
		a, err := parseExpression(left)
		if err != nil {
			return condition{}, err
		}
		b, err := parseExpression(right)
		return condition{strings.TrimSpace(text), a, b, op.holds}, err
	}
	return condition{}, fmt.Errorf("condition %q: want two formulas and >=, <=, ==, > or < between them", text)
}

func (c condition) check(env environment) (bool, error) {
	if c.text == "" {
		return true, nil
	}
	a, err := c.left.value(env)
	if err != nil {
		return false, err
	}
	b, err := c.right.value(env)
	return err == nil && c.holds(a, b), err
}
