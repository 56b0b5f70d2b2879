package web

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// marked is a history of which a run is part.
type marked struct{ kept }

func (marked) Runs(from, to time.Time) ([]watch.Mark, error) {
	return []watch.Mark{{At: to.Add(-time.Minute), Kind: watch.MarkRun, What: "linerate explain", To: "20261125-1"}}, nil
}

// pageZoomsToSamples goes by the keyboard from a month down to ten minutes, then to the samples of a run
// and into them: the page has the samples' own numbers. What is live is what /metrics has.
func pageZoomsToSamples(t *testing.T, p *page) {
	v := NewView("x", "linerate test")
	v.KeepRuns(someRuns{})
	v.Keep(marked{kept{time.Now().Add(-time.Hour).Truncate(time.Hour)}})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	defer s.CloseClientConnections()
	for i := range 30 {
		q := picture(watch.Moving, model.PathLoss)
		q.At, q.Events = time.Now().Add(time.Duration(i-30)*time.Second), nil
		if err := v.Show([]watch.Picture{q}); err != nil {
			t.Fatal(err)
		}
	}
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.URL))
	p.until(`document.querySelectorAll("#timeline tbody tr").length >= 28`)
	_, metrics := get(t, s.URL+"/metrics", nil)
	m := regexp.MustCompile(`linerate_path_goodput_bytes_per_second\{[^\n]*\} (\S+)`).FindStringSubmatch(metrics)
	if m == nil {
		t.Fatal(metrics)
	}
	perSecond, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	const cell = `document.querySelector("#timeline tbody tr td:nth-child(2)").textContent`
	if got := p.value(cell); got != fmt.Sprintf("%g Mbit/s", perSecond*8/1e6) {
		t.Errorf("the page has %s, /metrics %g B/s", got, perSecond)
	}

	p.until(`(() => { const b = [...document.querySelectorAll("#timeline .zoom button")].find((e) => e.textContent === "1 month"); b.click(); return true; })()`)
	p.do(chromedp.Focus(chromedp.CSS(".chart")))
	for _, name := range []string{"1 week", "1 day", "6 hours", "1 hour", "10 min"} {
		p.do(chromedp.KeyEvent("+"))
		p.until(`document.querySelector("#timeline [aria-pressed=true]").textContent === "` + name + `"`)
	}
	p.until(`document.querySelector("#marks button")`)
	p.until(`(document.querySelector("#marks button").click(), true)`)
	p.until(`document.querySelector("#timeline > .small:last-child").textContent.includes("by its samples (250 ms)") && document.querySelectorAll("#timeline tbody tr").length === 200`)
	if got := p.value(`document.querySelector(".chart").getAttribute("aria-label")`); !strings.Contains(got, "run 20261125-1") || !strings.Contains(got, "300 values") {
		t.Error(got)
	}
	p.do(chromedp.KeyEvent("+"))
	p.until(`document.querySelector("#timeline [aria-pressed=true]").textContent === "10 s" && document.querySelectorAll("#timeline tbody tr").length === 100`)
	steps := runSamples().Steps
	for row, i := range map[int]int{1: 299, 40: 260, 100: 200} { // the newest stands first
		c := steps[i]
		want := strconv.FormatFloat(float64(c.Bytes)*8/c.Span.Seconds()/1e6, 'g', 3, 64) + " Mbit/s"
		if got := p.value(fmt.Sprintf(`document.querySelector("#timeline tbody tr:nth-child(%d) td:nth-child(2)").textContent`, row)); got != want {
			t.Errorf("row %d: %s, the sample has %s", row, got, want)
		}
	}
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	p.until(`document.querySelector("#timeline [role=status]").textContent.includes("104 Mbit/s, 10% of its ceiling")`)
	p.do(chromedp.KeyEvent("-"), chromedp.KeyEvent("-"))
	p.until(`document.querySelector("#timeline [aria-pressed=true]").textContent === "10 min" && !document.querySelector("#timeline > .small:last-child").textContent.includes("samples")`)
	p.quiet()
}
