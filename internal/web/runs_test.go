package web

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

type someRuns struct{}

func (someRuns) All() ([]Run, error) {
	return []Run{{ID: "20261125-1", Created: time.Unix(0, 0), Command: "explain <b>", Says: "path-loss", Whole: true}, {ID: "20261125-0", Says: "damaged"}}, nil
}

func (someRuns) Report(w io.Writer, id string) (bool, error) {
	switch id {
	case "20261125-1":
		_, err := io.WriteString(w, "<style>a{}</style>the report")
		return true, err
	case "damaged":
		return false, errors.New("its hash is another")
	}
	return false, nil
}

func TestRunsAndTheirReports(t *testing.T) {
	v := NewView("x", "linerate test")
	v.KeepRuns(someRuns{})
	h, err := v.Handler(Access{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	_, list := get(t, s.URL+"/runs", nil)
	for _, want := range []string{`<a href="runs/20261125-1">`, "explain &lt;b&gt;", "damaged"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
	if strings.Contains(list, `href="runs/20261125-0"`) {
		t.Error("a damaged run has a link")
	}
	if resp, body := get(t, s.URL+"/runs/20261125-1", nil); body != "<style>a{}</style>the report" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'unsafe-inline'") {
		t.Errorf("%s %v", body, resp.Header)
	}
	for path, want := range map[string]int{"/runs/..%2f..%2fetc": 404, "/runs/last": 404, "/runs/damaged": 500} {
		if resp, body := get(t, s.URL+path, nil); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if _, page := get(t, s.URL+"/", nil); !strings.Contains(page, `<a href="runs">`) {
		t.Error("the page does not lead to the runs")
	}
}
