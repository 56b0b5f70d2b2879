package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"linerate/internal/app/load"
	"linerate/internal/unit"
)

func withText(r *load.PoolsResult) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tWORKLOAD\tALONE\tRANGE\tTOGETHER\tRANGE\tKEPT\tRANGE\tP99 ALONE\tTOGETHER")
	for i, t := range r.Targets {
		x := t.Interference
		var p99 [2]string
		for k, runs := range [][]load.RunFigures{pick(r.Rounds, i, false), pick(r.Rounds, i, true)} {
			p99[k] = medianP99(runs)
		}
		fmt.Fprintf(w, "%s\t%s\t%v/s\t%s\t%v/s\t%s\t%.0f%%\t%.0f–%.0f%%\t%s\t%s\n", t.Target, t.Workload, unit.Bytes(x.Alone), span(x.AloneRange),
			unit.Bytes(x.Together), span(x.TogetherRange), 100*x.Kept, 100*x.KeptRange[0], 100*x.KeptRange[1], p99[0], p99[1])
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\nTogether they moved %.0f%% of what each moved alone, added up (medians of %s)\n", 100*r.Kept, plural(len(r.Rounds), "round"))
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String(), nil
}

func span(r [2]float64) string { return fmt.Sprintf("%v–%v", unit.Bytes(r[0]), unit.Bytes(r[1])) }

// pick is a target's runs, alone or together.
func pick(rounds []load.Round, i int, together bool) (out []load.RunFigures) {
	for _, r := range rounds {
		if together {
			out = append(out, r.Together[i])
		} else {
			out = append(out, r.Alone[i])
		}
	}
	return out
}

// medianP99 is the median run's 99th percentile; of the runs, not of requests.
func medianP99(runs []load.RunFigures) string {
	var all []int64
	for _, r := range runs {
		if r.Latency != nil {
			all = append(all, r.Latency.P99)
		}
	}
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return short(all[(len(all)-1)/2]).String()
}
