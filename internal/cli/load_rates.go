package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"linerate/internal/load/block"
	"linerate/internal/unit"
)

// curvePoint is a run's place on a curve of latency against rate.
type curvePoint struct {
	// Percent of Largest; 0: the run that found that out.
	Percent float64 `json:"percent"`
	Largest float64 `json:"largest_iops"`
	// Asked is the rate that requests were due at; 0: none.
	Asked float64 `json:"asked_iops"`
}

// rateTable prints latency against rate, for each row of runs that differ in their
// rate alone.
func (r *jobsResult) rateTable() (string, error) {
	var rows [][]jobResult
	for _, run := range r.Runs {
		last := len(rows) - 1
		switch {
		case run.rates == "":
		case last >= 0 && rows[last][0].rates == run.rates && (run.Curve == nil || run.Curve.Percent > 0):
			rows[last] = append(rows[last], run)
		default:
			rows = append(rows, []jobResult{run})
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if len(row) < 2 {
			continue
		}
		fmt.Fprintf(w, "%s\n\tasked/s\treached/s\tbytes/s\tp50\tp99\tp99.9\tmax\tnever began\t\n", row[0].rates)
		for _, run := range row {
			rateRow(w, run)
		}
		fmt.Fprintln(w)
	}
	return b.String(), w.Flush()
}

// rateRow prints one of them. Latency counts from when a request was due.
func rateRow(w *tabwriter.Writer, run jobResult) {
	l := run.Load
	at, asked := "", "any"
	if rate := run.Spec.Shape.Rate; rate > 0 {
		asked = fmt.Sprintf("%.0f", rate)
	}
	if run.Curve != nil && run.Curve.Percent > 0 {
		at = fmt.Sprintf("%g%%", run.Curve.Percent)
	}
	q, mark := l.Latency, ""
	if q == nil {
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%v\t–\t–\t–\t–\t%d\t\n", at, asked, l.IOPS, unit.Bytes(l.BytesPerS), l.NotStarted)
		return
	}
	if q.N < block.ThousandthFrom {
		mark = "*" // of fewer requests the slowest, as in the tables above
	}
	fmt.Fprintf(w, "%s\t%s\t%.0f\t%v\t%v\t%v\t%v%s\t%v\t%d\t\n", at, asked, l.IOPS, unit.Bytes(l.BytesPerS), short(q.P50), short(q.P99), short(q.P999), mark, short(q.Max), l.NotStarted)
}
