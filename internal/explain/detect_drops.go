package explain

import "linerate/internal/model"

// Where losses happen, as far as the counters of both hosts tell. A connection
// shows that segments are lost; a counter that grew by as many shows where.

// dropShare of the lost segments in one counter makes that the place.
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
	if n := dataNIC(s.c.Receiver); n != nil {
		out = append(out,
			dropPlace{s.c.Receiver, "nic_rx_crc", "%d frames came damaged to " + n.Name, "look at the cable, the transceiver and the switch port of " + n.Name, nic(n.Name, func(c model.NICCount) int64 { return c.RxCRC })},
			dropPlace{s.c.Receiver, "nic_rx_dropped", "%d packets were dropped by " + n.Name + " on their way in", "give " + n.Name + " more receive buffers (ring) or its softirq more CPU", nic(n.Name, func(c model.NICCount) int64 { return c.RxDropped + c.RxErrors - c.RxCRC })})
	}
	if n := dataNIC(s.c.Sender); n != nil {
		out = append(out, dropPlace{s.c.Sender, "nic_tx_dropped", "%d packets were dropped by " + n.Name + " on their way out", "look at the driver and the queue of " + n.Name, nic(n.Name, func(c model.NICCount) int64 { return c.TxDropped + c.TxErrors })})
	}
	return out
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

// placeLosses tells at which host the lost segments went, where a counter there
// grew along with them: that host is then where to look.
func (f *finding) placeLosses(s *scene) {
	lost := s.snd.resent
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
		f.host, f.advice = p.end.Host, p.advice
		f.say(p.end.Host, p.metric, float64(n), "packets", len(in), p.what+" while %.0f segments were lost", n, lost)
		return
	}
}
