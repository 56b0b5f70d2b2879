package cli

import (
	"fmt"
	"slices"
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
	screen *document.Live // nil: stdout is no terminal, or one picture is wanted
	trail  watch.Trail    // of the paths that have a timeline
	lately []happening

	live   bool // the present is shown: runs that are kept meanwhile are marked
	ran    []watch.Mark
	ranErr error     // why kept runs are not marked
	looked time.Time // for kept runs
}

// happening is a change of what is shown, or on a host, in a line.
type happening struct {
	at   time.Time
	line string
}

func newView(env *environment, once, live bool) *view {
	v := &view{env: env, once: once, live: live}
	if on, _, _ := terminalSize(env.out.Stream()); on && !once && !env.json {
		v.screen = env.out.Live()
	}
	return v
}

const (
	mostEvents    = 8                // changes that a picture lists
	mostTimelines = 8                // paths that have a timeline
	ranEvery      = 10 * time.Second // for how long the list of kept runs is not read again
)

func (v *view) show(all []watch.Picture) error {
	fresh := happened(all)
	v.lately = append(v.lately, fresh...)
	v.lately = v.lately[max(0, len(v.lately)-mostEvents):]
	if v.once {
		for _, p := range all {
			if p.Shown.State == watch.Starting || p.Shown.State == "" {
				return nil
			}
		}
	}
	if err := v.print(all, fresh); err != nil {
		return err
	}
	if v.once && len(all) > 0 {
		return errSeen
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
	case v.screen != nil:
		_, width, height := terminalSize(v.env.out.Stream())
		return v.screen.Draw(watchPage(all, v.strips(all, width), v.listed()), v.env.color, width, height)
	case v.once:
		return printDocument(v.env, watchPage(all, nil, v.listed()))
	}
	for _, h := range fresh {
		if err := printDocument(v.env, saying(h.line)); err != nil {
			return err
		}
	}
	return nil
}

// strips are the timelines of the first paths, by their names.
func (v *view) strips(all []watch.Picture, width int) map[string]watch.Strip {
	all = all[:min(len(all), mostTimelines)]
	v.trail.Add(all)
	out := map[string]watch.Strip{}
	for _, p := range all {
		s := v.trail.Strip(p.Path, min(width, 120)-stripMargin)
		v.seeRuns(s)
		for _, m := range v.ran {
			if s.Column(m.At) >= 0 {
				s.Marks = append(s.Marks, m)
			}
		}
		out[p.Path] = s
	}
	return out
}

// seeRuns looks now and then which runs were kept since a strip begins.
func (v *view) seeRuns(s watch.Strip) {
	now := v.env.Now()
	if !v.live || len(s.Columns) == 0 || now.Sub(v.looked) < ranEvery {
		return
	}
	v.looked = now
	v.ran, v.ranErr = runs.Ran(v.env.Env, s.From, now)
}

// listed are the last changes, with the kept runs among them.
func (v *view) listed() (lines []string) {
	all := slices.Clone(v.lately)
	for _, m := range v.ran {
		all = append(all, happening{m.At, markLine(m)})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return a.at.Compare(b.at) })
	for _, h := range all[max(0, len(all)-mostEvents):] {
		lines = append(lines, h.line)
	}
	if v.ranErr != nil {
		lines = append(lines, "kept runs are not marked: "+failure.FirstLine(v.ranErr))
	}
	return lines
}

func (v *view) end() error {
	if v.screen == nil {
		return nil
	}
	return v.screen.Close()
}
