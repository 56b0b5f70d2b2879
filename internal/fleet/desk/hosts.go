package desk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/fleet"
)

// Bounds of tokens and credentials.
const (
	MaxTokenLife   = 30 * 24 * time.Hour
	MaxTokenHosts  = 1000
	controllerLife = 7 * 24 * time.Hour // of what one command is given
	kept           = 30 * 24 * time.Hour
)

// Silent is how long a host may say nothing before it is not counted as there.
const Silent = 3 * fleet.LiveTime

// logged adds a line, and fails where it cannot: nothing is done at a site that is not logged.
func (d *Desk) logged(l Line) error {
	d.write(l)
	return d.log.err
}

// carryOut puts a change on the disk between two lines of the log: that it is begun, without which
// it is not made, and that it is done, which is said only if it is. If the second cannot be written
// the first stands, and the log is said to be broken.
func (d *Desk) carryOut(begins string, done Line, c change) error {
	begun := done
	begun.Event, begun.About = begins, nil
	if err := d.logged(begun); err != nil {
		return err
	}
	if err := d.book.keep(c); err != nil {
		d.write(Line{Event: "failed", Host: done.Host, ID: done.ID, About: map[string]string{"what": begins, "reason": err.Error()}})
		return err
	}
	d.write(done)
	return nil
}

// MakeToken makes a token that admits so many hosts within a time. name is what the host is
// called; empty: what it calls itself, as each of several does.
func (d *Desk) MakeToken(name string, labels map[string]string, within time.Duration, hosts int) (token string, t Token, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if within < time.Minute || within > MaxTokenLife {
		return "", t, fmt.Errorf("make token: it would be good for %s; want 1m to %s", within, MaxTokenLife)
	}
	if hosts < 1 || hosts > MaxTokenHosts || hosts > 1 && name != "" {
		return "", t, fmt.Errorf("make token: it would admit %d hosts; want 1 to %d, and with a name 1", hosts, MaxTokenHosts)
	}
	as := name
	if as == "" {
		as = "any"
	} else if h := d.book.byName(name); h != nil {
		return "", t, d.taken(h)
	}
	if err := fleet.CheckHost(as, labels); err != nil {
		return "", t, fmt.Errorf("make token: %w", err)
	}
	c, err := d.m.Issue(fleet.Newcomer, as, labels, now.Add(within))
	if err != nil {
		return "", t, err
	}
	k, err := c.Keys()
	if err != nil {
		return "", t, err
	}
	t = Token{ID: k.ID(), Name: name, Labels: labels, Made: now.UTC(), Expires: now.Add(within).UTC(), Hosts: hosts}
	if token, err = c.Token(); err != nil {
		return "", t, err
	}
	err = d.logged(Line{Event: "token", Host: name, About: map[string]string{"token": t.ID, "expires": t.Expires.Format(time.RFC3339), "hosts": fmt.Sprint(hosts)}})
	if err == nil {
		err = d.book.keep(change{Token: &t})
	}
	return token, t, err
}

// taken says that a name is another host's.
func (d *Desk) taken(h *Host) error {
	return fmt.Errorf("%s is enrolled already, with another key (%s, since %s); if that host is gone or was set up anew: linerate agent revoke %s", h.Name, h.ID, h.Enrolled.Format(time.DateOnly), h.Name)
}

// enter decides on a newcomer.
func (d *Desk) enter(e fleet.Entry) (fleet.Credential, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, used, err := d.admits(e)
	if err != nil {
		d.write(Line{Event: "refused", Host: h.Name, ID: e.ID(), About: map[string]string{"token": e.TokenID(), "reason": err.Error()}})
		return fleet.Credential{}, err
	}
	c, err := d.m.Admit(e, h.Name, h.Labels)
	if err != nil || used {
		return c, err
	}
	t := *d.book.token(e.TokenID())
	t.Admitted, t.Used, t.By = t.admitted()+1, h.Enrolled, h.ID
	err = d.carryOut("enrolling", Line{Event: "enrolled", Host: h.Name, ID: h.ID, About: map[string]string{"token": t.ID, "build": e.Build, "boot": e.Boot,
		"admitted": fmt.Sprintf("%d of %d", t.Admitted, t.most())}}, change{Host: &h, Token: &t})
	if err != nil {
		return fleet.Credential{}, errors.New("the site's desk cannot write its files; see what linerate serve says there")
	}
	return c, nil
}

// admits is the host that a newcomer becomes; used tells that it has been already, with the same
// token and key: its answer was lost, and it asks again.
func (d *Desk) admits(e fleet.Entry) (h Host, used bool, err error) {
	now := d.now()
	t := d.book.token(e.TokenID())
	h = Host{ID: e.ID(), Name: e.Name, User: e.User, Token: e.TokenID(), Enrolled: now.UTC()}
	switch {
	case t == nil:
		return h, false, errors.New("nobody made that token here")
	case now.After(t.Expires):
		return h, false, fmt.Errorf("the token expired at %s", t.Expires.Format(time.RFC3339))
	}
	if h.Labels = t.Labels; t.Name != "" {
		h.Name = t.Name
	}
	if old := d.book.byID(h.ID); old != nil && old.Token == t.ID && old.User == e.User {
		return *old, true, nil
	}
	if err := t.spent(); err != nil {
		return h, false, err
	}
	if err := fleet.CheckHost(h.Name, h.Labels); err != nil {
		return h, false, err
	}
	if d.book.known(h.ID, h.User) {
		return h, false, errors.New("that key was enrolled before: draw a new one")
	}
	if old := d.book.byName(h.Name); old != nil {
		return h, false, d.taken(old)
	}
	return h, false, nil
}

// Revoked is a host that was shut out.
type Revoked struct {
	Host
	// TokenEnded is the ID of the token that had admitted it, if that could still admit others.
	TokenEnded string `json:"token_ended,omitempty"`
}

// Revoke shuts a host out, and ends the token that admitted it: else whoever has both comes back
// as another host. What it has been asked already it finishes.
func (d *Desk) Revoke(name, by string) (Revoked, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	is := d.book.byName(name)
	if is == nil {
		is = d.book.byID(name)
	}
	if is == nil {
		return Revoked{}, d.unknown(name)
	}
	h := Revoked{Host: *is}
	h.Revoked = d.now().UTC()
	c, about := change{Host: &h.Host}, map[string]string{"by": by}
	if t := d.book.token(h.Token); t != nil && t.spent() == nil && !d.now().After(t.Expires) {
		ended := *t
		ended.Ended, h.TokenEnded = h.Revoked, t.ID
		c.Token, about["token_ended"] = &ended, t.ID
	}
	if err := d.carryOut("revoking", Line{Event: "revoked", Host: h.Name, ID: h.ID, About: about}, c); err != nil {
		return h, err
	}
	delete(d.heard, h.ID)
	_, account, err := d.m.Claims(d.book.revoked(), d.now())
	if err != nil {
		return h, err
	}
	if d.brokers == nil {
		return h, errors.New("revoke: the site's brokers were not told; start linerate serve anew")
	}
	return h, d.brokers.Account(account)
}

func (d *Desk) unknown(name string) error {
	var names []string
	for _, h := range d.book.Hosts {
		if h.Revoked.IsZero() {
			names = append(names, h.Name)
		}
	}
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	return fmt.Errorf("site %s has no host %q; there are: %s", d.m.Site, name, strings.Join(names, ", "))
}

// Status is a host, and whether it is there.
type Status struct {
	Host
	Here bool `json:"here"`
	// Heard is when the host last said something since the desk was opened, by the desk's
	// clock; zero: never.
	Heard time.Time `json:"heard,omitzero"`
	Ended bool      `json:"ended,omitempty"` // its agent said that it ends
	Build string    `json:"build,omitempty"`
	Boot  string    `json:"boot,omitempty"`
	// Ahead is how far the host's clock is ahead of the desk's, the way included.
	Ahead time.Duration `json:"ahead_ns,omitempty"`
	// Twins are two agents that run at once with the host's identity, in words.
	Twins []string `json:"twins,omitempty"`
}

// Hosts are all hosts that were not revoked, by name.
func (d *Desk) Hosts() []Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, out := d.now(), []Status{}
	for _, h := range d.book.Hosts {
		if !h.Revoked.IsZero() {
			continue
		}
		x := d.heard[h.ID]
		if now.Sub(x.twinsAt) > Silent {
			x.twins = nil
		}
		out = append(out, Status{
			Twins: x.twins, Host: h, Here: !x.at.IsZero() && !x.ended && now.Sub(x.at) <= Silent,
			Heard: x.at, Ended: x.ended, Build: x.about["build"], Boot: x.about["boot"], Ahead: x.ahead,
		})
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Tokens are those that can admit somebody, by when they expire.
func (d *Desk) Tokens() []Token {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, out := d.now(), []Token{}
	for _, t := range d.book.Tokens {
		if t.spent() == nil && !now.After(t.Expires) {
			t.Hosts = t.most()
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b Token) int { return a.Expires.Compare(b.Expires) })
	return out
}

// Controller makes a credential for one command of somebody.
func (d *Desk) Controller(name string, readsOnly bool) (fleet.Credential, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	role := fleet.Controller
	if readsOnly {
		role = fleet.Reader
	}
	c, err := d.m.Issue(role, name, nil, d.now().Add(controllerLife))
	if err != nil {
		return c, err
	}
	k, err := c.Keys()
	if err != nil {
		return c, err
	}
	return c, d.logged(Line{Event: "controller", About: map[string]string{"name": name, "role": string(role), "key": k.ID()}})
}

// Log is the end of the site's log.
func (d *Desk) Log(most int) ([]Line, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.last(most)
}
