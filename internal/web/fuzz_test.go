package web

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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

// What is taken for a token goes into a header and comes out of it as it was.
func FuzzToken(f *testing.F) {
	for _, s := range []string{"0123456789abcdef0123456789abcdef\n", "short", " a b ", "\x00\xff", strings.Repeat("x", mostToken+1)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		token, ok := parseToken(b)
		if !ok {
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		var wire bytes.Buffer
		if err := r.Write(&wire); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil || got.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%q became %v, %v", token, got, err)
		}
	})
}
