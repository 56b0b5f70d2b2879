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
