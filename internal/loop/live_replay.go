package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// Played is a recorded run that is replayed as a live view.
type Played struct {
	Run   model.Run
	Facts map[string]*model.Facts
	// Ceiling is the path's ceiling in the run's own verdict; nil: not known. It is used if no line
	// rate is stated, because a recording does not keep the rate that was stated then.
	Ceiling *unit.BitRate
	// Wait is called between two steps; its error ends the view.
	Wait func(ctx context.Context, step time.Duration) error
}

// Replay shows a recorded run: with one host its connections, with two those between them. Ends and
// Now are not used. If the run has no samples, nothing is shown.
func (l *Live) Replay(ctx context.Context, r Played) error {
	at := time.Duration(0)
	l.paths, l.began, l.ends = map[[2]int]*watch.Path{}, r.Run.Started, nil
	l.Now = func() time.Time { return r.Run.Started.Add(at) }
	l.ceiling = r.Ceiling
	var rest [][]model.Sample
	for _, name := range hostsOf(r.Run) {
		e := &liveEnd{LiveEnd: LiveEnd{Name: name, Path: r.Run.Label}, facts: r.Facts[name], reached: true}
		e.window.Span, e.window.Counters = l.Window, explain.Counters()
		l.ends, rest = append(l.ends, e), append(rest, r.Run.Samples[name])
	}
	if len(l.ends) == 0 {
		return nil
	}
	for at = l.Step; ; at += l.Step {
		left := 0
		for i, e := range l.ends {
			for len(rest[i]) > 0 && rest[i][0].At <= at {
				e.window.Add(rest[i][0], max(0, rest[i][0].At))
				rest[i] = rest[i][1:]
			}
			left += len(rest[i])
		}
		if err := l.Show(l.look()); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if err := r.Wait(ctx, l.Step); err != nil {
			return fmt.Errorf("play %s: %w", r.Run.Label, err)
		}
	}
}

// hostsOf are the hosts of a run that have samples, in the order of their names.
func hostsOf(r model.Run) (out []string) {
	for name, s := range r.Samples {
		if len(s) > 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// lineRate is the rate that was stated, else that from which the recorded ceiling follows: a
// ceiling is a line rate times the payload's share of a frame.
func (l *Live) lineRate(key [2]int, c explain.Case) model.Fact[unit.BitRate] {
	if l.LineRate.State == model.Present || l.ceiling == nil {
		return l.stated(key, c)
	}
	c.LineRate = model.Known(unit.Gbit)
	of := explain.Ceiling(c)
	if of.Rate == nil || *of.Rate <= 0 {
		return l.LineRate
	}
	return model.Known(*l.ceiling / *of.Rate * unit.Gbit)
}

// stated is the line rate that was stated for the addresses between which a path's data go.
func (l *Live) stated(key [2]int, c explain.Case) model.Fact[unit.BitRate] {
	r, ok := l.LineRates[key]
	if !ok || l.LineRate.State == model.Present {
		return l.LineRate
	}
	known := false
	for _, e := range []*explain.End{c.Sender, c.Receiver} {
		if e == nil || !e.Peer.IsValid() {
			continue
		}
		if !slices.Contains(r.Addrs, e.Peer) {
			return l.LineRate
		}
		known = true
	}
	if !known {
		return l.LineRate
	}
	return model.Known(r.Rate)
}
