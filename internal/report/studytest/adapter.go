package studytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Example is a study with what lies beside it in a bundle.
type Example struct {
	Results *model.Results
	Samples map[string]map[string][]model.Sample
	Facts   map[string]*model.Facts
}

var start = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

func of[T any](v T) *T { return &v }

// effect is what a made-up level really does.
type effect struct {
	factor, level, setting, from, to string
	host                             string
	ratios                           [3]float64 // of each workload; 0: not tried
	ineffective                      bool
	operator                         bool
	retransmits, cpu                 float64
	wide                             bool // noisy: stays undecided
}

// adapterEffects are eight factors: gains, a loss, no effect, undecided, not in
// force, not tried.
func adapterEffects() []effect {
	return []effect{
		{factor: "interrupt moderation", level: "off", setting: "linux.ethtool.coalesce.rx-usecs", from: "50", to: "0", host: "nas1", ratios: [3]float64{0.997, 1.004, 1.001}, retransmits: 0.0004, cpu: 0.48},
		{factor: "receive queues", level: "one core for all", setting: "linux.ethtool.channels.combined", from: "8", to: "1", host: "client1", ratios: [3]float64{0.71, 0.98, 1.002}, retransmits: 0.0021, cpu: 0.16},
		{factor: "receive coalescing", level: "off", setting: "linux.ethtool.feature.rx-gro", from: "on", to: "off", host: "client1", ratios: [3]float64{0.93, 0.999, 1.003}, retransmits: 0.0005, cpu: 0.57},
		{factor: "receive buffer", level: "16 MiB", setting: "linux.sysctl.net.ipv4.tcp_rmem", from: "4096 131072 6291456", to: "4096 131072 16777216", host: "client1", ratios: [3]float64{1.31, 1.002, 0.999}, retransmits: 0.0004, cpu: 0.45},
		{factor: "ring buffers", level: "maximum", setting: "linux.ethtool.ring.rx", from: "512", to: "4096", host: "client1", ratios: [3]float64{1.062, 1.013, 1.001}, retransmits: 0, cpu: 0.36},
		{factor: "congestion control", level: "bbr", setting: "linux.sysctl.net.ipv4.tcp_congestion_control", from: "cubic", to: "bbr", host: "nas1", ratios: [3]float64{1.021, 0.99, 1.004}, retransmits: 0.0031, cpu: 0.41, wide: true},
		{factor: "pause frames", level: "on", setting: "linux.ethtool.pause.rx", from: "off", to: "on", host: "client1", ratios: [3]float64{1.0, 1.0, 1.0}, ineffective: true, cpu: 0.4, retransmits: 0.0004},
		{factor: "slot", level: "×8 slot", operator: true},
	}
}

var workloads = [3]string{"256K sequential read", "256K sequential write", "8K random 67% read"}

var bases = [3]float64{6.9e9, 8.1e9, 41300}

// Adapter is a study of eight factors on three workloads, by protocol
// "linerate" or "paper".
func Adapter(protocol string) Example {
	m := &maker{rng: rand.New(rand.NewPCG(7, 11)), protocol: protocol}
	s := &model.Study{V: model.StudyVersion, Name: "adapter", Question: "Which settings of the adapter and of TCP make reads from nas1 faster, and which do nothing?",
		File: adapterFile(protocol), Protocol: protocol, Primary: workloads[0], Started: start, Restored: true, Complete: true}
	m.s = s
	m.aa()
	m.step()
	for _, e := range adapterEffects() {
		m.factor(e)
	}
	s.File.LeftOut = []model.StudyFactor{{Name: "selective acknowledgements", Levels: []model.StudyLevel{{Name: "on",
		Set: []model.StudySetting{{Host: "nas1", Setting: "linux.sysctl.net.ipv4.tcp_sack", Value: "1"}}}}}}
	for i, w := range workloads {
		m.s.Comparisons = append(m.s.Comparisons, model.StudyComparison{Factor: "selective acknowledgements", Level: "on", Workload: w, Primary: i == 0,
			Conclusion: model.StudyInForce, Why: "every value of it was in force before the study began: not compared"})
	}
	m.finish()
	r := &model.Results{Outcome: model.Outcome{V: 1, Restored: true, Report: "/home/ada/.local/share/linerate/runs/20261121-093000-study-k4wd/report.html",
		Ladder: adapterLadder(), Warnings: []model.Warning{}},
		Command: "study run adapter.yaml --budget 2h", Started: start, Took: s.Took, Build: "v0.3.0 (67a79e4)", Topology: "nas1 ── 10 Gbit/s, MTU 9000, one switch ── client1",
		Hosts: []string{"root@nas1", "root@client1"}, Study: s, Clocks: map[string]model.Clock{"root@nas1": {Offset: 3 * time.Millisecond, Error: 200 * time.Microsecond}}}
	return Example{r, samples("root@nas1", 2*time.Millisecond), map[string]*model.Facts{"root@nas1": Host("root@nas1", "10.7.0.2", "8"), "root@client1": Host("root@client1", "10.7.0.1", "4")}}
}

func adapterFile(protocol string) model.StudyFile {
	f := model.StudyFile{V: 1, Name: "adapter", Question: "Which settings of the adapter and of TCP make reads from nas1 faster, and which do nothing?",
		Source: "Dell BP1057, tables 4 and 5", Hosts: map[string]string{"nas1": "root@nas1", "client1": "root@client1"}, Primary: workloads[0], Budget: 2 * time.Hour,
		Protocol: model.StudyProtocol{Name: protocol, Design: "one-at-a-time", Alpha: 0.05, Margin: 1.02, Looks: []int{8, 12, 20, 32}, AA: 4, Seed: 2026},
		Baseline: []model.StudyLevel{{Name: "jumbo frames", Set: []model.StudySetting{{Host: "nas1", Setting: "linux.link.mtu", Target: "pci:0000:3b:00.0", Value: "9000"}, {Host: "client1", Setting: "linux.link.mtu", Target: "pci:0000:3b:00.0", Value: "9000"}}}}}
	if protocol == "paper" {
		f.Protocol = model.StudyProtocol{Name: protocol, Design: "sequence", Margin: 1.05, Runs: 3, RSD: 0.05, Most: 4, Seed: 2026}
	}
	for i, name := range workloads {
		w := model.StudyWorkload{Name: name, Kind: "tcp", Senders: []string{"nas1"}, Receivers: []string{"client1"}, Streams: 4, Duration: 20 * time.Second, Warmup: 2 * time.Second}
		if i == 1 {
			w.Senders, w.Receivers = w.Receivers, w.Senders
		}
		if i == 2 {
			w = model.StudyWorkload{Name: name, Kind: "block", Hosts: []string{"client1"}, Path: "/dev/sdb", Pattern: "random", Read: 67, Block: 8 * unit.KiB, Depth: 5, Threads: 8, Direct: true, Destroy: "/dev/sdb", Duration: 20 * time.Second, Warmup: 2 * time.Second}
		}
		f.Workloads = append(f.Workloads, w)
	}
	for _, e := range adapterEffects() {
		l := model.StudyLevel{Name: e.level, Set: []model.StudySetting{{Host: e.host, Setting: e.setting, Value: e.to}}}
		if e.operator {
			l = model.StudyLevel{Name: e.level, Instruct: "move the adapter of client1 to the ×8 slot", Back: "move it back to the ×4 slot", Verify: &model.StudyVerify{Host: "client1", Fact: "nic.pci.lanes", Is: "8"}}
		}
		f.Factors = append(f.Factors, model.StudyFactor{Name: e.factor, Levels: []model.StudyLevel{l}, Operator: e.operator, Hard: e.operator})
	}
	return f
}

func adapterLadder() []model.Rung {
	return []model.Rung{
		{Rung: "memory", Measured: of(62 * unit.Gbit), Ceiling: of(70 * unit.Gbit), Formula: "memory copy rate of one core", Seen: true},
		{Rung: "one TCP stream", Measured: of(5.1 * unit.Gbit), Ceiling: of(9.9 * unit.Gbit), Formula: "10 Gbit/s × (9000 − 52) ÷ (9000 + 38) per frame", Seen: true, Predicted: of(5.4 * unit.Gbit), PredictedFrom: "tcp_rmem of client1"},
		{Rung: "N TCP streams", Measured: of(6.9 * unit.Gbit), Ceiling: of(9.9 * unit.Gbit), Formula: "as one stream; the link is shared", Seen: true},
		{Rung: "server disk", How: "log in at the server and read the file there, past its cache"}}
}

// maker makes the runs of a study.
type maker struct {
	rng      *rand.Rand
	protocol string
	s        *model.Study
	n        int
	at       time.Duration
}

func (m *maker) aa() {
	if m.protocol == "paper" {
		return
	}
	for b := 1; b <= 4; b++ {
		for range 2 {
			m.run("a/a", b, effect{}, "", 0, 1)
		}
	}
}

// step compares the baseline's only step with the state before it.
func (m *maker) step() {
	e := effect{factor: "baseline", level: "jumbo frames", cpu: 0.4}
	for w := range workloads {
		c := model.StudyComparison{Factor: e.factor, Level: e.level, Workload: workloads[w], Primary: w == 0, Unit: unitOf(w)}
		var logs []float64
		for b := 1; b <= 8; b++ {
			before := m.run("compare", b, effect{cpu: 0.55}, "baseline jumbo frames", w, 0.958)
			before.Steps = 0
			base := *before.Value
			treated := *m.run("compare", b, e, "", w, 1).Value
			logs = append(logs, math.Log(treated/base))
			c.Baseline, c.Treated = c.Baseline+base/8, c.Treated+treated/8
		}
		if m.conclude(&c, logs); m.protocol == "paper" {
			c.CILow, c.CIHigh, c.P, c.PHolm, c.Smallest, c.Conclusion = nil, nil, nil, nil, nil, model.StudyNoEffect
		}
		m.s.Comparisons = append(m.s.Comparisons, c)
	}
}

func unitOf(w int) string {
	if w == 2 {
		return "1/s"
	}
	return "bit/s"
}

// run makes one run of a workload.
func (m *maker) run(stage string, block int, e effect, against string, w int, ratio float64) *model.StudyRun {
	m.n++
	noise := 0.006
	if e.wide || against != "" && m.wide(against) {
		noise = 0.05
	}
	drift := 1 + 0.01*math.Sin(float64(m.n)/40)
	value := bases[w] * ratio * drift * (1 + noise*m.rng.NormFloat64())
	r := model.StudyRun{N: m.n, Label: fmt.Sprintf("run %d", m.n), Stage: stage, Block: block, Factor: e.factor, Level: e.level, Against: against, Steps: 1, Workload: workloads[w],
		Started: start.Add(m.at), Took: 24 * time.Second, Value: &value, Counted: stage != "a/a", Retransmitted: of(0.0004 + e.retransmits*m.rng.Float64())}
	if r.Unit = unitOf(w); w == 2 {
		r.P50, r.P99, r.Max = us(820+40*m.rng.Float64()), us(2400+300*m.rng.Float64()), us(9000+6000*m.rng.Float64())
	}
	cpu := 0.4
	if e.cpu > 0 {
		cpu = e.cpu
	}
	cpu *= 1 + 0.03*m.rng.NormFloat64()
	r.CPU, r.Softirq = map[string]float64{"nas1": cpu * 0.8, "client1": cpu}, map[string]float64{"nas1": cpu * 0.2, "client1": cpu * 0.55}
	r.PerCore = map[string][]float64{"nas1": m.cores(cpu*0.8, false), "client1": m.cores(cpu, e.factor == "receive queues")}
	for s := range 20 {
		v := value * (1 + 0.02*m.rng.NormFloat64())
		if s < 2 && e.factor == "congestion control" {
			v *= 0.6
		}
		r.PerSecond = append(r.PerSecond, v)
	}
	m.at += 24 * time.Second
	m.s.Runs = append(m.s.Runs, r)
	return &m.s.Runs[len(m.s.Runs)-1]
}

func (m *maker) wide(against string) bool { return against == "congestion control bbr" }

func us(v float64) time.Duration { return time.Duration(v * 1000) }

// cores spreads a mean busy share over eight cores; one: on a single one.
func (m *maker) cores(mean float64, one bool) []float64 {
	out := make([]float64, 8)
	for i := range out {
		out[i] = math.Min(1, math.Max(0.01, mean*(1.5-0.14*float64(i))+0.02*m.rng.NormFloat64()))
		if one {
			out[i] = 0.03 + 0.01*m.rng.Float64()
		}
	}
	if one {
		out[0] = 0.995
	}
	return out
}

// factor makes the blocks of one factor on every workload, and what came of it.
func (m *maker) factor(e effect) {
	for w, ratio := range e.ratios {
		c := model.StudyComparison{Factor: e.factor, Level: e.level, Workload: workloads[w], Primary: w == 0, Unit: unitOf(w)}
		if ratio == 0 {
			c.Conclusion, c.Why = model.StudyNotTried, "the operator skipped it"
			m.s.Comparisons = append(m.s.Comparisons, c)
			continue
		}
		if e.ineffective {
			c.Made, c.Effective, c.Conclusion, c.Why = 1, of(false), model.StudyNotInForce, "the driver answers on and reads back off: the peer does not advertise pause"
			r := m.run("compare", 1, e, "", w, ratio)
			r.Counted, r.Why = false, "the treatment was not in force"
			m.s.Comparisons = append(m.s.Comparisons, c)
			continue
		}
		m.blocks(e, w, ratio, &c)
		m.s.Comparisons = append(m.s.Comparisons, c)
		if c.Primary && c.Conclusion == model.StudyGain {
			m.s.Recommended = append(m.s.Recommended, model.StudyAdvice{Host: e.host, Setting: e.setting, Default: e.from, Before: e.from, Value: e.to, Factor: e.factor, Why: "a gain on " + workloads[0]})
		}
	}
	if !e.operator {
		m.s.Reverted = append(m.s.Reverted, model.StudyAdvice{Host: e.host, Setting: e.setting, Default: e.from, Before: e.from, Value: e.to, Factor: e.factor})
	}
}
