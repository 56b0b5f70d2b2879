package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// receiveBuffer is the setting that bounds the window if the workload sets no buffer size.
const receiveBuffer = "linux.sysctl.net.ipv4.tcp_rmem"

// levelsOf are the levels that a state combines: one, or one of each factor that
// its name joins.
func (w *paperWriter) levelsOf(x state) []model.StudyLevel {
	if l, ok := levelOf(w.s, x); ok {
		return []model.StudyLevel{l}
	}
	factors, levels := strings.Split(x.Factor, " × "), strings.Split(x.Level, " × ")
	var out []model.StudyLevel
	for i := range min(len(factors), len(levels)) {
		if l, ok := levelOf(w.s, state{factors[i], levels[i]}); ok {
			out = append(out, l)
		}
	}
	return out
}

// fieldsOf returns the numbers of a workload in a state that figures can be plotted against:
// streams, clients, recv_buffer, and tcp_rmem, the largest buffer that the receiver's kernel
// allows.
func (w *paperWriter) fieldsOf(x state, workload string) map[string]string {
	out := map[string]string{}
	for _, l := range w.s.File.Workloads {
		if l.Name != workload {
			continue
		}
		if l.Streams > 0 {
			out["streams"] = strconv.Itoa(l.Streams)
		}
		out["clients"] = strconv.Itoa(cmp.Or(l.Clients, max(len(l.Senders), len(l.Receivers), len(l.Hosts))))
		if l.RecvBuffer > 0 {
			out["recv_buffer"] = strconv.FormatInt(int64(l.RecvBuffer), 10)
		}
		for _, h := range l.Receivers {
			if f := w.factsOf(h); f != nil {
				out["tcp_rmem"] = lastWord(f.Settings[receiveBuffer].Value)
			}
		}
	}
	for _, l := range slices.Concat(w.s.File.Baseline, w.levelsOf(x)) {
		maps.Copy(out, l.Workload)
		for _, set := range l.Set {
			if set.Setting == receiveBuffer {
				out["tcp_rmem"] = lastWord(set.Value)
			}
		}
	}
	return out
}

func lastWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[len(f)-1]
}

// numberOf reads a field: a plain number, or a size in bytes.
func numberOf(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return v, stat.Finite(v)
	}
	b, err := unit.ParseBytes(s)
	return float64(b), err == nil
}

// varied are the fields of a workload that take at least n values over the
// states that have counted runs.
func (w *paperWriter) varied(workload string, n int) []string {
	values := map[string]map[string]bool{}
	for _, x := range w.states {
		if len(w.counted(x, workload)) == 0 {
			continue
		}
		for k, v := range w.fieldsOf(x, workload) {
			if _, ok := numberOf(v); !ok {
				continue
			}
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
		}
	}
	var out []string
	for _, k := range sorted(values) {
		if len(values[k]) >= n {
			out = append(out, k)
		}
	}
	return out
}

// atPoint has the runs of all states with one value of a field and the baseline's values of
// all others.
type atPoint struct {
	x    float64
	runs []model.StudyRun
}

// along returns the points of a field in ascending order, from states that change only that
// field.
func (w *paperWriter) along(workload, field string) []atPoint {
	base := w.fieldsOf(state{}, workload)
	at := map[float64][]model.StudyRun{}
	for _, x := range w.states {
		f := w.fieldsOf(x, workload)
		v, ok := numberOf(f[field])
		if !ok || !w.onlyField(x, base, f, field) {
			continue
		}
		if runs := w.counted(x, workload); len(runs) > 0 {
			at[v] = append(at[v], runs...)
		}
	}
	var out []atPoint
	for _, v := range slices.Sorted(maps.Keys(at)) {
		out = append(out, atPoint{v, at[v]})
	}
	return out
}

// onlyField reports whether a state differs from the baseline only in that field of the
// workload.
func (w *paperWriter) onlyField(x state, base, fields map[string]string, field string) bool {
	for _, l := range w.levelsOf(x) {
		if len(l.Set) > 0 || l.Instruct != "" {
			return false
		}
	}
	for k, v := range fields {
		if k != field && base[k] != v {
			return false
		}
	}
	return x.baseline() || fields[field] != base[field]
}

// scaling shows how the outcome follows a number of clients or streams.
func (w *paperWriter) scaling() document.Section {
	s := document.Section{Title: "Scaling"}
	t := document.Table{Fold: "The numbers behind these figures", Caption: "Outcome by number of clients or streams: mean and range of the counted runs",
		Head: document.Columns("Workload", "Varied", "#Value", "#All together", "#Range", "#Each client", "#n", "#Of linear")}
	var figs []document.Figure
	for i, name := range workloadNames(w.s) {
		for _, field := range []string{"clients", "streams"} {
			points := w.along(name, field)
			if len(points) < 3 || points[0].x <= 0 {
				continue
			}
			figs = append(figs, w.trend(fmt.Sprintf("scaling-%d-%s", i, field), name, field, points))
			w.scalingRows(&t, name, field, points)
		}
	}
	if len(figs) == 0 {
		return document.Section{}
	}
	s.Add(document.Block{Figures: figs}, t.Block())
	return s
}

func (w *paperWriter) trend(id, workload, field string, points []atPoint) document.Figure {
	u := points[0].runs[0].Unit
	all := chart.Curve{Name: "all together", Class: "s1"}
	each := chart.Curve{Name: "each client, mean", Class: "s2"}
	linear := chart.Curve{Name: "linear from the first", Class: "s5"}
	top, desc := 0.0, ""
	first := spanOf(valuesOf(points[0].runs, outcomeValue)).Mean / points[0].x
	for _, p := range points {
		v := spanOf(valuesOf(p.runs, outcomeValue))
		top = max(top, v.Top)
		all.Spots = append(all.Spots, chart.Spot{X: p.x, Y: v.Mean, Low: v.Low, High: v.Top, Title: fmt.Sprintf("%s %s: %s, n = %d", sig(p.x), field, outcome(v.Mean, u), v.N)})
		desc += fmt.Sprintf("%s %s: %s. ", sig(p.x), field, outcome(v.Mean, u))
		if e := spanOf(perClient(p.runs)); e.N > 0 {
			each.Spots = append(each.Spots, chart.Spot{X: p.x, Y: e.Mean, Low: e.Low, High: e.Top, Title: "each client " + outcome(e.Mean, u)})
		}
	}
	div, name := outcomeScale(top, u)
	for _, p := range points {
		if y := first * p.x; y <= top*1.3 {
			linear.Spots = append(linear.Spots, chart.Spot{X: p.x, Y: y, Low: y, High: y})
		}
	}
	t := chart.Trend{XUnit: field, YUnit: name, Curves: scaledCurves(div, all, each, linear)}
	if c := number(w.r.Verdict.Ceiling); c != nil && u == "bit/s" && *c <= top*1.6 {
		t.Marks = []chart.Mark{{Y: *c / div, Label: "ceiling " + rate(w.r.Verdict.Ceiling)}}
	}
	f := document.Figure{Caption: workload + ": " + w.outcomeOf(workload, u) + " as " + field + " are added",
		Legend: []document.Legend{legend("s1", "all together", ""), legend("s5", "linear from the first", "")}, Note: "Mean of the counted runs; whiskers are their range."}
	if len(each.Spots) > 0 {
		f.Legend = slices.Insert(f.Legend, 1, legend("s2", "each client, mean", "range over clients and runs"))
	}
	t.Figure = chart.Figure{ID: id, Title: f.Caption, Desc: desc}
	f.Panels = []document.Panel{{Chart: t}}
	return f
}

func scaledCurves(div float64, curves ...chart.Curve) []chart.Curve {
	var out []chart.Curve
	for _, c := range curves {
		if len(c.Spots) == 0 {
			continue
		}
		for i := range c.Spots {
			c.Spots[i].Y, c.Spots[i].Low, c.Spots[i].High = c.Spots[i].Y/div, c.Spots[i].Low/div, c.Spots[i].High/div
		}
		out = append(out, c)
	}
	return out
}

func perClient(runs []model.StudyRun) []float64 {
	var out []float64
	for _, r := range runs {
		for _, h := range sorted(r.PerClient) {
			out = append(out, r.PerClient[h])
		}
	}
	return out
}

func (w *paperWriter) scalingRows(t *document.Table, workload, field string, points []atPoint) {
	first := spanOf(valuesOf(points[0].runs, outcomeValue)).Mean / points[0].x
	for _, p := range points {
		u := p.runs[0].Unit
		v := spanOf(valuesOf(p.runs, outcomeValue))
		each, of := "–", "–"
		if e := spanOf(perClient(p.runs)); e.N > 0 {
			each = outcome(e.Low, u) + " to " + outcome(e.Top, u)
		}
		if first > 0 && p.x > 0 {
			of = shareText(v.Mean / (first * p.x))
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: workload}, {Text: field}, {Text: sig(p.x), Class: "strong"}, {Text: outcome(v.Mean, u), Class: "strong"},
			{Text: outcome(v.Low, u) + " to " + outcome(v.Top, u)}, {Text: each}, {Text: fmt.Sprint(v.N)}, {Text: of}})
	}
}
