package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"linerate/internal/app/tune"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// tunePage is the head of a panel or plan: what it is for.
func tunePage(host, profile, chosen string, path tune.Path) document.Document {
	d := document.Document{Headline: fmt.Sprintf("%s, profile %s%s", host, profile, inBrackets(chosen)), Lead: []document.Block{{Text: "path " + pathLine(path)}}}
	if profile == "" {
		d.Headline = host + ", what was typed and nothing else"
	}
	return d
}

// page is a plan for people.
func (p planDocument) page() document.Document {
	d := tunePage(p.Host, p.Profile, p.Chosen, p.Path)
	so, all := judged(p.Refused)
	changes := document.Section{Title: countOf(len(p.Plan), so, all, "change", "changes")}
	for _, l := range p.Plan {
		changes.Blocks = append(changes.Blocks, document.Block{Card: lineCard(l, p.Host, p.unguarded)})
	}
	if len(p.Plan) == 0 {
		changes = document.Paragraph(changes.Title)
		if p.Profile != "" && all == 0 {
			changes = document.Paragraph("No changes: " + noLines(p.Profile))
		}
	}
	d.Sections = append(d.Sections, changes)
	if p.ID != "" {
		d.Sections = append(d.Sections, p.outcome())
		return d
	}
	if len(p.Files) > 0 {
		d.Add("Files that --persist would write", fileBlocks(p.Files)...)
	}
	d.Sections = append(d.Sections, refusedSections(p.Refused)...)
	return d
}

// outcome says what is to be done after an application.
func (p planDocument) outcome() document.Section {
	var s document.Section
	say := func(text string) { s.Add(document.Block{Text: text}) }
	for _, f := range p.Files {
		if f.Path == "" {
			continue
		}
		what := "to be written with the confirmation: "
		if p.Written {
			what = "written: "
		}
		say(what + f.Path + " on " + f.Host)
	}
	for _, n := range p.Notes {
		say(n)
	}
	if p.Deadline != nil {
		say(fmt.Sprintf("Confirm until %s UTC by the host's clock, else the host undoes %s: %s", p.Deadline.UTC().Format(time.TimeOnly), cmp.Or(p.waits, "all of it"), p.confirm))
	}
	say("To have everything as it was: " + p.undo)
	return s
}

// noLines says why a profile asks for nothing on a host of another system.
func noLines(profile string) string {
	return "the profile " + profile + " has nothing for this host's system, so nothing was judged: name what you want with --set (docs/systems.md lists what can be set)"
}

// judged is how many settings are as recommended, of all that the host has.
func judged(list []tune.Refusal) (so, all int) {
	for _, r := range list {
		if r.So {
			so++
		}
		if !r.Paper {
			all++
		}
	}
	return so, all
}

// countOf words n changes, of all settings of which so many are as recommended.
func countOf(n, so, all int, one, many string) string {
	switch {
	case n == 1:
		return "1 " + one
	case n > 1:
		return fmt.Sprintf("%d %s", n, many)
	case so < all:
		return fmt.Sprintf("No %s: %d of %s as recommended; why the others are not changed is said with each", many, so, unit.Count(all, "setting")+map[bool]string{true: " is", false: " are"}[so == 1])
	}
	return "No " + many + ": what runs is what this path needs, as far as it is known"
}

// lineCard names the host of a line only where it is not the plan's.
func lineCard(l tune.Line, host string, unguarded bool) *document.Card {
	c := &document.Card{Class: "setting", Title: tune.ShortName(l.Setting, l.Device), Text: change(l.From, l.To)}
	if l.Host != host {
		c.Title += " on " + l.Host
	}
	cuts := ""
	switch {
	case l.Cuts && unguarded:
		cuts = "can cut you off, and with --confirm-within 0 nothing undoes it by itself"
	case l.Cuts:
		cuts = "can cut you off: it is undone by itself unless confirmed"
	}
	for _, p := range []document.Pair{{Name: "why", Value: l.Reason}, {Name: "from", Value: l.Source}, {Name: "risk", Value: l.Risk}, {Name: "needs", Value: l.Needs},
		{Name: "TRADES", Value: l.Trades}, {Name: "note", Value: cuts}} {
		if p.Value != "" {
			c.Pairs = append(c.Pairs, p)
		}
	}
	if l.Applied != nil {
		done := map[bool]string{true: "yes", false: "no"}[*l.Applied]
		c.State = "applied: " + done + labelled("; effective: ", l.Effective) + labelled("; on the wire: ", l.Observed)
	}
	return c
}

// fileWords shortens the value of a file (package file), "file sha256:HEX mode:0644 uid:0
// gid:0", to what tells it from another; other values stay as they are.
func fileWords(value string) string {
	const digits, shown = 64, 8
	hash, ok := strings.CutPrefix(value, "file sha256:")
	if !ok || len(hash) < digits {
		return strings.TrimSuffix(value, " uid:0 gid:0") // of a directory
	}
	return "file " + hash[:shown] + "…" + strings.TrimSuffix(hash[digits:], " uid:0 gid:0")
}

// change words two values. Of values with parts only those that differ are
// shown.
func change(from, to string) string {
	from, to = fileWords(from), fileWords(to)
	a, b := strings.Fields(from), strings.Fields(to)
	if len(a) != len(b) || !strings.Contains(from, "=") {
		return from + " → " + to
	}
	var out []string
	for i := range a {
		name, _, ok := strings.Cut(a[i], "=")
		other, value, same := strings.Cut(b[i], "=")
		if !ok || !same || name != other {
			return from + " → " + to
		}
		if a[i] != b[i] {
			out = append(out, a[i]+" → "+value)
		}
	}
	return strings.Join(out, ", ")
}

// refusedSections list what is not changed: first what needs something, then in
// one line what is so already, then the papers' lines.
func refusedSections(list []tune.Refusal) []document.Section {
	var so []string
	var host, paper document.Block
	add := func(b *document.Block, text string) { b.Lines = append(b.Lines, document.Line{Text: text}) }
	for _, r := range list {
		name := tune.ShortName(r.Setting, r.Device)
		switch {
		case r.Paper:
			add(&paper, fmt.Sprintf("%s = %s: %s [%s]", r.Setting, r.Value, r.Why, r.Source))
		case r.So && !strings.Contains(r.Why, "enough"):
			so = append(so, name)
		default:
			add(&host, name+": "+r.Why)
		}
	}
	if len(so) > 0 {
		add(&host, "as recommended already: "+strings.Join(so, ", "))
	}
	var out []document.Section
	if len(host.Lines) > 0 {
		out = append(out, document.Section{Title: "Not changed", Blocks: []document.Block{host}})
	}
	if len(paper.Lines) > 0 {
		out = append(out, document.Section{Title: "Advice of the papers and guides that is not taken", Blocks: []document.Block{paper}})
	}
	return out
}

// page is the panel for people.
func (p panelDocument) page() document.Document {
	d := tunePage(p.Host, p.Profile, p.Chosen, p.Path)
	t := document.Table{Head: document.Columns("Setting", "Current", "Default", "Recommended")}
	if p.Mine != "" {
		t.Head = append(t.Head, document.Column{Name: "Mine"})
	}
	changes, so := 0, 0
	for _, r := range p.Settings {
		mark, why := "  ", r.Reason
		if r.Recommended != "" && r.Recommended == r.Current {
			so++
		}
		if r.Change {
			mark, why = "* ", why+" ["+r.Source+"]"
			changes++
		}
		same := func(v string) string {
			if v != "" && v == r.Current {
				return "same"
			}
			return cmp.Or(v, "–")
		}
		row := document.Cells(mark+tune.ShortName(r.Setting, r.Device), cmp.Or(r.Current, "not read"), same(r.Default), same(r.Recommended), same(r.Mine))
		t.Rows, t.Below = append(t.Rows, row[:len(t.Head)]), append(t.Below, why)
	}
	footer := countOf(changes, so, len(p.Settings), "change is recommended (*)", "changes are recommended (*)")
	if len(p.Settings) == 0 && p.Profile != "" {
		footer = "Nothing is recommended: " + noLines(p.Profile)
	}
	if changes > 0 {
		footer += ": linerate tune plan" + p.again + " shows them with their risks"
	}
	d.Sections = []document.Section{{Blocks: []document.Block{t.Block()}}, document.Paragraph(footer)}
	return d
}

// labelled is a text with its label, or nothing.
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}
