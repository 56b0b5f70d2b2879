package explain

import (
	"strings"
	"time"

	"linerate/internal/model"
)

// packetView is what happens to packets below TCP on one host over a span:
// flow control, and how their work is spread over the cores. Unknown is NaN.
type packetView struct {
	pauseRx, pauseTx float64 // frames/s; of a bond, of all its ports
	squeezed         float64 // times/s that softirq ran out of its budget
	// The core that took most packets off the queues: its number, its share of
	// the packets, the share of its time in softirq and irq, the share of its
	// time that is busy, and how idle the idlest other core is.
	core                      int
	took, softirq, full, idle float64
}

func viewPackets(in []model.Sample, nic *model.NIC, facts *model.Facts) packetView {
	v := packetView{pauseRx: unknown(), pauseTx: unknown(), squeezed: unknown(), core: -1,
		took: unknown(), softirq: unknown(), full: unknown(), idle: unknown()}
	if len(in) < 2 {
		return v
	}
	v.pauses(in, nic, facts)
	v.spread(in[0], in[len(in)-1], wall(in))
	return v
}

// pauses counts between the first and the last sample that asked.
func (v *packetView) pauses(in []model.Sample, nic *model.NIC, facts *model.Facts) {
	if nic == nil {
		return
	}
	type reading struct {
		at     time.Duration
		rx, tx int64
	}
	var first, last *reading
	for _, s := range in {
		r := reading{at: s.At}
		told := false
		for _, n := range s.NICs {
			if n.Pause != nil && (n.Name == nic.Name || portOf(n.Name, nic.Name, facts)) {
				r.rx, r.tx, told = r.rx+n.Pause.Rx, r.tx+n.Pause.Tx, true
			}
		}
		if !told {
			continue
		}
		if first == nil {
			first = &r
		}
		last = &r
	}
	if first == nil || last.at <= first.at || last.rx < first.rx || last.tx < first.tx {
		return
	}
	d := (last.at - first.at).Seconds()
	v.pauseRx, v.pauseTx = float64(last.rx-first.rx)/d, float64(last.tx-first.tx)/d
}

// portOf tells whether an interface is a port of the bond, or carries the VLAN,
// that is named.
func portOf(name, of string, facts *model.Facts) bool {
	if parent, _, tagged := strings.Cut(of, "."); tagged && parent == name {
		return true
	}
	if facts == nil {
		return false
	}
	for _, n := range facts.NICs {
		if n.Name == name {
			return n.Master == of
		}
	}
	return false
}

// spread finds the core that takes most packets off the queues.
func (v *packetView) spread(a, b model.Sample, wall float64) {
	if len(a.Softnet) == 0 || len(a.Softnet) != len(b.Softnet) {
		return
	}
	var all, most, squeezed float64
	for i, x := range b.Softnet {
		d := float64(x.Processed - a.Softnet[i].Processed)
		if x.CPU != a.Softnet[i].CPU || d < 0 {
			return
		}
		squeezed += float64(x.Squeezed - a.Softnet[i].Squeezed)
		if all += d; d > most {
			most, v.core = d, x.CPU
		}
	}
	v.took, v.squeezed = ratio(most, all), ratio(max(0, squeezed), wall)
	first := map[int]model.CPUTime{}
	for _, c := range a.CPUs {
		first[c.CPU] = c
	}
	for _, y := range b.CPUs {
		x, ok := first[y.CPU]
		if !ok {
			continue
		}
		soft := (y.SoftIRQ - x.SoftIRQ + y.IRQ - x.IRQ).Seconds()
		rest := (y.Idle - x.Idle + y.IOWait - x.IOWait).Seconds()
		total := soft + rest + (y.User - x.User + y.System - x.System + y.Steal - x.Steal).Seconds()
		if y.CPU == v.core {
			v.softirq, v.full = ratio(soft, total), 1-ratio(rest, total)
		} else if idle := ratio(rest, total); !(idle <= v.idle) {
			v.idle = idle
		}
	}
}
