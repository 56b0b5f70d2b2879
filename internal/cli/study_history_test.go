package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/app/runs"
	"linerate/internal/kernel/golden"
	"linerate/internal/report/docstest"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// keptHours writes a history of one path, minute i of hour h at the rate of factor(h, i).
func keptHours(t *testing.T, hours int, factor func(hour, minute int) float64) {
	t.Helper()
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	t.Setenv("TZ", "UTC")
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.Local)
	s, err := history.Open(filepath.Join(data, "linerate"), "client1, nas1", unit.GiB, day)
	if err != nil {
		t.Fatal(err)
	}
	for i := range hours * 360 {
		at := day.Add(time.Duration(i) * history.Finest)
		part := past.Part{Named: watch.Named{State: watch.Moving}, For: history.Finest, Bytes: 1e9 * factor(i/360, i%360/6)}
		r := past.Record{At: at, Span: history.Finest, Paths: []past.Path{{Name: "client1 – nas1", Parts: []past.Part{part}}}}
		if i == 720 {
			r.Marks = []past.Mark{{At: at, Kind: "changed", Host: "nas1", What: "eth0 speed", From: "10G", To: "25G"}}
		}
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// level writes the stretches of hours as study history reads them.
func level(name string, hours ...int) string {
	var all []string
	for _, h := range hours {
		all = append(all, time.Date(2026, 11, 24, h, 0, 0, 0, time.Local).Format("2006-01-02T15:04")+"/1h")
	}
	return name + "=" + strings.Join(all, ",")
}

// A setting that was switched each hour: seen, with every pair, and never called a gain; and what
// came once is not told from a path that changed by itself, however many hours there are.
func TestStudyReadsHistory(t *testing.T) {
	on := map[int]bool{1: true, 2: true, 5: true, 6: true, 9: true, 10: true, 13: true, 14: true}
	keptHours(t, 16, func(hour, minute int) float64 {
		if on[hour] {
			return 1.1 + 0.001*float64(hour)
		}
		return 1
	})
	off, with := level("off", 0, 3, 4, 7, 8, 11, 12, 15), level("on", 1, 2, 5, 6, 9, 10, 13, 14)
	code, out, errs := typed(t, "study", "history", "nas1", off, with)
	golden.Same(t, filepath.Join("testdata", "study_history.txt"), out)
	if code != ExitOK || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	code, out, _ = typed(t, "study", "history", "nas1", level("off", 0, 1, 2, 3, 4, 5, 6, 7), level("on", 8, 9, 10, 11, 12, 13, 14, 15), "--json")
	var s runs.SwitchedStudy
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != ExitOK {
		t.Fatalf("%v, exit code %d", err, code)
	}
	if l := s.Levels[0]; l.Conclusion != "undecided" || l.Low != nil || l.Groups != 1 || l.P != 1 || !strings.Contains(l.Why, "it takes 8") || len(s.Marks) != 1 {
		t.Errorf("one change: %+v, %d marks", l, len(s.Marks))
	}
	if len(s.Notes) != 2 || !strings.Contains(s.Notes[0]+s.Notes[1], "same side of off in all 8 pairs") || !strings.Contains(s.Notes[0]+s.Notes[1], "another time of day in 8 of 8 pairs") {
		t.Errorf("notes %q", s.Notes)
	}
}

func TestStudyOfHistoryRefuses(t *testing.T) {
	keptHours(t, 4, func(hour, minute int) float64 { return map[bool]float64{true: 1}[minute < 30] })
	half := "=2026-11-24T00:00/30m"
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no level":      {[]string{level("a", 0), "b"}, ExitUsage, "write NAME=TIME"},
		"numbers":       {[]string{level("a", 0), level("b", 1, 2)}, ExitUsage, "b has 2 stretches, and a 1"},
		"overlap":       {[]string{level("a", 0), "b=2026-11-24T00:30/1h"}, ExitUsage, "overlap"},
		"twice":         {[]string{level("a", 0), level("a", 1)}, ExitUsage, "two levels of that name"},
		"not watched":   {[]string{level("a", 0), level("b", 9)}, ExitNothing, "no path of that name was watched"},
		"no time":       {[]string{level("a", 0), "b=noon"}, ExitUsage, "is no time"},
		"idle together": {[]string{"a" + half, "b=2026-11-24T02:30/30m"}, ExitNothing, "no pair of stretches moved data"},
	} {
		code, _, errs := typed(t, append([]string{"study", "history", "nas1"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %s", name, code, errs)
		}
	}
}

func TestStudyHistoryFieldsAreDocumented(t *testing.T) {
	docstest.Fields(t, docstest.Section(t, "study history"), "linerate/internal/app/runs", 10, runs.SwitchedStudy{})
}
