package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// changes lists every setting that was written, and whether it was restored.
func (w *paperWriter) changes() document.Section {
	s := document.Section{Title: "What was changed and put back"}
	if len(w.s.Reverted) == 0 {
		s.Add(document.Block{Text: "No setting of any host was changed."})
		return s
	}
	text := "Every change of this study was taken back, and each setting was read again to see that it is as it was found."
	switch {
	case w.s.Ended == model.StudyNotOver:
		text = "The study is not over: some of these may be in force until it is resumed and ends. The journals of its hosts have them."
	case !w.s.Restored:
		text = "NOT restored: at least one change of this study is still in place. linerate tune undo on the host takes it back; undo.sh beside its journal does so without linerate."
	}
	t := document.Table{Caption: "Changes that were made during the study", Head: document.Columns("Setting", "Host", "Default", "Before", "Was set to", "For")}
	for _, a := range w.s.Reverted {
		t.Rows = append(t.Rows, []document.Entry{settingEntry(a), {Text: a.Host}, valueEntry(a.Default), valueEntry(a.Before), {Text: a.Value, Class: "mono"}, {Text: cmp.Or(a.Factor, "the baseline"), Sub: a.Why}})
	}
	s.Add(document.Block{Text: text}, t.Block())
	return s
}

// threats lists what casts doubt on the conclusions of this study.
func (w *paperWriter) threats() document.Section {
	s := document.Section{Title: "Threats to validity"}
	if len(w.s.Threats) == 0 {
		s.For = document.Papers
		s.Blocks = []document.Block{{Text: "None was noticed beyond the assumptions of the method."}}
		return s
	}
	b := document.Block{}
	for _, t := range w.s.Threats {
		b.Lines = append(b.Lines, document.Line{Text: t.What, Note: t.Evidence, Next: t.Next, Dim: true})
	}
	s.Blocks = []document.Block{b}
	return s
}

// everyRun is the record of all runs.
func (w *paperWriter) everyRun() document.Section {
	t := document.Table{Fold: "All " + unit.Count(len(w.s.Runs), "run"), Caption: "Every run in the order it was made",
		Head: document.Columns("#Run", "#At", "Stage", "#Block", "State", "Workload", "#Outcome", "#Sent again", "#CPU, busiest host", "Remarks")}
	for _, r := range w.s.Runs {
		at := ""
		if !r.Started.IsZero() && !w.started().IsZero() {
			at = "+" + duration(r.Started.Sub(w.started()))
		}
		counted := document.Entry{}
		if !r.Counted {
			counted = document.Entry{Text: "not counted", Sub: r.Why, Class: "missing"}
		}
		if w.dropped[r.N] {
			counted = document.Entry{Text: "discarded", Sub: "its group did not agree", Class: "missing"}
		}
		for _, x := range r.Warnings {
			counted.Sub = strings.TrimPrefix(counted.Sub+"; "+x.What, "; ")
		}
		re := unknown
		if r.Retransmitted != nil {
			re = fine(*r.Retransmitted)
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: strconv.Itoa(r.N)}, {Text: at}, {Text: r.Stage}, {Text: strconv.Itoa(r.Block)}, {Text: w.stateOf(r).name()}, {Text: r.Workload},
			{Text: runOutcome(r), Class: "strong"}, {Text: re}, {Text: busiestHost(r)}, counted})
	}
	if len(t.Rows) == 0 {
		return document.Section{}
	}
	return document.Section{Title: "Every run", Break: true, Blocks: []document.Block{t.Block()}}
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
	return shareText(best) + " " + host
}

func (w *paperWriter) provenance() document.Section {
	out := []document.Pair{pair("Command", "linerate "+w.r.Command), pair("Build", cmp.Or(w.r.Build, unknown)), pair("Started", moment(w.started())), pair("Took", duration(w.s.Took)),
		pair("Seed of every order", strconv.FormatUint(w.s.File.Protocol.Seed, 10))}
	for _, h := range sorted(w.s.File.Hosts) {
		out = append(out, pair("Host "+h, "reached as "+w.s.File.Hosts[h]))
	}
	if w.s.File.Via != "" {
		out = append(out, pair("Data address of every receiver", w.s.File.Via))
	}
	out = append(out, circumstances(w.r, w.r.Clocks, "conclusions")...)
	out = append(out, pair("Format", fmt.Sprintf("study version %d, study file version %d", w.s.V, w.s.File.V)))
	out = append(out, again(w.r)...)
	if id := runID(w.r.Report); id != "" {
		out = append(out, pair("The data", "linerate report "+id+" --format csv"))
	}
	return document.Section{Title: "Provenance", Blocks: []document.Block{{Pairs: out}}}
}
