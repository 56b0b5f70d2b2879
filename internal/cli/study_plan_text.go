package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/app/study"
	"linerate/internal/model"
	"linerate/internal/report"
)

// printStudyPlan writes a plan for people.
func printStudyPlan(env *environment, planned study.Plan) error {
	out := env.out
	p := planned.StudyPlan
	paragraph(out, "", report.Printable(p.Name+": "+p.Question), env.width)
	if from := planned.File.Source; from != "" {
		paragraph(out, "", "After "+report.Printable(from)+".", env.width)
	}
	fmt.Fprintf(out, "Protocol %s, design %s; %s decides.\n", p.Protocol, p.Design, p.Primary)
	if len(p.Looked) > 0 {
		fmt.Fprintf(out, "Checked against %s as they are now.\n", strings.Join(p.Looked, ", "))
	} else {
		fmt.Fprintln(out, "Checked against no host: the file alone.")
	}
	fmt.Fprintf(out, "\nRuns: %s\n", orderOf(p))
	if err := printCases(out, p); err != nil {
		return err
	}
	if err := printPlannedChanges(out, p); err != nil {
		return err
	}
	printHands(out, p, env.width)
	printLooks(out, p, env.width)
	for i, x := range p.Problems {
		if i == 0 {
			fmt.Fprintln(out, "\nProblems")
		}
		label := "note"
		if x.Fatal {
			label = "refused"
		}
		if x.Line > 0 {
			label += fmt.Sprintf(", line %d", x.Line)
		}
		paragraph(out, "  ", report.Printable(fmt.Sprintf("%s: %s. Next: %s.", label, x.What, x.Next)), env.width)
	}
	return nil
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
	case p.Design == study.Sequence:
		return first + "the steps of the baseline one after the other; then the rest in turn, both sides of a block side by side in random order"
	}
	return first + "in turn, both sides of a block side by side in random order"
}

func printCases(out io.Writer, p model.StudyPlan) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  CASE\tWORKLOADS\tRUNS A BLOCK\tBLOCKS AT MOST\tA BLOCK TAKES")
	for _, c := range p.Cases {
		fmt.Fprintf(w, "  %s\t%s\t%d\t%d\t%s\n", c.Name, strings.Join(c.Workloads, ", "), c.Block, c.Most, rounded(c.Takes))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "  %d to %d runs, %s to %s", p.LeastRuns, p.MostRuns, rounded(p.Least), rounded(p.Most))
	if p.Budget > 0 {
		fmt.Fprintf(out, "; the budget is %s", rounded(p.Budget))
	}
	fmt.Fprintln(out)
	return nil
}

func printPlannedChanges(out io.Writer, p model.StudyPlan) error {
	if len(p.Changes) == 0 {
		fmt.Fprint(out, "\nNo setting of any host is changed.\n")
		return nil
	}
	fmt.Fprint(out, "\nChanges, each put back\n")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  FOR\tHOST\tSETTING\tNOW\tTO\tNEEDS")
	for _, c := range p.Changes {
		setting := c.Setting
		if c.Target != "" {
			setting += "@" + c.Target
		}
		now := c.Now
		if now == "" {
			now = "not read"
		}
		fmt.Fprintf(w, "  %s %s\t%s\t%s\t%s\t%s\t%s\n", c.Factor, c.Level, c.Host, report.Printable(setting), report.Printable(now), c.To, c.Needs)
	}
	return w.Flush()
}

func printHands(out io.Writer, p model.StudyPlan, width int) {
	said := map[bool]bool{}
	for _, lab := range []bool{false, true} {
		for _, h := range p.Operator {
			if lab != (h.Lab != "") {
				continue
			}
			if !said[lab] {
				fmt.Fprint(out, map[bool]string{false: "\nThe operator is asked to\n", true: "\nThe lab does in the operator's place\n"}[lab])
			}
			said[lab] = true
			paragraph(out, "  ", report.Printable(handsText(h)), width)
		}
	}
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

func printLooks(out io.Writer, p model.StudyPlan, width int) {
	if p.Protocol == study.PaperProtocol {
		fmt.Fprint(out, "\nThis protocol has no error rate and no interval: what it could see is not known.\n")
		return
	}
	if len(p.Looks) == 0 {
		fmt.Fprint(out, "\nNothing is compared: identical runs show what the path does by itself.\n")
		return
	}
	fmt.Fprint(out, "\nPlanned looks\n")
	for _, l := range p.Looks {
		sees := "can show nothing yet but that there is no effect"
		if l.Smallest != nil {
			sees = "shows " + effectText(*l.Smallest) + " nine times in ten"
		}
		fmt.Fprintf(out, "  after %d blocks of each, %s: %s\n", l.Blocks, rounded(l.After), sees)
	}
	paragraph(out, "  ", fmt.Sprintf("where single runs vary by %.3g%% (%s), corrected for %d comparisons. What is decided sooner takes no more blocks.", 100*p.Noise, p.NoiseFrom, p.Within.Of), width)
	if p.Budget > 0 && p.Within.Smallest != nil {
		fmt.Fprintf(out, "  The budget reaches %d of %d comparisons, to %d blocks each if none is decided sooner: %s.\n",
			p.Within.Comparisons, p.Within.Of, p.Within.Blocks, effectText(*p.Within.Smallest))
	}
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
