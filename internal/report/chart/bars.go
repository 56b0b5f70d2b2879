package chart

import (
	"math"

	"linerate/internal/stat"
)

// Bar is one row of Bars. Class is b1 … b5.
type Bar struct {
	Label string
	Text  string // the value in words, at the right end of the row
	Class string
	Value *float64 // nil: there is none, and the row has text only
	Low   *float64 // ends of the interval; nil: not bounded on that side
	High  *float64
	Span  bool   // an interval is drawn; an end that is nil then runs to the edge
	Title string // tooltip
}

// Bars are horizontal bars from zero on one axis, each below its label, so
// that long names and narrow pages do not cut them. Classes: fig, grid, axis,
// tick, unit, band, mark, label, figure, bar b1 … b5, whisker.
type Bars struct {
	Figure
	Unit string
	Rows []Bar
	// Ref is where all are compared to: a line; nil: none. From Low to High of
	// Band a difference is of no use.
	Ref  *float64
	Band *[2]float64
	Top  float64 // the least that the axis covers
}

// Geometry of a row, in user units.
const (
	rowHeight = 44.0
	rowText   = 14.0
	rowBar    = 20.0
	barThick  = 13.0
	barLeft   = 2.0
	barRight  = width - 10
	maxLabel  = 38 // characters of a label that fit beside the value on a narrow page
)

// SVG draws the bars. A value that is not finite leaves its row without one.
func (b Bars) SVG() string {
	bottom := rowHeight*float64(max(len(b.Rows), 1)) + 4
	x := newAxis(0, b.top(), barLeft, barRight, 6, true)
	var c canvas
	c.open(b.Figure, "fig bars", width, bottom+34, false)
	if b.Band != nil && stat.Finite(b.Band[0]) && stat.Finite(b.Band[1]) {
		c.rect("band", x.at(max(0, b.Band[0])), 0, x.at(b.Band[1])-x.at(max(0, b.Band[0])), bottom, "")
	}
	ticks := x.ticks()
	for i, v := range ticks {
		c.line("grid", x.at(v), rowText+2, x.at(v), bottom)
		label := x.label(v)
		if i == len(ticks)-1 {
			label += b.Unit
			c.text("tick", "end", width-1, bottom+18, label)
			continue
		}
		anchor := "middle"
		if i == 0 {
			anchor = "start"
		}
		if x.at(v) < barRight-52 { // the last label, with its unit, needs room
			c.text("tick", anchor, x.at(v), bottom+18, label)
		}
	}
	if b.Ref != nil && stat.Finite(*b.Ref) {
		c.line("mark", x.at(*b.Ref), 0, x.at(*b.Ref), bottom)
	}
	for i, row := range b.Rows {
		row.draw(&c, x, float64(i)*rowHeight)
	}
	c.line("axis", barLeft, bottom, barRight, bottom)
	return c.end()
}

func (r Bar) draw(c *canvas, x axis, y float64) {
	c.text("label", "start", barLeft, y+rowText, Cut(r.Label, maxLabel))
	c.text("figure", "end", barRight, y+rowText, r.Text)
	if r.Value == nil || !stat.Finite(*r.Value) || *r.Value < 0 {
		return
	}
	c.rect("bar "+ident(r.Class), barLeft, y+rowBar, max(0, x.at(*r.Value)-barLeft), barThick, r.Title)
	if !r.Span {
		return
	}
	mid := y + rowBar + barThick/2
	lo, hi := edge(r.Low, x.lo), edge(r.High, x.hi)
	c.line("whisker", x.at(lo), mid, x.at(hi), mid)
	if r.Low != nil {
		c.line("whisker", x.at(lo), mid-4, x.at(lo), mid+4)
	}
	if r.High != nil {
		c.line("whisker", x.at(hi), mid-4, x.at(hi), mid+4)
	}
}

// edge is an end of an interval, or of the axis where it has none.
func edge(v *float64, otherwise float64) float64 {
	if v == nil || !stat.Finite(*v) {
		return otherwise
	}
	return max(0, *v)
}

func (b Bars) top() float64 {
	top := b.Top
	if b.Ref != nil && stat.Finite(*b.Ref) {
		top = max(top, *b.Ref)
	}
	for _, r := range b.Rows {
		for _, v := range []*float64{r.Value, r.High} {
			if v != nil && stat.Finite(*v) {
				top = max(top, *v)
			}
		}
	}
	return math.Max(top, 0)
}

// Cut shortens a text to n characters; the whole of it is in the table behind.
func Cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
