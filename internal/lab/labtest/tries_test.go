package labtest

import (
	"slices"
	"testing"
)

func TestTries(t *testing.T) {
	var said []string
	n := 0
	Tries(t, 3, func(t testing.TB) {
		n++
		t.Cleanup(func() { said = append(said, "first in, last out") })
		t.Cleanup(func() { said = append(said, "cleaned") })
		switch n {
		case 1:
			t.Fatalf("spoiled %d", n)
			said = append(said, "went on")
		case 2:
			t.Error("spoiled")
			if !t.Failed() {
				said = append(said, "does not know that it failed")
			}
		}
	})
	want := []string{"cleaned", "first in, last out", "cleaned", "first in, last out", "cleaned", "first in, last out"}
	if n != 3 || !slices.Equal(said, want) {
		t.Errorf("%d tries: %q", n, said)
	}
}

func TestBusyBetween(t *testing.T) {
	const before = "cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 100 0 50 1000 10 0 0 0 0 0\n"
	for after, want := range map[string]float64{
		"cpu  130 0 70 1040 20 0 0 0 30 0\n": 0.5,
		"cpu  100 0 50 1100 10 0 0 0 0 0\n":  0,
		before:                               0,
		"cpu x":                              0,
		"":                                   0,
	} {
		if got := busyBetween(before, after); got != want {
			t.Errorf("%q: busy %v, want %v", after, got, want)
		}
	}
}

// What stays wrong fails: the test is one of its own, whose failure is not ours.
func TestTriesFail(t *testing.T) {
	n := 0
	inner := &attempt{TB: t}
	inner.run(func(t testing.TB) {
		n++
		t.FailNow()
		n++
	})
	if n != 1 || !inner.failed {
		t.Errorf("%d calls, failed %v", n, inner.failed)
	}
}
