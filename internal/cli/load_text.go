package cli

import (
	"fmt"
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
	fmt.Fprintf(&b, "%s on %s (%s, %s)\n", l.Workload, r.Spec.Target, engineText(r.Spec), plural(r.Spec.Threads*r.Spec.Depth, "request")+" in flight")
	measured := time.Duration(r.Spec.Duration).Round(time.Millisecond)
	if l.Interrupted {
		fmt.Fprintf(&b, "Interrupted: these figures are of the %v that were measured\n", measured)
	}
	fmt.Fprintf(&b, "%.0f requests per second, %s per second over %v (%s)\n\n", l.IOPS, unit.Bytes(l.BytesPerS), measured, plural(int(l.Requests), "request"))
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
		fmt.Fprintf(&b, "\n%s failed\n", plural(int(l.Failed), "request"))
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

func plural(n int, what string) string { return unit.Count(n, what) }

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
