package study

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Factor is one thing that a study varies. Level 0 is the level of the baseline.
type Factor struct {
	Name   string
	Levels []string
	// Hard: every change of the factor needs a reboot, takes the link down, or needs an
	// operator.
	Hard bool
}

// Case is one state of all factors: a level of each.
type Case []int

// maxCases bounds a design: more cases are a mistake in the study file.
const maxCases = 4096

// OneAtATime returns the baseline and, for each other level, the baseline with only that level
// changed.
func OneAtATime(factors []Factor) ([]Case, error) {
	if err := checkFactors(factors); err != nil {
		return nil, err
	}
	out := []Case{make(Case, len(factors))}
	for i, f := range factors {
		for l := 1; l < len(f.Levels); l++ {
			c := make(Case, len(factors))
			c[i] = l
			out = append(out, c)
		}
	}
	return out, nil
}

// Factorial is every combination of levels, the baseline first and the last
// factor changing fastest.
func Factorial(factors []Factor) ([]Case, error) {
	if err := checkFactors(factors); err != nil {
		return nil, err
	}
	out := []Case{{}}
	for _, f := range factors {
		var next []Case
		for _, c := range out {
			for l := range f.Levels {
				next = append(next, append(slices.Clone(c), l))
			}
		}
		if out = next; len(out) > maxCases {
			return nil, fmt.Errorf("design study: a full factorial of these factors has more than %d cases: screen them first", maxCases)
		}
	}
	return out, nil
}

// First rows of the cyclic designs; a column per factor.
//
// Source: R. L. Plackett, J. P. Burman, Biometrika 33 (1946) 305.
const (
	first12 = "++-+++---+-"
	first20 = "++--++++-+-+----++-"
)

// PlackettBurman screens up to 11 factors of two levels in 12 cases, or up to
// 19 in 20. Its main effects are not confounded with each other, but with two-factor
// interactions; with foldOver every case is run once more with all levels exchanged, and then
// they are not confounded with those either (G. E. P. Box, K. B. Wilson, J. R. Statist. Soc. B
// 13 (1951) 1).
func PlackettBurman(factors []Factor, foldOver bool) ([]Case, error) {
	if err := checkFactors(factors); err != nil {
		return nil, err
	}
	row := first12
	switch {
	case len(factors) > len(first20):
		return nil, fmt.Errorf("design study: %d factors, a screening takes at most %d", len(factors), len(first20))
	case len(factors) > len(first12):
		row = first20
	}
	for _, f := range factors {
		if len(f.Levels) != 2 {
			return nil, fmt.Errorf("design study: factor %s has %d levels, a screening takes two", f.Name, len(f.Levels))
		}
	}
	var out []Case
	for shift := range len(row) {
		c := make(Case, len(factors))
		for i := range c {
			if row[(i+len(row)-shift)%len(row)] == '+' {
				c[i] = 1
			}
		}
		out = append(out, c)
	}
	out = append(out, make(Case, len(factors))) // the row of minuses
	if foldOver {
		for _, c := range slices.Clone(out) {
			folded := make(Case, len(c))
			for i, l := range c {
				folded[i] = 1 - l
			}
			out = append(out, folded)
		}
	}
	return out, nil
}

// Order draws the order in which the cases of one block are run. Without a
// hard factor it is a random permutation. With one it is a split plot: cases that share the
// levels of all hard factors form a group, and both the groups and the cases within a group
// are in random order, so that the costly change is made once per group. The effect of a hard
// factor then rests on as many independent changes as there are groups, not cases.
func Order(factors []Factor, cases []Case, rng *rand.Rand) []Case {
	plots := map[string][]Case{}
	var names []string
	for _, c := range cases {
		key := ""
		for i, f := range factors {
			if f.Hard {
				key += fmt.Sprintf("%d,", c[i])
			}
		}
		if plots[key] == nil {
			names = append(names, key)
		}
		plots[key] = append(plots[key], c)
	}
	shuffle(names, rng)
	var out []Case
	for _, name := range names {
		group := slices.Clone(plots[name])
		shuffle(group, rng)
		out = append(out, group...)
	}
	return out
}

func shuffle[T any](x []T, rng *rand.Rand) {
	rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
}

func checkFactors(factors []Factor) error {
	if len(factors) == 0 {
		return errors.New("design study: no factor")
	}
	seen := map[string]bool{}
	for _, f := range factors {
		if len(f.Levels) < 2 {
			return fmt.Errorf("design study: factor %s has %d levels, it takes two to compare", f.Name, len(f.Levels))
		}
		if seen[f.Name] {
			return fmt.Errorf("design study: two factors are called %s", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
