package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDiffer(t *testing.T) {
	before := map[string]string{"a": "1", "b": "2", "c": "3"}
	if got := differ(before, map[string]string{"a": "1", "b": "9"}); !slices.Equal(got, []string{`b is "9", was "2"`, `c is "", was "3"`}) {
		t.Errorf("%q", got)
	}
	if got := extra([]string{"x"}, []string{"x", "y"}); !slices.Equal(got, []string{"y"}) {
		t.Errorf("%q", got)
	}
}

func TestClaims(t *testing.T) {
	for said, want := range map[string]bool{
		"linerate: interrupted; everything was put back (x)": true, "linerate: x: nothing was changed": true,
		"linerate: host a: agent ended": false, "": false,
	} {
		if claims(said) != want {
			t.Errorf("%q: %v", said, !want)
		}
	}
}

func TestCasesHaveEveryPairThatFits(t *testing.T) {
	usual, lives := map[string]outcome{}, map[string]time.Duration{}
	for _, role := range []string{agent, worker, mover, watcher, ssh, sshd} {
		lives[role] = time.Second
	}
	pairs := 0
	for _, w := range works() {
		usual[w.name] = outcome{Took: time.Second, Lives: lives}
		for _, m := range mishaps() {
			if m.fits(w) {
				pairs++
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range cases(rand.New(rand.NewPCG(1, 1)), options{cases: 1000, only: regexp.MustCompile("")}, usual) {
		seen[c.String()] = true
	}
	if len(seen) != pairs || pairs < 100 {
		t.Errorf("%d of %d pairs", len(seen), pairs)
	}
}

func TestTable(t *testing.T) {
	one := outcome{order: order{Work: "fix", Mishap: "TERM", Seed: 1}, Hit: true}
	bad := one
	bad.Seed = 2
	bad.tell(&bad.Files, "file left: %s", "x")
	got := table([]outcome{one, bad, {order: order{Work: "fix", Mishap: nothing}}})
	for _, want := range []string{"| fix | TERM | 2 | 2 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |", "| all | all | 2 |", "fix, TERM (seed 2), after 0s: file left: x"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}
