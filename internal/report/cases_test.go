package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func windowResults() *model.Results {
	r, _, _ := windowRun()
	return r
}

// passiveRun is what explain leaves: watched from one end, nothing changed,
// the ceiling not known.
func passiveRun() *model.Results {
	return &model.Results{
		Outcome: model.Outcome{V: 1, Restored: true, Warnings: []model.Warning{}, Report: "/home/ada/.local/share/linerate/runs/20261121-080000-explain-k4mp/report.html",
			Verdict: model.Verdict{Limiter: model.ApplicationSource, Where: model.AtApplication, Host: "server", Measured: 29.4 * 8 * unit.Mbit, Confidence: 0.6,
				Fix:          model.Fix{Kind: model.FixOperator, Advice: "Copy with more than one reader, or look at the disk that is read."},
				Alternatives: []model.Alternative{{Limiter: model.SenderCPU, Probe: "log in to the server: linerate explain client1 nas1:/export"}},
				CouldNotSee:  []model.Blind{{What: "sender's tcp_info", WouldShow: "what the sender waits for", How: "run it there too"}},
				Evidence:     []model.Evidence{{What: "the window stood open", Metric: "window_use", Value: 0.04, Unit: "share", Host: "client1", N: 300}}},
			Ladder: []model.Rung{{Rung: "one TCP stream", Measured: of(29.4 * 8 * unit.Mbit), Seen: true}, {Rung: "server disk", How: "log in to the server"}}},
		Command: "explain /mnt/nas", Started: start, Took: 30 * time.Second, Build: "v0.1.0", Hosts: []string{"client1"},
		Runs: []model.Run{{Label: "watched", Goodput: 29.4 * 8 * unit.Mbit, Window: 30 * time.Second}},
	}
}

// healthyRun is at its ceiling: there is nothing to fix.
func healthyRun() *model.Results {
	return &model.Results{Outcome: model.Outcome{V: 1, Restored: true, Verdict: model.Verdict{Limiter: model.None, Where: model.Nowhere,
		Line: "nothing to fix: 932 Mbit/s is 99% of what this path can carry", Measured: 932 * unit.Mbit, Ceiling: of(938 * unit.Mbit),
		ShareOfCeiling: of(0.994), Confidence: 0.95, Fix: model.Fix{Kind: model.FixNone, Advice: "The path is at its ceiling."}}},
		Command: "demo --fault none", Started: start, Build: "v0.1.0"}
}

// fixRun is what fix leaves: one step that was kept, and why it went no further.
func fixRun() *model.Results {
	r := windowResults()
	change := model.Change{Setting: "linux.ethtool.ring.rx", Target: "pci:0000:3b:00.0", From: "512", To: "4096"}
	r.Steps = []model.FixStep{{Verdict: r.Verdict, Host: "server1", Change: &change, Proof: r.Proof, Kept: true, Plan: "fix-1", Why: "kept: it pays"}, {Verdict: r.Verdict, Why: "nothing left to change"}}
	r.Proof, r.Ended = nil, "nothing left to change"
	return r
}

// hostileRun has what a hostile host or bundle may put where text goes, and
// numbers that are none.
func hostileRun() *model.Results {
	bad := "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\x00\r\u202e|`{{.}}"
	nan, inf := unit.BitRate(math.NaN()), unit.BitRate(math.Inf(1))
	r := windowResults()
	v := &r.Verdict
	v.Line, v.Host, v.Fix.From, v.Fix.Host, v.Fix.Advice, v.Limiter = bad, bad, bad, bad, bad, model.LimiterID(bad)
	v.Ceiling, v.Measured, v.ShareOfCeiling, v.Confidence = &inf, nan, of(math.NaN()), math.Inf(-1)
	v.Evidence[0] = model.Evidence{What: bad, Metric: bad, Value: math.NaN(), Unit: bad, Host: bad, Scope: bad}
	v.Evidence[1].Value, v.Evidence[2].Value = math.Inf(1), math.Inf(-1)
	v.ExpectedGain = &model.Gain{Low: nan, High: inf, Why: bad}
	v.Causes[1] = model.Cause{Limiter: model.LimiterID(bad), Where: model.Where(bad), Host: bad, GainLow: &nan, GainHigh: &inf, Confidence: math.NaN(), Evidence: v.Evidence[:1], Fix: v.Fix}
	v.NextLimit = &model.NextLimit{Limiter: model.LimiterID(bad), Host: bad, At: nan, Why: bad}
	r.Ladder[0] = model.Rung{Rung: bad, Seen: true, Ceiling: &nan, Measured: &inf, Formula: bad}
	r.Ladder[1] = model.Rung{Rung: bad, How: bad}
	p := r.Proof
	p.Ratio, p.CILow, p.P, p.AARatio, p.AAP, p.Treatment, p.By = of(math.NaN()), of(math.Inf(1)), math.NaN(), of(math.NaN()), math.NaN(), bad, bad
	p.Baseline[0], p.Treated[1], p.AA[0] = nan, inf, nan
	r.Hosts, r.Command, r.Build, r.Topology, r.Injected, r.LeftOut = []string{bad}, bad, bad, bad, bad, []string{bad}
	r.Runs[0].Goodput, r.Runs[1].Label, r.Findings[0].Title, r.Findings[0].Bound = nan, bad, bad, &nan
	r.Warnings = []model.Warning{{ID: bad, What: bad, Evidence: bad, Next: bad}}
	return r
}

// What speaks against a verdict and what is missing are on the page.
func TestDoubtsAreShown(t *testing.T) {
	r := windowResults()
	r.Verdict.Contradictions = []model.Contradiction{{Sign: model.DataUnread, What: "received data waits"}}
	r.Verdict.Account = &model.Account{Missing: 100e6, Unexplained: 60e6, Parts: []model.AccountPart{
		{What: "a queue stands", Rate: 60e6}, {What: "the window is full", Rate: 39.5e6, Limiter: model.ReceiverWindow}, {What: "next to nothing", Rate: 0.5e6}}}
	var b strings.Builder
	if err := Text(&b, r, false, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"but", "received data waits", "60 Mbit/s (60%)", "a queue stands", "(not explained)", "(receiver-window)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "next to nothing") {
		t.Errorf("a part of half a per cent is shown:\n%s", b.String())
	}
}
