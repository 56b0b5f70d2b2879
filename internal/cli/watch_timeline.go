package cli

import (
	"fmt"
	"strings"
	"time"

	"linerate/internal/app/runs"
	"linerate/internal/app/watch"
	"linerate/internal/report"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// stripMargin is what stands before a strip's columns.
const stripMargin = 11

// timelineBlocks draws what was shown of a path lately: a line of changes on its hosts, one of what it
// carried, and one with a sign for what was shown, which the text beneath explains.
func timelineBlocks(s watch.Strip) []document.Block {
	if len(s.Columns) == 0 {
		return nil
	}
	carried, most, of := carriedStrip(s)
	shown, signs := shownStrip(s)
	lines := []string{"  carried  " + carried, "  shown    " + shown}
	if len(s.Marks) > 0 {
		lines = append([]string{"  changed  " + markStrip(s)}, lines...)
	}
	scale := ""
	if most > 0 { // else nothing is drawn
		scale = ", full height is " + of + most.String()
	}
	return []document.Block{
		{Pre: strings.Join(lines, "\n") + "\n"},
		{Note: fmt.Sprintf("%s to %s, %v a column%s. %s", moment(s.From, s), moment(s.To(), s), s.Width, scale, strings.Join(signs, ", "))},
	}
}

// moment is a time with as much of its date as a strip needs.
func moment(at time.Time, s watch.Strip) string {
	at = at.Local()
	if a, b := s.From.Local(), s.To().Local(); a.YearDay() != b.YearDay() || a.Year() != b.Year() {
		return at.Format("2006-01-02 15:04")
	}
	return at.Format(time.TimeOnly)
}

// carriedStrip is a bar a column, of the ceiling or of more if more was carried. A column in which
// that was not known is empty; one in which nothing moved is not.
func carriedStrip(s watch.Strip) (strip string, most unit.BitRate, of string) {
	const shades = "▁▂▃▄▅▆▇█"
	for _, c := range s.Columns {
		if c == nil {
			continue
		}
		if c.Goodput != nil && *c.Goodput > most {
			most, of = *c.Goodput, ""
		}
		if c.Ceiling != nil && *c.Ceiling >= most {
			most, of = *c.Ceiling, "the ceiling, "
		}
	}
	var b strings.Builder
	for _, c := range s.Columns {
		switch {
		case c == nil || c.Goodput == nil:
			b.WriteRune(' ')
		case most <= 0:
			b.WriteString("▁")
		default:
			b.WriteRune([]rune(shades)[min(7, int(8*float64(*c.Goodput/most)))])
		}
	}
	return b.String(), most, of
}

// shownStrip is a sign a column for what was shown longest in it, and what each sign stands for.
func shownStrip(s watch.Strip) (strip string, signs []string) {
	var b strings.Builder
	var order []watch.Named
	sign, long := map[watch.Named]string{}, map[watch.Named]time.Duration{}
	limiters := 0
	for _, c := range s.Columns {
		if c == nil || len(c.Shown) == 0 {
			b.WriteRune(' ')
			continue
		}
		for _, x := range c.Shown {
			long[x.Named] += x.For
		}
		top := c.Shown[0].Named
		if sign[top] == "" {
			order = append(order, top)
			sign[top] = signOf(top, limiters)
			if sign[top] >= "A" && sign[top] <= "Z" {
				limiters++
			}
		}
		b.WriteString(sign[top])
	}
	for _, n := range order {
		signs = append(signs, fmt.Sprintf("%s is %s (%v)", sign[n], wordsOf(n), long[n].Round(time.Second)))
	}
	return b.String(), signs
}

// signOf is the sign of a state: a letter for a limiter, by how many others were there before it.
func signOf(n watch.Named, before int) string {
	switch n.State {
	case watch.Moving:
		if n.Limiter == noLimiter {
			return "="
		}
		return string(rune('A' + min(before, 25)))
	case watch.CannotTell:
		return "?"
	case watch.Stale, watch.Lost:
		return "×"
	case watch.Starting:
		return "~"
	}
	return "·"
}

// markStrip is where something changed on a host.
func markStrip(s watch.Strip) string {
	line := []rune(strings.Repeat(" ", len(s.Columns)))
	for _, m := range s.Marks {
		line[s.Column(m.At)] = '▼'
	}
	return string(line)
}

// markLine is a change on a host, or a kept run, in one line.
func markLine(m watch.Mark) string {
	at := m.At.Local().Format(time.TimeOnly)
	if m.Kind == watch.MarkRun {
		return fmt.Sprintf("%s  ran linerate %s (linerate report %s)", at, m.What, m.To)
	}
	by := map[string]string{watch.MarkTuned: " (set by linerate)", watch.MarkUndone: " (taken back by linerate)"}[m.Kind]
	from, to := m.From, m.To
	if from == "" {
		from = "–"
	}
	if to == "" {
		to = "–"
	}
	return fmt.Sprintf("%s  %s: %s: %s → %s%s", at, m.Host, m.What, from, to, by)
}

// ladderBlocks draws the rungs that a kept run measured of a path, or says that none did.
func ladderBlocks(c runs.Climbed) []document.Block {
	if c.Run == "" {
		return []document.Block{{Note: c.Why}}
	}
	var seen []document.Rung
	var unseen []string
	for _, r := range report.Rungs(c.Rungs, c.Ceiling) {
		if r.Meter == nil {
			unseen = append(unseen, r.Name)
			continue
		}
		r.Method = "" // the report has it
		seen = append(seen, r)
	}
	out := []document.Block{{Text: fmt.Sprintf("Ladder, not live: measured %s by linerate %s (linerate report %s)", c.At.Local().Format("2006-01-02 15:04"), c.Command, c.Run)}, {Rungs: seen}}
	if len(unseen) > 0 {
		out = append(out, document.Block{Note: "not measured: " + strings.Join(unseen, ", ")})
	}
	return out
}
