package main

import (
	"testing"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// someResults are one of each outcome.
func someResults() []Result {
	share := 0.5
	res := func(id, severity, cc string, binds bool, limiter, verdict model.LimiterID, confidence float64, alternatives ...model.LimiterID) Result {
		c := longCase(id, severity)
		c.CC = cc
		return Result{V: resultVersion, Seed: 1, Case: c, Limiter: limiter, Binds: binds, Verdict: verdict, Confidence: confidence, Alternatives: alternatives, Build: "abc"}
	}
	slow := res("slow-source", "mild", "cubic", false, model.ApplicationSource, model.LinkRate, 0.85)
	slow.HealthyShare = &share
	beside := res("sack-off", "on", "cubic", false, model.SACKOff, model.PathLoss, 0.7)
	beside.Beside = "loss-random mild"
	failed := res("jitter", "mild", "cubic", false, model.PathQueue, "", 0)
	failed.Error = "the agent is gone"
	foretold := res("loss-random", "mild", "cubic", true, model.PathLoss, model.PathLoss, 0.8)
	at, low, high := 900*unit.Mbit, 100*unit.Mbit, 900*unit.Mbit
	foretold.Without, foretold.Predicted, foretold.PredictedLow, foretold.PredictedHigh = []unit.BitRate{1000 * unit.Mbit}, &at, &low, &high
	two := res("loss-random+pacing", "mild+medium", "cubic", true, model.PathLoss, model.PathLoss, 0.8)
	two.Causes = []model.LimiterID{model.PathLoss, model.Pacing}
	rate := func(v float64) []unit.BitRate { return []unit.BitRate{unit.BitRate(v)} }
	two.Pair = &Pair{Limiter: model.Pacing, Both: rate(1e8), FirstOnly: rate(1.1e8), OtherOnly: rate(5e8), Neither: rate(9e8)}
	return []Result{
		foretold, two,
		res("loss-random", "medium", "cubic", true, model.PathLoss, model.PathQueue, 0.65, model.PathLoss),
		res("loss-random", "severe", "cubic", true, model.PathLoss, model.LinkRate, 0.85, model.PathQueue, model.PathLoss),
		res("loss-random", "medium", "bbr", false, model.PathLoss, model.None, 0.95),
		res("small-queue", "mild", "cubic", true, model.PathQueue, model.None, 0.62),
		res("small-queue", "severe", "bbr", true, model.PathQueue, model.Undetermined, 0.3, model.PathLoss),
		res(healthy, "", "cubic", false, model.None, model.None, 0.95),
		res("a-new-one", "on", "bbr", true, model.Pacing, model.Pacing, 1),
		slow, beside, failed,
	}
}

func TestTable(t *testing.T) {
	got := Table(someResults())
	golden.Same(t, "testdata/table.txt", got)
	// The order of the lines says nothing.
	backwards := someResults()
	for i, j := 0, len(backwards)-1; i < j; i, j = i+1, j-1 {
		backwards[i], backwards[j] = backwards[j], backwards[i]
	}
	if Table(backwards) != got {
		t.Error("the table depends on the order of the results")
	}
}
