package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// kept is a Past with an hour of records.
type kept struct{ from time.Time }

func (k kept) Between(from, to time.Time, width time.Duration) (history.Read, error) {
	out := history.Read{Problems: []history.Problem{{File: "x.seg", Why: "skipped"}}}
	for at := k.from; at.Before(k.from.Add(time.Hour)); at = at.Add(history.Finest) {
		if !at.Before(from) && at.Before(to) {
			n := watch.Named{State: watch.Moving, Limiter: model.PathLoss}
			out.Records = append(out.Records, past.Record{At: at, Span: history.Finest, Paths: []past.Path{{Name: hostile, Parts: []past.Part{{Named: n, For: history.Finest, Bytes: 1e9}}}}})
		}
	}
	return out, nil
}

func (k kept) Runs(from, to time.Time) ([]watch.Mark, error) {
	return []watch.Mark{{At: from, Kind: watch.MarkRun, What: "linerate demo"}}, nil
}

func (k kept) Kept() string { return "kept" }

func ask(t *testing.T, base string, from, to time.Time) (s Stretch) {
	t.Helper()
	q := url.Values{"path": {hostile}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}
	resp, body := get(t, base+"/history?"+q.Encode(), nil)
	if resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A stretch of time is read from memory by the second, and from disk by what fits on a page.
func TestHistoryOfAPath(t *testing.T) {
	v, s := serve(t)
	for i := range 61 {
		p := picture(watch.Moving, model.PathLoss)
		p.At, p.Events = noon.Add(time.Duration(i)*time.Second), nil
		p.Hosts[0].Marks = []watch.Mark{{At: p.At, Kind: watch.MarkHost, What: "kernel"}}
		if err := v.Show([]watch.Picture{p}); err != nil {
			t.Fatal(err)
		}
	}
	got := ask(t, s.URL, noon, noon.Add(30*time.Second))
	if len(got.Rows) != 30 || got.Width != time.Second || *got.Rows[3].Goodput != 400*unit.Mbit || *got.Rows[3].Share != 0.4 || got.Rows[3].Shown[0].Limiter != model.PathLoss {
		t.Errorf("%d rows of %s", len(got.Rows), got.Width)
	}
	if got := ask(t, s.URL, noon.Add(-30*24*time.Hour), noon.Add(time.Hour)); len(got.Rows) != 1 {
		t.Errorf("of a month in memory %d rows", len(got.Rows))
	}
	v.Keep(kept{noon.Add(-2 * time.Hour)})
	old := ask(t, s.URL, noon.Add(-2*time.Hour), noon)
	// What memory has by the second follows what disk has, without overlap.
	v.Keep(kept{noon.Add(-time.Hour)})
	if both := ask(t, s.URL, noon.Add(-5*time.Minute), noon.Add(10*time.Second)); len(both.Rows) != 40 || both.Rows[29].At.After(noon) || both.Rows[30].Span != time.Second {
		t.Errorf("%d rows", len(both.Rows))
	}
	if len(old.Rows) != 120 || old.Width != 30*time.Second || *old.Rows[7].Goodput != 800*unit.Mbit || len(old.Marks) != 1 || old.Problems[0] != "x.seg: skipped" {
		t.Errorf("%d rows of %s, %v %v", len(old.Rows), old.Width, old.Marks, old.Problems)
	}
}

// What a path would have been shown as while it was stale takes the place of that, once it is known.
func TestLatePicturesAreInTheStretch(t *testing.T) {
	v, s := serve(t)
	at := func(i int, state watch.State) watch.Picture {
		p := picture(state, model.PathLoss)
		p.At, p.Events = noon.Add(time.Duration(i)*time.Second), nil
		return p
	}
	for i := range 32 {
		p := at(i, watch.Moving)
		if i > 10 && i <= 20 {
			p = at(i, watch.Stale)
		}
		if err := v.Show([]watch.Picture{p}); err != nil {
			t.Fatal(err)
		}
	}
	moved := func() (n int) {
		for _, r := range ask(t, s.URL, noon, noon.Add(30*time.Second)).Rows {
			if r.Goodput != nil && len(r.Shown) == 1 && r.Shown[0].State == watch.Moving {
				n++
			}
		}
		return n
	}
	if n := moved(); n != 20 {
		t.Errorf("data moved in %d of 30 seconds, want 20", n)
	}
	other := at(10, watch.Moving)
	var run []watch.Picture
	for i := 10; i <= 20; i++ {
		run = append(run, at(i, watch.Moving))
	}
	v.Late(run)
	if n := moved(); n != 30 {
		t.Errorf("with late samples data moved in %d of 30 seconds", n)
	}
	run = nil
	for i := range 2 * mostLate {
		other.At = noon.Add(time.Duration(i) * time.Second)
		run = append(run, other)
	}
	if v.Late(run); len(v.late) != mostLate {
		t.Errorf("%d late records are kept", len(v.late))
	}
}

func TestHistoryOfNonsenseIsRefused(t *testing.T) {
	_, s := serve(t)
	for _, q := range []string{"", "?from=x&to=y", "?from=2026-11-24T10:00:00Z&to=2026-11-24T09:00:00Z", "?from=1026-11-24T10:00:00Z&to=2026-11-24T09:00:00Z"} {
		if resp, body := get(t, s.URL+"/history"+q, nil); resp.StatusCode != 400 || !strings.Contains(body, "ask for /history?path=") {
			t.Errorf("%q: %d %s", q, resp.StatusCode, body)
		}
	}
	if got := ask(t, s.URL, noon, noon.Add(time.Hour)); got.Rows == nil || len(got.Rows) != 0 {
		t.Errorf("%+v", got)
	}
}

// What is in memory is bounded by time, and of many paths by how many records of theirs that is.
func TestWhatMemoryKeeps(t *testing.T) {
	for _, c := range []struct{ seconds, paths, want int }{
		{900, 1, 900}, {1000, 1, 900}, {1000, 100, 900}, {1000, 500, 180}, {10, 1000, 10}, {1000, 1000, 90}, {3, mostRecent + 1, 0},
	} {
		records := make([]past.Record, c.seconds)
		for i := range records {
			records[i].Paths = make([]past.Path, c.paths)
			if i > 0 && c.paths > 1000 {
				records[i].Paths = records[0].Paths
			}
		}
		if got := c.seconds - tooOld(records); got != c.want {
			t.Errorf("%d records of %d paths: %d are kept, want %d", c.seconds, c.paths, got, c.want)
		}
	}
	v := NewView("title", "build")
	for i := range 200 {
		all := make([]watch.Picture, 1000)
		for k := range all {
			all[k] = watch.Picture{At: noon.Add(time.Duration(i) * time.Second), Path: fmt.Sprint(k), Shown: watch.Named{State: watch.Idle}}
		}
		if err := v.Show(all); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.recent) != 90 || !strings.Contains(v.kept(), "of so many paths the last 90 seconds") {
		t.Errorf("%d records: %s", len(v.recent), v.kept())
	}
}
