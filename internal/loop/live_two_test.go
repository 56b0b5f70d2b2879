package loop

import (
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// twoHosts is a view of two hosts of which the test makes the samples: a client, which has sendAddr
// and is end 0, and a server, which has recvAddr and is end 1. The line between them carries 1
// Gbit/s.
type twoHosts struct {
	live *Live
	now  time.Duration // since the view began
}

// newTwoHosts is such a view before its first sample, with the connections that are watched at each
// host.
func newTwoHosts(client, server Target) *twoHosts {
	v := &twoHosts{}
	began := time.Unix(0, 0)
	v.live = &Live{began: began, LineRate: model.Known(unit.Gbit), Now: func() time.Time { return began.Add(v.now) }}
	for _, e := range []LiveEnd{
		{Name: "client", Addrs: []netip.Addr{sendAddr}, Target: client},
		{Name: "server", Addrs: []netip.Addr{recvAddr}, Target: server},
	} {
		end := &liveEnd{LiveEnd: e, window: watch.Window{Span: LiveWindow}}
		end.add(arrival{facts: &model.Facts{}})
		v.live.ends = append(v.live.ends, end)
	}
	return v
}

// hear adds what a host counts now to its window.
func (v *twoHosts) hear(end int, s model.Sample) {
	s.At, s.HostAt = v.now, v.live.began.Add(v.now)
	v.live.ends[end].add(arrival{at: v.now, sample: &s})
}

// judge is the judgement of the path between the two as it is now.
func (v *twoHosts) judge() watch.Judgement {
	return v.live.between([2]int{0, 1}, v.live.ends[0], v.live.ends[1])
}
