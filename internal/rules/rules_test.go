package rules

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// path is 1 Gbit/s at 20 ms: 2.5 MB in flight.
var path = Context{LineRate: unit.Gbit, RTT: 20 * time.Millisecond}

// settings are facts with the given net.ipv4 sysctls.
func settings(kv ...string) *model.Facts {
	f := &model.Facts{Host: "h1", Settings: map[string]model.Fact[string]{}}
	for i := 0; i < len(kv); i += 2 {
		f.Settings["linux.sysctl.net.ipv4."+kv[i]] = model.Known(kv[i+1])
	}
	return f
}

// nic is facts with one NIC that is up.
func nic(change func(*model.NIC)) *model.Facts {
	n := model.NIC{Name: "eth0", Device: "pci:0000:3b:00.0", Up: true, MTU: 1500}
	change(&n)
	return &model.Facts{Host: "h1", NICs: []model.NIC{n}}
}

func features(speed unit.BitRate, on ...string) *model.Facts {
	return nic(func(n *model.NIC) {
		n.Speed = model.Known(speed)
		all := map[string]bool{"tx-tcp-segmentation": false, "tx-generic-segmentation": false, "rx-gro": false, "rx-lro": false}
		for _, name := range on {
			all[name] = true
		}
		n.Features = model.Known(all)
	})
}

func slot(speed unit.BitRate, gts float64, lanes int, maxGTs float64, maxLanes int) *model.Facts {
	return nic(func(n *model.NIC) {
		n.Speed = model.Known(speed)
		n.PCI = model.Known(model.PCISlot{Address: "0000:3b:00.0", GTs: gts, Lanes: lanes, MaxGTs: maxGTs, MaxLanes: maxLanes})
	})
}

// want is one expected finding; bound in bit/s, 0 for none.
type want struct {
	rule, severity string
	bound          float64
	says           string // in Observed
}

func TestRules(t *testing.T) {
	down := func(f *model.Facts) *model.Facts { f.NICs[0].Up = false; return f }
	for _, c := range []struct {
		name  string
		facts *model.Facts
		c     Context
		want  []want
	}{
		{"receive buffer ample", settings("tcp_rmem", "4096 131072 33554432"), path, nil},
		{"receive buffer half a window short", settings("tcp_rmem", "4096 131072 4194304"), path, []want{{"receive-buffer-below-bdp", Medium, 4194304 * 8 / 0.02, "4 MiB"}}},
		{"receive buffer too small", settings("tcp_rmem", "4096 131072 262144"), path, []want{{"receive-buffer-below-bdp", High, 262144 * 8 / 0.02, "256 KiB"}}},
		{"receive buffer on an unknown path", settings("tcp_rmem", "4096 131072 262144"), Context{RTT: time.Second}, nil},
		{"receive buffer unreadable", settings("tcp_rmem", "4096 131072"), path, nil},
		{"receive buffer not a number", settings("tcp_rmem", "a b c"), path, nil},

		{"send buffer ample", settings("tcp_wmem", "4096 16384 4194304"), path, nil},
		{"send buffer short", settings("tcp_wmem", "4096 16384 3000000"), path, []want{{"send-buffer-below-bdp", Medium, 3000000 * 8 / 0.02, "2.86 MiB"}}},
		{"send buffer too small", settings("tcp_wmem", "4096 16384 262144"), path, []want{{"send-buffer-below-bdp", High, 262144 * 8 / 0.02, "256 KiB"}}},

		{"autotuning on", settings("tcp_moderate_rcvbuf", "1"), path, nil},
		{"autotuning off", settings("tcp_moderate_rcvbuf", "0", "tcp_rmem", "4096 131072 33554432"), path, []want{{"receive-autotuning-off", High, 131072 * 8 / 0.02, "128 KiB"}}},
		{"autotuning off, large default", settings("tcp_moderate_rcvbuf", "0", "tcp_rmem", "4096 16777216 33554432"), path, []want{{"receive-autotuning-off", Medium, 16777216 * 8 / 0.02, "16 MiB"}}},
		{"autotuning off, nothing else known", settings("tcp_moderate_rcvbuf", "0"), path, []want{{"receive-autotuning-off", Medium, 0, "= 0"}}},

		{"scaling off", settings("tcp_window_scaling", "0"), path, []want{{"window-scaling-off", High, 65535 * 8 / 0.02, "= 0"}}},
		{"scaling off on a short path", settings("tcp_window_scaling", "0"), Context{LineRate: unit.Gbit, RTT: 100 * time.Microsecond}, []want{{"window-scaling-off", Medium, 65535 * 8 / 0.0001, "= 0"}}},
		{"scaling off, path unknown", settings("tcp_window_scaling", "0"), Context{}, []want{{"window-scaling-off", Medium, 0, "= 0"}}},
		{"sack off", settings("tcp_sack", "0"), path, []want{{"sack-off", Medium, 0, "= 0"}}},
		{"timestamps off", settings("tcp_timestamps", "0"), path, []want{{"timestamps-off", Info, 0, "= 0"}}},
		{"all on", settings("tcp_sack", "1", "tcp_timestamps", "1", "tcp_window_scaling", "1"), path, nil},

		{"offloads on", features(10*unit.Gbit, "tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro"), path, nil},
		{"GSO instead of TSO", features(10*unit.Gbit, "tx-generic-segmentation", "rx-gro"), path, nil},
		{"LRO instead of GRO", features(10*unit.Gbit, "tx-generic-segmentation", "rx-lro"), path, nil},
		{"all off, fast", features(10 * unit.Gbit), path, []want{{"segmentation-offload-off", High, 0, "tx-tcp-segmentation, tx-generic-segmentation, rx-gro off"}}},
		{"GRO off, gigabit", features(unit.Gbit, "tx-tcp-segmentation"), path, []want{{"segmentation-offload-off", Medium, 0, "rx-gro off"}}},
		{"all off, slow", features(500 * unit.Mbit), path, nil},
		{"all off, down", down(features(10 * unit.Gbit)), path, nil},
		{"all off, virtual: speed from the path", nic(func(n *model.NIC) {
			n.Speed = model.Unknown[unit.BitRate](model.Unsupported, "veth")
			n.Features = model.Known(map[string]bool{"tx-tcp-segmentation": false, "tx-generic-segmentation": false})
		}), path, []want{{"segmentation-offload-off", Medium, 0, "1 Gbit/s"}}},

		{"GRO off on a veth", nic(func(n *model.NIC) {
			n.Kind, n.Features = "veth", model.Known(map[string]bool{"tx-tcp-segmentation": true, "tx-generic-segmentation": true, "rx-gro": false})
		}), path, nil},

		{"slot ample", slot(10*unit.Gbit, 8, 8, 8, 8), path, nil},
		{"10G in 5 GT/s x2", slot(10*unit.Gbit, 5, 2, 5, 8), path, []want{{"pcie-below-port", High, 8e9, "5 GT/s x2"}}},
		{"100G in its own 8 GT/s x8", slot(100*unit.Gbit, 8, 8, 8, 8), path, []want{{"pcie-below-port", High, 8e9 * 8 * 128 / 130, "x8"}}},
		{"10G fits, trained low", slot(10*unit.Gbit, 5, 8, 8, 8), path, []want{{"pcie-below-port", Info, 0, "the device can 8 GT/s x8"}}},

		{"half duplex", nic(func(n *model.NIC) { n.Duplex, n.Speed = model.Known("half"), model.Known(unit.Gbit) }), path, []want{{"half-duplex", High, 1e9, "half"}}},
		{"full duplex", nic(func(n *model.NIC) { n.Duplex = model.Known("full") }), path, nil},
		{"fell back to 100", nic(func(n *model.NIC) { n.Speed = model.Known(100 * unit.Mbit) }), path, []want{{"slow-port", Medium, 1e8, "100 Mbit/s"}}},
		{"gigabit", nic(func(n *model.NIC) { n.Speed = model.Known(unit.Gbit) }), path, nil},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, Check(c.facts, c.c), c.want) })
	}
}

func compare(t *testing.T, got []model.Finding, wants []want) {
	t.Helper()
	if len(got) != len(wants) {
		t.Fatalf("found %+v, want %+v", got, wants)
	}
	for i, w := range wants {
		f := got[i]
		if f.Rule != w.rule || f.Severity != w.severity || f.Host != "h1" || !strings.Contains(f.Observed, w.says) {
			t.Errorf("%+v, want %+v", f, w)
		}
		if w.bound == 0 && f.Bound != nil || w.bound != 0 && (f.Bound == nil || math.Abs(float64(*f.Bound)/w.bound-1) > 1e-9) {
			t.Errorf("bound %v, want %v", f.Bound, w.bound)
		}
		if f.Title == "" || f.Fix == "" || f.Source == "" {
			t.Errorf("%s leaves a field empty: %+v", w.rule, f)
		}
	}
}

func TestWorstFirst(t *testing.T) {
	f := settings("tcp_timestamps", "0", "tcp_sack", "0", "tcp_rmem", "4096 131072 262144")
	got := Check(f, path)
	if len(got) != 3 || got[0].Severity != High || got[2].Severity != Info {
		t.Errorf("order: %+v", got)
	}
}

// What nobody could see is no finding, whatever the reason.
func TestRulesAreSilentWithoutFacts(t *testing.T) {
	for _, s := range []model.State{model.Absent, model.Unsupported, model.Denied} {
		f := nic(func(n *model.NIC) {
			n.Speed = model.Unknown[unit.BitRate](s, "x")
			n.Duplex = model.Unknown[string](s, "x")
			n.Features = model.Unknown[map[string]bool](s, "x")
			n.PCI = model.Unknown[model.PCISlot](s, "x")
		})
		f.Settings = map[string]model.Fact[string]{}
		for _, name := range []string{"tcp_rmem", "tcp_wmem", "tcp_sack", "tcp_timestamps", "tcp_window_scaling", "tcp_moderate_rcvbuf"} {
			f.Settings["linux.sysctl.net.ipv4."+name] = model.Fact[string]{State: s, Value: "0", Why: "x"}
		}
		for _, c := range []Context{{}, path} {
			if got := Check(f, c); got != nil {
				t.Errorf("%q: %+v", s, got)
			}
		}
	}
	if got := Check(&model.Facts{}, path); got != nil {
		t.Errorf("no facts at all: %+v", got)
	}
}

func TestEveryRuleIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	for _, r := range All() {
		if !id.MatchString(r.ID) || seen[r.ID] || !strings.HasSuffix(r.Doc, ".") || r.Check == nil {
			t.Errorf("rule %+v: want a new id in kebab-case, a sentence and a check", r)
		}
		seen[r.ID] = true
	}
}

// Findings and verdicts speak of limiters in one language: model's. A rule that
// gives a bound says which limiter that bound is of.
func TestLimitersAreOfTheVocabulary(t *testing.T) {
	known := map[model.LimiterID]bool{}
	for _, l := range model.Limiters() {
		known[l.ID] = l.Where != model.Nowhere
	}
	check := func(rule string, ids []model.LimiterID) {
		for i, id := range ids {
			if !known[id] || slices.Contains(ids[:i], id) {
				t.Errorf("%s: %q is no limiter, or named twice", rule, id)
			}
		}
	}
	limits := map[string][]model.LimiterID{}
	for _, r := range All() {
		check(r.ID, r.Limits)
		limits[r.ID] = r.Limits
	}
	for _, r := range AllPairs() {
		check(r.ID, r.Limits)
	}
	for _, c := range append(linkCases(), append(hostCases(), storageCases()...)...) {
		f := server()
		c.set(f)
		for _, found := range only(Check(f, Context{}), c.rule) {
			if found.Bound != nil && len(found.Limiters) == 0 {
				t.Errorf("%s bounds throughput and names no limiter", c.rule)
			}
			if !slices.Equal(found.Limiters, limits[c.rule]) {
				t.Errorf("%s: its finding names %v, the rule %v", c.rule, found.Limiters, limits[c.rule])
			}
		}
	}
}

// README says how many rules there are.
func TestReadmeCountsTheRules(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("| %d [rules](docs/check.md)", len(All())+len(AllPairs())); !strings.Contains(string(b), want) {
		t.Errorf("README.md has no %q in its row on check", want)
	}
}

// What no buffer holds takes several connections: nobody is told to set more than a kernel takes.
func TestAdviceOnBuffersEndsWhereKernelsDo(t *testing.T) {
	long := Context{LineRate: 400 * unit.Gbit, RTT: 60 * time.Millisecond}
	for _, c := range []struct {
		b    buffer
		c    Context
		want string
	}{
		{buffer{share: 0.5}, Context{LineRate: 100 * unit.Gbit, RTT: 60 * time.Millisecond}, "raise the maximum of x to at least 1.4 GiB"},
		{buffer{share: 0.5}, long, "raise the maximum of x to 2147483647, the most that there is, and use at least 3 connections: one cannot have 2.79 GiB in flight"},
		{buffer{share: 0.25}, long, "raise the maximum of x to 2147483647, the most that there is, and use at least 6 connections: one cannot have 2.79 GiB in flight"},
		{buffer{share: 0.5, most: 1<<31 - 1}, long, "x is at the most that there is: use at least 3 connections: one cannot have 2.79 GiB in flight"},
		{buffer{share: 0.75}, long, "raise the maximum of x to 2147483647, the most that there is, and use at least 3 connections: one cannot have 2.79 GiB in flight"},
	} {
		if got := c.b.fix("x", c.c.BDP()); got != c.want {
			t.Errorf("%s over %s with %g: %q, want %q", c.c.LineRate, c.c.RTT, c.b.share, got, c.want)
		}
	}
	for flight, want := range map[unit.Bytes]string{100: "set 200", unit.GiB / 2: "set 1073741824", 3 * unit.GiB: "set 1073741824; and use at least 4 connections: one cannot have 3 GiB in flight"} {
		if got := fixedFix("set %d", 50, flight); got != want {
			t.Errorf("a buffer that does not grow, for %s: %q, want %q", flight, got, want)
		}
	}
	if got := fixedFix("set %d", unit.GiB, 3*unit.GiB); got != "it is at the most that is of use: use at least 4 connections: one cannot have 3 GiB in flight" {
		t.Error(got)
	}
}
