package loop

import (
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// How often hosts are sampled whose paths nobody looks at. A verdict needs samples 100 ms apart. Samples
// one second apart show that something has changed, but not what.
const (
	slowInterval = time.Second
	lookApart    = time.Minute     // least time between two close looks at a path
	lookAgain    = 5 * time.Minute // longest time without one, if data moves
	mostLooks    = 32              // paths that are looked at closely at once
	// slowJudging is how often slow samples are judged. Such a verdict only serves to notice a change
	// and is never shown; with a thousand hosts, verdicts are most of the work.
	slowJudging = 3 * time.Second
	// A window with at least closely samples per second can be judged; one with more than slowly
	// contains some of the frequent samples.
	closely = 4.0
	slowly  = 1.5
	// newest is the part of a window that may be judged alone: where other connections begin, or the
	// rate changes, what came before is left out (watch.Turn).
	newest = 3 * time.Second
)

// glance is what the last close look at a path found.
type glance struct {
	known watch.Judgement
	has   bool
	at    time.Time
	when  time.Duration
	until time.Duration // the present close look ends then
	// longer: this look was prolonged once, since its verdict was "cannot tell".
	longer bool
	// after is the first state that slow samples gave after that look; other is how often in a row
	// they have given a different state, or another goodput, since.
	after *watch.Named
	other int
	// judged is when slow samples were last judged; passed: they were not judged in this step.
	judged time.Duration
	passed bool
}

// slowest is the interval between samples of hosts that nobody looks at.
func (l *Live) slowest() time.Duration {
	if l.Looked == nil {
		return sampleInterval
	}
	return slowInterval
}

// passes reports whether this step skips the judgement of a path, since it would not be shown.
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

// densities are the samples per second in the windows of a path's two ends: the lower and the higher. The
// lower is also that of their newest part, on which a verdict may rest alone.
func (l *Live) densities(key [2]int) (least, most float64) {
	a, b := l.ends[key[0]], l.ends[key[1]]
	return min(a.density(), b.density(), a.newly(), b.newly()), max(a.density(), b.density())
}

// settle decides which judgement is shown, and how often the path's hosts are sampled from now on.
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
	case j.Crowd: // no close look would tell more
		*g = glance{}
	case j.State != watch.Moving && j.State != watch.CannotTell:
		*g = glance{} // the next data are a new transfer
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

// compare takes what slow samples say. They also show that the path carries another rate than when
// it was judged; a verdict on how the transfer began, for instance, says nothing about that.
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

// due reports whether there is reason for a close look.
func (g *glance) due(now time.Duration, hold int) bool {
	since := now - g.when
	return !g.has || since > lookAgain || g.other >= hold && since > lookApart
}

// looks counts the paths that are looked at closely now.
func (l *Live) looks(now time.Duration) (n int) {
	for _, g := range l.glances {
		if now < g.until {
			n++
		}
	}
	return n
}

// instead is the judgement of a path whose samples are too few: that of the last close look, or, if
// there was none, the state that is shown already.
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

// density is how many samples per second the window has.
func (e *liveEnd) density() float64 {
	n, covers := e.window.Len(), e.window.Covers()
	if n < 2 || covers <= 0 {
		return 0
	}
	return float64(n-1) / covers.Seconds()
}

// newly is the number of samples per second in the newest part of the window.
func (e *liveEnd) newly() float64 { return float64(e.window.Recent(newest)) / newest.Seconds() }

// pace sets the interval between the host's samples as wished for in this step.
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
	default: // a token waits already, and the newest interval is read then
	}
}
