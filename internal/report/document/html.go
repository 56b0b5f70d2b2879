package document

import (
	_ "embed" // the page and its style are part of the binary
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var styleText string

// page is what the template prints.
type page struct {
	Document
	Style template.CSS
}

// HTML writes a document as one page that needs nothing else: style and charts
// are in it, there is no script, and nothing refers to the network. It fails
// only when w does.
func (d Document) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"drawn":    func(c Drawing) template.HTML { return template.HTML(c.SVG()) }, // chart escapes every text
		"evidence": evidenceTable,
		"numbered": numbered,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("read report template: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, page{d.in(Page), template.CSS(styleText)}); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	// The template escapes markup; what a terminal or a text direction would
	// obey goes here, in one place, whatever field it came in.
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, Plain(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}
