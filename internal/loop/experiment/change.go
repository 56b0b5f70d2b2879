package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/setter"
)

// keepWithin is how long a host waits for confirmation that it is still reachable after a
// change that is to be kept.
const keepWithin = time.Minute

// change makes a layer on all its hosts. If it fails, some hosts may be changed: the caller
// undoes the plans in l.made.
func (x *Experiment) change(ctx context.Context, l *layer, w model.StudyWorkload) error {
	plans, err := x.plansOf(ctx, *l, w)
	if err != nil {
		return err
	}
	for _, m := range plans {
		if err := x.Record.Put(store.StudyEntry{Kind: store.StudyPlanned, At: x.Now(), Plan: m.plan.ID, Host: m.host.Name,
			Changes: m.plan.Changes, Factor: l.factor, Level: l.level.Name}); err != nil {
			return &recordError{err}
		}
		x.original(m.host, m.plan.Changes)
	}
	for _, m := range plans {
		l.made = append(l.made, m) // a plan that fails may have been carried out in part
		if _, err := m.host.agent.Apply(ctx, m.plan); err != nil {
			return x.refused(ctx, m, *l, err)
		}
		x.reverted = Noted(x.reverted, m.host.Name, l.factor, l.level.Name, m.plan.Changes)
	}
	if err := x.whole(ctx, *l); err != nil {
		return err
	}
	if !l.keep {
		return nil
	}
	for _, m := range plans {
		if err := m.host.agent.Confirm(ctx, m.plan.ID); err != nil {
			return fmt.Errorf("keep %s %s on %s: %w", l.factor, l.level.Name, m.host.Name, err)
		}
	}
	return nil
}

// refused distinguishes a host that answers that it cannot make a change from one that does
// not answer.
func (x *Experiment) refused(ctx context.Context, m made, l layer, err error) error {
	err = fmt.Errorf("set %s on %s: %w", l.name(), m.host.Name, err)
	var not *tune.NotInForceError
	if errors.As(err, &not) {
		return &notInForceError{why: err.Error()}
	}
	if _, cerr := m.host.agent.Clock(ctx); cerr != nil || ctx.Err() != nil {
		return err
	}
	if now, ferr := m.host.agent.Facts(ctx); ferr != nil || now.BootID != m.plan.BootID {
		return err // it was restarted, which says nothing about the treatment
	}
	return &notInForceError{why: err.Error()}
}

// plansOf returns the plan of each host for a layer.
func (x *Experiment) plansOf(ctx context.Context, l layer, w model.StudyWorkload) ([]made, error) {
	var out []made
	for _, h := range x.Hosts {
		var sets []profile.Set
		for _, s := range l.level.Set {
			if s.Host == h.Name {
				sets = append(sets, profile.Set{Setting: s.Setting, Device: s.Target, Value: s.Value})
			}
		}
		if len(sets) == 0 {
			continue
		}
		p, err := x.planOf(ctx, h, sets, l, w)
		if err != nil {
			return nil, err
		}
		if len(p.Changes) > 0 {
			out = append(out, made{h, p})
		}
	}
	if len(out) == 0 && l.factor != "" {
		return nil, &notInForceError{why: fmt.Sprintf("nothing to change: %s %s is what runs already", l.factor, l.level.Name)}
	}
	return out, nil
}

// planOf reads the running values of a host and plans the changes.
func (x *Experiment) planOf(ctx context.Context, h *Host, sets []profile.Set, l layer, w model.StudyWorkload) (model.Plan, error) {
	f, err := h.agent.Facts(ctx)
	if err != nil {
		return model.Plan{}, fmt.Errorf("look at %s: %w", h.Name, err)
	}
	subject := profile.Subject{Facts: f, Path: x.pathOf(ctx, h, f)}
	now := map[profile.Ask]profile.Reading{}
	for _, a := range profile.Asks(profile.Profile{}, sets, subject) {
		v, err := h.agent.ReadSetting(ctx, a.Setting, a.Target, a.Like)
		if err != nil {
			if _, cerr := h.agent.Clock(ctx); cerr != nil {
				return model.Plan{}, fmt.Errorf("read %s of %s: %w", a.Setting, h.Name, err) // the host failed
			}
			now[a] = profile.Reading{Missing: err.Error()}
			continue
		}
		now[a] = profile.Reading{Value: v}
	}
	x.plans++
	within := deadMan(w)
	if l.keep {
		within = keepWithin
	}
	rows := slices.Clone(x.rowsOf(h, sets, subject, now))
	for i, r := range rows {
		if !r.Change && (r.To == "" || r.To != r.Now) {
			return model.Plan{}, &notInForceError{why: fmt.Sprintf("set %s on %s: %s", r.Setting, h.Name, r.Why)}
		}
		rows[i].Why, rows[i].Source = "study "+x.File.Name+": "+l.name(), ""
	}
	return tune.NewPlan(fmt.Sprintf("%s-%d", x.ID, x.plans), f, within, rows)
}

// rowsOf are the rows of a plan, made once for the same values on a host in the same
// state, since making them reads the whole catalogue.
func (x *Experiment) rowsOf(h *Host, sets []profile.Set, s profile.Subject, now map[profile.Ask]profile.Reading) []profile.Row {
	key := fmt.Sprint(h.Name, sets, s.Path, now) // fmt prints maps in the order of their keys
	if x.rows == nil {
		x.rows = map[string][]profile.Row{}
	}
	if _, ok := x.rows[key]; !ok {
		x.rows[key] = profile.Make(profile.Profile{}, sets, s, now)
	}
	return x.rows[key]
}

// pathOf is the path for which a host's values are set if no device is named: the path to its
// peer in the study.
func (x *Experiment) pathOf(ctx context.Context, h *Host, f *model.Facts) profile.Path {
	if peer, at := x.peerOf(ctx, h); peer != nil {
		return profile.PathTo(f, at, peer.Name, nil)
	}
	return profile.PathOf(f)
}

// peerOf is the host at the other end of a host's path, and its data address; nil: there is
// none in this study.
func (x *Experiment) peerOf(ctx context.Context, h *Host) (*Host, netip.Addr) {
	for _, p := range x.everyPair() {
		from, to, err := x.route(ctx, p)
		switch {
		case err != nil:
		case p.from == h:
			return p.to, to
		case p.to == h:
			return p.from, from
		}
	}
	return nil, netip.Addr{}
}

// Noted adds changes that were made, or were about to be, to a list of them, once for each value.
func Noted(list []model.StudyAdvice, host, factor, level string, changes []model.Change) []model.StudyAdvice {
	for _, c := range changes {
		a := model.StudyAdvice{Host: host, Setting: c.Setting, Target: c.Target, Before: c.From, Value: c.To, Factor: factor, Why: level}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// whole checks that a change of the MTU is in force at both ends of every path, and that
// packets of the new size arrive in both directions.
func (x *Experiment) whole(ctx context.Context, l layer) error {
	touched := map[*Host]bool{}
	for _, m := range l.made {
		for _, c := range m.plan.Changes {
			touched[m.host] = touched[m.host] || c.Setting == setter.MTUSetting
		}
	}
	for _, p := range x.everyPair() {
		if !touched[p.from] && !touched[p.to] {
			continue
		}
		from, to, err := x.route(ctx, p)
		if err != nil {
			return err
		}
		a, err := mtuAt(ctx, p.from, from)
		if err != nil {
			return err
		}
		b, err := mtuAt(ctx, p.to, to)
		if err != nil {
			return err
		}
		if a != b {
			return &notInForceError{why: fmt.Sprintf("the MTU is %d on %s and %d on %s: both ends of a path have it, or neither: set it on both", a, p.from.Name, b, p.to.Name)}
		}
		for _, way := range []struct {
			h  *Host
			to netip.Addr
		}{{p.from, to}, {p.to, from}} {
			if err := way.h.agent.ProbePath(ctx, way.to, a); err != nil {
				return &notInForceError{why: fmt.Sprintf("packets of %d octets do not get from %s to %s: %v", a, way.h.Name, way.to, err)}
			}
		}
	}
	return nil
}

// mtuAt is the MTU of the interface that has an address.
func mtuAt(ctx context.Context, h *Host, addr netip.Addr) (int, error) {
	f, err := h.agent.Facts(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", h.Name, err)
	}
	if n := nicAt(f, addr); n != nil {
		return n.MTU, nil
	}
	return 0, fmt.Errorf("look at %s: no interface has the address %s any more", h.Name, addr)
}

// nicAt is the interface that has an address; nil: none has.
func nicAt(f *model.Facts, addr netip.Addr) *model.NIC {
	for i, n := range f.NICs {
		if slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Addr().Unmap() == addr.Unmap() }) {
			return &f.NICs[i]
		}
	}
	return nil
}

// stillInForce reads every changed value again: the host may have undone it, or another
// program or user may have changed it during the run.
func (x *Experiment) stillInForce(ctx context.Context) error {
	for _, l := range x.stack {
		for _, m := range l.made {
			for _, c := range m.plan.Changes {
				if x.covered(m.host, c, l) {
					continue
				}
				v, err := m.host.agent.ReadSetting(ctx, c.Setting, c.Target, c.To)
				if err != nil {
					return fmt.Errorf("read %s of %s after the run: %w", c.Setting, m.host.Name, err)
				}
				if !sameValue(v, c.To) {
					return fmt.Errorf("%s of %s was %q during the study and %q after the run: something else changed it", c.Setting, m.host.Name, c.To, v)
				}
			}
		}
	}
	return nil
}

// covered reports whether a layer above sets the same thing to another value.
func (x *Experiment) covered(h *Host, c model.Change, below layer) bool {
	above := false
	for _, l := range x.stack {
		if above && slices.ContainsFunc(l.made, func(m made) bool {
			return m.host == h && slices.ContainsFunc(m.plan.Changes, func(o model.Change) bool { return o.Setting == c.Setting && o.Target == c.Target })
		}) {
			return true
		}
		above = above || l.key == below.key
	}
	return false
}

// sameValue compares values that may differ in spaces or, if they have several parts, in
// order.
func sameValue(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if slices.ContainsFunc(x, func(s string) bool { return strings.Contains(s, "=") }) {
		slices.Sort(x)
		slices.Sort(y)
	}
	return slices.Equal(x, y)
}
