package document

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"linerate/internal/report/chart"
)

// Terminal codes (ECMA-48, SGR): the only ones used.
const (
	sgrBold    = "\x1b[1m"
	sgrDim     = "\x1b[2m"
	sgrReverse = "\x1b[7m"
	sgrReset   = "\x1b[0m"
)

// barColors are the colours of how much of what is possible is reached.
var barColors = map[string]string{"well": "\x1b[32m", "part": "\x1b[33m", "little": "\x1b[31m"}

// tagColors are the colours of how grave a finding is.
var tagColors = map[string]string{"high": "\x1b[1;31m", "medium": "\x1b[33m", "low": "\x1b[36m"}

// terminal collects the lines of a text.
type terminal struct {
	strings.Builder
	color       bool
	width, full int // of prose and of tables: lines that are too long are not read
	labels      int
}

// Text writes a document for a terminal of width columns (40 to 160). With
// color what matters is bold and what was not seen is dim; without it there is
// no escape sequence at all. It fails only when w does.
func (d Document) Text(w io.Writer, color bool, width int) error {
	d = d.in(Terminal)
	width = max(width, 40)
	t := &terminal{color: color, width: min(width, 120), full: min(width, 160), labels: cmp.Or(d.Labels, 14)}
	t.lines(cmp.Or(d.Line, d.Headline), "", sgrBold)
	if d.Question != "" {
		t.gap()
		t.label("question", d.Question, "")
	}
	if len(d.Lead) > 0 {
		t.gap()
		t.blocks(d.Lead)
	}
	for _, s := range d.Sections {
		t.gap()
		t.lines(s.Title, "", sgrBold)
		t.blocks(s.Blocks)
	}
	if d.Saved != "" {
		// Not wrapped: a path is copied as a whole.
		t.gap()
		t.put(pad("report", t.labels) + Plain(d.Saved))
	}
	if s, ok := w.(*Screen); ok {
		w = s.to // every text in it is plain, and the escape sequences are ours
	}
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (t *terminal) put(line string) { t.WriteString(strings.TrimRight(line, " ") + "\n") }

// gap leaves one empty line between parts.
func (t *terminal) gap() {
	if s := t.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
		t.WriteString("\n")
	}
}

func (t *terminal) style(code, s string) string {
	if !t.color || s == "" || code == "" {
		return s
	}
	return code + s + sgrReset
}

// lines writes a text wrapped to the width, each line after the margin.
func (t *terminal) lines(text, margin, code string) { t.hang(margin, text, code) }

// hang writes a text after what begins its first line, the others below it.
func (t *terminal) hang(first, text, code string) {
	indent := length(first)
	for i, l := range wrap(text, max(t.width-indent, 20)) {
		if i > 0 {
			first = pad("", indent)
		}
		t.put(first + t.style(code, l))
	}
}

// label writes a label and a text wrapped beside it.
func (t *terminal) label(label, text, code string) {
	label = pad(pad(Plain(label), t.labels-1)+" ", t.labels)
	for i, l := range wrap(text, max(t.width-length(label), 20)) {
		if i > 0 {
			label = pad("", length(label))
		}
		t.WriteString(strings.TrimRight(t.style(code, label+l), " ") + "\n")
	}
}

func (t *terminal) blocks(blocks []Block) {
	for i, b := range blocks {
		if i > 0 && apart(blocks[i-1], b) || b.Card != nil && i == 0 {
			t.gap()
		}
		if b.Title != "" && !labelled(b) {
			t.lines(b.Title, "", "")
		}
		t.block(b)
	}
}

// apart tells whether an empty line stands between two parts.
func apart(before, b Block) bool {
	switch {
	case b.Card != nil:
		return len(before.Pairs)+len(before.Tiles) == 0
	case b.Table != nil, len(b.Groups)+len(b.Rungs)+len(before.Groups) > 0:
		return true
	case before.Table != nil && b.Text != "":
		return true
	}
	return b.Title != "" && !labelled(b)
}

// labelled tells a list whose labels say what a heading would.
func labelled(b Block) bool { return len(b.Lines) > 0 && b.Lines[0].Label != "" }

func (t *terminal) block(b Block) {
	t.lines(b.Text, "", "")
	t.lines(b.Note, "", sgrDim)
	t.lines(b.Strong, "", sgrBold)
	for _, l := range plainLines(b.Pre) {
		if l != "" && l[0] != ' ' {
			l = "  " + l // the lines are a text's: none begins as one of ours does
		}
		t.put(l)
	}
	for _, l := range b.Lines {
		t.line(l)
	}
	for _, p := range b.Pairs {
		t.label(p.Name, p.Value, "")
	}
	for _, x := range b.Tiles {
		t.label(x.Label, joined(x.Value, prefixed(", ", x.Note)), "")
	}
	for i, g := range b.Groups {
		if i > 0 {
			t.gap()
		}
		t.lines(g.Name, "", sgrBold)
		for _, item := range g.Items {
			t.lines(item, "  ", "")
		}
	}
	for _, o := range b.Evidence {
		basis := joined(o.Host, prefixed(", ", fmt.Sprintf("n = %d", o.N)), prefixed(", scope: ", o.Scope))
		t.label("  "+padLeft(Plain(o.Value), t.labels-4), o.What+" "+bracketed(strings.TrimPrefix(basis, ", ")), "")
	}
	t.ladder(b.Rungs)
	if b.Card != nil {
		t.card(*b.Card)
	}
	if b.Table != nil {
		t.table(*b.Table)
	}
}

// prefixed is a text after what leads to it; empty for none.
func prefixed(lead, s string) string {
	if s == "" {
		return ""
	}
	return lead + s
}

func (t *terminal) line(l Line) {
	code := ""
	if l.Dim {
		code = sgrDim
	}
	text := joined(l.Strong, l.Text, bracketed(l.Note), prefixed(": ", l.Next))
	if l.Label != "" {
		t.label("  "+l.Label, text, code)
		return
	}
	t.hang("  - ", text, code)
}

// card writes the tag, or for want of one nothing, in the column of labels and
// the rest beside it.
func (t *terminal) card(c Card) {
	indent, first := t.labels, t.style(tagColors[c.Class], Plain(c.Tag))+pad("", t.labels-length(Plain(c.Tag)))
	if c.Tag == "" {
		indent, first = 4, "  "
	}
	margin := pad("", indent)
	say := func(text, code string) {
		for _, l := range wrap(text, max(t.width-indent, 20)) {
			t.WriteString(first + t.style(code, l) + "\n")
			first = margin
		}
		if first == "  " {
			first = margin
		}
	}
	if ch := c.Change; ch != nil && ch.Setting != "" {
		say(joined(ch.Setting, prefixed("of ", ch.Target), prefixed("on ", ch.Host)), "")
		say(ch.From+" → "+ch.To, "")
	} else if c.Text == "" || c.Tag != "fix" {
		say(c.Title, "")
	}
	if ch := c.Change; ch != nil && ch.Setting == "" {
		say(ch.From+" → "+ch.To, "")
	}
	say(c.Text, "")
	wide := 8
	for _, p := range c.Pairs {
		wide = max(wide, length(Plain(p.Name))+2)
	}
	for _, p := range c.Pairs {
		t.hang(margin+pad(Plain(p.Name), wide), p.Value, "")
	}
	say(c.State, "")
}

func (t *terminal) ladder(rungs []Rung) {
	name, bar := 0, 30 // one length for all bars, or they could not be compared
	for _, r := range rungs {
		name = min(22, max(name, length(Plain(r.Name))))
	}
	for _, r := range rungs {
		if r.Meter != nil {
			bar = min(bar, t.width-name-6-length(Plain(r.tail())))
		}
	}
	beneath := bar < 6 // a narrow terminal: the bar has its room first
	if beneath {
		bar = min(30, t.width-name-4)
	}
	for _, r := range rungs {
		label := "  " + pad(Plain(r.Name), name) + "  "
		margin := pad("", length(label))
		if r.Chosen {
			label = sgrReverse + label + sgrReset
		}
		switch {
		case r.Meter == nil && r.Words != "":
			t.put(t.style(sgrDim, label+Plain(r.Words)))
		case r.Meter == nil: // what was not looked at, with the step that would
			why := joined("not seen", prefixed(": ", r.Why), prefixed("; to see it: ", r.Show), bracketed(prefixed("predicted ", r.Predicted)))
			for i, l := range wrap(why, max(t.width-length(margin), 20)) {
				t.WriteString(t.style(sgrDim, []string{label, margin}[min(i, 1)]+l) + "\n")
			}
		case beneath:
			t.put(label + t.style(barColors[r.Class], drawBar(*r.Meter, bar)))
			t.lines(r.tail(), "    ", "")
		default:
			t.put(label + t.style(barColors[r.Class], drawBar(*r.Meter, bar)) + "  " + Plain(r.tail()))
			t.lines(r.Method, margin, sgrDim)
		}
	}
}

// tail is a rung in figures. A prediction that is the ceiling says nothing new.
func (r Rung) tail() string {
	s := joined(r.Words, prefixed(", ", r.Share))
	if m, c := r.Meter.Mark, r.Meter.Ceiling; m == nil || c != nil && *m > 0.98**c {
		return s
	}
	return s + prefixed(", predicted ", r.Predicted)
}

// drawBar draws measured (█) on ceiling (░); › marks what the scale cuts off.
func drawBar(m chart.Meter, width int) string {
	if m.Scale <= 0 {
		return pad("", width)
	}
	cells := func(v *float64) int {
		if v == nil || *v <= 0 {
			return 0
		}
		return int(min(*v/m.Scale, 1)*float64(width) + 0.5)
	}
	full := cells(m.Value)
	bar := strings.Repeat("█", full) + strings.Repeat("░", max(0, cells(m.Ceiling)-full))
	if m.Value != nil && *m.Value > m.Scale {
		bar = strings.Repeat("█", width-1) + "›"
	}
	return pad(bar, width)
}
