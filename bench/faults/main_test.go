package main

import (
	"slices"
	"testing"
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
		"linerate: interrupted; everything was put back (x)": true, "lab:a: nothing to undo": true,
		"linerate: host a: agent ended": false, "": false,
	} {
		if claims(said) != want {
			t.Errorf("%q: %v", said, !want)
		}
	}
}
