package main

import "testing"

func TestGoalOfGains(t *testing.T) {
	for _, tc := range []struct {
		g    Gains
		want string
	}{
		{Gains{}, "nothing was foretold"},
		{Gains{Cases: 20, Ranges: 20, Held: 17, MedianError: 0.1}, "met"},
		{Gains{Cases: 20, Ranges: 20, Held: 16, MedianError: 0.01}, "missed"},
		{Gains{Cases: 20, Ranges: 20, Held: 20, MedianError: 0.11}, "missed"},
		{Gains{Cases: 3, MedianError: 0.01}, "nothing was foretold"},
	} {
		if got := tc.g.goal(); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.g, got, tc.want)
		}
	}
}
