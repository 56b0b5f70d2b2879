package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestCite(t *testing.T) {
	rate := func(r unit.BitRate) *unit.BitRate { return &r }
	finding := func(host, severity string, bound *unit.BitRate, limiters ...model.LimiterID) model.Finding {
		return model.Finding{Rule: "a-rule", Severity: severity, Host: host, Title: "a title", Fix: "do this", Bound: bound, Limiters: limiters}
	}
	for _, tc := range []struct {
		name    string
		verdict model.Verdict
		found   model.Finding
		want    string // in the note; empty: none
	}{
		{"the same limiter on the same host", model.Verdict{Limiter: model.ReceiverWindow, Host: "b", Fix: model.Fix{Kind: model.FixSetting}}, finding("b", "high", nil, model.ReceiverWindow), "on b: a title [a-rule]"},
		{"one of several limiters", model.Verdict{Limiter: model.SenderCPU, Host: "b"}, finding("b", "low", nil, model.ReceiverCPU, model.SenderCPU), "[a-rule]; do this"},
		{"a limiter of the path", model.Verdict{Limiter: model.PathLoss}, finding("a", "medium", nil, model.PathLoss), "on a"},
		{"a bound that fits", model.Verdict{Limiter: model.NFSConcurrency, Host: "a", Measured: 100 * unit.Mbit}, finding("a", "medium", rate(96*unit.Mbit), model.NFSConcurrency), "on a"},
		{"a bound that was exceeded", model.Verdict{Limiter: model.NFSConcurrency, Host: "a", Measured: 100 * unit.Mbit}, finding("a", "medium", rate(95*unit.Mbit), model.NFSConcurrency), ""},
		{"another host", model.Verdict{Limiter: model.ReceiverWindow, Host: "b"}, finding("a", "high", nil, model.ReceiverWindow), ""},
		{"another limiter", model.Verdict{Limiter: model.SendBuffer, Host: "b"}, finding("b", "high", nil, model.ReceiverWindow), ""},
		{"for information", model.Verdict{Limiter: model.ReceiverWindow, Host: "b"}, finding("b", "info", nil, model.ReceiverWindow), ""},
		{"of no limiter", model.Verdict{Limiter: model.None}, finding("", "high", nil), ""},
	} {
		v := tc.verdict
		cite(&v, []model.Finding{tc.found})
		if got := strings.Join(v.Notes, "|"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if v.Limiter != tc.verdict.Limiter || v.Confidence != tc.verdict.Confidence {
			t.Errorf("%s: the verdict changed", tc.name)
		}
	}
	v := model.Verdict{Limiter: model.PathLoss}
	f := finding("a", "high", nil, model.PathLoss)
	if cite(&v, []model.Finding{f, f, f, f, f}); len(v.Notes) != mostCited {
		t.Errorf("%d notes", len(v.Notes))
	}
}

// Findings are cited for the limiter that stands after the probes, and come after
// what the probes and the watch note.
func TestFindingsFollowTheProbes(t *testing.T) {
	c := knobs{}.build()
	found := func(id model.LimiterID) model.Finding {
		return model.Finding{Rule: "of-" + string(id), Severity: "high", Host: "a", Limiters: []model.LimiterID{id}}
	}
	first := Judge(c).Limiter
	c.Findings = []model.Finding{found(first), found(model.PathLoss)}
	c.Notes = []string{"how it was watched"}
	c.Trials = []Trial{func(v model.Verdict) model.Verdict {
		v.Limiter, v.Host, v.Notes = model.PathLoss, "", []string{"what the probe showed"}
		return v
	}}
	v := Judge(c)
	if len(v.Notes) != 3 || v.Notes[0] != "what the probe showed" || v.Notes[1] != "how it was watched" || !strings.Contains(v.Notes[2], "of-path-loss") {
		t.Errorf("%q", v.Notes)
	}
	if !strings.Contains(v.Line, "path-loss") {
		t.Errorf("the line is of the verdict before the probe: %s", v.Line)
	}
}
