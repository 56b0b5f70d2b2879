package document

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// markdown collects lines of CommonMark with tables.
type markdown struct{ strings.Builder }

// Markdown writes a document without its drawings: every table, also those that
// a page folds, and of each figure its caption. It fails only when w does.
func (d Document) Markdown(w io.Writer) error {
	d = d.in(Markup)
	var m markdown
	m.part("# ", cmp.Or(d.Line, d.Headline))
	if d.Question != "" {
		m.put("\n**Question:** %s", md(d.Question))
	}
	for _, b := range d.Lead {
		m.block(b)
	}
	for _, s := range d.Sections {
		m.part("## ", s.Title)
		for _, b := range s.Blocks {
			m.block(b)
		}
	}
	if d.Command != "" {
		m.put("\nlinerate %s, `%s`, %s", md(d.Build), code("linerate "+d.Command), md(d.When))
	}
	if _, err := io.WriteString(w, strings.TrimLeft(m.String(), "\n")); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// md escapes a text for a Markdown line or table cell.
func md(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`,
		"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`).Replace(Plain(s))
}

// code makes a text safe inside a code span of one backtick.
func code(s string) string { return strings.ReplaceAll(Plain(s), "`", "'") }

func (m *markdown) put(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// part writes a paragraph, or a heading of it, with its mark.
func (m *markdown) part(mark, s string) {
	if s != "" {
		m.put("\n%s%s", mark, strings.TrimSpace(md(s)))
	}
}

func (m *markdown) strong(s string) string {
	if s == "" {
		return ""
	}
	return "**" + md(s) + "**"
}

func (m *markdown) block(b Block) {
	m.part("### ", b.Title)
	m.part("", b.Text)
	m.part("", b.Note)
	if b.Strong != "" {
		m.put("\n%s", m.strong(b.Strong))
	}
	if b.Pre != "" {
		m.put("")
	}
	for _, l := range plainLines(b.Pre) {
		m.put("    %s", l) // a block of code: columns keep their places
	}
	for _, g := range b.Groups {
		m.put("\n%s\n", m.strong(g.Name))
		for _, item := range g.Items {
			m.put("- %s", md(item))
		}
	}
	if len(b.Lines)+len(b.Pairs)+len(b.Tiles) > 0 {
		m.put("")
	}
	for _, l := range b.Lines {
		m.put("- %s", joined(m.strong(l.Strong), md(l.Text), bracketed(md(l.Note)), prefixed(": ", md(l.Next))))
	}
	for _, p := range b.Pairs {
		m.put("- %s: %s", md(p.Name), md(p.Value))
	}
	for _, t := range b.Tiles {
		m.put("- %s: %s", md(t.Label), joined(m.strong(t.Value), md(t.Note)))
	}
	if len(b.Evidence) > 0 {
		m.table(evidenceTable(b.Evidence))
	}
	if len(b.Rungs) > 0 {
		m.table(rungTable(b.Rungs))
	}
	if b.Setup != nil {
		m.setup(*b.Setup)
	}
	if b.Card != nil {
		m.card(*b.Card)
	}
	for _, f := range b.Figures {
		m.put("\n%s%s (drawn in the HTML report).", numbered("Figure", f.Number), md(f.Caption))
	}
	if b.Table != nil {
		m.table(*b.Table)
	}
}

// numbered is "Table 3. "; nothing where there are no numbers.
func numbered(what string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d. ", what, n)
}

func (m *markdown) card(c Card) {
	title := c.Title
	if c.Tag != "" {
		title = c.Tag + ": " + title
	}
	m.part("### ", title)
	if len(c.Pairs) > 0 || c.Change != nil {
		m.put("")
	}
	if ch := c.Change; ch != nil {
		where := joined(span(ch.Setting), prefixed("of ", span(ch.Target)), prefixed("on ", md(ch.Host)))
		m.put("- **Change:** %s from %s to %s", where, span(ch.From), span(ch.To))
	}
	for _, p := range c.Pairs {
		m.put("- **%s:** %s", md(p.Name), md(p.Value))
	}
	m.part("", joined(c.Text, c.State))
}

// span is a text as code; empty for none.
func span(s string) string {
	if s == "" {
		return ""
	}
	return "`" + code(s) + "`"
}

func (m *markdown) setup(v Setup) {
	m.put("")
	side := func(role string, hosts []Host) {
		for _, h := range hosts {
			m.put("- %s, %s: %s", joined(m.strong(h.Name), md(h.Reach)), md(role), joined(md(h.System), prefixed(", ", md(h.CPU))))
			for _, n := range h.NICs {
				m.put("  - %s", joined(md(n.Name), md(n.Speed), md(n.MTU), md(n.Slot)))
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
		m.put("- between them: %s", md(v.Wire))
	}
}

func (m *markdown) table(t Table) {
	if c := numbered("Table", t.Number) + md(t.Caption); c != "" {
		m.put("\n%s", c)
	}
	head, rule := "|", "|"
	for _, c := range t.Head {
		head += " " + md(c.Name) + " |"
		rule += map[bool]string{true: "---:|", false: "---|"}[c.Num]
	}
	m.put("\n%s\n%s", head, rule)
	for i, r := range t.Rows {
		row := "|"
		for j, e := range r {
			if j == 0 && i < len(t.Below) {
				e.Sub = joined(e.Sub, t.Below[i])
			}
			row += " " + joined(md(e.Text), bracketed(md(e.Sub))) + " |"
		}
		m.put("%s", row)
	}
	for _, n := range t.Notes {
		m.part("", n)
	}
}
