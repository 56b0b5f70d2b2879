package chart

import "linerate/internal/stat"

// Pair is two measurements made side by side.
type Pair struct {
	Label        string
	Before       float64
	After        float64
	BeforeDetail string // tooltip
	AfterDetail  string
	Control      bool // an A/A pair: both are the same treatment
}

// Pairs is a paired dot plot: one column per pair, in the order they were
// made, with the two dots joined. Classes: as Line, and join, dot before, dot
// after, dot control.
type Pairs struct {
	Figure
	YUnit string
	Pairs []Pair
	Marks []Mark
}

// SVG draws the plot. A pair with a value that is not finite leaves its column
// empty.
func (p Pairs) SVG() string {
	y := newAxis(0, p.top(), plotBottom, plotTop, 5, true)
	var c canvas
	c.open(p.Figure, "fig", width, height, false)
	for _, v := range y.ticks() {
		c.line("grid", plotLeft, y.at(v), plotRight, y.at(v))
		c.text("tick", "end", plotLeft-7, y.at(v)+4, y.label(v))
	}
	c.text("unit", "end", plotLeft-7, plotTop-13, p.YUnit)
	for _, m := range p.Marks {
		drawMark(&c, y, m)
	}
	c.line("axis", plotLeft, plotBottom, plotRight, plotBottom)
	step := (plotRight - plotLeft) / float64(max(len(p.Pairs), 1))
	for i, pair := range p.Pairs {
		p.column(&c, y, pair, plotLeft+(float64(i)+0.5)*step, i, step)
	}
	return c.end()
}

// every is how many columns share a label, so that labels never touch.
func every(step float64) int { return max(1, int(36/step)+1) }

func (p Pairs) column(c *canvas, y axis, pair Pair, x float64, i int, step float64) {
	if i > 0 && pair.Control != p.Pairs[i-1].Control {
		c.line("divide", x-step/2, plotTop, x-step/2, plotBottom)
	}
	if step >= 36 || i%every(step) == 0 {
		c.text("tick", "middle", x, plotBottom+19, pair.Label)
	}
	if !stat.Finite(pair.Before) || !stat.Finite(pair.After) {
		return
	}
	shift := min(step/6, 7) // side by side, so that equal values are both seen
	x1, x2 := x-shift, x+shift
	c.line("join", x1, y.at(max(pair.Before, 0)), x2, y.at(max(pair.After, 0)))
	before, after := "dot before", "dot after"
	if pair.Control {
		before, after = "dot control", "dot control"
	}
	c.circle(before, x1, y.at(max(pair.Before, 0)), 4.5, pair.BeforeDetail)
	c.circle(after, x2, y.at(max(pair.After, 0)), 4.5, pair.AfterDetail)
}

func (p Pairs) top() float64 {
	top := 0.0
	for _, pair := range p.Pairs {
		for _, v := range []float64{pair.Before, pair.After} {
			if stat.Finite(v) {
				top = max(top, v)
			}
		}
	}
	for _, m := range p.Marks {
		if stat.Finite(m.Y) {
			top = max(top, m.Y)
		}
	}
	return top
}
