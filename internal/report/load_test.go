package report

import (
	"fmt"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A load's page has its text, its course and nothing that a name of a file could
// have put there.
func TestLoadReport(t *testing.T) {
	r := &model.Results{Command: "load block f", Build: "test", Load: &model.Load{
		Line: "by hand on <b>f</b>: 1000 requests/s", Text: "TARGET   RATE\n<script>alert(1)</script> \x1b[31m 1\n",
		Series: []model.LoadSeries{{Name: "by hand", Unit: "B/s", Each: 2, Values: []float64{4e6, 8e6, 4e6}}, {Name: "one value", Unit: "B/s", Each: 1, Values: []float64{1}}},
	}}
	var html, text, markdown strings.Builder
	if err := HTML(&html, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, r, true, 80); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	page := html.String()
	for _, want := range []string{"TARGET   RATE\n", "<path class=\"line s1\"", "MB/s", "&lt;script&gt;", "a value for every 2 s: from 4 to 8"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>f") || strings.Contains(page, "one value") {
		t.Error("the page obeys the names of files, or draws a single value")
	}
	if !strings.Contains(text.String(), "TARGET   RATE\n") || strings.Contains(text.String(), "\x1b[31m") {
		t.Errorf("%q", text.String())
	}
	if !strings.Contains(markdown.String(), "    TARGET   RATE\n") || !strings.Contains(markdown.String(), "&lt;b>f") {
		t.Errorf("%q", markdown.String())
	}
}

// Rates and latencies are drawn over time, of several hosts together up to four and in frames of
// their own above; where no request ended a latency has a gap, and a peak survives a long run.
func TestLoadCourses(t *testing.T) {
	page := func(series []model.LoadSeries) string {
		var html strings.Builder
		if err := HTML(&html, &model.Results{Load: &model.Load{Line: "l", Series: series}}, nil, nil); err != nil {
			t.Fatal(err)
		}
		return html.String()
	}
	long := make([]float64, 3000)
	for i := range long {
		long[i] = 2
	}
	long[1234] = 900
	latency := []model.LoadSeries{
		{Name: "w", Unit: "B/s", Each: 1, Values: []float64{1e6, 3e6}},
		{Figure: "w: latency", Name: "longest", Unit: "ms", Each: 1, Most: true, Values: long},
		{Figure: "w: latency", Name: "mean", Unit: "ms", Each: 1, Values: []float64{0.5, 0, 0, 0.5}},
	}
	html := page(latency)
	for want, n := range map[string]int{"<figure": 2, "median 2 MB/s": 1, "median 2 ms": 1, "median 0.5 ms": 1, "mean, a value for every 1 s: from 0.5 to 0.5 ms": 1, "class=\"line s2\"": 2, "longest, a value for every 1 s: from 2 to 900 ms": 1} {
		if got := strings.Count(html, want); got != n {
			t.Errorf("%q %d times, want %d", want, got, n)
		}
	}
	points := coursePoints(latency[1], 1)
	if len(points) > maxPoints || top(points) != 900 {
		t.Errorf("%d points up to %v", len(points), top(points))
	}
	var hosts []model.LoadSeries
	for i := range 40 {
		hosts = append(hosts, model.LoadSeries{Figure: "w: each host", Name: fmt.Sprintf("host%d", i), Unit: "B/s", Each: 1, Values: []float64{1, 2}})
	}
	if html = page(hosts[:4]); strings.Count(html, "<svg") != 1 || !strings.Contains(html, "class=\"line s4\"") {
		t.Error("four hosts are not lines of one drawing")
	}
	if html = page(hosts); strings.Count(html, "<svg") != mostFrames || !strings.Contains(html, "The first 32 of 40") || !strings.Contains(html, "host31: median") {
		t.Errorf("forty hosts: %d drawings", strings.Count(html, "<svg"))
	}
}

// loadRun is a load of several hosts with long names that goes over a cliff.
func loadRun() *model.Results {
	fall, wait := make([]float64, 40), make([]float64, 40)
	for i := range fall {
		if fall[i], wait[i] = 900e6+float64(i)*1e6, 3; i >= 15 {
			fall[i], wait[i] = 120e6, 15000+float64(i)
		}
	}
	l := &model.Load{Line: "by hand on /run/linerate/lab-15823-391140-09194c47/server1/disk-pool/f: 900 MiB/s, after 12.6 GiB 114 MiB/s",
		Text: strings.Repeat("a line of the text that the command printed, which is a good deal wider than a telephone\n", 3)}
	l.Series = append(l.Series, model.LoadSeries{Name: "by hand", Unit: "B/s", Each: 1, Values: fall, Change: &model.LoadChange{At: 15, Before: 900e6, Behind: 120e6}},
		model.LoadSeries{Figure: "by hand: latency", Name: "longest", Unit: "ms", Each: 1, Most: true, Values: wait},
		model.LoadSeries{Figure: "by hand: latency", Name: "mean", Unit: "ms", Each: 1, Values: wait})
	for i := range 12 {
		l.Series = append(l.Series, model.LoadSeries{Figure: "by hand: each host", Name: fmt.Sprintf("root@filer%d.storage.example", i), Unit: "B/s", Each: 1, Values: fall})
	}
	for i := range 3 {
		l.Series = append(l.Series, model.LoadSeries{Figure: "by hand: longest latency on each host", Name: fmt.Sprintf("lab:office/client%d", i), Unit: "ms", Each: 1, Most: true, Values: wait})
	}
	return &model.Results{Command: "load block /run/linerate/lab-15823-391140-09194c47/server1/disk-pool/f", Build: "test", Load: l}
}

// Where a load goes over to another level, as when a write cache is full, the chart is marked, and
// the words have both levels and no mean.
func TestLoadMarksTheCliff(t *testing.T) {
	values := make([]float64, 40)
	for i := range values {
		if values[i] = 900e6; i >= 15 {
			values[i] = 120e6
		}
	}
	for name, c := range map[string]struct {
		change *model.LoadChange
		want   []string
	}{
		"a cliff":  {&model.LoadChange{At: 15, Before: 900e6, Behind: 120e6}, []string{">cliff at 15 s<", "900 MB/s, then 120 MB/s from 15 s on", "class=\"mark\""}},
		"a rise":   {&model.LoadChange{At: 30, Before: 100e6, Behind: 200e6}, []string{">rise at 30 s<", "text-anchor=\"end\""}},
		"no cliff": {nil, nil},
	} {
		var html strings.Builder
		r := &model.Results{Load: &model.Load{Line: "l", Series: []model.LoadSeries{{Name: "by hand", Unit: "B/s", Each: 1, Values: values, Change: c.change}}}}
		if err := HTML(&html, r, nil, nil); err != nil {
			t.Fatal(err)
		}
		page := html.String()
		for _, want := range c.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page has no %q", name, want)
			}
		}
		if median := strings.Contains(page, "median"); median != (c.change == nil) || c.change == nil && strings.Contains(page, "class=\"mark\"") {
			t.Errorf("%s: a median is said: %v", name, median)
		}
	}
}
