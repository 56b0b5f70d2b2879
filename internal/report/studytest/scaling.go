package studytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Clients is a study of one to five clients that read from one server.
func Clients() Example { return cluster(280e6, 3) }

// ClientsAgain is the same study on another day: the server has a newer kernel
// and one setting more, one client alone gets less, and so more clients bring
// more.
func ClientsAgain() Example {
	e := cluster(250e6, 4)
	f := e.Facts["lab:server1"]
	f.Kernel, f.NICs[0].MTU = "6.18.2-amd64", 9000
	f.Settings["linux.sysctl.net.ipv4.tcp_congestion_control"] = model.Known("bbr")
	e.Results.Started = start.Add(72 * time.Hour)
	e.Results.Study.Started = e.Results.Started
	e.Results.Report = "/home/ada/.local/share/linerate/runs/20261124-093000-study-m7qa/report.html"
	return e
}

// cluster is a study of clients each of which alone gets one bit/s.
func cluster(one float64, seed uint64) Example {
	rng := rand.New(rand.NewPCG(seed, 5))
	total := func(n int) float64 { return min(940e6, one*float64(n)) }
	hosts := map[string]string{"server1": "lab:server1"}
	w := model.StudyWorkload{Name: "reads", Kind: "tcp", Senders: []string{"server1"}, Streams: 1, Clients: 1, Duration: 10 * time.Second, Warmup: time.Second}
	f := model.StudyFactor{Name: "clients"}
	for i := 1; i <= 5; i++ {
		name := fmt.Sprintf("client%d", i)
		hosts[name] = "lab:" + name
		w.Receivers = append(w.Receivers, name)
		if i > 1 {
			f.Levels = append(f.Levels, model.StudyLevel{Name: strconv.Itoa(i), Workload: map[string]string{"clients": strconv.Itoa(i)}})
		}
	}
	s := &model.Study{V: model.StudyVersion, Name: "cluster", Question: "How does the server's total rate grow as clients are added?", Protocol: "linerate", Primary: "reads",
		Started: start, Restored: true, Complete: true, Ended: "every planned look was made", Assumptions: []string{"Clients start at one instant."},
		File: model.StudyFile{V: 1, Name: "cluster", Hosts: hosts, Factors: []model.StudyFactor{f}, Workloads: []model.StudyWorkload{w}, Primary: "reads",
			Protocol: model.StudyProtocol{Name: "linerate", Design: "one-at-a-time", Alpha: 0.05, Margin: 1.02, Looks: []int{8}, Seed: 3}}}
	m := &maker{rng: rng, s: s, protocol: "linerate"}
	for n := 1; n <= 5; n++ {
		e := effect{}
		if n > 1 {
			e = effect{factor: "clients", level: strconv.Itoa(n)}
		}
		m.clients(e, n, total(n))
	}
	for n := 2; n <= 5; n++ {
		ratio := total(n) / total(1)
		s.Comparisons = append(s.Comparisons, model.StudyComparison{Factor: "clients", Level: strconv.Itoa(n), Workload: "reads", Primary: true, N: 8, Made: 16, Unit: "bit/s", Baseline: total(1), Treated: total(n),
			Ratio: &ratio, CILow: of(ratio * 0.985), CIHigh: of(ratio * 1.015), P: of(0.0078), PHolm: of(0.031), Effective: of(true), Conclusion: model.StudyGain})
	}
	s.Took = m.at
	r := &model.Results{Outcome: model.Outcome{V: 1, Restored: true, Verdict: model.Verdict{Ceiling: of(941 * unit.Mbit)}}, Command: "study run cluster.yaml", Started: start, Took: s.Took, Build: "v0.3.0 (67a79e4)",
		Topology: "server1 ── 1 Gbit/s, switch ── client1 … client5", Hosts: []string{"lab:server1"}, Study: s}
	r.Warnings, r.Report = []model.Warning{}, "/home/ada/.local/share/linerate/runs/20261121-093000-study-c5rt/report.html"
	r.Hosts = []string{"lab:server1", "lab:client1"}
	return Example{r, samples("lab:server1", 200*time.Microsecond), map[string]*model.Facts{"lab:server1": Host("lab:server1", "10.7.0.2", "8"), "lab:client1": Host("lab:client1", "10.7.0.1", "8")}}
}

// clients makes the runs with n clients that together get so many bit/s.
func (m *maker) clients(e effect, n int, total float64) {
	for b := 1; b <= 8; b++ {
		m.n++
		value := total * (1 + 0.01*m.rng.NormFloat64())
		r := model.StudyRun{N: m.n, Label: fmt.Sprintf("run %d", m.n), Stage: "compare", Block: b, Factor: e.factor, Level: e.level, Workload: "reads", Started: start.Add(m.at), Took: 13 * time.Second,
			Value: &value, Unit: "bit/s", Counted: true, Retransmitted: of(0.0), PerClient: map[string]float64{}, CPU: map[string]float64{}, Scope: "machine"}
		for i := 1; i <= n; i++ {
			r.PerClient[fmt.Sprintf("client%d", i)] = value / float64(n) * (1 + 0.03*m.rng.NormFloat64())
			r.CPU[fmt.Sprintf("client%d", i)] = 0.2
		}
		r.CPU["server1"] = min(0.9, 0.15*float64(n))
		m.at += r.Took
		m.s.Runs = append(m.s.Runs, r)
	}
}

// Windows is a study of 1 to 16 streams with windows of 64 KiB to 4 MiB over
// 40 ms, every combination of them.
func Windows() Example {
	rng := rand.New(rand.NewPCG(5, 8))
	streams := []int{1, 2, 4, 8, 16}
	windows := []unit.Bytes{64 * unit.KiB, 256 * unit.KiB, unit.MiB, 4 * unit.MiB}
	fs, fw := model.StudyFactor{Name: "streams"}, model.StudyFactor{Name: "window"}
	for _, n := range streams[1:] {
		fs.Levels = append(fs.Levels, model.StudyLevel{Name: strconv.Itoa(n), Workload: map[string]string{"streams": strconv.Itoa(n)}})
	}
	for _, b := range windows[1:] {
		fw.Levels = append(fw.Levels, model.StudyLevel{Name: b.String(), Workload: map[string]string{"recv_buffer": strconv.FormatInt(int64(b), 10)}})
	}
	s := &model.Study{V: model.StudyVersion, Name: "wan", Question: "How many streams and how large a window fill the way?", Protocol: "linerate", Primary: "transfer", Started: start,
		Restored: true, Complete: true, Ended: "every planned look was made", File: model.StudyFile{V: 1, Name: "wan", Hosts: map[string]string{"cern": "lab:cern", "caltech": "lab:caltech"}, Primary: "transfer",
			Factors: []model.StudyFactor{fs, fw}, Protocol: model.StudyProtocol{Name: "linerate", Design: "factorial", Alpha: 0.05, Margin: 1.02, Seed: 5},
			Workloads: []model.StudyWorkload{{Name: "transfer", Kind: "tcp", Senders: []string{"cern"}, Receivers: []string{"caltech"}, Streams: 1, RecvBuffer: windows[0], Duration: 10 * time.Second, Warmup: 2 * time.Second}}}}
	m := &maker{rng: rng, s: s, protocol: "linerate"}
	for _, n := range streams {
		for _, b := range windows {
			m.window(n, b, windows[0])
		}
	}
	s.Took = m.at
	r := &model.Results{Outcome: model.Outcome{V: 1, Restored: true}, Command: "study run wan.yaml", Started: start, Took: s.Took, Build: "v0.3.0 (67a79e4)", Topology: "cern ── 1 Gbit/s, 40 ms RTT ── caltech", Study: s,
		Hosts: []string{"lab:cern", "lab:caltech"}}
	return Example{r, samples("lab:cern", 40*time.Millisecond), nil}
}

// window makes the runs of one combination and, for levels on their own, the comparisons.
func (m *maker) window(n int, b, first unit.Bytes) {
	levels := map[string]string{}
	if n > 1 {
		levels["streams"] = strconv.Itoa(n)
	}
	if b > first {
		levels["window"] = b.String()
	}
	mean := min(935e6, float64(n)*float64(b)*8/0.04)
	for block := 1; block <= 8; block++ {
		m.n++
		value := mean * (1 + 0.005*m.rng.NormFloat64())
		m.s.Runs = append(m.s.Runs, model.StudyRun{N: m.n, Label: fmt.Sprintf("run %d", m.n), Stage: "compare", Block: block, Levels: levels, Workload: "transfer",
			Started: start.Add(m.at), Took: 14 * time.Second, Value: &value, Unit: "bit/s", Counted: true})
		m.at += 14 * time.Second
	}
	if len(levels) != 1 {
		return
	}
	for factor, level := range levels {
		ratio := math.Pow(mean/(float64(first)*8/0.04), 0.7)
		m.s.Comparisons = append(m.s.Comparisons, model.StudyComparison{Factor: factor, Level: level, Workload: "transfer", Primary: true, N: 8, Made: 160, Unit: "bit/s", Baseline: 200e6, Treated: 200e6 * ratio,
			Ratio: &ratio, CILow: of(ratio * 0.97), CIHigh: of(ratio * 1.03), P: of(0.0078), PHolm: of(0.04), Effective: of(true), Conclusion: model.StudyGain})
	}
}
