package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/chart"
)

// overTime shows the outcome second by second: every run of a state as a thin
// line, their median as a thick one, all states of a workload on the same axes.
func (w *paperWriter) overTime() paperSection {
	s := paperSection{Title: "Rate over time"}
	for i, name := range workloadNames(w.s) {
		if f, ok := w.seconds(i, name); ok {
			s.Blocks = append(s.Blocks, block{Figures: []paperFigure{w.figure(f)}})
		}
	}
	if len(s.Blocks) == 0 {
		return paperSection{}
	}
	s.Blocks = append(s.Blocks, w.secondsTable())
	return s
}

func (w *paperWriter) seconds(i int, workload string) (paperFigure, bool) {
	top, right, u := 0.0, 0.0, ""
	for _, x := range w.states {
		for _, r := range w.counted(x, workload) {
			for _, v := range r.PerSecond {
				if finite(v) {
					top = max(top, v)
				}
			}
			right, u = max(right, float64(len(r.PerSecond))), r.Unit
		}
	}
	if right < 2 {
		return paperFigure{}, false // one second is a point, not a course
	}
	div, name := outcomeScale(top, u)
	f := paperFigure{Caption: workload + ": " + outcomeName(u) + " in each second, in " + name,
		Legend: []legend{{"thinkey", "each counted run", ""}, {"s1", "their median", ""}}, Note: "All panels of this figure have the same axes. A point stands for the second that ends there."}
	for j, x := range w.states {
		runs := w.counted(x, workload)
		c := chart.Small{XUnit: "s", Right: right, Top: top / div}
		for _, r := range runs {
			if len(r.PerSecond) > 0 {
				c.Runs = append(c.Runs, secondPoints(r.PerSecond, div))
			}
		}
		if len(c.Runs) == 0 {
			continue
		}
		c.Mid = secondPoints(medianCourse(runs), div)
		title := fmt.Sprintf("%s, n = %d", x.name(), len(c.Runs))
		c.Figure = chart.Figure{ID: fmt.Sprintf("seconds-%d-%d", i, j), Title: title, Desc: courseWords(runs)}
		f.Panels = append(f.Panels, panel{title, template.HTML(c.SVG())}) // chart escapes every text
	}
	return f, len(f.Panels) > 0
}

func secondPoints(vs []float64, div float64) []chart.Point {
	var out []chart.Point
	for i, v := range vs {
		out = append(out, chart.Point{X: float64(i + 1), Y: v / div})
	}
	out, _ = thin(out)
	return out
}

// medianCourse is the median of all runs in each second.
func medianCourse(runs []model.StudyRun) []float64 {
	var out []float64
	for i := 0; ; i++ {
		var at []float64
		for _, r := range runs {
			if i < len(r.PerSecond) {
				at = append(at, r.PerSecond[i])
			}
		}
		if len(at) == 0 {
			return out
		}
		m, ok := median(at)
		if !ok {
			m = math.NaN()
		}
		out = append(out, m)
	}
}

func courseWords(runs []model.StudyRun) string {
	s := spanOf(medianCourse(runs))
	if s.N == 0 || len(runs) == 0 {
		return ""
	}
	u := runs[0].Unit
	return fmt.Sprintf("median by second between %s and %s over %d s", outcome(s.Low, u), outcome(s.Top, u), s.N)
}

// secondsTable is the course in numbers: the slowest and fastest second, and
// how even they were.
func (w *paperWriter) secondsTable() block {
	t := paperTable{Fold: "The numbers behind these figures", Caption: "Seconds of the counted runs: slowest, median, fastest, and their relative standard deviation",
		Head: cols("Workload", "State", "#Slowest second", "#Median", "#Fastest second", "#RSD", "#Runs", "#Seconds")}
	for _, name := range workloadNames(w.s) {
		for _, x := range w.states {
			runs := w.counted(x, name)
			var all []float64
			for _, r := range runs {
				all = append(all, r.PerSecond...)
			}
			v := spanOf(all)
			if v.N == 0 {
				continue
			}
			mid, _ := median(all)
			u := runs[0].Unit
			t.Rows = append(t.Rows, []entry{{Text: name}, {Text: x.name(), Class: "strong"}, {Text: outcome(v.Low, u)}, {Text: outcome(mid, u)}, {Text: outcome(v.Top, u)},
				{Text: rsd(all)}, {Text: strconv.Itoa(len(runs))}, {Text: strconv.Itoa(v.N)}})
		}
	}
	return w.table(t)
}

// rsd is the standard deviation (n − 1) over the mean.
func rsd(vs []float64) string {
	s := spanOf(vs)
	if s.N < 2 || s.Mean <= 0 {
		return "–"
	}
	sum := 0.0
	for _, v := range vs {
		if finite(v) {
			sum += (v - s.Mean) * (v - s.Mean)
		}
	}
	return percent(math.Sqrt(sum/float64(s.N-1)) / s.Mean)
}

// perCore is a table of shades: every core of each host in every state.
func (w *paperWriter) perCore() paperSection {
	s := paperSection{Title: "CPU per core"}
	for _, name := range workloadNames(w.s) {
		for _, host := range w.coreHosts(name) {
			if t, ok := w.coreTable(name, host); ok {
				s.Blocks = append(s.Blocks, w.table(t))
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

func (w *paperWriter) coreTable(workload, host string) (paperTable, bool) {
	names, rows, cores := w.coreRows(workload, host)
	t := paperTable{Heat: true, Caption: fmt.Sprintf("%s: busy share of each core of %s, mean of the counted runs", workload, host), Head: cols("State", "#n")}
	keep := busiest(rows, cores)
	for _, i := range keep {
		t.Head = append(t.Head, column{Name: "CPU " + strconv.Itoa(i), Num: true})
	}
	for j, row := range rows {
		line := []entry{{Text: names[j], Class: "strong"}, {Text: strconv.Itoa(row[0].N)}}
		for _, i := range keep {
			if i >= len(row) {
				line = append(line, entry{Text: "–", Class: "missing"})
				continue
			}
			line = append(line, entry{Text: percent(row[i].Mean), Class: shade(row[i].Mean)})
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

// coreRows are the states with what each core did in them, and the most cores
// that any has.
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

// busiest are the cores to show, ascending: all, or the maxCores that were
// busiest in any state.
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

// latency is a table: percentiles of runs are listed side by side, never
// averaged; what is shown is the range of each over the runs.
func (w *paperWriter) latency() paperSection {
	t := paperTable{Caption: "Latency from the intended start. Percentiles of runs are not averaged: each cell is the range over the counted runs.",
		Head: cols("Workload", "State", "#p50", "#p99", "#Slowest", "#n")}
	for _, name := range workloadNames(w.s) {
		for _, x := range w.states {
			runs := slices.DeleteFunc(w.counted(x, name), func(r model.StudyRun) bool { return r.P50 == 0 && r.P99 == 0 && r.Max == 0 })
			if len(runs) == 0 {
				continue
			}
			t.Rows = append(t.Rows, []entry{{Text: name}, {Text: x.name(), Class: "strong"}, {Text: times(runs, func(r model.StudyRun) time.Duration { return r.P50 })},
				{Text: times(runs, func(r model.StudyRun) time.Duration { return r.P99 })}, {Text: times(runs, func(r model.StudyRun) time.Duration { return r.Max })}, {Text: strconv.Itoa(len(runs))}})
		}
	}
	if len(t.Rows) == 0 {
		return paperSection{}
	}
	return paperSection{Title: "Latency", Blocks: []block{w.table(t)}}
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
