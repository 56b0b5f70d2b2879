package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

var start = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

func of[T any](v T) *T { return &v }

// windowRun is a made-up run as demo --fault window leaves it: a receive
// buffer too small for the delay, found, changed, proved and undone.
func windowRun() (*model.Results, map[string]map[string][]model.Sample, map[string]*model.Facts) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &model.Results{
		Outcome: model.Outcome{V: 1, Verdict: windowVerdict(), Ladder: windowLadder(), Restored: true,
			Report:   "/home/ada/.local/share/linerate/runs/20261120-234501-demo-x7k2/report.html",
			Warnings: []model.Warning{{ID: "short-run", What: "Runs of 2.5 s are short", Evidence: "25 samples per run", Next: "repeat with --duration 10s for figures to quote"}}},
		Command: "demo --fault window", Started: start, Took: 52300 * time.Millisecond, Build: "v0.1.0 (d55f7eb)",
		Topology: "client1 ── 1 Gbit/s, 16 ms RTT ── server1",
		LeftOut:  []string{"NIC ring sizes: virtual interfaces have none"},
		Hosts:    []string{"client1", "server1"},
		Findings: []model.Finding{{Rule: "receive-buffer", Severity: "high", Host: "server1", Title: "The receive buffer cannot hold rate × RTT",
			Observed: "tcp_rmem max 262144 B; 938 Mbit/s × 16.2 ms needs 1.81 MiB", Bound: of(124 * unit.Mbit),
			Fix: "raise the third value of net.ipv4.tcp_rmem to at least 4194304", Source: "RFC 7323, section 1"}},
		Changes: []model.Change{{Setting: "linux.sysctl.net.ipv4.tcp_rmem", From: "4096 131072 262144", To: "4096 131072 6291456",
			Why: "room for twice rate × RTT", Source: "RFC 7323"}},
		Injected: "window: tcp_rmem maximum of server1 set to 262144 bytes",
	}
	r.Proof = windowProof(rng)
	addRuns(r)
	samples := map[string]map[string][]model.Sample{"diagnosis": {"client1": senderSamples(rng), "server1": receiverSamples(rng)}}
	return r, samples, map[string]*model.Facts{"client1": hostFacts("client1", "10.7.0.1", "4096 131072 6291456"), "server1": hostFacts("server1", "10.7.0.2", "4096 131072 262144")}
}

func windowVerdict() model.Verdict {
	return model.Verdict{Limiter: model.ReceiverWindow, Where: model.AtReceiver, Host: "server1",
		ShareOfCeiling: of(0.126), Ceiling: of(938 * unit.Mbit), Measured: 118 * unit.Mbit, Confidence: 0.97,
		Line: "server1's receive window holds the path at 118 Mbit/s, 13% of the 938 Mbit/s it can carry",
		Evidence: []model.Evidence{
			{What: "the sender was held back by the receiver's window", Metric: "rwnd_limited_share", Value: 0.982, Unit: "share", Host: "client1", N: 25},
			{What: "data in flight filled the advertised window", Metric: "flight_over_window", Value: 0.994, Unit: "share", Host: "client1", N: 25},
			{What: "the receiver's application left nothing unread", Metric: "recv_queue", Value: 0, Unit: "bytes", Host: "server1", N: 25},
			{What: "no segment was retransmitted", Metric: "retransmit_share", Value: 0, Unit: "share", Host: "client1", N: 25},
			{What: "cores had time to spare", Metric: "cpu_busy", Value: 0.31, Unit: "share", Host: "server1", N: 25, Scope: "machine"}},
		Fix: model.Fix{Kind: model.FixSetting, Setting: "linux.sysctl.net.ipv4.tcp_rmem", Host: "server1",
			From: "4096 131072 262144", To: "4096 131072 6291456", Advice: "Let the receive buffer grow to at least rate × RTT (1.81 MiB here); the kernel still sizes it by need."},
		ExpectedGain: &model.Gain{Low: 850 * unit.Mbit, High: 938 * unit.Mbit, Why: "The link is the next limit."},
		Causes: []model.Cause{{Limiter: model.ReceiverWindow, Where: model.AtReceiver, Host: "server1", GainLow: of(732 * unit.Mbit), GainHigh: of(820 * unit.Mbit), Confidence: 0.97},
			{Limiter: model.SendBuffer, Where: model.AtSender, Host: "client1", GainLow: of(unit.BitRate(0)), GainHigh: of(68 * unit.Mbit), Confidence: 0.6,
				Evidence: []model.Evidence{{What: "tcp_wmem lets a send buffer hold 3 MiB of data", Metric: "send_buffer_limit", Value: 3 << 20, Unit: "bytes", Host: "client1", N: 25}},
				Fix:      model.Fix{Kind: model.FixSetting, Setting: "linux.sysctl.net.ipv4.tcp_wmem", Host: "client1", From: "4096 16384 4194304", To: "4096 16384 6291456"}}},
		NextLimit:   &model.NextLimit{Limiter: model.SendBuffer, Host: "client1", At: 870 * unit.Mbit, Why: "tcp_wmem lets a send buffer hold 3 MiB of data"},
		CouldNotSee: []model.Blind{{What: "queue inside the emulated link", WouldShow: "standing queue and drops", How: "Nothing to do: the link is not a host"}},
		Notes:       []string{"Segmentation offload was on at both ends."}}
}

func windowLadder() []model.Rung {
	return []model.Rung{
		{Rung: "memory", Measured: of(41.2 * unit.Gbit), Ceiling: of(46 * unit.Gbit), Formula: "memory copy rate of one core", Seen: true},
		{Rung: "one TCP stream", Measured: of(118 * unit.Mbit), Ceiling: of(938 * unit.Mbit), Formula: "1 Gbit/s × (1500 − 52) ÷ (1500 + 38) per frame", Seen: true,
			Predicted: of(105 * unit.Mbit), PredictedFrom: "tcp_rmem of server1 256 KiB × 0.5 / 10 ms = 105 Mbit/s; not bound by link goodput 938 Mbit/s", Method: "one TCP stream from client1 to server1, memory to memory, for 4.5s after 1s of warm-up"},
		{Rung: "4 TCP streams", Measured: of(466 * unit.Mbit), Ceiling: of(938 * unit.Mbit), Formula: "as one stream; the link is shared", Seen: true},
		{Rung: "server disk", How: "run with a path on the server: linerate explain client1 server1:/export --load"},
		{Rung: "protocol on RAM", How: "stopped: 230 Mbit/s of other traffic on eth0 of server1", Tried: true, Predicted: of(118 * unit.Mbit), PredictedFrom: "one connection, as one stream measured 118 Mbit/s"},
		{Rung: "whole path", How: "linerate explain /mnt/nas while a file is copied"}}
}

func windowProof(rng *rand.Rand) *model.Proof {
	p := &model.Proof{Pairs: 8, Ratio: of(7.6), CILow: of(7.2), CIHigh: of(8.1), P: 0.0078, AARatio: of(1.003), AAPairs: 4, AAP: 0.75,
		Effect: "gain", By: "linerate", Treatment: "net.ipv4.tcp_rmem 4096 131072 262144 → 4096 131072 6291456 on server1"}
	for range 8 {
		p.Baseline = append(p.Baseline, unit.BitRate(118e6+rng.NormFloat64()*1.5e6))
		p.Treated = append(p.Treated, unit.BitRate(898e6+rng.NormFloat64()*14e6))
		p.AA = append(p.AA, unit.BitRate(118e6+rng.NormFloat64()*1.5e6))
	}
	return p
}

func addRuns(r *model.Results) {
	add := func(label string, rate unit.BitRate) {
		n := len(r.Runs)
		r.Runs = append(r.Runs, model.Run{Label: label, Started: start.Add(time.Duration(n) * 2 * time.Second), Goodput: rate, Window: 2 * time.Second,
			Bytes: unit.Bytes(float64(rate) / 8 * 2), Workload: model.Workload{Sender: "client1", Receiver: "server1", From: netip.MustParseAddr("10.7.0.1"),
				To: netip.MustParseAddr("10.7.0.2"), Streams: 1, Duration: 2500 * time.Millisecond, Warmup: 500 * time.Millisecond, CC: "cubic"},
			Clocks: map[string]model.Clock{"client1": {Offset: 1200, Error: 31000}, "server1": {Offset: -5 * time.Second, Error: 42 * time.Microsecond}}})
	}
	add("diagnosis", 118*unit.Mbit)
	for i := 0; i < len(r.Proof.AA); i += 2 {
		add(fmt.Sprintf("A/A %da", i/2+1), r.Proof.AA[i])
		add(fmt.Sprintf("A/A %db", i/2+1), r.Proof.AA[i+1])
	}
	for i := range r.Proof.Baseline {
		add(fmt.Sprintf("pair %d baseline", i+1), r.Proof.Baseline[i])
		add(fmt.Sprintf("pair %d treated", i+1), r.Proof.Treated[i])
	}
}

func senderSamples(rng *rand.Rand) []model.Sample {
	var out []model.Sample
	var acked float64
	conn := model.Conn{Local: netip.MustParseAddrPort("10.7.0.1:40112"), Remote: netip.MustParseAddrPort("10.7.0.2:5201"), CC: "cubic", InfoLen: 240, SndMSS: 1448, MinRTT: 16200 * time.Microsecond}
	for i := range 26 {
		at := time.Duration(i) * 100 * time.Millisecond
		ramp := math.Min(1, 0.3+float64(i)*0.25)
		acked += 118e6 / 8 * 0.1 * ramp * (1 + rng.NormFloat64()*0.012)
		conn.BytesAcked, conn.BytesSent, conn.DataSegsOut = int64(acked), int64(acked), int64(acked/1448)
		conn.RTT = time.Duration(16300+rng.IntN(180)) * time.Microsecond
		conn.SndWnd, conn.Cwnd = 241_664, 174
		conn.Unacked = int(166*ramp) - rng.IntN(3)
		conn.Busy, conn.RwndLimited = at, time.Duration(float64(at)*0.982)
		conn.NotSent = 1_900_000 + int64(rng.IntN(90_000))
		out = append(out, model.Sample{V: 1, At: at, HostAt: start.Add(at), Conns: []model.Conn{conn}, CPUs: cpuTimes(at, 0.06, 0.11, 0.09),
			Tasks: []model.Task{{PID: 40, TID: 41, Name: "linerate worker", CPU: at / 11, Wait: at / 180, Core: 0}}})
	}
	return out
}

func receiverSamples(rng *rand.Rand) []model.Sample {
	var out []model.Sample
	var got float64
	conn := model.Conn{Local: netip.MustParseAddrPort("10.7.0.2:5201"), Remote: netip.MustParseAddrPort("10.7.0.1:40112"), InfoLen: 240, RcvBuf: 262_144}
	for i := range 26 {
		at := time.Duration(i) * 100 * time.Millisecond
		got += 118e6 / 8 * 0.1 * math.Min(1, 0.3+float64(i)*0.25) * (1 + rng.NormFloat64()*0.012)
		conn.BytesReceived = int64(got)
		conn.RecvQ = int64(rng.IntN(3)) * 1448
		out = append(out, model.Sample{V: 1, At: at, HostAt: start.Add(at), Conns: []model.Conn{conn}, CPUs: cpuTimes(at, 0.06, 0.12, 0.1),
			Tasks: []model.Task{{PID: 50, TID: 51, Name: "linerate worker", CPU: at / 9, Wait: at / 150, Core: 1}}})
	}
	return out
}

func cpuTimes(at time.Duration, user, system, soft float64) []model.CPUTime {
	var out []model.CPUTime
	for cpu := range 2 {
		f := func(share float64) time.Duration {
			return time.Duration(float64(at) * share * (1 + 0.3*float64(cpu)))
		}
		c := model.CPUTime{CPU: cpu, User: f(user), System: f(system), SoftIRQ: f(soft), IRQ: f(0.004)}
		c.Idle = at - c.User - c.System - c.SoftIRQ - c.IRQ
		out = append(out, c)
	}
	return out
}

func hostFacts(name, addr, rmem string) *model.Facts {
	return &model.Facts{V: 1, Host: name, Hostname: name, Taken: start, BootID: "b1", OS: "linux", Kernel: "6.18.0", CPUs: []int{0, 1},
		NICs: []model.NIC{{Name: "eth0", Device: "if:eth0", Driver: model.Known("veth"), MTU: 1500, Up: true, Qdisc: "noqueue",
			Speed:  model.Unknown[unit.BitRate](model.Unsupported, "a virtual interface reports a constant"),
			Duplex: model.Known("full"), Addrs: []netip.Prefix{netip.MustParsePrefix(addr + "/24")},
			PCI: model.Unknown[model.PCISlot](model.Absent, "not a PCI device")}},
		Settings: map[string]model.Fact[string]{
			"linux.sysctl.net.ipv4.tcp_rmem":               model.Known(rmem),
			"linux.sysctl.net.ipv4.tcp_wmem":               model.Known("4096 16384 4194304"),
			"linux.sysctl.net.ipv4.tcp_congestion_control": model.Known("bbr"),
			"linux.sysctl.net.core.rmem_max":               model.Unknown[string](model.Denied, "read-only in a namespace"),
			"linux.sysctl.net.ipv4.tcp_sack":               model.Known("1")}}
}
