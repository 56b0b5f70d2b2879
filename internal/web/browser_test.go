package web

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/store/history"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// picture of the page for README; empty: none is written.
var (
	pictureFile = flag.String("picture", "", "write a picture of the page to this file")
	pictureOf   = flag.String("picture-of", "http://127.0.0.1:8470/", "the page that it is of")
)

// page is a tab of a browser, with what its console said.
type page struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string
}

// TestBrowser has one browser for all that is seen in it, each in a tab of its own.
func TestBrowser(t *testing.T) {
	browser := browse(t)
	for name, look := range map[string]func(*testing.T, *page){"page": pageLives, "restart": pageOutlivesTheServer, "tabs": tabsShareAStream, "hundred": pageOfHosts(100), "thousand": pageOfHosts(1000),
		"names": pageOfHostileNames, "access": pageIsForThoseWhoMaySeeIt, "change": pageChangesHosts, "zoom": pageZoomsToSamples, "colours": pageColoursWhatIsSlow, "print": pagePrints, "ladder": pageHasALadder, "figures": pageHasFigures} {
		t.Run(name, func(t *testing.T) {
			ctx, end := chromedp.NewContext(browser)
			defer end()
			look(t, newPage(t, ctx))
		})
	}
}

// browse starts a browser.
func browse(t *testing.T) context.Context {
	t.Helper()
	labtest.Long(t)
	labtest.Needs(t, "chromium", "dejavu")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.Flag("ignore-certificate-errors", true))
	alloc, endAlloc := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		end()
		endAlloc()
	})
	if err := chromedp.Do(ctx); err != nil { // the first call's context is the browser's life
		t.Fatal(err)
	}
	return ctx
}

// newPage opens a tab and hears its console.
func newPage(t *testing.T, ctx context.Context) *page {
	p := &page{t: t, ctx: ctx}
	console := chromedp.Console(ctx)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.said = append(p.said, m.String())
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v; the console said %v", err, p.said)
	}
}

// until waits until an expression of JavaScript is true.
func (p *page) until(expr string) {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if p.value("Boolean("+expr+")") == "true" {
			return
		}
		if time.Since(began) > time.Minute {
			p.t.Fatalf("never: %s; the page has %s", expr, p.value("document.body.innerText"))
		}
	}
}

// value is what an expression of JavaScript gives, as text.
func (p *page) value(expr string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[string]("try { String("+expr+") } catch (e) { String(e) }"))
	if err != nil {
		p.t.Fatalf("%s: %v", expr, err)
	}
	return out
}

// quiet fails where the console said something.
func (p *page) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.said) > 0 {
		p.t.Errorf("the console said %q", p.said)
	}
	p.said = nil
}

// living shows pictures of n paths each 100 ms until the test ends; change alters them.
type living struct {
	mu     sync.Mutex
	change func(*watch.Picture)
	off    bool
}

func (l *living) set(off bool, change func(*watch.Picture)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off, l.change = off, change
}

func live(t *testing.T, v *View, n int) *living {
	l := &living{change: func(*watch.Picture) {}}
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
			l.mu.Lock()
			var all []watch.Picture
			for i := range n {
				p := picture(watch.Moving, model.PathLoss)
				p.At, p.Path, p.Events = time.Now(), fmt.Sprintf("client%d – nas", i), nil
				p.Shown.Where = model.AtPath
				p.Hosts[0].Name, p.Hosts[0].Cores = fmt.Sprintf("client%d", i), []watch.Core{{User: 0.5}}
				l.change(&p)
				all = append(all, p)
			}
			if !l.off {
				if err := v.Show(all); err != nil {
					t.Error(err)
				}
			}
			l.mu.Unlock()
		}
	}()
	return l
}

const isLive = `document.getElementById("link").textContent === "live"`

func pageLives(t *testing.T, p *page) {
	v, s := serve(t)
	l := live(t, v, 1)
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.URL))
	p.until(isLive + ` && document.querySelectorAll(".chart .band-net").length > 0`)
	if got := p.value(`document.querySelector(".state").textContent`); !strings.Contains(got, "▲ path-loss at path") {
		t.Error(got)
	}
	if got := p.value(`document.querySelector(".way .here").textContent`); !strings.HasPrefix(got, "path") || !strings.HasSuffix(got, "▲ path-loss") {
		t.Error(got)
	}

	// A fault comes: verdict, mark and band are others.
	l.set(false, func(q *watch.Picture) {
		q.Shown = watch.Named{State: watch.Moving, Limiter: model.ReceiverWindow, Where: model.AtReceiver}
		q.Hosts[0].Marks = []watch.Mark{{At: time.Now(), Kind: watch.MarkTuned, Host: "nas", What: "linux.sysctl.net.ipv4.tcp_rmem", From: "1", To: "2"}}
	})
	p.until(`document.querySelector(".state").textContent.includes("receiver-window") && document.querySelector(".chart .band-host") && document.querySelector(".chart .mark") && document.getElementById("marks").textContent.includes("tcp_rmem")`)

	// An agent is gone: its path is grey and says so.
	l.set(false, func(q *watch.Picture) {
		q.Shown, q.Why = watch.Named{State: watch.Stale}, "nas sent its last sample 4s ago"
	})
	p.until(`document.querySelector(".path.old .state") && document.querySelector(".path.old .line").textContent.includes("4s ago")`)

	// The program says nothing: the page says so, and goes on when it does again.
	l.set(true, func(*watch.Picture) {})
	p.until(`document.getElementById("link").textContent.startsWith("nothing heard for")`)
	l.set(false, func(*watch.Picture) {})
	p.until(isLive)
	p.until(`(document.querySelector(".goodput").getAttribute("d").match(/M/g) || []).length > 1`) // the gap is drawn

	// The keyboard alone reads the chart and zooms.
	p.do(chromedp.Focus(chromedp.CSS(".chart")), chromedp.KeyEvent(kb.ArrowLeft))
	p.until(`document.querySelector("#timeline [role=status]").textContent.includes("bit/s")`)
	p.do(chromedp.KeyEvent("-"))
	p.until(`document.querySelector("#timeline [aria-pressed=true]").textContent === "1 hour"`)

	// Dark, and 360 px wide without a bar to scroll the page by.
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.EmulateViewport(360, 700))
	p.until(`getComputedStyle(document.body).backgroundColor === "rgb(16, 21, 28)"`)
	p.until(`document.documentElement.scrollWidth <= 360`)
	p.until(`(() => { const t = [...document.querySelectorAll(".chart .time")].map((e) => e.getBoundingClientRect()); return t.length > 1 && t.every((r, i) => !i || t[i - 1].right + 4 < r.left); })()`)
	p.quiet()
}

// Seven tabs are live at once, one path open in each, on one stream, though a browser opens six
// connections to a host.
func tabsShareAStream(t *testing.T, p *page) {
	v, s := serve(t)
	live(t, v, 7)
	tabs := []*page{p}
	for range 6 {
		ctx, end := chromedp.NewContext(p.ctx)
		defer end()
		tabs = append(tabs, newPage(t, ctx))
	}
	for i, tab := range tabs {
		tab.do(chromedp.Navigate(fmt.Sprintf("%s/#path=client%d%%20%%E2%%80%%93%%20nas", s.URL, i)))
	}
	for i, tab := range tabs {
		tab.until(isLive + fmt.Sprintf(` && document.querySelector(".path h3").textContent === "client%d – nas" && document.querySelector(".chart svg")`, i))
		tab.quiet()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.pages) != 1 {
		t.Errorf("%d streams for seven tabs", len(v.pages))
	}
}

// A server that is started again is found by the page.
func pageOutlivesTheServer(t *testing.T, p *page) {
	start := func(at string) (*View, *httptest.Server, string) {
		v := NewView("x", "linerate test")
		h, err := v.Handler(Access{})
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(h)
		s.Listener.Close()
		s.Listener = ln
		s.Start()
		return v, s, ln.Addr().String()
	}
	v, s, at := start("127.0.0.1:0")
	l := live(t, v, 1)
	p.do(chromedp.Navigate(s.URL))
	p.until(isLive)
	p.until(`document.querySelector(".goodput").getAttribute("d").length > 20`)
	l.set(true, func(*watch.Picture) {}) // it records no more
	s.CloseClientConnections()
	s.Close()
	p.until(`document.getElementById("link").className === "lost"`)
	v.mu.Lock()
	before := remembered(v.recent)
	v.mu.Unlock()
	v, s, _ = start(at)
	v.Keep(before)
	defer s.Close()
	defer s.CloseClientConnections()
	live(t, v, 1)
	p.until(isLive)
	// What was before is there still, then a gap, and no moment is drawn twice.
	p.until(`(document.querySelector(".goodput").getAttribute("d").match(/M/g) || []).length > 1`)
	if got := p.value(`(() => { const x = [...document.querySelector(".goodput").getAttribute("d").matchAll(/[ML]([0-9.]+) /g)].map((m) => Number(m[1])); return x.length > 3 && x.every((v, i) => !i || v >= x[i - 1] - 0.05); })()`); got != "true" {
		t.Errorf("drawn twice: %s", p.value(`document.querySelector(".goodput").getAttribute("d")`))
	}
}

// remembered is a Past of the records that an earlier server made.
type remembered []past.Record

func (r remembered) Between(from, to time.Time, _ time.Duration) (out history.Read, err error) {
	for _, x := range r {
		if !x.At.Before(from) && x.At.Before(to) {
			out.Records = append(out.Records, x)
		}
	}
	return out, nil
}

func (remembered) Runs(time.Time, time.Time) ([]watch.Mark, error) { return nil, nil }

func (remembered) Kept() string { return "kept" }

// Of a thousand paths each is a tile, and one is open: the first, or that which the address or a
// click names.
func pageOfHosts(n int) func(*testing.T, *page) {
	return func(t *testing.T, p *page) {
		v, s := serve(t)
		l := live(t, v, n)
		p.do(chromedp.Navigate(s.URL))
		p.until(isLive + fmt.Sprintf(` && document.querySelectorAll(".tile").length === %d`, n))
		const open = `document.querySelector(".path h3").textContent`
		p.until(open + ` === "client0 – nas" && document.querySelectorAll("#hosts h3").length === 2`)
		p.do(chromedp.Click(chromedp.CSS(".tile:nth-child(3)")))
		p.until(open + ` === "client2 – nas" && document.querySelector(".tile[aria-pressed=true] b").textContent === "client2 – nas"`)
		link := p.value(`location.href`)
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
		p.until(isLive + ` && ` + open + ` === "client2 – nas"`)
		l.set(false, func(q *watch.Picture) {
			if q.Path == "client7 – nas" {
				q.Shown = watch.Named{State: watch.Lost}
			}
		})
		p.until(`document.querySelector("#kinds button:last-child").textContent === "1 stale or lost"`)
		p.do(chromedp.Click(chromedp.CSS("#kinds button:last-child")))
		p.until(`[...document.querySelectorAll(".tile:not([hidden]) b")].map((e) => e.textContent).join() === "client7 – nas"`)
		p.quiet()
	}
}

// What hosts are called is text, however long and in whatever direction.
func pageOfHostileNames(t *testing.T, p *page) {
	v, s := serve(t)
	for _, name := range []string{`<script>document.title="owned"</script><b id=owned>`, strings.Repeat("long", 75), "\u202eemanesrever"} {
		live(t, v, 1).set(false, func(q *watch.Picture) {
			q.Path, q.Hosts[0].Name, q.Hosts[1].Name = name, name, name
			q.Hosts[0].Marks = []watch.Mark{{At: time.Now(), Kind: watch.MarkHost, Host: name, What: name, From: name, To: name}}
		})
		p.do(chromedp.EmulateViewport(360, 700), chromedp.Navigate(s.URL))
		p.until(isLive + fmt.Sprintf(` && [...document.querySelectorAll(".path h3")].some((e) => e.textContent === %q)`, name))
		if got := p.value(`document.title + document.getElementById("owned")`); strings.Contains(got, "owned –") || !strings.HasSuffix(got, "null") {
			t.Errorf("%q: %s", name, got)
		}
		if got := p.value(`document.documentElement.scrollWidth`); got != "360" {
			t.Errorf("%q is %s px wide", name[:8], got)
		}
	}
	p.quiet()
}

// Under a name that DNS bent to it the browser gets nothing; with the token in the fragment it
// gets in, and the address no longer has it.
func pageIsForThoseWhoMaySeeIt(t *testing.T, p *page) {
	_, s := serve(t)
	p.do(chromedp.Navigate(strings.Replace(s.URL, "127.0.0.1", "evil.example", 1)))
	if got := p.value(`document.body.textContent`); !strings.Contains(got, "by its own name") {
		t.Error(got)
	}
	access, err := secured(t, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := NewView("x", "linerate test")
	live(t, v, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Serve(ctx, ln, access) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	url := access.URL(ln.Addr())
	p.do(chromedp.Navigate(url))
	p.until(`document.getElementById("token") !== null`)
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"#token="+token))
	p.until(`document.getElementById("link") && ` + isLive)
	if got := p.value(`location.href`); got != url {
		t.Error(got)
	}
	if got := p.value(`document.cookie`); got != "" {
		t.Errorf("a script reads the cookie: %s", got)
	}
}

// TestPictureOfThePage takes the picture for the documents: of a page that linerate serve shows, with
// the evidence opened.
func TestPictureOfThePage(t *testing.T) {
	if *pictureFile == "" {
		return // nobody asked for one
	}
	p := newPage(t, browse(t))
	p.do(chromedp.EmulateViewport(1000, 1400), chromedp.Navigate(*pictureOf))
	p.until(isLive + ` && document.querySelectorAll(".chart .mark").length > 0 && document.querySelector(".path details")`)
	p.value(`document.querySelector(".path summary").click()`)
	p.until(`document.querySelector(".path details").open`)
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*pictureFile, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
