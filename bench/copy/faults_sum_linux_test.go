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
	const one, two = 1, 2
	kept := map[uint64]func([]fault, []tally) error{}
	for _, seed := range []uint64{one, two} { // at once
		b := &bench{portionsAt: at, seed: seed}
		b.Binary = "faults_sum_linux_test.go"
		keep, err := b.portions()
		if err != nil {
			t.Fatal(err)
		}
		kept[seed] = keep
	}
	add := func(seed uint64, names []string, tallies ...tally) {
		t.Helper()
		var kinds []fault
		for _, n := range names {
			kinds = append(kinds, fault{name: n})
		}
		if err := kept[seed](kinds, tallies); err != nil {
			t.Fatal(err)
		}
	}
	add(one, []string{"a", "b"}, tally{cases: 1}, tally{})
	add(two, []string{"b", "c"}, tally{cases: 7, falseDone: 2}, tally{cases: 1, unfinished: 3})
	add(one, []string{"a", "b"}, tally{cases: 2, cut: 1}, tally{cases: 5, wrong: 1})
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
