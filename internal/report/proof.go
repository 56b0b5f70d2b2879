package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// proofView is the proof as the page shows it.
type proofView struct {
	*model.Proof
	Headline string
	Sentence string
	Control  string
	SVG      template.HTML
	Legend   []legend
	Groups   []group
}

// group sums up the runs of one kind.
type group struct {
	Name           string
	N              int
	Low, Mid, High string
}

func proofOf(p *model.Proof, ceiling *unit.BitRate) *proofView {
	if p == nil {
		return nil
	}
	v := &proofView{Proof: p, Headline: proofHeadline(p), Control: controlSentence(p)}
	v.Sentence = proofSentence(p)
	if p.Ratio != nil && (p.Effect == "gain" || p.Effect == "loss") {
		v.Sentence = proofDetail(p)
	}
	for _, g := range []struct {
		name  string
		rates []unit.BitRate
	}{{"A/A check (nothing changed)", p.AA}, {"baseline", p.Baseline}, {"with the change", p.Treated}} {
		if s := spreadOf(g.rates); s.N > 0 {
			v.Groups = append(v.Groups, group{g.name, s.N, rate(&s.Low), rate(&s.Mid), rate(&s.Top)})
		}
	}
	v.SVG, v.Legend = pairsChart(p, ceiling)
	return v
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

// changesOf are the run's changes; a reason that only repeats the verdict is
// shortened, for the page has said it.
func changesOf(r *model.Results) []model.Change {
	out := slices.Clone(r.Changes)
	for i := range out {
		if out[i].Why == r.Verdict.Line {
			out[i].Why = "the verdict above"
		}
	}
	return out
}

// controlSentence is the A/A check in one line; empty when there was none.
func controlSentence(p *model.Proof) string {
	if p.AAPairs == 0 {
		return ""
	}
	return fmt.Sprintf("A/A check: %s, p = %s, n = %s", factor(p.AARatio), probability(p.AAP), unit.Count(p.AAPairs, "pair"))
}

func pairsChart(p *model.Proof, ceiling *unit.BitRate) (template.HTML, []legend) {
	n := min(len(p.Baseline), len(p.Treated))
	if n == 0 && len(p.AA) < 2 {
		return "", nil
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
	keys := []legend{{"before", "baseline", ""}, {"after", "with the change", ""}}
	if len(p.AA) > 1 {
		keys = append(keys, legend{"control", "A/A: both the baseline", ""})
	}
	return template.HTML(c.SVG()), keys // chart escapes every text
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
