package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
)

// runOf is the document of a run: verdict, evidence, ladder, and what was tried.
func runOf(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) document.Document {
	head := title(r.Verdict)
	d := document.Document{Title: "linerate: " + head, Headline: head, Line: r.Verdict.Line, Lead: leadOf(r),
		Command: r.Command, When: moment(r.Started), Build: r.Build, Saved: r.Report}
	d.Sections = append(careOf(r), evidenceSection(r.Verdict), ladderSection(r))
	if len(r.Steps) > 0 || r.Ended != "" {
		d.Sections = append(d.Sections, stepSection(r))
	}
	if r.Proof != nil || len(r.Steps) == 0 && r.Ended == "" {
		d.Sections = append(d.Sections, proofSection(r))
	}
	d.Sections = append(d.Sections, seenSection(r, samples, facts), findingSection(r), hostSection(r, facts), provenanceSection(r))
	return d
}

// leadOf is what a reader in a hurry takes away.
func leadOf(r *model.Results) []document.Block {
	v := r.Verdict
	var out []document.Block
	if c := number(v.Ceiling); c != nil && *c > 0 && v.ShareOfCeiling != nil && stat.Finite(*v.ShareOfCeiling) {
		m := chart.Meter{Scale: *c, Ceiling: c, Value: number(&v.Measured), Figure: chart.Figure{ID: "gauge",
			Title: "Share of the ceiling", Desc: rate(&v.Measured) + " of " + rate(v.Ceiling)}}
		out = append(out, document.Block{For: document.Page, Gauge: &document.Gauge{Meter: m, Share: shareText(*v.ShareOfCeiling), Of: "of the ceiling"}})
	}
	tiles := document.Block{Tiles: []document.Tile{
		tile("Measured", rate(&v.Measured), "of "+ceilingWords(v)),
		tile("Limiter", limiterName(v.Limiter), place(v)),
		tile("Confidence", shareText(v.Confidence), evidenceWords(v)),
		proofTile(r)}}
	if v.Line != "" { // which says it all, but for how sure it is
		tiles.For = document.Papers
		out = append(out, document.Block{For: document.Terminal, Pairs: []document.Pair{pair("confidence", shareText(v.Confidence)+", "+evidenceWords(v))}})
	}
	return append(out, tiles, document.Block{Card: fixOf(r)})
}

// careOf are the doubts that a reader has to know of.
func careOf(r *model.Results) []document.Section {
	var warnings, left document.Block
	for _, d := range doubts(r) {
		warnings.Lines = append(warnings.Lines, document.Line{Label: "warning", Strong: d.What, Note: d.Evidence, Next: d.Next})
	}
	left.For = document.Terminal // the provenance of a page has it
	for _, l := range r.LeftOut {
		left.Lines = append(left.Lines, document.Line{Label: "left out", Text: l})
	}
	s := document.Section{Title: "Read with care", Care: true}
	if len(warnings.Lines) > 0 {
		s.Add(warnings)
	}
	if len(left.Lines) > 0 {
		s.Add(left)
	}
	return []document.Section{s}
}

func evidenceSection(v model.Verdict) document.Section {
	s := document.Section{Title: "Evidence"}
	add := func(title string, lines []document.Line) {
		if len(lines) > 0 {
			s.Add(document.Block{Title: title, Lines: lines})
		}
	}
	b := document.Block{For: document.Page, Note: "No observation was recorded with this verdict."}
	for i, e := range v.Evidence {
		if i == 0 {
			b = document.Block{}
		}
		b.Evidence = append(b.Evidence, document.Observation{What: e.What, Value: evidenceValue(e), Metric: e.Metric, Host: e.Host, Scope: e.Scope, N: e.N})
	}
	s.Add(b)
	if g := v.ExpectedGain; g != nil {
		s.Add(document.Block{For: document.Papers, Text: expected(g)})
	}
	add("What is missing below the ceiling", account(v))
	var or, blind, notes []document.Line
	for _, a := range v.Alternatives {
		or = append(or, document.Line{Label: "or", Strong: string(a.Limiter) + ":", Text: a.Probe})
	}
	add("What speaks against it", against(v))
	add("What the evidence does not rule out", or)
	add("What binds next", laterCauses(v))
	for _, b := range v.CouldNotSee {
		blind = append(blind, document.Line{Label: "not seen", Strong: b.What, Text: "(would show " + b.WouldShow + "): " + b.How, Dim: true})
	}
	add("What could not be seen", blind)
	for _, n := range v.Notes {
		notes = append(notes, document.Line{Label: "note", Text: n})
	}
	add("", notes)
	return s
}

// account is what is missing, and what explains it.
func account(v model.Verdict) []document.Line {
	if v.Account == nil {
		return nil
	}
	var out []document.Line
	for _, p := range v.Account.Parts {
		share := float64(p.Rate) / float64(v.Account.Missing)
		if share < worthALine {
			continue
		}
		by := cmp.Or(string(p.Limiter), "not explained")
		out = append(out, document.Line{Label: "missing", Strong: rate(&p.Rate) + " (" + shareText(share) + "):", Text: p.What, Note: by})
	}
	return out
}

// worthALine: a part of the account below it is left out.
const worthALine = 0.01

// against are the signs that contradict the verdict.
func against(v model.Verdict) []document.Line {
	var out []document.Line
	for _, c := range v.Contradictions {
		out = append(out, document.Line{Label: "but", Text: c.What})
	}
	return out
}

// laterCauses are the causes after the first.
func laterCauses(v model.Verdict) []document.Line {
	var out []document.Line
	for i, c := range v.Causes {
		if i == 0 {
			continue
		}
		seen := ""
		if len(c.Evidence) > 0 {
			seen = c.Evidence[0].What
		}
		from := "from a goodput that is " + unknown
		if n := v.NextLimit; i == 1 && n != nil && n.Limiter == c.Limiter {
			from = "from about " + rate(&n.At)
		}
		advice := c.Fix.Advice
		if c.Fix.Kind == model.FixSetting {
			advice = c.Fix.Setting + " on " + c.Fix.Host + ": " + c.Fix.From + " → " + c.Fix.To
		}
		text := strings.TrimSpace(place(model.Verdict{Where: c.Where, Host: c.Host})) + ", " + from + ": " + seen
		out = append(out, document.Line{Label: "then", Strong: string(c.Limiter), Text: text, Note: "confidence " + shareText(c.Confidence), Aside: advice})
	}
	return out
}

// stepSection is what a fix tried, and what it kept.
func stepSection(r *model.Results) document.Section {
	s := document.Section{Title: "Steps"}
	t := document.Table{Caption: "Each step was proved by randomised pairs before it was kept", Head: document.Columns("Step", "#Before", "Limited by", "Change", "Gain", "Outcome")}
	for i, x := range r.Steps {
		by, change, gain := string(x.Verdict.Limiter), "none", "not measured"
		if x.Host != "" {
			by += " (" + x.Host + ")"
		}
		if c := x.Change; c != nil {
			change = c.Setting
			if c.Target != "" {
				change += " of " + c.Target
			}
			change += ": " + c.From + " → " + c.To
		}
		if x.Proof != nil {
			gain = proofSentence(x.Proof)
		}
		outcome := document.Entry{Text: x.Why}
		if x.Kept {
			outcome.Class = "strong"
		}
		t.Rows = append(t.Rows, append(document.Cells(strconv.Itoa(i+1), rate(&x.Verdict.Measured), by, change, gain), outcome))
		t.Rows[i][3].Class = "mono"
	}
	if len(t.Rows) > 0 {
		s.Add(t.Block())
	}
	if r.Ended != "" {
		s.Add(document.Block{Text: "Ended: " + strings.TrimSuffix(r.Ended, ".") + "."})
	}
	return s
}

// seenSection draws the run that the verdict was drawn from.
func seenSection(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) document.Section {
	s := document.Section{Title: "What was seen", For: document.Page}
	run, ok := diagnosis(r)
	if ok {
		s.Title += " during the run “" + run.Label + "”"
	}
	figures := traffic(run, r.Verdict.Ceiling, samples[run.Label])
	if !ok || len(figures) == 0 {
		s.Add(document.Block{Note: "No samples of a connection were kept, so there is nothing to draw."})
	} else {
		s.Add(document.Block{Figures: figures}, document.Block{Note: "n is the number of readings. A grey span is the warm-up, which no median counts."})
	}
	cpus, tasks := processors(run, samples[run.Label], facts)
	if len(cpus) > 0 {
		s.Add(document.Block{Title: "Processors", Figures: cpus})
	}
	if len(tasks.Rows) > 0 {
		s.Add(tasks.Block())
	}
	return s
}

func findingSection(r *model.Results) document.Section {
	s := document.Section{Title: "Findings on the hosts", For: document.Papers}
	t := document.Table{Caption: "What the rules concluded from the facts alone, before any load", Head: document.Columns("Severity", "Finding", "Host", "#Caps goodput at", "What to do")}
	for _, f := range r.Findings {
		t.Rows = append(t.Rows, []document.Entry{{Text: f.Severity, Class: f.Severity}, {Text: f.Title, Sub: f.Observed, Class: "strong"}, {Text: f.Host}, {Text: rate(f.Bound)}, {Text: f.Fix, Sub: f.Source}})
	}
	if len(t.Rows) > 0 {
		s.Add(t.Block())
	}
	return s
}

func provenanceSection(r *model.Results) document.Section {
	s := document.Section{Title: "Provenance", For: document.Papers, Blocks: []document.Block{{Pairs: provenance(r)}}}
	t := document.Table{Small: true, Caption: fmt.Sprintf("All runs, in the order they were made (n = %d). Goodput is payload received after the warm-up.", len(r.Runs)),
		Head: document.Columns("Run", "#At", "#Goodput", "#Received", "#Counted over", "Doubts")}
	for _, run := range r.Runs {
		at, doubts := "", []string(nil)
		if !run.Started.IsZero() && !r.Started.IsZero() {
			at = "+" + sig(run.Started.Sub(r.Started).Seconds()) + " s"
		}
		for _, w := range run.Warnings {
			doubts = append(doubts, w.What)
		}
		t.Row(run.Label, at, rate(&run.Goodput), run.Bytes.String(), duration(run.Window), strings.Join(doubts, "; "))
	}
	if len(t.Rows) == 0 {
		s.Add(document.Block{Note: "No run was made."})
		return s
	}
	s.Add(t.Block())
	return s
}
