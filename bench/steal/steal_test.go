package steal

import "testing"

func TestSince(t *testing.T) {
	before, after := Time{all: 100, stolen: 10}, Time{all: 300, stolen: 60}
	if got := after.Since(before); got != 0.25 {
		t.Errorf("%g", got)
	}
	if got := before.Since(before); got != 0 {
		t.Errorf("in no time: %g", got)
	}
}
