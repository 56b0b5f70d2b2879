package chart

import "linerate/internal/stat"

// Size of a figure without text; the page stretches it.
const (
	barWidth  = 1000.0
	barHeight = 20.0
)

// Meter is one horizontal bar: how much of a ceiling was measured, on a scale
// shared with other meters. Classes: meter, track, ceiling, value, beyond, mark.
type Meter struct {
	Figure
	Scale   float64  // the value at the right end
	Ceiling *float64 // nil: not known
	Value   *float64 // nil: not measured
	Mark    *float64 // what was predicted; nil: nothing was
}

// SVG draws the meter. What lies beyond the scale is cut off with a gap.
func (m Meter) SVG() string {
	var c canvas
	c.open(m.Figure, "meter", barWidth, barHeight, true)
	c.rect("track", 0, 0, barWidth, barHeight, "")
	m.bar(&c, "ceiling", m.Ceiling, 0, barHeight)
	m.bar(&c, "value", m.Value, 4, barHeight-8)
	if v := m.Mark; v != nil && stat.Finite(*v) && *v > 0 && stat.Finite(m.Scale) && *v <= m.Scale {
		c.rect("mark", max(0, *v/m.Scale*barWidth-2), 0, 4, barHeight, "predicted")
	}
	return c.end()
}

func (m Meter) bar(c *canvas, class string, v *float64, y, h float64) {
	if v == nil || !stat.Finite(*v) || *v <= 0 || !stat.Finite(m.Scale) || m.Scale <= 0 {
		return
	}
	w := *v / m.Scale * barWidth
	c.rect(class, 0, y, min(w, barWidth), h, "")
	if w > barWidth*1.001 {
		c.rect("beyond", barWidth-36, 0, 8, barHeight, "")
	}
}

// Part is one part of a stacked bar. Class is p1 … p6.
type Part struct {
	Name  string
	Class string
	Share float64 // of the whole bar, 0..1
	Text  string  // tooltip; empty: the name
}

// Stack is one horizontal bar made of parts of a whole. Classes: stack, track,
// part, p1 … p6.
type Stack struct {
	Figure
	Parts []Part
}

// SVG draws the bar. Parts that are not finite or not positive are left out;
// past the whole the bar ends.
func (s Stack) SVG() string {
	var c canvas
	c.open(s.Figure, "stack", barWidth, barHeight, true)
	c.rect("track", 0, 0, barWidth, barHeight, "")
	x := 0.0
	for _, p := range s.Parts {
		if !stat.Finite(p.Share) || p.Share <= 0 {
			continue
		}
		w := min(p.Share*barWidth, barWidth-x)
		title := p.Text
		if title == "" {
			title = p.Name
		}
		c.rect("part "+ident(p.Class), x, 0, w, barHeight, title)
		x += w
	}
	return c.end()
}
