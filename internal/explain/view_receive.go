package explain

import (
	"time"

	"linerate/internal/model"
	calc "linerate/internal/size"
)

// rcvView is what the receiver's tcp_info says of one flow.
type rcvView struct {
	n      int
	last   *model.Conn
	dur    time.Duration
	rate   float64       // received in order, bit/s
	queued float64       // median of the receive queue over receive queue + window
	recvQ  float64       // median, bytes
	window float64       // median of the advertised window, bytes
	filled float64       // received per round trip over the advertised window
	rtt    time.Duration // the receiver's estimate

	late     float64 // segments that came out of order, as a share of all
	lateIn   float64 // samples in which some did, as a share
	silent   float64 // samples in which nothing came, as a share
	spread   float64 // high tenth of the rate between samples over its low tenth
	standing float64 // seconds that the round trip of its own requests stays above the minimum
	drops    float64 // packets dropped at the socket
}

func viewReceiver(all []obs, s span, minRTT time.Duration) *rcvView {
	os := within(all, s)
	if len(os) < 2 {
		return nil
	}
	a, b := os[0].c, os[len(os)-1].c
	v := &rcvView{n: len(os), last: b, dur: os[len(os)-1].at - os[0].at}
	v.rate = float64(b.BytesReceived-a.BytesReceived) * 8 / v.dur.Seconds()
	v.recvQ = lowerMedian(each(os, func(o obs) float64 { return float64(o.c.RecvQ) }))
	v.window = lowerMedian(each(os, rcvWnd))
	v.queued = lowerMedian(each(os, func(o obs) float64 { return ratio(float64(o.c.RecvQ), float64(o.c.RecvQ)+rcvWnd(o)) }))
	v.rtt = time.Duration(lowerMedian(each(os, func(o obs) float64 { return float64(o.c.RcvRTT) })))
	v.filled = unknown()
	if v.rtt > 0 {
		v.filled = ratio(v.rate/8*v.rtt.Seconds(), v.window)
	}
	v.drops = float64(max(0, b.SockDrops-a.SockDrops))
	v.arrivals(os)
	v.standing = ownDelay(os, minRTT)
	return v
}

// arrivals fills what is counted between one sample and the next.
func (v *rcvView) arrivals(os []obs) {
	a, b := os[0].c, os[len(os)-1].c
	rates, silent, late := make([]float64, 0, len(os)), 0, 0
	for i := 1; i < len(os); i++ {
		x, y := os[i-1], os[i]
		rates = append(rates, ratio(float64(y.c.BytesReceived-x.c.BytesReceived)*8, (y.at-x.at).Seconds()))
		if y.c.BytesReceived == x.c.BytesReceived {
			silent++
		}
		if y.c.RcvOOO > x.c.RcvOOO {
			late++
		}
	}
	n := float64(len(rates))
	v.silent = float64(silent) / n
	v.spread = ratio(quantile(rates, 0.9), quantile(rates, 0.1))
	v.late, v.lateIn = unknown(), unknown()
	// Segments by their bytes: the kernel counts super-packets as one.
	if segments := ratio(float64(b.BytesReceived-a.BytesReceived), float64(b.RcvMSS)); has(b, infoOOO) {
		v.late, v.lateIn = ratio(float64(b.RcvOOO-a.RcvOOO), segments), float64(late)/n
	}
}

// ownRequests: with fewer segments sent than this the receiver's round trip
// is that of the handshake, not of now.
const ownRequests = 10

// ownDelay is by how much the round trip of the receiver's own requests stays
// above the minimum: its low tenth, since the answers to a burst of requests
// queue for a moment on any path. Unknown when it sends none.
func ownDelay(os []obs, minRTT time.Duration) float64 {
	a, b := os[0].c, os[len(os)-1].c
	if minRTT <= 0 || b.DataSegsOut-a.DataSegsOut < ownRequests {
		return unknown()
	}
	low := quantile(each(os, func(o obs) float64 { return ratio(o.c.RTT.Seconds(), 1) }), 0.1)
	return max(0, low-minRTT.Seconds())
}

// rcvWnd is the advertised window. Kernels before 6.2 do not tell: then the
// most they would advertise stands in, or what they offer of a receive buffer by
// default.
func rcvWnd(o obs) float64 {
	switch {
	case has(o.c, infoRcvWnd) && (o.c.RcvWnd != 0 || o.c.InfoLen != 0 && o.c.From == ""):
		return float64(o.c.RcvWnd)
	case o.c.RcvSsthresh > 0:
		return float64(o.c.RcvSsthresh)
	}
	return ratio(float64(o.c.RcvBuf)*calc.UsualShare, 1)
}

// lateByHost takes the host's count of segments out of order where the
// connection's own is not told (kernels before 5.4).
func (s *scene) lateByHost() {
	if s.rcv == nil || s.reader == nil || known(s.rcv.late) {
		return
	}
	if n, ok := s.reader.snmp["TcpExt.TCPOFOQueue"]; ok {
		s.rcv.late = ratio(float64(max(0, n)), ratio(s.bytes, float64(s.rcv.last.RcvMSS)))
	}
}
