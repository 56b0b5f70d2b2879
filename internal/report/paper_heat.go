package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// heat is the table of streams × window: the measured outcome, and what window ÷ RTT allows.
func (w *paperWriter) heat() document.Section {
	s := document.Section{Title: "Streams and window"}
	for _, name := range workloadNames(w.s) {
		fields := w.varied(name, 2)
		for _, window := range []struct{ field, words string }{{"recv_buffer", "receive buffer asked for"}, {"tcp_rmem", "largest receive buffer of the kernel (tcp_rmem)"}} {
			if slices.Contains(fields, "streams") && slices.Contains(fields, window.field) {
				s.Add(w.heatTable(name, window.field, window.words).Block())
			}
		}
	}
	return s
}

func (w *paperWriter) heatTable(workload, field, words string) document.Table {
	rtt, n := w.rtt()
	t := document.Table{Heat: true, Caption: workload + ": mean outcome by number of streams (down) and " + words + " (across); below each the share of what streams × window ÷ round trip allows",
		Notes: []string{"The stronger the shade, the more."}}
	seen := w.heatRows(&t, workload, field, rtt)
	switch {
	case n == 0:
		t.Notes = append(t.Notes, "No round trip was recorded, so the bound of window over round trip cannot be told.")
		return t
	case seen:
		t.Notes = append(t.Notes, "Window: the largest that a receiver advertised in the runs of that cell.")
	case field == "recv_buffer":
		t.Notes = append(t.Notes, "Window: the buffer asked for; no window was recorded. A share above 100% says that the kernel lent more than that.")
	}
	t.Notes = append(t.Notes, fmt.Sprintf("Round trip: %s, the least that a connection of this study saw (n = %d readings). Window over round trip bounds each stream (RFC 7323, section 1); where the link's ceiling is lower, that binds.", duration(rtt), n))
	return t
}

// windowSeen is the largest window that a receiver advertised in these runs, in bytes; 0: none
// was recorded.
func (w *paperWriter) windowSeen(runs []model.StudyRun) float64 {
	most := int64(0)
	for _, r := range runs {
		for _, samples := range w.samples[r.Label] {
			for _, s := range samples {
				for _, c := range s.Conns {
					if c.BytesAcked > c.BytesReceived { // sampled at the sender
						most = max(most, c.SndWnd)
					}
				}
			}
		}
	}
	return float64(most)
}

// heatRows fills the table and reports whether the windows were recorded.
func (w *paperWriter) heatRows(t *document.Table, workload, field string, rtt model.Nanos) (seen bool) {
	type at struct{ streams, window float64 }
	cells := map[at][]model.StudyRun{}
	streams, windows := map[float64]bool{}, map[float64]bool{}
	for _, x := range w.states {
		f := w.fieldsOf(x, workload)
		n, ok1 := numberOf(f["streams"])
		b, ok2 := numberOf(f[field])
		if runs := w.counted(x, workload); ok1 && ok2 && len(runs) > 0 && w.onlyThese(x) {
			cells[at{n, b}] = append(cells[at{n, b}], runs...)
			streams[n], windows[b] = true, true
		}
	}
	top := 0.0
	for _, runs := range cells {
		top = max(top, spanOf(valuesOf(runs, outcomeValue)).Mean)
	}
	t.Head = []document.Column{{Name: "Streams"}}
	for _, b := range slices.Sorted(maps.Keys(windows)) {
		t.Head = append(t.Head, document.Column{Name: unit.Bytes(b).String(), Num: true})
	}
	for _, n := range slices.Sorted(maps.Keys(streams)) {
		row := []document.Entry{{Text: sig(n), Class: "strong"}}
		for _, b := range slices.Sorted(maps.Keys(windows)) {
			runs := cells[at{n, b}]
			window := w.windowSeen(runs)
			seen = seen || window > 0
			if window == 0 && field == "recv_buffer" {
				window = b
			}
			row = append(row, heatCell(runs, top, n*window*8/rtt.Seconds()))
		}
		t.Rows = append(t.Rows, row)
	}
	return seen
}

// heatCell is one cell: the mean, and its share of the bound if there is one.
func heatCell(runs []model.StudyRun, top, bound float64) document.Entry {
	v := spanOf(valuesOf(runs, outcomeValue))
	if v.N == 0 {
		return document.Entry{Text: "–", Class: "missing"}
	}
	e := document.Entry{Text: outcome(v.Mean, runs[0].Unit), Class: shade(v.Mean / top), Sub: fmt.Sprintf("n = %d", v.N)}
	if stat.Finite(bound) && bound > 0 && runs[0].Unit == "bit/s" {
		e.Sub = fmt.Sprintf("%s of %s, n = %d", shareText(v.Mean/bound), unit.BitRate(bound), v.N)
	}
	return e
}

// onlyThese reports whether a state changes only streams and windows.
func (w *paperWriter) onlyThese(x state) bool {
	if x.Factor == "" {
		return x.baseline()
	}
	for _, l := range w.levelsOf(x) {
		if l.Instruct != "" {
			return false
		}
		for k := range l.Workload {
			if k != "streams" && k != "recv_buffer" {
				return false
			}
		}
		for _, set := range l.Set {
			if set.Setting != receiveBuffer {
				return false
			}
		}
	}
	return true
}

// shade is the CSS class of a share of the largest value: h0 … h9.
func shade(share float64) string {
	if !stat.Finite(share) {
		return ""
	}
	return "h" + strconv.Itoa(int(math.Max(0, math.Min(9, math.Floor(share*10)))))
}
