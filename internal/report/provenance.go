package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// diagnosis is the run that the verdict was drawn from: the one labelled so,
// else the first.
func diagnosis(r *model.Results) (model.Run, bool) {
	for _, run := range r.Runs {
		if run.Label == "diagnosis" {
			return run, true
		}
	}
	if len(r.Runs) == 0 {
		return model.Run{}, false
	}
	return r.Runs[0], true
}

func provenance(r *model.Results) []document.Pair {
	out := []document.Pair{pair("Command", "linerate "+r.Command), pair("Build", cmp.Or(r.Build, unknown)), pair("Started", moment(r.Started)), pair("Took", duration(r.Took))}
	run, ok := diagnosis(r)
	if ok && r.Load == nil {
		out = append(out, pair("Workload", workload(run)))
	}
	return append(append(out, circumstances(r, run.Clocks, "verdict")...), again(r)...)
}

// circumstances are what a run was made in; told is what the lab's doing was told
// after.
func circumstances(r *model.Results, clocks map[string]model.Clock, told string) (out []document.Pair) {
	if r.Topology != "" {
		out = append(out, pair("Topology", r.Topology))
	}
	for _, l := range r.LeftOut {
		out = append(out, pair("Left out", l))
	}
	for _, h := range sorted(clocks) {
		out = append(out, pair("Clock of "+h, fmt.Sprintf("%s from the controller's, known to ± %s", signed(clocks[h].Offset), duration(clocks[h].Error))))
	}
	if r.Injected != "" {
		out = append(out, pair("What the lab had put in place (told after the "+told+")", r.Injected))
	}
	return out
}

// again are the commands that do it once more.
func again(r *model.Results) []document.Pair {
	out := []document.Pair{pair("To reproduce", "linerate "+r.Command)}
	if id := runID(r.Report); id != "" {
		out = append(out, pair("To render again", "linerate report "+id))
	}
	return out
}

// signed prints an offset with its sign: +5 s, 0 ns.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + duration(d)
	}
	return duration(d)
}

// runID is the bundle that a report lies in, whichever system wrote its path.
func runID(report string) string {
	dir := path.Dir(strings.ReplaceAll(report, `\`, "/"))
	if dir == "." || dir == "/" {
		return ""
	}
	return path.Base(dir)
}

func workload(run model.Run) string {
	w := run.Workload
	if w.Streams == 0 {
		return "watched, no load of our own, " + duration(cmp.Or(w.Duration, run.Window))
	}
	s := fmt.Sprintf("TCP from memory to memory, %s → %s, %s, %s of which the first %s is warm-up and not counted",
		endpoint(w.Sender, w.From.String(), w.From.IsValid()), endpoint(w.Receiver, w.To.String(), w.To.IsValid()),
		unit.Count(w.Streams, "stream"), duration(w.Duration), duration(w.Warmup))
	if w.CC != "" {
		s += ", congestion control " + w.CC
	}
	if w.Rate > 0 {
		s += ", source limited to " + w.Rate.String()
	}
	if w.Discard {
		s += ", received data discarded in the kernel (faster than a real receiver)"
	}
	return s
}

func endpoint(host, addr string, known bool) string {
	if !known {
		return host
	}
	return host + " (" + addr + ")"
}

// doubts are the warnings of the outcome, its proof and its runs, each once.
func doubts(r *model.Results) []model.Warning {
	all := slices.Clone(r.Warnings)
	for _, run := range r.Runs {
		for _, w := range run.Warnings {
			if slices.Contains(r.Warnings, w) {
				continue // the outcome has taken it over
			}
			w.What = run.Label + ": " + w.What
			all = append(all, w)
		}
	}
	if r.Proof != nil {
		for _, w := range r.Proof.Warnings {
			all = append(all, model.Warning{What: w})
		}
	}
	var out []model.Warning
	for _, w := range all {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
