package tune

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
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

func TestNewPlan(t *testing.T) {
	p, err := NewPlan("demo-1", hostFacts(), verdict())
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
	p, err := NewPlan("demo-1", hostFacts(), v)
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
		if p, err := NewPlan("demo-1", hostFacts(), v); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %+v, %v, want ErrPlan", name, p, err)
		}
	}
}
