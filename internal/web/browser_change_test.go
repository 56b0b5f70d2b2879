package web

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pageChangesHosts goes from settings to a plan, applies it, sees it counted down on both pages,
// confirms and undoes it; what hosts say is text all along.
func pageChangesHosts(t *testing.T, p *page) {
	c := &changing{}
	v := NewView("x", "linerate test")
	v.AllowChange(c, token)
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	defer s.CloseClientConnections()
	live(t, v, 1)

	// Who has no token is asked for it; with it in the fragment the address loses it.
	p.do(chromedp.EmulateViewport(360, 700), chromedp.Navigate(s.URL+"/change"))
	p.until(`!document.getElementById("door").hidden && document.getElementById("said").textContent.includes("need the token")`)
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.URL+"/change#token="+token))
	p.until(`document.getElementById("host").options.length === 2 && document.getElementById("door").hidden`)
	if got := p.value(`location.href + document.cookie`); got != s.URL+"/change" {
		t.Error(got)
	}
	p.until(`document.getElementById("journal").textContent.includes("me <b>")`)

	if got := p.value(`document.getElementById("via").disabled`); got != "true" {
		t.Error("an address of no host can be given")
	}
	p.value(`(document.getElementById("to").selectedIndex = 1, document.getElementById("to").onchange(), document.getElementById("via").value = " 10.0.0.2 ")`)
	p.do(chromedp.Click(chromedp.CSS("#see")))
	p.until(`document.querySelector("#doc table") && document.getElementById("doc").textContent.includes("recommended")`)
	p.do(chromedp.Click(chromedp.CSS("#persist")))
	p.do(chromedp.Focus(chromedp.CSS("#make")), chromedp.KeyEvent(kb.Enter)) // by the keyboard
	p.until(`document.getElementById("apply") && document.getElementById("doc").textContent.includes("1 change")`)
	p.until(`document.querySelector(".files pre").textContent.startsWith("net.a = 2 ") && document.querySelector(".files").textContent.includes("no file for linux.link.b")`)
	if got := p.value(`document.documentElement.scrollWidth`); got != "360" {
		t.Errorf("%s px wide", got)
	}
	p.do(chromedp.Click(chromedp.CSS("#apply")))
	p.until(`/^0:5\d$/.test(document.querySelector(".left").textContent)`)
	first := p.value(`document.querySelector(".left").textContent`)
	p.until(`document.querySelector(".left").textContent < "` + first + `"`)

	// The live page says it too, and leads back.
	p.do(chromedp.Navigate(s.URL + "/"))
	p.until(isLive + ` && !document.getElementById("waits").hidden && /undone in 0:\d\d change hosts$/.test(document.getElementById("waits").textContent)`)
	if got := p.value(`document.querySelector("#waits a").href`); got != s.URL+"/change" {
		t.Error(got)
	}
	p.do(chromedp.Navigate(s.URL + "/change"))
	p.until(`document.querySelector("#pending button")`)
	if got := p.value(`document.querySelector("#pending button").textContent`); got != "Confirm, and write the files" {
		t.Error(got)
	}
	p.do(chromedp.Click(chromedp.CSS("#pending button")))
	p.until(`document.getElementById("said").textContent.includes("written: /etc/sysctl.d/99-linerate.conf, no file for linux.link.b") && document.getElementById("said").textContent.startsWith("confirmed: 1 change in force") && document.getElementById("pending").textContent === "nothing"`)
	p.do(chromedp.Click(chromedp.CSS("#undo")))
	p.until(`document.getElementById("said").textContent.startsWith("undone: 1 change")`)
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := slices.DeleteFunc(slices.Clone(c.asked), func(s string) bool { return s == "choices" })
	for i, want := range []string{"panel ", "plan ", "with files", "apply sum 1m0s 127.0.0.1", "confirm tune-1", "undo "} {
		if i >= len(asked) || !strings.HasPrefix(asked[i], want) {
			t.Fatalf("%q", asked)
		}
	}
	if !strings.HasSuffix(asked[0], " at 10.0.0.2") {
		t.Errorf("%q", asked[0])
	}
	if got := p.value(`document.title + document.querySelectorAll("#doc b b, #journal b, #pending b b").length`); got != "Change hosts – linerate0" {
		t.Errorf("what a host said became markup: %s", got)
	}
	// The browser notes that refusal, and may do so later than the page shows it.
	p.mu.Lock()
	if i := slices.IndexFunc(p.said, func(s string) bool { return strings.Contains(s, "status of 401") }); i >= 0 {
		p.said = slices.Delete(p.said, i, i+1)
	}
	p.mu.Unlock()
	p.quiet()
}
