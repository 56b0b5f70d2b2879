package loop

import (
	"context"
	"fmt"
	"slices"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// loadItself reads the target, or writes a file below it, and judges that, since
// nothing else moves. If the verdict on a read leaves open whether more requests in flight
// would help, it also reads at several offsets at once. Foreign traffic stops it.
func (w *Watch) loadItself(ctx context.Context, rec *Record) error {
	agent, ok := w.Agent.(Agent)
	if _, follows := w.Agent.(measure.Follower); !ok || !follows {
		return fmt.Errorf("load %s: the agent of %s cannot", w.Target, w.Host)
	}
	facts := rec.Facts[w.Host]
	from, ok := w.dataAddr(facts)
	if !ok {
		return fmt.Errorf("load %s: no interface of %s leads to %s, so that others' traffic could not be seen", w.Target, w.Host, w.Target.Peers[0])
	}
	here := explain.End{Host: w.Host, Facts: facts, Peer: w.Target.Peers[0]}
	c := &Climb{Loop: Loop{Receiver: End{Name: w.Host, Addr: from.addr, Agent: agent}, LineRate: w.LineRate, Now: w.Now, Progress: w.Progress},
		Rungs: DefaultRungTime(), rec: rec}
	c.guard = newGuard(explain.Ceiling(explain.Case{Receiver: &here, LineRate: w.LineRate}).Inputs.LineRate, from)
	c.Rungs.Read = w.For
	if err := c.quiet(ctx); err != nil {
		return fmt.Errorf("load %s: %w", w.Target, err)
	}
	kase, what, err := w.loadOnce(ctx, c, w.spec(c.Rungs))
	if err != nil {
		return err
	}
	kase.OneEnd, kase.Protocol = true, w.Target.protocol()
	first := explain.Judge(kase)
	if plan, ok := explain.PlanReaders(kase, first); ok && w.Write == "" {
		c.say("telling %s from what looks like it: reading in %d places at once", first.Limiter, plan.Readers)
		w.readMore(ctx, c, what, plan, &kase)
	}
	kase.Notes = append(kase.Notes, w.Target.Notes...)
	w.conclude(rec, kase)
	return nil
}

// dataAddr is this end's address towards the target: that of the interface in
// whose network it is, or that the route leads through.
func (w *Watch) dataAddr(f *model.Facts) (*namedAddr, bool) {
	to, dev, best := w.Target.Peers[0], "", -1
	for _, r := range f.Routes {
		if r.Dst.Contains(to) && r.Dst.Bits() > best {
			dev, best = r.Dev, r.Dst.Bits()
		}
	}
	for _, n := range f.NICs {
		for _, p := range n.Addrs {
			if p.Contains(to) && p.Bits() >= best || n.Name == dev && p.Addr().Is4() == to.Is4() {
				return &namedAddr{w.Host, f, p.Addr().Unmap()}, true
			}
		}
	}
	return nil, false
}

// readMore adds the probe with several readers to a case; a failure becomes a note.
func (w *Watch) readMore(ctx context.Context, c *Climb, what load.ReadSpec, plan explain.Readers, of *explain.Case) {
	what.Readers = plan.Readers
	seen, _, err := w.loadOnce(ctx, c, load.Spec{Role: load.Read, Duration: c.Rungs.Read, Read: &what})
	if err != nil {
		of.Notes = append(of.Notes, fmt.Sprintf("the probe with %d readers failed, so it decides nothing: %v", plan.Readers, err))
		return
	}
	of.Trials = append(of.Trials, plan.Seen(seen))
}

// spec is the load's task.
func (w *Watch) spec(t RungTime) load.Spec {
	if w.Write != "" {
		return load.Spec{Role: load.Write, Duration: t.Read, Write: &load.WriteSpec{Dir: w.Write}}
	}
	return load.Spec{Role: load.Read, Duration: t.Read, Read: w.Read}
}

// announce reports which load is about to start.
func (w *Watch) announce(c *Climb, spec load.Spec, about *load.Alone) {
	if spec.Role == load.Write {
		c.say("load: %s writes %s for at most %v and removes it: %s", w.Host, about.File, spec.Duration, about.Method)
		return
	}
	c.say("load: %s reads %s %sfor at most %v: %s", w.Host, about.File, inPlaces(spec.Read.Readers), spec.Duration, about.Method)
}

// loadOnce reads or writes, watched from this end; the result of a read names the file.
func (w *Watch) loadOnce(ctx context.Context, c *Climb, spec load.Spec) (explain.Case, load.ReadSpec, error) {
	what := load.ReadSpec{}
	if spec.Read != nil {
		what = *spec.Read
	}
	watch := measure.Watch{Addrs: w.Target.Peers, Ports: w.Target.Ports, Mount: w.Target.Mount, Share: w.Target.Share, Disk: w.Target.Disk}
	run, res, err := c.sampledLoad(ctx, string(spec.Role), spec, func(up worker.Event) map[string]measure.Watch {
		w.announce(c, spec, up.Alone)
		watch.PIDs = []int{up.PID}
		return map[string]measure.Watch{w.Host: watch}
	})
	if err != nil {
		return explain.Case{}, what, fmt.Errorf("%s %s: %w", spec.Role, w.Target, err)
	}
	c.rec.Results.Runs = append(c.rec.Results.Runs, run)
	what.File, what.Dir = res.Alone.File, ""
	end := &explain.End{Host: w.Host, Facts: c.rec.Facts[w.Host], Samples: run.Samples[w.Host], Peer: w.Target.Peers[0]}
	if peers := traffic(end.Samples); len(peers) > 0 && slices.Contains(w.Target.Peers, peers[0].addr) {
		end.Peer = peers[0].addr
	}
	kase := explain.Case{Receiver: end, LineRate: w.LineRate, Goodput: model.Known(run.Goodput), Passive: true}
	if spec.Role == load.Write {
		kase.Sender, kase.Receiver = end, nil
	}
	return kase, what, nil
}
