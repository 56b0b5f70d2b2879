package report

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

const ladderLead = "Each rung adds one part of the way from memory to storage. The cause is at the first rung that falls short of its ceiling."

func ladderSection(r *model.Results) document.Section {
	s := document.Section{Title: "Ladder"}
	if len(r.Ladder) == 0 {
		s.Blocks = []document.Block{{For: document.Page, Note: "No ladder was climbed in this run."}}
		return s
	}
	s.Blocks = []document.Block{{For: document.Page, Text: ladderLead}, {Rungs: Rungs(r.Ladder, r.Verdict.Ceiling)}}
	return s
}

// Rungs draws the rungs of a ladder to one scale; ceiling is the path's, nil where it is not known.
func Rungs(ladder []model.Rung, ceiling *unit.BitRate) []document.Rung {
	scale := ladderScale(ladder, ceiling)
	var out []document.Rung
	for i, rung := range ladder {
		v := document.Rung{Name: rung.Rung, Measured: "not seen"}
		if number(rung.Predicted) != nil {
			v.Predicted = rate(rung.Predicted)
		}
		if rung.PredictedFrom != "" {
			v.Notes = append(v.Notes, "predicted: "+rung.PredictedFrom)
		}
		if !rung.Seen {
			if v.Show = rung.How; rung.Tried {
				v.Why, v.Show = rung.How, ""
			}
			out = append(out, v)
			continue
		}
		v.Measured, v.Ceiling, v.Words, v.Method = rate(rung.Measured), rate(rung.Ceiling), measuredWords(rung), rung.Method
		if rung.Formula != "" {
			v.Notes = append([]string{"ceiling: " + rung.Formula}, v.Notes...)
		}
		if s, ok := shareOf(rung); ok {
			v.Share = shareText(s)
		}
		v.Meter = &chart.Meter{Scale: scale, Ceiling: number(rung.Ceiling), Value: number(rung.Measured), Mark: number(rung.Predicted), Figure: chart.Figure{
			ID: fmt.Sprintf("rung-%d", i), Title: rung.Rung, Desc: "measured " + v.Words}}
		out = append(out, v)
	}
	return out
}

func measuredWords(r model.Rung) string {
	switch {
	case number(r.Measured) == nil:
		return "not measured, ceiling " + rate(r.Ceiling)
	case number(r.Ceiling) == nil:
		return rate(r.Measured) + ", ceiling " + unknown
	}
	return rate(r.Measured) + " of " + rate(r.Ceiling)
}

// ladderScale is what every rung's bar is drawn to: the path's ceiling with
// some room. Memory moves many times that and would leave nothing to see of
// the rungs that matter, so it is cut off there.
func ladderScale(ladder []model.Rung, ceiling *unit.BitRate) float64 {
	if c := number(ceiling); c != nil && *c > 0 {
		return *c * 1.15
	}
	if most := mostOf(ladder, func(name string) bool { return name != "memory" && name != "local loopback" }); most > 0 {
		return most * 1.05
	}
	return mostOf(ladder, func(string) bool { return true }) * 1.05
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
