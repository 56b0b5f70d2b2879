package move

import (
	"testing"
	"time"
)

// What has not ended counts, and what goes on at once counts once in the time of any.
func TestAMeterCountsWhatHasNotEnded(t *testing.T) {
	var m Meter
	for _, x := range []struct{ at, by, sum, any int }{
		{0, 0, 0, 0}, {5, 1, 0, 0}, {7, 0, 2, 2}, {8, 1, 3, 3}, {10, 0, 7, 5}, {11, -1, 9, 6}, {14, -1, 12, 9}, {100, 0, 12, 9},
		{90, 0, 12, 9}, // a clock that goes back
	} {
		m.reach(time.Duration(x.at) * time.Second)
		m.under += x.by
		sum, any := m.sum, m.any
		if sum != time.Duration(x.sum)*time.Second || any != time.Duration(x.any)*time.Second {
			t.Errorf("after %d s: %v, %v, want %d s, %d s", x.at, sum, any, x.sum, x.any)
		}
	}
}

// Work that goes on is in the sums when they are asked for, and what has ended does not grow.
func TestAMeterReadsTheClock(t *testing.T) {
	var m Meter
	m.Begin()
	for m.Sum() == 0 {
		time.Sleep(time.Microsecond)
	}
	m.End()
	if sum := m.Sum(); sum <= 0 || sum != m.Sum() || m.Any() != sum {
		t.Errorf("%v, then %v and %v", sum, m.Sum(), m.Any())
	}
}
