package web

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"linerate/internal/watch"
)

// What is drawn is also there in figures, for the keyboard too, and of what is not known no bar is
// drawn as if it were nothing.
func pageHasFigures(t *testing.T, p *page) {
	v, s := serve(t)
	l := live(t, v, 2)
	cores := func(q *watch.Picture) {
		q.Hosts[0].Cores = []watch.Core{{CPU: 0, User: 0.1}, {CPU: 1, User: 0.2, SoftIRQ: 0.6}}
	}
	l.set(false, cores)
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.URL))
	p.until(isLive + ` && document.getElementById("hosts").textContent.includes("busiest is core 1: user 20%, system 0%, softirq 60%, steal 0%")`)
	if got := p.value(`document.querySelector(".path .bar").hidden + getComputedStyle(document.querySelector(".tile .bar")).visibility`); got != "falsevisible" {
		t.Errorf("of a known ceiling: %s", got)
	}

	p.value(`document.querySelector("#hosts summary").focus()`) // in one step: each picture makes another of it
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(`document.querySelectorAll("#hosts details tbody tr").length === 2`)
	p.value(`window.was = document.querySelector("#hosts summary")`)
	p.until(`document.querySelector("#hosts summary") !== window.was`)
	if got := p.value(`document.activeElement === document.querySelector("#hosts summary") && document.querySelector("#hosts details tbody").innerText`); !strings.Contains(got, "60%") {
		t.Errorf("after the next picture: %q", got)
	}

	l.set(false, func(q *watch.Picture) {
		cores(q)
		q.Ceiling = nil
	})
	p.until(`document.querySelector(".path .bar").hidden && document.querySelector(".path .numbers").textContent.includes("--line-rate") && getComputedStyle(document.querySelector(".tile .bar")).visibility === "hidden"`)

	// A connection between two hosts is there with both of its ends, and is one; of very many some are not told.
	from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddrPort("10.0.0.2:5201")
	for untold, want := range map[int]string{0: "and 10 more", 900: "and 910 more"} {
		l.set(false, func(q *watch.Picture) {
			var far []watch.Conn
			q.Conns, q.Unlisted = nil, untold
			for i := range 60 {
				local := netip.AddrPortFrom(from, uint16(40000+i))
				q.Conns, far = append(q.Conns, watch.Conn{Local: local, Remote: to}), append(far, watch.Conn{Local: to, Remote: local})
			}
			q.Conns = append(q.Conns, far...)
		})
		p.until(`document.querySelectorAll("#conns tbody tr").length === 50 && document.querySelector("#conns").innerText.includes(" more")`)
		p.until(fmt.Sprintf(`document.querySelector("#conns p").innerText === %q`, want))
	}

	// Where connections are not listed it is not said that there are none.
	for state, want := range map[watch.State]string{watch.Unused: "none", watch.Idle: "none that moves data", watch.Stale: "not known"} {
		l.set(false, func(q *watch.Picture) { q.Shown, q.Conns = watch.Named{State: state}, []watch.Conn{} })
		p.until(fmt.Sprintf(`document.querySelector("#conns p")?.innerText === %q`, want))
	}

	// What has just begun to be watched is neither stale nor lost.
	l.set(false, func(q *watch.Picture) { q.Shown = watch.Named{State: watch.Starting} })
	p.until(`document.querySelector(".chart .band-idle title") && [...document.querySelectorAll(".chart .band-idle title")].some((e) => e.textContent.includes("starting"))`)
	if got := p.value(`document.querySelectorAll(".chart .band-gone").length`); got != "0" {
		t.Errorf("%s bands of what is gone", got)
	}
	p.quiet()
}
