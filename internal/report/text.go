package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"linerate/internal/model"
)

// Terminal codes (ECMA-48, SGR): the only ones used.
const (
	sgrBold  = "\x1b[1m"
	sgrDim   = "\x1b[2m"
	sgrReset = "\x1b[0m"
)

// labelWidth is the column that the values start in.
const labelWidth = 14

// terminal collects the lines of a text report.
type terminal struct {
	strings.Builder
	color bool
	width int
}

// Text writes the outcome for a terminal of width columns: the verdict in one
// line, its evidence beneath, the ladder, the proof and where the report is.
// With color the verdict is bold and what was not seen is dim; without it
// there is no escape sequence at all. Of a study it is the answer and what it
// rests on. It fails only when w does.
func Text(w io.Writer, r *model.Results, color bool, width int) error {
	t := &terminal{color: color, width: min(max(width, 40), 120)}
	if r.Study != nil {
		t.study(r)
		return t.write(w)
	}
	t.verdict(r)
	t.evidence(r.Verdict)
	t.ladder(r)
	t.proof(r)
	t.steps(r)
	t.doubts(r)
	t.closing(r)
	return t.write(w)
}

func (t *terminal) write(w io.Writer) error {
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (t *terminal) style(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return code + s + sgrReset
}

// para writes a label and a text wrapped beside it.
func (t *terminal) para(label, text, code string) {
	label = pad(plain(label), labelWidth-1) + " "
	for i, l := range wrap(plain(text), t.width-labelWidth) {
		if i > 0 {
			label = ""
		}
		t.WriteString(t.style(code, pad(label, labelWidth)+l) + "\n")
	}
}

func (t *terminal) head(s string) { t.WriteString("\n" + s + "\n") }

func (t *terminal) verdict(r *model.Results) {
	v := r.Verdict
	for _, l := range wrap(plain(headline(v)), t.width) {
		t.WriteString(t.style(sgrBold, l) + "\n")
	}
	t.WriteString("\n")
	if v.Line == "" {
		t.details(v)
	}
	t.para("confidence", percent(v.Confidence)+", "+evidenceWords(v), "")
	t.fix(r)
}

// details says one by one what a verdict's line says at once.
func (t *terminal) details(v model.Verdict) {
	measured := rate(&v.Measured) + " of " + ceilingWords(v)
	if v.ShareOfCeiling != nil {
		measured = rate(&v.Measured) + ", " + percent(*v.ShareOfCeiling) + " of the ceiling of " + rate(v.Ceiling)
	}
	t.para("measured", measured, "")
	limiter := cmp.Or(string(v.Limiter), unknown)
	if at := place(v); at != "" {
		limiter += ", " + at
	}
	t.para("limiter", limiter, "")
}

func (t *terminal) fix(r *model.Results) {
	f := fixOf(r)
	if f.Setting != "" {
		setting := f.Setting
		if f.Host != "" {
			setting += " on " + f.Host
		}
		t.para("fix", setting, "")
		t.para("", f.From+" → "+f.To, "")
		t.para("", f.Advice, "")
	} else if f.Advice != "" {
		t.para("fix", f.Advice, "")
	} else {
		t.para("fix", f.Title, "")
	}
	t.para("", f.State, "")
}

func (t *terminal) evidence(v model.Verdict) {
	if len(v.Evidence) > 0 {
		t.head("Evidence")
	}
	for _, e := range v.Evidence {
		t.para("  "+padLeft(evidenceValue(e), labelWidth-4), e.What+" ("+basis(e)+")", "")
	}
	for _, a := range v.Alternatives {
		t.para("  or", fmt.Sprintf("%s: %s", a.Limiter, a.Probe), "")
	}
	for _, c := range laterCauses(v) {
		t.para("  then", c.Limiter+" "+c.Place+", "+c.From+": "+c.Evidence+" (confidence "+c.Confidence+")", "")
	}
	for _, b := range v.CouldNotSee {
		t.para("  not seen", fmt.Sprintf("%s (would show %s): %s", b.What, b.WouldShow, b.How), sgrDim)
	}
	for _, n := range v.Notes {
		t.para("  note", n, "")
	}
}

// basis is what an observation rests on.
func basis(e model.Evidence) string {
	s := fmt.Sprintf("n = %d", e.N)
	if e.Host != "" {
		s = e.Host + ", " + s
	}
	if e.Scope != "" {
		s += ", scope: " + e.Scope
	}
	return s
}

func (t *terminal) ladder(r *model.Results) {
	if len(r.Ladder) == 0 {
		return
	}
	t.head("Ladder")
	name := 0
	for _, rung := range r.Ladder {
		name = min(22, max(name, utf8.RuneCountInString(rung.Rung)))
	}
	scale, bar := ladderScale(r), 30 // one length for all, or they could not be compared
	for _, rung := range r.Ladder {
		if rung.Seen {
			bar = min(bar, t.width-name-6-utf8.RuneCountInString(rungTail(rung)))
		}
	}
	for _, rung := range r.Ladder {
		label := "  " + pad(plain(rung.Rung), name) + "  "
		if !rung.Seen {
			t.unseen(label, rung)
			continue
		}
		tail := "  " + rungTail(rung)
		if bar < 6 { // a narrow terminal: no bar, and the numbers beneath
			t.WriteString(strings.TrimRight(label, " ") + "\n")
			for _, l := range wrap(strings.TrimSpace(tail), t.width-4) {
				t.WriteString("    " + l + "\n")
			}
			continue
		}
		t.WriteString(label + drawBar(rung, scale, bar) + tail + "\n")
		t.method(label, rung)
	}
}

// method says what a rung rests on: without it a disk that was read from the
// server's memory, or a virtual one, passes for a disk.
func (t *terminal) method(label string, rung model.Rung) {
	if rung.Method == "" {
		return
	}
	indent := utf8.RuneCountInString(label)
	for _, l := range wrap(plain(rung.Method), t.width-indent) {
		t.WriteString(t.style(sgrDim, strings.Repeat(" ", indent)+l) + "\n")
	}
}

// rungTail is a rung in figures. A prediction that is the ceiling says nothing
// new there.
func rungTail(rung model.Rung) string {
	s := measuredWords(rung)
	if share, ok := shareOf(rung); ok {
		s += ", " + percent(share)
	}
	p, c := number(rung.Predicted), number(rung.Ceiling)
	if p == nil || c != nil && *p > 0.98**c {
		return s
	}
	return s + predictedWords(rung)
}

// unseen draws a rung that was not looked at, with the step that would.
func (t *terminal) unseen(label string, rung model.Rung) {
	for _, l := range wrap(plain(unseenWords(rung)), t.width-utf8.RuneCountInString(label)) {
		t.WriteString(t.style(sgrDim, label+l) + "\n")
		label = strings.Repeat(" ", utf8.RuneCountInString(label))
	}
}

// drawBar draws measured (█) on ceiling (░); › marks what the scale cuts off.
func drawBar(rung model.Rung, scale float64, width int) string {
	if scale <= 0 {
		return pad("", width)
	}
	cells := func(v *float64) int {
		if v == nil || *v <= 0 {
			return 0
		}
		return int(min(*v/scale, 1)*float64(width) + 0.5)
	}
	value, ceiling := number(rung.Measured), number(rung.Ceiling)
	full := cells(value)
	bar := strings.Repeat("█", full) + strings.Repeat("░", max(0, cells(ceiling)-full))
	if value != nil && *value > scale {
		bar = strings.Repeat("█", width-1) + "›"
	}
	return pad(bar, width)
}

func (t *terminal) proof(r *model.Results) {
	if r.Proof == nil {
		if g := r.Verdict.ExpectedGain; g != nil {
			t.head("Proof")
			t.para("  none", fmt.Sprintf("expected without this limiter: %s to %s (%s)", rate(&g.Low), rate(&g.High), g.Why), "")
		}
		return
	}
	t.head("Proof")
	t.para("  "+r.Proof.Effect, proofSentence(r.Proof)+", by "+r.Proof.By, sgrBold)
	t.para("", controlSentence(r.Proof), "")
	base, treated := spreadOf(r.Proof.Baseline), spreadOf(r.Proof.Treated)
	if base.N > 0 && treated.N > 0 {
		t.para("", fmt.Sprintf("medians %s → %s, ranges %s to %s and %s to %s",
			base.Mid, treated.Mid, base.Low, base.Top, treated.Low, treated.Top), "")
	}
	if r.Injected != "" {
		t.para("  the lab", r.Injected, "")
	}
}

func (t *terminal) doubts(r *model.Results) {
	all := doubts(r)
	if len(all) > 0 {
		t.head("Read with care")
	}
	for _, d := range all {
		text := d.What
		if d.Evidence != "" {
			text += " (" + d.Evidence + ")"
		}
		if d.Next != "" {
			text += ": " + d.Next
		}
		t.para("  warning", text, "")
	}
	for _, l := range r.LeftOut {
		t.para("  left out", l, "")
	}
}

func (t *terminal) closing(r *model.Results) {
	if r.Report != "" {
		// Not wrapped: a path is copied as a whole.
		t.WriteString("\n" + pad("report", labelWidth) + plain(r.Report) + "\n")
	}
}
