package chart

import "linerate/internal/stat"

// Dot is one run. Class is before, after, control, or out: not counted.
type Dot struct {
	X, Y  float64
	Class string
	Title string // tooltip
}

// Dots shows every run in the order it was made. Y need not start at zero:
// position, not length, is what is compared. Classes: as Line, and dot before,
// dot after, dot control, cross.
type Dots struct {
	Figure
	XUnit, YUnit string
	Dots         []Dot
	Marks        []Mark
}

// SVG draws the dots; one that is not finite is left out.
func (d Dots) SVG() string {
	x, y := d.axes()
	var c canvas
	c.open(d.Figure, "fig", width, height, false)
	frame(&c, x, y, d.XUnit, d.YUnit)
	for _, m := range d.Marks {
		drawMark(&c, y, m)
	}
	for _, p := range d.Dots {
		if !stat.Finite(p.X) || !stat.Finite(p.Y) {
			continue
		}
		px, py := x.at(p.X), y.at(p.Y)
		if p.Class == "out" {
			c.line("cross", px-4, py-4, px+4, py+4)
			c.line("cross", px-4, py+4, px+4, py-4)
			continue
		}
		c.circle("dot "+ident(p.Class), px, py, 3.6, p.Title)
	}
	return c.end()
}

func (d Dots) axes() (x, y axis) {
	var xs, ys []float64
	for _, p := range d.Dots {
		if stat.Finite(p.X) && stat.Finite(p.Y) {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	for _, m := range d.Marks {
		if stat.Finite(m.Y) {
			ys = append(ys, m.Y)
		}
	}
	xlo, xhi := ends(xs)
	ylo, yhi := ends(ys)
	y = newAxis(ylo, yhi, plotBottom, plotTop, 5, true)
	low := float64(int(ylo/y.step)) * y.step
	if low > ylo {
		low -= y.step
	}
	return newAxis(xlo-0.5, xhi+0.5, plotLeft, plotRight, 5, false), newAxis(low, y.hi, plotBottom, plotTop, 5, true)
}

func ends(vs []float64) (lo, hi float64) {
	for i, v := range vs {
		if i == 0 {
			lo, hi = v, v
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}
