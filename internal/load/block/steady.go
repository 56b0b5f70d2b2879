package block

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Steady has a run go on until the target has settled, before it measures: rounds
// of one length, of which the last SteadyWindow must agree. The criterion is that of
// SNIA's Solid State Storage Performance Test Specification (PTS 2.0.2, "steady
// state"): within the window of five rounds, largest minus smallest is at most 20%
// of the mean, and the best straight line through them rises or falls by at most 10%
// of the mean.
type Steady struct {
	Round time.Duration
	// Most rounds, after which it is measured all the same; 0: MaxRounds.
	Most int
}

// SteadyWindow is how many rounds in a row must agree, MaxRounds how many are
// made at most (both of the same specification).
const (
	SteadyWindow = 5
	MaxRounds    = 25
	steadyRange  = 0.20
	steadySlope  = 0.10
)

// Settled is how a target settled, or did not.
type Settled struct {
	Reached bool          `json:"reached"`
	Round   time.Duration `json:"round_ns"`
	// Rates of all rounds, in requests per second.
	Rates []float64 `json:"rounds_iops"`
	// Of the last window, as shares of its mean.
	Range float64 `json:"range"`
	Slope float64 `json:"slope"`
}

// judge looks at the last window.
func (s *Settled) judge() {
	if len(s.Rates) < SteadyWindow {
		return
	}
	y := s.Rates[len(s.Rates)-SteadyWindow:]
	least, most, mean := y[0], y[0], 0.0
	for _, v := range y {
		least, most, mean = min(least, v), max(most, v), mean+v/SteadyWindow
	}
	if mean <= 0 {
		return
	}
	// Least squares over x = 0, 1, …; the line's rise over the window is its slope
	// times the distance between the first and the last x.
	var xy, xx float64
	for i, v := range y {
		x := float64(i) - (SteadyWindow-1)/2.0
		xy, xx = xy+x*v, xx+x*x
	}
	s.Range, s.Slope = (most-least)/mean, math.Abs(xy/xx)*(SteadyWindow-1)/mean
	s.Reached = s.Range <= steadyRange && s.Slope <= steadySlope
}

// phases tell the threads where the measured part begins.
type phases struct {
	from  atomic.Int64  // since the start
	known chan struct{} // closed once it is set for good
}

// never is a beginning that is not known yet.
const never = time.Duration(math.MaxInt64 / 4)

func newPhases(s Spec) *phases {
	p := &phases{known: make(chan struct{})}
	if s.Steady == nil {
		p.set(s.Warmup)
		return p
	}
	p.from.Store(int64(never))
	return p
}

func (p *phases) set(from time.Duration) {
	p.from.Store(int64(from))
	close(p.known)
}

// soon is how far ahead the measured part is set, so that no thread is past it.
const soon = 20 * time.Millisecond

// settle watches rounds until the target has settled, and begins the measured part.
// It returns when that, or ctx, is over.
func (p *phases) settle(ctx context.Context, s Spec, start time.Time, out *Settled) {
	out.Round = s.Steady.Round
	most := s.Steady.Most
	if most == 0 {
		most = MaxRounds
	}
	at := start.Add(s.Warmup)
	var before int64
	for n := 0; n <= most; n++ {
		timer := time.NewTimer(time.Until(at.Add(time.Duration(n) * s.Steady.Round)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		now := s.Progress.requests.Load()
		if n > 0 {
			out.Rates = append(out.Rates, float64(now-before)/s.Steady.Round.Seconds())
			out.judge()
		}
		before = now
		if out.Reached {
			break
		}
	}
	p.set(time.Since(start) + soon)
}
