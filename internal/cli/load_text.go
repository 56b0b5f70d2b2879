package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// loadDocument is a load for people. As many sections as read says they have read while
// it ran.
func loadDocument(v load.Value) (d document.Document, read int) {
	switch r := v.(type) {
	case *load.BlockResult:
		d.Sections = []document.Section{blockSection(r)}
	case *load.JobsResult:
		for _, run := range r.Runs {
			d.Sections = append(d.Sections, jobSection(run))
		}
		read = len(d.Sections)
		d.Add("", curves(r)...)
	case *load.PoolsResult:
		d.Add("", poolsBlocks(r)...)
	case *load.TCPResult:
		d = tcpDocument(r)
	case *load.FramesResult:
		d = framesDocument(r)
	case *load.FramesTable:
		d = framesTable(r)
	}
	return d, read
}

// blockSection is what a load took, and then what speaks against it.
func blockSection(r *load.BlockResult) document.Section {
	l, spec := r.Load, r.Spec
	s := document.Section{Title: fmt.Sprintf("%s on %s (%s, %s in flight)", l.Workload, spec.Target, engineText(spec), unit.Count(spec.Threads*spec.Depth, "request"))}
	say := func(format string, values ...any) { s.Add(document.Block{Text: fmt.Sprintf(format, values...)}) }
	measured := time.Duration(spec.Duration).Round(time.Millisecond)
	if l.Interrupted {
		say("Interrupted: these figures are of the %v that were measured", measured)
	}
	if c := l.Change; c != nil {
		name := map[load.ChangeKind]string{load.Cliff: "A cliff", load.Rise: "A rise"}[c.Kind]
		say("%s after %s: %s per second%s for %d s, then %s: two levels, and no mean is the rate", name, c.After, unit.Bytes(c.Before), intoMemory(l), c.At, unit.Bytes(c.Behind))
		say("Over all %v it made %.0f requests per second (%s)", measured, l.IOPS, unit.Count(int(l.Requests), "request"))
	} else {
		say("%.0f requests per second, %s per second%s over %v (%s)", l.IOPS, unit.Bytes(l.BytesPerS), intoMemory(l), measured, unit.Count(int(l.Requests), "request"))
	}
	s.Add(quantileBlock(l))
	who := "this process"
	if len(r.Runs) > 0 {
		s.Add(runsBlock(r.Runs))
	}
	if r.Together != nil {
		s.Add(hostsBlock(r.Hosts, r.Together))
		who = "this program on all hosts"
	}
	if l.CPUPerIO > 0 {
		say("CPU %.2f µs per request, %.3f s per GB (%s, kernel included)", l.CPUPerIO, l.CPUPerGB, who)
	}
	if spec.Run != "" {
		say("What was written is stamped with run %s%s", spec.Run, ratioWords(spec))
	}
	limited := "no"
	if l.GeneratorLimited {
		limited = "yes: these figures are this program's, not the target's"
	}
	s.Add(document.List("Generator limited: "+limited, l.Evidence...))
	if l.Failed > 0 {
		s.Add(document.List(unit.Count(int(l.Failed), "request")+" failed", l.Failures[:min(len(l.Failures), 5)]...))
	}
	return s
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

// quantileCells are quantiles in the order of their columns, and dashes where there are none. A
// thousandth of fewer requests than that is the slowest of them, and is marked.
func quantileCells(q *load.Quantiles) []string {
	if q == nil {
		return []string{"–", "–", "–", "–"}
	}
	mark := ""
	if q.N < load.ThousandthFrom {
		mark = "*"
	}
	return []string{short(q.P50), short(q.P99), short(q.P999) + mark, short(q.Max)}
}

// quantileBlock is the times of a load.
func quantileBlock(l load.Summary) document.Block {
	if l.Latency == nil {
		return document.Block{Text: "No request succeeded: there are no times."}
	}
	t := document.Table{Head: document.Columns("", "#p50", "#p99", "#p99.9", "#max", "#requests")}
	row := func(name string, q *load.Quantiles) {
		if q == nil {
			return
		}
		t.Row(slices.Concat([]string{name}, quantileCells(q), []string{strconv.FormatInt(q.N, 10)})...)
		if q.N < load.ThousandthFrom {
			t.Notes = []string{fmt.Sprintf("* of fewer than %d requests the slowest", load.ThousandthFrom)}
		}
	}
	row("latency", l.Latency)
	row("  of reads", l.Reads)
	row("  of writes", l.Writes)
	for _, z := range l.Sizes {
		row(fmt.Sprintf("  of %v (%v/s)", unit.Bytes(z.Bytes), unit.Bytes(z.BytesPerS)), z.Latency)
	}
	row("service time", l.Service)
	row("syncs", l.Syncs)
	return t.Block()
}

// partCells are the cells of a part of a load: requests and bytes per second, and times.
func partCells(name string, iops, bytesPerS float64, q *load.Quantiles) []string {
	t := quantileCells(q)
	return []string{name, fmt.Sprintf("%.0f", iops), unit.Bytes(bytesPerS).String(), t[0], t[1], t[3]}
}

// runsBlock is the runs that the one above is the middle of.
func runsBlock(runs []load.RunFigures) document.Block {
	t := document.Table{Head: document.Columns("Run", "#Requests/s", "#Per second", "#p50", "#p99", "#max")}
	least, most := runs[0].BytesPerS, runs[0].BytesPerS
	for i, r := range runs {
		least, most = min(least, r.BytesPerS), max(most, r.BytesPerS)
		t.Row(partCells(strconv.Itoa(i+1), r.IOPS, r.BytesPerS, r.Latency)...)
	}
	t.Notes = []string{fmt.Sprintf("The figures above are of the run in the middle; the %d ranged from %v to %v per second", len(runs), unit.Bytes(least), unit.Bytes(most))}
	return t.Block()
}

func engineText(s load.Ran) string {
	words := map[string]string{"ring": "io_uring", "calls": "a thread for each request", "null": "no target"}[s.Engine]
	if s.Direct {
		words += ", direct"
	} else if s.Engine != "null" {
		words += ", through the page cache"
	}
	if s.Engine != "null" && s.Shape.Read < 1 {
		words += ", " + syncText(s.Sync)
	}
	return words
}

func syncText(sync string) string {
	switch load.Sync(sync) {
	case load.EveryWrite:
		return "each write synced"
	case load.AfterWrites:
		return "synced after some writes"
	}
	return "no sync"
}

// intoMemory marks a rate that is the page cache's: the whole load's, or its writes'.
func intoMemory(l load.Summary) string {
	switch {
	case !l.Buffered || l.WrittenOut:
		return ""
	case l.Reads != nil:
		return " (writes into this host's memory)"
	}
	return " into this host's memory"
}

// short prints nanoseconds with three digits.
func short(ns int64) string { return unit.Short(time.Duration(ns)).String() }

// hostsBlock is each host's part.
func hostsBlock(hosts []load.Host, all *load.Together) document.Block {
	t := document.Table{Head: document.Columns("Host", "#Requests/s", "#Per second", "#p50", "#p99", "#max", "#Began", "#Done")}
	for _, h := range hosts {
		t.Row(append(partCells(h.Name, h.IOPS, h.BytesPerS, h.Latency), h.Began.Round(10*time.Microsecond).String(), h.Done.Round(time.Millisecond).String())...)
	}
	t.Notes = []string{fmt.Sprintf("began within %v (± %v); first done after %v, last after %v; the hosts' own rates add up to %v per second", all.Spread.Round(10*time.Microsecond),
		all.Error.Round(10*time.Microsecond), all.FirstDone.Round(time.Millisecond), all.LastDone.Round(time.Millisecond), unit.Bytes(all.SumOfHosts))}
	return t.Block()
}

func jobSection(r load.JobResult) document.Section {
	s := blockSection(&r.BlockResult)
	if r.Flush > 0 {
		s.Add(document.Block{Text: fmt.Sprintf("The sync at the end took %v of the time", r.Flush.Round(time.Millisecond))})
	}
	s.Add(document.List("", r.Notes...))
	return s
}

// curves are the runs of one command beside each other: bytes per second by the number of
// threads, or latency against rate for each row of runs that differ in their rate alone.
func curves(r *load.JobsResult) (out []document.Block) {
	if t := threadsTable(r); len(t.Rows) > 0 {
		return []document.Block{t.Block()}
	}
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
	for _, row := range rows {
		if len(row) < 2 {
			continue
		}
		t := document.Table{Caption: row[0].Rates, Head: document.Columns("#asked/s", "#reached/s", "#bytes/s", "#p50", "#p99", "#p99.9", "#max", "#never began")}
		for _, run := range row {
			t.Rows = append(t.Rows, rateRow(run))
		}
		out = append(out, t.Block())
	}
	return out
}

// rateRow is one of them. Latency counts from when a request was due.
func rateRow(run load.JobResult) []document.Entry {
	l, asked := run.Load, document.Entry{Text: "any"}
	if rate := run.Spec.Shape.Rate; rate > 0 {
		asked.Text = fmt.Sprintf("%.0f", rate)
	}
	if run.Curve != nil && run.Curve.Percent > 0 {
		asked.Sub = fmt.Sprintf("%g%%", run.Curve.Percent)
	}
	cells := append([]string{fmt.Sprintf("%.0f", l.IOPS), unit.Bytes(l.BytesPerS).String()}, quantileCells(l.Latency)...)
	return append([]document.Entry{asked}, document.Cells(append(cells, strconv.FormatInt(l.NotStarted, 10))...)...)
}

// threadsTable is bytes per second of each test by the number of threads; empty where there
// is one number of them, which stands above.
func threadsTable(r *load.JobsResult) (t document.Table) {
	var tests, threads []string
	rate := map[[2]string]float64{}
	for _, run := range r.Runs {
		name, iozone := strings.CutPrefix(run.Load.Workload, "iozone ")
		test, n, several := strings.Cut(name, ", ")
		if !iozone || !several {
			return t
		}
		if !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
		if !slices.Contains(threads, n) {
			threads = append(threads, n)
		}
		rate[[2]string{test, n}] = run.Load.BytesPerS
	}
	t.Head = document.Columns("per second")
	for _, test := range tests {
		t.Head = append(t.Head, document.Column{Name: test, Num: true})
	}
	for _, n := range threads {
		cells := []string{n}
		for _, test := range tests {
			cells = append(cells, unit.Bytes(rate[[2]string{test, n}]).String())
		}
		t.Row(cells...)
	}
	return t
}

// poolsBlocks are two targets, each alone and both at once.
func poolsBlocks(r *load.PoolsResult) []document.Block {
	table := document.Table{Head: document.Columns("Target", "Workload", "#Median", "#Range", "#p99")}
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
		table.Row(t.Target+" alone", t.Workload, unit.Bytes(x.Alone).String()+"/s", span(x.AloneRange), middleOf(p99[0]))
		table.Row(t.Target+" together", t.Workload, unit.Bytes(x.Together).String()+"/s", span(x.TogetherRange), middleOf(p99[1]))
		table.Row(t.Target+" kept", t.Workload, unit.Percent(x.Kept), fmt.Sprintf("%.0f–%.0f%%", 100*x.KeptRange[0], 100*x.KeptRange[1]), "")
	}
	together := fmt.Sprintf("Together they moved %.0f%% of what each moved alone, added up (medians of %s)", 100*r.Kept, unit.Count(len(r.Rounds), "round"))
	return []document.Block{table.Block(), document.List(together, r.Evidence...)}
}

func span(r [2]float64) string { return fmt.Sprintf("%v–%v", unit.Bytes(r[0]), unit.Bytes(r[1])) }

// middleOf is the median run's percentile; of the runs, not of requests.
func middleOf(p99 []int64) string {
	if len(p99) == 0 {
		return "–"
	}
	slices.Sort(p99)
	return short(stat.NearestRank(p99, 0.5))
}
