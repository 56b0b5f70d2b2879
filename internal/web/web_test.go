package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// hostile is a name that a host might have.
const hostile = "h</script><b>\u202e\"1\n"

func picture(state watch.State, limiter model.LimiterID) watch.Picture {
	ceiling := 1000 * unit.Mbit
	p := watch.Picture{V: 1, At: noon, Path: hostile, Shown: watch.Named{State: state, Limiter: limiter}, Since: noon, Goodput: 400 * unit.Mbit, Ceiling: &ceiling,
		Verdict: model.Verdict{Limiter: model.PathLoss, Confidence: 0.9}, Conns: []watch.Conn{},
		Hosts: []watch.Host{{Name: hostile, Heard: noon.Add(-time.Second), Cores: []watch.Core{}, NICs: []watch.NIC{}}, {Name: "b", Heard: noon, Cores: []watch.Core{}, NICs: []watch.NIC{}}}}
	p.Events = []watch.Event{{At: noon, Path: hostile, To: p.Shown, Line: "x"}}
	return p
}

// serve starts a server of a view.
func serve(t *testing.T) (*View, *httptest.Server) {
	t.Helper()
	v := NewView(hostile, "linerate test")
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return v, s
}

func get(t *testing.T, url string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return resp, b.String()
}

// Who is sent here under another name, or by a page of another origin, gets nothing; and nothing
// can be changed.
func TestOthersAreRefused(t *testing.T) {
	v, s := serve(t)
	if err := v.Show([]watch.Picture{picture(watch.Moving, model.PathLoss)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		change     func(*http.Request)
		want       int
	}{
		{"its own page", "/pictures", nil, 200},
		{"by its name", "/", func(r *http.Request) { r.Host = "localhost:8470" }, 200},
		{"by IPv6", "/", func(r *http.Request) { r.Host = "[::1]:8470" }, 200},
		{"a name that DNS bent to us", "/pictures", func(r *http.Request) { r.Host = "evil.example:8470" }, 421},
		{"an address of this network", "/", func(r *http.Request) { r.Host = "192.0.2.1" }, 421},
		{"localhost as a part of a name", "/", func(r *http.Request) { r.Host = "localhost.evil.example" }, 421},
		{"no name", "/", func(r *http.Request) { r.Host = "[" }, 421},
		{"a page of another origin", "/pictures", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a change", "/pictures", func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"a file that is none of the page's", "/../web.go", nil, 404},
	} {
		resp, body := get(t, s.URL+c.path, c.change)
		if resp.StatusCode != c.want || c.want != 200 && strings.Contains(body, "path-loss") {
			t.Errorf("%s: %d %q, want %d", c.name, resp.StatusCode, body, c.want)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", c.name, resp.Header)
		}
	}
}

func TestHostsNamesAreText(t *testing.T) {
	_, s := serve(t)
	if _, body := get(t, s.URL+"/", nil); strings.Contains(body, "</script><b>") || !strings.Contains(body, "&lt;/script&gt;") {
		t.Error(body)
	}
}

// The page holds its parts alone, small enough for a slow line, and its script makes no markup.
func TestPageIsSmallAndMakesNoMarkup(t *testing.T) {
	_, s := serve(t)
	total := 0
	for _, path := range []string{"/", "/live.js", "/timeline.js", "/live.css", "/change.js"} {
		_, body := get(t, s.URL+path, nil)
		total += len(body)
		for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://", "style=", "onclick="} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
	if total > 200_000 {
		t.Errorf("the page weighs %d bytes", total)
	}
}

// A page that is opened late gets the newest picture and the changes before it; one that is slow
// misses pictures, and no change.
func TestStream(t *testing.T) {
	v, s := serve(t)
	show := func(state watch.State) {
		t.Helper()
		if err := v.Show([]watch.Picture{picture(state, "")}); err != nil {
			t.Fatal(err)
		}
	}
	show(watch.Idle)
	show(watch.CannotTell)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	next := func() (m event) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				if err := json.Unmarshal([]byte(text), &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
		}
	}
	m := next()
	if len(m.Events) != 2 || !m.Again || len(m.Rows) != 1 || m.Rows[0].Path != hostile || len(m.Chosen) != 1 || m.Chosen[0].Shown.State != watch.CannotTell {
		t.Errorf("%+v", m)
	}
	for range 100 {
		show(watch.Idle)
	}
	for seen := 2; seen < 102; {
		if m = next(); m.V != 1 || m.Chosen[0].Path != hostile {
			t.Fatalf("%+v", m)
		}
		if m.Again {
			seen = 0
		}
		seen += len(m.Events)
	}
}

// What pages have open is known: a path by its name, else the first, and none once they are closed.
func TestLookedIsWhatPagesHaveOpen(t *testing.T) {
	v := NewView("x", "linerate test")
	a, b := picture(watch.Idle, ""), picture(watch.Idle, "")
	a.Path, b.Path = "a", "b"
	if err := v.Show([]watch.Picture{a, b}); err != nil {
		t.Fatal(err)
	}
	if got := v.Looked(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	_, endOne, _ := v.open([]string{"b"})
	_, endTwo, _ := v.open([]string{"gone"})
	if got := v.Looked(); len(got) != 2 || !got["a"] || !got["b"] {
		t.Errorf("%v", got)
	}
	endOne()
	endTwo()
	if got := v.Looked(); len(got) != 0 {
		t.Errorf("after they were closed: %v", got)
	}
}

// A page gets the rows that changed since the message that it took last, and all of them where other
// paths stand at their places: what it has then is what is shown.
func TestRowsAreWhatChanged(t *testing.T) {
	v := NewView("x", "linerate test")
	rng := rand.New(rand.NewPCG(1, 1))
	p, end, _ := v.open(nil)
	defer end()
	var has []row
	take := func() event {
		t.Helper()
		var e event
		if err := json.Unmarshal(<-p.out, &e); err != nil {
			t.Fatal(err)
		}
		if e.Full {
			has = nil
		}
		for _, r := range e.Rows {
			if e.Full {
				has = append(has, r)
				continue
			}
			r.Path = has[r.I].Path
			has[r.I] = r
		}
		return e
	}
	take()
	n, diffs := 50, 0
	for i := range 300 {
		if i%100 == 99 {
			n++ // another path comes
		}
		var all []watch.Picture
		for k := range n {
			q := picture(watch.Moving, model.PathLoss)
			q.Path, q.Events, q.Goodput = fmt.Sprint(k), nil, 941*unit.Mbit+unit.BitRate(k)
			if rng.IntN(10) == 0 {
				q.Goodput = unit.BitRate(rng.Float64() * 1e9)
			}
			all = append(all, q)
		}
		if err := v.Show(all); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			continue // it is slow
		}
		if e := take(); !e.Full {
			diffs++
			if len(e.Rows) > n*3/4 {
				t.Errorf("%d of %d rows", len(e.Rows), n)
			}
		}
		for k, q := range all {
			if r := has[k]; len(has) != n || r.Path != q.Path || math.Abs(float64(r.Goodput-q.Goodput)) > 0.005*float64(q.Goodput) {
				t.Fatalf("row %d of %d is %+v, not %+v", k, len(has), r, q)
			}
		}
	}
	if diffs < 100 {
		t.Errorf("%d messages of what changed", diffs)
	}
}

// A server ends with its context, also while a page is open.
func TestServeEnds(t *testing.T) {
	v := NewView("x", "linerate test")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Serve(ctx, ln, Access{}) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

func TestTooManyPagesAreRefused(t *testing.T) {
	v, s := serve(t)
	for range mostStreams {
		if _, _, ok := v.open(nil); !ok {
			t.Fatal("refused early")
		}
	}
	if resp, _ := get(t, s.URL+"/events", nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestMetrics(t *testing.T) {
	v, s := serve(t)
	if err := v.Show([]watch.Picture{picture(watch.Moving, model.PathLoss)}); err != nil {
		t.Fatal(err)
	}
	const name = `h</script><b>` + "\u202e" + `\"1\n`
	_, body := get(t, s.URL+"/metrics", nil)
	for _, want := range []string{
		`linerate_path_goodput_bytes_per_second{path="` + name + `"} 5e+07`,
		`linerate_path_ceiling_bytes_per_second{path="` + name + `"} 1.25e+08`,
		`linerate_path_limiter{limiter="path-loss",path="` + name + `"} 1`,
		`linerate_path_limiter{limiter="none",path="` + name + `"} 0`,
		`linerate_path_state{path="` + name + `",state="moving"} 1`,
		`linerate_path_verdict_confidence_ratio{path="` + name + `"} 0.9`,
		`linerate_path_verdict_changes_total{path="` + name + `"} 1`,
		`linerate_path_observed_timestamp_seconds{path="` + name + `"} 1.795521599e+09`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	// What is old is not given as if it were new.
	if err := v.Show([]watch.Picture{picture(watch.Lost, "")}); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, s.URL+"/metrics", nil); strings.Contains(body, "goodput") || !strings.Contains(body, "changes_total{path=\""+name+"\"} 2") {
		t.Error(body)
	}
}

// The rules of Prometheus' own tool (promtool check metrics) find nothing wrong with names, types
// and helps.
func TestMetricsPleasePromtool(t *testing.T) {
	v, s := serve(t)
	if err := v.Show([]watch.Picture{picture(watch.Moving, model.PathLoss)}); err != nil {
		t.Fatal(err)
	}
	_, body := get(t, s.URL+"/metrics", nil)
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v: %v", err, problems)
	}
}
