package tune

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// How many hosts of a site are worked on at once. One connection carries the sessions with all of
// them. A peer that all of them ask can serve fewer.
const (
	atOnceOfSite = 128
	atOnceOfPeer = 8
)

// SiteRequest is the request to change many hosts; Request.Host is set to each of them in turn.
type SiteRequest struct {
	Request
	Site string // which hosts: all, names, or labels
	Of   string // the site; empty: the only one that is kept here
}

// SitePlan are the changes planned for hosts of a site, and after ApplySite their outcome.
type SitePlan struct {
	V      int        `json:"v"`
	Site   string     `json:"site"` // the selection
	DryRun bool       `json:"dry_run,omitempty"`
	Plan   string     `json:"plan_id,omitempty"` // the same on each host
	Hosts  []SiteHost `json:"hosts"`
	Groups []Group    `json:"groups"` // of equal plans, the largest first
	Lost   []Lost     `json:"lost"`   // hosts that were not read
	Waves  [][]string `json:"waves"`  // in which order the hosts are changed
	// Stopped is why the change ended before all waves were done; null: it did not.
	Stopped *Stopped `json:"stopped"`
}

// SiteHost is one of the hosts.
type SiteHost struct {
	Name  string `json:"host"`
	Wave  int    `json:"wave,omitempty"` // from 1; absent: it is not changed
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`
	// Path is what was seen of its path after the change, in words.
	Path string `json:"path,omitempty"`
}

// State is how far the plan is in force on a host.
type State string

// States of a host. Where nothing went wrong each is Before, Planned or Nothing.
const (
	Before  State = "as-before" // nothing of the plan is in force
	Planned State = "as-planned"
	Nothing State = "no-change" // the plan has no change for it
	Unknown State = "unknown"   // it could not be asked
	// UndoneSince: the plan was in force and is no longer. What somebody undid, or a restart ended,
	// is not applied again.
	UndoneSince State = "undone-since"
	changed     State = "changing" // only in a record: the wave was not ended
)

// Group is hosts with equal plans.
type Group struct {
	Hosts   []string `json:"hosts"`
	Example Proposal `json:"example"` // of the first of them
}

// Lost are hosts that were not looked at, for the same reason.
type Lost struct {
	Why   string   `json:"why"`
	Hosts []string `json:"hosts"`
}

// Stopped is why a change of many hosts ended before all waves were done.
type Stopped struct {
	Wave int    `json:"wave"`
	Host string `json:"host,omitempty"`
	Why  string `json:"why"`
}

// member is a host with its plan.
type member struct {
	Name  string     `json:"host"`
	Wave  int        `json:"wave"`
	State State      `json:"state"`
	Plan  model.Plan `json:"plan"`
	From  netip.Addr `json:"from,omitzero"` // its data address towards the peer, if there is one

	host     host.Name
	proposal Proposal
	err      error
	why      string
	path     string
	agent    waveAgent
	before   pathLook
	tried    bool // it was asked to change
}

// muted is the progress of work on many hosts at once, which leaves out what a single host says.
type muted struct{ app.Progress }

// Say drops steps of a single host.
func (muted) Say(string, ...any) {}

// PlanSite makes the plans for the hosts of a site. It changes nothing.
func PlanSite(ctx context.Context, e app.Env, o SiteRequest, p app.Progress) (SitePlan, error) {
	r, err := planSite(ctx, e, o, p)
	if err != nil {
		return SitePlan{}, err
	}
	return r.document(), nil
}

// planSite looks at all hosts that are there and makes the plan of each.
func planSite(ctx context.Context, e app.Env, o SiteRequest, p app.Progress) (*rollout, error) {
	hosts, err := e.Reach(p).SiteHosts(ctx, o.Of, o.Site)
	if err != nil {
		return nil, err
	}
	id, err := planID(e.Now())
	if err != nil {
		return nil, err
	}
	r := newRollout(e, o, p, id)
	for _, h := range hosts {
		m := &member{Name: reach.SiteName(o.Of, h.Name), State: Before, host: host.Name{Reach: host.Site, Site: o.Of, Host: h.Name}}
		if !h.Here {
			m.err = reach.NotHere(h)
		}
		r.members = append(r.members, m)
	}
	together := atOnceOfSite
	if o.Peer != nil {
		together = atOnceOfPeer
	}
	var done atomic.Int64
	r.each(r.members, together, func(m *member) {
		if m.err == nil {
			m.err = r.draft(ctx, m)
		}
		p.Tick("hosts", fmt.Sprintf("%d of %d hosts looked at", done.Add(1), len(r.members)))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// A typed setting that no host has is an error that the user has to correct.
	if i := slices.IndexFunc(r.members, func(m *member) bool { return m.err == nil }); i < 0 {
		for _, m := range r.members {
			if failure.KindOf(m.err) == failure.Usage {
				return nil, m.err
			}
		}
	}
	r.cut()
	return r, nil
}

// planID names a plan; all hosts have it by the same name.
func planID(now time.Time) (string, error) {
	var random [2]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("name the plan: %w", err)
	}
	return "tune-" + now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(random[:]), nil
}

// each works on many hosts, so many at once.
func (r *rollout) each(all []*member, together int, work func(*member)) {
	slots := make(chan struct{}, together)
	var wait sync.WaitGroup
	for _, m := range all {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			work(m)
		})
	}
	wait.Wait()
}

// draft makes the plan of one host.
func (r *rollout) draft(ctx context.Context, m *member) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reach.Within, fmt.Errorf("no answer within %v", reach.Within))
	defer cancel()
	o := r.o.Request
	o.Host, o.Persist = m.host, false
	d, err := draft(ctx, r.env, o, muted{r.tell})
	if err != nil {
		return err
	}
	defer d.close()
	if m.proposal, err = d.propose(ctx); err != nil || len(d.plans) == 0 {
		return err
	}
	if err := d.mayChange(); err != nil {
		return err
	}
	if len(d.plans) > 1 || d.plans[0].both {
		return failure.Of(failure.Usage, "a larger MTU towards %s is a change of both ends: make it on %s alone", d.to, m.Name)
	}
	m.Plan = d.plans[0].Plan
	m.Plan.ID = r.id
	if d.peer != nil && d.there != nil {
		if m.From, err = reach.Source(d.facts, d.peerTo); err != nil {
			return fmt.Errorf("find the data path from %s: %w", m.Name, err)
		}
		r.setPeer(d.peerTo)
	}
	return nil
}

// key is what equal plans have in common.
func (m *member) key() string {
	var b strings.Builder
	for _, l := range m.proposal.Plan {
		fmt.Fprintf(&b, "%q %q %q %q\n", l.Setting, l.Device, l.From, l.To)
	}
	return b.String()
}

// groups puts hosts with equal plans together, the largest group first; those that get no change
// are the last one, if there are any.
func (r *rollout) groups() (out []Group, lost []Lost) {
	at, why := map[string]int{}, map[string]int{}
	for _, m := range r.members {
		if m.err != nil {
			text := strings.ReplaceAll(strings.ReplaceAll(failure.FirstLine(m.err), m.Name, "HOST"), m.host.Host, "HOST")
			if _, ok := why[text]; !ok {
				why[text] = len(lost)
				lost = append(lost, Lost{Why: text})
			}
			lost[why[text]].Hosts = append(lost[why[text]].Hosts, m.Name)
			continue
		}
		k := m.key()
		if _, ok := at[k]; !ok {
			at[k] = len(out)
			out = append(out, Group{Example: m.proposal})
		}
		out[at[k]].Hosts = append(out[at[k]].Hosts, m.Name)
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		if (len(a.Example.Plan) == 0) != (len(b.Example.Plan) == 0) {
			return len(b.Example.Plan) - len(a.Example.Plan)
		}
		return len(b.Hosts) - len(a.Hosts)
	})
	return out, lost
}

// document is the rollout as it stands.
func (r *rollout) document() SitePlan {
	doc := SitePlan{V: 1, Site: r.o.Site, Hosts: []SiteHost{}, Groups: []Group{}, Lost: []Lost{}, Waves: [][]string{}, Stopped: r.stopped}
	groups, lost := r.groups()
	doc.Groups, doc.Lost = append(doc.Groups, groups...), append(doc.Lost, lost...)
	for _, w := range r.waves {
		var names []string
		for _, m := range w {
			names = append(names, m.Name)
		}
		doc.Waves = append(doc.Waves, names)
	}
	for _, m := range r.members {
		h := SiteHost{Name: m.Name, Wave: m.Wave, State: m.State, Why: m.why, Path: m.path}
		switch {
		case m.err != nil:
			h.Why = failure.FirstLine(m.err)
		case m.Wave == 0:
			h.State = Nothing
		}
		doc.Hosts = append(doc.Hosts, h)
	}
	return doc
}

// growth is how much larger each wave is than the one before, up to atOnceOfSite.
const growth = 4

// cut puts the hosts that get a change into waves: one host of the largest group, the canary, then
// waves that grow. A wave takes of all groups in turn, so that each kind of host comes early.
func (r *rollout) cut() {
	var kinds [][]*member
	at := map[string]int{}
	for _, m := range r.members {
		if m.err != nil || len(m.Plan.Changes) == 0 {
			continue
		}
		k := m.key()
		if _, ok := at[k]; !ok {
			at[k] = len(kinds)
			kinds = append(kinds, nil)
		}
		kinds[at[k]] = append(kinds[at[k]], m)
	}
	slices.SortStableFunc(kinds, func(a, b []*member) int { return len(b) - len(a) })
	var order []*member
	for i := 0; ; i++ {
		was := len(order)
		for _, k := range kinds {
			if i < len(k) {
				order = append(order, k[i])
			}
		}
		if len(order) == was {
			break
		}
	}
	for size := 1; len(order) > 0; size = min(growth*size, atOnceOfSite) {
		n := min(size, len(order))
		r.waves, order = append(r.waves, order[:n:n]), order[n:]
		for _, m := range r.waves[len(r.waves)-1] {
			m.Wave = len(r.waves)
		}
	}
}

// lostError is the error that some hosts were not read; nil: all were.
func (r *rollout) lostError() error {
	n, all := 0, len(r.members)
	var first *member
	for _, m := range r.members {
		if m.err != nil {
			if n++; first == nil {
				first = m
			}
		}
	}
	if n == 0 {
		return nil
	}
	err := failure.Of(failure.Failed, "no plan could be made for %d of %d hosts, which are unchanged: %s: %s", n, all, first.Name, failure.FirstLine(first.err))
	return failure.AsAdvised(err, first.err)
}
