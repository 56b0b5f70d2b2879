package explain

import "linerate/internal/model"

// smallMTU: from this much more goodput on at the larger of both ends' MTU the
// smaller one is worth naming: what costs less than 5% counts as healthy.
const smallMTU = 1.05

// seeSmallMTU: the path is full, but with smaller packets than one end is set up
// for, so that more of it than need be goes into headers.
func seeSmallMTU(s *scene) *finding {
	a, b := s.c.sendNIC, s.c.readNIC
	if a == nil || b == nil || a.MTU <= 0 || b.MTU <= 0 || a.MTU == b.MTU || !(ratio(s.total, s.ceiling) >= atCeiling) {
		return nil
	}
	small, large := s.c.Sender, b
	if a.MTU > b.MTU {
		small, large = s.c.Receiver, a
	}
	in := s.c.link.Inputs
	headers := min(a.MTU, b.MTU) - in.MSS
	gain := payloadOf(large.MTU, headers) / payloadOf(min(a.MTU, b.MTU), headers)
	if !(gain >= smallMTU) || in.MSS < min(a.MTU, b.MTU)-headers {
		return nil
	}
	nic := s.c.nicOf(small)
	f := &finding{id: model.PacketCost, host: small.Host, margin: over(gain, smallMTU, 1.2), cap: 0.8}
	f.say(small.Host, "mtu", float64(nic.MTU), "bytes", s.n(), "%s has an MTU of %d while the other end has %d: headers take so much more of the link that %.0f%% of the goodput are lost", nic.Name, nic.MTU, large.MTU, 100*(1-1/gain))
	f.say("", "share_of_ceiling", ratio(s.total, s.ceiling), "ratio", s.n(), "goodput is %s of what packets of %d bytes allow", pct(s.total/s.ceiling), nic.MTU)
	f.advice = "set the MTU of " + nic.Name + " to that of the other end, once every hop between them is known to carry it"
	f.or(model.None, "the larger MTU may have been left at the other end by mistake: see what the switches between them carry")
	f.lift = gain
	return f
}

// payloadOf is the share of the wire that is payload, in full packets of an MTU
// with so many bytes of headers within (IEEE 802.3 for those around).
func payloadOf(mtu, headers int) float64 {
	return float64(mtu-headers) / float64(mtu+frameBytes)
}
