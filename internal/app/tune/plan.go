package tune

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/setter"
)

// raisedMTU is the change by which the port of the path gets a larger MTU, where
// the other end was looked at; nil: there is none.
func (d *drafted) raisedMTU() *profile.Row {
	if d.peer == nil || d.there == nil {
		return nil
	}
	for i, r := range d.rows {
		if raises(r) && r.Device == d.wayDev {
			return &d.rows[i]
		}
	}
	return nil
}

func raises(r profile.Row) bool {
	return r.Change && r.Setting == setter.MTUSetting && octets(r.To) > octets(r.Now)
}

// offPath refuses a larger MTU of an interface that is not the path's to the other end:
// that end could neither be given it nor asked whether such packets get through.
func (d *drafted) offPath() error {
	if d.peer == nil || d.there == nil {
		return nil
	}
	for _, r := range d.rows {
		if raises(r) && r.Device != d.wayDev {
			return failure.As(failure.Usage, &Error{BadValue, ShortName(r.Setting, r.Device),
				fmt.Errorf("the path to %s leads by %s, so that it cannot be told which end has to take the larger packets of %s: name %s, or leave the other end out to change %s alone",
					d.to, cmp.Or(d.wayDev, "another interface"), r.Device, ShortName(r.Setting, cmp.Or(d.wayDev, "DEVICE")), r.Device)})
		}
	}
	return nil
}

// octets reads an MTU that the mechanism has found good; 0 is none.
func octets(text string) int {
	n, _ := strconv.Atoi(text) // what is no number raises nothing
	return n
}

// findFar plans the other end's share of a larger MTU: a port that takes less
// would drop what this end sends.
func (d *drafted) findFar() {
	own := d.raisedMTU()
	if own == nil {
		return
	}
	i := slices.IndexFunc(d.there.NICs, func(n model.NIC) bool {
		return slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Addr() == d.peerTo })
	})
	if i < 0 || d.there.NICs[i].MTU >= octets(own.To) {
		return
	}
	far := *own
	n := d.there.NICs[i]
	far.Target, far.Device, far.Now, far.Default, far.Typed = n.Device, n.Name, strconv.Itoa(n.MTU), "", false
	far.Why = "the other end of the path has to take what this end sends: both get it, or neither"
	far.Source = "goes with " + ShortName(own.Setting, own.Device) + " of " + d.name
	d.far = &far
}

// changeable is what a plan asks of the agent of a host that it changes.
type changeable interface {
	loop.Changer
	Hello() host.Hello
	Facts(ctx context.Context) (*model.Facts, error)
	PlanFiles(ctx context.Context, p model.Plan) ([]tune.FileChange, error)
	Persist(ctx context.Context, plan string, dry bool) ([]tune.FileChange, error)
	OpenJournal(ctx context.Context) ([]tune.Entry, error)
	Waiting(ctx context.Context) (tune.Pending, bool, error)
	ReadSetting(ctx context.Context, setting, target, like string) (string, error)
}

// end is a host that a plan changes.
type end struct {
	name  string
	agent changeable
}

// hostPlan is a plan of one end.
type hostPlan struct {
	end
	model.Plan
	both bool // part of a larger MTU, which both ends get together
}

func (d *drafted) ends() []end {
	ends := []end{{d.name, d.agent}}
	if d.far != nil {
		ends = append(ends, end{d.to, d.peer})
	}
	return ends
}

// compose makes the plans of the draft. A larger MTU is a plan of its own,
// because both ends have to get it before anything else is changed.
func (d *drafted) compose() error {
	id, err := planID(d.now())
	if err != nil {
		return err
	}
	var mtu, rest []profile.Row
	raised := d.raisedMTU()
	for i, r := range d.rows {
		if &d.rows[i] == raised {
			mtu = append(mtu, r)
		} else {
			rest = append(rest, r)
		}
	}
	ends := d.ends()
	if err := d.add(ends[0], id+"-mtu", d.facts, mtu, true); err != nil {
		return err
	}
	if d.far != nil {
		if err := d.add(ends[1], id+"-mtu", d.there, []profile.Row{*d.far}, true); err != nil {
			return err
		}
	}
	return d.add(ends[0], id, d.facts, rest, false)
}

// add adds the plan of some rows, if any of them is a change.
func (d *drafted) add(e end, id string, f *model.Facts, rows []profile.Row, both bool) error {
	p, err := tune.NewPlan(id, f, d.o.Confirm, rows)
	p.By = d.o.By
	if err == nil && len(p.Changes) > 0 {
		d.plans = append(d.plans, hostPlan{e, p, both})
	}
	return err
}

// MakePlan makes the plan that Apply carries out. It changes nothing.
func MakePlan(ctx context.Context, e app.Env, o Request, p app.Progress) (Proposal, error) {
	d, err := draft(ctx, e, o, p)
	if err != nil {
		return Proposal{}, err
	}
	defer d.close()
	return d.propose(ctx)
}

// propose makes the plans, and returns them with the files of them, if those are asked
// for.
func (d *drafted) propose(ctx context.Context) (Proposal, error) {
	if d.plans == nil {
		if err := d.compose(); err != nil {
			return Proposal{}, err
		}
	}
	doc := d.plan()
	if !d.o.Persist {
		return doc, nil
	}
	if d.foreign != nil {
		return doc, d.keep(ctx, &doc)
	}
	for _, p := range d.wholePlans() {
		files, err := p.agent.PlanFiles(ctx, p.Plan)
		if err != nil {
			return doc, fmt.Errorf("see which files of %s would keep it over a restart: %w", p.name, err)
		}
		doc.Files = append(doc.Files, filesOf(p.name, files)...)
	}
	return doc, nil
}

// wholePlans has one plan of each end, with all its changes: one file can keep
// several of them.
func (d *drafted) wholePlans() []hostPlan {
	var out []hostPlan
	for _, p := range d.plans {
		i := slices.IndexFunc(out, func(o hostPlan) bool { return o.name == p.name })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].ID, out[i].Changes = p.ID, slices.Concat(out[i].Changes, p.Changes)
	}
	return out
}
