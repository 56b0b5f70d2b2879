package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/report/compare"
	"linerate/internal/report/document"
)

func compareCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "compare RUN_A RUN_B",
		Short: "Compare two recorded runs: which results differ, and what changed between them",
		Long: `compare reads two bundles of any version and sets B beside A. Of two studies:
each change, with both ratios and their intervals, and whether they differ. Of
two loads: every figure that both gave. Of two other runs: rate, limiter and
ladder, rung by rung. Of any two: what was not the same in hosts, settings and
kernels. RUN is what report takes. History is compared with history, with an
interval for the rate while data moved; nothing was applied, so it gives no cause.

Two single runs give no significance, and none is claimed. The exit code is 0
however they compare, and 3 where they measured nothing in common.`,
		Example: `  linerate compare 20261120-2345 last
  linerate compare history:nas1@tuesday history:nas1@today
  linerate compare 20261120-2345 last --json`,
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return runCompare(env, args[0], args[1]) },
	}
}

func runCompare(env *environment, first, second string) error {
	if isHistory(first) || isHistory(second) {
		return compareHistory(env, first, second)
	}
	c, err := runs.Compare(env.Env, first, second)
	if err != nil {
		return err
	}
	if env.json {
		err = printJSON(env, c)
	} else {
		err = printDocument(env, comparisonPage(c))
	}
	if err == nil && !c.Same {
		return failure.As(failure.Nothing, errors.New("compare: the two measured nothing in common; what differs between their hosts is listed"))
	}
	return err
}

func comparisonPage(c compare.Comparison) document.Document {
	ran := document.Table{Head: document.Columns("", "", "", "")}
	for i, r := range []compare.Run{c.A, c.B} {
		ran.Row([]string{"A", "B"}[i], r.ID, r.Started.UTC().Format("2006-01-02 15:04 UTC"), r.Command)
	}
	d := document.Document{Headline: c.Line, Lead: []document.Block{ran.Block()}}
	changed := document.Table{Head: document.Columns("Host", "What differs", "A", "B")}
	for _, x := range c.Changed {
		changed.Row(dashed(x.Host), x.What, x.A, x.B)
	}
	for _, t := range append(measuredTables(c), changed) {
		if len(t.Rows) > 0 {
			d.Add("", t.Block())
		}
	}
	if len(c.Changed) == 0 {
		d.Sections = append(d.Sections, document.Paragraph("Nothing that was recorded of hosts and settings differs."))
	}
	for _, n := range c.Notes {
		d.Sections = append(d.Sections, document.Paragraph("note: "+n))
	}
	return d
}

// measuredTables are proofs, figures of loads, rungs, and the baselines and
// effects of studies.
func measuredTables(c compare.Comparison) []document.Table {
	table := func(names ...string) document.Table { return document.Table{Head: document.Columns(names...)} }
	proof, figures, rungs := table("Proof", "A", "B", "B over A", ""), table("Figure", "A", "B", "B over A"), table("Rung", "A", "B", "B over A")
	if c.Gain != nil {
		proof.Row("", effect(c.Gain.A), effect(c.Gain.B), ratioOver(*c.Gain), conclusion(*c.Gain))
	}
	for _, f := range c.Figures {
		figures.Row(f.What, compare.Outcome(f.A, ""), compare.Outcome(f.B, ""), compare.RatioText(f.Ratio))
	}
	for _, r := range c.Rung {
		rungs.Row(r.Rung, r.A.String(), r.B.String(), compare.RatioText(r.Ratio))
	}
	baselines, effects := table("Baseline", "A", "B", "B over A"), table("Change", "Workload", "A", "B", "B over A", "")
	for _, b := range c.Baselines {
		baselines.Row(b.Workload, fmt.Sprintf("%s, n = %d", compare.Outcome(b.A, b.Unit), b.NA), fmt.Sprintf("%s, n = %d", compare.Outcome(b.B, b.Unit), b.NB), compare.RatioText(b.Ratio))
	}
	for _, e := range c.Effects {
		effects.Row(strings.TrimSpace(e.Factor+" "+e.Level), e.Workload, effect(e.A), effect(e.B), ratioOver(e), conclusion(e))
	}
	return []document.Table{proof, figures, rungs, baselines, effects}
}

// effect is what one side found, with its interval.
func effect(f *compare.Found) string {
	if f == nil {
		return "–"
	}
	if f.Ratio == nil {
		return f.Conclusion
	}
	return withInterval(f.Ratio, f.CILow, f.CIHigh) + ", n = " + strconv.Itoa(f.N)
}

// ratioOver is the effect in B over that in A.
func ratioOver(e compare.Effect) string { return withInterval(e.Ratio, e.CILow, e.CIHigh) }

// withInterval is a ratio in percent, with its interval if it has one.
func withInterval(ratio, low, high *float64) string {
	switch {
	case ratio == nil:
		return "–"
	case low == nil || high == nil:
		return compare.RatioText(ratio)
	}
	return compare.RatioText(ratio) + " (" + compare.RatioText(low) + " to " + compare.RatioText(high) + ")"
}

func conclusion(e compare.Effect) string {
	if e.Why == "" {
		return e.Conclusion
	}
	return e.Conclusion + ": " + e.Why
}

func dashed(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
