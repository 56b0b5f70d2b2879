package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/report"
	"linerate/internal/report/compare"
)

func compareCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "compare RUN_A RUN_B",
		Short: "Set two recorded runs side by side: what differs, and what changed between them",
		Long: `compare reads two bundles of any version and sets B beside A. Of two studies:
each change, with both ratios and their intervals, and whether they differ. Of
two loads: every figure that both gave. Of two other runs: rate, limiter and
ladder, rung by rung. Of any two: what was not the same in hosts, settings and
kernels. RUN is what report takes.

Two single runs give no significance, and none is claimed. The exit code is 0
however they compare, and 3 where they measured nothing in common.`,
		Example: `  linerate compare 20261120-2345 last
  linerate compare 20261120-2345 last --json`,
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return runCompare(env, args[0], args[1]) },
	}
}

func runCompare(env *environment, first, second string) error {
	c, err := runs.Compare(env.Env, first, second)
	if err != nil {
		return err
	}
	if env.json {
		err = printJSON(env, c)
	} else {
		err = printComparison(env.out, c)
	}
	if err == nil && !c.Same {
		return failure.As(failure.Nothing, errors.New("compare: the two measured nothing in common; what differs between their hosts is listed"))
	}
	return err
}

func printComparison(out io.Writer, c compare.Comparison) error {
	var page strings.Builder
	w := tabwriter.NewWriter(&page, 0, 8, 2, ' ', 0)
	row := func(cells ...string) {
		for i, s := range cells {
			cells[i] = report.Printable(s)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row(c.Line)
	row()
	row("A", c.A.ID, c.A.Started.UTC().Format("2006-01-02 15:04 UTC"), c.A.Command)
	row("B", c.B.ID, c.B.Started.UTC().Format("2006-01-02 15:04 UTC"), c.B.Command)
	printMeasured(row, c)
	printEffects(row, c)
	printChanged(row, c.Changed)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&page, "\nnote: %s\n", report.Printable(n))
	}
	for line := range strings.Lines(page.String()) {
		if _, err := io.WriteString(out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return fmt.Errorf("write comparison: %w", err)
		}
	}
	return nil
}

// printMeasured prints proofs, figures of loads, and rungs.
func printMeasured(row func(...string), c compare.Comparison) {
	if c.Gain != nil {
		row()
		row("PROOF", "A", "B", "B OVER A", "")
		row("", effect(c.Gain.A), effect(c.Gain.B), ratioOver(*c.Gain), conclusion(*c.Gain))
	}
	if len(c.Figures) > 0 {
		row()
		row("FIGURE", "A", "B", "B OVER A")
		for _, f := range c.Figures {
			row(f.What, compare.Outcome(f.A, ""), compare.Outcome(f.B, ""), compare.Percent(f.Ratio))
		}
	}
	if len(c.Rung) > 0 {
		row()
		row("RUNG", "A", "B", "B OVER A")
		for _, r := range c.Rung {
			row(r.Rung, r.A.String(), r.B.String(), compare.Percent(r.Ratio))
		}
	}
}

func printChanged(row func(...string), changed []compare.Difference) {
	row()
	if len(changed) == 0 {
		row("Nothing that was recorded of hosts and settings differs.")
		return
	}
	row("HOST", "WHAT DIFFERS", "A", "B")
	for _, d := range changed {
		row(dashed(d.Host), d.What, d.A, d.B)
	}
}

func printEffects(row func(...string), c compare.Comparison) {
	if len(c.Baselines) > 0 {
		row()
		row("BASELINE", "A", "B", "B OVER A")
		for _, b := range c.Baselines {
			row(b.Workload, fmt.Sprintf("%s, n = %d", compare.Outcome(b.A, b.Unit), b.NA), fmt.Sprintf("%s, n = %d", compare.Outcome(b.B, b.Unit), b.NB), compare.Percent(b.Ratio))
		}
	}
	if len(c.Effects) == 0 {
		return
	}
	row()
	row("CHANGE", "WORKLOAD", "A", "B", "B OVER A", "")
	for _, e := range c.Effects {
		row(strings.TrimSpace(e.Factor+" "+e.Level), e.Workload, effect(e.A), effect(e.B), ratioOver(e), conclusion(e))
	}
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
		return compare.Percent(ratio)
	}
	return compare.Percent(ratio) + " (" + compare.Percent(low) + " to " + compare.Percent(high) + ")"
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
