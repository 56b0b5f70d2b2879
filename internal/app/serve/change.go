package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/profile"
	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/reach"
	"linerate/internal/unit"
	"linerate/internal/web"
)

// Bounds on the time within which a change from the page has to be confirmed. Every such change has
// to be.
const (
	leastWithin = 10 * time.Second
	mostWithin  = time.Hour
)

// Bounds on what is remembered and waited for.
const (
	mostShown = 100              // plans that were shown and can be applied
	ended     = 10 * time.Minute // how long the page shows the end of a plan that nobody confirmed
	lookTime  = 20 * time.Second // within which a host has to answer what waits there
)

// changer does for the page what linerate tune does, on the hosts that are watched. It applies only
// plans that the page has shown, and every change has to be confirmed.
type changer struct {
	env   app.Env
	ctx   context.Context // of serve: a change outlives the request that asked for it
	tell  app.Progress
	hosts []string
	rate  unit.BitRate   // of the links, as it was stated; 0: it was not
	work  sync.WaitGroup // changes under way

	mu    sync.Mutex
	shown map[string]tune.Request // by Proposal.Sum
	order []string                // of shown, the oldest first
	waits map[string]*wait        // by host
}

// wait is a plan of a host that waits for its confirmation, or waited until gone.
type wait struct {
	web.Pending
	until time.Time // by this machine's clock; early rather than late
	gone  time.Time // since when it waits no more; zero: it still waits
}

// newChanger is a changer for hosts; without any it is for this machine. rate is what their links
// carry; 0: not stated.
func newChanger(ctx context.Context, e app.Env, hosts []string, rate unit.BitRate, p app.Progress) *changer {
	if len(hosts) == 0 {
		hosts = []string{reach.Here}
	}
	return &changer{env: e, ctx: ctx, tell: p, hosts: hosts, rate: rate, shown: map[string]tune.Request{}, waits: map[string]*wait{}}
}

// newToken makes a token that nobody can guess.
func newToken() (string, error) {
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// Choices implements web.Changer.
func (c *changer) Choices() (web.Choices, error) {
	out := web.Choices{Hosts: c.hosts, Profiles: []web.Purpose{}, Least: leastWithin.Seconds(), Most: mostWithin.Seconds()}
	all, err := profile.List(c.env)
	for _, p := range all {
		if p.Error == "" {
			out.Profiles = append(out.Profiles, web.Purpose{Name: p.Name, Title: p.Title})
		}
	}
	return out, err
}

// name finds a host among those that are watched: a browser can reach no other.
func (c *changer) name(host string) (reach.Name, error) {
	if !slices.Contains(c.hosts, host) {
		return reach.Name{}, failure.Of(failure.Usage, "%q is none of the hosts that are watched here", host)
	}
	return reach.HostName(host)
}

// request is the request to tune for a subject. A profile has to be a name: a browser must not read
// files of this machine.
func (c *changer) request(s web.Subject) (o tune.Request, err error) {
	if o.Host, err = c.name(s.Host); err != nil {
		return o, err
	}
	o.Streams, o.Persist, o.Rate = 1, s.Persist, c.rate
	if s.To != "" {
		to, err := c.name(s.To)
		if err != nil {
			return o, err
		}
		if to == o.Host {
			return o, failure.Of(failure.Usage, "%s is both ends of the path: name another", s.To)
		}
		o.Peer = &to
	}
	if s.Via != "" && s.To == "" {
		return o, failure.Of(failure.Usage, "%s is an address of the other end: say which that is", s.Via)
	}
	if o.Via = s.Via; o.Via != "" {
		if _, err := netip.ParseAddr(o.Via); err != nil {
			return o, failure.Of(failure.Usage, "%q is no address at which data arrives, such as 10.0.0.2", o.Via)
		}
	}
	if s.Profile == "" {
		return o, nil
	}
	all, err := profile.List(c.env)
	if err != nil {
		return o, err
	}
	if !slices.ContainsFunc(all, func(p profile.Summary) bool { return p.Name == s.Profile }) {
		return o, failure.Of(failure.Usage, "there is no profile %q", s.Profile)
	}
	p, err := profile.Find(c.env, s.Profile)
	o.Profile = &p
	return o, err
}

// Panel implements web.Changer.
func (c *changer) Panel(ctx context.Context, s web.Subject) (any, error) {
	o, err := c.request(s)
	if err != nil {
		return nil, err
	}
	doc, err := tune.MakePanel(ctx, c.env, o, c.tell)
	doc.Chosen = pageWords.Replace(doc.Chosen)
	for i := range doc.Settings {
		doc.Settings[i].Reason = pageWords.Replace(doc.Settings[i].Reason)
	}
	return doc, wordForPage(err)
}

// pageWords replaces the flags of tune by what the page calls them.
var pageWords = strings.NewReplacer("--via", `"at address"`, "--to", `"on the path to"`, "--profile", `"for"`, "--persist", `"and after a restart"`,
	"--confirm-within", `"undone by the host itself unless confirmed within"`, "--line-rate", "--line-rate of linerate serve")

// pageSteps are the page's words for what to do next.
var pageSteps = map[failure.Next]string{
	failure.NameAddress: `name it "at address"`,
	failure.PutBack:     "undo puts them back",
	failure.WaitLonger:  "give it more time to be confirmed",
}

// wordForPage words an error with what the page offers instead of flags and commands.
func wordForPage(err error) error {
	if err == nil {
		return nil
	}
	text := pageWords.Replace(err.Error())
	for _, s := range failure.Steps(err) {
		if step := pageSteps[s.Next]; step != "" {
			text += "; " + step
		}
	}
	if text != err.Error() {
		return failure.Of(failure.KindOf(err), "%s", text)
	}
	return err
}

// Plan implements web.Changer. Apply uses the path as it was measured here: measured again, it
// could give another plan than the one that was shown.
func (c *changer) Plan(ctx context.Context, s web.Subject) (web.Planned, error) {
	o, err := c.request(s)
	if err != nil {
		return web.Planned{}, err
	}
	doc, err := tune.MakePlan(ctx, c.env, o, c.tell)
	if err != nil {
		return web.Planned{}, wordForPage(err)
	}
	if doc.Path.RateBPS != nil {
		o.Rate = unit.BitRate(*doc.Path.RateBPS)
	}
	if doc.Path.RTT != nil {
		o.RTT = time.Duration(*doc.Path.RTT)
	}
	if o.Profile == nil { // Apply has to use the profile that was chosen here
		p, err := profile.Find(c.env, doc.Profile)
		if err != nil {
			return web.Planned{}, err
		}
		o.Profile = &p
	}
	o.Shown = doc.Sum()
	c.remember(o)
	doc.Chosen = pageWords.Replace(doc.Chosen)
	for i := range doc.Refused {
		doc.Refused[i].Why = pageWords.Replace(doc.Refused[i].Why)
	}
	return web.Planned{Plan: o.Shown, Doc: doc}, nil
}

func (c *changer) remember(o tune.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(slices.DeleteFunc(c.order, func(s string) bool { return s == o.Shown }), o.Shown)
	c.shown[o.Shown] = o
	for len(c.order) > mostShown {
		delete(c.shown, c.order[0])
		c.order = c.order[1:]
	}
}

// Apply implements web.Changer.
func (c *changer) Apply(plan string, within time.Duration, from string) (any, error) {
	if within < leastWithin || within > mostWithin {
		return nil, failure.Of(failure.Usage, "a change has to be confirmed within %v to %v", leastWithin, mostWithin)
	}
	c.mu.Lock()
	o, ok := c.shown[plan]
	c.mu.Unlock()
	if !ok {
		return nil, failure.Of(failure.Usage, "that plan is none of those that were shown lately: make it again")
	}
	defer c.begin()()
	o.Confirm, o.By = within, fmt.Sprintf("%s, by the page of linerate serve, asked from %s", reach.Who(c.env.Getenv), from)
	began := c.env.Now()
	doc, err := tune.Apply(c.ctx, c.env, o, nil, c.tell)
	host := o.Host.String()
	if err != nil {
		c.tell.Say("page, from %s: a change of %s failed: %s", from, host, failure.FirstLine(err))
		c.look(host) // a plan may wait there in spite of the error
		return nil, wordForPage(err)
	}
	c.tell.Say("page, from %s: applied %s on %s", from, doc.ID, host)
	if doc.Deadline != nil {
		c.set(host, &wait{Pending: web.Pending{Host: host, Plan: doc.ID, By: o.By, Waits: true, Persist: o.Persist}, until: began.Add(within)})
	}
	return doc, nil
}

// begin notes that a change is under way, so that the program does not end before it.
func (c *changer) begin() (end func()) {
	c.work.Add(1)
	return c.work.Done
}

// Confirm implements web.Changer: it confirms the plan that the page shows as waiting, and no
// other. Files are written only here, since a change that nobody confirmed must not outlive a
// restart.
func (c *changer) Confirm(host, plan string) (any, error) {
	n, err := c.name(host)
	if err != nil {
		return nil, err
	}
	defer c.begin()()
	defer c.look(host)
	h, err := tune.ReadHistory(c.ctx, c.env, n, c.tell)
	if err != nil {
		return nil, err
	}
	if h.Waiting == nil || h.Waiting.Plan != plan {
		return nil, failure.Of(failure.Nothing, "%s waits no more on %s: nothing was confirmed", plan, host)
	}
	doc, err := tune.Confirm(c.ctx, c.env, n, c.persists(host, plan), false, c.tell)
	if err == nil {
		c.tell.Say("page: confirmed %s on %s, with %s", doc.Plan, host, unit.Count(len(doc.Files), "file"))
		c.set(host, nil)
	}
	return doc, wordForPage(err)
}

// persists reports whether a waiting plan is to outlive a restart.
func (c *changer) persists(host, plan string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waits[host]
	return w != nil && w.Plan == plan && w.Persist
}

// Undo implements web.Changer.
func (c *changer) Undo(host, plan string) (any, error) {
	n, err := c.name(host)
	if err != nil {
		return nil, err
	}
	defer c.begin()()
	defer c.look(host)
	doc, err := tune.Undo(c.ctx, c.env, n, tune.UndoRequest{Plan: plan}, c.tell)
	if err == nil {
		c.tell.Say("page: undid %s on %s", unit.Count(len(doc.Changes), "change"), host)
		c.set(host, nil)
	}
	return doc, wordForPage(err)
}

// History implements web.Changer.
func (c *changer) History(ctx context.Context, host string) (any, error) {
	n, err := c.name(host)
	if err != nil {
		return nil, err
	}
	h, err := tune.ReadHistory(ctx, c.env, n, c.tell)
	if err != nil {
		return nil, err
	}
	c.take(host, h)
	return h, nil
}

// Pending implements web.Changer.
func (c *changer) Pending() []web.Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []web.Pending{}
	now := c.env.Now()
	for _, w := range c.waits {
		p := w.Pending
		p.Left = max(0, w.until.Sub(now).Seconds())
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b web.Pending) int { return cmp.Compare(a.Host, b.Host) })
	return out
}

// set notes which plan waits on a host; nil: none.
func (c *changer) set(host string, w *wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w == nil {
		delete(c.waits, host)
		return
	}
	c.waits[host] = w
}

// take notes which plan waits on a host by its journal.
func (c *changer) take(host string, h tune.History) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.waits[host]
	switch w := h.Waiting; {
	case w != nil:
		c.waits[host] = &wait{Pending: web.Pending{Host: host, Plan: w.Plan, By: byOf(h, w.Plan), Waits: !w.Overdue, Says: w.Alarm, Persist: old != nil && old.Plan == w.Plan && old.Persist}, until: c.env.Now().Add(w.Left)}
	case old != nil && old.gone.IsZero():
		old.gone, old.Waits, old.Says = c.env.Now(), false, became(h, old.Plan)
	case old != nil && c.env.Now().Sub(old.gone) > ended:
		delete(c.waits, host)
	}
}

func byOf(h tune.History, plan string) string {
	for _, e := range h.Changes {
		if e.Plan == plan {
			return e.By
		}
	}
	return ""
}

// became says how a plan ended that waits no more.
func became(h tune.History, plan string) string {
	open := func(e tune.Entry) bool { return e.Plan == plan && e.State != tune.Undone && e.State != tune.Closed }
	if slices.ContainsFunc(h.Changes, open) {
		return "it waits no more, and what it changed is in force: somebody confirmed it"
	}
	return "it is undone: everything is as it was before"
}

// look asks a host which plan waits there.
func (c *changer) look(host string) {
	n, err := c.name(host)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), lookTime)
		defer cancel()
		var h tune.History
		if h, err = tune.ReadHistory(ctx, c.env, n, c.tell); err == nil {
			c.take(host, h)
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waits[host]; w != nil && w.gone.IsZero() {
		w.Says = "the host cannot be asked (" + failure.FirstLine(err) + "); unless somebody confirmed it, it undoes the plan by itself at its time"
	}
}

// lookEvery is how often a host is asked after the time at which it should have undone a plan.
const lookEvery = 3 * time.Second

// run finds out how plans ended that nobody confirmed, until serve ends.
func (c *changer) run() error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, host := range c.due() {
			c.look(host)
		}
	}
}

// due are the hosts on which a plan's time is over. It forgets plans whose end was shown long
// enough.
func (c *changer) due() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.env.Now()
	for host, w := range c.waits {
		switch {
		case !w.gone.IsZero() && now.Sub(w.gone) > ended:
			delete(c.waits, host)
		case w.gone.IsZero() && now.After(w.until):
			out = append(out, host)
		}
	}
	return out
}

// close waits for changes under way, and says which plans still wait.
func (c *changer) close() {
	c.work.Wait()
	for _, p := range c.Pending() {
		if p.Waits {
			c.tell.Say("%s waits on %s to be confirmed: linerate tune confirm %s, else the host undoes it", p.Plan, p.Host, p.Host)
		}
	}
}
