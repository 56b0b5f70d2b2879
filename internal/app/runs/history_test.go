package runs

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

func TestStretchesAreNamedByTime(t *testing.T) {
	now := time.Date(2026, 11, 24, 15, 30, 0, 0, time.UTC) // a Tuesday
	for text, want := range map[string]string{
		"today":               "11-24 00:00 to 11-25 00:00",
		"yesterday":           "11-23 00:00 to 11-24 00:00",
		"Tuesday":             "11-17 00:00 to 11-18 00:00",
		"monday":              "11-23 00:00 to 11-24 00:00",
		"2026-11-20":          "11-20 00:00 to 11-21 00:00",
		"2026-11-20T10:00":    "11-20 10:00 to 11-20 11:00",
		"2026-11-20T10:00/2h": "11-20 10:00 to 11-20 12:00",
		"today/30m":           "11-24 00:00 to 11-24 00:30",
		"2026-11-20/2d":       "11-20 00:00 to 11-22 00:00",
	} {
		from, to, err := parseStretch(text, now)
		if got := from.Format("01-02 15:04") + " to " + to.Format("01-02 15:04"); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "2026-13-01", "today/", "today/5s", "today/-1h", "today/1000d", "10:00"} {
		if from, to, err := parseStretch(text, now); err == nil {
			t.Errorf("%q: %s to %s", text, from, to)
		}
	}
}

// Tuesday against today: what serve kept of two days, set side by side.
func TestHistoryIsReadAndCompared(t *testing.T) {
	data := t.TempDir()
	now := time.Date(2026, 11, 24, 15, 30, 0, 0, time.UTC)
	e := app.Env{Now: func() time.Time { return now }, Getenv: func(k string) string {
		return map[string]string{"XDG_DATA_HOME": data}[k]
	}}
	s, err := history.Open(data+"/linerate", "a, b", unit.GiB, now.AddDate(0, 0, -7))
	if err != nil {
		t.Fatal(err)
	}
	keep := func(at time.Time, limiter model.LimiterID, mb float64) {
		t.Helper()
		for i := range 6 {
			part := past.Part{Named: watch.Named{State: watch.Moving, Limiter: limiter}, For: history.Finest, Bytes: mb * 1e6}
			r := past.Record{At: at.Add(time.Duration(i) * history.Finest), Span: history.Finest, Paths: []past.Path{{Name: "a – b@x", Parts: []past.Part{part}}, {Name: "a – c", Parts: []past.Part{part}}}}
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep(now.AddDate(0, 0, -7), model.PathLoss, 100)
	keep(now.Add(-time.Hour), model.None, 200)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := CompareHistory(e, "history:b@x@tuesday", "history:a – b@x@today")
	if err != nil {
		t.Fatal(err)
	}
	if c.Ratio == nil || *c.Ratio != 2 || c.A.Whole.Seen != time.Minute || *c.A.Whole.Goodput != 80*unit.Mbit || c.B.Whole.Shown[0].Limiter != model.None || c.A.Whole.Shown[0].OfBytes != 1 {
		t.Errorf("%+v", c)
	}
	for ref, want := range map[string]string{
		"history:b@x@yesterday": "no path of that name",
		"history:a@today":       "may be any of a – b@x, a – c",
		"history:a":             "write history:PATH@TIME",
		"history:a@noon":        "is no time",
	} {
		if _, err := OpenHistory(e, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		} else if k := failure.KindOf(err); k == failure.Failed {
			t.Errorf("%s: kind %v", ref, k)
		}
	}
}

// Before and after a change: an interval, the A/A check of the hours before, and what changed.
func TestHoursOfHistoryAreComparedWithAnInterval(t *testing.T) {
	data := t.TempDir()
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	now := day.Add(15 * time.Hour)
	e := app.Env{Now: func() time.Time { return now }, Getenv: func(k string) string {
		return map[string]string{"XDG_DATA_HOME": data}[k]
	}}
	s, err := history.Open(data+"/linerate", "a, b", unit.GiB, day)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 14 * 360 {
		at := day.Add(time.Duration(i) * history.Finest)
		mb := 1000.0
		if at.Hour() >= 13 {
			mb = 1200
		}
		named := watch.Named{State: watch.Moving, Limiter: model.PathLoss}
		r := past.Record{At: at, Span: history.Finest, Paths: []past.Path{{Name: "a – b", Parts: []past.Part{
			{Named: named, For: history.Finest / 2, Bytes: mb * 1e6}, {Named: watch.Named{State: watch.Idle}, For: history.Finest / 2}}}}}
		if at.Hour() == 12 && at.Minute() == 0 && at.Second() == 0 {
			r.Marks = []past.Mark{{At: at, Kind: "changed", Host: "b", What: "eth0 speed", From: "10G", To: "25G"}}
		}
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := CompareHistory(e, "history:a – b@2026-11-24T11:00", "history:a – b@2026-11-24T13:00")
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Moving; m.Conclusion != "higher" || m.Ratio == nil || *m.Ratio < 1.199 || *m.Ratio > 1.201 || m.Low == nil || m.Pairs != 12 || m.Block != 5*time.Minute {
		t.Errorf("%+v", m)
	}
	if c.AA == nil || c.NoAA != "" || c.AA.Conclusion != "no effect above margin" || !c.AA.From.Equal(day.Add(9*time.Hour)) || len(c.Between) != 1 || c.Between[0].To != "25G" {
		t.Errorf("A/A %+v, %q, between %+v", c.AA, c.NoAA, c.Between)
	}
	if c, err = CompareHistory(e, "history:a – b@2026-11-24T13:00", "history:a – b@2026-11-24T01:00"); err != nil || c.Moving.Conclusion != "lower" || c.NoAA == "" {
		t.Errorf("backwards, without a time before: %+v, %q, %v", c.Moving, c.NoAA, err)
	}
	if c, err = CompareHistory(e, "history:a – b@2026-11-24T11:00/3h", "history:a – b@2026-11-24T13:00"); err != nil || c.Moving.Low != nil || c.Moving.Why != "the two overlap" {
		t.Errorf("overlapping: %+v, %v", c.Moving, err)
	}
}
