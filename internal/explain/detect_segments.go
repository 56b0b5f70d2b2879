package explain

import (
	"fmt"

	"linerate/internal/model"
)

// guessedMTU is how much more goodput segments of the interface's size have to bring
// before small ones are named, where the path or an end that was not seen may be of
// that size by right: hosts of MTU 9000 on a path of 1500 gain 5.2%, and are healthy.
const guessedMTU = 1.10

// segmentsCost tells whether segments of seen bytes, as the connection c uses them, cost
// goodput against those that the interfaces could send.
func (v *views) segmentsCost(in CeilingInputs, c *model.Conn, seen int) bool {
	if in.MTU <= 0 || in.MSS <= seen {
		return false
	}
	least := smallMTU
	if v.sendNIC == nil || v.readNIC == nil || c.PMTU < in.MTU {
		least = guessedMTU
	}
	return in.share(in.MSS) >= least*in.share(seen)
}

// seeSmallSegments: the path is full, but with segments so much smaller than the ports
// at both ends could send that headers take the rest.
func seeSmallSegments(s *scene) *finding {
	in := s.c.link.Inputs
	if in.InUse == 0 || s.snd == nil || !(ratio(s.total, s.inUse()) >= atCeiling) || seeProbed(s) != nil {
		return nil
	}
	f := &finding{id: model.SmallSegments, margin: over(in.share(in.MSS)/in.share(in.InUse), 1, 1.15), cap: 0.9}
	f.segmentEvidence(s)
	f.say("", "share_of_full_segments", ratio(s.total, s.inUse()), "ratio", s.n(), "goodput is %s of what segments of %d bytes allow (%s)", pct(s.total/s.inUse()), in.InUse, bits(s.inUse()))
	f.segmentsFrom(s)
	return f
}

// inUse is the ceiling with the segments in use.
func (s *scene) inUse() float64 {
	in := s.c.link.Inputs
	return s.ceiling * ratio(in.share(in.InUse), in.share(in.MSS))
}

func (f *finding) segmentEvidence(s *scene) {
	in := s.c.link.Inputs
	f.say(s.c.Sender.host(), "snd_mss", float64(in.InUse), "bytes", s.snd.n, "segments carry %d bytes, and the interfaces' MTU of %d has room for %d: headers take %.0f%% of the goodput", in.InUse, in.MTU, in.MSS, 100*(1-in.share(in.InUse)/in.share(in.MSS)))
}

// segmentsFrom tells who made the segments small, as far as the ends show it.
func (f *finding) segmentsFrom(s *scene) {
	c, in := s.snd.last, s.c.link.Inputs
	const clamp = "a box on the way rewrites the MSS option of the SYN (look for an MSS clamp on routers, firewalls and tunnels: nft maxseg, iptables TCPMSS, adjust-mss)"
	const peer = "the receiving end asks for them (the MTU or advmss of its route, TCP_MAXSEG of its program)"
	switch {
	case c.PMTU > 0 && c.PMTU < in.MTU && c.PMTU <= in.InUse+in.headers()+timestampBytes:
		f.say(s.c.Sender.host(), "path_mtu", float64(c.PMTU), "bytes", s.snd.n, "a router, or a route of this host, told a path MTU of %d", c.PMTU)
		f.advice = fmt.Sprintf("find the hop of MTU %d (tracepath) and raise it to %d, or remove the route's mtu", c.PMTU, in.MTU)
		if !f.narrowHop(s, in.MTU) && f.wideWay(s) {
			f.advice = fmt.Sprintf("no hop is as small as %d: remove the mtu of this host's route (ip route get to the other end shows it), or the path MTU that it still remembers (ip route flush cache)", c.PMTU)
		}
	case s.rcv == nil:
		f.cap = 0.65
		f.advice = "segments are small because " + peer + ", or " + clamp
		f.or(model.PacketCost, "log in at the receiving end: the segment size that it advertised tells whether it or the path makes segments small")
	case float64(s.rcv.last.AdvMSS) < probedMSS*float64(in.MSS):
		f.host = s.c.Receiver.host()
		f.say(f.host, "advmss", float64(s.rcv.last.AdvMSS), "bytes", s.rcv.n, "the receiving end itself advertised segments of %d bytes", s.rcv.last.AdvMSS)
		f.advice = "segments are small because " + peer
	case c.AdvMSS > 0 && float64(c.AdvMSS) < probedMSS*float64(in.MSS):
		f.host = s.c.Sender.host()
		f.say(f.host, "advmss", float64(c.AdvMSS), "bytes", s.snd.n, "the sending end itself goes by segments of %d bytes", c.AdvMSS)
		f.advice = "the sending end makes segments small: the advmss or mtu of its route, or TCP_MAXSEG of its program; or " + clamp
	default:
		f.say(s.c.Receiver.host(), "advmss", float64(s.rcv.last.AdvMSS), "bytes", s.rcv.n, "the receiving end advertised segments of %d bytes, so they were made small on the way", s.rcv.last.AdvMSS)
		if !f.narrowHop(s, in.MTU) {
			f.wideWay(s)
			f.advice = clamp
		} else {
			f.advice += "; " + clamp
		}
	}
}

// willSendSmall: once nothing else holds it, the path is full with small segments.
func willSendSmall(s *scene) *finding {
	if s.c.link.Inputs.InUse == 0 || s.snd == nil {
		return nil
	}
	f := forecast(model.SmallSegments, "", s.inUse(), sureOfSetting)
	f.segmentEvidence(s)
	f.segmentsFrom(s)
	f.cap = sureOfSetting
	return f
}
