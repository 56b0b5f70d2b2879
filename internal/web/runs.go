package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"sync"
	"time"
)

// Run is a run of linerate that was kept.
type Run struct {
	ID      string
	Created time.Time
	Command string
	Says    string // its verdict in one sentence, or why it cannot be read
	Whole   bool   // there is a report
}

// Runs are those that were kept.
type Runs interface {
	// All are the newest first.
	All() ([]Run, error)
	// Report writes the report of one of All; false: there is none of that id.
	Report(w io.Writer, id string) (bool, error)
}

// KeepRuns has pages list runs and open their reports. It is called before the view is served.
func (v *View) KeepRuns(r Runs) { v.runs = r }

// mostRuns is how many runs the list has.
const mostRuns = 500

// listRuns answers /runs.
func (v *View) listRuns(t *template.Template) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all, err := v.runs.All()
		if err != nil {
			http.Error(w, "list runs: "+err.Error(), http.StatusInternalServerError)
			return
		}
		more := max(0, len(all)-mostRuns)
		var b bytes.Buffer
		if err := t.Execute(&b, struct {
			Runs []Run
			More int
		}{all[:len(all)-more], more}); err != nil {
			http.Error(w, "list runs: "+err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, "text/html; charset=utf-8", b.Bytes())
	}
}

// reportOf answers /runs/ID. A report has its style in itself, and no script.
func (v *View) reportOf() http.HandlerFunc {
	var one sync.Mutex // rendering reads all samples of a run: one at a time
	return func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		var b bytes.Buffer
		switch ok, err := v.runs.Report(&b, r.PathValue("id")); {
		case err != nil:
			http.Error(w, fmt.Sprintf("report of %s: %v", r.PathValue("id"), err), http.StatusInternalServerError)
		case !ok:
			http.Error(w, "there is no whole run of that id: /runs lists those there are", http.StatusNotFound)
		default:
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			send(w, "text/html; charset=utf-8", b.Bytes())
		}
	}
}
