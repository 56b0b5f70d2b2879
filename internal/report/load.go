package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/chart"
)

// loadPlain is what the load's command printed, without what a terminal would obey.
func loadPlain(l *model.Load) string {
	var b strings.Builder
	for line := range strings.Lines(l.Text) {
		b.WriteString(strings.TrimRight(plain(strings.TrimSuffix(line, "\n")), " ") + "\n")
	}
	return b.String()
}

// loadText writes what a load did as its command printed it.
func loadText(w io.Writer, r *model.Results) error {
	text := loadPlain(r.Load)
	for _, d := range r.Warnings {
		text += fmt.Sprintf("\nWarning: %s\n  %s\n", plain(d.What), plain(d.Next))
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func loadMarkdown(w io.Writer, r *model.Results) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", md(r.Load.Line))
	for line := range strings.Lines(loadPlain(r.Load)) {
		b.WriteString("    " + line) // a block of code: tables keep their columns
	}
	fmt.Fprintf(&b, "\nlinerate %s, `%s`, %s\n", md(r.Build), code("linerate "+r.Command), moment(r.Started))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// loadPage is a page of a load: its line, its rates over time, and its text.
const loadPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>linerate: {{.Line}}</title>
<style>{{.Style}}</style>
</head>
<body>
<header class="top"><span class="brand">linerate</span><span>{{.Command}}</span><span>{{.When}}</span></header>
<main>
<section class="verdict" aria-label="Result"><h1>{{.Line}}</h1></section>
{{range .Figures}}<section><h2>{{.Title}}</h2><figure>{{.SVG}}</figure></section>
{{end}}<section aria-label="Figures"><h2>Figures</h2><pre class="mono">{{.Text}}</pre></section>
{{range .Warnings}}<p class="muted">{{.What}} {{.Next}}</p>
{{end}}<footer><dl>{{range .Provenance}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl></footer>
</main>
</body>
</html>
`

type loadFigure struct {
	Title string
	SVG   template.HTML
}

func loadHTML(w io.Writer, r *model.Results) error {
	t, err := template.New("load").Parse(loadPage)
	if err != nil {
		return fmt.Errorf("read report template: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, map[string]any{
		"Style": template.CSS(styleText), "Line": plain(r.Load.Line), "Command": r.Command, "When": moment(r.Started), "Text": loadPlain(r.Load),
		"Figures": loadFigures(r.Load), "Warnings": r.Warnings, "Provenance": provenance(r),
	}); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// loadFigures are the rates over time.
func loadFigures(l *model.Load) (out []loadFigure) {
	for i, s := range l.Series {
		if len(s.Values) < 2 || s.Each < 1 {
			continue // a single value is no course
		}
		var points []chart.Point
		least, most := s.Values[0], s.Values[0]
		scale, unitName := 1.0, s.Unit
		for _, v := range s.Values {
			least, most = min(least, v), max(most, v)
		}
		for k, v := range s.Values {
			points = append(points, chart.Point{X: float64(k*s.Each) + float64(s.Each)/2, Y: v})
		}
		if most >= 1e6 && (s.Unit == "B/s" || s.Unit == "bit/s") {
			scale, unitName = 1e6, "M"+s.Unit
		}
		for k := range points {
			points[k].Y /= scale
		}
		title := plain(s.Name)
		out = append(out, loadFigure{title, template.HTML(chart.Line{
			Figure: chart.Figure{ID: fmt.Sprintf("load%d", i), Title: title,
				Desc: fmt.Sprintf("%s, a value for every %d s: from %.4g to %.4g %s", title, s.Each, least/scale, most/scale, plain(unitName))},
			XUnit: "s", YUnit: plain(unitName), Series: []chart.Series{{Name: title, Class: "s1", Points: points}},
		}.SVG())})
	}
	return out
}
