package loop

import (
	"context"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/watch"
)

// What is kept of samples that may be needed once others come late.
const (
	// lateApart is the least time between two that are kept: of such samples a verdict can be made.
	lateApart = 190 * time.Millisecond
	// crowdedApart is that once half of what may be kept is; a path is stale after more than 3 s.
	crowdedApart = 2 * time.Second
	// mostLate is how many are kept of all hosts. A sample takes 2 to 5 KB.
	mostLate = 30_000
	// mostLatePaths is how many paths wait to be looked at again.
	mostLatePaths = 2000
)

// gap is a stretch of time in which a host, or a path, was shown as stale: after from, up to to.
type gap struct{ from, to time.Time }

func (g gap) has(at time.Time) bool { return at.After(g.from) && !at.After(g.to) }

// staleness is the last gap of a host.
type staleness struct {
	gap
	goes bool // on
	told bool // what the host did meanwhile was handed over, with a path of it
}

// note notes whether a host is stale in a step, the one before which was at before.
func (s *staleness) note(stale bool, before, now time.Time) {
	if stale && !s.goes {
		*s = staleness{gap: gap{from: before}}
	}
	if s.goes = stale; stale {
		s.to = now
	}
}

// memory are samples of a host from before a path of it was stale, while one is.
type memory struct {
	on, wanted bool
	samples    []model.Sample // with their own times
	lacks      bool           // some that it should have
	all        *int           // how many are kept of all hosts; nil: none ever are
}

// keep keeps a sample for as long as it may be needed.
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

// giveUp keeps no more, and nothing of what was kept, until no path of the host is stale.
func (m *memory) giveUp() {
	if m.on {
		*m.all -= len(m.samples)
		m.samples, m.lacks = nil, true
	}
}

// turn begins to keep samples with those that are there, or ends it.
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

// lateness is how a view finds out about times whose samples came late.
type lateness struct {
	before time.Time // of the step before
	gaps   map[[2]int]*pathGap
	kept   int // samples of all hosts
	work   chan latePath
}

// pathGap is a gap of a path that is not over, with what was known of the path before.
type pathGap struct {
	gap
	known glance
}

// latePath is a path whose samples of a time in which it was stale have come.
type latePath struct {
	pathGap
	name string
	ends []lateEnd
}

// lateEnd is what is known of an end then.
type lateEnd struct {
	end     LiveEnd
	facts   *model.Facts
	samples []model.Sample // placed on the view's clock
	stale   gap            // in which what the host did is missing; zero: in none
}

// beginLate has stretches looked at again in their turn, beside the view.
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

// noteLate follows a path: while it is stale its ends' samples are kept, and when it is not any more
// what came meanwhile is looked at.
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
	case j.State == watch.Lost: // what it had is lost with it
		delete(l.late.gaps, key)
	default:
		delete(l.late.gaps, key)
		l.handOver(key, *g)
	}
}

// handOver has a path looked at again. If too many wait, its time stays as it was shown.
func (l *Live) handOver(key [2]int, g pathGap) {
	p := latePath{pathGap: g, name: l.paths[key].Name}
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

// endLate ends a step: who is an end of a stale path keeps samples from now on, and nobody else.
func (l *Live) endLate(now time.Time) {
	if l.Late == nil {
		return
	}
	l.late.before = now
	for _, e := range l.ends {
		e.memory.turn(e.window.Own())
	}
}

// again shows a path as the view would have shown it with the samples in time. What is handed over
// are its pictures without a break between them; the first is from when the path was still shown, or
// after such a break, and the others stand for the time since the one before them.
func (l *Live) again(p latePath) {
	at := p.from
	v := &Live{Apart: len(p.ends) == 1, LineRate: l.LineRate, Window: l.Window, Step: l.Step, Hold: l.Hold,
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

// pictureOf is the picture of a path in this step, with the hosts of which it is missing; false: it is
// not known what the path did.
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
