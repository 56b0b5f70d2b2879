package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"linerate/internal/app/tune"
	"linerate/internal/report"
)

// header words what a panel or plan is for.
func header(out io.Writer, host, profile, chosen string, path tune.Path, width int) {
	what := fmt.Sprintf("%s, profile %s%s", host, profile, inBrackets(chosen))
	if profile == "" {
		what = host + ", what was typed and nothing else"
	}
	paragraph(out, "", report.Printable(what), width)
	paragraph(out, "", report.Printable("path "+pathLine(path)), width)
}

// planText is a plan for people.
func planText(doc planDocument, width int) string {
	var b strings.Builder
	header(&b, doc.Host, doc.Profile, doc.Chosen, doc.Path, width)
	fmt.Fprintf(&b, "\n%s\n", countOf(len(doc.Plan), "change", "changes"))
	for _, l := range doc.Plan {
		writeLine(&b, l, doc.Host, width)
	}
	if doc.ID == "" {
		if len(doc.Files) > 0 {
			b.WriteString("\nFiles that --persist would write\n")
			writeFiles(&b, doc.Files)
		}
		writeRefused(&b, doc.Refused, width)
		return b.String()
	}
	writeOutcome(&b, doc, width)
	return b.String()
}

// writeOutcome says what is to be done after an application.
func writeOutcome(b *strings.Builder, doc planDocument, width int) {
	b.WriteString("\n")
	for _, f := range doc.Files {
		if f.Path == "" {
			continue
		}
		what := "to be written with the confirmation: "
		if doc.Written {
			what = "written: "
		}
		paragraph(b, "", report.Printable(what+f.Path+" on "+f.Host), width)
	}
	for _, n := range doc.Notes {
		paragraph(b, "", report.Printable(n), width)
	}
	if doc.Deadline != nil {
		paragraph(b, "", fmt.Sprintf("Confirm until %s UTC by the host's clock, else the host undoes %s: %s", doc.Deadline.UTC().Format(time.TimeOnly), or(doc.waits, "all of it"), doc.confirm), width)
	}
	paragraph(b, "", "To have everything as it was: "+doc.undo, width)
}

func countOf(n int, one, many string) string {
	switch n {
	case 0:
		return "No " + many + ": what runs is what this path needs, as far as it is known"
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// writeLine names the host of a line only where it is not the plan's.
func writeLine(out io.Writer, l tune.Line, host string, width int) {
	name := tune.ShortName(l.Setting, l.Device)
	if l.Host != host {
		name += " on " + l.Host
	}
	fmt.Fprintf(out, "\n  %s\n", report.Printable(name))
	paragraph(out, "    ", report.Printable(change(l.From, l.To)), width)
	for _, text := range []string{
		"why: " + l.Reason, "from: " + l.Source, labelled("risk: ", l.Risk), labelled("needs: ", l.Needs), labelled("TRADES ", l.Trades), cutsNote(l.Cuts),
	} {
		paragraph(out, "    ", report.Printable(text), width)
	}
	if l.Applied != nil {
		done := "applied: no"
		if *l.Applied {
			done = "applied: yes"
		}
		paragraph(out, "    ", report.Printable(done+labelled("; effective: ", l.Effective)+labelled("; on the wire: ", l.Observed)), width)
	}
}

// change words two values. Of values with parts only those that differ are
// shown.
func change(from, to string) string {
	a, b := strings.Fields(from), strings.Fields(to)
	if len(a) != len(b) || !strings.Contains(from, "=") {
		return from + " → " + to
	}
	var out []string
	for i := range a {
		name, _, ok := strings.Cut(a[i], "=")
		other, value, same := strings.Cut(b[i], "=")
		if !ok || !same || name != other {
			return from + " → " + to
		}
		if a[i] != b[i] {
			out = append(out, a[i]+" → "+value)
		}
	}
	return strings.Join(out, ", ")
}

func cutsNote(cuts bool) string {
	if !cuts {
		return ""
	}
	return "can cut you off: it is undone by itself unless confirmed"
}

// writeRefused lists what is not changed: first what needs something, then in
// one line what is so already, then the papers' lines.
func writeRefused(out io.Writer, list []tune.Refusal, width int) {
	var so []string
	var host, paper []tune.Refusal
	for _, r := range list {
		switch {
		case r.Paper:
			paper = append(paper, r)
		case r.So && !strings.Contains(r.Why, "enough"):
			so = append(so, tune.ShortName(r.Setting, r.Device))
		default:
			host = append(host, r)
		}
	}
	if len(host)+len(so) > 0 {
		fmt.Fprint(out, "\nNot changed\n")
	}
	for _, r := range host {
		hanging(out, report.Printable(tune.ShortName(r.Setting, r.Device)+": "+r.Why), width)
	}
	if len(so) > 0 {
		hanging(out, report.Printable("as recommended already: "+strings.Join(so, ", ")), width)
	}
	if len(paper) > 0 {
		fmt.Fprint(out, "\nAdvice of the papers and guides that is not taken\n")
	}
	for _, r := range paper {
		hanging(out, report.Printable(fmt.Sprintf("%s = %s: %s [%s]", r.Setting, r.Value, r.Why, r.Source)), width)
	}
}

// hanging prints a paragraph whose first line stands out.
func hanging(out io.Writer, text string, width int) {
	var b strings.Builder
	paragraph(&b, "      ", text, width)
	fmt.Fprint(out, "  "+strings.TrimPrefix(b.String(), "      "))
}

// panelText is the panel for people: a table where it fits, else one block for
// each setting.
func panelText(doc panelDocument, width int) string {
	var b strings.Builder
	header(&b, doc.Host, doc.Profile, doc.Chosen, doc.Path, width)
	b.WriteString("\n")
	heads, rows := panelCells(doc)
	if widths := columns(len(heads), rows, width); widths != nil {
		writePanelTable(&b, doc, heads, rows, widths, width)
	} else {
		writePanelBlocks(&b, doc, heads, rows, width)
	}
	n := 0
	for _, r := range doc.Settings {
		if r.Change {
			n++
		}
	}
	footer := countOf(n, "change is recommended (*)", "changes are recommended (*)")
	if n > 0 {
		footer += ": linerate tune plan" + doc.again + " shows them with their risks"
	}
	b.WriteString("\n")
	paragraph(&b, "", footer, width)
	return b.String()
}

// panelCells are the heads and values of the panel.
func panelCells(doc panelDocument) (heads []string, rows [][]string) {
	heads = []string{"SETTING", "CURRENT", "DEFAULT", "RECOMMENDED"}
	if doc.Mine != "" {
		heads = append(heads, "MINE")
	}
	for _, r := range doc.Settings {
		mark := "  "
		if r.Change {
			mark = "* "
		}
		recommended := or(r.Recommended, "–")
		if r.Recommended != "" && r.Recommended == r.Current {
			recommended = "same"
		}
		row := []string{mark + tune.ShortName(r.Setting, r.Device), or(r.Current, "not read"), or(r.Default, "–"), recommended}
		if r.Default == r.Current && r.Current != "" {
			row[2] = "same"
		}
		if doc.Mine != "" {
			mine := or(r.Mine, "–")
			if r.Mine != "" && r.Mine == r.Current {
				mine = "same"
			}
			row = append(row, mine)
		}
		for i := range row {
			row[i] = report.Printable(row[i])
		}
		rows = append(rows, row)
	}
	return heads, rows
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Least widths of a table that can still be read: with less the panel is
// blocks.
const (
	leastName = 20
	mostName  = 32
	leastCell = 13
)

// columns are the widths of the panel's columns: names as they need, the rest
// alike. nil: there is no room for a table.
func columns(n int, rows [][]string, width int) []int {
	name := leastName
	for _, r := range rows {
		name = max(name, utf8.RuneCountInString(r[0]))
	}
	name = min(name, mostName)
	cell := (width-name)/(n-1) - 2
	if cell < leastCell {
		return nil
	}
	out := []int{name}
	for range n - 1 {
		out = append(out, cell)
	}
	return out
}

func writePanelTable(b *strings.Builder, doc panelDocument, heads []string, rows [][]string, widths []int, width int) {
	writeCells(b, heads, widths)
	for i, r := range rows {
		writeCells(b, r, widths)
		writeWhy(b, doc.Settings[i], width)
	}
}

// writeCells prints one row, its cells broken into lines.
func writeCells(b *strings.Builder, cells []string, widths []int) {
	var broken [][]string
	height := 1
	for i, c := range cells {
		broken = append(broken, breakCell(c, widths[i]))
		height = max(height, len(broken[i]))
	}
	for line := range height {
		text := ""
		for i, c := range broken {
			part := ""
			if line < len(c) {
				part = c[line]
			}
			text += part + strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(part), 0)+2)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

// breakCell breaks a text at blanks into lines of a width, and inside words
// that are longer. What it begins with in blanks stays.
func breakCell(text string, width int) []string {
	lead := text[:len(text)-len(strings.TrimLeft(text, " *"))]
	var out []string
	line := lead
	for _, word := range strings.Fields(text[len(lead):]) {
		for {
			blank := ""
			if strings.TrimSpace(strings.Trim(line, "*")) != "" {
				blank = " "
			}
			if utf8.RuneCountInString(line+blank+word) <= width {
				line += blank + word
				break
			}
			if blank != "" {
				out, line = append(out, line), strings.Repeat(" ", len(lead))
				continue
			}
			room := max(width-utf8.RuneCountInString(line), 1)
			r := []rune(word)
			out, line, word = append(out, line+string(r[:room])), strings.Repeat(" ", len(lead)), string(r[room:])
		}
	}
	return append(out, line)
}

func writePanelBlocks(b *strings.Builder, doc panelDocument, heads []string, rows [][]string, width int) {
	for i, r := range rows {
		fmt.Fprintln(b, r[0])
		for j, cell := range r[1:] {
			fmt.Fprintf(b, "    %-13s%s\n", strings.ToLower(heads[j+1]), cell)
		}
		writeWhy(b, doc.Settings[i], width)
	}
}

func writeWhy(b *strings.Builder, r tune.Row, width int) {
	text := r.Reason
	if r.Change {
		text += " [" + r.Source + "]"
	}
	paragraph(b, "      ", report.Printable(text), width)
}
