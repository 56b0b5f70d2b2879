package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageHasALadder shows beneath a path what a kept run measured of its rungs, with the run's date and
// its report; what was not measured says what would.
func pageHasALadder(t *testing.T, p *page) {
	v := NewView("x", "linerate test")
	v.KeepRuns(someRuns{})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	defer s.CloseClientConnections()
	live(t, v, 1)
	p.do(chromedp.EmulateViewport(360, 900), chromedp.Navigate(s.URL))
	p.until(isLive + ` && document.querySelectorAll("#ladder tbody tr").length === 1`)
	if got := p.value(`document.getElementById("ladder").innerText`); !strings.Contains(got, "not measured; to see it: <i>") || !strings.Contains(got, "100%") || !strings.Contains(got, "1 Gbit/s") {
		t.Errorf("%q", got)
	}
	if got := p.value(`document.querySelector("#ladder p").textContent`); !strings.HasPrefix(got, "not live: measured ") || !strings.HasSuffix(got, "linerate explain <b>") {
		t.Errorf("%q", got)
	}
	if got := p.value(`document.querySelector("#ladder a").href`); got != s.URL+"/runs/20261125-1" {
		t.Error(got)
	}
	p.until(`document.documentElement.scrollWidth <= 360`)
	p.quiet()
}
