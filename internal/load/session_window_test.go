package load

import (
	"testing"
	"time"
)

// On a busy host the counters are read late, when the other end has ended the streams in time:
// nobody cut them, and the time in which nothing came any more is not counted.
func TestWindowEnd(t *testing.T) {
	until := time.Unix(1000, 0)
	for _, tc := range []struct {
		name        string
		ended, read time.Duration // after until; ended 0: not yet
		want        time.Duration
		early       bool
	}{
		{"they go on", 0, 20 * time.Millisecond, 20 * time.Millisecond, false},
		{"they go on, read late", 0, 700 * time.Millisecond, 700 * time.Millisecond, false},
		{"cut", -2 * time.Second, -2 * time.Second, -2 * time.Second, true},
		{"ended in time, read late", 300 * time.Millisecond, 700 * time.Millisecond, 300 * time.Millisecond, false},
		{"ended just after the reading", 701 * time.Millisecond, 700 * time.Millisecond, 700 * time.Millisecond, false},
	} {
		s := newSession(Spec{})
		if tc.ended != 0 {
			s.endedAt = until.Add(tc.ended)
			close(s.ended)
		}
		end, early := s.windowEnd(until.Add(tc.read), until)
		if early != tc.early || !end.Equal(until.Add(tc.want)) {
			t.Errorf("%s: ends at %v, early %v; want %v, %v", tc.name, end.Sub(until), early, tc.want, tc.early)
		}
	}
}
