package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/tune"
)

// siteAgent is a host of a site: what is in force on it, and what it refuses.
type siteAgent struct {
	waveAgent
	mu        sync.Mutex
	inForce   bool
	waits     bool
	apply     error
	confirm   error
	undo      error
	interrupt func()
}

func (a *siteAgent) Hello() host.Hello { return host.Hello{BootID: "now"} }
func (a *siteAgent) Close() error      { return nil }

func (a *siteAgent) Apply(_ context.Context, p model.Plan) (tune.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.apply != nil || p.BootID != "now" {
		return tune.Result{}, a.apply
	}
	a.inForce, a.waits = true, true
	if a.interrupt != nil {
		a.interrupt()
	}
	return tune.Result{Plan: p.ID}, nil
}

func (a *siteAgent) Confirm(context.Context, string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.confirm == nil {
		a.waits = false
	}
	return a.confirm
}

func (a *siteAgent) Undo(context.Context, string) (tune.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.undo == nil {
		a.inForce, a.waits = false, false
	}
	return tune.Result{}, a.undo
}

func (a *siteAgent) OpenJournal(context.Context) ([]tune.Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inForce {
		return []tune.Entry{{Plan: "p"}}, nil
	}
	return nil, nil
}

func (a *siteAgent) Waiting(context.Context) (p tune.Pending, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.Plan = "p"
	return p, a.waits, nil
}

// silentProgress is one that nobody watches.
type silentProgress struct{}

func (silentProgress) Say(string, ...any)  {}
func (silentProgress) Detail(string)       {}
func (silentProgress) Tick(string, string) {}
func (silentProgress) Live() bool          { return false }
func (silentProgress) End()                {}
func (silentProgress) Started() time.Time  { return time.Time{} }

// siteOf is a rollout over n hosts whose paths are as they were.
func siteOf(t *testing.T, n int) (*rollout, map[string]*siteAgent) {
	t.Helper()
	agents := map[string]*siteAgent{}
	dir := t.TempDir()
	e := app.Env{Now: time.Now, Getenv: func(k string) string { return map[string]string{"XDG_DATA_HOME": dir}[k] }}
	r := newRollout(e, SiteRequest{Site: "all"}, silentProgress{}, "p")
	for i := range n {
		name := fmt.Sprintf("n%03d", i)
		agents[name] = &siteAgent{}
		r.members = append(r.members, &member{
			Name: "site:" + name, State: Before, host: host.Name{Reach: host.Site, Host: name},
			Plan:     model.Plan{ID: "p", Changes: []model.Change{{Setting: "s"}}},
			proposal: Proposal{Plan: []Line{{Setting: "s", From: "0", To: "1"}}},
		})
	}
	r.dial = func(_ context.Context, n host.Name) (waveAgent, error) { return agents[n.Host], nil }
	r.see = func(context.Context, *member) (pathLook, error) { return pathOf(1), nil }
	r.cut()
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	return r, agents
}

// pathOf is a path whose round trips take so many milliseconds.
func pathOf(ms float64) pathLook {
	return pathLook{trips: study.Spread{Low: ms / 1000, Median: ms / 1000, High: ms / 1000, N: study.Least}}
}

// inForce are the hosts on which the plan is, by name.
func inForce(agents map[string]*siteAgent) (out []string) {
	for name, a := range agents {
		if a.inForce {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func TestWavesGrowFromACanary(t *testing.T) {
	r, agents := siteOf(t, 200)
	var sizes []int
	for _, w := range r.waves {
		sizes = append(sizes, len(w))
	}
	if want := []int{1, 4, 16, 64, 115}; !slices.Equal(sizes, want) {
		t.Errorf("waves of %v, want %v", sizes, want)
	}
	doc, err := r.finish(t.Context())
	if err != nil || len(inForce(agents)) != 200 || doc.Stopped != nil || doc.Plan != "p" {
		t.Fatalf("%d in force, %+v, %v", len(inForce(agents)), doc.Stopped, err)
	}
	for _, h := range doc.Hosts {
		if h.State != Planned || agents[strings.TrimPrefix(h.Name, "site:")].waits {
			t.Errorf("%+v", h)
		}
	}
	if _, err := findRecord(mustDir(t, r), ""); failure.KindOf(err) != failure.Nothing {
		t.Errorf("there is something to resume: %v", err)
	}
}

func mustDir(t *testing.T, r *rollout) string {
	t.Helper()
	dir, err := recordsDir(r.env)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEachKindOfHostComesEarly(t *testing.T) {
	r := newRollout(app.Env{}, SiteRequest{}, silentProgress{}, "p")
	for i := range 30 {
		m := &member{Name: fmt.Sprint(i), Plan: model.Plan{Changes: []model.Change{{}}}, proposal: Proposal{Plan: []Line{{To: "a"}}}}
		switch {
		case i == 29:
			m.proposal.Plan[0].To = "rare"
		case i%10 == 3:
			m.Plan.Changes, m.proposal.Plan = nil, nil
		case i%10 == 4:
			m.err = errors.New("silent")
		}
		r.members = append(r.members, m)
	}
	r.cut()
	if r.waves[0][0].Name != "0" || r.waves[1][0].Name != "29" || len(slices.Concat(r.waves...)) != 24 {
		t.Errorf("%v, %v", r.waves[0][0].Name, r.waves[1][0].Name)
	}
	groups, lost := r.groups()
	if len(groups) != 3 || len(groups[0].Hosts) != 23 || len(groups[2].Example.Plan) != 0 || len(lost) != 1 || len(lost[0].Hosts) != 3 {
		t.Errorf("%+v, %+v", groups, lost)
	}
}

// At the first host that does not confirm, refuses, or has a worse path, its wave is as before,
// and the waves before are as planned.
func TestAWaveThatStopsIsPutBack(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		do   func(r *rollout, a *siteAgent)
		want string
	}{
		"does not apply":   {func(_ *rollout, a *siteAgent) { a.apply = broken }, "apply: broken"},
		"does not confirm": {func(_ *rollout, a *siteAgent) { a.confirm = broken }, "confirm: broken"},
		"has a worse path": {func(r *rollout, a *siteAgent) {
			r.see = func(_ context.Context, m *member) (pathLook, error) {
				if m.host.Host == "n003" && a.inForce {
					return pathOf(5), nil
				}
				return pathOf(1), nil
			}
		}, "its path got worse: the round trip to the host went from 1ms to 5ms, and the floor is 1ms (A/A)"},
		"cannot be looked at": {func(r *rollout, _ *siteAgent) {
			r.see = func(_ context.Context, m *member) (pathLook, error) {
				if m.host.Host == "n003" {
					return pathLook{}, broken
				}
				return pathOf(1), nil
			}
		}, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			r, agents := siteOf(t, 30)
			c.do(r, agents["n003"])
			doc, err := r.finish(t.Context())
			if failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, kind %v", err, failure.KindOf(err))
			}
			if got := inForce(agents); !slices.Equal(got, []string{"n000"}) {
				t.Errorf("in force on %v, want the canary alone", got)
			}
			if doc.Stopped == nil || doc.Stopped.Wave != 2 || doc.Stopped.Host != "site:n003" {
				t.Errorf("%+v", doc.Stopped)
			}
			rec, err := findRecord(mustDir(t, r), "")
			if err != nil || rec.ID != "p" || rec.Members[0].State != Planned || rec.Members[3].State != Before {
				t.Errorf("record %+v, %v", rec, err)
			}
		})
	}
}

// What seems worse once, and not when it is looked at again, stops nothing.
func TestAPathThatIsWorseForAMoment(t *testing.T) {
	r, agents := siteOf(t, 1)
	looks := 0
	r.see = func(context.Context, *member) (pathLook, error) {
		if looks++; looks == 2 {
			return pathOf(50), nil
		}
		return pathOf(1), nil
	}
	if _, err := r.finish(t.Context()); err != nil || len(inForce(agents)) != 1 || looks != 3 {
		t.Errorf("%v, %d looks", err, looks)
	}
}

func TestAHostThatIsNotPutBackIsSaid(t *testing.T) {
	r, agents := siteOf(t, 5)
	agents["n002"].confirm = errors.New("its disk is full")
	agents["n003"].undo = errors.New("gone")
	doc, err := r.finish(t.Context())
	if failure.KindOf(err) != failure.NotRestored || !strings.Contains(err.Error(), "site:n003") {
		t.Errorf("%v, kind %v", err, failure.KindOf(err))
	}
	if doc.Hosts[3].State != Unknown || doc.Hosts[2].State != Before || doc.Hosts[0].State != Planned {
		t.Errorf("%+v", doc.Hosts)
	}
}

func TestAnInterruptedWaveIsPutBack(t *testing.T) {
	r, agents := siteOf(t, 5)
	ctx, interrupt := context.WithCancel(t.Context())
	agents["n004"].interrupt = interrupt
	_, err := r.finish(ctx)
	if failure.KindOf(err) != failure.Interrupted || !slices.Equal(inForce(agents), []string{"n000"}) {
		t.Errorf("%v, kind %v, in force on %v", err, failure.KindOf(err), inForce(agents))
	}
}

// What settle finds is what is so, whatever the record says.
func TestSettleAsksTheHosts(t *testing.T) {
	r, agents := siteOf(t, 4)
	r.waves[0][0].State = Planned
	agents["n000"].inForce = true
	for _, m := range r.waves[1] {
		m.State = changed
	}
	agents["n001"].inForce = true                             // confirmed, and the record does not know
	agents["n002"].inForce, agents["n002"].waits = true, true // waits
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := inForce(agents); !slices.Equal(got, []string{"n000", "n001"}) {
		t.Errorf("in force on %v", got)
	}
	if _, err := r.finish(t.Context()); err != nil || len(inForce(agents)) != 4 {
		t.Errorf("%v, %v", inForce(agents), err)
	}
}

// What somebody undid after it was confirmed is said, and not made again. Who was confirmed and
// cannot be asked now stays as recorded, with the reason.
func TestResumeLeavesWhatWasUndone(t *testing.T) {
	r, agents := siteOf(t, 6)
	for _, m := range append(slices.Clone(r.waves[0]), r.waves[1][:2]...) {
		m.State = Planned
	}
	agents["n000"].inForce = true // n001 was undone, n002 is silent
	dial := r.dial
	r.dial = func(ctx context.Context, n host.Name) (waveAgent, error) {
		if n.Host == "n002" {
			return nil, errors.New("no route to it")
		}
		return dial(ctx, n)
	}
	if err := r.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	doc, err := r.finish(t.Context())
	if got := inForce(agents); err != nil || !slices.Equal(got, []string{"n000", "n003", "n004", "n005"}) {
		t.Errorf("%v, in force on %v", err, got)
	}
	if h := doc.Hosts[1]; h.State != UndoneSince || !strings.Contains(h.Why, "left so") {
		t.Errorf("%+v", h)
	}
	if h := doc.Hosts[2]; h.State != Planned || !strings.Contains(h.Why, "no route to it") {
		t.Errorf("%+v", h)
	}
	if rec, err := findRecord(mustDir(t, r), "p"); failure.KindOf(err) != failure.Nothing {
		t.Errorf("the record is not at its end: %+v, %v", rec, err)
	}
}

func TestOneProcessGoesOnWithARecord(t *testing.T) {
	r, _ := siteOf(t, 2)
	if _, err := Resume(t.Context(), r.env, "p", silentProgress{}); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v", err)
	}
	at := r.lock.Name()
	held, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.end(false); err != nil {
		t.Fatal(err)
	}
	// Who has opened the lock before it was let go locks the same file as who comes later.
	if now, err := os.Stat(at); err != nil || !os.SameFile(held, now) {
		t.Errorf("the lock that was let go is another file: %v", err)
	}
	for id, want := range map[string]failure.Kind{"../p": failure.Usage, "q": failure.Usage} {
		if _, err := Resume(t.Context(), r.env, id, silentProgress{}); failure.KindOf(err) != want {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestWorsePathsAreSaid(t *testing.T) {
	still := pathOf(1)
	still.reaches, still.mtu = true, 9000
	still.bad, still.resent = study.Spread{N: study.Least}, study.Spread{N: study.Least}
	lost, small, bad, resent := still, still, still, still
	lost.reaches, small.mtu = false, 1500
	bad.bad.Median, resent.resent.Median = 1000, 0.05
	for want, after := range map[string]pathLook{
		"": still, "do not reach the peer": lost, "carries packets of 1500 bytes, and carried 9000": small,
		"packets went from 0/s to 1000/s": bad, "sent again went from 0% to 5%": resent,
	} {
		if got := worse(still, after); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLossesAreOfWindows(t *testing.T) {
	at := time.Unix(1000, 0)
	var s []model.Sample
	for i := range int64(3) {
		s = append(s, model.Sample{HostAt: at.Add(time.Duration(i) * time.Second), SNMP: map[string]int64{"Tcp.OutSegs": 1000 * i, "Tcp.RetransSegs": 10 * i},
			NICs: []model.NICCount{{RxDropped: 7 * i}}})
	}
	resent, bad := losses(s)
	if resent.N != 2 || resent.Median != 0.01 || bad.Median != 7 {
		t.Errorf("%+v, %+v", resent, bad)
	}
	s[1].SNMP["Tcp.OutSegs"] = 50 // few segments say nothing
	if resent, _ := losses(s); resent.N != 1 {
		t.Errorf("%+v", resent)
	}
}
