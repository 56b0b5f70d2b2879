package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// changes is every setting that was written, and that it was put back.
func (w *paperWriter) changes() paperSection {
	s := paperSection{Title: "What was changed and put back"}
	if len(w.s.Reverted) == 0 {
		s.Blocks = append(s.Blocks, block{Text: "No setting of any host was changed."})
		return s
	}
	text := "Every change of this study was taken back, and each setting was read again to see that it is as it was found."
	if !w.s.Restored {
		text = "NOT restored: at least one change of this study is still in place. linerate tune undo on the host takes it back; undo.sh beside its journal does so without linerate."
	}
	t := paperTable{Caption: "Changes that were made during the study", Head: cols("Setting", "Host", "Default", "Before", "Was set to", "For")}
	for _, a := range w.s.Reverted {
		t.Rows = append(t.Rows, []entry{settingEntry(a), {Text: a.Host}, valueEntry(a.Default), valueEntry(a.Before), {Text: a.Value, Class: "mono"}, {Text: cmp.Or(a.Factor, "the baseline"), Sub: a.Why}})
	}
	s.Blocks = append(s.Blocks, block{Text: text}, w.table(t))
	return s
}

// threats is what speaks against the conclusions in this very study.
func (w *paperWriter) threats() paperSection {
	s := paperSection{Title: "Threats to validity"}
	if len(w.s.Threats) == 0 {
		s.Blocks = append(s.Blocks, block{Text: "None was noticed beyond the assumptions of the method."})
		return s
	}
	var list []string
	for _, t := range w.s.Threats {
		line := t.What
		if t.Evidence != "" {
			line += " (" + t.Evidence + ")"
		}
		if t.Next != "" {
			line += ". What to do: " + t.Next
		}
		list = append(list, line)
	}
	s.Blocks = append(s.Blocks, block{List: list})
	return s
}

// everyRun is the raw record.
func (w *paperWriter) everyRun() paperSection {
	t := paperTable{Fold: "All " + unit.Count(len(w.s.Runs), "run"), Caption: "Every run in the order it was made",
		Head: cols("#Run", "#At", "Stage", "#Block", "State", "Workload", "#Outcome", "#Sent again", "#CPU, busiest host", "Remarks")}
	for _, r := range w.s.Runs {
		at := ""
		if !r.Started.IsZero() && !w.started().IsZero() {
			at = "+" + duration(r.Started.Sub(w.started()))
		}
		counted := entry{}
		if !r.Counted {
			counted = entry{Text: "not counted", Sub: r.Why, Class: "missing"}
		}
		if w.dropped[r.N] {
			counted = entry{Text: "discarded", Sub: "its group did not agree", Class: "missing"}
		}
		for _, x := range r.Warnings {
			counted.Sub = strings.TrimPrefix(counted.Sub+"; "+x.What, "; ")
		}
		re := unknown
		if r.Retransmitted != nil {
			re = fine(*r.Retransmitted)
		}
		t.Rows = append(t.Rows, []entry{{Text: strconv.Itoa(r.N)}, {Text: at}, {Text: r.Stage}, {Text: strconv.Itoa(r.Block)}, {Text: w.stateOf(r).name()}, {Text: r.Workload},
			{Text: runOutcome(r), Class: "strong"}, {Text: re}, {Text: busiestHost(r)}, counted})
	}
	if len(t.Rows) == 0 {
		return paperSection{}
	}
	return paperSection{Title: "Every run", Break: true, Blocks: []block{w.table(t)}}
}

func busiestHost(r model.StudyRun) string {
	best, host := -1.0, ""
	for _, h := range sorted(r.CPU) {
		if r.CPU[h] > best {
			best, host = r.CPU[h], h
		}
	}
	if host == "" {
		return unknown
	}
	return percent(best) + " " + host
}

// hosts is what the hosts were when the study began.
func (w *paperWriter) hosts() paperSection {
	h := hostsOf(w.r, w.facts)
	if len(h.Hosts) == 0 {
		return paperSection{Title: "Hosts", Blocks: []block{{Text: "No facts of any host were kept."}}}
	}
	s := paperSection{Title: "Hosts"}
	t := paperTable{Caption: "What the hosts are", Head: cols(append([]string{"Property"}, h.Hosts...)...)}
	for _, r := range h.Rows {
		t.Rows = append(t.Rows, cellRow(r, "strong"))
	}
	s.Blocks = append(s.Blocks, w.table(t))
	if len(h.NICs) > 0 {
		t := paperTable{Caption: "Network interfaces", Head: cols("Host", "Interface", "Addresses", "#MTU", "Speed", "Driver", "Queueing", "Slot")}
		for _, n := range h.NICs {
			t.Rows = append(t.Rows, []entry{{Text: n.Host}, {Text: n.Name + " " + n.Up, Sub: n.Device, Class: "strong"}, {Text: n.Addrs, Class: "mono"}, {Text: n.MTU}, cellEntry(n.Speed), cellEntry(n.Driver), {Text: n.Qdisc}, cellEntry(n.PCI)})
		}
		s.Blocks = append(s.Blocks, w.table(t))
	}
	if len(h.Settings) > 0 {
		t := paperTable{Fold: "Every setting as read before the study", Caption: "Settings as read before the study; absent, denied and unsupported are told apart", Head: cols(append([]string{"Setting"}, h.Hosts...)...)}
		for _, r := range h.Settings {
			t.Rows = append(t.Rows, cellRow(r, "mono"))
		}
		s.Blocks = append(s.Blocks, w.table(t))
	}
	return s
}

func cellRow(r row, class string) []entry {
	out := []entry{{Text: r.Name, Class: class}}
	for _, c := range r.Cells {
		e := cellEntry(c)
		if e.Class == "" && class == "mono" {
			e.Class = "mono"
		}
		out = append(out, e)
	}
	return out
}

func cellEntry(c cell) entry {
	if c.Missing {
		return entry{Text: c.Text, Class: "missing"}
	}
	return entry{Text: c.Text}
}

func (w *paperWriter) provenance() paperSection {
	out := []pair{{"Command", "linerate " + w.r.Command}, {"Build", cmp.Or(w.r.Build, unknown)}, {"Started", moment(w.started())}, {"Took", duration(w.s.Took)},
		{"Seed of every order", strconv.FormatUint(w.s.File.Protocol.Seed, 10)}}
	for _, h := range sorted(w.s.File.Hosts) {
		out = append(out, pair{"Host " + h, "reached as " + w.s.File.Hosts[h]})
	}
	if w.s.File.Via != "" {
		out = append(out, pair{"Data address of every receiver", w.s.File.Via})
	}
	if w.r.Topology != "" {
		out = append(out, pair{"Topology", w.r.Topology})
	}
	for _, l := range w.r.LeftOut {
		out = append(out, pair{"Left out", l})
	}
	for _, h := range sorted(w.r.Clocks) {
		c := w.r.Clocks[h]
		out = append(out, pair{"Clock of " + h, fmt.Sprintf("%s from the controller's, known to ± %s", signed(c.Offset), duration(c.Error))})
	}
	if w.r.Injected != "" {
		out = append(out, pair{"What the lab had put in place (told after the conclusions)", w.r.Injected})
	}
	out = append(out, pair{"Format", fmt.Sprintf("study version %d, study file version %d", w.s.V, w.s.File.V)}, pair{"To reproduce", "linerate " + w.r.Command})
	if id := runID(w.r.Report); id != "" {
		out = append(out, pair{"To render again", "linerate report " + id}, pair{"The data", "linerate report " + id + " --format csv"})
	}
	return paperSection{Title: "Provenance", Blocks: []block{{Pairs: out}}}
}
