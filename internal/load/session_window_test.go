package load

import (
	"slices"
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

func TestSecondsOfLateReadings(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type reading struct {
		at    time.Duration
		moved int64
	}
	cases := map[string]struct {
		readings []reading
		want     []int64
	}{
		"in time":            {[]reading{{time.Second, 100}, {2 * time.Second, 300}, {3 * time.Second, 600}}, []int64{100, 200, 300}},
		"one comes late":     {[]reading{{1500 * time.Millisecond, 150}, {2 * time.Second, 200}, {3 * time.Second, 300}}, []int64{100, 100, 100}},
		"two seconds at one": {[]reading{{2 * time.Second, 200}, {3 * time.Second, 200}}, []int64{100, 100, 0}},
		"the last one late":  {[]reading{{time.Second, 100}, {2 * time.Second, 200}, {4 * time.Second, 400}}, []int64{100, 100, 100}},
		"nothing moved":      {[]reading{{time.Second, 0}, {2 * time.Second, 0}}, []int64{0, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := course{at: from, next: from.Add(time.Second), until: from.Add(3 * time.Second)}
			for _, r := range c.readings {
				k.read(from.Add(r.at), r.moved)
			}
			if !slices.Equal(k.seconds, c.want) {
				t.Errorf("%v, want %v", k.seconds, c.want)
			}
		})
	}
}
