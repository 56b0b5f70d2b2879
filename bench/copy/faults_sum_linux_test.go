package main

import (
	"path/filepath"
	"testing"
)

// Two portions add up by the names of their kinds, each seed counts once, and what is kept of a run
// replaces what was kept of it before.
func TestPortionsAddUp(t *testing.T) {
	at := filepath.Join(t.TempDir(), "portions.json")
	program := filepath.Join("testdata", "none")
	if err := (&portions{}).begin(1, program); err == nil {
		t.Error("a program that cannot be read has no name")
	}
	run := func(seed uint64, kinds []fault, tallies ...[]tally) {
		t.Helper()
		p, err := readPortions(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.begin(seed, "faults_sum_linux_test.go"); err != nil {
			t.Fatal(err)
		}
		for _, x := range tallies {
			if err := p.keep(at, kinds, x); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(1, []fault{{name: "a"}, {name: "b"}}, []tally{{cases: 1}, {}}, []tally{{cases: 2, cut: 1}, {cases: 5, wrong: 1}})
	run(2, []fault{{name: "b"}, {name: "c"}}, []tally{{cases: 7, falseDone: 2}, {cases: 1, unfinished: 3}})
	p, err := readPortions(at)
	if err != nil {
		t.Fatal(err)
	}
	kinds, tallies := p.sum()
	want := []tally{{cases: 2, cut: 1}, {cases: 12, wrong: 1, falseDone: 2}, {cases: 1, unfinished: 3}}
	for i, name := range []string{"a", "b", "c"} {
		if kinds[i].name != name || tallies[i] != want[i] {
			t.Errorf("%d: %s %+v", i, kinds[i].name, tallies[i])
		}
	}
	if err := p.begin(2, "faults_sum_linux_test.go"); err == nil {
		t.Error("a seed counts twice")
	}
}
