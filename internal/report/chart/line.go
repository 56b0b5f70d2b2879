package chart

import (
	"strings"

	"linerate/internal/stat"
)

// Point is one reading. A point that is not finite breaks the line.
type Point struct{ X, Y float64 }

// Series is one line. Class is s1 … s4.
type Series struct {
	Name   string
	Class  string
	Points []Point
}

// Mark is a horizontal reference line with its label; class mark.
type Mark struct {
	Y     float64
	Label string
}

// Turn is a vertical reference line with its label; class mark.
type Turn struct {
	X     float64
	Label string
}

// Line is a line chart with a time axis. Y starts at zero. Classes: fig,
// grid, axis, tick, unit, line, mark, marklabel, shade, s1 … s4.
type Line struct {
	Figure
	XUnit, YUnit string
	Series       []Series
	Marks        []Mark
	// Turns are vertical lines at the moments at which the curve changed for good.
	Turns []Turn
	// Shade greys the span from the first x to this one (a warm-up); 0: none.
	Shade float64
}

// Plot area within the figure.
const (
	plotLeft   = 56.0
	plotRight  = width - 12
	plotTop    = 26.0
	plotBottom = height - 30
)

// SVG draws the chart. Without a finite point it is an empty frame.
func (l Line) SVG() string {
	lo, hi, top := l.bounds()
	x := newAxis(lo, hi, plotLeft, plotRight, 6, false)
	y := newAxis(0, top, plotBottom, plotTop, 5, true)
	var c canvas
	c.open(l.Figure, "fig", width, height, false)
	if l.Shade > x.lo {
		c.rect("shade", plotLeft, plotTop, x.at(min(l.Shade, x.hi))-plotLeft, plotBottom-plotTop, "warm-up: not counted")
	}
	frame(&c, x, y, l.XUnit, l.YUnit)
	for _, m := range l.Marks {
		drawMark(&c, y, m)
	}
	for _, m := range l.Turns {
		if stat.Finite(m.X) && m.X >= x.lo && m.X <= x.hi {
			at, anchor := x.at(m.X)+4, "start"
			if at > (plotLeft+plotRight)/2 {
				at, anchor = at-8, "end"
			}
			c.line("mark", x.at(m.X), plotTop, x.at(m.X), plotBottom)
			c.text("marklabel", anchor, at, plotTop+11, m.Label)
		}
	}
	for _, s := range l.Series {
		for _, d := range paths(s.Points, x, y) {
			c.put(`<path class="line `, ident(s.Class), `" d="`, d, "\"/>\n")
		}
	}
	return c.end()
}

// bounds are the x range and the largest y of everything drawn.
func (l Line) bounds() (lo, hi, top float64) {
	first := true
	for _, s := range l.Series {
		for _, p := range s.Points {
			if !stat.Finite(p.X) || !stat.Finite(p.Y) {
				continue
			}
			if first {
				lo, hi, first = p.X, p.X, false
			}
			lo, hi, top = min(lo, p.X), max(hi, p.X), max(top, p.Y)
		}
	}
	for _, m := range l.Marks {
		if stat.Finite(m.Y) {
			top = max(top, m.Y)
		}
	}
	if lo > 0 && lo < hi/2 {
		lo = 0 // the time axis starts with the run, as every chart's beside it
	}
	return lo, hi, top
}

// frame draws grid, ticks and units.
func frame(c *canvas, x, y axis, xUnit, yUnit string) {
	for _, v := range y.ticks() {
		c.line("grid", plotLeft, y.at(v), plotRight, y.at(v))
		c.text("tick", "end", plotLeft-7, y.at(v)+4, y.label(v))
	}
	c.text("unit", "end", plotLeft-7, plotTop-13, yUnit)
	ticks := x.ticks()
	for i, v := range ticks {
		c.line("axis", x.at(v), plotBottom, x.at(v), plotBottom+4)
		label, anchor, at := x.label(v), "middle", x.at(v)
		if i == len(ticks)-1 {
			label += " " + xUnit
		}
		if at > plotRight-24 { // a centred label would leave the figure
			anchor, at = "end", width-1
		}
		c.text("tick", anchor, at, plotBottom+19, label)
	}
	c.line("axis", plotLeft, plotBottom, plotRight, plotBottom)
}

func drawMark(c *canvas, y axis, m Mark) {
	if !stat.Finite(m.Y) || m.Y < 0 {
		return
	}
	c.line("mark", plotLeft, y.at(m.Y), plotRight, y.at(m.Y))
	c.text("marklabel", "end", plotRight, y.at(m.Y)-5, m.Label)
}

// paths turns points into path data, one per unbroken piece.
func paths(points []Point, x, y axis) []string {
	var out []string
	var d strings.Builder
	flush := func() {
		if d.Len() > 0 {
			out = append(out, d.String())
			d.Reset()
		}
	}
	for _, p := range points {
		if !stat.Finite(p.X) || !stat.Finite(p.Y) {
			flush()
			continue
		}
		op := "L"
		if d.Len() == 0 {
			op = "M"
		}
		d.WriteString(op + num(x.at(p.X)) + " " + num(y.at(max(p.Y, 0))))
	}
	flush()
	return out
}
