package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/app/watch"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

const (
	mostTiles = 20 // paths that the grid lists
	mostName  = 22 // columns of a name in it, as many as have a column; below it stands whole
)

// gridSection lists several paths, those first that want to be looked at: each with its share of the
// ceiling as a bar, and with a sign and words for what is shown.
func gridSection(all []watch.Picture) document.Section {
	var rungs []document.Rung
	for _, p := range byUrgency(all)[:min(len(all), mostTiles)] {
		rungs = append(rungs, tile(p))
	}
	s := grid(all, rungs)
	if more := len(all) - mostTiles; more > 0 {
		s.Add(document.Block{Note: "and " + unit.Count(more, "path") + " more"})
	}
	return s
}

// keyedGrid is all of a grid on a terminal with keys: the first paths with the digit that opens each,
// and the chosen one marked.
func keyedGrid(all []watch.Picture, chosen string) document.Section {
	var rungs []document.Rung
	for i, p := range byUrgency(all) {
		digit := " "
		if i < 9 {
			digit = strconv.Itoa(i + 1)
		}
		t := tile(p)
		t.Name, t.Chosen = document.Shortened(digit+" "+p.Path, mostName), p.Path == chosen
		rungs = append(rungs, t)
	}
	return grid(all, rungs)
}

func grid(all []watch.Picture, rungs []document.Rung) document.Section {
	s := document.Section{Title: "Paths"}
	s.Add(document.Block{Text: tally(all)}, document.Block{Rungs: rungs})
	return s
}

// byUrgency are the paths with those first that want to be looked at.
func byUrgency(all []watch.Picture) []watch.Picture {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b watch.Picture) int { return cmp.Compare(urgency(a), urgency(b)) })
	return order
}

// Kinds of paths, as the page's buttons have them.
const (
	gone   = iota // stale or lost
	held          // something limits it that is no application
	untold        // cannot tell
	fine
)

func urgency(p watch.Picture) int {
	switch {
	case p.Shown.State == watch.Stale || p.Shown.State == watch.Lost:
		return gone
	case p.Shown.State == watch.CannotTell:
		return untold
	case p.Shown.State == watch.Moving && p.Shown.Limiter != noLimiter && !asked(p.Shown):
		return held
	}
	return fine
}

// asked tells that the application asks for no more: such a path is not slow.
func asked(n watch.Named) bool {
	return n.Limiter == "application-source" || n.Limiter == "application-sink"
}

// tally is how many paths there are of each kind.
func tally(all []watch.Picture) string {
	n := map[int]int{}
	for _, p := range all {
		n[urgency(p)]++
	}
	out := unit.Count(len(all), "path")
	for _, k := range []struct {
		kind int
		name string
	}{{held, "held back"}, {untold, "cannot tell"}, {gone, "stale or lost"}} {
		if n[k.kind] > 0 {
			out += fmt.Sprintf(", %d %s", n[k.kind], k.name)
		}
	}
	return out
}

func tile(p watch.Picture) document.Rung {
	shown := p.Shown
	shown.Host = document.Shortened(shown.Host, mostName) // a long one would take the bars of all paths away
	r := document.Rung{Name: document.Shortened(p.Path, mostName), Words: sign(shown) + " " + wordsOf(shown)}
	if urgency(p) == gone {
		if at := heard(p.Hosts); !at.IsZero() {
			r.Words += ", last heard " + at.Local().Format(time.TimeOnly)
		}
		return r
	}
	v := float64(p.Goodput)
	r.Meter = &chart.Meter{Scale: v, Value: &v}
	if p.Shown.State != watch.Moving && p.Shown.State != watch.CannotTell {
		v = 0
		return r
	}
	r.Words += ", " + p.Goodput.String()
	if c := p.Ceiling; c != nil && *c > 0 {
		of := float64(*c)
		r.Meter.Scale, r.Meter.Ceiling, r.Share = max(v, of), &of, unit.Percent(v/of)
		r.Class = grade(p, v/of)
	}
	return r
}

// grade colours a path by its share of the ceiling, as the page does.
func grade(p watch.Picture, of float64) string {
	switch {
	case p.Shown.State != watch.Moving || asked(p.Shown):
		return ""
	case of >= 0.9:
		return "well"
	case of >= 0.5:
		return "part"
	}
	return "little"
}

// heard is when the host was heard last that has been silent longest.
func heard(hosts []watch.Host) (at time.Time) {
	for _, h := range hosts {
		if !h.Heard.IsZero() && (at.IsZero() || h.Heard.Before(at)) {
			at = h.Heard
		}
	}
	return at
}

// sign says what the colour says, for those who do not see it; the page has the same.
func sign(n watch.Named) string {
	switch n.State {
	case watch.Moving:
		if n.Limiter == noLimiter {
			return "●"
		}
		return "▲"
	case watch.CannotTell:
		return "?"
	case watch.Stale, watch.Lost:
		return "✕"
	case watch.Starting:
		return "◌"
	}
	return "–"
}

// wayText are the stations of a path from where its data come to where they go, with a sign at the one
// that holds it back. Of a path seen from one end alone the other is what its connection says.
func wayText(p watch.Picture) string {
	if len(p.Hosts) == 0 || len(p.Conns) == 0 {
		return ""
	}
	from, to := p.Hosts[0].Name, p.Conns[0].Remote.String()
	back := p.Conns[0].In > p.Conns[0].Out
	if len(p.Hosts) > 1 {
		to = p.Hosts[1].Name
		back = slices.ContainsFunc(p.Conns, func(c watch.Conn) bool { return c.Out > c.In && c.Host == to })
	}
	if back {
		from, to = to, from
	}
	var switches []string
	for _, h := range p.Hosts {
		for _, s := range h.Switches {
			if !slices.Contains(switches, s) {
				switches = append(switches, s)
			}
		}
	}
	here := placeOf(p.Shown)
	stations := []struct{ kind, name string }{{"sender", from}, {"path", cmp.Or(strings.Join(switches, ", "), "network")}, {"receiver", to}}
	if here == "server storage" {
		at := len(stations)
		if p.Shown.Host == from {
			at = 0
		}
		stations = slices.Insert(stations, at, struct{ kind, name string }{here, "storage of " + cmp.Or(p.Shown.Host, "the server")})
	}
	var out []string
	for _, s := range stations {
		if s.kind == here {
			s.name += " [▲ " + string(p.Shown.Limiter) + "]"
		}
		out = append(out, s.name)
	}
	return strings.Join(out, " → ")
}

// placeOf is the station of a path's limiter; empty: it has none.
func placeOf(n watch.Named) string {
	switch {
	case n.State != watch.Moving || n.Limiter == noLimiter:
		return ""
	case n.Limiter == "application-source":
		return "sender"
	case n.Limiter == "application-sink":
		return "receiver"
	}
	return string(n.Where)
}

// mostBlocks is how wide a strip of cores is at most: so much fits beside its name into 60 columns.
const mostBlocks = 40

// coreStrips draw what cores do, one block a core, or for the busiest of several where there are too
// many: all of it, and below that each kind of work that takes a sixteenth of a core or more.
func coreStrips(cores []watch.Core) []document.Pair {
	each := (len(cores) + mostBlocks - 1) / mostBlocks
	busiest := slices.MaxFunc(cores, func(a, b watch.Core) int { return cmp.Compare(a.Busy(), b.Busy()) })
	all := blocks(cores, each, watch.Core.Busy)
	text := fmt.Sprintf("[%s] busiest is core %d: user %.0f%%, system %.0f%%, softirq %.0f%%, steal %.0f%%", all, busiest.CPU,
		100*busiest.User, 100*busiest.System, 100*busiest.SoftIRQ, 100*busiest.Steal)
	if each > 1 {
		text += fmt.Sprintf("; a block is the busiest of %d cores", each)
	}
	out := []document.Pair{{Name: "cores", Value: text}}
	for _, m := range []struct {
		name string
		of   func(watch.Core) float64
	}{
		{"user", func(c watch.Core) float64 { return c.User }}, {"system", func(c watch.Core) float64 { return c.System }},
		{"softirq", func(c watch.Core) float64 { return c.SoftIRQ }}, {"steal", func(c watch.Core) float64 { return c.Steal }},
	} {
		if strip := blocks(cores, each, m.of); strings.Trim(strip, " ") != "" {
			out = append(out, document.Pair{Name: " " + m.name, Value: "[" + strip + "]"})
		}
	}
	return out
}

func blocks(cores []watch.Core, each int, of func(watch.Core) float64) string {
	const shades = " ▁▂▃▄▅▆▇█"
	var strip strings.Builder
	for part := range slices.Chunk(cores, each) {
		most := 0.0
		for _, c := range part {
			most = max(most, of(c))
		}
		strip.WriteRune([]rune(shades)[min(8, int(8*most+0.5))])
	}
	return strip.String()
}
