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
