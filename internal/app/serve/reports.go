package serve

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/report"
	"linerate/internal/store"
	"linerate/internal/web"
)

// kept are the runs of this user, for the page.
type kept struct {
	env app.Env

	mu     sync.Mutex
	list   []runs.Summary // for Ladder, which every page asks for
	looked time.Time
}

// Ladder implements web.Runs. A run that was kept within the last minute may be missing.
func (k *kept) Ladder(of store.Place) (runs.Climbed, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.env.Now(); now.Sub(k.looked) > runsAge {
		_, all, err := runs.List(k.env)
		if err != nil {
			return runs.Climbed{}, err
		}
		k.list, k.looked = all, now
	}
	return runs.LastLadder(k.list, of), nil
}

// All implements web.Runs.
func (k *kept) All() ([]web.Run, error) {
	_, all, err := runs.List(k.env)
	if err != nil {
		return nil, err
	}
	out := []web.Run{}
	for _, s := range all {
		out = append(out, web.Run{ID: s.ID, Created: s.Created, Command: s.Command, Says: cmp.Or(s.Why, s.Verdict), Whole: s.State == runs.Complete})
	}
	return out, nil
}

// Report implements web.Runs.
func (k *kept) Report(w io.Writer, id string) (bool, error) {
	b, samples, err := k.open(id)
	if b == nil || err != nil {
		return false, err
	}
	return true, report.HTML(w, b.Results, samples, b.Facts)
}

// Samples implements web.Runs. The runs of a study follow one another.
func (k *kept) Samples(id string) (out web.Samples, ok bool, err error) {
	b, samples, err := k.open(id)
	if b == nil || err != nil {
		return out, false, err
	}
	out.Ceiling = b.Results.Verdict.Ceiling
	for _, r := range b.Results.Runs {
		out.Steps = append(out.Steps, report.CarriedBy(r, samples[r.Label])...)
	}
	slices.SortStableFunc(out.Steps, func(a, b report.Carried) int { return a.At.Compare(b.At) })
	return out, true, nil
}

// open opens a whole run with its samples; nil: there is none of that id. Only what the list has is
// opened: an id comes from a browser, and may be a path.
func (k *kept) open(id string) (*runs.Bundle, runs.Samples, error) {
	_, all, err := runs.List(k.env)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(all, func(s runs.Summary) bool { return s.ID == id && s.State == runs.Complete }) {
		return nil, nil, nil
	}
	b, err := runs.Open(k.env, id)
	if err != nil {
		return nil, nil, err
	}
	samples, err := b.Samples()
	return b, samples, err
}
