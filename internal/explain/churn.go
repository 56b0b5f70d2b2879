package explain

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Connections that come and go between two samples are not in any of them. The host's
// counters still show them: connections that were opened, and bytes at the interface.

const (
	// churnOpens connections, and so many a second, are a workload of short ones.
	churnOpens     = 10
	churnPerSecond = 2.0
	// churnBytes and churnMore: short connections moved the data if the interface carried at
	// least so many bytes, and so many times what the connections that were seen moved.
	churnBytes = 256 << 10
	churnMore  = 2.0
	// sureOfChurn is the confidence where both ends count the same connections; other
	// hosts may have opened those that only one end counts.
	sureOfChurn  = 0.55
	guessOfChurn = 0.4
)

// churn is what short connections moved at one end.
type churn struct {
	end   *End
	opens float64
	bytes float64 // at the interface that moved most, in the direction of the data, without those to other hosts
	wall  time.Duration
	n     int
}

// churnAt reads the counters of an end; nil where there were next to no connections, or
// no counters.
func churnAt(e *End, out bool) *churn {
	if e == nil || len(e.Samples) < 2 {
		return nil
	}
	a, b := e.Samples[0], e.Samples[len(e.Samples)-1]
	c := &churn{end: e, wall: b.At - a.At, n: len(e.Samples)}
	grown := growth(e.Samples)
	c.opens = float64(max(grown["Tcp.ActiveOpens"], grown["Tcp.PassiveOpens"]))
	if !(c.opens >= churnOpens) || !(c.opens/c.wall.Seconds() >= churnPerSecond) {
		return nil
	}
	only := e.nic(netip.Addr{})
	for _, n := range b.NICs {
		if n.Name == "lo" || only != nil && n.Name != only.Name {
			continue
		}
		moved := nicGrowth(a, b, n.Name, func(x model.NICCount) int64 {
			if out {
				return x.TxBytes
			}
			return x.RxBytes
		})
		c.bytes = max(c.bytes, float64(moved))
	}
	_, elsewhere := watchedBytes(e, out)
	c.bytes = max(0, c.bytes-elsewhere)
	return c
}

// counts tells whether an end shows how many connections were opened.
func (e *End) counts() bool {
	if e == nil || len(e.Samples) < 2 {
		return false
	}
	_, ok := e.Samples[0].SNMP["Tcp.ActiveOpens"]
	return ok
}

// watchedBytes is what the connections that samples have moved in one direction, to the peer and elsewhere;
// those within the host pass no interface.
func watchedBytes(e *End, out bool) (peer, elsewhere float64) {
	for _, l := range lifetimes(e.Samples) {
		moved := l.last.BytesReceived - l.first.BytesReceived
		if out {
			moved = l.last.BytesAcked - l.first.BytesAcked
		}
		switch to := l.last.Remote.Addr().Unmap(); {
		case isPeer(e.Peer, l.last.Remote):
			peer += float64(moved)
		case !to.IsLoopback() && to != l.last.Local.Addr().Unmap():
			elsewhere += float64(moved)
		}
	}
	return peer, elsewhere
}

// ComeAndGo tells whether connections that are too short to be watched moved data at the
// end, by the host's counters.
func ComeAndGo(e *End) bool {
	for _, out := range []bool{true, false} {
		if c := churnAt(e, out); c != nil && c.bytes >= churnBytes {
			return true
		}
	}
	return false
}

// shortAtBoth is the end whose counters tell of short connections between the two hosts. Where both
// ends count and one of them opened none, the connections are with other hosts. What passed between
// the two is what both interfaces carried.
func shortAtBoth(snd, rcv *churn, both bool) *churn {
	switch {
	case both && (snd == nil || rcv == nil):
		return nil
	case snd == nil || both && rcv.bytes < snd.bytes:
		return rcv
	case rcv == nil || both || snd.bytes >= rcv.bytes:
		return snd
	}
	return rcv
}

// shortFlows is the verdict on a transfer of many short connections, if they moved most of what the
// interface carried; else nil. It is nil for a copy of our own, too: that keeps its connections
// open or, within one host, has none, so that the short ones belong to others.
func (v *views) shortFlows() *model.Verdict {
	if v.copy != nil {
		return nil
	}
	snd, rcv := churnAt(v.Sender, true), churnAt(v.Receiver, false)
	c := shortAtBoth(snd, rcv, v.Sender.counts() && v.Receiver.counts())
	if c == nil {
		return nil
	}
	seen, _ := watchedBytes(c.end, c == snd)
	if !(c.bytes >= max(churnBytes, churnMore*seen)) {
		return nil
	}
	rate := c.bytes * 8 / c.wall.Seconds()
	f := &finding{id: model.StartUp}
	f.say(c.end.Host, "connections_opened", c.opens, "connections", c.n, "%.0f connections were opened in %s, each of about %s", c.opens, seconds(c.wall.Seconds()), size(c.bytes/c.opens))
	f.say(c.end.Host, "interface_goodput", rate, "bit/s", c.n, "the interface carried %s all the while, headers and what else runs there included", bits(rate))
	f.say(c.end.Host, "bytes_seen", seen, "bytes", c.n, "the connections that lasted long enough to be watched moved %s of it", size(seen))
	out := model.Verdict{Limiter: model.StartUp, Where: limiter(model.StartUp).Where, Confidence: guessOfChurn, Evidence: f.evidence, Measured: unit.BitRate(rate)}
	if snd != nil && rcv != nil && math.Abs(snd.opens-rcv.opens) <= 0.2*max(snd.opens, rcv.opens) {
		out.Confidence = sureOfChurn
	}
	out.Fix = operator(c.end.Host, fmt.Sprintf("keep connections open and send more over each: one of %s ends while its window still grows; a larger initial window (ip route … initcwnd) helps those that cannot be kept", size(c.bytes/c.opens)))
	out.Notes = []string{"single connections were too short to be watched: what holds each of them back is not known"}
	v.goodput = rate
	return &out
}
