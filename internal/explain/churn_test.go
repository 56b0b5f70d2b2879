package explain

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

// Connections too short to be in a sample are counted, and nobody says that nothing
// moved.
func TestShortConnections(t *testing.T) {
	short := func(opens, opened int64, bytes int64, seen bool) Case {
		c := knobs{rate: 1e6}.build()
		for k, e := range []*End{c.Sender, c.Receiver} {
			for i := range e.Samples {
				s, n := &e.Samples[i], int64(i)
				s.SNMP = map[string]int64{"Tcp.ActiveOpens": 5 + n*[]int64{opens, 0}[k], "Tcp.PassiveOpens": 7 + n*[]int64{0, opened}[k]}
				s.NICs = []model.NICCount{{Name: "eth0", TxBytes: n * []int64{bytes, 0}[k], RxBytes: n * []int64{0, bytes}[k]}, {Name: "lo", TxBytes: n << 30, RxBytes: n << 30}}
				if !seen {
					s.Conns = nil
				}
			}
		}
		return c
	}
	// The receiver has connections of its own to other hosts, which move what its interface carries.
	elsewhere := func(c Case) Case {
		c.Receiver.Peer = netip.MustParseAddr("10.0.0.1")
		for i := range c.Receiver.Samples {
			s := &c.Receiver.Samples[i]
			other := s.Conns[0]
			other.Remote, other.BytesReceived = netip.MustParseAddrPort("10.0.0.9:40000"), int64(i)*590_000
			s.Conns = append(slices.Clone(s.Conns), other)
		}
		return c
	}
	// One to another host had moved much before, and is closed meanwhile; another one stays within the host.
	closing := func(c Case) Case {
		c.Receiver.Peer = netip.MustParseAddr("10.0.0.1")
		for i := range c.Receiver.Samples {
			s := &c.Receiver.Samples[i]
			ended, within := s.Conns[0], s.Conns[0]
			ended.Remote, ended.Inode, ended.BytesReceived = netip.MustParseAddrPort("10.0.0.9:40000"), 77, 1<<40
			if i > 2 {
				ended.Inode = 0
			}
			within.Local, within.Remote, within.BytesReceived = netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("127.0.0.1:4000"), int64(i)<<30
			s.Conns = append(slices.Clone(s.Conns), ended, within)
		}
		return c
	}
	for _, tt := range []struct {
		name string
		c    Case
		want bool
		sure float64
	}{
		{"none was ever seen", short(10, 10, 600_000, false), true, sureOfChurn},
		{"beside one that lasts and moves little", short(10, 10, 600_000, true), true, sureOfChurn},
		{"one end counts more", short(10, 6, 600_000, false), true, guessOfChurn},
		{"the other end opened none: they go elsewhere", short(10, 0, 600_000, false), false, 0},
		{"what passed went to other hosts", elsewhere(short(10, 10, 600_000, true)), false, 0},
		{"what went to another host went before", closing(short(10, 10, 600_000, true)), true, sureOfChurn},
		{"few connections", short(0, 0, 600_000, false), false, 0},
		{"many, and nothing in them", short(10, 10, 600, false), false, 0},
	} {
		v := Judge(tt.c)
		got := v.Limiter == model.StartUp && len(v.Evidence) > 1 && v.Evidence[0].Metric == "connections_opened"
		if got != tt.want || got && v.Confidence != tt.sure {
			t.Errorf("%s: %.2f %s", tt.name, v.Confidence, v.Line)
		}
		if got && (v.Measured < 40e6 || v.Measured > 60e6 || v.ShareOfCeiling == nil || !strings.Contains(v.Fix.Advice, "58.6 KiB")) {
			t.Errorf("%s: measured %s, %s", tt.name, v.Measured, v.Fix.Advice)
		}
	}
}

// One end that was watched reads or writes by what its interface did.
func TestWatchedShortConnections(t *testing.T) {
	c := knobs{}.build()
	e := c.Sender
	for i := range e.Samples {
		n := int64(i)
		e.Samples[i].Conns, e.Samples[i].SNMP = nil, map[string]int64{"Tcp.ActiveOpens": n}
		e.Samples[i].NICs = []model.NICCount{{Name: "eth0", TxBytes: n * 1000, RxBytes: n * 60_000}}
	}
	got := Watched(e, c.LineRate)
	if got.Sender != nil || got.Receiver == nil || !ComeAndGo(e) {
		t.Fatalf("%+v", got)
	}
	if v := Judge(got); v.Limiter != model.StartUp || v.Measured < 4e6 || v.Measured > 6e6 {
		t.Errorf("%s", v.Line)
	}
	for i := range e.Samples {
		e.Samples[i].SNMP = nil
	}
	if ComeAndGo(e) {
		t.Error("without a count of connections")
	}
}
