package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/reach"
	"linerate/internal/report/document"
)

func tuneHistoryCommand(env *environment) *cobra.Command {
	return onHost(env, &cobra.Command{
		Use:   "history [HOST]",
		Short: "List every change that linerate made on a host, and what became of it",
		Example: `  linerate tune history nas1
  linerate tune history nas1 --json`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.History, error) {
		return tune.ReadHistory(ctx, env.Env, n, p)
	}, func(_ reach.Name, doc tune.History) document.Document { return historyPage(doc) })
}

func historyPage(doc tune.History) document.Document {
	if len(doc.Notes) > 0 {
		return saying(doc.Notes...)
	}
	if len(doc.Changes) == 0 {
		return saying(doc.Host + ": no change of linerate's was made there, or linerate has left it")
	}
	var d document.Document
	var changes *document.Table
	plan, restarted := "", false
	for _, e := range doc.Changes {
		if changes == nil || e.Plan != plan {
			plan, changes = e.Plan, &document.Table{Head: document.Columns("#", "", "", "")}
			d.Add(plan+", by "+e.By, document.Block{Table: changes})
		}
		when := ""
		if !e.At.IsZero() {
			when = e.At.UTC().Format(time.DateTime)
		}
		what := tune.ShortName(e.Setting, e.Target) + ": " + change(e.Before, cmp.Or(e.After, e.Wanted))
		state := string(e.State)
		if e.Open(e.BootID) && !e.Open(doc.BootID) {
			state, restarted = "restarted", true
		}
		changes.Row(strconv.Itoa(e.Seq), when, state, what)
	}
	if restarted {
		d.Sections = append(d.Sections, document.Paragraph("restarted: the host has been, which undid it, unless a file that is applied sets it again"))
	}
	if w := doc.Waiting; w != nil {
		said := cmp.Or(w.Alarm, fmt.Sprintf("%s waits to be confirmed until %s UTC; else the host undoes it", w.Plan, w.Deadline.UTC().Format(time.TimeOnly)))
		d.Sections = append(d.Sections, document.Paragraph(said))
	}
	return d
}

// fileBlocks shows each file with the lines that went and came.
func fileBlocks(files []tune.File) []document.Block {
	var out []document.Block
	for _, f := range files {
		head, note := fmt.Sprintf("%s on %s (%s)", f.Path, f.Host, map[bool]string{true: "changed", false: "new"}[f.Existed]), f.Note
		if f.Path == "" {
			head, note = "no file for "+strings.Join(f.Settings, ", ")+": "+f.Note, ""
		}
		lines := ""
		for _, l := range diffLines(f.Before, f.After) {
			lines += "  " + l + "\n"
		}
		out = append(out, document.Block{Title: head, Pre: lines}, document.Block{Text: note})
	}
	return out
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
