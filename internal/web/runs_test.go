package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/store"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

type someRuns struct{}

func (someRuns) All() ([]Run, error) {
	return []Run{{ID: "20261125-1", Created: time.Unix(0, 0), Command: "explain <b>", Says: "path-loss", Whole: true}, {ID: "20261125-0", Says: "damaged"}}, nil
}

func (someRuns) Ladder(of store.Place) (store.Climbed, error) {
	if of.Path == "broken" {
		return store.Climbed{}, errors.New("no folder")
	}
	rate := unit.Gbit
	return store.Climbed{V: 1, Path: of.Path, Run: "20261125-1", At: noon, Command: cmp.Or(strings.TrimSpace(of.Here+" "+of.Source), "explain <b>"), Ceiling: &rate, Rungs: []model.Rung{
		{Rung: "memory", How: "<i>"}, {Rung: "one TCP stream", Seen: true, Measured: &rate, Ceiling: &rate}}}, nil
}

func (someRuns) Samples(id string) (Samples, bool, error) {
	switch id {
	case "20261125-1":
		return runSamples(), true, nil
	case "damaged":
		return Samples{}, false, errors.New("its hash is another")
	}
	return Samples{}, false, nil
}

// runSamples are 300 samples, 100 ms apart but for one that came late.
func runSamples() (s Samples) {
	ceiling := 1000 * unit.Mbit
	s.Ceiling = &ceiling
	at := noon
	for i := range 300 {
		c := report.Carried{At: at, Span: 100 * time.Millisecond, Bytes: int64(1000_000 + 1000*i)}
		if i == 150 {
			c.Span = 250 * time.Millisecond
		}
		at = at.Add(c.Span)
		s.Steps = append(s.Steps, c)
	}
	return s
}

func (someRuns) Report(w io.Writer, id string) (bool, error) {
	switch id {
	case "20261125-1":
		_, err := io.WriteString(w, "<style>a{}</style>the report")
		return true, err
	case "damaged":
		return false, errors.New("its hash is another")
	}
	return false, nil
}

func TestRunsAndTheirReports(t *testing.T) {
	v := NewView("x", "linerate test")
	v.KeepRuns(someRuns{})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	_, list := get(t, s.URL+"/runs", nil)
	for _, want := range []string{`<a href="runs/20261125-1">`, "explain &lt;b&gt;", "damaged"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
	if strings.Contains(list, `href="runs/20261125-0"`) {
		t.Error("a damaged run has a link")
	}
	if resp, body := get(t, s.URL+"/runs/20261125-1", nil); body != "<style>a{}</style>the report" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'unsafe-inline'") {
		t.Errorf("%s %v", body, resp.Header)
	}
	for path, want := range map[string]int{"/runs/x/samples": 404, "/runs/..%2f..%2fetc/samples": 404, "/runs/damaged/samples": 500, "/runs/20261125-1/samples?from=now": 400, "/runs/..%2f..%2fetc": 404, "/runs/last": 404, "/runs/damaged": 500} {
		if resp, body := get(t, s.URL+path, nil); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if _, page := get(t, s.URL+"/", nil); !strings.Contains(page, `<a href="runs">`) {
		t.Error("the page does not lead to the runs")
	}
}

// A run is zoomed to its samples: each row has a sample's own bytes and time. Where there are more than
// fit, neighbours are added up, and nothing is lost or made up by that; a gap stays.
func TestSamplesOfARun(t *testing.T) {
	v := NewView("x", "linerate test")
	v.KeepRuns(someRuns{})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	get := func(query string) (out Stretch) {
		resp, body := get(t, s.URL+"/runs/20261125-1/samples"+query, nil)
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all, want := get(""), runSamples()
	if len(all.Rows) != 300 || !all.From.Equal(noon) || !all.To.Equal(noon.Add(30150*time.Millisecond)) {
		t.Fatalf("%d rows, %v to %v", len(all.Rows), all.From, all.To)
	}
	for i, r := range all.Rows {
		c := want.Steps[i]
		if !r.At.Equal(c.At) || r.Span != c.Span || *r.Goodput != unit.BitRate(float64(c.Bytes)*8/c.Span.Seconds()) || *r.Share != float64(*r.Goodput / *want.Ceiling) {
			t.Fatalf("row %d: %+v, of %+v", i, r, c)
		}
	}
	part := get("?" + url.Values{"from": {noon.Add(time.Second).Format(time.RFC3339Nano)}, "to": {noon.Add(11 * time.Second).Format(time.RFC3339Nano)}}.Encode())
	if len(part.Rows) != 100 || fmt.Sprint(*part.Rows[0].Goodput) != fmt.Sprint(*all.Rows[10].Goodput) {
		t.Errorf("%d rows of ten seconds", len(part.Rows))
	}
	var long Samples
	bytes, span := int64(0), time.Duration(0)
	for i := range 4 * mostFine {
		at := noon.Add(time.Duration(i) * 100 * time.Millisecond)
		if i >= 5000 {
			at = at.Add(time.Minute) // another run
		}
		long.Steps = append(long.Steps, report.Carried{At: at, Span: 100 * time.Millisecond, Bytes: int64(i)})
	}
	got := long.stretch("x", time.Time{}, time.Time{})
	for i, r := range got.Rows {
		bytes, span = bytes+int64(float64(*r.Goodput)*r.Span.Seconds()/8+0.5), span+r.Span
		if i > 0 && r.At.Before(got.Rows[i-1].At.Add(got.Rows[i-1].Span)) {
			t.Fatalf("row %d lies over the one before", i)
		}
	}
	if len(got.Rows) > mostFine+1 || bytes != 4*mostFine*(4*mostFine-1)/2 || span != 4*mostFine*100*time.Millisecond || got.Width != 400*time.Millisecond {
		t.Errorf("%d rows with %d bytes in %v, the widest %v", len(got.Rows), bytes, span, got.Width)
	}
	if none := (Samples{}).stretch("x", time.Time{}, time.Time{}); len(none.Rows) != 0 {
		t.Errorf("%+v", none)
	}
}

func TestLadderOfAPath(t *testing.T) {
	v := NewView("a", "linerate test")
	v.KeepRuns(someRuns{})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/ladder?path="+url.QueryEscape(path), nil)
		r.Host = "localhost"
		h.ServeHTTP(w, r)
		return w
	}
	var got store.Climbed
	if err := json.Unmarshal(ask("a – b").Body.Bytes(), &got); err != nil || got.Path != "a – b" || got.Run != "20261125-1" || len(got.Rungs) != 2 || *got.Rungs[1].Measured != unit.Gbit {
		t.Errorf("%+v %v", got, err)
	}
	p := watch.Picture{Path: "/mnt/nas", Hosts: []watch.Host{{Name: "desk", Facts: &model.Facts{Mounts: []model.Mount{{Point: "/mnt/nas", Source: "nas1:/x"}}}}}}
	if err := v.Show([]watch.Picture{p}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ask("/mnt/nas").Body.Bytes(), &got); err != nil || got.Command != "desk nas1:/x" {
		t.Errorf("what is mounted there is not known: %+v %v", got, err)
	}
	if w := ask("broken"); w.Code != 500 || !strings.Contains(w.Body.String(), "no folder") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
