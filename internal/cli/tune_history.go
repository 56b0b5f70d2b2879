package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/reach"
	"linerate/internal/report"
)

func tuneHistoryCommand(env *environment) *cobra.Command {
	return onHost(env, &cobra.Command{
		Use:   "history [HOST]",
		Short: "List every change that linerate made on a host, and what became of it",
		Example: `  linerate tune history nas1
  linerate tune history nas1 --json`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.History, error) {
		return tune.ReadHistory(ctx, env.Env, n, p)
	}, func(_ reach.Name, doc tune.History) { writeHistory(env.out, doc) })
}

func writeHistory(out io.Writer, doc tune.History) {
	if len(doc.Changes) == 0 {
		fmt.Fprintf(out, "%s: no change of linerate's was made there, or linerate has left it\n", doc.Host)
		return
	}
	plan := ""
	for _, e := range doc.Changes {
		if e.Plan != plan {
			plan = e.Plan
			fmt.Fprintf(out, "%s, by %s\n", report.Printable(plan), report.Printable(e.By))
		}
		when := strings.Repeat(" ", len(time.DateTime))
		if !e.At.IsZero() {
			when = e.At.UTC().Format(time.DateTime)
		}
		text := fmt.Sprintf("%4d  %s  %-8s  %s: %s", e.Seq, when, e.State, tune.ShortName(e.Setting, e.Target), change(e.Before, cmp.Or(e.After, e.Wanted)))
		fmt.Fprintln(out, report.Printable(text))
	}
	if doc.Waiting != nil {
		fmt.Fprintf(out, "%s waits to be confirmed until %s UTC; else the host undoes it\n", doc.Waiting.Plan, doc.Waiting.Deadline.UTC().Format(time.TimeOnly))
	}
}

// writeFiles shows each file with the lines that went and came.
func writeFiles(out io.Writer, files []tune.File) {
	for _, f := range files {
		if f.Path == "" {
			fmt.Fprintf(out, "\nno file for %s: %s\n", report.Printable(strings.Join(f.Settings, ", ")), report.Printable(f.Note))
			continue
		}
		what := "new"
		if f.Existed {
			what = "changed"
		}
		fmt.Fprintf(out, "\n%s on %s (%s)\n", report.Printable(f.Path), report.Printable(f.Host), what)
		for _, l := range diffLines(f.Before, f.After) {
			fmt.Fprintln(out, "  "+report.Printable(l))
		}
		if f.Note != "" {
			fmt.Fprintln(out, "  "+report.Printable(f.Note))
		}
	}
}

// diffLines are the lines that only one of two texts has: "-" and "+", in
// order, between what both begin and end with.
func diffLines(before, after string) []string {
	a, b := textLines(before), textLines(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out []string
	for _, l := range a {
		out = append(out, "- "+l)
	}
	for _, l := range b {
		out = append(out, "+ "+l)
	}
	return out
}

func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
