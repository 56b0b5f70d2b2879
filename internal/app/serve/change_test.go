package serve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/unit"
	"linerate/internal/web"
)

// quietly is progress that nobody hears.
type quietly struct{ app.Progress }

func (quietly) Say(string, ...any) {}
func (quietly) Detail(string)      {}

func testChanger(t *testing.T, now *time.Time) *changer {
	dir := t.TempDir()
	e := app.Env{Now: func() time.Time { return *now }, Getenv: func(key string) string { return map[bool]string{true: dir}[strings.HasPrefix(key, "XDG_")] }}
	return newChanger(t.Context(), e, []string{"nas1", "client1"}, unit.Gbit, quietly{})
}

// What comes from a browser names hosts that are watched and profiles that there are, and applies
// what was shown, for a time in which it has to be confirmed.
func TestAPageAsksForNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	c := testChanger(t, &now)
	for name, s := range map[string]web.Subject{"another host": {Host: "nas2"}, "none": {}, "an option": {Host: "-oProxyCommand=x"}, "a path": {Host: "/etc"}, "another peer": {Host: "nas1", To: "nas2"},
		"itself": {Host: "nas1", To: "nas1"}, "a file as a profile": {Host: "nas1", Profile: "./p.yaml"}, "another profile": {Host: "nas1", Profile: "x"},
		"an address of no host": {Host: "nas1", Via: "10.0.0.2"}, "an address that is none": {Host: "nas1", To: "client1", Via: "nas2"}} {
		if _, err := c.Plan(t.Context(), s); failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	o, err := c.request(web.Subject{Host: "nas1", Profile: "nfs-server", To: "client1", Via: "10.0.0.2"})
	if err != nil || o.Via != "10.0.0.2" || o.Rate != unit.Gbit || o.Host.Host != "nas1" || o.Peer.Host != "client1" || o.Profile.Name != "nfs-server" || o.Persist {
		t.Errorf("%+v %v", o, err)
	}
	if o, err := c.request(web.Subject{Host: "nas1", Profile: "nfs-server", Persist: true}); err != nil || !o.Persist {
		t.Errorf("%+v %v", o, err)
	}
	if _, err := c.Apply("x", time.Minute, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "none of those that were shown") {
		t.Error(err)
	}
	o.Shown = "sum"
	c.remember(o)
	for _, within := range []time.Duration{-1, 0, time.Second, 2 * time.Hour} { // 0 would be without a dead-man, or its default
		if _, err := c.Apply("sum", within, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "has to be confirmed within 10s to 1h0m0s") {
			t.Errorf("%v: %v", within, err)
		}
	}
	for i := range mostShown {
		c.remember(tune.Request{Shown: strings.Repeat("a", i)})
	}
	if _, err := c.Apply("sum", time.Minute, "127.0.0.1"); err == nil || len(c.shown) != mostShown || len(c.order) != mostShown {
		t.Errorf("%d plans, %v", len(c.shown), err)
	}
	if all, err := c.Choices(); err != nil || len(all.Hosts) != 2 || len(all.Profiles) == 0 {
		t.Errorf("%+v %v", all, err)
	}
	if here := newChanger(t.Context(), c.env, nil, 0, quietly{}); len(here.hosts) != 1 || here.hosts[0] != "localhost" {
		t.Errorf("%q", here.hosts)
	}
}

// A plan is counted down, and what became of one that nobody confirmed is said for a while.
func TestWhatWaitsIsCountedDown(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	c := testChanger(t, &now)
	entry := func(state string) tune.Entry {
		e := tune.Entry{Plan: "tune-1", By: "me", State: tune.Undone}
		if state != "" {
			e.State = "applied"
		}
		return e
	}
	waits := tune.History{Waiting: &tune.Waiting{Plan: "tune-1", Left: time.Minute}, Changes: []tune.Entry{entry("applied")}}
	c.take("nas1", waits)
	now = now.Add(25 * time.Second)
	got := c.Pending()
	if len(got) != 1 || got[0] != (web.Pending{Host: "nas1", Plan: "tune-1", By: "me", Left: 35, Waits: true}) {
		t.Fatalf("%+v", got)
	}
	if due := c.due(); len(due) != 0 {
		t.Errorf("%q is asked before its time", due)
	}
	// Files go with the plan that they were shown with, and with no other that waits there later.
	c.set("nas1", &wait{Pending: web.Pending{Host: "nas1", Plan: "tune-1", Waits: true, Persist: true}})
	if c.take("nas1", waits); !c.persists("nas1", "tune-1") || c.persists("nas1", "tune-2") || c.persists("client1", "tune-1") {
		t.Errorf("%+v", c.Pending())
	}
	if c.take("nas1", tune.History{Waiting: &tune.Waiting{Plan: "tune-2", Left: time.Minute}}); c.persists("nas1", "tune-2") {
		t.Errorf("%+v", c.Pending())
	}
	c.take("nas1", waits)
	now = now.Add(61 * time.Second)
	if got := c.Pending(); got[0].Left != 0 || len(c.due()) != 1 {
		t.Errorf("%+v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.ctx = ended
	c.hosts = []string{"nas1 \x01"} // nobody can be asked under this name
	c.look("nas1")
	if got := c.Pending(); !got[0].Waits || !strings.Contains(got[0].Says, "cannot be asked") {
		t.Errorf("what is not known is told as known: %+v", got)
	}
	for state, want := range map[string]string{"": "it is undone", "applied": "somebody confirmed it"} {
		c.take("nas1", waits)
		c.take("nas1", tune.History{Changes: []tune.Entry{entry(state)}})
		if got := c.Pending(); got[0].Waits || !strings.Contains(got[0].Says, want) {
			t.Errorf("%+v", got)
		}
	}
	c.take("nas1", tune.History{Waiting: &tune.Waiting{Plan: "tune-1", Overdue: true, Alarm: "its watcher is gone"}})
	if got := c.Pending(); got[0].Waits || got[0].Says != "its watcher is gone" {
		t.Errorf("%+v", got)
	}
	c.take("nas1", tune.History{})
	now = now.Add(11 * time.Minute)
	if c.due(); len(c.Pending()) != 0 {
		t.Errorf("%+v", c.Pending())
	}
}

func TestTokensAreNotAlike(t *testing.T) {
	one, err1 := newToken()
	other, err2 := newToken()
	if err1 != nil || err2 != nil || len(one) != 64 || one == other {
		t.Errorf("%s %s %v %v", one, other, err1, err2)
	}
}

// The page has no --via: its errors name what it has.
func TestAPageIsAdvisedWhatItHas(t *testing.T) {
	err := failure.Of(failure.Usage, "name the data address of nas1 with --via, or leave --to away")
	if got := wordForPage(err); got.Error() != `name the data address of nas1 with "at address", or leave "on the path to" away` || failure.KindOf(got) != failure.Usage {
		t.Error(got)
	}
	if err := errors.New("x"); wordForPage(err) != err || wordForPage(nil) != nil {
		t.Error("another error is not left as it is")
	}
}
