package loop

import (
	"context"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/watch"
)

// Which samples are kept because they may be needed to judge a stale time once its samples come late.
const (
	// lateApart is the least time between two kept samples; it is short enough for a verdict.
	lateApart = 190 * time.Millisecond
	// crowdedApart replaces it once half of mostLate is used.
	crowdedApart = 2 * time.Second
	// mostLate is how many samples are kept in all. Each takes 2 to 5 KB.
	mostLate = 30_000
	// mostLatePaths is how many paths may wait to be judged again.
	mostLatePaths = 2000
)

// gap is a time in which a host or a path was shown as stale: after from, up to and including to.
type gap struct{ from, to time.Time }

func (g gap) has(at time.Time) bool { return at.After(g.from) && !at.After(g.to) }

// staleness is the last gap of a host.
type staleness struct {
	gap
	goes bool // the gap goes on
	told bool // what the host did in it was handed over, with one of its paths
}

// note records whether a host is stale in this step; before is the time of the previous step.
func (s *staleness) note(stale bool, before, now time.Time) {
	if stale && !s.goes {
		*s = staleness{gap: gap{from: before}}
	}
	if s.goes = stale; stale {
		s.to = now
	}
}

// memory keeps samples of a host while one of its paths is stale, from just before that on.
type memory struct {
	on, wanted bool
	samples    []model.Sample // with their own times
	lacks      bool           // it ran out of room, so that samples are missing
	all        *int           // number of samples kept for all hosts; nil: nothing is ever kept
}

// keep adds a sample if that is on, far enough from the one before, and there is room.
func (m *memory) keep(s model.Sample) {
	if !m.on || m.lacks {
		return
	}
	if n := len(m.samples); n > 0 {
		apart := lateApart
		if *m.all > mostLate/2 {
			apart = crowdedApart
		}
		if s.At-m.samples[n-1].At < apart {
			return
		}
	}
	if *m.all >= mostLate {
		m.giveUp()
		return
	}
	m.samples = append(m.samples, s)
	*m.all++
}

// giveUp drops all samples and keeps no more of them until no path of the host is stale.
func (m *memory) giveUp() {
	if m.on {
		*m.all -= len(m.samples)
		m.samples, m.lacks = nil, true
	}
}

// turn starts keeping samples, beginning with those in the window, or stops it, as wanted.
func (m *memory) turn(there []model.Sample) {
	switch {
	case m.wanted && !m.on:
		m.on = true
		for _, s := range there {
			m.keep(s)
		}
	case !m.wanted && m.on:
		m.giveUp()
		*m = memory{all: m.all}
	}
	m.wanted = false
}

// lateness is the state by which a view judges again a time whose samples came late.
type lateness struct {
	before time.Time // time of the previous step
	gaps   map[[2]int]*pathGap
	kept   int // samples of all hosts
	work   chan latePath
}

// pathGap is a gap of a path that goes on, with what was known about the path before it.
type pathGap struct {
	gap
	known glance
}

// latePath is a path whose samples from a gap have come.
type latePath struct {
	pathGap
	name string
	rate map[[2]int]model.StatedRate // that is stated for it alone; empty: none is
	ends []lateEnd
}

// lateEnd is one end of it.
type lateEnd struct {
	end     LiveEnd
	facts   *model.Facts
	samples []model.Sample // placed on the view's clock
	stale   gap            // in which the host's own figures are missing; zero: none is
}

// beginLate starts the goroutine that judges gaps again, one after the other, beside the view.
func (l *Live) beginLate(ctx context.Context) (end func()) {
	if l.Late == nil {
		return func() {}
	}
	l.late = lateness{before: l.began, gaps: map[[2]int]*pathGap{}, work: make(chan latePath, mostLatePaths)}
	for _, e := range l.ends {
		e.memory.all = &l.late.kept
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer failure.OnPanic(l.Crashed)
		for p := range l.late.work {
			if ctx.Err() == nil { // else the view is over
				l.again(p)
			}
		}
	}()
	return func() {
		close(l.late.work)
		<-done
	}
}

// noteLate follows a path: while it is stale the samples of its ends are kept; when it no longer is,
// the gap is judged again with the samples that came late.
func (l *Live) noteLate(key [2]int, j watch.Judgement, now time.Time) {
	if l.Late == nil || key[0] == key[1] && !l.Apart && len(l.ends) > 1 {
		return
	}
	g := l.late.gaps[key]
	switch {
	case j.State == watch.Stale:
		if p := l.paths[key]; g == nil && (p == nil || p.Shown().State == watch.Lost) {
			return // it was not there before
		}
		if g == nil {
			g = &pathGap{gap: gap{from: l.late.before}}
			if k := l.glances[key]; k != nil {
				g.known = *k
			}
			l.late.gaps[key] = g
		}
		g.to = now
		l.ends[key[0]].memory.wanted, l.ends[key[1]].memory.wanted = true, true
	case g == nil:
	case j.State == watch.Lost: // the samples that the host kept are lost too
		delete(l.late.gaps, key)
	default:
		delete(l.late.gaps, key)
		l.handOver(key, *g)
	}
}

// handOver queues a path to be judged again. If too many wait, the gap stays as it was shown.
func (l *Live) handOver(key [2]int, g pathGap) {
	p := latePath{pathGap: g, name: l.paths[key].Name, rate: map[[2]int]model.StatedRate{}}
	if r, ok := l.LineRates[key]; ok {
		p.rate[[2]int{0, 1}] = r
	}
	for _, i := range slices.Compact([]int{key[0], key[1]}) {
		e := l.ends[i]
		if !e.memory.on || e.memory.lacks {
			return
		}
		x := lateEnd{end: LiveEnd{Name: e.Name, Path: e.Path, Addrs: slices.Clone(e.Addrs), Target: e.Target}, facts: e.facts}
		for _, s := range e.memory.samples {
			s.At += e.window.Base()
			x.samples = append(x.samples, s)
		}
		if !e.stale.told && !e.stale.goes {
			x.stale, e.stale.told = e.stale.gap, true
		}
		p.ends = append(p.ends, x)
	}
	select {
	case l.late.work <- p:
	default:
	}
}

// endLate ends a step: the ends of stale paths keep samples from now on, all others stop.
func (l *Live) endLate(now time.Time) {
	if l.Late == nil {
		return
	}
	l.late.before = now
	for _, e := range l.ends {
		e.memory.turn(e.window.Own())
	}
}

// again replays a gap of a path as the view would have shown it had the samples come in time, and hands
// the pictures to Late. Each call of Late gets pictures without a break between them. The first one
// is from the moment before the gap, or after a break; each other stands for the time since the
// previous one.
func (l *Live) again(p latePath) {
	at := p.from
	v := &Live{Apart: len(p.ends) == 1, LineRate: l.LineRate, LineRates: p.rate, Window: l.Window, Step: l.Step, Hold: l.Hold,
		Now: func() time.Time { return at }, began: l.began, paths: map[[2]int]*watch.Path{}, glances: map[[2]int]*glance{}}
	if l.Looked != nil {
		v.Looked = func() map[string]bool { return nil }
	}
	key := [2]int{0, len(p.ends) - 1}
	known := p.known
	v.glances[key] = &known
	rest := make([][]model.Sample, len(p.ends))
	for i, x := range p.ends {
		e := &liveEnd{LiveEnd: x.end, facts: x.facts, reached: true, paced: make(chan struct{}, 1)}
		e.window.Span, e.window.Counters = l.Window, explain.Counters()
		v.ends, rest[i] = append(v.ends, e), x.samples
	}
	var run []watch.Picture
	end := func() {
		if len(run) > 1 {
			l.Late(run)
		}
		run = nil
	}
	defer end()
	for {
		for i, e := range v.ends {
			for len(rest[i]) > 0 && rest[i][0].At <= v.elapsed() {
				e.window.Add(rest[i][0], rest[i][0].At)
				rest[i] = rest[i][1:]
			}
		}
		q, ok := v.pictureOf(p)
		if ok {
			run = append(run, q)
		} else {
			end()
		}
		if !at.Before(p.to) {
			return
		}
		if at = at.Add(l.Step); at.After(p.to) {
			at = p.to
		}
	}
}

// pictureOf is the picture of a path in this step, with those hosts whose figures are missing at this
// time. False: it is still not known what the path did.
func (l *Live) pictureOf(p latePath) (watch.Picture, bool) {
	for _, q := range l.look() {
		if q.Path != p.name || !q.Shown.State.Known() {
			continue
		}
		hosts := []watch.Host{}
		for _, h := range q.Hosts {
			for _, x := range p.ends {
				if x.end.Name == h.Name && !h.Stale && (x.stale.has(q.At) || q.At.Equal(x.stale.from)) {
					h.Last, h.Facts = nil, nil
					hosts = append(hosts, h)
				}
			}
		}
		q.Hosts = hosts
		q.Events = slices.DeleteFunc(q.Events, func(e watch.Event) bool { return e.From.State == "" }) // the first of all is no change
		return q, true
	}
	return watch.Picture{}, false
}
