package report

import (
	"io"

	"linerate/internal/model"
	"linerate/internal/report/document"
)

// Of makes the document of an outcome: of a study its white paper, of a load its
// figures, else of a run. samples are by run label and host; of a run only those
// of the one that the verdict was drawn from are charted. facts are by host. Both
// may be empty; what cannot be shown then is said.
func Of(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) document.Document {
	switch {
	case r.Study != nil:
		return paperOf(r, samples, facts)
	case r.Load != nil:
		return loadOf(r)
	}
	return runOf(r, samples, facts)
}

// HTML writes the outcome as one page that needs nothing else. It fails only
// when w does.
func HTML(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	return Of(r, samples, facts).HTML(w)
}

// Markdown writes the outcome for an issue or a wiki page. It fails only when w
// does.
func Markdown(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	return Of(r, samples, facts).Markdown(w)
}

// Text writes the outcome for a terminal of width columns. It fails only when w
// does.
func Text(w io.Writer, r *model.Results, color bool, width int) error {
	return Of(r, nil, nil).Text(w, color, width)
}
