package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// title is the verdict for a reader who reads nothing else.
func title(v model.Verdict) string {
	share := ""
	if v.ShareOfCeiling != nil && stat.Finite(*v.ShareOfCeiling) {
		share = shareText(*v.ShareOfCeiling) + " of its ceiling"
	}
	switch {
	case v.Limiter == model.None && share != "":
		return "Nothing to fix: the path runs at " + share
	case v.Limiter == model.None:
		return "Nothing to fix at " + rate(&v.Measured)
	case v.Limiter == model.Undetermined || v.Limiter == "":
		return "What limits this path to " + cmp.Or(share, rate(&v.Measured)) + " is not determined"
	}
	subject := limiterName(v.Limiter)
	if v.Host != "" {
		subject += " at " + v.Host
	}
	return subject + " holds the path to " + cmp.Or(share, rate(&v.Measured))
}

func ceilingWords(v model.Verdict) string {
	if number(v.Ceiling) == nil {
		return "a ceiling that is " + unknown
	}
	return rate(v.Ceiling) + " possible"
}

// place is where the limiter is, in words; empty for nowhere.
func place(v model.Verdict) string {
	if v.Where == model.Nowhere || v.Where == "" {
		return ""
	}
	preposition := "at the "
	if v.Where == model.AtPath || v.Where == model.AtApplication {
		preposition = "in the "
	}
	if v.Host == "" {
		return preposition + string(v.Where)
	}
	return preposition + string(v.Where) + " (" + v.Host + ")"
}

func evidenceWords(v model.Verdict) string {
	words := "from " + unit.Count(len(v.Evidence), "observation")
	if len(v.Alternatives) > 0 {
		words += ", " + unit.Count(len(v.Alternatives), "alternative") + " left"
	}
	return words
}

func proofTile(r *model.Results) document.Tile {
	p := r.Proof
	if p == nil {
		if g := r.Verdict.ExpectedGain; g != nil {
			return tile("Expected with the fix", rate(&g.Low)+" to "+rate(&g.High), "not proved; "+g.Why)
		}
		return tile("Proof", "none", "nothing was changed")
	}
	switch {
	case p.Effect != "gain" && p.Effect != "loss" || p.Ratio == nil:
		return tile("Proof", p.Effect, proofSentence(p))
	case p.Effect == "loss":
		return tile("Proven loss", factor(p.Ratio), proofDetail(p))
	}
	return tile("Proven gain", factor(p.Ratio), proofDetail(p))
}

// fixOf is what would remove the limiter.
func fixOf(r *model.Results) *document.Card {
	f := r.Verdict.Fix
	c := &document.Card{Class: string(f.Kind), Tag: "fix", Title: "No change needed", Text: document.Capital(f.Advice), State: fixState(r)}
	switch f.Kind {
	case model.FixSetting:
		c.Title = "Change one setting"
	case model.FixOperator:
		c.Title = "Something for the operator"
	}
	if f.Setting != "" {
		c.Change = &document.Change{Setting: f.Setting, Target: f.Target, Host: f.Host, From: f.From, To: f.To}
	}
	return c
}

// fixState tells what has been done about the limiter, and whether it stands.
func fixState(r *model.Results) string {
	by := ""
	if r.Proof != nil {
		by = r.Proof.By
	}
	switch {
	case len(r.Changes) == 0 && r.Proof == nil:
		return "Nothing was changed."
	case !r.Restored:
		return "NOT restored: a change of this run is still in place. Run the undo.sh that the command named when it ended."
	case len(keptSteps(r)) > 0:
		return keptState(r)
	case by == "lab operator":
		return "Played by the lab operator for the proof, then taken back."
	}
	return "Applied for the proof, then undone: the host is as it was found."
}

// keptSteps are the steps of a fix whose changes are in force.
func keptSteps(r *model.Results) (kept []model.FixStep) {
	for _, s := range r.Steps {
		if s.Kept && s.Change != nil {
			kept = append(kept, s)
		}
	}
	return kept
}

// keptState lists what a fix left changed, and how each host gets it back.
func keptState(r *model.Results) string {
	var on, undo []string
	for _, s := range keptSteps(r) {
		name := s.Change.Setting
		if s.Change.Target != "" {
			name += " of " + s.Change.Target
		}
		on = append(on, fmt.Sprintf("%s on %s (%s → %s)", name, s.Host, s.Change.From, s.Change.To))
		if cmd := "linerate tune undo " + s.Host; !slices.Contains(undo, cmd) {
			undo = append(undo, cmd)
		}
	}
	return "Kept: " + strings.Join(on, "; ") + ". To have it as it was: " + strings.Join(undo, "; ") + "."
}
