package loop

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/tune"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// What a live view goes by, unless told otherwise. Ten seconds are the least in which the
// detectors see enough of a wide-area path, and the most for which a fault may stay unnamed.
const (
	LiveWindow = 10 * time.Second
	LiveStep   = time.Second
	// LiveHold is how many windows in a row have to give another state before it is shown.
	LiveHold = 3
	// least is how much of a window has to be seen before it is judged.
	least = 3 * time.Second
	// staleAfter is how long a host may send no sample before what it sent is old, and grace how long
	// the next one may be late.
	staleAfter = 3 * time.Second
	grace      = 2 * time.Second
	// turn is how long one sampling lasts before another takes its place: a host and its
	// controller keep the samples of one.
	turn = time.Minute
	// slowTurn is how long one may last that is read seldom, of which nobody keeps samples.
	slowTurn = 10 * time.Minute
	// refresh is how often the facts of a host are read again, soonest how long after the last time
	// where a path gives another finding: what changed it may be a setting.
	refresh = 30 * time.Second
	soonest = 5 * time.Second
)

// LiveAgent is what a live view asks of a host.
type LiveAgent interface {
	Watcher
	measure.Follower
	// History is what linerate's own journal on the host has.
	History(ctx context.Context) ([]tune.Entry, error)
	// HeardPorts are the switch ports that announce themselves to the host by LLDP within a while.
	HeardPorts(ctx context.Context) ([]model.SwitchPort, error)
	// Ended is closed when the agent is gone.
	Ended() <-chan struct{}
	Close() error
}

// LiveEnd is one host that is watched.
type LiveEnd struct {
	Name string // empty: its own host name
	Path string // name of the path to its target, where that is judged by this end alone
	// Addrs are the host's own addresses where several are watched together: data may flow by any.
	// None: not known, so that all connections of a pair count as theirs.
	Addrs  []netip.Addr
	Target Target // the connections to watch
	// Own and Peers, where they are set, take the place of Addrs and of the target's Peers: addresses
	// of hosts that are reached later become known while others are watched.
	Own, Peers func() []netip.Addr
	// Dial reaches the host, the first time and after it was lost.
	Dial func(ctx context.Context) (LiveAgent, error)
}

// Live judges paths over and over while they carry data, without any load, until its context
// ends. With one end, or where they are apart, each end's path is the one to its target; with
// several each two of them that have connections to each other are a path.
type Live struct {
	Ends     []LiveEnd
	Apart    bool
	LineRate model.Fact[unit.BitRate]
	Window   time.Duration
	Step     time.Duration
	Hold     int
	Now      func() time.Time
	// Show gets the picture of each path after each step; its error ends the view.
	Show func([]watch.Picture) error
	// Looked tells which paths somebody looks at now. The hosts of others are read once a second, and
	// more often for as long as a verdict takes when there is reason to. nil: all are looked at.
	Looked func() map[string]bool
	// Queues has what each transmit queue counts in the samples.
	Queues bool
	// Late gets what a path would have been shown as while it was stale, once the samples of that time
	// have come: pictures in order, of which the first is from before, and each other stands for the
	// time since the one before it. They have the hosts of which nothing else was shown then. Late is
	// called beside Show. nil: nobody wants them.
	Late func(run []watch.Picture)

	began   time.Time
	ends    []*liveEnd
	ceiling *unit.BitRate // of a recorded run
	paths   map[[2]int]*watch.Path
	glances map[[2]int]*glance
	looked  map[string]bool
	late    lateness
}

// Run watches until ctx ends, which is no error, or Show fails.
func (l *Live) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.began, l.paths, l.glances = l.Now(), map[[2]int]*watch.Path{}, map[[2]int]*glance{}
	for _, e := range l.Ends {
		x := &liveEnd{LiveEnd: e, queues: l.Queues, done: make(chan struct{}), now: l.elapsed, paced: make(chan struct{}, 1), doubted: make(chan struct{}, 1)}
		x.every.Store(int64(l.slowest()))
		x.window.Span, x.window.Counters = l.Window, explain.Counters()
		l.ends = append(l.ends, x)
	}
	endLate := l.beginLate(ctx)
	for _, e := range l.ends {
		go e.follow(ctx)
	}
	defer func() {
		cancel()
		endLate()
		for _, e := range l.ends {
			<-e.done
		}
	}()
	t := time.NewTicker(l.Step)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := l.Show(l.look()); err != nil {
				return err
			}
		}
	}
}

// elapsed is the time since the view began, by the controller's clock.
func (l *Live) elapsed() time.Duration { return l.Now().Sub(l.began) }

// look is one picture of each path.
func (l *Live) look() []watch.Picture {
	now := l.Now()
	var hosts []watch.Host
	for _, e := range l.ends {
		e.take()
		if e.Own != nil {
			e.Addrs = e.Own()
		}
		h := e.host(l.began, l.elapsed())
		e.stale.note(h.Stale, l.late.before, now)
		hosts = append(hosts, h)
	}
	if l.Looked != nil {
		l.looked = l.Looked()
	}
	var out []watch.Picture
	show := func(key [2]int, name string, j watch.Judgement, of ...watch.Host) {
		l.noteLate(key, j, now)
		p := l.path(key, name)
		x := p.Step(now, l.Window, l.settle(key, p, j), of)
		if least, _ := l.densities(key); x.FoundTimes == 1 && least >= closely {
			l.ends[key[0]].doubt()
			l.ends[key[1]].doubt()
		}
		out = append(out, x)
	}
	switch {
	case l.Apart || len(l.ends) == 1:
		for i, e := range l.ends {
			show([2]int{i, i}, e.Path, l.alone([2]int{i, i}, e), hosts[i])
		}
	default:
		for _, k := range l.pairs() {
			x, y := l.ends[k[0]], l.ends[k[1]]
			if k[0] == k[1] {
				j, _ := x.unfit(l.elapsed())
				show(k, x.Name, j, hosts[k[0]])
				continue
			}
			if j := l.between(k, x, y); j.State != watch.Unused || len(l.ends) == 2 {
				show(k, x.Name+" – "+y.Name, j, hosts[k[0]], hosts[k[1]])
			}
		}
	}
	l.endLate(now)
	for _, e := range l.ends {
		e.pace(l.slowest())
	}
	return out
}

func (l *Live) path(of [2]int, name string) *watch.Path {
	p := l.paths[of]
	if p == nil {
		p = &watch.Path{Name: name, Steady: watch.Steady{Hold: l.Hold}}
		l.paths[of] = p
	}
	return p
}

// alone judges the path of a single end.
func (l *Live) alone(key [2]int, e *liveEnd) watch.Judgement {
	if j, not := e.unfit(l.elapsed()); not {
		return j
	}
	samples := e.window.Samples()
	if at, ok := watch.Turn(samples, func(netip.Addr) bool { return true }); ok {
		samples = watch.After(samples, at)
	}
	samples = watch.Whole(samples)
	peers := traffic(samples)
	if idle(peers, samples) {
		return e.quiet(conns(peers))
	}
	judged := peers[0].addr
	if !e.Target.serves(judged) {
		forgetMount(samples)
	}
	c := explain.Watched(&explain.End{Host: e.Name, Facts: e.facts, Samples: samples, Peer: judged}, l.LineRate)
	c.OneEnd = true
	if e.Target.serves(judged) {
		c.Protocol = e.Target.protocol()
	}
	return l.judged(key, c, samples, watch.Conns(e.Name, samples, judged))
}

// between judges the connections that two of the ends have to each other.
func (l *Live) between(key [2]int, a, b *liveEnd) watch.Judgement {
	for _, e := range []*liveEnd{a, b} {
		if j, not := e.unfit(l.elapsed()); not {
			return j
		}
	}
	x := &explain.End{Host: a.Name, Facts: a.facts, Samples: a.window.Samples()}
	y := &explain.End{Host: b.Name, Facts: b.facts, Samples: b.window.Samples()}
	if a.Target.Control > 0 {
		mirrored(y.Samples, x.Samples)
	}
	if b.Target.Control > 0 {
		mirrored(x.Samples, y.Samples)
	}
	if at, ok := watch.Turn(x.Samples, b.has); ok {
		x.Samples, y.Samples = watch.After(x.Samples, at), watch.After(y.Samples, at)
	}
	x.Samples, y.Samples = watch.Whole(x.Samples), watch.Whole(y.Samples)
	var seen []watch.Conn
	for _, e := range []struct {
		end   *explain.End
		other *liveEnd
	}{{x, b}, {y, a}} {
		if e.end.Peer = e.other.busiest(e.end.Samples); e.end.Peer.IsValid() || len(e.other.Addrs) == 0 {
			seen = append(seen, watch.Conns(e.end.Host, e.end.Samples, e.end.Peer)...)
		}
	}
	if len(seen) == 0 {
		return a.quiet(0)
	}
	c := explain.Case{LineRate: l.LineRate, Passive: true, Sender: x, Receiver: y}
	if explain.Watched(x, l.LineRate).Sender == nil {
		c.Sender, c.Receiver = y, x
	}
	moves := false
	for _, k := range seen {
		moves = moves || max(k.Out, k.In) >= moving
	}
	if !moves {
		return a.quiet(len(seen))
	}
	return l.judged(key, c, x.Samples, seen)
}

// has tells whether an address is the host's.
func (e *liveEnd) has(a netip.Addr) bool { return len(e.Addrs) == 0 || slices.Contains(e.Addrs, a) }

// busiest is that of the host's addresses to which samples of another show most traffic; invalid:
// there is no connection to any, or its addresses are not known.
func (e *liveEnd) busiest(samples []model.Sample) netip.Addr {
	for _, p := range traffic(samples) {
		if slices.Contains(e.Addrs, p.addr) {
			return p.addr
		}
	}
	return netip.Addr{}
}

// mirrored leaves of a host's connections those that the other end has seen, too.
func mirrored(samples, other []model.Sample) {
	type ends struct{ local, remote netip.AddrPort }
	seen := map[ends]bool{}
	for _, s := range other {
		for _, c := range s.Conns {
			seen[ends{c.Remote, c.Local}] = true
		}
	}
	for i := range samples {
		samples[i].Conns = slices.DeleteFunc(slices.Clone(samples[i].Conns), func(c model.Conn) bool { return !seen[ends{c.Local, c.Remote}] })
	}
}

// judged is the verdict on a window in which data moved.
func (l *Live) judged(key [2]int, c explain.Case, samples []model.Sample, seen []watch.Conn) watch.Judgement {
	c.LineRate = l.lineRate(c)
	if l.passes(key) {
		goodput, ceiling := explain.Carried(c)
		return watch.Judgement{Named: watch.Named{State: watch.CannotTell}, Goodput: goodput, Ceiling: ceiling, Conns: seen}
	}
	for _, e := range []*explain.End{c.Sender, c.Receiver} {
		if e != nil && e.Facts != nil {
			c.Findings = append(c.Findings, rules.Check(e.Facts, rules.Context{LineRate: c.LineRate.Or(0), RTT: minRTT(samples)})...)
		}
	}
	v := explain.Judge(c)
	return watch.Judgement{Named: watch.Name(v), Verdict: v, Goodput: v.Measured, Ceiling: v.Ceiling, Conns: seen}
}

// serves tells whether an address is of what the target names.
func (t Target) serves(a netip.Addr) bool {
	return slices.Contains(t.Peers, a)
}

// watch is what to sample of a target's connections.
func (t Target) watch() measure.Watch {
	w := measure.Watch{Addrs: t.Peers, Ports: t.Ports, FindOwners: true, Mount: t.Mount, Share: t.Share, Disk: t.Disk}
	if t.Control > 0 {
		w.NotOwnedBy = []int{t.Control}
	}
	if t.PID > 0 {
		w.OwnedBy, w.PIDs = []int{t.PID}, []int{t.PID}
	}
	return w
}

// quiet is an end whose connections move nothing.
func (e *liveEnd) quiet(n int) watch.Judgement {
	if n == 0 {
		return watch.Judgement{Named: watch.Named{State: watch.Unused}, Why: "no connection to there"}
	}
	return watch.Judgement{Named: watch.Named{State: watch.Idle}, Why: fmt.Sprintf("%s, and nothing moves", unit.Count(n, "connection"))}
}
