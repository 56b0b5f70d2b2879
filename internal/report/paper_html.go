package report

import (
	_ "embed" // the page and its style are part of the binary
	"fmt"
	"html/template"
	"io"

	"linerate/internal/model"
)

//go:embed paper.html.tmpl
var paperText string

//go:embed paper.css
var paperStyle string

// paperPage is what the template prints.
type paperPage struct {
	paper
	Style template.CSS
}

// paperHTML writes the white paper of r.Study as one page that needs nothing
// else.
func paperHTML(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	t, err := template.New("paper").Parse(paperText)
	if err != nil {
		return fmt.Errorf("read report template: %w", err)
	}
	return execute(w, t, paperPage{paperOf(r, samples, facts), template.CSS(styleText + paperStyle)})
}
