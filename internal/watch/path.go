package watch

import (
	"fmt"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Judgement is what one window of samples says about a path.
type Judgement struct {
	Named
	Verdict model.Verdict // empty where nothing moved
	Goodput unit.BitRate
	Ceiling *unit.BitRate
	Conns   []Conn
	// Unlisted is how many connections there are beyond Conns, all of them idle if Rest is set; Crowd: too many
	// move data to be judged one by one, also while somebody looks.
	Unlisted int
	Rest     bool
	Crowd    bool
	Why      string
	// Judged is when the verdict was made if it comes from an earlier window; else zero.
	Judged time.Time
}

// Path holds the state that is shown for one path, and since when.
type Path struct {
	Name   string
	Steady Steady

	since time.Time
}

// Shown is the state that is shown now.
func (p *Path) Shown() Named { return p.Steady.shown }

// Leave tells that the path is not there now: what is shown of it once it is again has been shown from then on.
func (p *Path) Leave() { p.Steady, p.since = Steady{Hold: p.Steady.Hold}, time.Time{} }

// Step takes the judgement of the newest window, and returns the picture to show.
func (p *Path) Step(now time.Time, window time.Duration, j Judgement, hosts []Host) Picture {
	before := p.Steady.shown
	shown, changed := p.Steady.Next(j.Named)
	out := Picture{V: PictureVersion, At: now, Path: p.Name, Shown: shown, Window: window, Verdict: j.Verdict,
		Goodput: j.Goodput, Ceiling: j.Ceiling, Hosts: hosts, Conns: j.Conns, Unlisted: j.Unlisted, UnlistedIdle: j.Rest && j.Unlisted > 0, Why: j.Why, Judged: j.Judged}
	if out.Conns == nil {
		out.Conns = []Conn{}
	}
	if changed {
		p.since = now
		e := Event{At: now, Path: p.Name, From: before, To: shown, Line: j.Why}
		if j.Verdict.Line != "" {
			e.Line, e.Evidence = j.Verdict.Line, j.Verdict.Evidence
			if out.Guessed() && len(j.Verdict.Contradictions) == 0 { // with one the line says so itself
				e.Line = fmt.Sprintf("Not certain (confidence %.0f%%): %s", 100*j.Verdict.Confidence, e.Line)
			}
		}
		out.Events = []Event{e}
	}
	out.Since = p.since
	if next, times := p.Steady.Pending(); times > 0 {
		out.Found, out.FoundTimes = &next, times
	}
	return out
}

// Guessed tells that what limits the path is not named because the likeliest is too uncertain.
func (p Picture) Guessed() bool {
	v := p.Verdict
	return p.Shown.State == CannotTell && v.Limiter != "" && v.Limiter != model.Undetermined && v.Confidence < Certain
}
