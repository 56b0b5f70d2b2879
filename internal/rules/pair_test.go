package rules

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// healthyPair is two hosts with a slow routed port and a fast one in a network
// of their own, as dual-homed storage has it.
func healthyPair() *model.Pair {
	end := func(name, last, mac string) model.PairEnd {
		f := settings("tcp_rmem", "4096 131072 16777216", "tcp_wmem", "4096 16384 16777216")
		f.Host = name
		nic := func(ifname, addr string, mtu int, speed unit.BitRate) model.NIC {
			return model.NIC{
				Name: ifname, Device: "pci:" + ifname, Up: true, MTU: mtu, Speed: model.Known(speed), Addrs: []netip.Prefix{netip.MustParsePrefix(addr)},
				Pause: model.Known(model.Pause{Rx: true, Tx: true}), RPFilter: model.Known(0),
			}
		}
		f.NICs = []model.NIC{nic("eth0", "10.0.0."+last+"/24", 1500, unit.Gbit), nic("eth1", "10.0.1."+last+"/24", 9000, 10*unit.Gbit)}
		return model.PairEnd{Name: name, Facts: f, Addr: netip.MustParseAddr("10.0.1." + last), Meant: "eth1", MACs: model.Known(map[string]string{"eth0": mac + "0", "eth1": mac + "1"})}
	}
	p := &model.Pair{A: end("h1", "1", "02:00:00:00:01:0"), B: end("h2", "2", "02:00:00:00:02:0"), Rate: model.Known(10 * unit.Gbit), RTT: model.Known(model.RTT{Min: time.Millisecond, N: 10})}
	cross := model.Crossing{Through: model.Known(true), ArrivedBy: []string{"eth1"}, PathMTU: model.Known(9000), Tried: 9000}
	p.AToB, p.BToA = cross, cross
	p.A.Leaving = model.Known(model.Leaving{Interface: "eth1", MTU: 9000, NextMAC: "02:00:00:00:02:01"})
	p.B.Leaving = model.Known(model.Leaving{Interface: "eth1", MTU: 9000, NextMAC: "02:00:00:00:01:01"})
	return p
}

// Each rule speaks of the one thing that is wrong, with its bound, and no other
// does.
func TestPairRules(t *testing.T) {
	gateway := netip.MustParseAddr("10.0.0.254")
	for name, c := range map[string]struct {
		set   func(p *model.Pair)
		rule  string
		worst string
		bound unit.BitRate
		host  string
		says  string
	}{
		"healthy":       {set: func(*model.Pair) {}},
		"black hole":    {func(p *model.Pair) { p.AToB.PathMTU, p.BToA.PathMTU = model.Known(1500), model.Known(1500) }, "pair-mtu-blackhole", High, 0, "", "9000 at both ends; from h1 (10.0.1.1) to h2 (10.0.1.2) frames above 1500 vanish between them without an ICMP message; from h2 to h1 likewise"},
		"one way":       {func(p *model.Pair) { p.BToA.PathMTU = model.Known(4000) }, "pair-mtu-blackhole", High, 0, "", "from h2 (10.0.1.2) to h1 (10.0.1.1) frames above 4000"},
		"told by a hop": {func(p *model.Pair) { p.AToB.PathMTU, p.AToB.Told, p.AToB.ToldBy = model.Known(1500), 1500, gateway }, "pair-path-mtu-below-ends", Low, 0, "", "10.0.0.254 says by ICMP that it carries 1500"},
		"not measured":  {set: func(p *model.Pair) { p.AToB.PathMTU = model.Fact[int]{} }},
		"MTUs differ": {func(p *model.Pair) {
			p.A.Facts.NICs[1].MTU, p.AToB.Tried, p.AToB.PathMTU, p.BToA.PathMTU = 1500, 1500, model.Known(1500), model.Known(1500)
		}, "pair-mtu-differs", Medium, 0, "h1", "h1 eth1 has MTU 1500, h2 eth1 has 9000"},
		"wrong port": {func(p *model.Pair) { p.A.Leaving.Value = model.Leaving{Interface: "eth0", MTU: 1500, Gateway: gateway} }, "pair-wrong-port", High, unit.Gbit, "h1", "leaves by eth0 (MTU 1500, 1 Gbit/s) via 10.0.0.254"},
		"speeds unknown": {func(p *model.Pair) {
			p.A.Facts.NICs[0].Speed = model.Fact[unit.BitRate]{}
			p.A.Leaving.Value = model.Leaving{Interface: "eth0", MTU: 1500, Gateway: gateway}
		}, "pair-wrong-port", Medium, 0, "h1", "leaves by eth0"},
		"wrong port, seen": {func(p *model.Pair) {
			p.A.Leaving.Value, p.AToB.ArrivedBy = model.Leaving{Interface: "eth0", MTU: 1500, Gateway: gateway}, []string{"eth0"}
		}, "pair-wrong-port", High, unit.Gbit, "h1", "probes came in by eth0"},
		"port of a bond":    {set: func(p *model.Pair) { p.A.Facts.NICs[0].Master = "eth1"; p.A.Leaving.Value.Interface = "eth0" }},
		"answers elsewhere": {func(p *model.Pair) { p.AToB.ArrivedBy, p.A.Leaving.Value.Gateway = []string{"eth0"}, gateway }, "pair-asymmetric-route", Medium, 0, "h2", "came in by eth0; its route back to 10.0.1.1 is by eth1"},
		"by two ports":      {set: func(p *model.Pair) { p.AToB.ArrivedBy = []string{"eth0", "eth1"} }},
		"reverse path":      {func(p *model.Pair) { blocked(p); p.B.Facts.NICs[1].RPFilter = model.Known(1) }, "pair-reverse-path-drops", High, 0, "h2", "no datagram from 10.0.1.1 to 10.0.1.2 arrives; on h2 rp_filter is 1 on eth1"},
		"loose":             {func(p *model.Pair) { blocked(p); p.B.Facts.NICs[1].RPFilter = model.Known(2) }, "pair-wrong-port", High, unit.Gbit, "h2", ""},
		"flux": {func(p *model.Pair) {
			p.A.Leaving.Value.NextMAC, p.AToB.ArrivedBy = "02:00:00:00:02:00", []string{"eth0"}
		}, "pair-arp-flux", High, unit.Gbit, "h2", "for 10.0.1.2, the address of eth1, h1 knows 02:00:00:00:02:00, which is eth0 of h2; probes came in by eth0"},
		"one MAC for all": {set: func(p *model.Pair) {
			p.B.MACs = model.Known(map[string]string{"eth0": "02:00:00:00:02:01", "eth1": "02:00:00:00:02:01"})
		}},
		"somebody else": {func(p *model.Pair) { p.A.Leaving.Value.NextMAC = "02:00:00:00:99:01" }, "pair-other-machine-answers", Info, 0, "h2", "which is no interface of h2"},
		"and takes all": {func(p *model.Pair) {
			p.A.Leaving.Value.NextMAC, p.AToB = "02:00:00:00:99:01", model.Crossing{Through: model.Known(false)}
		}, "pair-other-machine-answers", High, 0, "h2", ""},
		"no neighbour": {set: func(p *model.Pair) { p.A.Leaving.Value.NextMAC = "" }},
		"window": {func(p *model.Pair) {
			p.B.Facts.Settings["linux.sysctl.net.ipv4.tcp_rmem"] = model.Known("4096 87380 125000")
		}, "pair-receive-window-below-bdp", High, unit.Gbit, "h2", "10 Gbit/s at 1ms need 1.19 MiB in flight; the round trip is measured"},
		"tight window": {func(p *model.Pair) {
			p.B.Facts.Settings["linux.sysctl.net.ipv4.tcp_rmem"] = model.Known("4096 87380 2000000")
		}, "pair-receive-window-below-bdp", Medium, 16 * unit.Gbit, "h2", ""},
		"send buffer": {func(p *model.Pair) {
			p.A.Facts.Settings["linux.sysctl.net.ipv4.tcp_wmem"] = model.Known("4096 16384 125000")
		}, "pair-send-buffer-below-bdp", High, unit.Gbit, "h1", ""},
		"no round trip": {set: func(p *model.Pair) {
			p.RTT = model.Fact[model.RTT]{}
			p.A.Facts.Settings["linux.sysctl.net.ipv4.tcp_wmem"] = model.Known("4096 16384 65536")
		}},
		"pause":         {func(p *model.Pair) { p.B.Facts.NICs[1].Pause = model.Known(model.Pause{}) }, "pair-pause-one-end", Low, 0, "", "h1 eth1: receive on, send on; h2 eth1: receive off, send off"},
		"pause unknown": {set: func(p *model.Pair) { p.B.Facts.NICs[1].Pause = model.Unknown[model.Pause](model.Unsupported, "no") }},
		"speeds":        {func(p *model.Pair) { p.B.Facts.NICs[1].Speed = model.Known(40 * unit.Gbit) }, "pair-speeds-differ", Info, 10 * unit.Gbit, "", "h2 eth1 runs 40 Gbit/s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthyPair()
			c.set(p)
			got := CheckPair(p)
			if c.rule == "" {
				if len(got) > 0 {
					t.Fatalf("found %+v", got)
				}
				return
			}
			i := slices.IndexFunc(got, func(f model.Finding) bool { return f.Rule == c.rule })
			if i < 0 {
				t.Fatalf("%s does not speak: %+v", c.rule, got)
			}
			f := got[i]
			if f.Severity != c.worst || f.Host != c.host || !strings.Contains(f.Observed, c.says) || f.Title == "" || f.Fix == "" || f.Source == "" {
				t.Errorf("%+v", f)
			}
			if b := f.Bound; (b != nil) != (c.bound > 0) || b != nil && *b != c.bound {
				t.Errorf("bound %v, want %v", b, c.bound)
			}
			for _, f := range got {
				if f.Rule != c.rule && c.rule != "pair-reverse-path-drops" { // its cause is told too
					t.Errorf("also found %+v", f)
				}
			}
		})
	}
}

// Each end is told by what its own system sets flow control.
func TestPauseIsSetByTheSystemOfEachEnd(t *testing.T) {
	for os, want := range map[string]string{
		"": "ethtool -A eth1", "linux": "ethtool -A eth1", "illumos": "dladm set-linkprop -p flowctrl=bi (or no) eth1", "freebsd": "sysctl of its driver",
		"macos": "networksetup", "windows": "--set 'windows.adapter.flow_control@eth1=3' (or 0)", "onefs": "its vendor's support",
	} {
		p := healthyPair()
		p.B.Facts.OS = os
		p.B.Facts.NICs[1].Pause = model.Known(model.Pause{})
		got := CheckPair(p)
		i := slices.IndexFunc(got, func(f model.Finding) bool { return f.Rule == "pair-pause-one-end" })
		if i < 0 {
			t.Errorf("%s: silent", os)
			continue
		}
		_, atB, _ := strings.Cut(got[i].Fix, "at h2 by ")
		if !strings.Contains(got[i].Fix, "at h1 by ethtool -A eth1 ") || !strings.Contains(atB, want) || os != "" && os != "linux" && strings.Contains(atB, "ethtool") {
			t.Errorf("%s: %s", os, got[i].Fix)
		}
	}
}

// blocked has nothing arrive at the second host, whose route back is by the
// other port.
func blocked(p *model.Pair) {
	p.AToB = model.Crossing{Through: model.Known(false)}
	p.B.Leaving = model.Known(model.Leaving{Interface: "eth0", MTU: 1500, Gateway: netip.MustParseAddr("10.0.0.254")})
}

// Without facts or probes nothing is said, and nothing fails.
func TestPairRulesStaySilent(t *testing.T) {
	for _, p := range []*model.Pair{{}, {A: healthyPair().A}, {A: model.PairEnd{Name: "h1"}, B: healthyPair().B, AToB: healthyPair().AToB}} {
		if got := CheckPair(p); len(got) > 0 {
			t.Errorf("found %+v", got)
		}
	}
	seen := map[string]bool{}
	for _, r := range All() {
		seen[r.ID] = true
	}
	for _, r := range AllPairs() {
		if seen[r.ID] || !strings.HasPrefix(r.ID, "pair-") || !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%q: %q", r.ID, r.Doc)
		}
		seen[r.ID] = true
	}
}

func TestMeantPath(t *testing.T) {
	p := healthyPair()
	a, b := p.A.Facts, p.B.Facts
	for name, c := range map[string]struct {
		set              func()
		statedA, statedB []string
		want             string
	}{
		"fastest":           {set: func() {}, want: "eth1 10.0.1.1 eth1 10.0.1.2"},
		"stated":            {set: func() {}, statedB: []string{"10.0.0.2"}, want: "eth0 10.0.0.1 eth0 10.0.0.2"},
		"down":              {set: func() { b.NICs[1].Up = false }, want: "eth0 10.0.0.1 eth0 10.0.0.2"},
		"no speeds":         {set: func() { a.NICs[1].Speed, b.NICs[0].Speed = model.Fact[unit.BitRate]{}, model.Fact[unit.BitRate]{} }, want: "eth1 10.0.1.1 eth1 10.0.1.2"},
		"docker at both":    {set: func() { b.NICs[1].Addrs = a.NICs[1].Addrs }, want: "eth0 10.0.0.1 eth0 10.0.0.2"},
		"nothing in common": {set: func() { b.NICs = b.NICs[:1]; b.NICs[0].Addrs = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")} }, want: ""},
		"link-local alone": {set: func() {
			a.NICs[0].Addrs = []netip.Prefix{netip.MustParsePrefix("fe80::1/64")}
			b.NICs[0].Addrs = []netip.Prefix{netip.MustParsePrefix("fe80::2/64")}
			b.NICs = b.NICs[:1]
		}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthyPair()
			a, b = p.A.Facts, p.B.Facts
			c.set()
			addrs := func(list []string) (out []netip.Addr) {
				for _, s := range list {
					out = append(out, netip.MustParseAddr(s))
				}
				return out
			}
			e, ok := MeantPath(a, b, addrs(c.statedA), addrs(c.statedB))
			got := ""
			if ok {
				got = strings.Join([]string{e.A, e.AAddr.String(), e.B, e.BAddr.String()}, " ")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
