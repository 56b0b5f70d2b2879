package tune

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/script"
	"linerate/internal/tune/setter"
)

// drafted is a host that was looked at, with the rows of a plan.
type drafted struct {
	o       Request
	reach   reach.Dialler
	tell    app.Progress
	name    string // of the host, as the user typed it
	to      string // name of the peer
	agent   *host.Client
	foreign *foreign     // the host, where linerate does not run there; then agent is nil
	peer    *host.Client // nil: none was reached
	peerTo  netip.Addr
	wayDev  string // the interface by which the route to peerTo leads; empty: none is known
	facts   *model.Facts
	there   *model.Facts // of the peer; nil: it was not looked at
	far     *profile.Row // the change of the peer's port that ours needs; nil: none
	path    profile.Path
	profile profile.Profile
	why     string // why this profile was chosen
	rows    []profile.Row
	kept    []script.Step            // on a foreign host: the steps that make the plan outlive a restart
	plans   []hostPlan               // of rows and far, in the order in which they are applied; made once
	mine    map[profile.Place]string // what the user's own profile wants
	now     func() time.Time
}

func (d *drafted) close() {
	for _, c := range []*host.Client{d.agent, d.peer} {
		if c != nil {
			_ = c.Close() // it has told what we want to know
		}
	}
}

// draft reaches the host, and the peer if there is one, looks at both, reads
// the settings of the profile and evaluates its rules. The caller closes it.
func draft(ctx context.Context, e app.Env, o Request, p app.Progress) (d *drafted, err error) {
	d = &drafted{o: o, reach: e.Reach(p), tell: p, name: o.Host.String(), now: e.Now}
	if o.Peer != nil {
		d.to = o.Peer.String()
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err = d.look(ctx); err != nil {
		return d, err
	}
	if err = d.findPath(ctx); err != nil {
		return d, err
	}
	if err = d.chooseProfile(); err != nil {
		return d, err
	}
	if d.rows, err = d.evaluate(ctx, d.profile, o.Typed); err != nil {
		return d, err
	}
	d.validate()
	if d.foreign != nil {
		if err = d.refuse(ctx); err != nil {
			return d, err
		}
	}
	if err = d.offPath(); err != nil {
		return d, err
	}
	d.findFar()
	if o.Mine != nil {
		d.mine = map[profile.Place]string{}
		rows, err := d.evaluate(ctx, *o.Mine, nil)
		if err != nil {
			return d, err
		}
		for _, r := range rows {
			d.mine[r.Place] = r.To
		}
	}
	return d, d.typedErrors()
}

// look reaches the host and reads it.
func (d *drafted) look(ctx context.Context) (err error) {
	if d.agent, err = d.reach.Agent(ctx, d.o.Host); err != nil {
		if d.foreign = foreignHost(d.reach, d.o.Host, err); d.foreign == nil {
			return err
		}
		return d.draftForeign(ctx)
	}
	if d.facts, err = d.agent.Facts(ctx); err != nil {
		return fmt.Errorf("look at %s: %w", d.name, err)
	}
	return nil
}

// chooseProfile takes the one that was named, none where values were typed, else
// the one that fits best.
func (d *drafted) chooseProfile() error {
	switch {
	case d.o.Profile != nil:
		d.profile = *d.o.Profile
		return nil
	case len(d.o.Typed) > 0:
		return nil // what was typed, alone
	}
	name := "transfer-node-lan"
	d.why = "nothing on it tells what it is for; --profile names another"
	if fits := profile.Fits(d.facts); len(fits) > 0 {
		name, d.why = fits[0].Name, fits[0].Why
		if len(fits) > 1 {
			d.why += "; " + fits[1].Name + " fits too: " + fits[1].Why
		}
	}
	p, ok := profile.Builtin(name)
	if !ok {
		return fmt.Errorf("choose a profile: there is no %s", name)
	}
	d.profile = p
	return nil
}

// evaluate reads the settings of a profile and evaluates its rules.
func (d *drafted) evaluate(ctx context.Context, p profile.Profile, sets []profile.Set) ([]profile.Row, error) {
	s := profile.Subject{Facts: d.facts, Path: d.path}
	asks := profile.Asks(p, sets, s)
	if d.foreign != nil {
		now, err := d.foreign.read(ctx, asks)
		if err != nil {
			return nil, fmt.Errorf("read the settings of %s: %w", d.name, err)
		}
		return profile.Make(p, sets, s, now), nil
	}
	now, err := readAll(ctx, d.agent, asks)
	if err != nil {
		return nil, fmt.Errorf("read the settings of %s: %w", d.name, err)
	}
	return profile.Make(p, sets, s, now), nil
}

// readable is what answers with the values of a host's settings.
type readable interface {
	Name() string
	ReadSetting(ctx context.Context, setting, target, like string) (string, error)
	Clock(ctx context.Context) (model.Clock, error)
}

// readAll reads settings. A value that the host cannot read is missing, with the reason; that the
// host does not answer any more is an error, since it says nothing about the setting.
func readAll(ctx context.Context, from readable, asks []profile.Ask) (map[profile.Ask]profile.Reading, error) {
	now := map[profile.Ask]profile.Reading{}
	for _, a := range asks {
		v, err := from.ReadSetting(ctx, a.Setting, a.Target, a.Like)
		if err != nil {
			if _, gone := from.Clock(ctx); gone != nil {
				return nil, err
			}
			why := strings.TrimPrefix(failure.FirstLine(err), "host "+from.Name()+": ")
			now[a] = profile.Reading{Missing: why}
			continue
		}
		now[a] = profile.Reading{Value: v}
	}
	return now, nil
}

// validate asks the mechanisms which values no kernel would accept, before
// anything is applied.
func (d *drafted) validate() {
	for i, r := range d.rows {
		if !r.Change {
			continue
		}
		to, err := d.canonical(r.Place, r.To)
		if err != nil {
			d.rows[i].Change, d.rows[i].Why = false, failure.FirstLine(err)
			continue
		}
		d.rows[i].To = to
	}
}

func (d *drafted) canonical(at setter.Place, value string) (string, error) {
	if d.foreign != nil {
		return d.foreign.kind.Canonical(at.Setting, at.Target, value)
	}
	for _, s := range host.Setters(kernel.Live{}) {
		if s.Owns(at.Setting) {
			return s.Canonical(at, value)
		}
	}
	return "", fmt.Errorf("linerate has no mechanism for %s; like it are %s", at.Setting, strings.Join(guide.NearIDs(at.Setting, 3), ", "))
}

// typedErrors are the errors of settings that the user typed and that cannot be set. They end the
// plan, since the user has to correct them.
func (d *drafted) typedErrors() error {
	for _, r := range d.rows {
		if !r.Typed || r.Change || r.To != "" && r.To == r.Now {
			continue
		}
		err := d.malformed(r)
		if err == nil {
			err = errors.New(r.Why)
		}
		return failure.As(failure.Usage, &Error{BadValue, ShortName(r.Setting, r.Device), err})
	}
	return nil
}

// malformed says what is wrong with a value as it was typed; nil: the value comes from a rule, or
// something else is wrong.
func (d *drafted) malformed(r profile.Row) error {
	for _, x := range d.o.Typed {
		if x.Setting != r.Setting || x.Device != "" && x.Device != r.Device && x.Device != r.Target || strings.ContainsAny(x.Value, "{}") {
			continue
		}
		if _, err := d.canonical(r.Place, x.Value); errors.Is(err, setter.ErrValue) {
			return err
		}
	}
	return nil
}

// findPath fills in the path: to the peer that was named, else to the storage
// that the host has mounted; then what was stated.
func (d *drafted) findPath(ctx context.Context) error {
	d.path = profile.PathOf(d.facts)
	if d.o.Peer != nil {
		if err := d.toPeer(ctx); err != nil {
			return err
		}
	}
	if d.o.Dev != "" {
		path, err := d.path.Choose(d.facts, d.o.Dev)
		if err != nil {
			return failure.As(failure.Usage, &Error{BadDevice, d.o.Dev, err})
		}
		d.path = path
	}
	if d.o.Rate > 0 {
		d.path.Rate, d.path.RateFrom = d.o.Rate, "stated"
	}
	if d.o.RTT > 0 {
		d.path.RTT, d.path.RTTFrom = d.o.RTT, "stated"
	}
	d.path.Streams = d.o.Streams
	return nil
}

// toPeer reads the other end and measures the round trip. If the round trip was stated, a peer that
// cannot be reached is no error: the path says that it was not read.
func (d *drafted) toPeer(ctx context.Context) error {
	stated := d.o.RTT > 0
	to, facts, err := d.reachPeer(ctx)
	if err != nil && !(stated && to.IsValid()) {
		if !stated {
			return &Error{NoPeer, d.to, err}
		}
		return err
	}
	if err != nil {
		d.tell.Say("did not read %s: %v", d.to, failure.FirstLine(err))
	}
	if own, noWay := reach.Source(d.facts, to); noWay == nil {
		if apart := reach.TwoHosts(own, to); apart != nil {
			return fmt.Errorf("find the data path from %s to %s: %w", d.name, d.to, apart)
		}
	}
	d.path, d.peerTo, d.there = profile.PathTo(d.facts, to, d.to, facts), to, facts
	d.wayDev = d.path.Dev
	if d.path.Rate == 0 {
		d.labRate(ctx)
	}
	if stated {
		return nil
	}
	rtt, _, err := d.trickle(ctx)
	if err != nil {
		return err
	}
	d.path.RTT, d.path.RTTFrom = rtt, "measured"
	return nil
}

// labRate takes the rate that a lab states for its data path: its interfaces
// are virtual and have no speed.
func (d *drafted) labRate(ctx context.Context) {
	rate := d.reach.StatedRate(ctx, d.o.Host, *d.o.Peer, d.peerTo)
	if rate.State != model.Present {
		own, err := reach.Source(d.facts, d.peerTo)
		if err != nil {
			return // no way there: the path says so
		}
		rate = d.reach.StatedRate(ctx, *d.o.Peer, d.o.Host, own)
	}
	if r, ok := rate.Get(); ok {
		d.path.Rate, d.path.RateFrom = r, "as the lab states it"
	}
}

// reachPeer returns the peer's data address, as far as it can be found, and its
// facts.
func (d *drafted) reachPeer(ctx context.Context) (netip.Addr, *model.Facts, error) {
	agent, err := d.reach.Dial(ctx, *d.o.Peer)
	if err != nil {
		to, resolveErr := d.resolve(ctx)
		if resolveErr != nil {
			return to, nil, errors.Join(err, resolveErr)
		}
		return to, nil, err
	}
	d.peer = agent
	to, err := reach.Receiver(ctx, d.o.Via, *d.o.Peer, agent)
	if err != nil {
		return to, nil, err
	}
	facts, err := agent.Facts(ctx)
	if err != nil {
		return to, nil, fmt.Errorf("look at %s: %w", d.to, err)
	}
	return to, facts, nil
}

// resolve finds the address of a peer that nobody can log in to.
func (d *drafted) resolve(ctx context.Context) (netip.Addr, error) {
	if d.o.Via != "" {
		return reach.Via(d.o.Via)
	}
	addrs, err := kernel.Resolve(ctx, d.o.Peer.Host)
	if err != nil {
		return netip.Addr{}, err
	}
	return addrs[0], nil
}

// trickle measures the round trip to the peer, and returns the connection on which it was measured.
func (d *drafted) trickle(ctx context.Context) (time.Duration, model.Conn, error) {
	from, err := reach.Source(d.facts, d.peerTo)
	if err != nil {
		return 0, model.Conn{}, fmt.Errorf("find the data path from %s: %w", d.name, err)
	}
	d.tell.Say("timing the round trip to %s (%s): 1 Mbit/s for a second", d.to, d.peerTo)
	return loop.RoundTrip(ctx, loop.End{Name: d.name, Addr: from, Agent: d.agent}, loop.End{Name: d.to, Addr: d.peerTo, Agent: d.peer}, d.now)
}
