package chart

import "linerate/internal/stat"

// Spot is a measured point with the ends of what was measured there.
type Spot struct {
	X, Y      float64
	Low, High float64 // equal to Y: no spread is drawn
	Title     string  // tooltip
}

// Curve is a line through spots. Class is s1 … s4.
type Curve struct {
	Name  string
	Class string
	Spots []Spot
}

// Trend shows how an outcome follows a number that was varied: points at that
// number on a linear axis, joined in their order, with whiskers. Y starts at
// zero. Classes: as Line, and spot s1 … s4, whisker.
type Trend struct {
	Figure
	XUnit, YUnit string
	Curves       []Curve
	Marks        []Mark
}

// SVG draws the chart. Spots that are not finite are left out.
func (t Trend) SVG() string {
	x, y := t.axes()
	var c canvas
	c.open(t.Figure, "fig", width, height, false)
	for _, v := range y.ticks() {
		c.line("grid", plotLeft, y.at(v), plotRight, y.at(v))
		c.text("tick", "end", plotLeft-7, y.at(v)+4, y.label(v))
	}
	c.text("unit", "end", plotLeft-7, plotTop-13, t.YUnit)
	t.places(&c, x)
	c.line("axis", plotLeft, plotBottom, plotRight, plotBottom)
	for _, m := range t.Marks {
		drawMark(&c, y, m)
	}
	for _, s := range t.Curves {
		s.draw(&c, x, y)
	}
	return c.end()
}

// places writes each x once, leaving out those that would touch.
func (t Trend) places(c *canvas, x axis) {
	last := -1e9
	for _, s := range t.Curves {
		for _, p := range s.Spots {
			at := x.at(p.X)
			if !stat.Finite(p.X) || at < last+30 {
				continue
			}
			last = at
			c.line("axis", at, plotBottom, at, plotBottom+4)
			c.text("tick", "middle", at, plotBottom+17, sigLabel(p.X))
		}
	}
	c.text("unit", "end", plotRight, plotTop-13, t.XUnit+" →")
}

func (s Curve) draw(c *canvas, x, y axis) {
	var line []Point
	for _, p := range s.Spots {
		line = append(line, Point{p.X, p.Y})
	}
	for _, d := range paths(line, x, y) {
		c.put(`<path class="line `, ident(s.Class), `" d="`, d, "\"/>\n")
	}
	for _, p := range s.Spots {
		if !stat.Finite(p.X) || !stat.Finite(p.Y) {
			continue
		}
		at := x.at(p.X)
		if stat.Finite(p.Low) && stat.Finite(p.High) && p.High > p.Low {
			for _, v := range []float64{p.Low, p.High} {
				c.line("whisker", at-4, y.at(max(0, v)), at+4, y.at(max(0, v)))
			}
			c.line("whisker", at, y.at(max(0, p.Low)), at, y.at(max(0, p.High)))
		}
		c.circle("spot "+ident(s.Class), at, y.at(max(0, p.Y)), 4.5, p.Title)
	}
}

func (t Trend) axes() (x, y axis) {
	lo, hi, top, first := 0.0, 0.0, 0.0, true
	for _, s := range t.Curves {
		for _, p := range s.Spots {
			if !stat.Finite(p.X) || !stat.Finite(p.Y) {
				continue
			}
			if first {
				lo, hi, first = p.X, p.X, false
			}
			lo, hi, top = min(lo, p.X), max(hi, p.X), max(top, p.Y)
			if stat.Finite(p.High) {
				top = max(top, p.High)
			}
		}
	}
	for _, m := range t.Marks {
		if stat.Finite(m.Y) {
			top = max(top, m.Y)
		}
	}
	room := (hi - lo) * 0.06 // dots at the ends lie within the frame
	return newAxis(lo-room, hi+room, plotLeft, plotRight, 6, false), newAxis(0, top, plotBottom, plotTop, 5, true)
}
