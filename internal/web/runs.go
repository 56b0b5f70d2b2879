package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"linerate/internal/report"
	"linerate/internal/store"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
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
	// Samples is what one of All carried, by its samples; false: there is none of that id.
	Samples(id string) (Samples, bool, error)
	// Ladder is what they last measured of the rungs of a path.
	Ladder(of store.Place) (store.Climbed, error)
}

// Samples is what a run carried from one sample to the next, in order of time.
type Samples struct {
	Steps   []report.Carried
	Ceiling *unit.BitRate // nil: not known
}

// mostFine is how many rows an answer about samples has.
const mostFine = 1500

// stretch is a part of a run; without from or to it begins or ends with the run. Neighbours are added
// up where there are too many for a page: bytes and times add exactly.
func (s Samples) stretch(id string, from, to time.Time) Stretch {
	out := Stretch{V: 1, Path: id, From: from, To: to, Rows: []past.Row{}, Events: []watch.Event{}, Marks: []watch.Mark{}, Problems: []string{}}
	if n := len(s.Steps); n > 0 && from.IsZero() {
		out.From = s.Steps[0].At
	}
	if n := len(s.Steps); n > 0 && to.IsZero() {
		out.To = s.Steps[n-1].At.Add(s.Steps[n-1].Span)
	}
	inside := slices.DeleteFunc(slices.Clone(s.Steps), func(c report.Carried) bool {
		return c.At.Before(out.From) || c.At.Add(c.Span).After(out.To)
	})
	many := (len(inside) + mostFine - 1) / mostFine
	for i := 0; i < len(inside); {
		c, n := inside[i], 1
		for ; n < many && i+n < len(inside) && inside[i+n].At.Equal(c.At.Add(c.Span)); n++ { // a gap stays one
			c.Span, c.Bytes = c.Span+inside[i+n].Span, c.Bytes+inside[i+n].Bytes
		}
		i += n
		out.Width = max(out.Width, c.Span)
		out.Rows = append(out.Rows, rowOf(c, s.Ceiling))
	}
	return out
}

func rowOf(c report.Carried, ceiling *unit.BitRate) past.Row {
	rate := unit.BitRate(float64(c.Bytes) * 8 / c.Span.Seconds())
	r := past.Row{At: c.At, Span: c.Span, Seen: c.Span, Goodput: &rate, Least: &rate, Most: &rate, Ceiling: ceiling, Shown: []past.Shown{}}
	if ceiling != nil && *ceiling > 0 {
		share := float64(rate / *ceiling)
		r.Share = &share
	}
	return r
}

// samplesOf answers /runs/ID/samples?from=&to=, as /history does; both may be left away.
func (v *View) samplesOf(one *sync.Mutex) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var at [2]time.Time
		for i, name := range []string{"from", "to"} {
			text := r.URL.Query().Get(name)
			if text == "" {
				continue
			}
			var err error
			if at[i], err = time.Parse(time.RFC3339, text); err != nil {
				http.Error(w, name+" is a time such as 2026-11-24T10:00:00.3Z", http.StatusBadRequest)
				return
			}
		}
		one.Lock()
		defer one.Unlock()
		s, ok, err := v.runs.Samples(r.PathValue("id"))
		var b []byte
		if err == nil && ok {
			b, err = json.Marshal(s.stretch(r.PathValue("id"), at[0], at[1]))
		}
		switch {
		case err != nil:
			http.Error(w, fmt.Sprintf("samples of %s: %v", r.PathValue("id"), err), http.StatusInternalServerError)
		case !ok:
			http.Error(w, "there is no whole run of that id: /runs lists those there are", http.StatusNotFound)
		default:
			send(w, "application/json", append(b, '\n'))
		}
	}
}

// ladder answers /ladder?path=NAME.
func (v *View) ladder(w http.ResponseWriter, r *http.Request) {
	l, err := v.runs.Ladder(v.place(r.URL.Query().Get("path")))
	var b []byte
	if err == nil {
		b, err = json.Marshal(l)
	}
	if err != nil {
		http.Error(w, "look for kept runs: "+err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "application/json", append(b, '\n'))
}

// place is what is known of a path.
func (v *View) place(path string) store.Place {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.IndexFunc(v.last, func(p watch.Picture) bool { return p.Path == path }); i >= 0 {
		return store.PlaceOf(v.last[i])
	}
	return store.Place{Path: path}
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
func (v *View) reportOf(one *sync.Mutex) http.HandlerFunc {
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
