package report

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
)

// loadOf is the document of a load: its line, its rates over time, and what its
// command printed.
func loadOf(r *model.Results) document.Document {
	l := r.Load
	d := document.Document{Title: "linerate: " + l.Line, Headline: l.Line, Command: r.Command, When: moment(r.Started), Build: r.Build, Sections: careOf(r)}
	if figures := loadFigures(l); len(figures) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Over time", For: document.Page, Blocks: []document.Block{{Figures: figures}}})
	}
	d.Add("Figures", document.Block{Pre: l.Text})
	d.Sections = append(d.Sections, document.Section{Title: "Provenance", For: document.Page, Blocks: []document.Block{{Pairs: provenance(r)}}})
	return d
}

// loadFigures are the rates over time.
func loadFigures(l *model.Load) (out []document.Figure) {
	for i, s := range l.Series {
		if len(s.Values) < 2 || s.Each < 1 {
			continue // a single value is no course
		}
		least, most := slices.Min(s.Values), slices.Max(s.Values)
		scale, unitName := 1.0, s.Unit
		if most >= 1e6 && (s.Unit == "B/s" || s.Unit == "bit/s") {
			scale, unitName = 1e6, "M"+s.Unit
		}
		var points []chart.Point
		for k, v := range s.Values {
			points = append(points, chart.Point{X: float64(k*s.Each) + float64(s.Each)/2, Y: v / scale})
		}
		out = append(out, document.Figure{Caption: s.Name, Panels: []document.Panel{panel("", chart.Line{
			Figure: chart.Figure{ID: fmt.Sprintf("load%d", i), Title: s.Name,
				Desc: fmt.Sprintf("%s, a value for every %d s: from %.4g to %.4g %s", s.Name, s.Each, least/scale, most/scale, unitName)},
			XUnit: "s", YUnit: unitName, Series: []chart.Series{{Name: s.Name, Class: "s1", Points: points}},
		})}})
	}
	return out
}
