package measure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/load"
	"linerate/internal/model"
)

// setHalfWay has a clock that is set at half of 60 samples, 3 s ahead before.
func setHalfWay(start time.Time, by time.Duration) []model.Sample {
	var in []model.Sample
	for i := range 60 {
		at := time.Duration(i) * 100 * time.Millisecond
		s := model.Sample{At: 7*time.Second + at, HostAt: start.Add(3*time.Second + at)}
		if i >= 30 {
			s.HostAt = s.HostAt.Add(by)
		}
		in = append(in, s)
	}
	return in
}

// A clock that is set while samples are taken moves none of them, and its readings give no drift.
func TestPlaceWhereTheClockIsSet(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, by := range []time.Duration{0, -2 * time.Second, 200 * time.Millisecond, 5 * time.Second, time.Hour, -time.Hour} {
		in := setHalfWay(start, by)
		c, found := Drift(model.Clock{Offset: 3 * time.Second}, model.Clock{Offset: 3*time.Second + by}, 6*time.Second)
		got := Place(in, c, start, 6*time.Second)
		i := slices.IndexFunc(got, func(s model.Sample) bool { return s.At < 0 || s.At > 6*time.Second })
		if len(got) != len(in) || i >= 0 || got[59].At != 5900*time.Millisecond || got[30].At-got[29].At != 100*time.Millisecond {
			t.Errorf("set by %v: %d samples, the last at %v", by, len(got), got[len(got)-1].At)
		}
		if found != by || setAmong(in) != by || (c.Drift == nil) != (by != 0) {
			t.Errorf("set by %v: found %v, among the samples %v, drift %v", by, found, setAmong(in), c.Drift)
		}
	}
}

// A clock that an NTP daemon slews for long is not taken for one that was set.
func TestPlaceWhereTheClockIsSlewed(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var in []model.Sample
	for i := range 4000 {
		at := time.Duration(i) * time.Second
		in = append(in, model.Sample{At: at, HostAt: start.Add(at + at/2000)})
	}
	c, by := Drift(model.Clock{}, model.Clock{Offset: 2 * time.Second}, 4000*time.Second)
	got := Place(in, c, start, 5000*time.Second)
	if off := got[3999].At - 3999*time.Second; by != 0 || len(got) != 4000 || off.Abs() > 2*time.Millisecond {
		t.Errorf("set by %v, %d samples, the last off by %v", by, len(got), off)
	}
}

// What no sound clock does is told of, unless the readings may be off by as much.
func TestDriftOfAClockThatWasSet(t *testing.T) {
	for _, c := range []struct {
		offset, err time.Duration
		set         bool
	}{{6 * time.Millisecond, 0, false}, {30 * time.Millisecond, time.Millisecond, true}, {30 * time.Millisecond, 20 * time.Millisecond, false}, {-time.Second, time.Millisecond, true}} {
		got, by := Drift(model.Clock{Error: c.err}, model.Clock{Offset: c.offset, Error: c.err}, 6*time.Second)
		if (by != 0) != c.set || (got.Drift == nil) != c.set || c.set && by != c.offset {
			t.Errorf("%v ± %v: %+v, %v", c.offset, c.err, got, by)
		}
	}
}

// A run during which a clock is set says so, keeps its samples in their places, and has no drift of it.
func TestRunWhereTheClockIsSet(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &running{w: model.Workload{Sender: "a", Receiver: "b", Duration: 6 * time.Second}, o: Options{Interval: 100 * time.Millisecond}}
	drift := 80.0
	r.run = model.Run{Started: start, Unsampled: []string{"a", "b"}, Clocks: map[string]model.Clock{"a": {Offset: 3 * time.Second, Drift: &drift, DriftError: &drift}, "b": {}}}
	r.clocksSet = map[string]time.Duration{}
	r.samples = map[string][]model.Sample{"a": setHalfWay(start, 5*time.Second)}
	r.keepSamples()
	if c, s := r.run.Clocks["a"], r.run.Samples["a"]; c.Drift != nil || c.DriftError != nil || len(s) != 60 || s[59].At != 5900*time.Millisecond {
		t.Errorf("clock %+v, %d samples, the last at %v", c, len(s), s[len(s)-1].At)
	}
	got := r.doubts(load.Result{}, load.Result{})
	if len(got) != 1 || got[0].ID != "clock-set" || !strings.Contains(got[0].What, "clock of a") || !strings.Contains(got[0].Evidence, "5s") {
		t.Errorf("%+v", got)
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
