package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	appguide "linerate/internal/app/guide"
	"linerate/internal/failure"
	"linerate/internal/guide"
)

func guideCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guide",
		Short: "Show what papers and guides advise, and what has become of it",
		Long: `guide lists the papers and modern guides that linerate knows. Each piece of
advice has a status: valid, stale, no-op, harmful, wrong side (another system
or the other end), wrong name. A statement that is no setting and does not hold
is a wrong claim. What is from memory is marked as not verified.`,
		Example: "  linerate guide\n  linerate guide show caltech-40ge\n  linerate guide audit",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if env.json {
				return printJSON(env, appguide.Summaries())
			}
			return printGuides(env)
		},
	}
	cmd.AddCommand(guideShowCommand(env), guideAuditCommand(env))
	return cmd
}

func printGuides(env *environment) error {
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "GUIDE\tDATE\tADVICE\tTITLE")
	for _, s := range appguide.Summaries() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Key, s.Date, countStatuses(s.Statuses), s.Title)
	}
	return w.Flush()
}

// countStatuses words a number per status, the worst first.
func countStatuses(n map[guide.Status]int) string {
	var parts []string
	for _, s := range guide.Statuses() {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

func guideShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "show GUIDE",
		Short:   "Show one guide's advice, each with its status and why",
		Long:    "show prints a guide's advice, the worst first, and those of its statements that do not hold.",
		Example: "  linerate guide show caltech-40ge\n  linerate guide show dell --json",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			g, ok := guide.FindGuide(args[0])
			if !ok {
				return failure.Of(failure.Usage, "show guide %q: there is none; near it are %s; linerate guide lists them all", args[0], strings.Join(guide.NearGuides(args[0], 3), ", "))
			}
			if env.json {
				return printJSON(env, g)
			}
			printGuide(env.out, g, env.width)
			return nil
		},
	}
}

func printGuide(out io.Writer, g guide.Guide, width int) {
	fmt.Fprintf(out, "%s\n%s, %s; for %s\n", g.Title, g.By, g.Date, g.OS)
	paragraph(out, "", g.About, width)
	order := guide.Statuses()
	advice := slices.Clone(g.Advice)
	slices.SortStableFunc(advice, func(a, b guide.Advice) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	for _, a := range advice {
		fmt.Fprintf(out, "\n%-10s  %s = %s%s\n", a.Status, a.Setting, a.Value, onKernels(a.Kernels))
		paragraph(out, "            ", a.Why, width)
		if a.If != "" {
			paragraph(out, "            ", "if: "+a.If, width)
		}
		if a.Rule != "" {
			paragraph(out, "            ", "value: "+a.Rule, width)
		}
		if a.Unverified != "" {
			paragraph(out, "            ", "not verified: "+a.Unverified, width)
		}
		fmt.Fprintf(out, "            from: %s\n", a.Where)
	}
	if len(g.Claims) > 0 {
		fmt.Fprint(out, "\nStatements that do not hold\n")
	}
	for _, c := range g.Claims {
		paragraph(out, "  ", c.Says+" ("+c.Where+")", width)
		paragraph(out, "    ", c.Why, width)
		if c.Unverified != "" {
			paragraph(out, "    ", "not verified: "+c.Unverified, width)
		}
	}
}

func onKernels(r string) string {
	if r == "any" {
		return ""
	}
	return " (kernel " + r + ")"
}

// paragraph prints text in lines of at most width, each after an indent.
func paragraph(out io.Writer, indent, text string, width int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for _, line := range wrapWords(text, width-len(indent)) {
		fmt.Fprintln(out, indent+line)
	}
}
