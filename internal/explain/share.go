package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A buffer holds packets with their bookkeeping: not all of it is payload.
const (
	// payloadShare of a send buffer: 4 MiB were measured to hold 3.1 MB.
	payloadShare = 0.75
	// oldShare of a receive buffer is window before Linux 6.6 where
	// tcp_adv_win_scale is not known: its default is 1, a half.
	oldShare = 0.5
	// halfPage and page are the pieces of memory that a segment lies in, and
	// skbHead is struct sk_buff, which counts too (include/linux/skbuff.h,
	// SKB_TRUESIZE). Drivers take half a page where a frame fits.
	halfPage = 2048
	page     = 4096
	skbHead  = 256
	// aroundPayload: headers, and struct skb_shared_info behind the data.
	aroundPayload = ethernetHeader + ipTCPHeaders + timestampBytes + 320
)

const winScaleSetting = "linux.sysctl.net.ipv4.tcp_adv_win_scale"

// windowShare is the share (0..1] of its receive buffer that the kernel of e
// offers as window when segments carry mss bytes; 0 stands for those of an MTU
// of 1500.
//
// Since Linux 6.6 it is scaling_ratio, payload over the memory that a segment
// takes (tcp_measure_rcv_mss and tcp_win_from_space, net/ipv4/tcp_input.c and
// include/net/tcp.h): 1448 of 2048 + 256 B, 8948 of three pages. On 6.18 about
// 0.63 was measured at an MTU of 1500 and 0.74 at 9000. Drivers that pack frames
// more tightly come higher. Before 6.6 it is what tcp_adv_win_scale says
// (Documentation/networking/ip-sysctl.rst).
func windowShare(e *End, mss int) float64 {
	kernel := ""
	if e != nil && e.Facts != nil {
		kernel = e.Facts.Kernel
	}
	var major, minor int
	if n, _ := fmt.Sscanf(kernel, "%d.%d", &major, &minor); n == 2 && (major > 6 || major == 6 && minor >= 6) {
		return segmentShare(mss)
	}
	v, ok := e.setting(winScaleSetting)
	scale, err := strconv.Atoi(strings.TrimSpace(v))
	switch {
	case !ok && kernel == "":
		return segmentShare(mss) // nothing is known: most kernels are newer than that
	case !ok || err != nil || scale < -31 || scale > 31:
		return oldShare
	case scale <= 0:
		return math.Pow(2, float64(scale))
	}
	return 1 - math.Pow(2, -float64(scale))
}

// segmentShare is payload over memory of one segment.
func segmentShare(mss int) float64 {
	if mss <= 0 {
		mss = 1448
	}
	if need := mss + aroundPayload; need > halfPage {
		pages := (need + page - 1) / page
		return float64(mss) / float64(pages*page)
	}
	return float64(mss) / (halfPage + skbHead)
}

// windowShare is the share of the receive buffer that is window on this very
// path: as seen, where the window is as large as the buffer allows.
func (s *scene) windowShare() float64 {
	if s.rcv != nil && s.windowBound() && s.rcv.queued < queuedShare {
		if seen := ratio(s.snd.wndMax, float64(s.rcv.last.RcvBuf)); seen >= leastShare && seen <= 1 {
			return seen
		}
	}
	return windowShare(s.c.Receiver, s.mss())
}

// leastShare: less of a buffer than this is offered only while a connection
// starts (TCP_DEFAULT_SCALING_RATIO was a quarter at first).
const leastShare = 0.25
