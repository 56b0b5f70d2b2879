package explain

import (
	"net/netip"

	"linerate/internal/model"
)

const (

	// othersShare of the ceiling, or of the goodput where no ceiling is known, is traffic
	// of others that is felt.
	othersShare = 0.08
	// copiedShare of the segments arrive twice, and hardly one was sent twice: the path
	// copies packets. Fewer cost no more than the noise of a run.
	copiedShare = 0.03
	// fullSegment: segments that are on average this full can be told from their bytes.
	fullSegment = 0.98
)

// foreign is what the interface carried in the direction of the data beyond the end's
// connections, bit/s; unknown where the interface was not counted.
func (v *hostView) foreign(in []model.Sample, out bool) float64 {
	counted := 8 * v.packet * v.packetRate
	if !known(counted) {
		return unknown()
	}
	own := 0.0
	for _, l := range lifetimes(in) {
		own += wireBytes(l.first, l.last, out)
	}
	// On a busy host the interface was read some time after the connections.
	if late := ratio(in[len(in)-1].Spread.Seconds(), wall(in)); late > 0 {
		counted *= 1 - min(1, late)
	}
	return max(0, counted-ratio(8*own, wall(in)))
}

// lifetime is one connection's first and last state in samples, the first empty if it began since.
type lifetime struct{ first, last *model.Conn }

// lifetimes are those of all connections. One that its program has closed has no inode any more, and is the
// same all the while that it sends what is left.
func lifetimes(in []model.Sample) (out []lifetime) {
	type path struct{ local, remote netip.AddrPort }
	at := map[path]int{}
	for i := range in {
		for n := range in[i].Conns {
			c := &in[i].Conns[n]
			if !carries(c) {
				continue
			}
			k := path{c.Local, c.Remote}
			if was, ok := at[k]; ok && goesOn(out[was].last, c) {
				out[was].last = c
				continue
			}
			first := &model.Conn{}
			if i == 0 || in[i].Totals != nil { // it may have been there before, and not been told
				first = c
			}
			at[k], out = len(out), append(out, lifetime{first, c})
		}
	}
	return out
}

// goesOn tells whether two states under the same addresses are of one connection.
func goesOn(a, b *model.Conn) bool {
	return (b.Inode == a.Inode || b.Inode == 0) && !fell(a, b)
}

// wireBytes of a connection as an interface counts them, between two samples; unknown where data came
// in segments of a size that nothing told.
func wireBytes(a, b *model.Conn, out bool) float64 {
	header := float64(ethernetHeader + ipTCPHeaders)
	if b.Local.Addr().Is6() && !b.Local.Addr().Is4In6() {
		header += 20
	}
	if out {
		bytes := max(b.BytesSent-a.BytesSent, b.BytesAcked-a.BytesAcked)
		return float64(max(0, bytes)) + header*float64(max(0, b.SegsOut-a.SegsOut))
	}
	if b.RcvMSS == 0 && b.DataSegsIn > a.DataSegsIn {
		return unknown()
	}
	// What came twice is counted in segments and not in bytes received.
	bytes := max(b.BytesReceived-a.BytesReceived, (b.DataSegsIn-a.DataSegsIn)*int64(b.RcvMSS))
	return float64(max(0, bytes)) + header*float64(max(0, b.SegsIn-a.SegsIn))
}

// othersOnLink is the larger traffic of others that either end sees beside the flow,
// and the end; nil where none is felt.
func (s *scene) othersOnLink() (rate float64, at *End) {
	of := s.ceiling
	if !known(of) {
		of = s.total
	}
	for _, h := range []*hostView{s.sender, s.reader} {
		if h != nil && h.beside >= othersShare*of && h.beside > rate {
			rate, at = h.beside, h.end
		}
	}
	return rate, at
}

// copied tells that the path delivers segments twice: the receiver reports duplicates of
// what was sent once (RFC 2883).
func (v *sndView) copied() bool {
	return v.dsacks >= spuriousEvents && v.copies >= copiedShare && v.dsacks >= 2*v.resent
}

// countTwice counts at the receiver what arrived twice, if that is more than DSACK reports: the
// full segments that came in beyond the number that the received bytes account for. Data that waits
// out of order counts as bytes only later, so as much as is in flight is left out.
func (s *scene) countTwice() {
	a, b := ends(within(s.flow.rcv, s.span))
	x, y := ends(within(s.flow.snd, s.span))
	if s.snd == nil || s.rcv == nil || b.RcvMSS == 0 {
		return
	}
	sent := ratio(float64(y.BytesSent-x.BytesSent), float64(y.DataSegsOut-x.DataSegsOut))
	if !(sent >= fullSegment*float64(y.SndMSS)) || y.SndMSS != b.RcvMSS {
		return
	}
	if g := growth(s.c.Receiver.Samples); g["TcpExt.PruneCalled"]+g["TcpExt.TCPRcvQDrop"]+g["TcpExt.TCPOFODrop"] > 0 {
		return // what arrived and was thrown away for want of memory has to come again
	}
	twice := float64(b.DataSegsIn-a.DataSegsIn) - ratio(float64(b.BytesReceived-a.BytesReceived), float64(b.RcvMSS)) - float64(y.Unacked)
	if v := s.snd; twice >= spuriousEvents && !(twice <= v.dsacks) {
		v.dsacks = twice
		v.copies = ratio(v.dsacks-v.resent, float64(y.SegsOut-x.SegsOut))
	}
}

// ends are the first and the last of the observations.
func ends(os []obs) (first, last *model.Conn) {
	if len(os) == 0 {
		return &model.Conn{}, &model.Conn{}
	}
	return os[0].c, os[len(os)-1].c
}

// seeCopies: copies of packets take up the path.
func seeCopies(s *scene) *finding {
	v := s.snd
	if v == nil || !v.copied() {
		return nil
	}
	f := &finding{id: model.Reordering, cause: causeCopies, margin: over(v.copies, copiedShare, 0.2), cap: 0.8, costs: true,
		advice: "the path delivers packets twice: look for two ways to the same port, a loop of switches, a bond in broadcast mode, or a mirror port that feeds back"}
	f.say(s.c.Sender.host(), "copies_share", v.copies, "ratio", v.n, "%s of the segments arrive twice, and only %s were sent again: the path copies packets", pct(v.copies), pct(v.retrans))
	// Copies take their share of a link, and no more.
	if s.missing() > 0 && s.total < (1-v.copies/(1+v.copies)-copiesSlack)*s.ceiling {
		f.cap = contradictedCap
		f.notes = append(f.notes, "copies take up "+pct(v.copies/(1+v.copies))+" of a link, and more than that is missing")
	}
	f.or(model.PathQueue, "capture at the receiver: copies of a segment with the same IP identification are made on the way")
	return f
}

// copiesSlack is how much more than the copies' own share may be missing with them: the
// sender holds the duplicates' acknowledgments for losses at times.
const copiesSlack = 0.15
