package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// offloadsOff and offloadsOn as the kernel names them.
func offloads(on bool) map[string]bool {
	return map[string]bool{"tx-tcp-segmentation": on, "tx-generic-segmentation": on, "rx-gro": on}
}

// Knobs of the faults, by name, so that tests combine them.
func faults() map[string]knobs {
	return map[string]knobs{
		"none":          {},
		"window":        {rate: 0.13e9, rtt: 10 * time.Millisecond, wnd: 170000, full: true, rwnd: 0.99, rcvbuf: 262144, settings: map[string]string{rmemSetting: "4096 131072 262144"}},
		"send buffer":   {rate: 0.16e9, rtt: 10 * time.Millisecond, sndbuf: 0.4, sndbufSz: 262144, sendQ: 250000, cwnd: 400, notsent: -1, settings: map[string]string{wmemSetting: "4096 16384 262144"}},
		"offload":       {rate: 0.4e9, rtt: 10 * time.Millisecond, busy: [2]float64{0.99, 0.5}, kernel: [2]float64{0.95, 0.9}, run: [2]float64{0.95, 0.3}, features: offloads(false), notsent: -1},
		"burner":        {rate: 0.4e9, busy: [2]float64{0.99, 0.3}, kernel: [2]float64{0.1, 0.9}, run: [2]float64{0.05, 0.1}, wait: [2]float64{0.9, 0}, features: offloads(false), notsent: -1},
		"spinning sink": {rate: 0.3e9, rwnd: 0.9, wnd: 400000, full: true, recvQ: 3 << 20, run: [2]float64{0.1, 1}, busy: [2]float64{0.3, 1}, kernel: [2]float64{0.8, 0.1}},
		"starved sink":  {rate: 0.4e9, rtt: 25 * time.Millisecond, wait: [2]float64{0, 0.85}, run: [2]float64{0.1, 0.02}, busy: [2]float64{0.3, 0.99}, kernel: [2]float64{0.8, 0.1}},
		"slow source":   {rate: 0.3e9, rtt: 10 * time.Millisecond, notsent: -1, appLtd: true, sendQ: 100000},
		"slow link":     {rate: 0.28e9, rtt: 20 * time.Millisecond},
		"bloated link":  {rate: 0.09e9, rtt: 60 * time.Millisecond, wnd: 670000, full: true, rwnd: 0.9},
		"loss":          {rate: 0.02e9, rtt: 10 * time.Millisecond, retrans: 0.002},
		"blackhole":     {rate: 1, backoff: 4, rtt: 10 * time.Millisecond},
		"old stack":     {rate: 0.4e9, busy: [2]float64{0.97, 0.5}, kernel: [2]float64{0.95, 0.9}, run: [2]float64{0.95, 0.3}, features: map[string]bool{"tx-tcp-segmentation": true, "tx-generic-segmentation": true}, physical: unit.Gbit, notsent: -1},
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   string
		edit    func(*Case)
		want    model.LimiterID
		maxConf float64 // 0: no bound
	}{
		{name: "healthy", fault: "none", want: model.None},
		{name: "window", fault: "window", want: model.ReceiverWindow},
		{name: "window without a ceiling", fault: "window", edit: noCeiling, want: model.ReceiverWindow},
		{name: "window, receiver unseen", fault: "window", edit: noReceiver, want: model.ReceiverWindow, maxConf: 0.65},
		{name: "window, sender unseen", fault: "window", edit: noSender, want: model.ReceiverWindow, maxConf: 0.65},
		{name: "send buffer", fault: "send buffer", want: model.SendBuffer},
		{name: "packet cost", fault: "offload", want: model.PacketCost},
		{name: "packet cost, receiver unseen", fault: "offload", edit: noReceiver, want: model.PacketCost},
		{name: "packet cost, no ceiling", fault: "offload", edit: noCeiling, want: model.PacketCost},
		{name: "another program on the core, offloads off", fault: "burner", want: model.SenderCPU},
		{name: "full core with offloads on is the writer's", fault: "old stack", want: model.SenderCPU},
		{name: "reader that computes", fault: "spinning sink", want: model.ApplicationSink},
		{name: "starved reader", fault: "starved sink", want: model.ReceiverCPU},
		{name: "starved reader, receiver unseen", fault: "starved sink", edit: noReceiver, want: model.LinkRate, maxConf: 0.5},
		{name: "slow source", fault: "slow source", want: model.ApplicationSource},
		{name: "slow source, sender unseen", fault: "slow source", edit: noSender, want: model.Undetermined, maxConf: 0.3},
		{name: "slow link", fault: "slow link", want: model.LinkRate},
		{name: "a window full because of a queue", fault: "bloated link", want: model.LinkRate},
		{name: "loss", fault: "loss", want: model.PathLoss},
		{name: "outage", fault: "blackhole", want: model.Outage, maxConf: 0.7},
		{name: "blackhole", fault: "blackhole", edit: smallOnly, want: model.MTUBlackhole},
		{name: "no ceiling is never at the ceiling", fault: "none", edit: noCeiling, want: model.Undetermined, maxConf: 0.3},
		{name: "no facts", fault: "window", edit: noFacts, want: model.ReceiverWindow},
		{name: "counters only once", fault: "none", edit: func(c *Case) { *c = cut(*c, 0, 50*time.Millisecond) }, want: model.Undetermined, maxConf: 0.01},
		{name: "no samples", fault: "none", edit: func(c *Case) { *c = cut(*c, 0, 0) }, want: model.Undetermined, maxConf: 0.01},
		{name: "nothing at all", fault: "none", edit: func(c *Case) { *c = Case{} }, want: model.Undetermined, maxConf: 0.01},
		{name: "few samples", fault: "window", edit: func(c *Case) { *c = cut(*c, 0, 400*time.Millisecond) }, want: model.ReceiverWindow, maxConf: 0.45},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := faults()[tc.fault].build()
			if tc.edit != nil {
				tc.edit(&c)
			}
			v := Judge(c)
			if v.Limiter != tc.want {
				t.Errorf("got %s (%.2f), want %s: %s", v.Limiter, v.Confidence, tc.want, v.Line)
			}
			if tc.maxConf > 0 && v.Confidence > tc.maxConf {
				t.Errorf("confidence %.2f, want at most %.2f", v.Confidence, tc.maxConf)
			}
			checkVerdict(t, c, v)
		})
	}
}

// smallOnly: all that was ever acknowledged is a greeting.
func smallOnly(c *Case) {
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Conns[0].BytesAcked = 120
		c.Receiver.Samples[i].Conns[0].BytesReceived = 120
	}
}

func noCeiling(c *Case)  { c.LineRate = model.Fact[unit.BitRate]{} }
func noReceiver(c *Case) { c.Receiver = nil }
func noSender(c *Case)   { c.Sender = nil }
func noFacts(c *Case)    { c.Sender.Facts, c.Receiver.Facts = nil, nil }

// checkVerdict holds for every verdict, whatever the case.
func checkVerdict(t testing.TB, c Case, v model.Verdict) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("verdict does not print as JSON: %v", err)
	}
	if v.Line != Line(v) || strings.Contains(v.Line, "NaN") || strings.Contains(v.Line, "Inf") || strings.Contains(v.Line, "%!") {
		t.Errorf("line: %q", v.Line)
	}
	if v.Confidence < 0 || v.Confidence > 1 || v.Measured < 0 {
		t.Errorf("confidence %v, measured %v", v.Confidence, v.Measured)
	}
	if v.Limiter == model.None && v.Ceiling == nil {
		t.Error("at the ceiling without a ceiling")
	}
	if (v.Fix.Kind == model.FixSetting) != (v.Fix.Setting != "" && v.Fix.From != v.Fix.To && v.Fix.Host != "") {
		t.Errorf("incomplete fix %+v", v.Fix)
	}
	for _, e := range v.Evidence {
		if e.Metric == "" || e.Unit == "" || e.What == "" || e.N <= 0 || strings.Contains(e.What, "NaN") || strings.Contains(e.What, "%!") {
			t.Errorf("incomplete evidence %+v", e)
		}
	}
	// Larger packets raise the ceiling itself; nothing else does.
	if g := v.ExpectedGain; g != nil && (g.Low > g.High || g.Low < v.Measured || (v.Ceiling != nil && g.High > *v.Ceiling && v.Limiter != model.PacketCost)) {
		t.Errorf("gain %+v for %v of %v", g, v.Measured, v.Ceiling)
	}
	if (c.Sender == nil || c.Receiver == nil) && len(v.CouldNotSee) == 0 {
		t.Error("an unseen end is not listed")
	}
	if goodput, ceiling := Carried(c); goodput != v.Measured || (ceiling == nil) != (v.Ceiling == nil) || ceiling != nil && *ceiling != *v.Ceiling {
		t.Errorf("carried %v, measured %v", goodput, v.Measured)
	}
	if n := len(Ladder(c, v)); n != 9 {
		t.Errorf("%d rungs", n)
	}
}

func TestFixes(t *testing.T) {
	for _, tc := range []struct {
		fault string
		edit  func(*knobs)
		want  model.Fix
	}{
		{"window", nil, model.Fix{Kind: model.FixSetting, Setting: rmemSetting, Host: "server1", From: "4096 131072 262144", To: "4096 131072 4194304"}},
		{"window", func(k *knobs) { k.settings = nil }, model.Fix{Kind: model.FixOperator, Host: "server1"}},
		{"window", func(k *knobs) { k.settings = map[string]string{moderateSetting: "0"} }, model.Fix{Kind: model.FixSetting, Setting: moderateSetting, Host: "server1", From: "0", To: "1"}},
		{"window", func(k *knobs) { k.line = -1 }, model.Fix{Kind: model.FixSetting, Setting: rmemSetting, Host: "server1", From: "4096 131072 262144", To: "4096 131072 1048576"}},
		{"send buffer", nil, model.Fix{Kind: model.FixSetting, Setting: wmemSetting, Host: "client1", From: "4096 16384 262144", To: "4096 16384 4194304"}},
		{"send buffer", func(k *knobs) { k.settings = nil }, model.Fix{Kind: model.FixOperator, Host: "client1"}},
		{"offload", nil, model.Fix{Kind: model.FixSetting, Setting: featuresSetting, Target: "if:eth0", Host: "client1", From: "tx-generic-segmentation=off tx-tcp-segmentation=off", To: "tx-generic-segmentation=on tx-tcp-segmentation=on"}},
		{"offload", func(k *knobs) {
			k.features = map[string]bool{"tx-tcp-segmentation": true, "tx-generic-segmentation": true, "rx-gro": false}
			k.busy, k.kernel, k.run = [2]float64{0.4, 0.99}, [2]float64{0.9, 0.95}, [2]float64{0.3, 0.95}
		}, model.Fix{Kind: model.FixSetting, Setting: featuresSetting, Target: "if:eth0", Host: "server1", From: "rx-gro=off", To: "rx-gro=on"}},
		{"offload", func(k *knobs) { k.features = nil }, model.Fix{Kind: model.FixOperator, Host: "client1"}},
		{"none", nil, model.Fix{Kind: model.FixNone}},
		{"loss", nil, model.Fix{Kind: model.FixOperator}},
	} {
		k := faults()[tc.fault]
		if tc.edit != nil {
			tc.edit(&k)
		}
		v := Judge(k.build())
		got := v.Fix
		if got.Advice == "" {
			t.Errorf("%s: no advice", tc.fault)
		}
		if (got.Because != "") != (got.Kind == model.FixOperator) {
			t.Errorf("%s: an advice because of %q", tc.fault, got.Because)
		}
		got.Advice, got.Because = "", ""
		if got != tc.want {
			t.Errorf("%s (%s):\n got %+v\nwant %+v", tc.fault, v.Limiter, got, tc.want)
		}
	}
}

func TestScopeIsMachine(t *testing.T) {
	v := Judge(faults()["offload"].build())
	for _, e := range v.Evidence {
		if e.Metric == "core_busy_share" && e.Scope != "machine" {
			t.Errorf("both ends share a kernel, but %+v", e)
		}
	}
	c := faults()["offload"].build()
	c.Receiver.Facts.BootID = "another"
	for _, e := range Judge(c).Evidence {
		if e.Scope != "" {
			t.Errorf("two machines, but %+v", e)
		}
	}
}

func TestManyStreams(t *testing.T) {
	c := knobs{streams: 4}.build()
	v := Judge(c)
	if v.Limiter != model.None || v.Measured < 0.93*unit.Gbit {
		t.Errorf("four streams: %s", v.Line)
	}
	k := faults()["window"]
	k.streams = 4
	if v := Judge(k.build()); v.Limiter != model.ReceiverWindow || v.Measured < 0.12*unit.Gbit {
		t.Errorf("four short windows: %s", v.Line)
	}
}

// However many connections a path has, its goodput is what they all moved, and of small ones that moved
// most of it together some have a vote.
func TestManyConnections(t *testing.T) {
	for name, streams := range map[string]struct{ large, small int }{"alike": {300, 0}, "one is larger": {1, 400}} {
		c := knobs{streams: streams.large + streams.small}.build()
		for _, e := range []*End{c.Sender, c.Receiver} {
			first := e.Samples[0].Conns
			for i := range e.Samples {
				for k := range e.Samples[i].Conns {
					if x := &e.Samples[i].Conns[k]; k >= streams.large { // a twentieth of what it was
						x.BytesAcked = first[k].BytesAcked + (x.BytesAcked-first[k].BytesAcked)/20
						x.BytesReceived = first[k].BytesReceived + (x.BytesReceived-first[k].BytesReceived)/20
					}
				}
			}
		}
		moved, from, to := int64(0), c.Receiver.Samples[0], c.Receiver.Samples[len(c.Receiver.Samples)-1]
		for k := range to.Conns {
			moved += to.Conns[k].BytesReceived - from.Conns[k].BytesReceived
		}
		mean := 8 * float64(moved) / (to.At - from.At).Seconds()
		seen := look(c)
		if got := seen.goodput; got < 0.9*mean || got > 1.2*mean {
			t.Errorf("%s: %v were moved, and %v is said", name, unit.BitRate(mean), unit.BitRate(got))
		}
		voting := int64(0)
		for _, f := range seen.flows {
			voting += f.bytes()
		}
		if float64(voting) < 0.89*float64(moved) {
			t.Errorf("%s: %d connections that moved %d of %d bytes are looked at", name, len(seen.flows), voting, moved)
		}
	}
}

func TestIdleConnectionsAreLeftOut(t *testing.T) {
	c := faults()["window"].build()
	for i := range c.Sender.Samples {
		idle := c.Sender.Samples[0].Conns[0]
		idle.Local, idle.Unacked, idle.NotSent, idle.SendQ = addrPort("10.0.0.1:2222"), 0, 0, 0
		c.Sender.Samples[i].Conns = append(c.Sender.Samples[i].Conns, idle)
	}
	if n := len(lookAtLink(c).flows); n != 1 {
		t.Errorf("%d flows, want 1", n)
	}
	if v := Judge(c); v.Limiter != model.ReceiverWindow {
		t.Errorf("beside an idle connection: %s", v.Line)
	}
}

// TestReconnect: the connection is replaced half way under the same addresses.
func TestReconnect(t *testing.T) {
	c := faults()["window"].build()
	for i := range c.Sender.Samples {
		if i < 20 {
			c.Sender.Samples[i].Conns[0].BytesAcked += 1 << 40
			c.Receiver.Samples[i].Conns[0].BytesReceived += 1 << 40
		}
	}
	v := Judge(c)
	if v.Limiter != model.ReceiverWindow || v.Measured > 0.2*unit.Gbit {
		t.Errorf("after a reconnect: %s", v.Line)
	}
}

func TestIdleAndNeverConnected(t *testing.T) {
	c := knobs{}.build()
	for i := range c.Sender.Samples {
		x := c.Sender.Samples[0].Conns[0]
		x.Unacked, x.NotSent = 0, 0
		c.Sender.Samples[i].Conns = []model.Conn{x}
		c.Receiver.Samples[i].Conns = c.Receiver.Samples[0].Conns[:1]
	}
	if v := Judge(c); v.Limiter != model.Undetermined || !strings.Contains(v.Line, "start the transfer") {
		t.Errorf("idle: %s", v.Line)
	}
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Conns[0] = model.Conn{Local: addrPort("10.0.0.1:40000"), Remote: addrPort("10.0.0.2:5201"), State: tcpSynSent, Backoff: uint8(i / 10)}
	}
	if v := Judge(c); v.Limiter != model.Outage {
		t.Errorf("never connected: %s", v.Line)
	}
}

func TestWatched(t *testing.T) {
	c := faults()["window"].build()
	if w := Watched(c.Sender, c.LineRate); w.Sender == nil || w.Receiver != nil || !w.Passive {
		t.Error("the sender was not taken as the sender")
	}
	if w := Watched(c.Receiver, c.LineRate); w.Receiver == nil || w.Sender != nil {
		t.Error("the receiver was not taken as the receiver")
	}
}

func TestStatedGoodputCounts(t *testing.T) {
	c := faults()["window"].build()
	c.Goodput = model.Known(0.5 * unit.Gbit)
	if v := Judge(c); v.Measured != 0.5*unit.Gbit {
		t.Errorf("measured %v", v.Measured)
	}
}

// A veth has GRO off by default and yet takes super-packets whole: that its
// feature says off, on a core that is full of other work, explains nothing.
func TestSuperPacketsThatPassWholeAreNotMissed(t *testing.T) {
	virtual := &model.NIC{Name: "eth0", Speed: model.Unknown[unit.BitRate](model.Unsupported, "veth")}
	physical := &model.NIC{Name: "eth0", Speed: model.Known(unit.Gbit)}
	for _, c := range []struct {
		nic    *model.NIC
		packet float64
		want   bool
	}{
		{virtual, 56000, true}, {virtual, 1514, false}, {virtual, unknown(), false}, {physical, 56000, false}, {nil, 56000, false},
	} {
		v := &hostView{nic: c.nic, packet: c.packet}
		if got := v.wholePackets(1448); got != c.want {
			t.Errorf("packets of %v bytes at %+v: %v, want %v", c.packet, c.nic, got, c.want)
		}
	}
}
