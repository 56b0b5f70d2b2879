package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	appguide "linerate/internal/app/guide"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/report/document"
)

func guideCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guide",
		Short: "Show what papers and guides advise, and whether it still holds",
		Long: `guide lists the papers and modern guides that linerate knows. Each piece of
advice has a status: valid, stale, no-op, harmful, wrong side (another system
or the other end), wrong name. A statement that is no setting and does not hold
is a wrong claim. What is from memory is marked as not verified.`,
		Example: "  linerate guide\n  linerate guide show caltech-40ge\n  linerate guide audit",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if env.json {
				return printJSON(env, list("guides", appguide.Summaries()))
			}
			return printDocument(env, guidesPage())
		},
	}
	cmd.AddCommand(guideShowCommand(env), guideAuditCommand(env))
	return cmd
}

func guidesPage() document.Document {
	t := document.Table{Head: document.Columns("Guide", "Date", "Advice", "Title")}
	for _, s := range appguide.Summaries() {
		t.Row(s.Key, s.Date, countStatuses(s.Statuses), s.Title)
	}
	return document.Document{Lead: []document.Block{t.Block()}}
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
			return printDocument(env, guidePage(g))
		},
	}
}

func guidePage(g guide.Guide) document.Document {
	d := document.Document{Labels: 12}
	d.Add(g.Title, document.Block{Text: fmt.Sprintf("%s, %s; for %s", g.By, g.Date, g.OS)}, document.Block{Text: g.About})
	order := guide.Statuses()
	advice := slices.Clone(g.Advice)
	slices.SortStableFunc(advice, func(a, b guide.Advice) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	for _, a := range advice {
		d.Add("", document.Block{Card: &document.Card{Tag: string(a.Status), Title: a.Setting + " = " + a.Value + onKernels(a.Kernels), Text: a.Why,
			Pairs: []document.Pair{{Name: "if", Value: a.If}, {Name: "value", Value: a.Rule}, {Name: "not verified", Value: a.Unverified}, {Name: "from", Value: a.Where}}}})
	}
	var claims []document.Block
	for _, c := range g.Claims {
		claims = append(claims, document.Block{Card: &document.Card{Title: c.Says + " (" + c.Where + ")", Text: c.Why,
			Pairs: []document.Pair{{Name: "not verified", Value: c.Unverified}}}})
	}
	d.Add("Statements that do not hold", claims...)
	return d
}

func onKernels(r string) string {
	if r == "any" {
		return ""
	}
	return " (kernel " + r + ")"
}
