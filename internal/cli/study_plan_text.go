package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linerate/internal/app/study"
	"linerate/internal/app/tune"
	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// printStudyPlan writes a plan for people.
func printStudyPlan(env *environment, planned study.Plan) error {
	p := planned.StudyPlan
	d := document.Document{Headline: p.Name + ": " + p.Question}
	say := func(text string) { d.Lead = append(d.Lead, document.Block{Text: text}) }
	if from := planned.File.Source; from != "" {
		say("After " + from + ".")
	}
	say(fmt.Sprintf("Protocol %s, design %s; %s decides.", p.Protocol, p.Design, p.Primary))
	if len(p.Looked) > 0 {
		say("Checked against " + strings.Join(p.Looked, ", ") + " as they are now.")
	} else {
		say("Checked against no host: the file alone.")
	}
	d.Sections = []document.Section{casesSection(p), changesSection(p)}
	d.Sections = append(append(d.Sections, handsSections(p)...), looksSection(p))
	problems := document.Block{}
	for _, x := range p.Problems {
		label := "note"
		if x.Fatal {
			label = "refused"
		}
		if x.Line > 0 {
			label += fmt.Sprintf(", line %d", x.Line)
		}
		problems.Lines = append(problems.Lines, document.Line{Strong: label + ":", Text: fmt.Sprintf("%s. Next: %s.", x.What, x.Next)})
	}
	if len(p.Problems) > 0 {
		d.Add("Problems", problems)
	}
	return printDocument(env, d)
}

// orderOf says in which order things are run.
func orderOf(p model.StudyPlan) string {
	first := ""
	if len(p.Cases) > 0 && p.Cases[0].Name == "A/A" {
		first = "A/A first; then "
	}
	switch {
	case p.Protocol == study.PaperProtocol:
		return "the cases in this order, groups of runs that have to agree"
	case len(p.Looks) == 0:
		return "pairs of identical runs"
	case study.Crossed(p.Design):
		return first + "blocks of all cases, in random order within each"
	case p.Design == study.Search:
		return first + "the search, all states of a pass in random order; then what it finds against the baseline, both sides of a block side by side in random order"
	case p.Design == study.Sequence:
		return first + "the steps of the baseline one after the other; then the rest in turn, both sides of a block side by side in random order"
	}
	return first + "in turn, both sides of a block side by side in random order"
}

func casesSection(p model.StudyPlan) document.Section {
	t := document.Table{Head: document.Columns("Case", "Workloads", "#Runs a block", "#Blocks at most", "#A block takes")}
	for _, c := range p.Cases {
		t.Row(c.Name, strings.Join(c.Workloads, ", "), strconv.Itoa(c.Block), strconv.Itoa(c.Most), rounded(c.Takes))
	}
	all := fmt.Sprintf("%d to %d runs, %s to %s", p.LeastRuns, p.MostRuns, rounded(p.Least), rounded(p.Most))
	if p.Budget > 0 {
		all += "; the budget is " + rounded(p.Budget)
	}
	return document.Section{Title: "Runs", Blocks: []document.Block{{Text: "In order: " + orderOf(p)}, t.Block(), {Text: all}}}
}

func changesSection(p model.StudyPlan) document.Section {
	if len(p.Changes) == 0 {
		return document.Paragraph("No setting of any host is changed.")
	}
	t := document.Table{Head: document.Columns("For", "Host", "Setting", "Now", "To", "Needs")}
	for _, c := range p.Changes {
		t.Row(c.Factor+" "+c.Level, c.Host, tune.ShortName(c.Setting, c.Target), cmp.Or(c.Now, "not read"), c.To, c.Needs)
	}
	return document.Section{Title: "Changes, each put back", Blocks: []document.Block{t.Block()}}
}

// handsSections are what somebody has to do by hand, and what the lab does in
// their place.
func handsSections(p model.StudyPlan) []document.Section {
	out := []document.Section{{Title: "The operator is asked to"}, {Title: "The lab does in the operator's place"}}
	for _, h := range p.Operator {
		s := &out[0]
		if h.Lab != "" {
			s = &out[1]
		}
		s.Add(document.Block{Lines: []document.Line{{Text: handsText(h)}}})
	}
	return out
}

func handsText(h model.StudyPlanHands) string {
	what, seen := h.Instruct+"; back: "+h.Back, "by its own list of what is put in"
	if h.Lab != "" {
		what = h.Lab + " (for: " + h.Instruct + ")"
	}
	if h.Verify.Fact != "" {
		seen = fmt.Sprintf("by %s of %s: %s", h.Verify.Fact, h.Verify.Host, h.Verify.Is)
	}
	return fmt.Sprintf("%s %s: %s. At most %d times in all. Seen %s.", h.Factor, h.Level, what, h.Times, seen)
}

func looksSection(p model.StudyPlan) document.Section {
	if p.Protocol == study.PaperProtocol {
		return document.Paragraph("This protocol has no error rate and no interval: what it could see is not known.")
	}
	if len(p.Looks) == 0 {
		return document.Paragraph("Nothing is compared: identical runs show what the path does by itself.")
	}
	list := document.Block{}
	for _, l := range p.Looks {
		sees := "can show nothing yet but that there is no effect"
		if l.Smallest != nil {
			sees = "shows " + effectText(*l.Smallest) + " nine times in ten"
		}
		list.Lines = append(list.Lines, document.Line{Text: fmt.Sprintf("after %d blocks of each, %s: %s", l.Blocks, rounded(l.After), sees)})
	}
	where := fmt.Sprintf("Where single runs vary by %.3g%% (%s), corrected for %s. What is decided sooner takes no more blocks.", 100*p.Noise, p.NoiseFrom, unit.Count(p.Within.Of, "comparison"))
	s := document.Section{Title: "Planned looks", Blocks: []document.Block{list, {Text: where}}}
	if p.Budget > 0 && p.Within.Smallest != nil {
		s.Add(document.Block{Text: fmt.Sprintf("The budget reaches %d of %d comparisons, to %d blocks each if none is decided sooner: %s.",
			p.Within.Comparisons, p.Within.Of, p.Within.Blocks, effectText(*p.Within.Smallest))})
	}
	return s
}

// effectText is a ratio above 1 as the gain that it is.
func effectText(ratio float64) string { return fmt.Sprintf("an effect of %.2g%%", 100*(ratio-1)) }

// rounded is a time as people read it: 52s, 3m20s, 1h31m.
func rounded(d time.Duration) string {
	unit := time.Second
	if d > 10*time.Minute {
		unit = time.Minute
	}
	text := d.Round(unit).String()
	if cut, ok := strings.CutSuffix(text, "m0s"); ok {
		text = cut + "m"
	}
	if cut, ok := strings.CutSuffix(text, "h0m"); ok {
		text = cut + "h"
	}
	return text
}
