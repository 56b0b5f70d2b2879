// Package web is the page of a live view, its event stream, its history and its metrics. It shows
// what package watch made, and judges nothing itself. It changes nothing on any host, but lets who
// has a token of its own ask a Changer to, where there is one. On the loopback whoever asks has to name it (a name that was bent to it by DNS does not); elsewhere it
// speaks TLS alone, to those who name the certificate's host and have the token; and no page of
// another origin gets to see an answer.
package web

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

//go:embed page.html.tmpl runs.html.tmpl enter.html enter.js change.html change.js live.js worker.js timeline.js ladder.js live.css
var files embed.FS

const (
	mostEvents = 200 // changes that a page which is opened late still gets
)

// View is what pages show now. Show may be called while pages are served.
type View struct {
	title string
	build string

	mu      sync.Mutex
	last    []watch.Picture
	grid    grid // of last
	events  []watch.Event
	changes map[string]float64 // by path, since the view began
	pages   map[*tab]bool
	waits   map[string]waits   // by path, since the view began
	counted map[ends]counters  // as of the last pictures
	dropped map[string]float64 // by host: series that were left out of answers to Prometheus
	second  past.Gather        // of records of a second, in which pages look for paths alone
	recent  []past.Record      // the last quarter of an hour of them
	late    []past.Record      // and what came late of it
	past    Past               // nil: none is kept
	runs    Runs               // nil: none are shown
	queues  bool               // have series of their own
	hint    string             // what to do where there is no path

	changer     Changer // nil: the page is read-only
	changeToken string
}

// NewView makes a view with a title; build is of the program.
func NewView(title, build string) *View {
	return &View{title: title, build: build, last: []watch.Picture{}, events: []watch.Event{}, changes: map[string]float64{}, pages: map[*tab]bool{},
		waits: map[string]waits{}, dropped: map[string]float64{}, second: past.Gather{Span: time.Second, PathsOnly: true}}
}

// message is the answer of /pictures.
type message struct {
	V        int             `json:"v"`
	Pictures []watch.Picture `json:"pictures"`
	Events   []watch.Event   `json:"events"`
	History  string          `json:"history"` // what is kept of it, in words
}

// Show takes the newest pictures of all paths and sends pages what they show of them.
func (v *View) Show(all []watch.Picture) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = all
	v.grid.next(all)
	v.recent = append(v.recent, v.second.Add(all)...)
	v.recent = slices.Clone(v.recent[tooOld(v.recent):])
	fresh := []watch.Event{}
	for _, p := range all {
		fresh = append(fresh, p.Events...)
		v.changes[p.Path] += float64(len(p.Events))
	}
	v.wait(all)
	v.events = append(v.events, fresh...)
	v.events = slices.Clone(v.events[max(0, len(v.events)-mostEvents):])
	return v.send(fresh)
}

// PerQueue has /metrics tell of each transmit queue and of each core that receives. It is called before
// the view is served.
func (v *View) PerQueue() { v.queues = true }

// Hint has pages without a path say what to do.
func (v *View) Hint(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hint = text
}

// Looked tells which paths pages have open.
func (v *View) Looked() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	out, known := map[string]bool{}, map[string]bool{}
	for _, p := range v.last {
		known[p.Path] = true
	}
	for page := range v.pages {
		for _, path := range page.paths {
			if !known[path] && len(v.last) > 0 { // such a page shows the first
				path = v.last[0].Path
			}
			out[path] = true
		}
	}
	return out
}

// message is the answer of /pictures, with the lock held.
func (v *View) message() ([]byte, error) {
	b, err := json.Marshal(message{V: watch.PictureVersion, Pictures: v.last, Events: v.events, History: v.kept()})
	if err != nil {
		return nil, fmt.Errorf("write pictures: %w", err)
	}
	return b, nil
}

// Handler answers for the page, its parts, /events, /pictures, /history, /runs, /ladder, /change and /metrics, to those
// who have access.
func (v *View) Handler(access Access) (http.Handler, error) {
	page, err := v.page()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector{v}); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { send(w, "text/html; charset=utf-8", page) })
	for name, kind := range map[string]string{"live.js": "text/javascript; charset=utf-8", "worker.js": "text/javascript; charset=utf-8", "timeline.js": "text/javascript; charset=utf-8", "ladder.js": "text/javascript; charset=utf-8", "live.css": "text/css; charset=utf-8",
		"enter.js": "text/javascript; charset=utf-8", "change.js": "text/javascript; charset=utf-8"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, kind, b) })
	}
	mux.HandleFunc("GET /pictures", v.pictures)
	mux.HandleFunc("GET /history", v.history)
	mux.HandleFunc("GET /events", v.stream)
	if v.runs != nil {
		list, err := template.ParseFS(files, "runs.html.tmpl")
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		mux.HandleFunc("GET /runs", v.listRuns(list))
		mux.HandleFunc("GET /ladder", v.ladder)
		var one sync.Mutex // both read all samples of a run: one at a time
		mux.HandleFunc("GET /runs/{id}", v.reportOf(&one))
		mux.HandleFunc("GET /runs/{id}/samples", v.samplesOf(&one))
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("POST /session", access.enter)
	mux.HandleFunc("GET /change", v.changePage)
	mux.HandleFunc("GET /change/pending", v.pendings)
	mux.HandleFunc("POST /change/{what}", v.answerChange)
	door, err := files.ReadFile("enter.html")
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return access.guarded(mux, door), nil
}

func (v *View) page() ([]byte, error) {
	t, err := template.ParseFS(files, "page.html.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		Title, Build string
		Runs, Change bool
	}{v.title, v.build, v.runs != nil, v.changer != nil}); err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	return b.Bytes(), nil
}

// send writes a whole answer. Whoever asked may be gone, which is theirs to know.
func send(w http.ResponseWriter, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b)
}

func (v *View) pictures(w http.ResponseWriter, _ *http.Request) {
	v.mu.Lock()
	b, err := v.message()
	v.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "application/json", append(b, '\n'))
}

// Loopback tells whether HOST or HOST:PORT names this machine's loopback.
func Loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(cmp.Or(trimBrackets(name), name))
	return err == nil && a.Unmap().IsLoopback()
}

func trimBrackets(s string) string {
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		return s[1 : len(s)-1]
	}
	return s
}
