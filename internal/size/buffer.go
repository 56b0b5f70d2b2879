package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A buffer holds packets with their bookkeeping: not all of it is payload.
const (
	// SendShare of a send buffer is payload: 4 MiB were measured to hold 3.1 MB.
	SendShare = 0.75
	// UsualShare of a receive buffer is window: what Linux assumes until it has
	// measured (TCP_DEFAULT_SCALING_RATIO of include/net/tcp.h), and before 6.6
	// what tcp_adv_win_scale 1, the default, gives.
	UsualShare = 0.5

	// halfPage and page are the pieces of memory that a segment lies in, and
	// skbHead is struct sk_buff, which counts too (include/linux/skbuff.h,
	// SKB_TRUESIZE). Drivers take half a page where a frame fits.
	halfPage = 2048
	page     = 4096
	skbHead  = 256
	// aroundPayload: Ethernet, IP and TCP headers with timestamps, and struct
	// skb_shared_info behind the data.
	aroundPayload = 14 + 20 + 20 + 12 + 320
	// usualSegment is the payload of a full segment of an MTU of 1500, in bytes.
	usualSegment = 1448
)

// WindowShare is the share (0..1] of its receive buffer that a kernel offers as
// window when segments carry mss bytes; 0 stands for those of an MTU of 1500.
// release is the kernel's ("6.1.0-18-amd64"), advWinScale the value of
// net.ipv4.tcp_adv_win_scale; empty is not known. sure tells that the share is
// that of the kernel's own arithmetic; without it the share is what is usual.
//
// Since Linux 6.6 it is scaling_ratio, payload over the memory that a segment takes
// (tcp_measure_rcv_mss and tcp_win_from_space, net/ipv4/tcp_input.c and include/net/tcp.h): 1448
// of 2048 + 256 B, 8948 of three pages. On 6.18 about 0.63 was measured at an MTU of 1500 and
// 0.74 at 9000. Drivers that pack frames more tightly come higher. Before 6.6 it is what
// tcp_adv_win_scale says (Documentation/networking/ip-sysctl.rst).
func WindowShare(release, advWinScale string, mss int) (share float64, sure bool) {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && (major > 6 || major == 6 && minor >= 6) {
		return segmentShare(mss), false
	}
	scale, err := strconv.Atoi(strings.TrimSpace(advWinScale))
	switch {
	case advWinScale == "" && release == "":
		return segmentShare(mss), false // nothing is known: most kernels are newer than that
	case err != nil || scale < -31 || scale > 31:
		return UsualShare, false
	case scale <= 0:
		return math.Pow(2, float64(scale)), release != ""
	}
	return 1 - math.Pow(2, -float64(scale)), release != ""
}

// segmentShare is payload over memory of one segment.
func segmentShare(mss int) float64 {
	if mss <= 0 {
		mss = usualSegment
	}
	if need := mss + aroundPayload; need > halfPage {
		pages := (need + page - 1) / page
		return float64(mss) / float64(pages*page)
	}
	return float64(mss) / (halfPage + skbHead)
}
