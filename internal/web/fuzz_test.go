package web

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// Whoever asks for whatever gets an answer: never an error of the server, and nothing at all
// under another name than the loopback's.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/", "localhost:8470", "", "")
	f.Add("GET", "/pictures", "127.0.0.1", "cross-site", "")
	f.Add("POST", "/metrics", "[::1]:8470", "same-origin", "")
	f.Add("GET", "/history", "localhost", "none", "path=a&from=2026-11-24T10:00:00Z&to=2026-11-24T11:00:00Z")
	f.Add("GET", "/history", "localhost", "", "path=%ff&from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59-23:59")
	v := NewView("fuzz", "linerate test")
	if err := v.Show([]watch.Picture{picture(watch.Moving, model.PathLoss)}); err != nil {
		f.Fatal(err)
	}
	h, err := v.Handler(Access{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, host, site, query string) {
		if path == "/events" { // has no end
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.URL, r.Host = method, &url.URL{Path: path, RawQuery: query}, host
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if w.Code == 200 && !Loopback(host) {
			t.Errorf("an answer for %q: %s", host, w.Body)
		}
	})
}
