package explain

import (
	"fmt"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// CPUCost is what moving data through TCP costs the busiest thread on a host's
// own loopback, in seconds of a core.
type CPUCost struct {
	PerByte   float64 `json:"per_byte"`
	PerPacket float64 `json:"per_packet"`
}

// LoopRun is one run over a host's loopback: how fast, in packets of what size,
// and which share of a core its busiest thread used.
type LoopRun struct {
	Rate   unit.BitRate
	Packet unit.Bytes
	Share  float64
}

func (r LoopRun) perByte() float64 { return ratio(r.Share*8, float64(r.Rate)) }

// CostOf parts the cost per byte from that per packet by two runs that differ
// in the size of their packets: cost = a + b / packet. Two runs that do not
// differ so have a cost per byte only.
func CostOf(large, small LoopRun) (CPUCost, bool) {
	cl, cs := large.perByte(), small.perByte()
	if !known(cl) || cl <= 0 {
		return CPUCost{}, false
	}
	if !known(cs) || cs <= cl || small.Packet <= 0 || small.Packet >= large.Packet {
		return CPUCost{PerByte: cl}, true
	}
	b := (cs - cl) / (1/float64(small.Packet) - 1/float64(large.Packet))
	if a := cl - b/float64(large.Packet); a > 0 {
		return CPUCost{PerByte: a, PerPacket: b}, true
	}
	return CPUCost{PerByte: cl}, true
}

// BusiestShare is the largest share of a core that one thread used from a time
// on; unknown (NaN) without two readings of one.
func BusiestShare(samples []model.Sample, from time.Duration) float64 {
	type reading struct{ at, cpu time.Duration }
	first, last := map[int]reading{}, map[int]reading{}
	for _, s := range samples {
		for _, t := range s.Tasks {
			if s.At < from {
				continue
			}
			if _, ok := first[t.TID]; !ok {
				first[t.TID] = reading{s.At, t.CPU}
			}
			last[t.TID] = reading{s.At, t.CPU}
		}
	}
	best := unknown()
	for tid, l := range last {
		f := first[tid]
		if l.at-f.at < minShareTime {
			continue
		}
		if v := float64(l.cpu-f.cpu) / float64(l.at-f.at); !(v <= best) {
			best = v
		}
	}
	return best
}

// minShareTime: over less the kernel's accounting of a thread is too coarse.
const minShareTime = 200 * time.Millisecond

// aggregate is the largest packet of the stack with segmentation offload at
// the sender or coalescing at the receiver (64 KiB, include/linux/netdevice.h).
const aggregate = 64 << 10

// cores: what the cores of either host move, at the cost measured on its
// loopback, n streams on at most as many cores.
func (g Ground) cores(n int) []bound {
	var out []bound
	mss := Ceiling(g.asCase()).Inputs.MSS
	for _, e := range []struct {
		end      *End
		features []string
	}{
		{g.Sender, []string{"tx-tcp-segmentation", "tx-generic-segmentation"}},
		{g.Receiver, []string{"rx-gro", "rx-gro-hw", "rx-lro"}},
	} {
		cost, ok := g.Cost[e.end.host()]
		if !ok || !(cost.PerByte > 0) {
			continue
		}
		packet := float64(aggregate)
		if single(e.end, e.features) && mss > 0 {
			packet = float64(mss)
		}
		used := n
		if e.end.Facts != nil && len(e.end.Facts.CPUs) > 0 {
			used = min(n, len(e.end.Facts.CPUs))
		}
		rate := unit.BitRate(float64(used) * 8 / (cost.PerByte + cost.PerPacket/packet))
		cores := "one core"
		if used > 1 {
			cores = fmt.Sprintf("%d cores", used)
		}
		out = append(out, bound{rate, fmt.Sprintf("%s of %s at %.3g ns/B + %.3g µs per packet of %s = %s",
			cores, e.end.Host, cost.PerByte*1e9, cost.PerPacket*1e6, unit.Bytes(packet), rate)})
	}
	return out
}

// single: every segment passes the stack by itself, as far as is known.
func single(e *End, features []string) bool {
	n := e.dataNIC(tracks(e))
	if n == nil {
		return false
	}
	have, ok := n.Features.Get()
	if !ok {
		return false
	}
	for _, f := range features {
		if have[f] {
			return false
		}
	}
	return true
}

// copies: a byte over the loopback is copied in and out, in blocks that stay in
// the caches. With one core both copies are its work, with more they go on at
// once. What TCP itself costs is not in it.
func (g Ground) copies() []bound {
	var out []bound
	for _, e := range []*End{g.Sender, g.Receiver} {
		r, ok := g.CopyNear[e.host()]
		if !ok {
			continue
		}
		if e.Facts != nil && len(e.Facts.CPUs) == 1 {
			out = append(out, bound{r / 2, fmt.Sprintf("copies within the caches of %s %s / 2 on its one core = %s", e.Host, r, r/2)})
			continue
		}
		out = append(out, bound{r, fmt.Sprintf("copies within the caches of %s %s, in and out at once", e.Host, r)})
	}
	return out
}
