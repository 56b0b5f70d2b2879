package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// Close lets fakeAgent be a LiveAgent.
func (a *fakeAgent) Close() error { return nil }

// Ended is of an agent that lives until its view ends, unless it is to die.
func (a *fakeAgent) Ended() <-chan struct{} { return a.ended }

// HeardPorts is of a host that is plugged into a switch that tells its name.
func (a *fakeAgent) HeardPorts(context.Context) ([]model.SwitchPort, error) {
	return []model.SwitchPort{{Source: "lldp", System: "core1"}, {Source: "lldp", Chassis: "02:00:00:00:00:01"}, {Source: "lldp", System: "core1"}}, nil
}

// A host that cannot be reached at first is lost, said, and tried again; then its path is judged.
func TestLiveReachesAgain(t *testing.T) {
	w := &world{value: original}
	tries := 0
	var states []watch.State
	l := Live{LineRate: model.Known(unit.Gbit), Window: LiveWindow, Step: 10 * time.Millisecond, Hold: LiveHold, Now: time.Now,
		Ends: []LiveEnd{{Name: "client", Path: "the path", Target: Target{Name: "x"}, Dial: func(context.Context) (LiveAgent, error) {
			if tries++; tries == 1 {
				return nil, errors.New("no route to host")
			}
			return &fakeAgent{w: w, name: "client", sender: true}, nil
		}}}}
	l.Ends[0].Target.Peers = append(l.Ends[0].Target.Peers, recvAddr)
	seen := errors.New("seen")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.Show = func(all []watch.Picture) error {
		p := all[0]
		if n := len(states); n == 0 || states[n-1] != p.Shown.State {
			states = append(states, p.Shown.State)
		}
		if p.Shown.State == watch.Moving {
			if p.Shown.Limiter != model.ReceiverWindow || p.Path != "the path" || len(p.Conns) != 1 || len(p.Hosts) != 1 || p.Hosts[0].Stale {
				t.Errorf("%+v", p)
			}
			return seen
		}
		return nil
	}
	if err := l.Run(ctx); !errors.Is(err, seen) {
		t.Fatalf("%v, after %v", err, states)
	}
	lost := false
	for _, s := range states {
		lost = lost || s == watch.Lost
	}
	if !lost || tries != 2 {
		t.Errorf("%d tries, states %v", tries, states)
	}
}

// Samples that stop coming make a path stale, not idle and not what it was; what comes after a
// host was lost does not count with what came before.
func TestLiveEndShowsWhatIsOldAsOld(t *testing.T) {
	e := &liveEnd{LiveEnd: LiveEnd{Name: "client"}, window: watch.Window{Span: LiveWindow}}
	state := func(now time.Duration) watch.State {
		j, not := e.unfit(now)
		if !not {
			return watch.Moving
		}
		return j.State
	}
	if got := state(0); got != watch.Starting {
		t.Errorf("at first %s", got)
	}
	e.add(arrival{facts: &model.Facts{}})
	samples := windowSamples(&world{value: original}, true)
	for _, s := range samples {
		e.add(arrival{at: s.HostAt.Sub(time.Unix(0, 0)), sample: &s})
	}
	end := e.window.Covers()
	if got := state(end); got != watch.Moving {
		t.Errorf("with %s of samples %s", end, got)
	}
	if got := state(end + staleAfter + time.Second); got != watch.Stale {
		t.Errorf("long after the last sample %s", got)
	}
	if h := e.host(time.Unix(0, 0), end+staleAfter+time.Second); !h.Stale || !h.Heard.Equal(samples[len(samples)-1].HostAt) {
		t.Errorf("%+v", h)
	}
	e.add(arrival{at: end, sample: &samples[len(samples)-3]}) // a second sampling sends what was seen
	if got := e.window.Covers(); got != end {
		t.Errorf("an old sample made %s of %s", got, end)
	}
	later := e.window.Newest()
	later.At, later.HostAt, later.Next = later.At+time.Second, later.HostAt.Add(time.Second), 9*time.Second
	e.add(arrival{at: end + time.Second, sample: &later}) // it has said that its next one comes later
	if a, b := state(end+11*time.Second), state(end+13*time.Second); a != watch.Moving || b != watch.Stale {
		t.Errorf("ten seconds after a sample whose host takes the next after nine %s, and after twelve %s", a, b)
	}
	e.add(arrival{heard: []model.SwitchPort{{System: "core1"}, {Chassis: "02:1"}, {System: "core1"}}})
	if h := e.host(time.Unix(0, 0), end); len(h.Switches) != 2 || h.Switches[0] != "core1" || h.Switches[1] != "02:1" {
		t.Errorf("switches %q", h.Switches)
	}
	e.add(arrival{at: end, lost: errors.New("connection reset\nby peer")})
	if j, _ := e.unfit(end + 2*time.Second); j.State != watch.Lost || j.Why != "lost 2s ago, and tried again: connection reset" {
		t.Errorf("%+v", j)
	}
	e.add(arrival{at: end + 3*time.Second, lost: errors.New("connection refused")})
	if j, _ := e.unfit(end + 5*time.Second); j.Why != "lost 5s ago, and tried again: connection refused" {
		t.Errorf("after another try: %+v", j)
	}
	e.add(arrival{facts: &model.Facts{}})
	if got := state(end); got != watch.Starting {
		t.Errorf("after it was reached again %s", got)
	}
}

// What waits for a view that stands still is the newest, and no word of the host is lost.
func TestArrivalsKeepTheNewest(t *testing.T) {
	var q arrivals
	q.put(arrival{facts: &model.Facts{}})
	for i := range mostArrivals + 50 {
		q.put(arrival{at: time.Duration(i), sample: &model.Sample{}})
	}
	q.put(arrival{lost: errors.New("gone")})
	all := q.take()
	if len(all) != mostArrivals+2 || all[0].facts == nil || all[1].at != 50 || all[len(all)-1].lost == nil || len(q.take()) != 0 {
		t.Errorf("%d arrivals, the first sample is %d", len(all), all[1].at)
	}
}

// An agent that dies is lost at once, and reached again, not at the next look at its facts.
func TestLiveNoticesAnAgentThatDies(t *testing.T) {
	w := &world{value: original}
	dead := make(chan struct{})
	close(dead)
	tries, seen := 0, errors.New("seen")
	l := Live{LineRate: model.Known(unit.Gbit), Window: LiveWindow, Step: 10 * time.Millisecond, Hold: LiveHold, Now: time.Now,
		Ends: []LiveEnd{{Name: "client", Path: "the path", Target: Target{Name: "x"}, Dial: func(context.Context) (LiveAgent, error) {
			if tries++; tries == 1 {
				return &fakeAgent{w: w, name: "client", sender: true, ended: dead}, nil
			}
			return nil, errors.New("no route to host")
		}}}}
	l.Show = func(all []watch.Picture) error {
		if p := all[0]; p.Shown.State == watch.Lost {
			if !p.Hosts[0].Stale {
				t.Errorf("%+v", p.Hosts[0])
			}
			return seen
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), refresh/2)
	defer cancel()
	if err := l.Run(ctx); !errors.Is(err, seen) {
		t.Error(err)
	}
}

// Ends that are apart are each a path to their own target, as several mounts of one host are.
func TestLiveKeepsPathsApart(t *testing.T) {
	w := &world{value: original}
	end := func(path string, addr netip.Addr) LiveEnd {
		return LiveEnd{Name: "client", Path: path, Target: Target{Name: path, Peers: []netip.Addr{addr}}, Dial: func(context.Context) (LiveAgent, error) {
			return &fakeAgent{w: w, name: "client", sender: true}, nil
		}}
	}
	l := Live{Apart: true, LineRate: model.Known(unit.Gbit), Window: LiveWindow, Step: 10 * time.Millisecond, Hold: LiveHold, Now: time.Now,
		Ends: []LiveEnd{end("/mnt/a", recvAddr), end("/mnt/b", recvAddr)}}
	seen := errors.New("seen")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.Show = func(all []watch.Picture) error {
		if len(all) != 2 || all[0].Path != "/mnt/a" || all[1].Path != "/mnt/b" || len(all[0].Hosts) != 1 {
			t.Fatalf("%+v", all)
		}
		if all[0].Shown.State == watch.Moving && all[1].Shown.State == watch.Moving {
			return seen
		}
		return nil
	}
	if err := l.Run(ctx); !errors.Is(err, seen) {
		t.Fatal(err)
	}
}

// A recorded run shows what a live view would have shown, with the ceiling that its verdict had.
func TestLivePlaysARunAgain(t *testing.T) {
	w := &world{value: original}
	client, server := &fakeAgent{w: w, name: "client", sender: true}, &fakeAgent{w: w, name: "server"}
	run := model.Run{Label: "diagnosis", Started: time.Unix(1000, 0), Samples: map[string][]model.Sample{}}
	facts := map[string]*model.Facts{}
	for _, a := range []*fakeAgent{client, server} {
		f, err := a.Facts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := windowSamples(w, a.sender)
		for i := range s {
			s[i].At = s[i].HostAt.Sub(time.Unix(0, 0))
		}
		facts[a.name], run.Samples[a.name] = f, s
	}
	ceiling := 941 * unit.Mbit
	var last watch.Picture
	steps := 0
	l := Live{Window: LiveWindow, Step: LiveStep, Hold: LiveHold, LineRate: model.Unknown[unit.BitRate](model.Absent, "not stated"), Show: func(all []watch.Picture) error {
		if len(all) != 1 {
			t.Fatalf("%d paths", len(all))
		}
		last = all[0]
		return nil
	}}
	err := l.Replay(t.Context(), Played{Run: run, Facts: facts, Ceiling: &ceiling, Wait: func(context.Context, time.Duration) error { steps++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if last.Shown.Limiter != model.ReceiverWindow || last.Shown.Host != "server" || last.Ceiling == nil || *last.Ceiling < 940*unit.Mbit || *last.Ceiling > 942*unit.Mbit {
		t.Errorf("%+v of %v", last.Shown, last.Ceiling)
	}
	if steps < 4 || !last.At.After(run.Started) {
		t.Errorf("%d steps, the last at %s", steps, last.At)
	}
}

// Of many hosts those make a path that have a connection to each other, or a mount; one that is lost
// and is in no path is there for itself.
func TestPairsAreThoseThatKnowEachOther(t *testing.T) {
	const n = 300
	l := &Live{Now: time.Now, paths: map[[2]int]*watch.Path{}}
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	for i := range n {
		e := &liveEnd{LiveEnd: LiveEnd{Name: "h", Addrs: []netip.Addr{addr(i)}}, facts: &model.Facts{}, reached: true}
		e.window.Span = time.Hour
		for k := range 5 {
			s := model.Sample{At: time.Duration(k) * time.Second}
			if i%3 == 0 && k == 2 { // of a short while
				s.Conns = []model.Conn{{Remote: netip.AddrPortFrom(addr(n-1), 2049)}}
			}
			e.window.Add(s, s.At)
		}
		l.ends = append(l.ends, e)
	}
	l.began = time.Now().Add(-4 * time.Second)
	l.ends[1].facts.Mounts = []model.Mount{{Options: map[string]string{"addr": addr(2).String()}}}
	l.ends[4].lost = errors.New("gone")
	l.paths[[2]int{4, 5}] = &watch.Path{}
	l.ends[7].lost = errors.New("gone")
	got := map[[2]int]bool{}
	for _, k := range l.pairs() {
		got[k] = true
	}
	for _, k := range [][2]int{{0, n - 1}, {3, n - 1}, {1, 2}, {4, 5}, {7, 7}} {
		if !got[k] {
			t.Errorf("%v is no path", k)
		}
	}
	if want := n/3 + 3; len(got) != want {
		t.Errorf("%d paths, want %d", len(got), want)
	}
}

// A path that nobody looks at is judged from close samples alone: what the slow ones say has it looked
// at again, and is never shown.
func TestPathsNobodyLooksAtAreJudgedClosely(t *testing.T) {
	e := &liveEnd{window: watch.Window{Span: LiveWindow}, paced: make(chan struct{}, 1)}
	now := time.Duration(0)
	began := time.Unix(0, 0)
	open := map[string]bool{}
	l := &Live{Window: LiveWindow, Step: LiveStep, Hold: LiveHold, ends: []*liveEnd{e}, glances: map[[2]int]*glance{}, began: began,
		Now: func() time.Time { return began.Add(now) }, Looked: func() map[string]bool { return open }}
	p := &watch.Path{Name: "p", Steady: watch.Steady{Hold: LiveHold}}
	loss, rate := watch.Named{State: watch.Moving, Limiter: model.PathLoss}, watch.Named{State: watch.Moving, Limiter: model.LinkRate}
	closely, looks, carried := 0, 0, unit.BitRate(100e6)
	step := func(close, slow watch.Named) watch.Picture {
		every := time.Duration(e.every.Load())
		for d := every; d <= time.Second; d += every {
			e.window.Add(model.Sample{At: now + d}, now+d)
		}
		now += time.Second
		l.looked = l.Looked()
		n := slow
		if e.density() >= 4 {
			n = close
		}
		out := p.Step(l.Now(), l.Window, l.settle([2]int{0, 0}, p, watch.Judgement{Named: n, Goodput: carried, Verdict: model.Verdict{Limiter: n.Limiter}}), nil)
		e.pace(l.slowest())
		if time.Duration(e.every.Load()) == sampleInterval {
			if closely++; every != sampleInterval {
				looks++
			}
		}
		return out
	}
	e.every.Store(int64(l.slowest()))
	for range 30 {
		if got := step(loss, rate); got.Shown.Limiter == model.LinkRate {
			t.Fatalf("at %s the slow samples are shown", now)
		}
	}
	if got := step(loss, rate); got.Shown != loss || got.Verdict.Limiter != model.PathLoss || got.Judged.IsZero() || looks != 1 {
		t.Errorf("%+v, after %d looks", got, looks)
	}
	// Nothing changes: it is looked at every five minutes, for a small part of the time.
	for range 1800 {
		step(loss, rate)
	}
	if looks < 6 || looks > 8 || closely > 120 {
		t.Errorf("%d looks, %d s of 1831", looks, closely)
	}
	// Something does: it is looked at soon, and named.
	for i := 0; ; i++ {
		if step(rate, loss).Shown == rate {
			break
		}
		if i > 90 {
			t.Fatal("a change is not named")
		}
	}
	// It carries another rate by the same name: it is looked at within a minute or two.
	for range 20 {
		step(rate, loss)
	}
	before := looks
	for carried = 180e6; looks == before; {
		if step(rate, loss); now > 2100*time.Second {
			t.Fatal("another rate is not looked at")
		}
	}
	// What cannot be told at first is looked at for longer, and not for ever.
	unsure := watch.Named{State: watch.CannotTell}
	for carried = 60e6; time.Duration(e.every.Load()) != sampleInterval; {
		step(unsure, loss)
	}
	before = closely
	for range 40 {
		step(unsure, loss)
	}
	if n := closely - before; n < 15 || n > 25 {
		t.Errorf("what cannot be told was looked at for %d s", n)
	}
	open["p"] = true
	for range 4 {
		step(rate, loss)
	}
	if time.Duration(e.every.Load()) != sampleInterval {
		t.Error("somebody looks, and it is read once a second")
	}
}

// Soon after a host is read slowly again most of its window is of close samples; but where a transfer was
// started again meanwhile, the slow ones alone would be judged: no verdict is made from such a window.
func TestAWindowWhoseNewestSamplesAreSlowIsNotJudgedClosely(t *testing.T) {
	e := &liveEnd{window: watch.Window{Span: LiveWindow}}
	l := &Live{ends: []*liveEnd{e}}
	at := time.Duration(0)
	add := func(every, long time.Duration) {
		for end := at + long; at < end; {
			at += every
			e.window.Add(model.Sample{At: at}, at)
		}
	}
	add(sampleInterval, 10*time.Second)
	if least, _ := l.densities([2]int{0, 0}); least < closely {
		t.Errorf("%g samples a second of a window that is all close", least)
	}
	add(slowInterval, 3*time.Second)
	if least, most := l.densities([2]int{0, 0}); least >= closely || most < closely {
		t.Errorf("%g to %g samples a second", least, most)
	}
	add(sampleInterval, 4*time.Second)
	if least, _ := l.densities([2]int{0, 0}); least < closely {
		t.Errorf("%g samples a second once it is read closely again", least)
	}
}

// Slow samples are judged every third second; what the path carries is current all the same.
func TestSlowSamplesAreSeldomJudged(t *testing.T) {
	now, began := time.Duration(0), time.Unix(0, 0)
	l := &Live{Window: LiveWindow, Step: LiveStep, Hold: LiveHold, glances: map[[2]int]*glance{}, paths: map[[2]int]*watch.Path{}, began: began,
		Now: func() time.Time { return began.Add(now) }, Looked: func() map[string]bool { return nil }}
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	for i, name := range []string{"a", "b"} {
		e := &liveEnd{LiveEnd: LiveEnd{Name: name, Addrs: addrs[i : i+1]}, facts: &model.Facts{}, reached: true, paced: make(chan struct{}, 1)}
		e.window.Span = LiveWindow
		l.ends = append(l.ends, e)
	}
	key, judged := [2]int{0, 1}, 0
	var last watch.Picture
	for n := range 60 {
		now = time.Duration(n) * time.Second
		ports := [2]netip.AddrPort{netip.AddrPortFrom(addrs[0], 700), netip.AddrPortFrom(addrs[1], 2049)}
		moved := int64(200*n+n*n) * 1e6 // by little more each second: the path does not turn into another
		for i, e := range l.ends {      // they go on as slowly
			c := model.Conn{Local: ports[i], Remote: ports[1-i], Inode: 1, RTT: time.Millisecond, MinRTT: time.Millisecond}
			if c.BytesAcked, c.BytesSent = moved, moved; i == 1 {
				c.BytesAcked, c.BytesSent, c.BytesReceived = 0, 0, moved
			}
			e.window.Add(model.Sample{At: now, Conns: []model.Conn{c}}, now)
		}
		p := l.look()[0]
		if n < 15 {
			last = p
			continue
		}
		if !(p.Goodput > last.Goodput) || len(p.Conns) == 0 || p.Verdict.Limiter != "" {
			t.Errorf("second %d: %s after %s, %+v", n, p.Goodput, last.Goodput, p.Verdict.Limiter)
		}
		if last = p; !l.glances[key].passed {
			judged++
		}
	}
	if judged != 15 {
		t.Errorf("judged in %d of 45 seconds", judged)
	}
}

// An agent that does not answer in time may be there again: only its end is the end.
func TestLateIsNotGone(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("host nas1: facts: %w", os.ErrDeadlineExceeded): true,
		errGone: false, errors.New("no such method"): false, context.Canceled: false,
	} {
		if late(err) != want {
			t.Errorf("%v: late is %t", err, !want)
		}
	}
}

// A path that gives another finding has the facts of its hosts read again, once, and not where they
// just were or never were.
func TestDoubtReadsTheFactsAgain(t *testing.T) {
	var now time.Duration
	e := &liveEnd{now: func() time.Duration { return now }, doubted: make(chan struct{}, 1)}
	asked := func(want int) {
		t.Helper()
		e.doubt()
		e.doubt()
		if got := len(e.doubted); got != want {
			t.Errorf("after %v %d asked, want %d", now, got, want)
		}
	}
	asked(0) // the session's first is on its way
	e.add(arrival{facts: &model.Facts{}, at: now})
	now = soonest - 1
	asked(0)
	now = soonest
	asked(1)
	<-e.doubted
	e.add(arrival{facts: &model.Facts{}, at: now})
	asked(0)
}
