package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

const mostStreams = 64 // pages at once

// tab is a stream that is open: of one page, or of all that a browser has. Of the paths that they have
// chosen it gets all there is, of the others a row, where that is another than it has.
type tab struct {
	out    chan []byte // the newest message, until it is taken
	paths  []string    // that are chosen; the first one of all for each that is not among them
	missed bool        // a message was not taken in time: the next one brings the changes again
	has    int         // the step whose rows were taken; 0: none
	sent   int         // the step of the message in out
}

// row is a path among others.
type row struct {
	I       int           `json:"i"` // its place among all
	Path    string        `json:"path,omitempty"`
	Shown   watch.Named   `json:"shown"`
	Goodput unit.BitRate  `json:"goodput_bps"` // three digits of it
	Ceiling *unit.BitRate `json:"ceiling_bps"`
}

// grid is the rows of all paths, and which step of the view each changed in.
type grid struct {
	step    int
	rows    []row
	changed []int
	order   int // the step since which the same paths stand at the same places
}

// next takes the pictures of another step.
func (g *grid) next(all []watch.Picture) {
	g.step++
	same := len(all) == len(g.rows)
	for i := 0; same && i < len(all); i++ {
		same = g.rows[i].Path == all[i].Path
	}
	if !same {
		g.order, g.rows, g.changed = g.step, make([]row, len(all)), make([]int, len(all))
	}
	for i, p := range all {
		r := row{I: i, Path: p.Path, Shown: p.Shown, Goodput: threeDigits(p.Goodput), Ceiling: p.Ceiling}
		old := &g.rows[i]
		if old.Path != r.Path || old.Shown != r.Shown || old.Goodput != r.Goodput || (old.Ceiling == nil) != (r.Ceiling == nil) || r.Ceiling != nil && *old.Ceiling != *r.Ceiling {
			g.changed[i] = g.step
		}
		*old = r
	}
}

// since are the rows that changed after a step; full: all of them, since others stood there.
func (g *grid) since(step int) (rows []row, full bool) {
	rows = []row{}
	full = step < g.order || step == 0
	for i, r := range g.rows {
		if !full {
			r.Path = ""
		}
		if full || g.changed[i] > step {
			rows = append(rows, r)
		}
	}
	return rows, full
}

// threeDigits is what a tile shows of a rate.
func threeDigits(r unit.BitRate) unit.BitRate {
	if !(r > 0) || math.IsInf(float64(r), 0) {
		return r
	}
	size := math.Pow(10, math.Floor(math.Log10(float64(r)))-2)
	return unit.BitRate(math.Round(float64(r)/size) * size)
}

// event is what the stream brings, once a second.
type event struct {
	V       int             `json:"v"`
	Rows    []row           `json:"rows"`   // those that changed since the message before
	Full    bool            `json:"full"`   // Rows are all there are, with their names, in order
	Chosen  []watch.Picture `json:"chosen"` // in the order of all paths; empty: there is none yet
	Events  []watch.Event   `json:"events"` // since the message before
	Again   bool            `json:"again"`  // Events are all that are kept, in place of what came before
	History string          `json:"history"`
	Hint    string          `json:"hint,omitempty"`
	Pending []Pending       `json:"pending,omitempty"` // plans that wait to be confirmed
}

// send gives each page its next message, with the lock held. One that is slow misses pictures, never
// changes.
func (v *View) send(fresh []watch.Event) error {
	type same struct {
		chosen string
		has    int
	}
	made := map[same][]byte{} // pages that missed nothing get the same
	for p := range v.pages {
		select {
		case <-p.out:
			p.missed = true
		default:
			p.has = p.sent
		}
		k := same{strings.Join(p.paths, "\x00"), p.has}
		b := made[k]
		if p.missed || b == nil {
			var err error
			if b, err = v.event(p, fresh); err != nil {
				return err
			}
		}
		if !p.missed {
			made[k] = b
		}
		p.out <- b
		p.missed, p.sent = false, v.grid.step
	}
	return nil
}

// event is what a page gets now, with the lock held.
func (v *View) event(p *tab, fresh []watch.Event) ([]byte, error) {
	e := event{V: watch.PictureVersion, Chosen: []watch.Picture{}, Events: fresh, History: v.kept(), Hint: v.hint, Pending: v.pending()}
	e.Rows, e.Full = v.grid.since(p.has)
	found := 0
	if p.missed {
		e.Events, e.Again = v.events, true
	}
	for _, at := range v.last {
		if slices.Contains(p.paths, at.Path) {
			e.Chosen = append(e.Chosen, at)
			found++
		}
	}
	if found < len(p.paths) && len(v.last) > 0 && !slices.Contains(p.paths, v.last[0].Path) {
		e.Chosen = slices.Insert(e.Chosen, 0, v.last[0])
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write pictures: %w", err)
	}
	return b, nil
}

// open begins a stream; false where there are too many.
func (v *View) open(paths []string) (p *tab, end func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.pages) >= mostStreams {
		return nil, nil, false
	}
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	if len(paths) == 0 {
		paths = []string{""}
	}
	p = &tab{out: make(chan []byte, 1), paths: paths[:min(len(paths), mostStreams)], missed: true}
	v.pages[p] = true
	if b, err := v.event(p, nil); err == nil {
		p.out <- b
		p.missed, p.sent = false, v.grid.step
	}
	return p, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.pages, p)
	}, true
}

// stream sends each message as a server-sent event (HTML, section 9.2) until the page is closed.
func (v *View) stream(w http.ResponseWriter, r *http.Request) {
	page, end, ok := v.open(r.URL.Query()["path"])
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
		case b := <-page.out:
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
