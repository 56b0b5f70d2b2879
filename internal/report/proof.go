package report

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// proofSection is what the change did.
func proofSection(r *model.Results) document.Section {
	s := document.Section{Title: "Proof"}
	p := r.Proof
	if p == nil {
		s.Add(document.Block{For: document.Page, Note: "Nothing was changed in this run, so there is nothing to prove."})
		if g := r.Verdict.ExpectedGain; g != nil {
			s.Add(document.Block{For: document.Terminal, Text: "None. " + expected(g)})
		}
	} else {
		s.Add(proofBlocks(r)...)
	}
	t := document.Table{Caption: "Changes of this run", Head: document.Columns("Setting", "From", "To", "Why")}
	switch {
	case r.Restored && len(keptSteps(r)) == 0:
		t.Caption += "; all were undone"
	case r.Restored:
		t.Caption += "; all were undone but those that were kept"
	}
	for _, c := range r.Changes {
		if c.Why == r.Verdict.Line {
			c.Why = "the verdict above"
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: c.Setting, Sub: c.Target, Class: "mono whole"}, {Text: c.From, Class: "mono whole"}, {Text: c.To, Class: "mono whole"}, {Text: c.Why, Sub: c.Source}})
	}
	if len(t.Rows) > 0 {
		s.Add(document.Block{For: document.Papers, Table: &t})
	}
	return s
}

// expected is what the fix is expected to bring.
func expected(g *model.Gain) string {
	return "Expected without this limiter: " + rate(&g.Low) + " to " + rate(&g.High) + " (" + g.Why + ")"
}

func proofBlocks(r *model.Results) []document.Block {
	p := r.Proof
	text := proofDetail(p) + "."
	if c := controlSentence(p); c != "" {
		text += " " + c + "."
	}
	t := document.Table{Caption: "Goodput by kind of run. Changed by: " + p.By + ". Change: " + p.Treatment, Head: document.Columns("Runs", "#n", "#Least", "#Median", "#Most")}
	for _, g := range []struct {
		name  string
		rates []unit.BitRate
	}{{"A/A check (nothing changed)", p.AA}, {"baseline", p.Baseline}, {"with the change", p.Treated}} {
		if s := spreadOf(g.rates); s.N > 0 {
			t.Row(g.name, strconv.Itoa(s.N), rate(&s.Low), rate(&s.Mid), rate(&s.Top))
			t.Rows[len(t.Rows)-1][3].Class = "strong"
		}
	}
	out := []document.Block{{Strong: proofHeadline(p)}, {Text: text}}
	if fig, ok := pairsChart(p, r.Verdict.Ceiling); ok {
		out = append(out, document.Block{For: document.Page, Figures: []document.Figure{fig}})
	}
	if len(t.Rows) > 0 {
		out = append(out, t.Block())
	}
	if r.Injected != "" {
		out = append(out, document.Block{For: document.Terminal, Lines: []document.Line{{Label: "the lab", Text: r.Injected}}})
	}
	return append(out, document.Block{For: document.Page, Note: "Baseline and change were run in randomly ordered, neighbouring pairs whose number was fixed beforehand. The ratio is the geometric mean over the pairs; p comes from a sign-flip randomisation test on log-ratios, the interval from inverting that test."})
}

// proofHeadline is the outcome in a few words.
func proofHeadline(p *model.Proof) string {
	switch p.Effect {
	case "gain", "loss":
		if p.Ratio == nil {
			return "Goodput came back: the baseline moved nothing, so there is no ratio"
		}
		return fmt.Sprintf("%s the goodput", factor(p.Ratio))
	case "not in force":
		return "The change was not in force: nothing is proved"
	case "no effect":
		return "No effect was found"
	case model.StudyNoEffect:
		return "No effect of more than 2% is left to find"
	case model.StudyUndecided:
		return "Undecided: no effect was shown, and none excluded"
	}
	return "The outcome is " + unknown
}

// proofSentence is ratio, interval, p and n in one line.
func proofSentence(p *model.Proof) string {
	if p.Ratio == nil {
		return "no ratio (a baseline moved nothing), " + proofDetail(p)
	}
	return factor(p.Ratio) + ", " + proofDetail(p)
}

// proofDetail is proofSentence without the ratio, for places that have said
// it already.
func proofDetail(p *model.Proof) string {
	tail := fmt.Sprintf("p = %s, n = %s", probability(p.P), unit.Count(p.Pairs, "pair"))
	if p.Ratio == nil || p.CILow == nil || p.CIHigh == nil {
		return tail
	}
	return fmt.Sprintf("95%% interval %s to %s, %s", factor(p.CILow), factor(p.CIHigh), tail)
}

// controlSentence is the A/A check in one line; empty when there was none.
func controlSentence(p *model.Proof) string {
	if p.AAPairs == 0 {
		return ""
	}
	return fmt.Sprintf("A/A check: %s, p = %s, n = %s", factor(p.AARatio), probability(p.AAP), unit.Count(p.AAPairs, "pair"))
}

func pairsChart(p *model.Proof, ceiling *unit.BitRate) (document.Figure, bool) {
	n := min(len(p.Baseline), len(p.Treated))
	if n == 0 && len(p.AA) < 2 {
		return document.Figure{}, false
	}
	most := max(float64(spreadOf(p.Baseline).Top), float64(spreadOf(p.Treated).Top), float64(spreadOf(p.AA).Top))
	c := chart.Pairs{Figure: chart.Figure{ID: "pairs", Title: "Goodput of every pair", Desc: pairsDesc(p)}}
	if ceiling != nil && stat.Finite(float64(*ceiling)) {
		most = max(most, float64(*ceiling))
	}
	div, name := rateScale(most)
	c.YUnit = name
	if ceiling != nil && stat.Finite(float64(*ceiling)) {
		c.Marks = []chart.Mark{{Y: float64(*ceiling) / div, Label: "ceiling " + ceiling.String()}}
	}
	for i := 0; i+1 < len(p.AA); i += 2 {
		c.Pairs = append(c.Pairs, pairOf("A/A", p.AA[i], p.AA[i+1], div, true))
	}
	for i := range n {
		c.Pairs = append(c.Pairs, pairOf(strconv.Itoa(i+1), p.Baseline[i], p.Treated[i], div, false))
	}
	keys := []document.Legend{legend("before", "baseline", ""), legend("after", "with the change", "")}
	if len(p.AA) > 1 {
		keys = append(keys, legend("control", "A/A: both the baseline", ""))
	}
	return document.Figure{Caption: "Goodput of every pair, in the order they ran", Panels: []document.Panel{panel("", c)}, Legend: keys}, true
}

func pairOf(label string, a, b unit.BitRate, div float64, control bool) chart.Pair {
	names := [2]string{"baseline", "with the change"}
	if control {
		names = [2]string{"first", "second"}
	}
	return chart.Pair{Label: label, Before: float64(a) / div, After: float64(b) / div, Control: control,
		BeforeDetail: label + " " + names[0] + ": " + rate(&a), AfterDetail: label + " " + names[1] + ": " + rate(&b)}
}

func pairsDesc(p *model.Proof) string {
	var parts []string
	for i := range min(len(p.Baseline), len(p.Treated)) {
		parts = append(parts, fmt.Sprintf("pair %d: %s to %s", i+1, rate(&p.Baseline[i]), rate(&p.Treated[i])))
	}
	return strings.Join(parts, "; ") + ". " + proofSentence(p)
}
