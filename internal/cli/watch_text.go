package cli

import (
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/app/watch"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// watchPage draws the pictures of one moment, with what there is beneath them, and what changed
// lately.
func watchPage(all []watch.Picture, under map[string]beneath, changes []string) document.Document {
	var d document.Document
	if len(all) > 1 {
		d.Sections = append(d.Sections, gridSection(all))
	}
	d.Sections = append(d.Sections, pathSections(all, under)...)
	if len(changes) > 0 {
		d.Add("What changed", document.List("", changes...))
	}
	if len(all) == 0 {
		d = saying(noPath)
	}
	return d
}

// pathSections are paths, and beneath them their hosts, each once.
func pathSections(all []watch.Picture, under map[string]beneath) (out []document.Section) {
	seen := map[string]bool{}
	for _, p := range all {
		out = append(out, pathSection(p, under[p.Path]))
	}
	for _, p := range all {
		for _, h := range p.Hosts {
			if !seen[h.Name] {
				seen[h.Name] = true
				out = append(out, hostSection(h))
			}
		}
	}
	return out
}

func pathSection(p watch.Picture, under beneath) document.Section {
	s := document.Section{Title: p.Path}
	s.Add(document.Block{Strong: stateText(p)})
	if p.Shown.State == watch.Moving || p.Shown.State == watch.CannotTell {
		s.Add(document.Block{Rungs: []document.Rung{watchMeter(p)}})
	}
	if p.Verdict.Line != "" {
		s.Add(document.Block{Text: p.Verdict.Line})
	} else {
		s.Add(document.Block{Text: p.Why})
	}
	if way := wayText(p); way != "" {
		s.Add(document.Block{Text: way})
	}
	s.Add(timelineBlocks(under.lately)...)
	if len(p.Conns) > 0 {
		s.Add(connTable(p.Conns, p.Unlisted, p.UnlistedIdle).Block())
	}
	s.Add(ladderBlocks(under.ladder)...)
	return s
}

// stateText is what is shown of a path, since when, and what may come next.
func stateText(p watch.Picture) string {
	out := wordsOf(p.Shown)
	if p.Shown.State == watch.Moving && p.Verdict.Limiter != "" {
		out += fmt.Sprintf(", confidence %.0f%%", 100*p.Verdict.Confidence)
	}
	if p.Shown.State == watch.CannotTell && p.Guessed() {
		out += fmt.Sprintf("; likeliest is %s, confidence %.0f%%", p.Verdict.Limiter, 100*p.Verdict.Confidence)
	}
	if d := p.At.Sub(p.Since).Round(time.Second); !p.Since.IsZero() && d > 0 {
		out += ", for " + d.String()
	}
	if p.Found != nil {
		out += fmt.Sprintf(" (now: %s, %d times in a row)", wordsOf(*p.Found), p.FoundTimes)
	}
	return out
}

// wordsOf is a state in words.
func wordsOf(n watch.Named) string {
	switch n.State {
	case watch.Moving:
		out := string(n.Limiter)
		if n.Limiter == noLimiter {
			return "at its ceiling"
		}
		if n.Host != "" {
			return out + " at " + n.Host
		}
		return out + " at " + string(n.Where)
	case "":
		return "–"
	}
	return string(n.State)
}

// noLimiter is the limiter of a path that has none.
const noLimiter = "none"

func watchMeter(p watch.Picture) document.Rung {
	v := float64(p.Goodput)
	m := chart.Meter{Scale: v, Value: &v}
	r := document.Rung{Name: "now", Words: p.Goodput.String(), Meter: &m}
	if p.Ceiling == nil || *p.Ceiling <= 0 {
		r.Words += " (ceiling not known)"
		return r
	}
	c := float64(*p.Ceiling)
	m.Scale, m.Ceiling = max(v, c), &c
	r.Words, r.Share = r.Words+" of "+p.Ceiling.String(), unit.Percent(v/c)
	r.Class = grade(p, v/c)
	return r
}

// mostConns is how many connections a picture lists; --json has all.
const mostConns = 8

// connTable lists connections; of further ones, which are idle or not, it has the number.
func connTable(conns []watch.Conn, untold int, idle bool) document.Table {
	t := document.Table{Head: document.Columns("Connection", "#Out", "#In", "#RTT", "#Resent", "#Window", "#Buffer", "#Path", "#Application")}
	for _, c := range conns[:min(len(conns), mostConns)] {
		t.Row(fmt.Sprintf("%v → %v", c.Local, c.Remote), c.Out.String(), c.In.String(), c.RTT.Round(10*time.Microsecond).String(), fmt.Sprintf("%.2g%%", 100*c.Resent),
			shareOr(c.Window), shareOr(c.Buffer), shareOr(c.ByPath), shareOr(c.ByApp))
	}
	more := unlisted(conns)
	if !idle {
		more, untold = more+untold, 0
	}
	switch {
	case more > 0 && untold > 0:
		t.Notes = append(t.Notes, fmt.Sprintf("and %s more, and %d idle or nearly so", unit.Count(more, "connection"), untold))
	case more > 0:
		t.Notes = append(t.Notes, fmt.Sprintf("and %s more", unit.Count(more, "connection")))
	case untold > 0:
		t.Notes = append(t.Notes, fmt.Sprintf("and %s more, idle or nearly so", unit.Count(untold, "connection")))
	}
	t.Notes = append(t.Notes, "Shares of the time: with a full receive window, a full send buffer, held back by the path, with nothing to send.")
	return t
}

// unlisted is how many connections a picture has of which it lists neither end: of a connection between
// two hosts that are watched there are both.
func unlisted(conns []watch.Conn) int {
	type ends struct{ local, remote netip.AddrPort }
	seen, more := map[ends]bool{}, 0
	for i, c := range conns {
		if i >= mostConns && !seen[ends{c.Local, c.Remote}] && !seen[ends{c.Remote, c.Local}] {
			more++
		}
		seen[ends{c.Local, c.Remote}] = true
	}
	return more
}

func hostSection(h watch.Host) document.Section {
	s := document.Section{Title: h.Name}
	if h.Stale {
		at := "not heard yet"
		if !h.Heard.IsZero() {
			at = "what follows is old, last heard " + h.Heard.Local().Format(time.TimeOnly)
		}
		s.Add(document.Block{Strong: "stale: " + at})
	}
	if len(h.Cores) > 0 {
		s.Add(document.Block{Pairs: coreStrips(h.Cores)})
	}
	for _, n := range h.NICs {
		if n.Name == "lo" && n.In < unit.Mbit {
			continue
		}
		text := fmt.Sprintf("in %v, out %v", n.In, n.Out)
		for _, x := range []struct {
			rate float64
			name string
		}{{n.Drops, "drops"}, {n.Errors, "errors"}} {
			if x.rate > 0 {
				text += fmt.Sprintf(", %.3g %s/s", x.rate, x.name)
			}
		}
		if n.Pauses != nil && *n.Pauses > 0 {
			text += fmt.Sprintf(", %.3g pause frames/s", *n.Pauses)
		}
		if n.QdiscDrops != nil && *n.QdiscDrops > 0 {
			text += fmt.Sprintf(", %.3g drops/s of the qdisc", *n.QdiscDrops)
		}
		if n.Backlog != nil && *n.Backlog > 0 {
			text += fmt.Sprintf(", %v wait in the qdisc", *n.Backlog)
		}
		s.Add(document.Block{Pairs: []document.Pair{{Name: n.Name, Value: text}}})
	}
	for _, o := range h.Ops[:min(len(h.Ops), 4)] {
		text := fmt.Sprintf("%.4g/s, %v each", o.Rate, o.Mean.Round(10*time.Microsecond))
		if o.Queue > 0 {
			text += fmt.Sprintf(", %v queued before", o.Queue.Round(10*time.Microsecond))
		}
		s.Add(document.Block{Pairs: []document.Pair{{Name: o.Name, Value: text}}})
	}
	return s
}

// eventLine is a change of what is shown, in one line.
func eventLine(e watch.Event) string {
	out := fmt.Sprintf("%s  %s: %s", e.At.Local().Format(time.TimeOnly), e.Path, wordsOf(e.To))
	if e.From.State != "" && e.From.State != watch.Starting {
		out += " (before: " + wordsOf(e.From) + ")"
	}
	if e.Line != "" {
		out += ". " + e.Line
	}
	return out
}
