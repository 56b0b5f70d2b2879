package web

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// mostSeries is how many series one host may have in an answer: enough for 300 cores and 50
// interfaces. What is cut is counted.
const mostSeries = 2000

var (
	busy         = describe("linerate_tcp_busy_seconds_total", "Time in which the path's connections had something to send, summed over those whose sender is watched.", "path")
	limited      = describe("linerate_tcp_limited_seconds_total", "Time in which the path's connections waited for the receiver's window, for their own send buffer, or for their application to write, summed likewise.", "path", "limiter")
	cpuTime      = describe("linerate_cpu_seconds_total", "Time of each core by what it did, since its host started.", "host", "cpu", "mode")
	pauses       = describe("linerate_nic_pause_frames_total", "Ethernet pause frames that an interface received and sent; absent where it does not count them.", "host", "nic", "direction")
	nicErrors    = describe("linerate_nic_errors_total", "Frames that an interface received or sent with an error.", "host", "nic")
	hostInfo     = describe("linerate_host_info", "What a host runs; always 1.", "host", "os", "kernel")
	queueBytes   = describe("linerate_nic_queue_bytes_total", "Bytes that a transmit queue of an interface has sent.", "host", "nic", "queue")
	queueDrops   = describe("linerate_nic_queue_drops_total", "Packets that a transmit queue of an interface has dropped.", "host", "nic", "queue")
	queueWaits   = describe("linerate_nic_queue_backlog_bytes", "What waits in a transmit queue of an interface.", "host", "nic", "queue")
	received     = describe("linerate_softnet_packets_total", "Packets that a core took from the receive queues of interfaces.", "host", "cpu")
	receiveDrops = describe("linerate_softnet_drops_total", "Packets that a core dropped because its backlog was full.", "host", "cpu")
	squeezed     = describe("linerate_softnet_squeezes_total", "How often a core left packets in a receive queue because its time or budget was over.", "host", "cpu")
	dropped      = describe("linerate_series_dropped_total", "Series of a host that were left out of answers because it has more than may be.", "host")
)

// waits is for how long the connections of a path waited for what.
type waits struct{ busy, window, buffer, nothing time.Duration }

// ends is a connection of a host, or all that it has to a peer: then the local end and the remote port are zero.
type ends struct {
	host          string
	local, remote netip.AddrPort
}

// counters are what a host's kernel had counted of a connection at a time.
type counters struct {
	inode                    uint32
	since                    time.Duration // of a sum: see model.ConnTotal
	at, busy, window, buffer time.Duration // at: of its sample; of a sum, with nothing to send
}

// wait adds to each path what its connections counted since the pictures before. Between two pictures
// the kernel's own counters are subtracted, so that nothing is counted twice and, but for what a
// connection did after its last sample, nothing is left out. A connection counts from the first
// picture that its host's newest sample has it in.
func (v *View) wait(all []watch.Picture) {
	now, grown := map[ends]counters{}, map[ends]waits{}
	taken := map[*model.Sample]bool{}
	silent := map[string]bool{}
	for _, p := range all {
		for _, h := range p.Hosts {
			switch {
			case h.Stale:
				silent[h.Name] = true
			case h.Last != nil && !taken[h.Last]:
				taken[h.Last] = true
				v.count(h, now, grown)
			}
		}
	}
	for e, c := range v.counted { // what went on while a host was silent is counted when it is heard again
		if _, known := now[e]; silent[e.host] && !known {
			now[e] = c
		}
	}
	v.counted = now
	for _, p := range all {
		w, summed, peers := v.waits[p.Path], map[string]bool{}, map[ends]bool{}
		for _, h := range p.Hosts {
			summed[h.Name] = h.Last != nil && len(h.Last.Totals) > 0
		}
		for _, c := range p.Conns {
			if c.Busy != nil && !summed[c.Host] {
				w.add(grown[ends{c.Host, c.Local, c.Remote}])
			}
			peers[toPeer(c.Host, c.Remote.Addr())] = summed[c.Host]
		}
		for e, is := range peers {
			if is {
				w.add(grown[e])
			}
		}
		v.waits[p.Path] = w
	}
}

func toPeer(host string, peer netip.Addr) ends {
	return ends{host: host, remote: netip.AddrPortFrom(peer.Unmap(), 0)}
}

func (w *waits) add(g waits) {
	w.busy, w.window, w.buffer, w.nothing = w.busy+g.busy, w.window+g.window, w.buffer+g.buffer, w.nothing+g.nothing
}

// count takes the counters of a host's connections, and by how much they grew.
func (v *View) count(h watch.Host, now map[ends]counters, grown map[ends]waits) {
	for _, t := range h.Last.Totals {
		e := toPeer(h.Name, t.Remote)
		n := counters{since: t.Since, at: t.Nothing, busy: t.Busy, window: t.RwndLimited, buffer: t.SndbufLimited}
		now[e] = n
		if b, ok := v.counted[e]; ok && b.since == n.since {
			grown[e] = waits{n.busy - b.busy, n.window - b.window, n.buffer - b.buffer, n.at - b.at}
		}
	}
	for _, c := range h.Last.Conns {
		e := ends{h.Name, c.Local, c.Remote}
		n := counters{inode: c.Inode, at: h.Last.At, busy: c.Busy, window: c.RwndLimited, buffer: c.SndbufLimited}
		now[e] = n
		if b, ok := v.counted[e]; ok && b.inode == n.inode && n.busy >= b.busy {
			busy := n.busy - b.busy
			grown[e] = waits{busy, max(0, n.window-b.window), max(0, n.buffer-b.buffer), max(0, n.at-b.at-busy)}
		}
	}
}

func (w waits) collect(path string, out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(busy, prometheus.CounterValue, w.busy.Seconds(), path)
	for id, long := range map[model.LimiterID]time.Duration{model.ReceiverWindow: w.window, model.SendBuffer: w.buffer, model.ApplicationSource: w.nothing} {
		out <- prometheus.MustNewConstMetric(limited, prometheus.CounterValue, long.Seconds(), path, string(id))
	}
}

// hosts gives the counters of each host since it booted. A host whose samples are stale is left
// out: its counters would seem to stand still.
func (c collector) hosts(out chan<- prometheus.Metric) {
	seen := map[string]bool{}
	for _, p := range c.v.last {
		for _, h := range p.Hosts {
			if seen[h.Name] || h.Stale || h.Last == nil {
				continue
			}
			seen[h.Name] = true
			all := hostSeries(h)
			if c.v.queues {
				all = append(all, queueSeries(h)...)
			}
			c.v.dropped[h.Name] += float64(max(0, len(all)-mostSeries))
			for _, m := range all[:min(len(all), mostSeries)] {
				out <- m
			}
			out <- prometheus.MustNewConstMetric(dropped, prometheus.CounterValue, c.v.dropped[h.Name], h.Name)
		}
	}
}

// hostSeries are a host's series, those first that are to be left out last.
func hostSeries(h watch.Host) (out []prometheus.Metric) {
	add := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out = append(out, prometheus.MustNewConstMetric(d, kind, value, append([]string{h.Name}, labels...)...))
	}
	if h.Facts != nil {
		add(hostInfo, prometheus.GaugeValue, 1, h.Facts.OS, h.Facts.Kernel)
	}
	nics := map[string]bool{}
	for _, n := range h.Last.NICs {
		if n.Name == "lo" || nics[n.Name] {
			continue
		}
		nics[n.Name] = true
		add(nicErrors, prometheus.CounterValue, float64(n.Errors()), n.Name)
		if n.Pause != nil {
			add(pauses, prometheus.CounterValue, float64(n.Pause.Rx), n.Name, "received")
			add(pauses, prometheus.CounterValue, float64(n.Pause.Tx), n.Name, "sent")
		}
	}
	cores := map[int]bool{}
	for _, t := range h.Last.CPUs {
		if cores[t.CPU] {
			continue
		}
		cores[t.CPU] = true
		for mode, d := range map[string]time.Duration{"user": t.User, "system": t.System, "softirq": t.SoftIRQ + t.IRQ, "steal": t.Steal, "idle": t.Idle, "iowait": t.IOWait} {
			add(cpuTime, prometheus.CounterValue, d.Seconds(), strconv.Itoa(t.CPU), mode)
		}
	}
	return out
}

// queueSeries are those of a host's transmit queues and of its receiving cores.
func queueSeries(h watch.Host) (out []prometheus.Metric) {
	add := func(d *prometheus.Desc, kind prometheus.ValueType, value int64, labels ...string) {
		out = append(out, prometheus.MustNewConstMetric(d, kind, float64(value), append([]string{h.Name}, labels...)...))
	}
	type queue struct {
		dev string
		n   int
	}
	queues, cores := map[queue]bool{}, map[int]bool{}
	for _, q := range h.Last.Queues {
		if is := (queue{q.Dev, q.Queue}); !queues[is] {
			queues[is] = true
			n := strconv.Itoa(q.Queue)
			add(queueBytes, prometheus.CounterValue, q.Bytes, q.Dev, n)
			add(queueDrops, prometheus.CounterValue, q.Drops, q.Dev, n)
			add(queueWaits, prometheus.GaugeValue, q.Backlog, q.Dev, n)
		}
	}
	for _, s := range h.Last.Softnet {
		if !cores[s.CPU] {
			cores[s.CPU] = true
			n := strconv.Itoa(s.CPU)
			add(received, prometheus.CounterValue, s.Processed, n)
			add(receiveDrops, prometheus.CounterValue, s.Dropped, n)
			add(squeezed, prometheus.CounterValue, s.Squeezed, n)
		}
	}
	return out
}
