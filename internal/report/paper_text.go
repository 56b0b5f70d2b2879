package report

import (
	"linerate/internal/model"
)

// study writes the answer of a study, what it rests on, and where the rest is.
func (t *terminal) study(r *model.Results) {
	s := r.Study
	for _, l := range wrap(plain(headlineOf(s)), t.width) {
		t.WriteString(t.style(sgrBold, l) + "\n")
	}
	if s.Question != "" {
		t.WriteString("\n")
		t.para("question", s.Question, "")
	}
	for _, a := range answersOf(s) {
		t.WriteString("\n")
		t.lines(a.Name, "", sgrBold)
		for _, item := range a.Items {
			t.lines(item, "  ", "")
		}
	}
	t.WriteString("\n")
	w := &paperWriter{r: r, s: s, steps: baselineSteps(s)}
	for _, x := range w.tiles() {
		t.para(x.Label, x.Value+", "+x.Note, "")
	}
	if a := s.Ended; a != "" {
		t.para("ended", a, "")
	}
	for _, x := range s.Threats {
		text := x.What
		if x.Next != "" {
			text += ": " + x.Next
		}
		t.para("doubt", text, sgrDim)
	}
	t.doubts(r)
	t.closing(r)
}

// lines writes a text wrapped to the width, each line after the margin.
func (t *terminal) lines(text, margin, code string) {
	for _, l := range wrap(plain(text), t.width-len(margin)) {
		t.WriteString(margin + t.style(code, l) + "\n")
	}
}
