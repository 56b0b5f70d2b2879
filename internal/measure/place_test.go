package measure

import (
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
)

// A clock that is set while samples are taken moves none of them.
func TestPlaceWhereTheClockIsSet(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, set := range []time.Duration{0, -2 * time.Second, 5 * time.Second, time.Hour, -time.Hour} {
		var in []model.Sample
		for i := range 60 {
			at := time.Duration(i) * 100 * time.Millisecond
			s := model.Sample{At: 7*time.Second + at, HostAt: start.Add(3*time.Second + at)}
			if i >= 30 {
				s.HostAt = s.HostAt.Add(set)
			}
			in = append(in, s)
		}
		got := Place(in, model.Clock{Offset: 3 * time.Second}, start, 6*time.Second)
		i := slices.IndexFunc(got, func(s model.Sample) bool { return s.At < 0 || s.At > 6*time.Second })
		if len(got) != len(in) || i >= 0 || got[59].At != 5900*time.Millisecond || got[30].At-got[29].At != 100*time.Millisecond {
			t.Errorf("set by %v: %d samples, the last at %v", set, len(got), got[len(got)-1].At)
		}
	}
}

// Samples that do not tell the time since their agent's start go by the host's clock.
func TestPlaceByTheHostsClock(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := Place([]model.Sample{{HostAt: start.Add(4 * time.Second)}, {HostAt: start}}, model.Clock{}, start, 3*time.Second)
	if len(got) != 1 || got[0].At != 0 {
		t.Errorf("%+v", got)
	}
}
