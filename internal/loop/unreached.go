package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// backRun is the time of the cross-check in the other direction, at 1 Mbit/s, after a
// connection did not come up.
const backRun = 300 * time.Millisecond

// unreached judges a path if err says that no connection came up; false: err is another error.
// If that helps the judgement, it first tries a connection in the other direction.
func (l *Loop) unreached(ctx context.Context, rec *Record, err error) (judged, bool) {
	var not *load.UnreachedError
	if !errors.As(err, &not) {
		return judged{}, false
	}
	var other *explain.OtherWay
	if not.How != model.Forbidden && not.How != model.NoRoute {
		other = l.back(ctx, rec, not.Unreached)
	}
	if err := l.look(ctx, rec.Facts); err != nil { // the first facts may be out of date
		l.say("%v; going by what was seen before", err)
	}
	kase := l.caseOf(rec, model.Run{})
	kase.Unreached, kase.OtherWay, kase.Lost = &not.Unreached, other, l.lost(ctx)
	rec.Case = kase
	return judge(kase), true
}

// back tries a connection from the receiver to the sender; nil: that shows nothing.
func (l *Loop) back(ctx context.Context, rec *Record, u model.Unreached) *explain.OtherWay {
	l.say("no connection from %s to %s (%s): trying one the other way, 1 Mbit/s for %v", l.Sender.Name, l.Receiver.Name, u.How, backRun)
	w := model.Workload{Streams: 1, SourceUse: model.SourceUse{Rate: unit.Mbit}, Duration: backRun, Warmup: backRun / 10,
		Sender: l.Receiver.Name, Receiver: l.Sender.Name, From: l.Receiver.Addr, To: l.Sender.Addr}
	run, err := measure.Run(ctx, w, measure.Ends{Sender: l.Receiver.Agent, Receiver: l.Sender.Agent},
		measure.Options{Label: "the other way", Interval: sampleInterval, Now: l.Now})
	var not *load.UnreachedError
	switch {
	case err == nil:
		rec.Results.Runs = append(rec.Results.Runs, run)
		return &explain.OtherWay{Up: true}
	case errors.As(err, &not):
		return &explain.OtherWay{}
	}
	l.say("the connection the other way tells nothing: %v", err)
	return nil
}

// Unrouted is the record for two hosts when the sender has no route to an address of the
// receiver.
func (c *Climb) Unrouted(ctx context.Context, to netip.Addr) (*Record, error) {
	c.rec = &Record{Facts: map[string]*model.Facts{}}
	r := &c.rec.Results
	r.V, r.Restored, r.Started, r.Hosts = model.OutcomeVersion, true, c.Now(), []string{c.Sender.Name, c.Receiver.Name}
	c.Receiver.Addr = to
	if err := c.look(ctx, c.rec.Facts); err != nil {
		return c.rec, err
	}
	kase := c.caseOf(c.rec, model.Run{})
	kase.Unreached = &model.Unreached{How: model.NoRoute, To: netip.AddrPortFrom(to, 0)}
	c.conclude(ctx, judge(kase))
	r.Took = c.Now().Sub(r.Started)
	return c.rec, nil
}

// down records that the rungs of the link were tried.
func (c *Climb) down(u model.Unreached) {
	why := fmt.Errorf("no connection comes up (%s): %s", u.How, u.Text)
	for _, name := range []string{explain.RungStream, explain.RungStreams, explain.RungReverse} {
		if r := c.rungs[name]; r == nil || r.measured == nil {
			c.missed(name, why)
		}
	}
}
