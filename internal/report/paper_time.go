package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
)

// Bounds of a small chart: more lines or points could not be distinguished and would only
// enlarge the page.
const (
	maxLines       = 24
	maxSmallPoints = 160
)

// overTime shows the outcome second by second: every run of a state as a thin
// line, their median as a thick one, all states of a workload on the same axes.
func (w *paperWriter) overTime() document.Section {
	s := document.Section{Title: "Rate over time"}
	for i, name := range workloadNames(w.s) {
		if f, ok := w.seconds(i, name); ok {
			s.Add(document.Block{Figures: []document.Figure{f}})
		}
	}
	if len(s.Blocks) == 0 {
		return document.Section{}
	}
	s.Add(w.courseTable("Seconds", "second", workloadNames(w.s), perSecond))
	return s
}

func (w *paperWriter) seconds(i int, workload string) (document.Figure, bool) {
	f, u, ok := w.course(fmt.Sprintf("seconds-%d", i), workload, course{"s", 1, perSecond})
	f.Caption = workload + ": " + outcomeName(u) + " in each second, in " + f.Caption
	f.Note = "All panels of this figure have the same axes. A point stands for the second that ends there, in long runs for the mean of several." + f.Note
	return f, ok
}

func perSecond(r model.StudyRun) []float64 { return r.PerSecond }

func perFrame(r model.StudyRun) []float64 { return r.PerFrame }

// perFrames shows the rate of each frame of the streams in the same way.
func (w *paperWriter) perFrames() document.Section {
	s := document.Section{Title: "Rate of each frame"}
	var of []string
	for i, name := range workloadNames(w.s) {
		each := 1
		for _, r := range w.s.Runs {
			if r.Workload == name {
				each = max(each, r.FramesEach)
			}
		}
		f, _, ok := w.course(fmt.Sprintf("frames-%d", i), name, course{"frames", float64(each), perFrame})
		if !ok {
			continue
		}
		f.Caption = name + ": bytes of a frame over the time in which it was moved, in " + f.Caption
		what := "a frame"
		if each > 1 {
			what = fmt.Sprintf("the slowest of %d frames in a row", each)
		}
		f.Note = "All panels of this figure have the same axes. A point is " + what + ", of several streams and hosts the slowest; 0 is one that was dropped." + f.Note
		s.Add(document.Block{Figures: []document.Figure{f}})
		of = append(of, name)
	}
	if len(of) > 0 {
		s.Add(w.courseTable("Frames", "frame", of, perFrame))
	}
	return s
}

// course is a quantity over the course of a run, with the distance of its points on the axis.
type course struct {
	unit  string
	every float64
	of    func(model.StudyRun) []float64
}

// course draws the runs of all states of a workload; the caption is the name of the scale. It
// also returns the unit of the outcome.
func (w *paperWriter) course(id, workload string, of course) (document.Figure, string, bool) {
	top, right, u := 0.0, 0.0, ""
	for _, x := range w.states {
		for _, r := range w.counted(x, workload) {
			for _, v := range of.of(r) {
				if stat.Finite(v) {
					top = max(top, v)
				}
			}
			right, u = max(right, of.every*float64(len(of.of(r)))), r.Unit
		}
	}
	if right < 2*of.every {
		return document.Figure{}, "", false // one second is a point, not a course
	}
	div, name := outcomeScale(top, u)
	f := document.Figure{Caption: name, Legend: []document.Legend{legend("thinkey", "each counted run", ""), legend("s1", "their median", "")}}
	most := 1 // one run in so many gets a thin line
	for j, x := range w.states {
		runs := w.counted(x, workload)
		c := chart.Small{XUnit: of.unit, Right: right, Top: top / div}
		n, every := 0, 1+(len(runs)-1)/maxLines
		for k, r := range runs {
			if len(of.of(r)) == 0 {
				continue
			}
			if n++; k%every == 0 {
				c.Runs = append(c.Runs, of.points(of.of(r), div))
			}
		}
		if n == 0 {
			continue
		}
		most = max(most, every)
		c.Mid = of.points(medianCourse(runs, of.of), div)
		title := fmt.Sprintf("%s, n = %d", x.name(), n)
		c.Figure = chart.Figure{ID: fmt.Sprintf("%s-%d", id, j), Title: title, Desc: of.words(runs)}
		f.Panels = append(f.Panels, panel(title, c))
	}
	if most > 1 {
		f.Note += fmt.Sprintf(" Of states with more than %d runs some are drawn, evenly chosen; the medians are of all.", maxLines)
	}
	return f, u, len(f.Panels) > 0
}

func (c course) points(vs []float64, div float64) []chart.Point {
	var out []chart.Point
	for i, v := range vs {
		out = append(out, chart.Point{X: c.every * float64(i+1), Y: v / div})
	}
	out, _ = thinTo(out, maxSmallPoints)
	return out
}

// medianCourse is the median of all runs at each point.
func medianCourse(runs []model.StudyRun, of func(model.StudyRun) []float64) []float64 {
	var out []float64
	for i := 0; ; i++ {
		var at []float64
		for _, r := range runs {
			if vs := of(r); i < len(vs) {
				at = append(at, vs[i])
			}
		}
		if len(at) == 0 {
			return out
		}
		m, ok := finiteMedian(at)
		if !ok {
			m = math.NaN()
		}
		out = append(out, m)
	}
}

func (c course) words(runs []model.StudyRun) string {
	s := spanOf(medianCourse(runs, c.of))
	if s.N == 0 || len(runs) == 0 {
		return ""
	}
	u := runs[0].Unit
	if c.unit == "s" {
		return fmt.Sprintf("median by second between %s and %s over %d s", outcome(s.Low, u), outcome(s.Top, u), s.N)
	}
	return fmt.Sprintf("median by frame between %s and %s over %.0f frames", outcome(s.Low, u), outcome(s.Top, u), c.every*float64(s.N))
}

// courseTable has the figures of the course: the slowest and fastest second or frame, and the
// relative standard deviation.
func (w *paperWriter) courseTable(many, one string, workloads []string, of func(model.StudyRun) []float64) document.Block {
	t := document.Table{Fold: "The numbers behind these figures", Caption: many + " of the counted runs: slowest, median, fastest, and their relative standard deviation",
		Head: document.Columns("Workload", "State", "#Slowest "+one, "#Median", "#Fastest "+one, "#RSD", "#Runs", "#"+many)}
	for _, name := range workloads {
		for _, x := range w.states {
			runs := w.counted(x, name)
			var all []float64
			for _, r := range runs {
				all = append(all, of(r)...)
			}
			v := spanOf(all)
			if v.N == 0 {
				continue
			}
			mid, _ := finiteMedian(all)
			u := runs[0].Unit
			t.Rows = append(t.Rows, []document.Entry{{Text: name}, {Text: x.name(), Class: "strong"}, {Text: outcome(v.Low, u)}, {Text: outcome(mid, u)}, {Text: outcome(v.Top, u)},
				{Text: rsd(all)}, {Text: strconv.Itoa(len(runs))}, {Text: strconv.Itoa(v.N)}})
		}
	}
	return t.Block()
}

// rsd is the standard deviation (n − 1) over the mean.
func rsd(vs []float64) string {
	s := spanOf(vs)
	if s.N < 2 || s.Mean <= 0 {
		return "–"
	}
	sum := 0.0
	for _, v := range vs {
		if stat.Finite(v) {
			sum += (v - s.Mean) * (v - s.Mean)
		}
	}
	return shareText(math.Sqrt(sum/float64(s.N-1)) / s.Mean)
}

// perCore is a table of shades: every core of each host in every state.
func (w *paperWriter) perCore() document.Section {
	s := document.Section{Title: "CPU per core"}
	for _, name := range workloadNames(w.s) {
		for _, host := range w.coreHosts(name) {
			if t, ok := w.coreTable(name, host); ok {
				s.Add(t.Block())
			}
		}
	}
	return s
}

func (w *paperWriter) coreHosts(workload string) []string {
	seen := map[string]bool{}
	for _, r := range w.s.Runs {
		if r.Workload == workload && r.Counted {
			for h := range r.PerCore {
				seen[h] = true
			}
		}
	}
	return sorted(seen)
}

func (w *paperWriter) coreTable(workload, host string) (document.Table, bool) {
	names, rows, cores := w.coreRows(workload, host)
	t := document.Table{Heat: true, Caption: fmt.Sprintf("%s: busy share of each core of %s, mean of the counted runs", workload, host), Head: document.Columns("State", "#n")}
	keep := busiest(rows, cores)
	for _, i := range keep {
		t.Head = append(t.Head, document.Column{Name: "CPU " + strconv.Itoa(i), Num: true})
	}
	for j, row := range rows {
		line := []document.Entry{{Text: names[j], Class: "strong"}, {Text: strconv.Itoa(row[0].N)}}
		for _, i := range keep {
			if i >= len(row) {
				line = append(line, document.Entry{Text: "–", Class: "missing"})
				continue
			}
			line = append(line, document.Entry{Text: shareText(row[i].Mean), Class: shade(row[i].Mean)})
		}
		t.Rows = append(t.Rows, line)
	}
	if workload != w.s.Primary {
		t.Fold = workload + ", " + host
	}
	if len(keep) < cores {
		t.Notes = append(t.Notes, fmt.Sprintf("The %d busiest of %d cores.", len(keep), cores))
	}
	if note := w.scopeNote(workload); note != "" {
		t.Notes = append(t.Notes, note[1:])
	}
	return t, len(rows) > 0
}

// coreRows returns the states with the busy share of each core, and the largest number of
// cores.
func (w *paperWriter) coreRows(workload, host string) (names []string, rows [][]span, cores int) {
	for _, x := range w.states {
		var row []span
		runs := w.counted(x, workload)
		for i := 0; ; i++ {
			v := spanOf(valuesOf(runs, func(r model.StudyRun) (float64, bool) {
				if i >= len(r.PerCore[host]) {
					return 0, false
				}
				return r.PerCore[host][i], true
			}))
			if v.N == 0 {
				break
			}
			row = append(row, v)
		}
		if len(row) > 0 {
			names, rows, cores = append(names, x.name()), append(rows, row), max(cores, len(row))
		}
	}
	return names, rows, cores
}

// busiest returns the cores to show, ascending: all, or the maxCores that were busiest in any
// state.
func busiest(rows [][]span, cores int) []int {
	var keep []int
	peak := make([]float64, cores)
	for i := range cores {
		keep = append(keep, i)
		for _, row := range rows {
			if i < len(row) {
				peak[i] = max(peak[i], row[i].Mean)
			}
		}
	}
	if cores <= maxCores {
		return keep
	}
	slices.SortStableFunc(keep, func(a, b int) int {
		switch {
		case peak[a] > peak[b]:
			return -1
		case peak[a] < peak[b]:
			return 1
		}
		return 0
	})
	keep = keep[:maxCores]
	slices.Sort(keep)
	return keep
}

// latency is a table of percentiles. Percentiles of different runs are never averaged: each
// cell is the range over the runs.
func (w *paperWriter) latency() document.Section {
	t := document.Table{Caption: "Latency from the intended start. Percentiles of runs are not averaged: each cell is the range over the counted runs.",
		Head: document.Columns("Workload", "State", "#p50", "#p99", "#Slowest", "#n")}
	for _, name := range workloadNames(w.s) {
		for _, x := range w.states {
			runs := slices.DeleteFunc(w.counted(x, name), func(r model.StudyRun) bool { return r.P50 == 0 && r.P99 == 0 && r.Max == 0 })
			if len(runs) == 0 {
				continue
			}
			t.Rows = append(t.Rows, []document.Entry{{Text: name}, {Text: x.name(), Class: "strong"}, {Text: times(runs, func(r model.StudyRun) time.Duration { return r.P50 })},
				{Text: times(runs, func(r model.StudyRun) time.Duration { return r.P99 })}, {Text: times(runs, func(r model.StudyRun) time.Duration { return r.Max })}, {Text: strconv.Itoa(len(runs))}})
		}
	}
	if len(t.Rows) == 0 {
		return document.Section{}
	}
	return document.Section{Title: "Latency", Blocks: []document.Block{t.Block()}}
}

func times(runs []model.StudyRun, f func(model.StudyRun) time.Duration) string {
	lo, hi := f(runs[0]), f(runs[0])
	for _, r := range runs {
		lo, hi = min(lo, f(r)), max(hi, f(r))
	}
	if duration(lo) == duration(hi) {
		return duration(lo)
	}
	return duration(lo) + " to " + duration(hi)
}
