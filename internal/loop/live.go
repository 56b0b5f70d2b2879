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

// The times of a live view, unless the caller sets others. Ten seconds are the shortest window in
// which the detectors see enough of a wide-area path, and the longest that a fault may go unnamed.
const (
	LiveWindow = 10 * time.Second
	LiveStep   = time.Second
	// LiveHold is how many windows in a row have to give a new state before it is shown.
	LiveHold = 3
	// least is how much time a window has to cover before it is judged.
	least = 3 * time.Second
	// staleAfter: a host that has sent no sample for so long is stale; grace is how late the sample may
	// be that a host has announced.
	staleAfter = 3 * time.Second
	grace      = 2 * time.Second
	// turn is how long one sampling lasts before another replaces it. The host and its controller
	// keep all samples of a sampling in memory until it ends.
	turn = time.Minute
	// slowTurn is how long a sampling with seldom samples may last.
	slowTurn = 10 * time.Minute
	// refresh is how often the facts of a host are read again. They are read earlier, but at least
	// soonest after the last time, if the finding on a path changes: a changed setting may be why.
	refresh = 30 * time.Second
	soonest = 5 * time.Second
)

// LiveAgent is what a live view asks of a host.
type LiveAgent interface {
	Watcher
	measure.Follower
	// History returns the entries of linerate's journal on the host.
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
	Path string // name of the path to its target, if that is judged from this end alone
	// Addrs are the host's own addresses, if several hosts are watched together: data may use any.
	// Empty: not known; then all connections of a pair of hosts count as between these two.
	Addrs  []netip.Addr
	Target Target // the connections to watch
	// Own and Peers, if set, replace Addrs and the target's Peers: the addresses of hosts that are
	// reached later become known only while others are watched already.
	Own, Peers func() []netip.Addr
	// Dial reaches the host, the first time and after it was lost.
	Dial func(ctx context.Context) (LiveAgent, error)
}

// Live judges paths again and again while they carry data, without any load, until its context
// ends. With one end, or if Apart is set, each end has one path, to its target. Otherwise any two
// ends that have connections to each other make a path.
type Live struct {
	Ends     []LiveEnd
	Apart    bool
	LineRate model.Fact[unit.BitRate]
	// LineRates is what is stated between two of the ends, the lower first; LineRate, where present, goes before it.
	LineRates map[[2]int]model.StatedRate
	Window    time.Duration
	Step      time.Duration
	Hold      int
	Now       func() time.Time
	// Show is called after each step with a picture of each path; its error ends the view.
	Show func([]watch.Picture) error
	// Looked returns the paths that somebody looks at now. The hosts of the other paths are sampled
	// once a second; if there is a reason to judge such a path anew, they are sampled as often as the
	// others for as long as a verdict takes. nil: somebody looks at all paths.
	Looked func() map[string]bool
	// Queues: samples have the counters of each transmit queue.
	Queues bool
	// Late is called when the samples of a time in which a path was stale have come after all. It
	// gets, in order, the pictures that would have been shown then. The first is from just before that
	// time; each other one stands for the time since the previous one. They contain a host only if
	// nothing else was shown of it at that time. Late may run at the same time as Show. nil: such
	// pictures are not made.
	Late func(run []watch.Picture)
	// Crashed is called before the program ends with a panic of a goroutine of the view; nil: nothing is.
	Crashed func()

	began   time.Time
	ends    []*liveEnd
	ceiling *unit.BitRate // of a recorded run that is replayed
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
		x := &liveEnd{LiveEnd: e, queues: l.Queues, crashed: l.Crashed, done: make(chan struct{}), now: l.elapsed, paced: make(chan struct{}, 1), doubted: make(chan struct{}, 1)}
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

// look makes one picture of each path.
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
	shown := map[[2]int]bool{}
	show := func(key [2]int, name string, j watch.Judgement, of ...watch.Host) {
		shown[key] = true
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
	for key, p := range l.paths {
		if !shown[key] {
			p.Leave()
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
	x := l.endOf(e, nil)
	if x.some {
		return l.crowdOf(key, x)
	}
	samples := x.samples
	if at, ok := watch.Turn(samples, func(netip.Addr) bool { return true }); ok {
		samples = watch.After(samples, at)
	}
	samples = watch.Whole(samples)
	peers := traffic(samples)
	if idle(peers, samples) {
		return e.quiet(max(conns(peers), x.all))
	}
	judged := peers[0].addr
	if !e.Target.serves(judged) {
		forgetMount(samples)
	}
	c := explain.Watched(&explain.End{Host: e.Name, Facts: e.facts, Samples: samples, Peer: judged}, l.LineRate)
	c.OneEnd = true
	if sums := watch.Sums(samples, func(a netip.Addr) bool { return a == judged }); len(sums) > 0 {
		x.all = sums[0].Conns // a peer that does not answer comes before the busiest
	}
	if e.Target.serves(judged) {
		c.Protocol = e.Target.protocol()
	}
	return rest(l.judged(key, c, samples, watch.Conns(e.Name, samples, judged)), x)
}

// between judges the connections that two of the ends have to each other.
func (l *Live) between(key [2]int, a, b *liveEnd) watch.Judgement {
	for _, e := range []*liveEnd{a, b} {
		if j, not := e.unfit(l.elapsed()); not {
			return j
		}
	}
	ofA, ofB := l.endOf(a, b), l.endOf(b, a)
	if ends := telling(ofA, ofB); len(ends) > 0 {
		return l.byConns(key, ends)
	}
	return l.crowd(key, ofA, ofB)
}

// byConns judges a path to another host by the connections of both ends, or of the one end that
// lists all.
func (l *Live) byConns(key [2]int, ends []crowdEnd) watch.Judgement {
	if len(ends) == 2 {
		compared(&ends[0], &ends[1])
	}
	windows := slices.Clone(ends)
	if at, ok := watch.Turn(ends[0].samples, ends[0].serves); ok {
		for i := range ends {
			ends[i].samples = watch.After(ends[i].samples, at)
		}
	}
	var sides []*explain.End
	var seen []watch.Conn
	all := 0
	for _, e := range ends {
		samples := watch.Whole(e.samples)
		peer := e.other.busiest(samples)
		sides = append(sides, &explain.End{Host: e.Name, Facts: e.facts, Samples: samples, Peer: peer})
		if peer.IsValid() || len(e.other.Addrs) == 0 {
			seen = append(seen, watch.Conns(e.Name, samples, peer)...)
		}
		all = max(all, e.all)
	}
	out, in := both(seen)
	if max(out, in) < moving || len(windows) == 2 && over(windows[0], windows[1]) { // of many connections each may move little
		return ends[0].quiet(max(once(seen), all))
	}
	c := explain.Watched(sides[0], l.LineRate)
	switch {
	case len(sides) == 1:
		c.OneEnd = true
	case c.Sender == nil:
		c.Sender = sides[1]
	default:
		c.Receiver = sides[1]
	}
	return rest(l.judged(key, c, sides[0].Samples, seen), ends...)
}

// has reports whether an address is the host's.
func (e *liveEnd) has(a netip.Addr) bool { return len(e.Addrs) == 0 || slices.Contains(e.Addrs, a) }

// busiest is the one of the host's addresses to which the samples of another host show most traffic.
// The invalid address: no connection goes to any of them, or they are not known.
func (e *liveEnd) busiest(samples []model.Sample) netip.Addr {
	for _, p := range traffic(samples) {
		if slices.Contains(e.Addrs, p.addr) {
			return p.addr
		}
	}
	return netip.Addr{}
}

// compared makes the samples of two ends comparable: they cover the same time, and if one end
// leaves out linerate's own connections, these are removed from the other too.
func compared(a, b *crowdEnd) {
	a.samples, b.samples = together(*a, *b)
	if a.Target.Control > 0 {
		mirrored(b.samples, a.samples)
	}
	if b.Target.Control > 0 {
		mirrored(a.samples, b.samples)
	}
}

// mirrored removes from a host's samples the connections that the other end does not see as well.
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
	c.LineRate = l.lineRate(key, c)
	if l.passes(key) {
		goodput, ceiling := explain.Carried(c)
		if goodput == 0 && !tries(c) { // what the connections moved was the rest of a transfer that is over
			return l.ends[key[0]].quiet(once(seen))
		}
		return watch.Judgement{Named: watch.Named{State: watch.CannotTell}, Goodput: goodput, Ceiling: ceiling, Conns: seen}
	}
	for _, e := range []*explain.End{c.Sender, c.Receiver} {
		if e != nil && e.Facts != nil {
			c.Findings = append(c.Findings, rules.Check(e.Facts, rules.Context{LineRate: c.LineRate.Or(0), RTT: minRTT(samples)})...)
		}
	}
	v := explain.Judge(c)
	if v.Measured == 0 && v.Limiter == model.Undetermined && !tries(c) { // likewise
		return l.ends[key[0]].quiet(once(seen))
	}
	return watch.Judgement{Named: watch.Name(v), Verdict: v, Goodput: v.Measured, Ceiling: v.Ceiling, Conns: seen}
}

// serves reports whether an address is one of the target's.
func (t Target) serves(a netip.Addr) bool {
	return slices.Contains(t.Peers, a)
}

// watch says what to sample for a target.
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

// quiet is the judgement of a path on which n connections move nothing.
func (e *liveEnd) quiet(n int) watch.Judgement {
	if n == 0 {
		return watch.Judgement{Named: watch.Named{State: watch.Unused}, Why: "no connection to there"}
	}
	return watch.Judgement{Named: watch.Named{State: watch.Idle}, Why: fmt.Sprintf("%s, and nothing moves", unit.Count(n, "connection"))}
}
