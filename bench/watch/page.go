package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"linerate/bench/kit"
	"linerate/internal/stat"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/web"
)

// parts are what a browser loads of the page.
var parts = []string{"", "live.js", "worker.js", "timeline.js", "live.css"}

// page prints what the page weighs, how soon a browser paints it, and how long a picture takes from its
// making to the screen.
func page(ctx context.Context, long time.Duration) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)
	alloc, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	kit.Head(os.Stdout, "hosts", "page", "first paint", "picture to screen, median", "99%", "pictures", "CPU of the page for a picture")
	for _, hosts := range []int{10, 100, 1000} {
		if err := pageOf(alloc, hosts, long); err != nil {
			return fmt.Errorf("%d hosts: %w", hosts, err)
		}
	}
	return nil
}

// stamped is a script that notes for each picture how old it is when it is on the screen: its line
// has its time, and the second frame after a change comes when the first has been painted.
const stamped = `window.ages = []; window.lastLine = "";
new MutationObserver(() => {
  const line = document.querySelector("#path .line").textContent;
  if (line === window.lastLine) return;
  window.lastLine = line;
  requestAnimationFrame(() => requestAnimationFrame(() => window.ages.push(Date.now() - Number(line))));
}).observe(document.getElementById("path"), { childList: true }); 1`

func pageOf(alloc context.Context, hosts int, long time.Duration) error {
	view := web.NewView("bench", "bench")
	h, err := view.Handler(web.Access{})
	if err != nil {
		return err
	}
	s := httptest.NewServer(h)
	defer s.Close()
	defer s.CloseClientConnections()
	weight, err := weigh(s.URL)
	if err != nil {
		return err
	}
	ctx, end := chromedp.NewContext(alloc)
	defer end()
	rng := rand.New(rand.NewPCG(1, 1))
	show := func() error {
		all := make([]watch.Picture, hosts)
		for i := range all {
			all[i] = picture(rng, i, time.Now())
			all[i].Why = fmt.Sprint(time.Now().UnixMilli())
		}
		return view.Show(all)
	}
	if err := show(); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(s.URL)); err != nil {
		return err
	}
	if err := rest(ctx, 2*time.Second); err != nil {
		return err
	}
	paint, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	if err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[float64](stamped)); err != nil {
		return err
	}
	before, err := busy(ctx)
	if err != nil {
		return err
	}
	shown := 0
	for until := time.Now().Add(long); time.Now().Before(until); {
		if err := show(); err != nil {
			return err
		}
		if err := rest(ctx, time.Second); err != nil {
			return err
		}
		shown++
	}
	after, err := busy(ctx)
	if err != nil {
		return err
	}
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`JSON.stringify(window.ages)`))
	if err != nil {
		return err
	}
	var ages []float64
	if err := json.Unmarshal([]byte(text), &ages); err != nil || len(ages) == 0 {
		return cmp.Or(err, fmt.Errorf("no picture came to the screen"))
	}
	slices.Sort(ages)
	at := func(q float64) float64 { return stat.NearestRank(ages, q) }
	fmt.Printf("| %d | %v | %.0f ms | %.0f ms | %.0f ms | %d | %v |\n", hosts, weight, paint, at(0.5), at(0.99), len(ages), ((after - before) / time.Duration(shown)).Round(100*time.Microsecond))
	return nil
}

// busy is the CPU time of the page's main thread so far: scripts, styles, layout and paint. Unlike
// what is seen on the screen it does not depend on who else wants the cores.
func busy(ctx context.Context) (time.Duration, error) {
	r, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second)), nil
		}
	}
	return 0, errors.New("the browser does not tell how long the page was busy")
}

// weigh is what all parts of the page weigh, without its stream.
func weigh(url string) (sum unit.Bytes, err error) {
	for _, p := range parts {
		resp, err := http.Get(url + "/" + p)
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // it was read
		if err != nil || resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("get %s: %s: %w", strings.TrimSpace("/"+p), resp.Status, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		sum += unit.Bytes(n)
	}
	return sum, nil
}
