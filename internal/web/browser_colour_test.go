package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// A path that its application, or nobody, asks more of is not red, however little it carries; what
// cannot be told is a state with a word, a tile and a band of its own, and no gap.
func pageColoursWhatIsSlow(t *testing.T, p *page) {
	v, s := serve(t)
	l := live(t, v, 2)
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.URL))
	const red = "rgb(184, 50, 50)" // --little
	box := func(css string) string {
		return `getComputedStyle(document.querySelector("` + css + `")).borderTopColor`
	}
	p.until(isLive + ` && document.querySelector(".path.little .way .here")`)
	for _, css := range []string{".path", ".way .here"} {
		if got := p.value(box(css)); got != red {
			t.Errorf("%s of a path that loses is %s, want %s", css, got, red)
		}
	}
	for _, c := range []struct {
		shown watch.Named
		words string
	}{
		{watch.Named{State: watch.Moving, Limiter: model.ApplicationSource, Where: model.AtSender}, "application-source"},
		{watch.Named{State: watch.Moving, Limiter: model.ApplicationSink, Where: model.AtReceiver}, "application-sink"},
		{watch.Named{State: watch.Idle}, "– idle"},
		{watch.Named{State: watch.CannotTell}, "? cannot tell"},
	} {
		l.set(false, func(q *watch.Picture) { q.Shown, q.Goodput = c.shown, 1e6 })
		p.until(`document.querySelector(".state").textContent.includes("` + c.words + `") && document.querySelector(".tile .what").textContent.includes("` + c.words + `")`)
		for _, css := range []string{".path", ".tile", ".tile .bar span", ".path .bar span", ".way .here", ".way .here span"} {
			seen := p.value(`(() => { const e = document.querySelector("` + css + `"); if (!e) return ""; const s = getComputedStyle(e); return [s.borderTopColor, s.backgroundColor, s.color].join(";"); })()`)
			if strings.Contains(seen, red) {
				t.Errorf("%s: %s has the colour of a slow path: %s", c.words, css, seen)
			}
		}
	}
	p.until(`document.querySelector(".chart .band-cannot")`)
	p.quiet()
}

// On paper are the path, its chart and its tables; what only a mouse can use is not.
func pagePrints(t *testing.T, p *page) {
	v, s := serve(t)
	live(t, v, 1)
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.URL))
	p.until(isLive + ` && document.querySelectorAll(".chart .band-net").length > 0`)
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); n < 1 || n > 4 {
		t.Errorf("%d pages of paper for one path", n)
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	p.until(`getComputedStyle(document.querySelector(".zoom")).display === "none" && document.querySelector(".chart svg").getBoundingClientRect().height > 100 && document.querySelector(".path .state").getBoundingClientRect().height > 10`)
	p.quiet()
}
