package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"linerate/bench/kit"
	"linerate/internal/lab/fault"
	"linerate/internal/model"
)

// outcome classifies a verdict.
type outcome string

// Outcomes. The first five are of a fault that binds; the last three of a path
// that is healthy, or whose fault costs less than leastGain.
const (
	named        outcome = "named first"
	second       outcome = "named second" // the first alternative
	missed       outcome = "missed"       // said that nothing is wrong
	undetermined outcome = "undetermined"
	wrong        outcome = "wrong"
	quiet        outcome = "quiet" // rightly named nothing
	falseAlarm   outcome = "false alarm"
	// untold: the fault costs nothing here, but what else is wrong may.
	untold outcome = "untold"
)

// judged classifies the verdict of a case.
func judged(r Result) outcome {
	switch {
	case !r.Binds && r.Beside != "":
		return untold
	case !r.Binds && silent(r.Verdict):
		return quiet
	case !r.Binds:
		return falseAlarm
	case r.Verdict == r.Limiter:
		return named
	case len(r.Alternatives) > 0 && r.Alternatives[0] == r.Limiter:
		return second
	case r.Verdict == model.None:
		return missed
	case silent(r.Verdict):
		return undetermined
	}
	return wrong
}

// silent verdicts blame nothing.
func silent(id model.LimiterID) bool {
	return id == model.None || id == model.Undetermined || id == model.StartUp
}

// tally of a group of cases.
type tally struct {
	n      map[outcome]int
	others map[model.LimiterID]int // what was named wrongly, or was a false alarm
}

func newTally() *tally { return &tally{map[outcome]int{}, map[model.LimiterID]int{}} }

func (t *tally) add(r Result) {
	o := judged(r)
	t.n[o]++
	if o == wrong || o == falseAlarm {
		t.others[r.Verdict]++
	}
}

func (t *tally) binding() int {
	return t.n[named] + t.n[second] + t.n[missed] + t.n[undetermined] + t.n[wrong]
}

func (t *tally) free() int { return t.n[quiet] + t.n[falseAlarm] }

func (t *tally) namedWrongly() string {
	ids := slices.Sorted(maps.Keys(t.others))
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf("%s %d", id, t.others[id]))
	}
	return kit.List(out)
}

// Table is what the results say. It depends on nothing else.
func Table(results []Result) string {
	var b strings.Builder
	all, failed := split(results)
	whole := slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.Pair != nil })
	perFault(&b, whole)
	total := perCC(&b, whole)
	calibration(&b, whole)
	fmt.Fprintf(&b, "\n%d cases judged: %d with a fault that binds, %d healthy or with a fault that costs less than %.0f%%, %d where that cannot be told.\n",
		len(whole), total.binding(), total.free(), 100*(leastGain-1), total.n[untold])
	fmt.Fprintf(&b, "Named first: %s. In the first two: %s. False alarms: %s.\n",
		kit.Share(total.n[named], total.binding()), kit.Share(total.n[named]+total.n[second], total.binding()), kit.Share(total.n[falseAlarm], total.free()))
	prediction(&b, whole)
	withServer(&b, whole)
	pairs(&b, all)
	if n := count(all, func(r Result) bool { return r.HealthyShare != nil && *r.HealthyShare < poorLab }); n > 0 {
		fmt.Fprintf(&b, "In %d cases the lab without the fault gave less than %.0f%% of the ceiling; they count like any other.\n", n, 100*poorLab)
	}
	if n := count(all, func(r Result) bool { return r.Stolen >= kit.Spoiled }); n > 0 {
		fmt.Fprintf(&b, "In %d cases the hypervisor took %.0f%% of the CPU or more, in every try; they count like any other.\n", n, 100*kit.Spoiled)
	}
	for _, r := range failed {
		fmt.Fprintf(&b, "not judged: %s: %s\n", r.Key(), r.Error)
	}
	fmt.Fprintf(&b, "Build: %s. Seeds: %s.\n", distinct(all, func(r Result) string { return r.Build }), distinct(all, func(r Result) string { return fmt.Sprint(r.Seed) }))
	return b.String()
}

// withServer prints the verdicts on the same runs with the server in view.
func withServer(b *strings.Builder, results []Result) {
	var seen []Result
	for _, r := range results {
		if w := r.WithServer; w != nil {
			r.Verdict, r.Alternatives, r.Confidence = w.Verdict, w.Alternatives, w.Confidence
			// With the server in view its CPU is a verdict of its own.
			if r.Limiter == model.ServerTime && r.Fault == serverCPU && r.Verdict == model.SenderCPU {
				r.Verdict = r.Limiter
			}
			seen = append(seen, r)
		}
	}
	if len(seen) == 0 {
		return
	}
	b.WriteString("\nThe same runs with the server in view:\n\n")
	perFault(b, seen)
	total := perCC(b, seen)
	calibration(b, seen)
	fmt.Fprintf(b, "\nNamed first: %s. In the first two: %s. False alarms: %s.\n",
		kit.Share(total.n[named], total.binding()), kit.Share(total.n[named]+total.n[second], total.binding()), kit.Share(total.n[falseAlarm], total.free()))
}

// serverCPU is the fault that takes the CPU from a server.
const serverCPU = "server-cpu"

// poorLab: a lab that reaches less than this share of its ceiling was disturbed.
const poorLab = 0.85

// split tells judged cases from failed ones, each sorted by key.
func split(results []Result) (whole, failed []Result) {
	for _, r := range results {
		if r.Error != "" {
			failed = append(failed, r)
		} else {
			whole = append(whole, r)
		}
	}
	byKey := func(a, b Result) int { return cmp.Compare(a.Key(), b.Key()) }
	slices.SortFunc(whole, byKey)
	slices.SortFunc(failed, byKey)
	return whole, failed
}

func perFault(b *strings.Builder, results []Result) {
	tallies := map[string]*tally{}
	limiter := map[string]model.LimiterID{}
	for _, r := range results {
		if tallies[r.Fault] == nil {
			tallies[r.Fault] = newTally()
		}
		tallies[r.Fault].add(r)
		limiter[r.Fault] = r.Limiter
	}
	kit.Head(b, "fault", "limiter", "binds", "named first", "95%", "in first two", "missed", "undetermined", "wrong", "false alarms", "otherwise named")
	for _, id := range inOrder(tallies) {
		t := tallies[id]
		n := t.binding()
		fmt.Fprintf(b, "| %s | %s | %d/%d | %s | %s | %s | %d | %d | %d | %s | %s |\n", id, limiter[id], n, n+t.free()+t.n[untold],
			kit.Of(t.n[named], n), kit.Interval(t.n[named], n), kit.Of(t.n[named]+t.n[second], n), t.n[missed], t.n[undetermined], t.n[wrong],
			kit.Of(t.n[falseAlarm], t.free()), t.namedWrongly())
	}
}

// inOrder is the catalogue's, with what it does not know at the end.
func inOrder(tallies map[string]*tally) []string {
	place := map[string]int{}
	for i, f := range fault.Catalogue() {
		place[f.ID] = i - 1000
	}
	return slices.SortedFunc(maps.Keys(tallies), func(a, b string) int {
		return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a, b))
	})
}

// perCC returns the tally of all.
func perCC(b *strings.Builder, results []Result) *tally {
	all, tallies := newTally(), map[string]*tally{}
	for _, r := range results {
		if tallies[r.CC] == nil {
			tallies[r.CC] = newTally()
		}
		tallies[r.CC].add(r)
		all.add(r)
	}
	b.WriteString("\n")
	kit.Head(b, "congestion control", "named first", "in first two", "false alarms")
	for _, cc := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[cc]
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cc, kit.Share(t.n[named], t.binding()), kit.Share(t.n[named]+t.n[second], t.binding()), kit.Share(t.n[falseAlarm], t.free()))
	}
	return all
}

// calibration holds the stated confidence against how often it was right, over
// the verdicts that claim something.
func calibration(b *strings.Builder, results []Result) {
	const bins = 5
	var n, right [bins]int
	var stated [bins]float64
	for _, r := range results {
		o := judged(r)
		if o == untold || r.Verdict == model.Undetermined || r.Verdict == model.StartUp {
			continue
		}
		i := min(bins-1, int(math.Floor(r.Confidence*bins+1e-9)))
		n[i]++
		stated[i] += r.Confidence
		if o == named || o == quiet {
			right[i]++
		}
	}
	b.WriteString("\n")
	kit.Head(b, "confidence stated", "mean", "right")
	for i := range bins {
		if n[i] > 0 {
			fmt.Fprintf(b, "| %.1f-%.1f | %.2f | %s |\n", float64(i)/bins, float64(i+1)/bins, stated[i]/float64(n[i]), kit.Share(right[i], n[i]))
		}
	}
}

func count(results []Result, is func(Result) bool) int {
	n := 0
	for _, r := range results {
		if is(r) {
			n++
		}
	}
	return n
}

func distinct(results []Result, of func(Result) string) string {
	seen := map[string]bool{}
	for _, r := range results {
		seen[of(r)] = true
	}
	return kit.List(slices.Sorted(maps.Keys(seen)))
}
