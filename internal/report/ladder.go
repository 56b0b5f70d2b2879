package report

import (
	"fmt"
	"html/template"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// rungView is one rung as the page shows it.
type rungView struct {
	model.Rung
	Words string // measured of ceiling
	Share string
	SVG   template.HTML
}

func ladderOf(r *model.Results) []rungView {
	scale := ladderScale(r)
	var out []rungView
	for i, rung := range r.Ladder {
		v := rungView{Rung: rung, Words: rungWords(rung)}
		if s, ok := shareOf(rung); ok {
			v.Share = percent(s)
		}
		if rung.Seen {
			m := chart.Meter{Scale: scale, Ceiling: number(rung.Ceiling), Value: number(rung.Measured), Mark: number(rung.Predicted), Figure: chart.Figure{
				ID: fmt.Sprintf("rung-%d", i), Title: rung.Rung, Desc: "measured " + v.Words}}
			v.SVG = template.HTML(m.SVG()) // chart escapes every text
		}
		out = append(out, v)
	}
	return out
}

// rungWords is what a rung was measured to do, and could.
func rungWords(r model.Rung) string { return measuredWords(r) + predictedWords(r) }

func measuredWords(r model.Rung) string {
	switch {
	case number(r.Measured) == nil:
		return "not measured, ceiling " + rate(r.Ceiling)
	case number(r.Ceiling) == nil:
		return rate(r.Measured) + ", ceiling " + unknown
	}
	return rate(r.Measured) + " of " + rate(r.Ceiling)
}

// predictedWords is what the model said before the rung was measured.
func predictedWords(r model.Rung) string {
	if number(r.Predicted) == nil {
		return ""
	}
	return ", predicted " + rate(r.Predicted)
}

// unseenWords says why a rung has no figure, and what it was predicted to do.
func unseenWords(r model.Rung) string {
	s := "not seen"
	switch {
	case r.How == "":
	case r.Tried:
		s += ": " + r.How
	default:
		s += "; to see it: " + r.How
	}
	if number(r.Predicted) != nil {
		s += " (predicted " + rate(r.Predicted) + ")"
	}
	return s
}

// ladderScale is what every rung's bar is drawn to: the path's ceiling with
// some room. Memory moves many times that and would leave nothing to see of
// the rungs that matter, so it is cut off there.
func ladderScale(r *model.Results) float64 {
	if c := number(r.Verdict.Ceiling); c != nil && *c > 0 {
		return *c * 1.15
	}
	if most := mostOf(r.Ladder, func(name string) bool { return name != "memory" && name != "local loopback" }); most > 0 {
		return most * 1.05
	}
	return mostOf(r.Ladder, func(string) bool { return true }) * 1.05
}

// mostOf is the largest figure of the seen rungs whose name is taken.
func mostOf(ladder []model.Rung, take func(string) bool) float64 {
	most := 0.0
	for _, rung := range ladder {
		for _, v := range []*float64{number(rung.Ceiling), number(rung.Measured)} {
			if v != nil && rung.Seen && take(rung.Rung) {
				most = max(most, *v)
			}
		}
	}
	return most
}

// shareOf is measured over ceiling, where both are known.
func shareOf(r model.Rung) (float64, bool) {
	c, m := number(r.Ceiling), number(r.Measured)
	if c == nil || m == nil || *c <= 0 {
		return 0, false
	}
	return *m / *c, true
}

// number is a rate's value; nil when it is not known or not a number.
func number(r *unit.BitRate) *float64 {
	if r == nil || !stat.Finite(float64(*r)) {
		return nil
	}
	v := float64(*r)
	return &v
}
