package loop

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// passive watches the traffic that flows between the hosts anyway, without load by linerate.
func (c *Climb) passive(ctx context.Context) (judged, error) {
	c.say("watching what moves between %s and %s anyway for %v, without load", c.Sender.Name, c.Receiver.Name, c.Rungs.Passive)
	run, err := c.watchBoth(ctx, map[string]measure.Watch{
		c.Sender.Name:   {Addrs: []netip.Addr{c.Receiver.Addr}, FindOwners: true},
		c.Receiver.Name: {Addrs: []netip.Addr{c.Sender.Addr}, FindOwners: true},
	}, c.Rungs.Passive)
	if err != nil {
		return judged{}, err
	}
	c.rec.Results.Runs = append(c.rec.Results.Runs, run)
	return judge(c.watchedCase(run)), nil
}

// WatchExport judges from both ends the traffic over the client's mount of the Export
// for d, without a load of its own. The record is nil when nothing moves.
func (c *Climb) WatchExport(ctx context.Context, d time.Duration) (*Record, error) {
	c.rec = &Record{Facts: map[string]*model.Facts{}}
	r := &c.rec.Results
	r.V, r.Restored, r.Started = model.OutcomeVersion, true, c.Now()
	r.Hosts = []string{c.Sender.Name, c.Receiver.Name}
	if err := c.look(ctx, c.rec.Facts); err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	var run model.Run
	for _, d := range []time.Duration{min(d, awaited), d} {
		var err error
		if run, err = c.watchBoth(ctx, c.mountWatch(0), d); err != nil {
			return nil, err
		}
		if seen := run.Samples[c.Receiver.Name]; idle(traffic(seen), seen) {
			return nil, nil
		}
	}
	r.Runs = append(r.Runs, run)
	if err := c.end(ctx); err != nil {
		return nil, err
	}
	c.note("a transfer runs over %s: it was watched, and no load was put on anything; run this again when it is over to climb the ladder", c.Export.Mount.Point)
	c.conclude(ctx, judge(c.watchedCase(run)))
	r.Took = c.Now().Sub(r.Started)
	return c.rec, nil
}

// awaited is how long a mount is watched for a transfer to begin.
const awaited = time.Second

// watchBoth samples both ends without load. The run's goodput is that of the
// busier direction as the receiver, the client of an export, counts it.
func (c *Climb) watchBoth(ctx context.Context, watch map[string]measure.Watch, d time.Duration) (model.Run, error) {
	run := model.Run{Label: "watched", Started: c.Now(), Window: d}
	stop, err := c.sample(ctx, watch, func(string, model.Sample) {})
	if err != nil {
		return run, fmt.Errorf("watch both ends: %w", err)
	}
	wait(ctx, d)
	if run.Samples, err = stop(); err != nil {
		return run, fmt.Errorf("watch both ends: %w", err)
	}
	if ctx.Err() != nil {
		return run, fmt.Errorf("watch both ends: %w", context.Cause(ctx))
	}
	seen := run.Samples[c.Receiver.Name]
	if peers := traffic(seen); len(peers) > 0 { // only the sender was watched
		run.Bytes, run.Goodput = unit.Bytes(peers[0].bytes()), rate(peers[0].bytes(), seen)
	}
	return run, nil
}

// watchedCase is the case seen from both ends, with the end that sends as the sender.
func (c *Climb) watchedCase(run model.Run) explain.Case {
	kase := c.caseSeen(run, true)
	if peers := traffic(run.Samples[c.Receiver.Name]); len(peers) > 0 && peers[0].sent > peers[0].received {
		kase.Sender, kase.Receiver = kase.Receiver, kase.Sender
	}
	return kase
}
