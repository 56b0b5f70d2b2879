package loop

import (
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// How hosts are read whose paths nobody looks at. A verdict is made from samples of 100 ms alone: once
// a second shows that something is another than it was, and not what.
const (
	slowInterval = time.Second
	lookApart    = time.Minute     // between two looks, the least
	lookAgain    = 5 * time.Minute // the most, where data moves
	mostLooks    = 32              // paths at once
	// slowJudging is how often slow samples are judged: a verdict on them is never shown, and of a
	// thousand hosts verdicts are most of the work.
	slowJudging = 3 * time.Second
	// A window of more than closely samples a second can be judged; one of more than slowly has some
	// of the quicker reading in it.
	closely = 4.0
	slowly  = 1.5
)

// glance is what is known of a path from when it was looked at closely.
type glance struct {
	known watch.Judgement
	has   bool
	at    time.Time
	when  time.Duration
	until time.Duration // it is looked at closely up to then
	// longer tells that this is longer than usual, since it could not be told what it is.
	longer bool
	// after is what the slow samples said first after that, other how often in a row they said
	// something else since.
	after *watch.Named
	other int
	// judged is when slow samples were judged last; passed: they were not in this step.
	judged time.Duration
	passed bool
}

// slowest is how often hosts are read that nobody looks at.
func (l *Live) slowest() time.Duration {
	if l.Looked == nil {
		return sampleInterval
	}
	return slowInterval
}

// passes tells that a path is not judged in this step, since what would be found is not shown.
func (l *Live) passes(key [2]int) bool {
	g := l.glances[key]
	if l.Looked == nil || g == nil {
		return false
	}
	now := l.elapsed()
	if least, _ := l.densities(key); least >= closely || now-g.judged >= slowJudging {
		g.judged, g.passed = now, false
		return false
	}
	g.passed = true
	return true
}

// densities are how many samples a second the windows of a path's ends have, the least and the most.
func (l *Live) densities(key [2]int) (least, most float64) {
	a, b := l.ends[key[0]].density(), l.ends[key[1]].density()
	return min(a, b), max(a, b)
}

// settle decides what a judgement is worth, and how often the path's hosts are read from now on.
func (l *Live) settle(key [2]int, p *watch.Path, j watch.Judgement) watch.Judgement {
	if l.Looked == nil {
		return j
	}
	ends := []*liveEnd{l.ends[key[0]], l.ends[key[1]]}
	g := l.glances[key]
	if g == nil {
		g = &glance{}
		l.glances[key] = g
	}
	now := l.elapsed()
	least, most := l.densities(key)
	switch {
	case j.State != watch.Moving && j.State != watch.CannotTell:
		*g = glance{} // what comes after it is something new
	case least >= closely:
		*g = glance{known: j, has: true, at: l.Now(), when: now, until: g.until, longer: g.longer}
		if now+l.Step >= g.until && now < g.until && j.State == watch.CannotTell && !g.longer {
			g.until, g.longer = g.until+l.Window, true // how the transfer began may be all that was in the way
		}
	default:
		if most <= slowly && !g.passed {
			g.compare(j)
		}
		if now >= g.until && g.due(now, l.Hold) && l.looks(now) < mostLooks {
			g.until, g.longer = now+l.Window+time.Duration(l.Hold)*l.Step, false
		}
		j = g.instead(j, p.Shown())
	}
	if l.looked[p.Name] || now < g.until {
		for _, e := range ends {
			e.wish = sampleInterval
		}
	}
	return j
}

// compare takes what slow samples say. That the path carries another rate than when it was judged is
// seen in them, too: a verdict on how it began, say, tells nothing of it.
func (g *glance) compare(j watch.Judgement) {
	if g.after == nil {
		g.after = &j.Named
	}
	const alike = 0.75
	now, then := j.Goodput, g.known.Goodput
	if *g.after == j.Named && float64(min(now, then)) >= alike*float64(max(now, then)) {
		g.other = 0
	} else {
		g.other++
	}
}

// due tells that there is reason to look closely.
func (g *glance) due(now time.Duration, hold int) bool {
	since := now - g.when
	return !g.has || since > lookAgain || g.other >= hold && since > lookApart
}

// looks counts the paths that are looked at closely.
func (l *Live) looks(now time.Duration) (n int) {
	for _, g := range l.glances {
		if now < g.until {
			n++
		}
	}
	return n
}

// instead is what is said of a path whose samples are too few to judge by: what it was judged to be,
// or still what is shown.
func (g *glance) instead(j watch.Judgement, shown watch.Named) watch.Judgement {
	if g.has {
		j.Named, j.Verdict, j.Judged = g.known.Named, g.known.Verdict, g.at
		return j
	}
	j.Named, j.Verdict, j.Why = shown, model.Verdict{}, "data moves, and is looked at more closely"
	switch shown.State {
	case watch.Moving, watch.CannotTell:
	default: // it is idle no more
		j.Named = watch.Named{State: watch.CannotTell}
	}
	return j
}

// density is how many samples a second the window has.
func (e *liveEnd) density() float64 {
	n, covers := e.window.Len(), e.window.Covers()
	if n < 2 || covers <= 0 {
		return 0
	}
	return float64(n-1) / covers.Seconds()
}

// pace has the host read as often as is wished for, and forgets the wish.
func (e *liveEnd) pace(slowest time.Duration) {
	wish := slowest
	if e.wish > 0 {
		wish = min(wish, e.wish)
	}
	e.wish = 0
	if e.every.Swap(int64(wish)) == int64(wish) {
		return
	}
	select {
	case e.paced <- struct{}{}:
	default: // it will read the newest
	}
}
