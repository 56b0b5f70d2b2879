package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"linerate/bench/kit"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// beside joins the names of two faults, and their severities, in a case.
const beside = "+"

// Pair is what was measured of two faults at once: the goodput with both, with
// each of them alone, and with neither.
type Pair struct {
	Limiter   model.LimiterID `json:"limiter"` // of the second fault
	Both      []unit.BitRate  `json:"both_bps"`
	FirstOnly []unit.BitRate  `json:"first_only_bps"`
	OtherOnly []unit.BitRate  `json:"other_only_bps"`
	Neither   []unit.BitRate  `json:"neither_bps"`
}

// pairCases are two faults of different limiters at once: one that binds now and
// one that will once the first is gone, in both orders where the severities
// allow it; some of the second kind cannot be seen while the first binds.
func pairCases(repeat int) []Case {
	var out []Case
	for _, p := range [][2]string{
		{"loss-random medium", "rcv-window-sysctl severe"}, {"loss-random mild", "rcv-window-sysctl severe"},
		{"loss-random medium", "send-buffer severe"}, {"loss-random mild", "send-buffer severe"},
		{"loss-random mild", "pacing medium"}, {"loss-random mild", "pacing severe"},
		{"rcv-window-sysctl severe", "send-buffer medium"}, {"rcv-window-sysctl medium", "send-buffer severe"},
		{"rcv-window-sysctl severe", "pacing severe"}, {"rcv-window-sysctl medium", "pacing severe"},
		{"send-buffer severe", "pacing medium"}, {"send-buffer medium", "pacing severe"},
		{"link-rate medium", "rcv-window-sysctl severe"}, {"link-rate severe", "rcv-window-sysctl medium"},
		{"link-rate medium", "send-buffer severe"}, {"link-rate severe", "pacing medium"},
		{"slow-source severe", "rcv-window-sysctl medium"}, {"slow-source severe", "loss-random mild"},
		{"slow-reader severe", "send-buffer medium"}, {"receiver-cpu medium", "send-buffer medium"},
		{"receiver-cpu severe", "rcv-window-sysctl medium"}, {"sender-cpu medium", "rcv-window-sysctl severe"},
		{"window-scaling-off on", "send-buffer severe"}, {"rcv-window-socket medium", "loss-random mild"},
	} {
		a, b := strings.Fields(p[0]), strings.Fields(p[1])
		out = append(out, Case{Fault: a[0] + beside + b[0], Severity: a[1] + beside + b[1], HostKind: topology.Namespace, Workload: "tcp", CC: "cubic", Repeat: repeat, road: fault.LongRoad})
	}
	return out
}

// holdPair asks for the verdict on both faults and then measures the truth of
// each.
func (t *trial) holdPair(ctx context.Context, r *Result, draw *rand.Rand) error {
	if err := t.diagnose(ctx, both, r); err != nil {
		return err
	}
	truth, err := t.truth(ctx, draw, both, first, other, nothing)
	if err != nil {
		return err
	}
	p := r.Pair
	p.Both, p.FirstOnly, p.OtherOnly, p.Neither = truth[both], truth[first], truth[other], truth[nothing]
	r.With, r.Without = append([]unit.BitRate{r.Measured}, p.Both...), p.Neither
	r.Ratio, r.Binds = binds(r.With, r.Without)
	r.shareOf(p.Neither)
	return nil
}

// Outcomes of a pair.
const (
	bothInOrder   = "both, in order"
	bothReversed  = "both, not in order"
	firstBinding  = "the binding one only"
	otherOfTheTwo = "the other one only"
	neitherNamed  = "neither"
	oneCosts      = "not counted: one of them costs nothing"
)

// judgedPair says what the causes were worth. The order is that of the gain that
// taking out each one alone brings; where neither brings more than the other,
// any order is right.
func judgedPair(r Result) string {
	rate, p := geometricMean, r.Pair
	if !(rate(p.Neither) >= leastGain*rate(p.FirstOnly)) || !(rate(p.Neither) >= leastGain*rate(p.OtherOnly)) {
		return oneCosts
	}
	// What is left when the other one is taken out is this one's.
	binding, later := r.Limiter, p.Limiter
	gain, laterGain := rate(p.OtherOnly), rate(p.FirstOnly)
	if laterGain > gain {
		binding, later, gain, laterGain = later, binding, laterGain, gain
	}
	alike := gain < leastGain*laterGain
	i, j := slices.Index(r.Causes, binding), slices.Index(r.Causes, later)
	switch {
	case i >= 0 && j >= 0 && (i < j || alike):
		return bothInOrder
	case i >= 0 && j >= 0:
		return bothReversed
	case i >= 0 || alike && j >= 0:
		return firstBinding
	case j >= 0:
		return otherOfTheTwo
	}
	return neitherNamed
}

// pairs prints what became of two faults at once.
func pairs(b *strings.Builder, results []Result) {
	n, right, head := 0, 0, false
	for _, r := range results {
		if r.Pair == nil {
			continue
		}
		if !head {
			head = true
			b.WriteString("\n")
			kit.Head(b, "two faults at once", "severities", "both", "first only", "second only", "neither", "causes named", "outcome")
		}
		o := judgedPair(r)
		p := r.Pair
		mean := func(v []unit.BitRate) string { return unit.BitRate(math.Round(geometricMean(v))).String() }
		var causes []string
		for _, c := range r.Causes {
			causes = append(causes, string(c))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", strings.ReplaceAll(r.Fault, beside, " + "), strings.ReplaceAll(r.Severity, beside, " + "),
			mean(p.Both), mean(p.FirstOnly), mean(p.OtherOnly), mean(p.Neither), kit.List(causes), o)
		if o != oneCosts {
			n++
			if o == bothInOrder {
				right++
			}
		}
	}
	if n > 0 {
		fmt.Fprintf(b, "\nTwo faults that both cost goodput, both named in the order in which they bind: %s.\n", kit.Share(right, n))
	}
}

// prediction prints how near the foretold goodput came to the measured one
// wherever the limiter was named rightly.
func prediction(b *strings.Builder, results []Result) {
	var off []float64
	near, stated, held := 0, 0, 0
	for _, r := range results {
		if judged(r) != named || r.Predicted == nil {
			continue
		}
		truth := geometricMean(r.Without)
		e := math.Abs(float64(*r.Predicted)/truth - 1)
		off = append(off, e)
		if e <= 0.15 {
			near++
		}
		if r.PredictedLow == nil {
			continue
		}
		stated++
		// The truth is a mean of runs: it may miss an end of the range by their noise.
		const noise = 0.02
		if truth >= (1-noise)*float64(*r.PredictedLow) && truth <= (1+noise)*float64(*r.PredictedHigh) {
			held++
		}
	}
	if len(off) == 0 {
		return
	}
	fmt.Fprintf(b, "Goodput foretold for the fix, against that measured without the fault: off by %.0f%% (median of %d), within 15%% in %s; the range stated held in %s.\n",
		100*kit.MedianOrZero(off), len(off), kit.Share(near, len(off)), kit.Share(held, stated))
}
