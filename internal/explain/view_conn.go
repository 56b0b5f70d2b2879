package explain

import (
	"time"

	"linerate/internal/model"
)

// sndView is what the sender's tcp_info says of one flow over its steady part.
// Unknown features are NaN. Shares are of wall time or of the samples.
type sndView struct {
	n       int
	last    *model.Conn
	dur     time.Duration
	rate    float64 // acknowledged, bit/s
	acked   float64 // bytes
	retrans float64 // retransmitted share of the bytes sent
	rtos    float64 // retransmission timeouts
	resent  float64 // segments retransmitted
	early   float64 // segments retransmitted before the steady part
	watched float64 // segments retransmitted in the whole recording, not before it
	losses  float64 // samples in which something was retransmitted
	copies  float64 // share of the segments that arrived twice and were sent once
	// dispersion of the retransmissions: 1 is random, n about n at a time.
	dispersion float64
	silent     float64 // share of samples with nothing in flight and nothing to send

	minRTT time.Duration
	queue  float64 // median of RTT over minimum RTT
	// queueTop is its 90% quantile: a model-based sender fills a link's queue for an
	// eighth of its time only, when it probes for more (draft-cardwell-ccwg-bbr).
	queueTop float64
	// swing is the median of the smoothed deviation of the RTT, divided by how far the RTT is above
	// its minimum: about 0.5 if each round trip sends a burst, close to 0 behind a queue that
	// stands.
	swing  float64
	spread float64 // of the rate between samples: its 90% over its 25% quantile
	top    float64 // that 90% quantile, bit/s

	rwnd, sndbuf float64 // chronograph shares
	window       float64 // median of data in flight over the peer's window
	inflight     float64 // median of segments in flight over the congestion window
	dry          float64 // share of samples with under two segments not yet sent
	drained      float64 // share of samples with under two segments in the send queue
	appLimited   float64 // share of samples
	// overBuffer is the median of what is queued, with its bookkeeping, over the send
	// buffer, where more than a packet is over it.
	overBuffer float64
	// queuedSpread is the high tenth of what is queued, with its bookkeeping, over the low tenth.
	queuedSpread float64
	// fixedBuffer: the send buffer has the same size in all those samples. When the kernel itself
	// cuts a buffer, its size follows what is queued (sk_stream_moderate_sndbuf in
	// include/net/sock.h); one that a program has set stays.
	fixedBuffer       bool
	fill, fillMid     float64 // send queue over send buffer: lower quartile, median
	lossState         float64 // share of samples in Loss
	backoff           float64 // highest
	wndMid, wndMax    float64 // the peer's window, bytes
	wndSpread         float64 // its 10% over its 90% quantile: 1 is a window that stays put
	cwndGrowth        float64 // congestion window: end over start of the steady part
	maxPacing         float64 // bit/s, unknown when unlimited
	reordSeen, dsacks float64
	turns             float64 // segments with data that came back, per second: answers
	held              float64 // share of samples in which less than a segment waits for what is in flight (Nagle)
	// fed is the rate in bit/s at which the writer produced data: that of intervals
	// with nothing left to send and room in the congestion window. Unknown where
	// such intervals are few or differ much.
	fed float64
}

// tcp_info fields past what an older kernel fills are zero, not measured:
// offsets in struct tcp_info (include/uapi/linux/tcp.h).
const (
	infoAcked    = 136 // bytes_acked, bytes_received, since Linux 4.1
	infoSegs     = 144 // segs_out, segs_in, since 4.2
	infoMinRTT   = 152 // since 4.6
	infoDataSegs = 160 // data_segs_in, data_segs_out, since 4.6
	infoRate     = 168 // delivery_rate, delivery_rate_app_limited, since 4.9
	infoChrono   = 192 // busy, rwnd_limited, sndbuf_limited, since 4.10
	infoBytes    = 216 // bytes_sent, bytes_retrans, since 4.19
	infoReord    = 224 // dsack_dups, reord_seen
	infoOOO      = 228 // rcv_ooopack, since 5.4
	infoSndWnd   = 232 // since 5.4
	infoRcvWnd   = 236 // since 6.2
)

// has tells whether tcp_info reached as far as end; a length of 0 was not
// recorded and then the fields are believed. What another source shows, unshown.go has.
func has(c *model.Conn, end int) bool {
	if c.From != "" {
		return fills(c.From, end)
	}
	return c.InfoLen == 0 || c.InfoLen >= end
}

// older tells that a Linux kernel gave a tcp_info that ends before end.
func older(c *model.Conn, end int) bool {
	return c.From == "" && c.InfoLen > 0 && c.InfoLen < end
}

func viewSender(all []obs, s span, minRTT time.Duration) *sndView {
	os := within(all, s)
	if len(os) < 2 {
		return nil
	}
	a, b := os[0].c, os[len(os)-1].c
	v := &sndView{n: len(os), last: b, dur: os[len(os)-1].at - os[0].at, minRTT: minRTT}
	v.acked = float64(b.BytesAcked - a.BytesAcked)
	v.rate = v.acked * 8 / v.dur.Seconds()
	v.resent = float64(max(0, b.TotalRetrans-a.TotalRetrans))
	v.early = float64(max(0, a.TotalRetrans))
	v.watched = float64(max(0, all[len(all)-1].c.TotalRetrans-all[0].c.TotalRetrans))
	v.retrans, v.rtos, v.reordSeen, v.dsacks = losses(a, b, v.resent)
	for i := 1; i < len(os); i++ {
		if os[i].c.TotalRetrans > os[i-1].c.TotalRetrans {
			v.losses++
		}
	}
	v.copies = ratio(v.dsacks-v.resent, float64(b.SegsOut-a.SegsOut))
	v.rwnd, v.sndbuf = chronographs(a, b, v.dur)
	v.levels(os)
	v.spread, v.top = rateSpread(os)
	v.dispersion = dispersion(os)
	v.fed = fed(all)
	v.turns = ratio(answers(os), v.dur.Seconds())
	v.held = share(os, func(o obs) bool {
		return o.c.NotSent > 0 && o.c.NotSent < int64(o.c.SndMSS) && o.c.Unacked > 0 && o.c.Unacked < o.c.Cwnd
	})
	v.forgetUnshown()
	return v
}

// answers is how many segments with data came back. A kernel that does not count them (before 4.6)
// shows in which samples some did.
func answers(os []obs) (n float64) {
	a, b := os[0].c, os[len(os)-1].c
	if !older(b, infoDataSegs) {
		return float64(b.DataSegsIn - a.DataSegsIn)
	}
	for i := 1; i < len(os); i++ {
		if os[i].c.BytesReceived > os[i-1].c.BytesReceived {
			n++
		}
	}
	return n
}

const (
	// fedLeast intervals tell what a writer produces, and fedSpread is the most
	// that their 90% quantile may be above their 10% quantile.
	fedLeast  = 5
	fedSpread = 1.15
)

func fed(os []obs) float64 {
	// A buffer half full of data in flight may be what the writer waits for.
	idle := func(c *model.Conn) bool {
		return c.NotSent < 2*int64(max(c.SndMSS, 1)) && c.Unacked < c.Cwnd && c.SendQ < c.SndBuf/2
	}
	var rates []float64
	for i := 1; i < len(os); i++ {
		if a, b := os[i-1], os[i]; idle(a.c) && idle(b.c) {
			rates = append(rates, ratio(8*float64(b.c.BytesAcked-a.c.BytesAcked), (b.at-a.at).Seconds()))
		}
	}
	if len(rates) < fedLeast || !(quantile(rates, 0.9) <= fedSpread*quantile(rates, 0.1)) {
		return unknown()
	}
	return lowerMedian(rates)
}

// rateSpread is unknown below three samples. 1 is a rate that stays put; top is
// what a tenth of the samples reach.
func rateSpread(os []obs) (spread, top float64) {
	var rates []float64
	for i := 1; i < len(os); i++ {
		rates = append(rates, ratio(float64(os[i].c.BytesAcked-os[i-1].c.BytesAcked), (os[i].at-os[i-1].at).Seconds()))
	}
	high := quantile(rates, 0.9)
	return ratio(high, quantile(rates, 0.25)), 8 * high
}

func losses(a, b *model.Conn, resent float64) (retrans, rtos, reord, dsacks float64) {
	sent := float64(b.SegsOut - a.SegsOut)
	if older(b, infoSegs) {
		sent = resent + ratio(float64(b.BytesAcked-a.BytesAcked), float64(b.SndMSS))
	}
	retrans = ratio(resent, sent)
	if has(b, infoBytes) && b.BytesSent > a.BytesSent {
		retrans = ratio(float64(b.BytesRetrans-a.BytesRetrans), float64(b.BytesSent-a.BytesSent))
	}
	rtos, reord, dsacks = float64(b.TotalRTO-a.TotalRTO), unknown(), unknown()
	if has(b, infoReord) {
		reord, dsacks = float64(b.ReordSeen-a.ReordSeen), float64(b.DSACKDups-a.DSACKDups)
	}
	if b.From == model.FromEstats {
		dsacks = float64(b.DSACKDups - a.DSACKDups)
	}
	return max(0, retrans), rtos, reord, dsacks
}

func chronographs(a, b *model.Conn, dur time.Duration) (rwnd, sndbuf float64) {
	if b.From == model.FromEstats {
		return estatsShares(a, b, dur)
	}
	if !has(b, infoChrono) {
		return unknown(), unknown()
	}
	of := func(x, y time.Duration) float64 { return min(1, max(0, ratio((y-x).Seconds(), dur.Seconds()))) }
	return of(a.RwndLimited, b.RwndLimited), of(a.SndbufLimited, b.SndbufLimited)
}

// takesIn is how many bytes the send buffer takes in: what it is set to, and more where more is queued, as
// by a program that sends a file's pages.
func (v *sndView) takesIn() float64 { return float64(v.last.SndBuf) * max(1, v.overBuffer) }

// levels fills the features that are levels at each sample.
func (v *sndView) levels(os []obs) {
	two := func(c *model.Conn) int64 { return 2 * int64(max(c.SndMSS, 1)) }
	trips := each(os, func(o obs) float64 { return roundTrips(o.c, v.minRTT) })
	v.queue, v.queueTop = lowerMedian(trips), quantile(trips, 0.9)
	v.swing = lowerMedian(each(os, func(o obs) float64 { return swing(o.c, v.minRTT) }))
	v.inflight = lowerMedian(each(os, func(o obs) float64 { return ratio(float64(o.c.Unacked), float64(o.c.Cwnd)) }))
	v.dry = share(os, func(o obs) bool { return o.c.NotSent < two(o.c) })
	v.drained = share(os, func(o obs) bool { return o.c.SendQ < two(o.c) })
	v.silent = share(os, func(o obs) bool { return o.c.Unacked == 0 && o.c.NotSent == 0 })
	v.appLimited = share(os, func(o obs) bool { return o.c.AppLimited })
	if older(v.last, infoRate) {
		v.appLimited = unknown()
	}
	v.lossState = share(os, func(o obs) bool { return o.c.CAState == caLoss })
	fill := each(os, func(o obs) float64 { return ratio(float64(o.c.SendQ), float64(o.c.SndBuf)) })
	v.fill, v.fillMid = quantile(fill, 0.25), lowerMedian(fill)
	v.overBuffer = lowerMedian(each(os, func(o obs) float64 {
		if o.c.WmemQueued < o.c.SndBuf+largestPacket {
			return 0
		}
		return ratio(float64(o.c.WmemQueued), float64(o.c.SndBuf))
	}))
	v.fixedBuffer = fixedBuffer(os)
	queued := each(os, func(o obs) float64 { return float64(o.c.WmemQueued) })
	v.queuedSpread = ratio(quantile(queued, 0.9), quantile(queued, 0.1))
	v.backoff = quantile(each(os, func(o obs) float64 { return float64(o.c.Backoff) }), 1)
	wnd := each(os, sndWnd)
	v.window = lowerMedian(each(os, func(o obs) float64 {
		return ratio(float64(o.c.Unacked)*float64(o.c.SndMSS), sndWnd(o))
	}))
	v.wndMid, v.wndMax = lowerMedian(wnd), quantile(wnd, 1)
	v.wndSpread = ratio(quantile(wnd, 0.1), quantile(wnd, 0.9))
	v.cwndGrowth = ratio(float64(os[len(os)-1].c.Cwnd), float64(os[0].c.Cwnd))
	v.maxPacing = unknown()
	if p := float64(v.last.MaxPacing); p > 0 {
		v.maxPacing = p
	}
}

// swing is unknown where the round trip is at its minimum.
func swing(c *model.Conn, least time.Duration) float64 {
	if c.RTT <= least {
		return unknown()
	}
	return ratio(float64(c.RTTVar), float64(c.RTT-least))
}

// fixedBuffer: in all samples with more queued than the buffer allows it has one size.
func fixedBuffer(os []obs) bool {
	sizes := map[int64]bool{}
	n := 0
	for _, o := range os {
		if o.c.WmemQueued >= o.c.SndBuf+largestPacket {
			sizes[o.c.SndBuf] = true
			n++
		}
	}
	return n >= 3 && len(sizes) == 1
}

const caLoss = 4

// largestPacket is what a write that finds room may queue beyond the buffer: a packet of
// 64 KiB with its bookkeeping.
const largestPacket = 128 << 10

func sndWnd(o obs) float64 {
	if !has(o.c, infoSndWnd) || o.c.SndWnd == 0 && (o.c.InfoLen == 0 || o.c.From != "") {
		return unknown()
	}
	return float64(o.c.SndWnd)
}
