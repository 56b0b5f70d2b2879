package tune

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
	"linerate/internal/tune/profile"
)

const rmem = "linux.sysctl.net.ipv4.tcp_rmem"

func verdict() model.Verdict {
	return model.Verdict{
		Limiter: model.ReceiverWindow, Line: "the receive buffer is too small",
		Fix: model.Fix{Kind: model.FixSetting, Setting: rmem, Host: "server1", From: "4096 131072 262144", To: "4096 131072 8388608"},
	}
}

func hostFacts() *model.Facts {
	return &model.Facts{Host: "server1", BootID: boot, Settings: map[string]model.Fact[string]{rmem: model.Known("4096 131072 262144")}}
}

// fixPlan is the plan of a verdict's fix.
func fixPlan(v model.Verdict) (model.Plan, error) {
	row, err := FixRow(hostFacts(), v)
	if err != nil {
		return model.Plan{}, err
	}
	return NewPlan("demo-1", hostFacts(), 0, []profile.Row{row})
}

func TestNewPlan(t *testing.T) {
	p, err := fixPlan(verdict())
	if err != nil {
		t.Fatal(err)
	}
	source := p.Changes[0].Source
	want := model.Plan{V: model.PlanVersion, ID: "demo-1", Host: "server1", BootID: boot, Changes: []model.Change{{
		Setting: rmem, From: "4096 131072 262144", To: "4096 131072 8388608", Why: "the receive buffer is too small", Source: source,
	}}}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if !strings.Contains(source, "ip-sysctl.rst") {
		t.Errorf("source %q", source)
	}
}

func TestNewPlanOfADevice(t *testing.T) {
	v := verdict()
	v.Fix.Setting, v.Fix.Target = "linux.ethtool.features", "pci:0000:3b:00.0"
	v.Fix.From, v.Fix.To = "rx-gro=off", "rx-gro=on"
	p, err := fixPlan(v)
	if err != nil || p.Changes[0].Target != "pci:0000:3b:00.0" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNewPlanRefuses(t *testing.T) {
	for name, change := range map[string]func(*model.Verdict){
		"an operator's fix":       func(v *model.Verdict) { v.Fix.Kind = model.FixOperator },
		"no fix":                  func(v *model.Verdict) { v.Fix = model.Fix{Kind: model.FixNone} },
		"another host":            func(v *model.Verdict) { v.Fix.Host = "client1" },
		"a setting nobody knows":  func(v *model.Verdict) { v.Fix.Setting = "linux.sysctl.net.ipv4.tcp_magic" },
		"a value that changed":    func(v *model.Verdict) { v.Fix.From = "4096 131072 6291456" },
		"data safety":             func(v *model.Verdict) { v.Fix.Setting, v.Fix.From, v.Fix.To = "linux.exports.sync", "sync", "async" },
		"a lower maximum":         func(v *model.Verdict) { v.Fix.To = "4096 131072 131072" },
		"a lower default":         func(v *model.Verdict) { v.Fix.To = "4096 65536 8388608" },
		"a value of other shape":  func(v *model.Verdict) { v.Fix.To = "8388608" },
		"a value of no number":    func(v *model.Verdict) { v.Fix.To = "4096 131072 much" },
		"a number beyond 64 bits": func(v *model.Verdict) { v.Fix.To = "4096 131072 99999999999999999999" },
	} {
		v := verdict()
		change(&v)
		if p, err := fixPlan(v); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %+v, %v, want ErrPlan", name, p, err)
		}
	}
}

// What the user typed may be lower and may trade something away; the same value
// from a profile may not. Changes come in the order in which they are made, and
// what is no change is left out.
func TestNewPlanOfRows(t *testing.T) {
	row := func(setting, from, to string, typed bool) profile.Row {
		return profile.Row{Place: profile.Place{Setting: setting}, Now: from, To: to, Change: true, Typed: typed}
	}
	p, err := NewPlan("p", hostFacts(), time.Minute, []profile.Row{
		row(rmem, "4096 131072 262144", "4096 131072 131072", true),
		{Place: profile.Place{Setting: "linux.sysctl.net.ipv4.tcp_wmem"}, Now: "1 2 3", To: "1 2 3"},
		row("linux.link.mtu", "1500", "9000", false),
		row("linux.sysctl.net.ipv4.conf.all.rp_filter", "1", "0", true),
	})
	var got []string
	for _, c := range p.Changes {
		got = append(got, c.Setting)
	}
	want := []string{"linux.link.mtu", rmem, "linux.sysctl.net.ipv4.conf.all.rp_filter"}
	if err != nil || !slices.Equal(got, want) || p.ConfirmWithin != time.Minute {
		t.Errorf("%q, %+v, %v", got, p, err)
	}
	for name, rows := range map[string][]profile.Row{
		"lower":               {row(rmem, "4096 131072 262144", "4096 131072 131072", false)},
		"security":            {row("linux.sysctl.net.ipv4.conf.all.rp_filter", "1", "0", false)},
		"security, perhaps":   {row("linux.sysctl.net.ipv4.conf.all.rp_filter", "1", "strict", false)},
		"a setting of nobody": {row("linux.sysctl.net.ipv4.tcp_magic", "1", "2", true)},
		"twice":               {row(rmem, "1 2 3", "2 3 4", true), row(rmem, "1 2 3", "3 4 5", true)},
	} {
		if p, err := NewPlan("p", hostFacts(), 0, rows); !errors.Is(err, ErrPlan) || len(p.Changes) > 0 {
			t.Errorf("%s: %+v, %v, want ErrPlan", name, p, err)
		}
	}
}
