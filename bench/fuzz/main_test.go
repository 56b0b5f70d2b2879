package main

import (
	"testing"
	"time"
)

func TestReadsWhatGoTestSays(t *testing.T) {
	var o outcome
	for line, want := range map[string]bool{
		"fuzz: elapsed: 3s, gathering baseline coverage: 0/5 completed":                   true,
		"fuzz: elapsed: 1m9s, execs: 108035 (7625/sec), new interesting: 72 (total: 161)": true,
		"    --- FAIL: FuzzTemplate (0.00s)":                                              false,
	} {
		if got := o.read(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	if o.execs != 108035 || o.fresh != 72 || o.known != 161 || o.took != 69*time.Second || int(o.rate()) != 1565 {
		t.Errorf("%+v, %v a second", o, o.rate())
	}
}

// The targets of this repository are found, one in each folder that has any.
func TestFindsTargets(t *testing.T) {
	all, err := targets("../..")
	if err != nil || len(all) < 80 {
		t.Fatalf("%d targets, %v", len(all), err)
	}
	if _, err := targets("."); err == nil {
		t.Error("targets where there are none")
	}
}
