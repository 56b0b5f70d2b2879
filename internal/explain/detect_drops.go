package explain

import "linerate/internal/model"

// Where segments are lost, as far as the counters of both hosts tell: a counter that
// grew by as many as the connection lost names the place.

// dropShare: a counter with this share of the lost segments names the place.
const dropShare = 0.3

// dropPlace is one counter of packets that a host lost, damaged or refused.
type dropPlace struct {
	end    *End
	metric string
	what   string // format for the count
	advice string
	count  func(a, b model.Sample) int64
}

func dropPlaces(s *scene) []dropPlace {
	nic := func(name string, pick func(model.NICCount) int64) func(a, b model.Sample) int64 {
		return func(a, b model.Sample) int64 { return nicGrowth(a, b, name, pick) }
	}
	var out []dropPlace
	if n := s.c.readNIC; n != nil {
		out = append(out,
			dropPlace{s.c.Receiver, "nic_rx_crc", "%d frames came damaged to " + n.Name, "look at the cable, the transceiver and the switch port of " + n.Name, nic(n.Name, func(c model.NICCount) int64 { return c.RxCRC })},
			dropPlace{s.c.Receiver, "nic_rx_missed", "%d frames found no room in the receive ring of " + n.Name, ringAdvice(n), nic(n.Name, func(c model.NICCount) int64 { return c.RxMissed })},
			dropPlace{s.c.Receiver, "nic_rx_dropped", "%d packets were dropped by " + n.Name + " on their way in", "give " + n.Name + " more receive buffers (ring) or its softirq more CPU", nic(n.Name, func(c model.NICCount) int64 { return c.RxDropped + c.RxErrors - c.RxCRC })})
	}
	if n := s.c.sendNIC; n != nil {
		out = append(out, dropPlace{s.c.Sender, "nic_tx_dropped", "%d packets were dropped by " + n.Name + " on their way out", "look at the driver and the queue of " + n.Name, nic(n.Name, func(c model.NICCount) int64 { return c.TxDropped + c.TxErrors })},
			dropPlace{s.c.Sender, "qdisc_drops", "%d packets were dropped by the queueing discipline of " + n.Name, "give the queueing discipline of " + n.Name + " more room (limit), or send less into it", qdiscGrowth(n.Name)})
	}
	if s.c.Receiver != nil {
		out = append(out, dropPlace{s.c.Receiver, "socket_drops", "%d segments were dropped at the receiving sockets, which had no room for them", "let the receiving application read sooner, raise tcp_rmem there, and see that the host has TCP memory left (net.ipv4.tcp_mem)", snmpDrops})
		if !s.c.oneKernel() { // which would count the sender's too
			out = append(out, dropPlace{s.c.Receiver, "softnet_drops_total", "%d packets were dropped before the stack took them", "spread the packets over more cores (queues, rps_cpus), then raise net.core.netdev_max_backlog", softnetGrowth})
		}
	}
	return out
}

func snmpDrops(a, b model.Sample) int64 {
	return socketDrops(growth([]model.Sample{a, b}))
}

func softnetGrowth(a, b model.Sample) (n int64) {
	if len(a.Softnet) != len(b.Softnet) {
		return 0
	}
	for i := range b.Softnet {
		n += max(0, b.Softnet[i].Dropped-a.Softnet[i].Dropped)
	}
	return n
}

func qdiscGrowth(dev string) func(a, b model.Sample) int64 {
	return func(a, b model.Sample) (n int64) {
		for _, x := range a.Qdiscs {
			for _, y := range b.Qdiscs {
				if x.Dev == dev && y.Dev == dev {
					n += max(0, y.Drops-x.Drops)
				}
			}
		}
		return n
	}
}

func nicGrowth(a, b model.Sample, name string, pick func(model.NICCount) int64) int64 {
	at := func(s model.Sample) (int64, bool) {
		for _, c := range s.NICs {
			if c.Name == name {
				return pick(c), true
			}
		}
		return 0, false
	}
	x, okA := at(a)
	y, okB := at(b)
	if !okA || !okB {
		return 0
	}
	return max(0, y-x)
}

// placedCap caps the confidence where a counter shows the place of the losses.
const placedCap = 0.9

// placeLosses names the host where a counter grew along with the losses. That rules
// out the limiters that would otherwise look the same. lost is the least number of
// segments that were lost.
func (f *finding) placeLosses(s *scene, lost float64) {
	if !(lost >= lateEvents) {
		return
	}
	for _, p := range dropPlaces(s) {
		in := p.end.Samples
		if len(in) < 2 {
			continue
		}
		n := p.count(in[0], in[len(in)-1])
		if float64(n) < dropShare*lost {
			continue
		}
		f.host, f.advice, f.cap, f.alts = p.end.Host, p.advice, max(f.cap, placedCap), nil
		f.say(p.end.Host, p.metric, float64(n), "packets", len(in), p.what+" while %.0f segments were lost", n, lost)
		last := len(f.evidence) - 1 // it is what decides
		f.evidence = append([]model.Evidence{f.evidence[last]}, f.evidence[:last]...)
		return
	}
}
