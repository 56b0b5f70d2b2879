package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"linerate/internal/store/history"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

const (
	mostSeconds = 15 * 60 // records of a second that are kept in memory
	mostRecent  = 90_000  // paths in them, half a kilobyte each: of a thousand paths a minute and a half is kept
	mostLate    = 20_000  // records of a second of one path that came late
	mostRows    = 400     // of an answer
	mostMarks   = 500
	mostStretch = 400 * 24 * time.Hour
)

// Past is the history that is kept beside a view.
type Past interface {
	Between(from, to time.Time, width time.Duration) (history.Read, error)
	// Runs are marks of what linerate ran and kept meanwhile.
	Runs(from, to time.Time) ([]watch.Mark, error)
	// Kept says how much is kept, or why nothing is, in words.
	Kept() string
}

// Keep has pages show a history. It is called before the view is served.
func (v *View) Keep(p Past) { v.past = p }

func (v *View) kept() string {
	if v.past == nil {
		text := "no history is kept: the last 15 minutes are in memory"
		if n := len(v.recent); n > 0 && mostSeconds*len(v.recent[n-1].Paths) > mostRecent {
			text = fmt.Sprintf("no history is kept: of so many paths the last %d seconds are in memory", n)
		}
		return text
	}
	return v.past.Kept()
}

// tooOld is how many records are kept no longer.
func tooOld(records []past.Record) int {
	paths := 0
	for i, r := range slices.Backward(records) {
		if paths += len(r.Paths); paths > mostRecent || len(records)-i > mostSeconds {
			return i + 1
		}
	}
	return 0
}

// Late takes what a path would have been shown as while it was stale, as loop.Live has it: it takes the
// place of that in what is in memory. It may be called beside Show.
func (v *View) Late(run []watch.Picture) {
	all := past.Late(time.Second, run)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late = append(v.late, all...)
	v.late = slices.Delete(v.late, 0, max(0, len(v.late)-mostLate))
}

// Stretch is the answer of /history: what a path did in a stretch of time.
type Stretch struct {
	V     int           `json:"v"`
	Path  string        `json:"path"`
	From  time.Time     `json:"from"`
	To    time.Time     `json:"to"`
	Width time.Duration `json:"width"` // of a row, where there are none that are wider
	Rows  []past.Row    `json:"rows"`
	// Events and Marks are the newest; LeftOut is how many older ones there are.
	Events   []watch.Event `json:"events"`
	Marks    []watch.Mark  `json:"marks"`
	LeftOut  int           `json:"left_out"`
	Problems []string      `json:"problems"` // what of the history could not be read
}

// history answers for ?path=&from=&to=, with times as RFC 3339 has them.
func (v *View) history(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, err1 := time.Parse(time.RFC3339, q.Get("from"))
	to, err2 := time.Parse(time.RFC3339, q.Get("to"))
	if err := cmp.Or(err1, err2); err != nil || !from.Before(to) || to.Sub(from) > mostStretch {
		http.Error(w, "ask for /history?path=NAME&from=TIME&to=TIME, with times such as 2026-11-24T10:00:00Z, no more than 400 days apart", http.StatusBadRequest)
		return
	}
	s, err := v.stretch(q.Get("path"), from, to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	b, err := json.Marshal(s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "application/json", append(b, '\n'))
}

// stretch is what is known of a path between two times.
func (v *View) stretch(path string, from, to time.Time) (Stretch, error) {
	s := Stretch{V: 1, Path: path, From: from, To: to, Rows: []past.Row{}, Events: []watch.Event{}, Marks: []watch.Mark{}, Problems: []string{}}
	records, err := v.records(&s)
	if err != nil {
		return s, err
	}
	for _, r := range records {
		for _, p := range r.Paths {
			if p.Name == path {
				s.Rows = append(s.Rows, p.Row(r.At, r.Span))
			}
		}
		for _, e := range r.Events {
			if e.Path == path {
				s.Events = append(s.Events, e)
			}
		}
		s.Marks = append(s.Marks, past.MarksOf(r.Marks, path)...)
	}
	if v.past != nil {
		runs, err := v.past.Runs(from, to)
		if err != nil {
			s.Problems = append(s.Problems, err.Error())
		}
		s.Marks = append(s.Marks, runs...)
	}
	slices.SortStableFunc(s.Marks, func(a, b watch.Mark) int { return a.At.Compare(b.At) })
	s.LeftOut = max(0, len(s.Marks)-mostMarks) + max(0, len(s.Events)-mostMarks)
	s.Marks, s.Events = s.Marks[max(0, len(s.Marks)-mostMarks):], s.Events[max(0, len(s.Events)-mostMarks):]
	return s, nil
}

// records are those of a stretch, narrow enough to draw and not too many: of a short one from memory
// as far as that goes back, the rest from disk.
func (v *View) records(s *Stretch) ([]past.Record, error) {
	v.mu.Lock()
	recent := slices.Clone(v.recent)
	for _, r := range v.late {
		if r.Paths[0].Name == s.Path && len(recent) > 0 && !r.At.Before(recent[0].At) {
			recent = append(recent, r)
		}
	}
	v.mu.Unlock()
	inside := slices.DeleteFunc(recent, func(r past.Record) bool { return r.At.Before(s.From) || !r.At.Before(s.To) })
	long, until := s.To.Sub(s.From), s.To
	short := long <= mostSeconds*time.Second
	switch s.Width = past.Width(long, mostRows); {
	case short:
		s.Width = time.Second
		if len(inside) > 0 {
			until = inside[0].At
		}
	case v.past != nil:
		inside = nil
	}
	if v.past == nil || !s.From.Before(until) {
		return past.Slots(s.Width, inside), nil
	}
	read, err := v.past.Between(s.From, until, s.Width)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	for _, p := range read.Problems {
		s.Problems = append(s.Problems, p.File+": "+p.Why)
	}
	if n := len(read.Records); n > 0 { // the last may reach into what memory has by the second
		end := read.Records[n-1].End()
		inside = slices.DeleteFunc(inside, func(r past.Record) bool { return r.At.Before(end) })
	}
	return past.Slots(s.Width, append(read.Records, inside...)), nil
}
