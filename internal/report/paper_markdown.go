package report

import (
	"fmt"
	"io"
	"strings"

	"linerate/internal/model"
)

// paperMarkdown writes the white paper without its drawings: every table,
// also those that the page folds, and of each figure its caption.
func paperMarkdown(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	p := paperOf(r, samples, facts)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s\n", md(p.Headline))
	if p.Question != "" {
		line("**Question:** %s\n", md(p.Question))
	}
	for _, a := range p.Answer {
		line("**%s**\n", md(a.Name))
		for _, i := range a.Items {
			line("- %s", md(i))
		}
		line("")
	}
	for _, t := range p.Tiles {
		line("- %s: **%s** %s", md(t.Label), md(t.Value), md(t.Note))
	}
	for _, d := range p.Doubts {
		line("\n> %s %s %s", md(d.What), md(d.Evidence), md(d.Next))
	}
	for _, s := range p.Sections {
		line("\n## %s", md(s.Title))
		for _, x := range s.Blocks {
			markdownBlock(line, x)
		}
	}
	line("\nlinerate %s, `%s`, %s", md(p.Build), code("linerate "+p.Command), p.When)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func markdownBlock(line func(string, ...any), x block) {
	if text := x.Text + x.Note; text != "" {
		line("\n%s", md(text))
	}
	if len(x.List) > 0 || len(x.Pairs) > 0 {
		line("")
	}
	for _, l := range x.List {
		line("- %s", md(l))
	}
	for _, p := range x.Pairs {
		line("- %s: %s", md(p.Name), md(p.Value))
	}
	if x.Setup != nil {
		markdownSetup(line, *x.Setup)
	}
	for _, f := range x.Figures {
		line("\nFigure %d. %s (drawn in the HTML report).", f.Number, md(f.Caption))
	}
	if x.Table != nil {
		markdownTable(line, *x.Table)
	}
}

func markdownSetup(line func(string, ...any), v setupView) {
	line("")
	side := func(role string, hosts []hostCard) {
		for _, h := range hosts {
			line("- **%s** %s, %s: %s, %s", md(h.Name), md(h.Reach), role, md(h.System), md(h.CPU))
			for _, n := range h.NICs {
				line("  - %s %s %s %s", md(n.Name), md(n.Speed), md(n.MTU), md(n.Slot))
			}
		}
	}
	left := v.Role[0]
	if v.Alone {
		left = "host"
	}
	side(left, v.Left)
	side(v.Role[1], v.Right)
	if v.Wire != "" && !v.Alone {
		line("- between them: %s", md(v.Wire))
	}
}

func markdownTable(line func(string, ...any), t paperTable) {
	line("\nTable %d. %s\n", t.Number, md(t.Caption))
	head, rule := "|", "|"
	for _, c := range t.Head {
		head += " " + md(c.Name) + " |"
		if c.Num {
			rule += "---:|"
		} else {
			rule += "---|"
		}
	}
	line("%s\n%s", head, rule)
	for _, r := range t.Rows {
		row := "|"
		for _, e := range r {
			text := md(e.Text)
			if e.Sub != "" {
				text += " (" + md(e.Sub) + ")"
			}
			row += " " + text + " |"
		}
		line("%s", row)
	}
	for _, n := range t.Notes {
		line("\n%s", md(n))
	}
}
