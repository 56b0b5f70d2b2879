package studytest

import (
	"math"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// blocks makes the runs of one comparison and fills what came of it.
func (m *maker) blocks(e effect, w int, ratio float64, c *model.StudyComparison) {
	n := 8
	if e.wide {
		n = 12
	}
	if m.protocol == "paper" {
		m.groups(e, w, ratio, c)
		return
	}
	var logs []float64
	for b := 1; b <= n; b++ {
		base := *m.run("compare", b, effect{}, e.factor+" "+e.level, w, 1)
		treated := *m.run("compare", b, e, "", w, ratio)
		if e.factor == "ring buffers" && b == 3 && w == 0 { // a broken precondition: made again
			last := &m.s.Runs[len(m.s.Runs)-1]
			last.Counted, last.Why = false, "230 Mbit/s of other traffic on eth0 of client1"
			treated = *m.run("compare", b, e, "", w, ratio)
		}
		logs = append(logs, math.Log(*treated.Value / *base.Value))
		c.Baseline, c.Treated = c.Baseline+*base.Value/float64(n), c.Treated+*treated.Value/float64(n)
	}
	m.conclude(c, logs)
}

// conclude is a normal approximation: enough for a made-up study.
func (m *maker) conclude(c *model.StudyComparison, logs []float64) {
	mean, sum := 0.0, 0.0
	for _, l := range logs {
		mean += l / float64(len(logs))
	}
	for _, l := range logs {
		sum += (l - mean) * (l - mean)
	}
	se := math.Sqrt(sum/float64(len(logs)-1)) / math.Sqrt(float64(len(logs)))
	lo, hi := mean-2.6*se, mean+2.6*se
	p := math.Erfc(math.Abs(mean) / se / math.Sqrt2)
	p = max(p, 2/math.Exp2(float64(len(logs))))
	c.N, c.Made, c.Took, c.Effective = len(logs), 2*len(logs), time.Duration(2*len(logs))*24*time.Second, of(true)
	c.Ratio, c.CILow, c.CIHigh, c.P, c.Smallest = of(math.Exp(mean)), of(math.Exp(lo)), of(math.Exp(hi)), &p, of(math.Exp(3.24*se))
	if c.Primary {
		c.PHolm = of(min(1, p*6))
	}
	margin := math.Log(1.02)
	switch {
	case lo > 0 && (!c.Primary || *c.PHolm < 0.05):
		c.Conclusion = model.StudyGain
	case hi < 0 && (!c.Primary || *c.PHolm < 0.05):
		c.Conclusion = model.StudyLoss
	case lo > -margin && hi < margin:
		c.Conclusion = model.StudyNoEffect
	default:
		c.Conclusion = model.StudyUndecided
	}
}

// groups makes three runs of each state by the older protocol, the first group
// of one factor with an outlier.
func (m *maker) groups(e effect, w int, ratio float64, c *model.StudyComparison) {
	if e.wide {
		d := model.StudyDiscarded{Factor: e.factor, Level: e.level, Workload: workloads[w], RSD: 0.083}
		for range 3 {
			r := m.run("compare", 1, e, "", w, ratio)
			r.Counted, r.Why = false, "its group did not agree: RSD 8.3%, at most 5% is allowed"
			d.Runs, d.Values = append(d.Runs, r.N), append(d.Values, *r.Value)
		}
		m.s.Discarded = append(m.s.Discarded, d)
	}
	var base, treated float64
	for range 3 {
		base += *m.run("compare", 1, effect{}, e.factor+" "+e.level, w, 1).Value / 3
	}
	for range 3 {
		treated += *m.run("compare", 2, e, "", w, ratio).Value / 3
	}
	c.N, c.Made, c.Took, c.Effective, c.Baseline, c.Treated, c.Ratio = 3, 6, 6*24*time.Second, of(true), base, treated, of(treated/base)
	switch {
	case *c.Ratio > 1.05:
		c.Conclusion = model.StudyGain
	case *c.Ratio < 1/1.05:
		c.Conclusion = model.StudyLoss
	default:
		c.Conclusion = model.StudyNoEffect
	}
}

func (m *maker) finish() {
	m.s.Took, m.s.Ended = m.at, "every planned look was made"
	m.s.Reverted = append(m.s.Reverted, model.StudyAdvice{Host: "nas1", Setting: "linux.link.mtu", Target: "pci:0000:3b:00.0", Default: "1500", Before: "1500", Value: "9000", Why: "step jumbo frames of the baseline"},
		model.StudyAdvice{Host: "client1", Setting: "linux.link.mtu", Target: "pci:0000:3b:00.0", Default: "1500", Before: "1500", Value: "9000", Why: "step jumbo frames of the baseline"})
	if m.protocol == "paper" {
		m.s.Assumptions = []string{"Runs do not drift between a baseline and the cases after it: they are not interleaved.", "Three runs that agree are typical ones."}
		return
	}
	m.s.Assumptions = []string{"Within a block the order of control and treatment was drawn, so that under no effect both orders are equally likely.", "Blocks are exchangeable up to a sign; their noise need not be normal."}
	m.s.Threats = []model.Warning{{ID: "other-traffic", What: "Other traffic was seen during 1 run", Evidence: "run 77: 230 Mbit/s on eth0 of client1", Next: "look whether a backup runs at that hour"},
		{ID: "one-server", What: "One server and one client were measured: another pair may answer otherwise"}}
}

// samples are those of one run with a connection of the given round trip.
func samples(host string, rtt time.Duration) map[string]map[string][]model.Sample {
	var out []model.Sample
	for i := range 10 {
		out = append(out, model.Sample{V: 1, At: time.Duration(i) * 100 * time.Millisecond, Conns: []model.Conn{{
			Local: netip.MustParseAddrPort("10.7.0.2:40000"), Remote: netip.MustParseAddrPort("10.7.0.1:5001"), CC: "cubic", InfoLen: 248, State: 1,
			MinRTT: rtt, RTT: rtt + time.Duration(i)*10*time.Microsecond, BytesAcked: int64(i) * 80_000_000, Cwnd: 100, SndMSS: 8948}},
			CPUs: []model.CPUTime{{CPU: 0, User: time.Duration(i) * 40 * time.Millisecond, Idle: time.Duration(i) * 60 * time.Millisecond}},
			NICs: []model.NICCount{{Name: "eth0", TxBytes: int64(i) * 81_000_000}}})
	}
	return map[string]map[string][]model.Sample{"run 1": {host: out}}
}

// Host are the facts of a made-up host with one adapter.
func Host(name, addr, lanes string) *model.Facts {
	pci := model.PCISlot{Address: "0000:3b:00.0", GTs: 8, Lanes: 8, MaxGTs: 8, MaxLanes: 8}
	if lanes == "4" {
		pci.Lanes = 4
	}
	return &model.Facts{V: 1, Host: name, Hostname: name[strings.LastIndexAny(name, "@:")+1:], Taken: start, BootID: "b-" + name, OS: "linux", Kernel: "6.12.48+deb13-amd64", CPUs: []int{0, 1, 2, 3, 4, 5, 6, 7},
		Memory: model.Known(unit.Bytes(64 << 30)), CPU: model.CPUInfo{Nodes: model.Known([]model.Node{{ID: 0, CPUs: []int{0, 1, 2, 3}}, {ID: 1, CPUs: []int{4, 5, 6, 7}}})},
		NICs: []model.NIC{{Name: "eth0", Device: "pci:0000:3b:00.0", Driver: model.Known("ixgbe"), Speed: model.Known(10 * unit.Gbit), Duplex: model.Known("full"), MTU: 1500, Up: true,
			Addrs: []netip.Prefix{netip.MustParsePrefix(addr + "/24")}, Qdisc: "mq", PCI: model.Known(pci), NUMA: model.Known(0)}},
		Settings: map[string]model.Fact[string]{"linux.sysctl.net.ipv4.tcp_rmem": model.Known("4096 131072 6291456"), "linux.sysctl.net.ipv4.tcp_congestion_control": model.Known("cubic"),
			"linux.cpu.governor": model.Unknown[string](model.Unsupported, "no frequency scaling")}}
}
