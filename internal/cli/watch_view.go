package cli

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"linerate/internal/app/runs"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

// view prints pictures: as objects, drawn in place on a terminal, or as lines.
type view struct {
	env    *environment
	once   bool
	drawn  bool      // on a terminal, in place
	screen *onScreen // nil: there is no picture yet, or it is not drawn
	// terminal is the screen's, for any goroutine.
	terminal atomic.Pointer[document.Live]
	quit     func() // ends the view, which closes done
	done     <-chan struct{}
	trail    watch.Trail
	lately   []happening

	live   bool           // the present is shown: kept runs are looked for
	old    []runs.Summary // those that were there before, newest first
	fresh  []runs.Summary // those that were kept since, newest first
	began  time.Time
	looked time.Time
	unread error     // why kept runs are not known
	asked  time.Time // when one picture might have been shown first, had it not been old
	none   time.Time // since when there has been no path; zero: there is one
	told   bool      // that there is none

	waiting []watch.Picture // that are not the one that is to be shown once; nil: there were none
}

// beneath is what stands beneath a path beside its picture.
type beneath struct {
	lately watch.Strip
	ladder runs.Climbed
}

// happening is a change of what is shown, or on a host, in a line.
type happening struct {
	at   time.Time
	line string
}

func newView(env *environment, once, live bool) *view {
	on, _ := isTerminal(env.out.Stream())
	return &view{env: env, once: once, live: live, drawn: on && env.Getenv("TERM") != "dumb" && !once && !env.json}
}

const (
	mostEvents    = 8                // changes that a picture lists
	mostTimelines = 8                // paths that have a timeline and a ladder
	ranEvery      = 10 * time.Second // for how long the list of kept runs is not read again
)

func (v *view) show(all []watch.Picture) error {
	if v.drawn && v.screen == nil {
		v.open()
	}
	if v.screen != nil {
		return v.screen.show(all)
	}
	fresh := v.note(all)
	if len(all) == 0 {
		return v.nothing()
	}
	v.none, v.told = time.Time{}, false
	if v.once && v.waits(all) {
		v.waiting = all
		return nil
	}
	if err := v.print(all, fresh); err != nil {
		return err
	}
	if v.once {
		return cmp.Or(old(all), errSeen)
	}
	return nil
}

// note remembers what changed with the pictures of one moment.
func (v *view) note(all []watch.Picture) (fresh []happening) {
	fresh = happened(all)
	v.lately = append(v.lately, fresh...)
	v.lately = v.lately[max(0, len(v.lately)-mostEvents):]
	return fresh
}

// noPath says why there is nothing to show; noneFor is for how long that may only be the beginning.
const (
	noPath  = "no two of these hosts have a connection to each other; a path appears as soon as two have"
	noneFor = 5 * time.Second
)

// nothing shows that there is no path. It fails where one picture is wanted.
func (v *view) nothing() error {
	now := v.env.Now()
	if v.none.IsZero() {
		v.none = now
	}
	long := now.Sub(v.none) >= noneFor
	switch {
	case v.once && long:
		return failure.Of(failure.Nothing, "watch --once: no two of these hosts have a connection to each other")
	case v.once || v.env.json || !long || v.told:
		return nil
	}
	v.told = true
	return printDocument(v.env, saying(now.Local().Format(time.TimeOnly)+" "+noPath))
}

// onceWaits is for how long one picture waits for samples of hosts that are stale or lost.
const onceWaits = 15 * time.Second

// waits tells that there may be a better picture soon.
func (v *view) waits(all []watch.Picture) bool {
	for _, p := range all {
		if p.Shown.State == watch.Starting || p.Shown.State == "" {
			return true
		}
	}
	if !v.live || old(all) == nil {
		return false
	}
	if v.asked.IsZero() {
		v.asked = all[0].At
	}
	return all[0].At.Sub(v.asked) < onceWaits
}

// old is the error of pictures that show what was, not what is; nil: there is none.
func old(all []watch.Picture) error {
	for _, p := range all {
		if p.Shown.State == watch.Stale || p.Shown.State == watch.Lost {
			return fmt.Errorf("watch --once: %s is %s: %s", p.Path, p.Shown.State, p.Why)
		}
	}
	return nil
}

// happened is what changed with the pictures of one moment. A host that is on several paths is
// asked once.
func happened(all []watch.Picture) (out []happening) {
	asked := map[string]bool{}
	for _, p := range all {
		for _, e := range p.Events {
			out = append(out, happening{e.At, eventLine(e)})
		}
		for _, h := range p.Hosts {
			if asked[h.Name] {
				continue
			}
			asked[h.Name] = true
			for _, m := range h.Marks {
				out = append(out, happening{m.At, markLine(m)})
			}
		}
	}
	return out
}

func (v *view) print(all []watch.Picture, fresh []happening) error {
	switch {
	case v.env.json:
		for _, p := range all {
			if err := document.JSONLine(v.env.out, p); err != nil {
				return fmt.Errorf("write picture: %w", err)
			}
		}
		return nil
	case v.once:
		some := all[:min(len(all), mostTimelines)]
		v.follow(some)
		return printDocument(v.env, watchPage(all, v.beneath(some, v.env.width), v.listed()))
	}
	for _, h := range fresh {
		if err := printDocument(v.env, saying(h.line)); err != nil {
			return err
		}
	}
	return nil
}

// follow remembers what was shown of paths, and sees which runs were kept.
func (v *view) follow(some []watch.Picture) {
	v.trail.Add(some)
	v.seeRuns()
}

// beneath is what stands beneath paths that are followed, by their names.
func (v *view) beneath(some []watch.Picture, width int) map[string]beneath {
	out := map[string]beneath{}
	for _, p := range some {
		s := v.trail.Strip(p.Path, min(width, 120)-stripMargin)
		s.Marks = append(s.Marks, runs.Marks(v.fresh, s.From, s.To())...)
		b := beneath{lately: s}
		if v.live && v.unread == nil {
			b.ladder = runs.LastLadder(append(slices.Clone(v.fresh), v.old...), runs.PlaceOf(p))
		}
		out[p.Path] = b
	}
	return out
}

// seeRuns reads which runs were kept: all once, and then now and then those of this view's time.
func (v *view) seeRuns() {
	now := v.env.Now()
	switch {
	case !v.live:
	case v.looked.IsZero():
		v.looked, v.began = now, now
		_, v.old, v.unread = runs.List(v.env.Env)
	case now.Sub(v.looked) >= ranEvery:
		v.looked = now
		v.fresh, v.unread = runs.Since(v.env.Env, v.began)
	}
}

// listed are the last changes, with the kept runs among them.
func (v *view) listed() (lines []string) {
	all := slices.Clone(v.lately)
	for _, m := range runs.Marks(v.fresh, v.began, v.looked) {
		all = append(all, happening{m.At, markLine(m)})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return a.at.Compare(b.at) })
	for _, h := range all[max(0, len(all)-mostEvents):] {
		lines = append(lines, h.line)
	}
	if v.unread != nil {
		lines = append(lines, "kept runs are not shown: "+failure.FirstLine(v.unread))
	}
	return lines
}
