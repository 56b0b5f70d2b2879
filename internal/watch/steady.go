package watch

import "linerate/internal/model"

// State is what a path is in, in one word.
type State string

// The states. A path whose application sends less than it could is Moving with the limiter of
// the application's: it is not slow.
const (
	Starting   State = "starting"    // not watched for long enough to judge
	Moving     State = "moving"      // there is a verdict
	CannotTell State = "cannot tell" // data moves, and nothing explains well enough what holds it back
	Idle       State = "idle"        // connected, and nothing moves
	Unused     State = "unused"      // no connection
	Stale      State = "stale"       // no sample came for longer than StaleAfter intervals
	Lost       State = "lost"        // the host cannot be reached
)

// Known tells that it is known what the path carries.
func (s State) Known() bool { return s == Moving || s == CannotTell || s == Idle || s == Unused }

// Named is a state with what is named in it.
type Named struct {
	State   State           `json:"state"`
	Limiter model.LimiterID `json:"limiter,omitempty"` // of Moving only
	Where   model.Where     `json:"where,omitempty"`
	Host    string          `json:"at_host,omitempty"`
}

// Certain is the least confidence at which a limiter is named; with less the state is CannotTell.
const Certain = 0.5

// Name is what a verdict on data that moves says.
func Name(v model.Verdict) Named {
	if v.Limiter == model.Undetermined || v.Confidence < Certain {
		return Named{State: CannotTell}
	}
	return Named{State: Moving, Limiter: v.Limiter, Where: v.Where, Host: v.Host}
}

// Steady has another state shown only after it was found Hold times in a row: a verdict that
// flips each second helps nobody. What is known at once (a host is lost, its samples are stale,
// the first state of all) is shown at once.
type Steady struct {
	Hold int

	shown, next Named
	times       int
}

// Next takes what was found now, and returns what is shown, and whether that is another than before.
func (s *Steady) Next(found Named) (shown Named, changed bool) {
	if found == s.shown {
		s.times = 0
		return s.shown, false
	}
	if found != s.next || s.times == 0 {
		s.next, s.times = found, 0
	}
	if s.times++; s.times < s.Hold && !atOnce(found) && !atOnce(s.shown) {
		return s.shown, false
	}
	s.shown, s.times = found, 0
	return s.shown, true
}

// Pending is what was found last where that is not shown yet, and how many times in a row.
func (s *Steady) Pending() (Named, int) {
	if s.times == 0 {
		return Named{}, 0
	}
	return s.next, s.times
}

// atOnce tells that a state is shown without confirmation: it is an observation and no
// judgement. The state after it is shown at once too, for any tells more.
func atOnce(n Named) bool {
	return n.State == "" || n.State == Starting || n.State == Stale || n.State == Lost
}

// States are all of them.
func States() []State { return []State{Starting, Moving, CannotTell, Idle, Unused, Stale, Lost} }
