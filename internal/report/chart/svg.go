package chart

import (
	"html"
	"strconv"
	"strings"
	"unicode"

	"linerate/internal/stat"
)

// Size of the figures with axes, in user units; the page scales them.
const (
	width  = 540.0
	height = 220.0
)

// Figure is what every figure needs for readers who do not see it. ID must be
// unique in the page.
type Figure struct {
	ID    string
	Title string // what is shown
	Desc  string // what it shows: the numbers in words
}

// canvas collects SVG elements.
type canvas struct{ strings.Builder }

// open starts the svg element. stretch lets the page choose any width for a
// figure without text.
func (c *canvas) open(f Figure, class string, w, h float64, stretch bool) {
	id := ident(f.ID)
	c.put(`<svg class="`, class, `" role="img" viewBox="0 0 `, num(w), ` `, num(h), `"`)
	if stretch {
		c.put(` preserveAspectRatio="none"`)
	}
	c.put(` aria-labelledby="`, id, `-t `, id, `-d"><title id="`, id, `-t">`, Escape(f.Title),
		`</title><desc id="`, id, `-d">`, Escape(f.Desc), "</desc>\n")
}

func (c *canvas) end() string {
	c.put("</svg>")
	return c.String()
}

func (c *canvas) put(parts ...string) {
	for _, p := range parts {
		c.WriteString(p)
	}
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.put(`<line class="`, class, `" x1="`, num(x1), `" y1="`, num(y1), `" x2="`, num(x2), `" y2="`, num(y2), "\"/>\n")
}

func (c *canvas) rect(class string, x, y, w, h float64, title string) {
	c.put(`<rect class="`, class, `" x="`, num(x), `" y="`, num(y), `" width="`, num(w), `" height="`, num(h), `"`)
	c.close("rect", title)
}

func (c *canvas) circle(class string, x, y, r float64, title string) {
	c.put(`<circle class="`, class, `" cx="`, num(x), `" cy="`, num(y), `" r="`, num(r), `"`)
	c.close("circle", title)
}

// close ends an element, with its tooltip if there is one.
func (c *canvas) close(tag, title string) {
	if title == "" {
		c.put("/>\n")
		return
	}
	c.put("><title>", Escape(title), "</title></", tag, ">\n")
}

// text writes a label; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	c.put(`<text class="`, class, `" x="`, num(x), `" y="`, num(y), `" text-anchor="`, anchor, `">`, Escape(s), "</text>\n")
}

// Escape makes a text safe inside SVG and HTML: markup is escaped, and
// control characters, which XML does not allow and terminals obey, are gone.
func Escape(s string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	return html.EscapeString(clean)
}

// ident keeps an id to characters that need no escaping in an attribute or a
// reference.
func ident(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}

// num prints a coordinate with one decimal. What is not finite was filtered
// before; should one get here it must not break the document.
func num(v float64) string {
	if !stat.Finite(v) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}
