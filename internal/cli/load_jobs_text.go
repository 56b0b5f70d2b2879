package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/unit"
)

// jobsText is all runs, which people have read one by one, and then the table.
func jobsText(r *load.JobsResult) (text string, read int, err error) {
	for _, run := range r.Runs {
		one, err := jobText(run)
		if err != nil {
			return "", 0, err
		}
		text += one
	}
	table, err := threadsTable(r)
	if err == nil && table == "" {
		table, err = rateTable(r)
	}
	return text + table, len(text), err
}

func jobText(r load.JobResult) (string, error) {
	text, err := loadText(&r.BlockResult)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(text)
	if r.Flush > 0 {
		fmt.Fprintf(&b, "The sync at the end took %v of the time\n", r.Flush.Round(time.Millisecond))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  - %s\n", n)
	}
	fmt.Fprintln(&b)
	return b.String(), nil
}

// rateTable prints latency against rate, for each row of runs that differ in their
// rate alone.
func rateTable(r *load.JobsResult) (string, error) {
	var rows [][]load.JobResult
	for _, run := range r.Runs {
		last := len(rows) - 1
		switch {
		case run.Rates == "":
		case last >= 0 && rows[last][0].Rates == run.Rates && (run.Curve == nil || run.Curve.Percent > 0):
			rows[last] = append(rows[last], run)
		default:
			rows = append(rows, []load.JobResult{run})
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if len(row) < 2 {
			continue
		}
		fmt.Fprintf(w, "%s\n\tasked/s\treached/s\tbytes/s\tp50\tp99\tp99.9\tmax\tnever began\t\n", row[0].Rates)
		for _, run := range row {
			rateRow(w, run)
		}
		fmt.Fprintln(w)
	}
	return b.String(), w.Flush()
}

// rateRow prints one of them. Latency counts from when a request was due.
func rateRow(w *tabwriter.Writer, run load.JobResult) {
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
	if q.N < load.ThousandthFrom {
		mark = "*" // of fewer requests the slowest, as in the tables above
	}
	fmt.Fprintf(w, "%s\t%s\t%.0f\t%v\t%v\t%v\t%v%s\t%v\t%d\t\n", at, asked, l.IOPS, unit.Bytes(l.BytesPerS), short(q.P50), short(q.P99), short(q.P999), mark, short(q.Max), l.NotStarted)
}

// threadsTable prints bytes per second of each test by the number of threads.
func threadsTable(r *load.JobsResult) (string, error) {
	var tests, threads []string
	rate := map[[2]string]float64{}
	for _, run := range r.Runs {
		name, iozone := strings.CutPrefix(run.Load.Workload, "iozone ")
		test, n, several := strings.Cut(name, ", ")
		if !iozone || !several {
			return "", nil // one number of threads: it stands above
		}
		if !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
		if !slices.Contains(threads, n) {
			threads = append(threads, n)
		}
		rate[[2]string{test, n}] = run.Load.BytesPerS
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "per second\t%s\t\n", strings.Join(tests, "\t"))
	for _, n := range threads {
		fmt.Fprintf(w, "%s\t", n)
		for _, t := range tests {
			fmt.Fprintf(w, "%v\t", unit.Bytes(rate[[2]string{t, n}]))
		}
		fmt.Fprintln(w)
	}
	err := w.Flush()
	return b.String(), err
}
