package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// Losses are placed at the host whose counter grew along with them, and nowhere
// when none did.
func TestLossesArePlaced(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sender bool
		count  func(c *model.NICCount, i int)
		host   string
		says   string
	}{
		{"damaged on the way in", false, func(c *model.NICCount, i int) { c.RxCRC, c.RxErrors = int64(i), int64(i) }, "server1", "cable"},
		{"no room in the ring", false, func(c *model.NICCount, i int) { c.RxDropped = int64(i) }, "server1", "ring"},
		{"dropped on the way out", true, func(c *model.NICCount, i int) { c.TxDropped = int64(i) }, "client1", "driver"},
		{"a stray drop", false, func(c *model.NICCount, i int) { c.RxDropped = int64(min(i, 1)) }, "", ""},
		{"counted before", false, func(c *model.NICCount, _ int) { c.RxDropped = 1000 }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := lossy(1e-3).build() // some 34 segments of 40 samples
			e := c.Receiver
			if tt.sender {
				e = c.Sender
			}
			for i := range e.Samples {
				n := model.NICCount{Name: "eth0"}
				tt.count(&n, i)
				e.Samples[i].NICs = []model.NICCount{n}
			}
			v := Judge(c)
			if v.Limiter != model.PathLoss || v.Host != tt.host || !strings.Contains(v.Fix.Advice, tt.says) {
				t.Errorf("at %q, %q: %s", v.Host, v.Fix.Advice, v.Line)
			}
		})
	}
}

// So are those below the interface's own counters and above them, each with what
// to do about it; once the place is seen nothing else is left to suspect.
func TestLossesArePlacedAtEveryLayer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sender bool
		edit   func(s *model.Sample, i int)
		facts  func(n *model.NIC)
		metric string
		says   string
	}{
		{"the ring", false, func(s *model.Sample, i int) { s.NICs[0].RxMissed = int64(i) }, func(n *model.NIC) { n.Ring = model.Known(model.Ring{Rx: 512, RxMax: 4096}) }, "nic_rx_missed", "from 512 (ethtool -G; it can 4096)"},
		{"a ring as large as it gets", false, func(s *model.Sample, i int) { s.NICs[0].RxMissed = int64(i) }, nil, "nic_rx_missed", "over more cores"},
		{"the backlog", false, func(s *model.Sample, i int) { s.Softnet = []model.Softnet{{Dropped: int64(i)}} }, nil, "softnet_drops_total", "netdev_max_backlog"},
		{"the receive queue", false, func(s *model.Sample, i int) { s.SNMP = map[string]int64{"TcpExt.TCPRcvQDrop": int64(i)} }, nil, "socket_drops", "tcp_rmem"},
		{"pruned", false, func(s *model.Sample, i int) {
			s.SNMP = map[string]int64{"TcpExt.RcvPruned": int64(i / 2), "TcpExt.OfoPruned": int64(i / 2)}
		}, nil, "socket_drops", "tcp_mem"},
		{"the backlog of a socket", false, func(s *model.Sample, i int) { s.SNMP = map[string]int64{"TcpExt.TCPBacklogDrop": int64(i)} }, nil, "socket_drops", "tcp_rmem"},
		{"the sender's queueing discipline", true, func(s *model.Sample, i int) {
			s.Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: "fq", Drops: int64(i / 8)}}
		}, nil, "qdisc_drops", "limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := lossy(1e-3)
			if tt.sender { // fewer than a shaper that limits drops
				k = lossy(3e-4)
			}
			c := k.build()
			c.Receiver.Facts.BootID = "another"
			e := c.Receiver
			if tt.sender {
				e = c.Sender
			}
			for i := range e.Samples {
				e.Samples[i].NICs = []model.NICCount{{Name: "eth0"}}
				e.Samples[i].Softnet = []model.Softnet{{}}
				tt.edit(&e.Samples[i], i)
			}
			if tt.facts != nil {
				tt.facts(&e.Facts.NICs[0])
			}
			v := Judge(c)
			checkVerdict(t, c, v)
			if v.Limiter != model.PathLoss || v.Host != e.Host || v.Evidence[0].Metric != tt.metric || !strings.Contains(v.Fix.Advice, tt.says) || len(v.Alternatives) > 0 {
				t.Errorf("%s at %q, %q, alternatives %v: %s", v.Limiter, v.Host, v.Fix.Advice, v.Alternatives, v.Line)
			}
		})
	}
}
