package watch

import "linerate/internal/model"

// State is the state of a path, in one word.
type State string

// The states. If the application sends less than the path could carry, the state is Moving and the
// limiter is the application: the path is not slow.
const (
	Starting   State = "starting"    // not watched for long enough to judge
	Moving     State = "moving"      // there is a verdict
	CannotTell State = "cannot tell" // data moves, and nothing explains well enough what holds it back
	Idle       State = "idle"        // connected, and nothing moves
	Unused     State = "unused"      // no connection
	Stale      State = "stale"       // no sample came for longer than StaleAfter intervals
	Lost       State = "lost"        // the host cannot be reached
)

// Known reports whether it is known what the path carries.
func (s State) Known() bool { return s == Moving || s == CannotTell || s == Idle || s == Unused }

// Named is a state, and the limiter that it names.
type Named struct {
	State   State           `json:"state"`
	Limiter model.LimiterID `json:"limiter,omitempty"` // of Moving only
	Where   model.Where     `json:"where,omitempty"`
	Host    string          `json:"at_host,omitempty"`
}

// Certain is the least confidence at which a limiter is named; with less the state is CannotTell.
const Certain = 0.5

// Name turns a verdict on moving data into a state.
func Name(v model.Verdict) Named {
	if v.Limiter == model.Undetermined || v.Confidence < Certain {
		return Named{State: CannotTell}
	}
	return Named{State: Moving, Limiter: v.Limiter, Where: v.Where, Host: v.Host}
}

// Steady shows a new state only after Hold windows in a row gave it: a verdict that flips each
// second helps nobody. A state that is observed and not judged (a host is lost, its samples are
// stale, the first state of all) is shown at once.
type Steady struct {
	Hold int

	shown, next Named
	times       int
}

// Next takes the state that was found now. It returns the state to show, and whether that is new.
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

// Pending is the state that was found last but is not shown yet, and how many times in a row.
func (s *Steady) Pending() (Named, int) {
	if s.times == 0 {
		return Named{}, 0
	}
	return s.next, s.times
}

// atOnce reports whether a state is shown without confirmation, because it is an observation and
// not a judgement. The state that follows it is shown at once too, since any state says more.
func atOnce(n Named) bool {
	return n.State == "" || n.State == Starting || n.State == Stale || n.State == Lost
}

// States lists all states.
func States() []State { return []State{Starting, Moving, CannotTell, Idle, Unused, Stale, Lost} }
