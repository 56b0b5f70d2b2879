package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

const mostStreams = 64 // pages at once

// tab is a stream that is open: of one page, or of all that a browser has. Of the paths that they have
// chosen it gets all there is, of the others a row.
type tab struct {
	out    chan []byte // the newest message, until it is taken
	paths  []string    // that are chosen; the first one of all for each that is not among them
	missed bool        // a message was not taken in time: the next one brings the changes again
}

// row is a path among others.
type row struct {
	Path    string        `json:"path"`
	Shown   watch.Named   `json:"shown"`
	Goodput unit.BitRate  `json:"goodput_bps"`
	Ceiling *unit.BitRate `json:"ceiling_bps"`
}

// event is what the stream brings, once a second.
type event struct {
	V       int             `json:"v"`
	Rows    []row           `json:"rows"`
	Chosen  []watch.Picture `json:"chosen"` // in the order of all paths; empty: there is none yet
	Events  []watch.Event   `json:"events"` // since the message before
	Again   bool            `json:"again"`  // Events are all that are kept, in place of what came before
	History string          `json:"history"`
	Hint    string          `json:"hint,omitempty"`
}

// send gives each page its next message, with the lock held. One that is slow misses pictures, never
// changes.
func (v *View) send(fresh []watch.Event) error {
	made := map[string][]byte{} // by chosen path; pages that missed nothing get the same
	for p := range v.pages {
		select {
		case <-p.out:
			p.missed = true
		default:
		}
		chosen := strings.Join(p.paths, "\x00")
		b := made[chosen]
		if p.missed || b == nil {
			var err error
			if b, err = v.event(p, fresh); err != nil {
				return err
			}
		}
		if !p.missed {
			made[chosen] = b
		}
		p.out <- b
		p.missed = false
	}
	return nil
}

// event is what a page gets now, with the lock held.
func (v *View) event(p *tab, fresh []watch.Event) ([]byte, error) {
	e := event{V: watch.PictureVersion, Rows: []row{}, Chosen: []watch.Picture{}, Events: fresh, History: v.kept(), Hint: v.hint}
	found := 0
	if p.missed {
		e.Events, e.Again = v.events, true
	}
	for _, at := range v.last {
		e.Rows = append(e.Rows, row{Path: at.Path, Shown: at.Shown, Goodput: at.Goodput, Ceiling: at.Ceiling})
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
		p.missed = false
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
