package wire

import "time"

// Sockets is what the kernel counted of an end's data connections, summed up. Seen is how
// many of them it told of; 0: nothing is known. Times are as tcp_info has them: Busy with
// data to send, of which RwndLimited the receiver's window held, and SndbufLimited the send
// buffer.
type Sockets struct {
	Seen          int           `json:"seen"`
	Busy          time.Duration `json:"busy_ns"`
	RwndLimited   time.Duration `json:"rwnd_limited_ns"`
	SndbufLimited time.Duration `json:"sndbuf_limited_ns"`
	Retransmitted int64         `json:"retransmitted"` // segments
	Segments      int64         `json:"segments"`      // with data, that were sent
	MinRTT        time.Duration `json:"min_rtt_ns"`    // the least of any; 0: not seen
	Congestion    string        `json:"congestion"`    // congestion control
}

// one is tcp_info's part of it: times in µs.
type one struct {
	busy, rwnd, sndbuf, retrans, sent uint64
	rtt                               uint32
	cc                                string
}

func (s *Sockets) add(o one) {
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	s.Seen++
	s.Busy, s.RwndLimited, s.SndbufLimited = s.Busy+us(o.busy), s.RwndLimited+us(o.rwnd), s.SndbufLimited+us(o.sndbuf)
	s.Retransmitted, s.Segments = s.Retransmitted+int64(o.retrans), s.Segments+int64(o.sent)
	// The kernel says ^0 where it has seen none.
	if rtt := us(uint64(o.rtt)); o.rtt != ^uint32(0) && rtt > 0 && (s.MinRTT == 0 || rtt < s.MinRTT) {
		s.MinRTT = rtt
	}
	s.Congestion = o.cc
}

// Sockets asks the kernel about the data streams; after their end they are what they were.
func (s *Stats) Sockets() Sockets {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out Sockets
	for _, c := range s.conns {
		if c.n > 0 {
			out.look(c.raw)
		}
	}
	if out.Seen < s.sockets.Seen {
		return s.sockets // some are closed by now
	}
	s.sockets = out
	return out
}
