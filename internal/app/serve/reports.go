package serve

import (
	"cmp"
	"io"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/report"
	"linerate/internal/web"
)

// kept are the runs of this user, for the page.
type kept struct{ env app.Env }

// All implements web.Runs.
func (k kept) All() ([]web.Run, error) {
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

// Report implements web.Runs. Only what the list has is opened: an id comes from a browser, and may
// be a path.
func (k kept) Report(w io.Writer, id string) (bool, error) {
	_, all, err := runs.List(k.env)
	if err != nil {
		return false, err
	}
	for _, s := range all {
		if s.ID != id || s.State != runs.Complete {
			continue
		}
		b, err := runs.Open(k.env, s.ID)
		if err != nil {
			return false, err
		}
		samples, err := b.Samples()
		if err != nil {
			return false, err
		}
		return true, report.HTML(w, b.Results, samples, b.Facts)
	}
	return false, nil
}
