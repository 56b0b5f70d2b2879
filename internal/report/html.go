package report

import (
	_ "embed" // the page and its style are part of the binary
	"fmt"
	"html/template"
	"io"
	"strings"

	"linerate/internal/model"
)

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var styleText string

// page is everything the template prints.
type page struct {
	Style      template.CSS
	Title      string
	Command    string
	When       string
	Head       headView
	Results    *model.Results
	Evidence   []evidenceRow
	GainText   string
	Later      []causeView
	Ladder     []rungView
	Proof      *proofView
	Steps      []stepRow
	RunLabel   string
	Figures    []figure
	CPU        []cpuHost
	CPULegend  []legend
	Hosts      hostTable
	Runs       []runRow
	Provenance []pair
	Doubts     []model.Warning
	Changes    []model.Change
	Findings   []findingRow
}

type evidenceRow struct {
	What, Value, Metric, Host, Scope string
	N                                int
}

type findingRow struct {
	model.Finding
	BoundText string
}

// HTML writes the report as one page that needs nothing else: style and
// charts are in it, there is no script, and nothing refers to the network.
// samples are by run label and host; only those of the run that the verdict
// was drawn from are charted. facts are by host. Both may be empty; what
// cannot be shown then is said. Of a study it is the white paper. It fails only
// when w does.
func HTML(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	if r.Study != nil {
		return paperHTML(w, r, samples, facts)
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("read report template: %w", err)
	}
	return execute(w, t, pageOf(r, samples, facts))
}

// execute fills a page's template and writes it.
func execute(w io.Writer, t *template.Template, data any) error {
	var page strings.Builder
	if err := t.Execute(&page, data); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	// The template escapes markup; what a terminal or a text direction would
	// obey goes here, in one place, whatever field it came in.
	for line := range strings.Lines(page.String()) {
		if _, err := io.WriteString(w, plain(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}

func pageOf(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) page {
	p := page{
		Style: template.CSS(styleText), Title: "linerate: " + title(r.Verdict),
		Command: r.Command, When: moment(r.Started), Results: r, Head: headOf(r),
		Later: laterCauses(r.Verdict), Ladder: ladderOf(r), Proof: proofOf(r.Proof, r.Verdict.Ceiling), Steps: stepsOf(r),
		Hosts: hostsOf(r, facts), Runs: runRows(r), Provenance: provenance(r), Doubts: doubts(r), Changes: changesOf(r),
	}
	for _, e := range r.Verdict.Evidence {
		p.Evidence = append(p.Evidence, evidenceRow{capital(e.What), evidenceValue(e), e.Metric, e.Host, e.Scope, e.N})
	}
	if g := r.Verdict.ExpectedGain; g != nil {
		p.GainText = rate(&g.Low) + " to " + rate(&g.High)
	}
	for _, f := range r.Findings {
		p.Findings = append(p.Findings, findingRow{f, rate(f.Bound)})
	}
	if run, ok := diagnosis(r); ok {
		p.RunLabel = run.Label
		p.Figures = traffic(run, r.Verdict.Ceiling, samples[run.Label])
		p.CPU = processors(run, samples[run.Label], facts)
		p.CPULegend = cpuLegend()
	}
	return p
}
