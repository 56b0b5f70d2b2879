package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
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
		if r.Change && r.Setting == setter.MTUSetting && r.Device == d.path.Dev && octets(r.To) > octets(r.Now) {
			return &d.rows[i]
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
	far.Source = "goes with " + shortName(own.Setting, own.Device) + " of " + d.name
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
		ends = append(ends, end{d.o.to, d.peer})
	}
	return ends
}

// compose makes the plans of the draft. A larger MTU is a plan of its own,
// because both ends have to get it before anything else is changed.
func (d *drafted) compose() error {
	var random [2]byte
	if _, err := rand.Read(random[:]); err != nil {
		return fmt.Errorf("name the plan: %w", err)
	}
	id := "tune-" + d.now().UTC().Format("20060102-150405") + "-" + hex.EncodeToString(random[:])
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
	p, err := tune.NewPlan(id, f, d.o.confirm, rows)
	if err == nil && len(p.Changes) > 0 {
		d.plans = append(d.plans, hostPlan{e, p, both})
	}
	return err
}

// planWithFiles makes the plans, and returns them in words and, with --persist,
// with the files of them.
func (d *drafted) planWithFiles(ctx context.Context) (planDocument, error) {
	if d.plans == nil {
		if err := d.compose(); err != nil {
			return planDocument{}, err
		}
	}
	doc := d.plan()
	if !d.o.persist {
		return doc, nil
	}
	for _, p := range d.wholePlans() {
		files, err := p.agent.PlanFiles(ctx, p.Plan)
		if err != nil {
			return doc, fmt.Errorf("see which files of %s would keep it over a restart: %w", p.name, err)
		}
		doc.Files = append(doc.Files, fileViews(p.name, files)...)
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

// application is what became of a plan.
type application struct {
	outcomes map[string][]tune.Outcome // by the host's name
	deadline time.Time
	notes    []string
	made     []madePlan
}

// madePlan is a plan that a host has carried out; it waits for its
// confirmation, or does not.
type madePlan struct {
	end
	id    string
	waits bool
}

// id is that of the last plan of the host itself.
func (a *application) id() string {
	id := ""
	for _, m := range a.made {
		if m.name == a.made[0].name {
			id = m.id
		}
	}
	return id
}

// take notes what a plan did.
func (a *application) take(e end, res tune.Result) {
	a.outcomes[e.name] = append(a.outcomes[e.name], res.Changes...)
	a.notes = append(a.notes, res.Notes...)
	a.made = append(a.made, madePlan{e, res.Plan, !res.Deadline.IsZero()})
	if !res.Deadline.IsZero() {
		a.deadline = res.Deadline
	}
}

// persist makes permanent what does not wait to be confirmed. It tells whether
// that is all.
func (a *application) persist(ctx context.Context) (all bool, err error) {
	all = true
	for _, m := range a.made {
		if m.waits {
			all = false
			continue
		}
		if _, err := m.agent.Persist(ctx, m.id, false); err != nil {
			return false, fmt.Errorf("on %s: %w", m.name, err)
		}
	}
	return all, nil
}

// apply carries the plan out: a larger MTU first, at both ends and confirmed by
// what gets through, then the rest.
func (d *drafted) apply(ctx context.Context) (*application, error) {
	made := &application{outcomes: map[string][]tune.Outcome{}}
	both, rest := d.parts()
	if len(both) > 0 {
		if err := d.applyMTU(ctx, both, made); err != nil {
			return nil, err
		}
	}
	for _, p := range rest {
		res, err := p.agent.Apply(ctx, p.Plan)
		if err != nil {
			err = fmt.Errorf("apply the plan: %w", err)
			return nil, errors.Join(made.undo(ctx), afterFailure(ctx, p.agent, p.ID, err))
		}
		made.take(p.end, res)
	}
	return made, nil
}

// parts are the plans of a larger MTU, and the others.
func (d *drafted) parts() (both, rest []hostPlan) {
	i := slices.IndexFunc(d.plans, func(p hostPlan) bool { return !p.both })
	if i < 0 {
		i = len(d.plans)
	}
	return d.plans[:i], d.plans[i:]
}

// undo takes back what was made before a later part failed.
func (a *application) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(a.made) {
		if _, err := m.agent.Undo(ctx, m.id); err != nil {
			errs = append(errs, failure.Of(failure.NotRestored, "undo %s on %s: %w", m.id, m.name, err))
		}
	}
	return errors.Join(errs...)
}

// applyMTU has both ends take a larger MTU, or neither.
func (d *drafted) applyMTU(ctx context.Context, plans []hostPlan, made *application) error {
	p := plans[0]
	if p.ConfirmWithin == model.NoConfirm {
		return failure.Of(failure.Usage, "--confirm-within 0: an MTU is raised towards %s only while each end undoes it by itself if it cuts you off; leave the option or --to away", d.o.to)
	}
	own, err := reach.Source(d.facts, d.peerTo)
	if err != nil {
		return fmt.Errorf("find the data path from %s: %w", d.name, err)
	}
	a := loop.Together{Name: d.name, Addr: own, Plan: p.Plan}
	b := loop.Together{Name: d.o.to, Addr: d.peerTo, Host: bystander{d.peer}, Plan: p.Plan}
	changers := []*changer{{changeable: p.agent}}
	a.Host = changers[0]
	if len(plans) > 1 {
		changers = append(changers, &changer{changeable: plans[1].agent})
		b.Host, b.Plan = changers[1], plans[1].Plan
	}
	size := octets(p.Changes[0].To)
	if err := loop.ApplyTogether(ctx, a, b, size); err != nil {
		return afterMTU(ctx, d.ends(), p.ID, err)
	}
	for i, c := range changers {
		c.res.Deadline = time.Time{} // confirmed by then
		for j := range c.res.Changes {
			c.res.Changes[j].Observed = fmt.Sprintf("packets of %d octets that nobody may fragment get through, both ways", size)
		}
		made.take(plans[i].end, c.res)
	}
	made.notes = append(made.notes, fmt.Sprintf("The MTU is confirmed (%s): packets of %d octets get from %s to %s and back, and both ends still answer.", p.ID, size, d.name, d.o.to))
	return nil
}

// afterMTU tells whether a failure left an end changed: an exit code of 4 from
// any of them stands.
func afterMTU(ctx context.Context, ends []end, plan string, cause error) error {
	var left error
	for _, e := range ends {
		if err := afterFailure(ctx, e.agent, plan, fmt.Errorf("%s", e.name)); failure.KindOf(err) == failure.NotRestored {
			left = errors.Join(left, err)
		}
	}
	if left != nil {
		return failure.Of(failure.NotRestored, "%w\n%w", cause, left)
	}
	return failure.Of(failure.Failed, "%w; no MTU is changed, at neither end", cause)
}

// changer is an end that is changed.
type changer struct {
	changeable
	res tune.Result
}

// Apply implements loop.Changer.
func (c *changer) Apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	var err error
	c.res, err = c.changeable.Apply(ctx, p)
	return c.res, err
}

// ProbePath implements loop.Changer. What the connection to the agent carries
// has to get through too: facts take many full packets.
func (c *changer) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	return probeBoth(ctx, c.changeable, to, size)
}

func probeBoth(ctx context.Context, c changeable, to netip.Addr, size int) error {
	if err := c.ProbePath(ctx, to, size); err != nil {
		return err
	}
	if _, err := c.Facts(ctx); err != nil {
		return fmt.Errorf("hear from it in full packets: %w", err)
	}
	return nil
}

// bystander is an end whose port takes the packets already: it is asked to send
// some, and changed in nothing.
type bystander struct{ c changeable }

// Apply implements loop.Changer.
func (bystander) Apply(context.Context, model.Plan) (tune.Result, error) { return tune.Result{}, nil }

// Confirm implements loop.Changer.
func (bystander) Confirm(context.Context, string) error { return nil }

// Undo implements loop.Changer.
func (bystander) Undo(context.Context, string) (tune.Result, error) { return tune.Result{}, nil }

// ProbePath implements loop.Changer.
func (b bystander) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	return probeBoth(ctx, b.c, to, size)
}
