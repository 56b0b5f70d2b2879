package report

import (
	"cmp"
	"html/template"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// headView is the top of the page: what a reader in a hurry takes away.
type headView struct {
	Title string
	Line  string // the verdict's own words; empty where Title is all there is
	Gauge template.HTML
	Share string // empty: the ceiling is not known
	Tiles []tile
	Fix   fixView
}

// tile is one figure with what it is and what it rests on.
type tile struct{ Label, Value, Note string }

// fixView is what would remove the limiter.
type fixView struct {
	Kind     model.FixKind
	Title    string
	Setting  string
	Target   string
	Host     string
	From, To string
	Advice   string
	State    string // what was done about it
}

func headOf(r *model.Results) headView {
	v := r.Verdict
	h := headView{Title: title(v), Line: v.Line, Fix: fixOf(r)}
	if v.ShareOfCeiling != nil && stat.Finite(*v.ShareOfCeiling) {
		h.Share = percent(*v.ShareOfCeiling)
	}
	if c := number(v.Ceiling); c != nil && *c > 0 {
		m := chart.Meter{Scale: *c, Ceiling: c, Value: number(&v.Measured), Figure: chart.Figure{ID: "gauge",
			Title: "Share of the ceiling", Desc: rate(&v.Measured) + " of " + rate(v.Ceiling)}}
		h.Gauge = template.HTML(m.SVG()) // chart escapes every text
	}
	h.Tiles = append(h.Tiles, tile{"Measured", rate(&v.Measured), "of " + ceilingWords(v)})
	h.Tiles = append(h.Tiles, tile{"Limiter", limiterName(v.Limiter), place(v)})
	h.Tiles = append(h.Tiles, tile{"Confidence", percent(v.Confidence), evidenceWords(v)})
	h.Tiles = append(h.Tiles, proofTile(r))
	return h
}

// headline is the verdict's sentence, or one made from its parts.
func headline(v model.Verdict) string {
	if v.Line != "" {
		return v.Line
	}
	line := limiterName(v.Limiter)
	if at := place(v); at != "" {
		line += " " + at
	}
	return line + ": " + rate(&v.Measured) + " of " + ceilingWords(v)
}

// title is the verdict for a reader who reads nothing else.
func title(v model.Verdict) string {
	share := ""
	if v.ShareOfCeiling != nil && stat.Finite(*v.ShareOfCeiling) {
		share = percent(*v.ShareOfCeiling) + " of its ceiling"
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

func proofTile(r *model.Results) tile {
	p := r.Proof
	if p == nil {
		if g := r.Verdict.ExpectedGain; g != nil {
			return tile{"Expected with the fix", rate(&g.Low) + " to " + rate(&g.High), "not proved; " + g.Why}
		}
		return tile{"Proof", "none", "nothing was changed"}
	}
	switch {
	case p.Effect != "gain" && p.Effect != "loss" || p.Ratio == nil:
		return tile{"Proof", p.Effect, proofSentence(p)}
	case p.Effect == "loss":
		return tile{"Proven loss", factor(p.Ratio), proofDetail(p)}
	}
	return tile{"Proven gain", factor(p.Ratio), proofDetail(p)}
}

func fixOf(r *model.Results) fixView {
	f := r.Verdict.Fix
	v := fixView{Kind: f.Kind, Setting: f.Setting, Target: f.Target, Host: f.Host, From: f.From, To: f.To, Advice: capital(f.Advice)}
	switch f.Kind {
	case model.FixSetting:
		v.Title = "Change one setting"
	case model.FixOperator:
		v.Title = "Something for the operator"
	default:
		v.Title = "No change needed"
	}
	v.State = fixState(r)
	return v
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
	case by == "lab operator":
		return "Played by the lab operator for the proof, then taken back."
	}
	return "Applied for the proof, then undone: the host is as it was found."
}
