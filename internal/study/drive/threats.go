package drive

import (
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/study/file"
	"linerate/internal/unit"
)

// Bounds beyond which a study's conclusions get a warning.
const (
	aaTolerance  = 0.05 // of the mean ratio of A/A blocks from 1
	driftBound   = 0.05 // of the baseline's last third against its first
	memoryBound  = 0.5  // correlation of a baseline run with the one before it
	enoughToTell = 12   // baseline runs below which drift and memory are not judged
	lostShare    = 0.1  // of the runs that did not count
)

// FromCache is the warning of a run whose data came from its own host's page cache,
// IntoCache of one whose data stayed there.
const (
	FromCache = "from-page-cache"
	IntoCache = "into-page-cache"
)

// assumptions lists what the conclusions assume.
func (d *Drive) assumptions() []string {
	p := d.file.Protocol
	if p.Name == file.Paper {
		return []string{
			fmt.Sprintf("A case is its first %d runs in a row that lie within %.3g%% (relative standard deviation); groups that do not are made again, which hides what the path varies by.", p.Runs, 100*p.RSD),
			fmt.Sprintf("Differences of %.3g%% and less are not acknowledged. There is no interval and no error rate.", 100*(p.Margin-1)),
			"One baseline was measured, at one time: whatever changed since then looks like an effect of the factor.",
			"Nothing but the level differs between a case and the baseline.",
		}
	}
	out := []string{
		"Without an effect, a block's log-ratio is as likely x as -x: its runs stand side by side and their order is random. No normal distribution is assumed.",
		fmt.Sprintf("Looks after %s blocks only, an error rate of %.3g spent over them in all (Lan and DeMets 1983, as Pocock's boundary would); every interval covers with %.3g%% at whichever look its comparison ends.", list(p.Looks), p.Alpha, 100*(1-p.Alpha)),
		fmt.Sprintf("Declared before the first run: the outcome of %s, and all levels of the file on it, for which p is corrected (Holm 1979). Other workloads are exploratory.", d.file.Primary),
		fmt.Sprintf("\"No effect above margin\" means that the whole interval lies within %.3g%% of none; an interval that merely contains none does not show that.", 100*(p.Margin-1)),
		"Nothing but the level differs between the two sides of a block, and no run changes the next one.",
		"These hosts, this path and this load; another path is another study.",
	}
	switch p.Design {
	case file.OneAtATime, file.Sequence:
		out = append(out, "Each level was tried alone: what two of them do together was not measured.")
	case file.PlackettBurman:
		out = append(out, "Main effects are clear of each other, not of interactions of two factors: a screening without fold-over.")
	case file.Search:
		out = append(out, "The search only chooses the state: its runs enter no comparison, and what it was measured at there is flattered by the choice.",
			"The levels of a factor are ordered, from the baseline on; of states within the margin of the best the one nearest to the baseline was chosen.")
	case file.SplitPlot:
		out = append(out, "A hard factor is changed once per group of cases: what is said of it rests on as many changes as there were blocks.")
	}
	return out
}

func list(n []int) string {
	out := ""
	for i, x := range n {
		switch {
		case i == 0:
		case i == len(n)-1:
			out += " and "
		default:
			out += ", "
		}
		out += fmt.Sprint(x)
	}
	return out
}

// threats lists what casts doubt on the conclusions of this study.
func (d *Drive) threats(all []model.StudyComparison) []model.Warning {
	out := slices.Concat(d.aaThreats(), d.pathThreats(), d.lostThreats(), d.cacheThreats(), d.searchThreats())
	if d.file.Protocol.Name == file.Linerate {
		short := 0
		for _, c := range all {
			if c.Primary && c.N > 0 && c.P == nil {
				short++
			}
		}
		if short > 0 {
			out = append(out, model.Warning{ID: "few-blocks", What: unit.Count(short, "comparison") + " ended before the first planned look",
				Next: "give the study more time: linerate study plan says how much"})
		}
	}
	for _, r := range d.runs {
		if r.Scope == "machine" {
			out = append(out, model.Warning{ID: "machine-scope", What: "CPU figures are of the whole machine, which the hosts share: load of one end shows at the other, and slows it",
				Next: "repeat on hosts of their own before you trust figures that depend on cores"})
			break
		}
	}
	return out
}

// cacheThreats are workloads whose runs were served by their own hosts.
func (d *Drive) cacheThreats() (out []model.Warning) {
	for _, w := range d.file.Workloads {
		counted, of := 0, map[string]int{}
		for _, r := range d.runs {
			if r.Workload != w.Name || !r.Counted {
				continue
			}
			counted++
			for _, id := range []string{FromCache, IntoCache} {
				if slices.ContainsFunc(r.Warnings, func(x model.Warning) bool { return x.ID == id }) {
					of[id]++
				}
			}
		}
		say := func(id, what, next string) {
			if of[id] > 0 {
				out = append(out, model.Warning{ID: id, What: fmt.Sprintf("in %d of %d runs of %s %s", of[id], counted, w.Name, what), Next: next})
			}
		}
		say(FromCache, "data came from the page cache of the host that read it, and not from its server or disk", "say direct: true in the workload, unless the page cache is what you compare")
		say(IntoCache, "frames went into the page cache of the host that recorded them: their rate is its memory's, and not its server's or disk's", "say direct: true in the workload, on a file system that knows direct I/O")
	}
	return out
}

// aaBlocks are the complete A/A blocks of a workload, and the log-ratios of those
// in which something moved.
func (d *Drive) aaBlocks(workload string) (blocks int, logs []float64) {
	for _, c := range d.units {
		if !c.aa() {
			continue
		}
		for _, b := range c.blocks {
			var pair []float64
			for _, s := range b.slots {
				if s.filled && s.want.Workload == workload {
					pair = append(pair, s.value)
				}
			}
			if len(pair) < 2 {
				continue
			}
			blocks++
			if pair[0] > 0 && pair[1] > 0 {
				logs = append(logs, math.Log(pair[1]/pair[0]))
			}
		}
	}
	return blocks, logs
}

func (d *Drive) aaThreats() []model.Warning {
	if d.file.Protocol.Name == file.Paper {
		return []model.Warning{{ID: "no-aa", What: "this protocol runs no A/A check: the noise of the path is not known", Next: "run it with protocol linerate"}}
	}
	_, logs := d.aaBlocks(d.file.Primary)
	if len(logs) < 2 {
		return []model.Warning{{ID: "no-aa", What: "no A/A check was made on " + d.file.Primary + ": the noise of the path is not known", Next: "set aa: 4 in the protocol"}}
	}
	ratio := math.Exp(stat.Mean(logs))
	if p := study.SignFlip(logs); p <= study.Alpha || math.Abs(ratio-1) > aaTolerance {
		return []model.Warning{{ID: "aa-differs", What: fmt.Sprintf("two identical runs in a row differ by a factor of %.3g: %s", ratio, study.WhyIdenticalDiffer(p)),
			Evidence: fmt.Sprintf("%d A/A blocks, p %.2g", len(logs), p), Next: "find what else runs there, lengthen the warm-up, then repeat the study"}}
	}
	return nil
}

// pathThreats checks the baseline of the primary workload for drift and for correlation
// between successive runs.
func (d *Drive) pathThreats() []model.Warning {
	var logs []float64
	for _, r := range d.runs {
		if r.Counted && r.Value != nil && *r.Value > 0 && r.Workload == d.file.Primary && r.Factor == "" && len(r.Levels) == 0 && r.Steps == len(d.file.Baseline) {
			logs = append(logs, math.Log(*r.Value))
		}
	}
	if len(logs) < enoughToTell {
		return nil
	}
	var out []model.Warning
	third := len(logs) / 3
	if drift := math.Exp(stat.Median(logs[len(logs)-third:])-stat.Median(logs[:third])) - 1; math.Abs(drift) > driftBound {
		next := "blocks stand side by side, so comparisons hold; figures of the baseline are those of their own time"
		if d.file.Protocol.Name == file.Paper {
			next = "the one baseline is of another time than the cases: repeat with protocol linerate"
		}
		out = append(out, model.Warning{ID: "drift", What: fmt.Sprintf("the baseline drifted by %+.1f%% from the first third of its runs to the last", 100*drift),
			Evidence: fmt.Sprintf("%d runs of %s", len(logs), d.file.Primary), Next: next})
	}
	if rho := memory(logs); rho > memoryBound {
		out = append(out, model.Warning{ID: "autocorrelation", What: fmt.Sprintf("a run of the baseline resembles the one before it (correlation %.2f): the path carries state from one run to the next", rho),
			Evidence: fmt.Sprintf("%d runs of %s", len(logs), d.file.Primary), Next: "lengthen the warm-up or the runs"})
	}
	return out
}

func (d *Drive) lostThreats() []model.Warning {
	lost := 0
	for _, r := range d.runs {
		if !r.Counted {
			lost++
		}
	}
	if float64(lost) <= lostShare*float64(len(d.runs)) {
		return nil
	}
	return []model.Warning{{ID: "not-counted", What: fmt.Sprintf("%d of %d runs did not count", lost, len(d.runs)),
		Next: "see why, run by run: what disturbs them may disturb the others as well"}}
}

// memory is the correlation of each value with the one before it (lag 1).
func memory(x []float64) float64 {
	m, num, den := stat.Mean(x), 0.0, 0.0
	for i, v := range x {
		den += (v - m) * (v - m)
		if i > 0 {
			num += (v - m) * (x[i-1] - m)
		}
	}
	if den == 0 {
		return 0
	}
	return num / den
}
