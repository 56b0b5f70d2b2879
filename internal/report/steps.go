package report

import (
	"fmt"
	"strconv"

	"linerate/internal/model"
)

// stepRow is one step of a fix.
type stepRow struct {
	N       string
	Limiter string // with its place
	Before  string // goodput when it was named
	Change  string
	Gain    string // with interval, p and n
	Outcome string
	Kept    bool
}

// stepsOf is what a fix tried.
func stepsOf(r *model.Results) []stepRow {
	var out []stepRow
	for i, s := range r.Steps {
		row := stepRow{N: strconv.Itoa(i + 1), Limiter: string(s.Verdict.Limiter), Before: rate(&s.Verdict.Measured), Change: "none", Gain: "not measured", Outcome: s.Why, Kept: s.Kept}
		if s.Host != "" {
			row.Limiter += " (" + s.Host + ")"
		}
		if c := s.Change; c != nil {
			row.Change = fmt.Sprintf("%s: %s → %s", c.Setting, c.From, c.To)
			if c.Target != "" {
				row.Change = fmt.Sprintf("%s of %s: %s → %s", c.Setting, c.Target, c.From, c.To)
			}
		}
		if s.Proof != nil {
			row.Gain = proofSentence(s.Proof)
		}
		out = append(out, row)
	}
	return out
}

// steps of a fix, in a terminal.
func (t *terminal) steps(r *model.Results) {
	if len(r.Steps) == 0 && r.Ended == "" {
		return
	}
	t.head("Steps")
	for _, s := range stepsOf(r) {
		t.para("  "+s.N, s.Before+", limited by "+s.Limiter, sgrBold)
		t.para("", s.Change, "")
		if s.Gain != "not measured" {
			t.para("", s.Gain, "")
		}
		t.para("", s.Outcome, "")
	}
	t.para("  ended", r.Ended, "")
}

// markdownSteps is the same as a table.
func markdownSteps(line func(string, ...any), r *model.Results) {
	if len(r.Steps) == 0 && r.Ended == "" {
		return
	}
	if len(r.Steps) > 0 {
		line("\n| step | before | limited by | change | gain | outcome |\n|---|---:|---|---|---|---|")
	}
	for _, s := range stepsOf(r) {
		line("| %s | %s | %s | %s | %s | %s |", s.N, md(s.Before), md(s.Limiter), md(s.Change), md(s.Gain), md(s.Outcome))
	}
	line("\nEnded: %s.", md(r.Ended))
}
