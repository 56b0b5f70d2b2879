package chart

// Size of one of several small charts that stand side by side.
const (
	smallWidth  = 260.0
	smallHeight = 116.0
	smallLeft   = 42.0
	smallRight  = smallWidth - 8
	smallTop    = 10.0
	smallBottom = smallHeight - 22
)

// Small is one of several line charts of the same axes: a thin line for each
// run and a thick one for their middle. Classes: fig small, grid, axis, tick,
// thin, line s1.
type Small struct {
	Figure
	XUnit string
	Runs  [][]Point
	Mid   []Point
	Right float64 // the end of the x axis, the same for all that are compared
	Top   float64 // likewise of y
}

// SVG draws the chart.
func (s Small) SVG() string {
	x := newAxis(0, s.Right, smallLeft, smallRight, 4, false)
	y := newAxis(0, s.Top, smallBottom, smallTop, 2, true)
	var c canvas
	c.open(s.Figure, "fig small", smallWidth, smallHeight, false)
	for _, v := range y.ticks() {
		c.line("grid", smallLeft, y.at(v), smallRight, y.at(v))
		c.text("tick", "end", smallLeft-5, y.at(v)+4, y.label(v))
	}
	c.line("axis", smallLeft, smallBottom, smallRight, smallBottom)
	c.text("tick", "start", smallLeft, smallBottom+16, "0")
	c.text("tick", "end", smallRight, smallBottom+16, x.label(x.hi)+" "+s.XUnit)
	for _, r := range s.Runs {
		for _, d := range paths(r, x, y) {
			c.put(`<path class="thin" d="`, d, "\"/>\n")
		}
	}
	for _, d := range paths(s.Mid, x, y) {
		c.put(`<path class="line s1" d="`, d, "\"/>\n")
	}
	return c.end()
}
