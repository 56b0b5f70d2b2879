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
	fmt.Fprintf(&b, "\nTogether they moved %.0f%% of what each moved alone, added up (medians of %s)\n", 100*r.Kept, plural(len(r.Rounds), "round"))
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
