package report

import (
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
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

// loadFigures are what the load did over time: series of one figure together.
func loadFigures(l *model.Load) (out []document.Figure) {
	var order []string
	parts := map[string][]model.LoadSeries{}
	for i, s := range l.Series {
		name := s.Figure
		if name == "" {
			name = fmt.Sprint(i, "\x00", s.Name) // by itself, whatever others are called
		}
		if len(s.Values) < 2 || s.Each < 1 {
			continue // a single value is no course
		}
		if parts[name] == nil {
			order = append(order, name)
		}
		parts[name] = append(parts[name], s)
	}
	for i, name := range order {
		c := newCourse(fmt.Sprintf("load%d", i), parts[name])
		if len(c.parts) > mostLines {
			out = append(out, c.small())
		} else {
			out = append(out, c.lines())
		}
	}
	return out
}

// Bounds of what is drawn: lines in one frame, and frames beside each other.
const (
	mostLines  = 4
	mostFrames = 32
)

// loadCourse is one figure over time.
type loadCourse struct {
	id, caption, unit string
	parts             []model.LoadSeries
	scale             float64
	points            [][]chart.Point
}

func newCourse(id string, parts []model.LoadSeries) loadCourse {
	c := loadCourse{id: id, caption: parts[0].Figure, unit: parts[0].Unit, parts: parts, scale: 1}
	if c.caption == "" {
		c.caption = parts[0].Name
	}
	most := 0.0
	for _, s := range parts {
		most = max(most, slices.Max(s.Values))
	}
	switch {
	case most >= 1e6 && (c.unit == "B/s" || c.unit == "bit/s"):
		c.scale, c.unit = 1e6, "M"+c.unit
	case c.unit == "ms" && most < 1:
		c.scale, c.unit = 1e-3, "µs"
	case c.unit == "ms" && most >= 10e3:
		c.scale, c.unit = 1e3, "s"
	}
	for _, s := range parts {
		c.points = append(c.points, coursePoints(s, c.scale))
	}
	return c
}

// coursePoints are a series' values in the middle of their seconds, at most maxPoints: of
// neighbours the mean is drawn, of maxima the largest. A latency of 0 is that of no request, a
// gap.
func coursePoints(s model.LoadSeries, scale float64) (out []chart.Point) {
	k := (len(s.Values) + maxPoints - 1) / maxPoints
	for from := 0; from < len(s.Values); from += k {
		part := s.Values[from:min(from+k, len(s.Values))]
		y := stat.Mean(part)
		if s.Most {
			y = slices.Max(part)
		}
		if y == 0 && s.Unit == "ms" {
			y = math.NaN()
		}
		out = append(out, chart.Point{X: (float64(from) + float64(len(part))/2) * float64(s.Each), Y: y / scale})
	}
	return out
}

// said is a series in words: between which values it lies, and its median.
func (c loadCourse) said(i int) (desc, median string) {
	s := c.parts[i]
	seen := slices.Clone(s.Values)
	if s.Unit == "ms" {
		seen = slices.DeleteFunc(seen, func(v float64) bool { return v == 0 })
	}
	if len(seen) == 0 {
		return s.Name + ": no request ended", "no request ended"
	}
	return fmt.Sprintf("%s, a value for every %d s: from %.4g to %.4g %s", s.Name, s.Each, slices.Min(seen)/c.scale, slices.Max(seen)/c.scale, c.unit),
		fmt.Sprintf("median %.4g %s", stat.Median(seen)/c.scale, c.unit)
}

func (c loadCourse) lines() document.Figure {
	f := document.Figure{Caption: c.caption}
	l := chart.Line{Figure: chart.Figure{ID: c.id, Title: c.caption}, XUnit: "s", YUnit: c.unit}
	for i, s := range c.parts {
		desc, median := c.said(i)
		class := fmt.Sprintf("s%d", i+1)
		l.Desc += map[bool]string{true: "; "}[i > 0] + desc
		l.Series = append(l.Series, chart.Series{Name: s.Name, Class: class, Points: c.points[i]})
		if ch := s.Change; ch != nil {
			word := "cliff"
			if ch.Behind > ch.Before {
				word = "rise"
			}
			l.Turns = append(l.Turns, chart.Turn{X: float64(ch.At), Label: fmt.Sprintf("%s at %d s", word, ch.At)})
			median = fmt.Sprintf("%.4g %s, then %.4g %s from %d s on: two levels, which no mean describes", ch.Before/c.scale, c.unit, ch.Behind/c.scale, c.unit, ch.At)
			l.Desc += "; " + median
		}
		f.Legend = append(f.Legend, legend(class, s.Name, median))
	}
	f.Panels = []document.Panel{panel("", l)}
	return f
}

// small has a frame for each series, all with the same axes.
func (c loadCourse) small() document.Figure {
	f := document.Figure{Caption: c.caption}
	right, highest := 0.0, 0.0
	for _, p := range c.points {
		right, highest = max(right, p[len(p)-1].X), max(highest, top(p))
	}
	for i, s := range c.parts {
		if i == mostFrames {
			f.Note = fmt.Sprintf("The first %d of %d; the bundle has all.", mostFrames, len(c.parts))
			break
		}
		desc, median := c.said(i)
		f.Panels = append(f.Panels, panel(s.Name+": "+median, chart.Small{
			Figure: chart.Figure{ID: fmt.Sprintf("%sp%d", c.id, i), Title: s.Name, Desc: desc}, XUnit: "s", Mid: c.points[i], Right: right, Top: highest,
		}))
	}
	return f
}
