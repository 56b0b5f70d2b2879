package move

import (
	"testing"
	"time"
)

// What has not ended counts, and what goes on at once counts once in the time of any.
func TestAMeterCountsWhatHasNotEnded(t *testing.T) {
	var m Meter
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	for _, x := range []struct{ at, by, sum, any int }{
		{0, 0, 0, 0}, {5, 1, 0, 0}, {7, 0, 2, 2}, {8, 1, 3, 3}, {10, 0, 7, 5}, {11, -1, 9, 6}, {14, -1, 12, 9}, {100, 0, 12, 9},
		{90, 0, 12, 9}, // a clock that was set back
	} {
		if x.by != 0 {
			m.change(at(x.at), x.by)
		}
		sum, any := m.look(at(x.at))
		if sum != time.Duration(x.sum)*time.Second || any != time.Duration(x.any)*time.Second {
			t.Errorf("after %d s: %v, %v, want %d s, %d s", x.at, sum, any, x.sum, x.any)
		}
	}
}
