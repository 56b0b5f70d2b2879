// Package web is the page of a live view, its event stream and its metrics. It shows what package
// watch made, and judges nothing itself. It changes nothing on any host and serves reads alone;
// whoever asks has to name this machine's loopback (a name that was bent to it by DNS does not),
// and no page of another origin gets to see an answer.
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
)

//go:embed page.html.tmpl live.js live.css
var files embed.FS

const (
	mostEvents  = 200 // changes that a page which is opened late still gets
	mostStreams = 64  // pages at once
)

// View is what pages show now. Show may be called while pages are served.
type View struct {
	title string
	build string

	mu      sync.Mutex
	last    []watch.Picture
	events  []watch.Event
	changes map[string]float64 // by path, since the view began
	pages   map[chan []byte]bool
}

// NewView makes a view with a title; build is of the program.
func NewView(title, build string) *View {
	return &View{title: title, build: build, last: []watch.Picture{}, events: []watch.Event{}, changes: map[string]float64{}, pages: map[chan []byte]bool{}}
}

// message is one event of the stream, and the answer of /pictures.
type message struct {
	V        int             `json:"v"`
	Pictures []watch.Picture `json:"pictures"`
	Events   []watch.Event   `json:"events"`
}

// Show takes the newest pictures of all paths and sends them to the pages that are open. One that
// is slow misses pictures, never changes: each message has the last of those.
func (v *View) Show(all []watch.Picture) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = all
	for _, p := range all {
		v.events = append(v.events, p.Events...)
		v.changes[p.Path] += float64(len(p.Events))
	}
	v.events = slices.Clone(v.events[max(0, len(v.events)-mostEvents):])
	b, err := v.message()
	if err != nil {
		return err
	}
	for page := range v.pages {
		select {
		case <-page: // the one before was not taken yet
		default:
		}
		page <- b
	}
	return nil
}

// message is what there is to see, with the lock held.
func (v *View) message() ([]byte, error) {
	b, err := json.Marshal(message{V: watch.PictureVersion, Pictures: v.last, Events: v.events})
	if err != nil {
		return nil, fmt.Errorf("write pictures: %w", err)
	}
	return b, nil
}

// open begins a stream; false where there are too many.
func (v *View) open() (page chan []byte, end func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.pages) >= mostStreams {
		return nil, nil, false
	}
	page = make(chan []byte, 1)
	v.pages[page] = true
	if b, err := v.message(); err == nil {
		page <- b
	}
	return page, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.pages, page)
	}, true
}

// Handler answers for the page, its parts, /events, /pictures and /metrics.
func (v *View) Handler() (http.Handler, error) {
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
	for name, kind := range map[string]string{"live.js": "text/javascript; charset=utf-8", "live.css": "text/css; charset=utf-8"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, kind, b) })
	}
	mux.HandleFunc("GET /pictures", v.pictures)
	mux.HandleFunc("GET /events", v.stream)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return guarded(mux), nil
}

func (v *View) page() ([]byte, error) {
	t, err := template.ParseFS(files, "page.html.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct{ Title, Build string }{v.title, v.build}); err != nil {
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

// stream sends each message as a server-sent event (HTML, section 9.2) until the page is closed.
func (v *View) stream(w http.ResponseWriter, r *http.Request) {
	page, end, ok := v.open()
	if !ok {
		http.Error(w, fmt.Sprintf("%d pages are open, which is the most: close one", mostStreams), http.StatusServiceUnavailable)
		return
	}
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case b := <-page:
			// A page that takes nothing for so long is gone.
			if err := out.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
				return
			}
			if err := out.Flush(); err != nil {
				return
			}
		}
	}
}

const writeTime = 20 * time.Second

// guarded lets through who names the loopback, and gives every answer the headers that keep
// others from framing, embedding or guessing at it. DNS rebinding makes a browser send another
// name; a page of another origin may send requests, and cannot read what comes.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !Loopback(r.Host) {
			http.Error(w, "ask for this page as localhost or 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.URL.Path != "/" {
			http.Error(w, "this is for its own page alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
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
