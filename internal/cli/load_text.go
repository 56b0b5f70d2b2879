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

// loadWords is the text of a load, and how much of it people have read while it ran.
func loadWords(v load.Value) (text string, read int, err error) {
	switch r := v.(type) {
	case *load.BlockResult:
		text, err = loadText(r)
	case *load.JobsResult:
		return jobsText(r)
	case *load.PoolsResult:
		text, err = withText(r)
	case *load.TCPResult:
		text, err = tcpText(r)
	case *load.FramesResult:
		text, err = framesText(r)
	}
	return text, 0, err
}

// loadText prints what a load took, and then what speaks against it.
func loadText(r *load.BlockResult) (string, error) {
	l := r.Load
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s (%s, %s)\n", l.Workload, r.Spec.Target, engineText(r.Spec), unit.Count(r.Spec.Threads*r.Spec.Depth, "request")+" in flight")
	measured := time.Duration(r.Spec.Duration).Round(time.Millisecond)
	if l.Interrupted {
		fmt.Fprintf(&b, "Interrupted: these figures are of the %v that were measured\n", measured)
	}
	fmt.Fprintf(&b, "%.0f requests per second, %s per second over %v (%s)\n\n", l.IOPS, unit.Bytes(l.BytesPerS), measured, unit.Count(int(l.Requests), "request"))
	if err := quantileTable(&b, l); err != nil {
		return "", err
	}
	if err := runTable(&b, r.Runs); err != nil {
		return "", err
	}
	if r.Together != nil {
		if err := hostTable(&b, r.Hosts, r.Together); err != nil {
			return "", err
		}
	}
	who := "this process"
	if r.Together != nil {
		who = "this program on all hosts"
	}
	if l.CPUPerIO > 0 {
		fmt.Fprintf(&b, "\nCPU %.2f µs per request, %.3f s per GB (%s, kernel included)\n", l.CPUPerIO, l.CPUPerGB, who)
	}
	limited := "no"
	if l.GeneratorLimited {
		limited = "yes: these figures are this program's, not the target's"
	}
	fmt.Fprintf(&b, "\nGenerator limited: %s\n", limited)
	for _, e := range l.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	if l.Failed > 0 {
		fmt.Fprintf(&b, "\n%s failed\n", unit.Count(int(l.Failed), "request"))
		for _, f := range l.Failures[:min(len(l.Failures), 5)] {
			fmt.Fprintf(&b, "  - %s\n", f)
		}
	}
	if r.Spec.Run != "" {
		fmt.Fprintf(&b, "\nWhat was written is stamped with run %s%s\n", r.Spec.Run, ratioWords(r.Spec))
	}
	return b.String(), nil
}

// ratioWords says what data were asked for.
func ratioWords(s load.Ran) string {
	words := ""
	if s.Compress > 1 {
		words += fmt.Sprintf("; it compresses by %.3g", s.Compress)
	}
	if s.Dedup > 1 {
		words += fmt.Sprintf("; each block comes %.3g times on average, and those that come again are without a stamp", s.Dedup)
	}
	return words
}

// quantileTable prints the times of a load. A thousandth of fewer requests than
// that is the slowest of them, and is marked.
func quantileTable(b *strings.Builder, l load.Summary) error {
	if l.Latency == nil {
		fmt.Fprintln(b, "No request succeeded: there are no times.")
		return nil
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\tp50\tp99\tp99.9\tmax\trequests")
	few := false
	row := func(name string, q *load.Quantiles) {
		if q == nil {
			return
		}
		mark := ""
		if q.N < load.ThousandthFrom {
			mark, few = "*", true
		}
		fmt.Fprintf(w, "%s\t%v\t%v\t%v%s\t%v\t%d\n", name, short(q.P50), short(q.P99), short(q.P999), mark, short(q.Max), q.N)
	}
	row("latency", l.Latency)
	row("  of reads", l.Reads)
	row("  of writes", l.Writes)
	for _, z := range l.Sizes {
		row(fmt.Sprintf("  of %v (%v/s)", unit.Bytes(z.Bytes), unit.Bytes(z.BytesPerS)), z.Latency)
	}
	row("service time", l.Service)
	row("syncs", l.Syncs)
	if err := w.Flush(); err != nil {
		return err
	}
	if few {
		fmt.Fprintf(b, "* of fewer than %d requests the slowest\n", load.ThousandthFrom)
	}
	return nil
}

// runTable prints the runs that the one above is the middle of.
func runTable(b *strings.Builder, runs []load.RunFigures) error {
	if len(runs) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nRUN\tREQUESTS/S\tPER SECOND\tP50\tP99\tMAX")
	least, most := runs[0].BytesPerS, runs[0].BytesPerS
	for i, r := range runs {
		least, most = min(least, r.BytesPerS), max(most, r.BytesPerS)
		if r.Latency == nil {
			fmt.Fprintf(w, "%d\t%.0f\t%v\t–\t–\t–\n", i+1, r.IOPS, unit.Bytes(r.BytesPerS))
			continue
		}
		fmt.Fprintf(w, "%d\t%.0f\t%v\t%v\t%v\t%v\n", i+1, r.IOPS, unit.Bytes(r.BytesPerS), short(r.Latency.P50), short(r.Latency.P99), short(r.Latency.Max))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(b, "The figures above are of the run in the middle; the %d ranged from %v to %v per second\n", len(runs), unit.Bytes(least), unit.Bytes(most))
	return nil
}

func engineText(s load.Ran) string {
	words := map[string]string{"ring": "io_uring", "calls": "pread and pwrite", "null": "no target"}[s.Engine]
	if s.Direct {
		words += ", direct"
	} else if s.Engine != "null" {
		words += ", through the page cache"
	}
	return words
}

// short prints nanoseconds with three digits.
func short(ns int64) time.Duration { return unit.Short(time.Duration(ns)) }

// hostTable prints each host's part.
func hostTable(b *strings.Builder, hosts []load.Host, t *load.Together) error {
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nHOST\tREQUESTS/S\tPER SECOND\tP50\tP99\tMAX\tBEGAN\tDONE")
	for _, h := range hosts {
		p50, p99, most := "–", "–", "–"
		if q := h.Latency; q != nil {
			p50, p99, most = short(q.P50).String(), short(q.P99).String(), short(q.Max).String()
		}
		fmt.Fprintf(w, "%s\t%.0f\t%v\t%s\t%s\t%s\t%v\t%v\n", h.Name, h.IOPS, unit.Bytes(h.BytesPerS), p50, p99, most, h.Began.Round(10*time.Microsecond), h.Done.Round(time.Millisecond))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(b, "began within %v (± %v); first done after %v, last after %v; the hosts' own rates add up to %v per second\n",
		t.Spread.Round(10*time.Microsecond), t.Error.Round(10*time.Microsecond), t.FirstDone.Round(time.Millisecond), t.LastDone.Round(time.Millisecond), unit.Bytes(t.SumOfHosts))
	return nil
}

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

func withText(r *load.PoolsResult) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tWORKLOAD\tALONE\tRANGE\tTOGETHER\tRANGE\tKEPT\tRANGE\tP99 ALONE\tTOGETHER")
	for i, t := range r.Targets {
		x := t.Interference
		var p99 [2][]int64
		for _, r := range r.Rounds {
			for k, run := range []load.RunFigures{r.Alone[i], r.Together[i]} {
				if run.Latency != nil {
					p99[k] = append(p99[k], run.Latency.P99)
				}
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%v/s\t%s\t%v/s\t%s\t%.0f%%\t%.0f–%.0f%%\t%s\t%s\n", t.Target, t.Workload, unit.Bytes(x.Alone), span(x.AloneRange),
			unit.Bytes(x.Together), span(x.TogetherRange), 100*x.Kept, 100*x.KeptRange[0], 100*x.KeptRange[1], middleOf(p99[0]), middleOf(p99[1]))
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\nTogether they moved %.0f%% of what each moved alone, added up (medians of %s)\n", 100*r.Kept, unit.Count(len(r.Rounds), "round"))
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String(), nil
}

func span(r [2]float64) string { return fmt.Sprintf("%v–%v", unit.Bytes(r[0]), unit.Bytes(r[1])) }

// middleOf is the median run's percentile; of the runs, not of requests.
func middleOf(p99 []int64) string {
	if len(p99) == 0 {
		return "–"
	}
	slices.Sort(p99)
	return short(p99[(len(p99)-1)/2]).String()
}
