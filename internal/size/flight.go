package size

import (
	"math"
	"math/bits"
	"time"

	"linerate/internal/unit"
)

// The formulas of this file bound what findings, verdicts and the calculators
// say of a path alike: each stands here and nowhere else.

// UnscaledWindow is the largest window without window scaling in bytes: the field
// in the TCP header has 16 bits (RFC 9293 §3.1).
const UnscaledWindow = 65535

// LargestWindow is the largest window of one connection in bytes: those 16 bits, shifted by at most 14 (RFC 7323
// §2.3).
const LargestWindow = UnscaledWindow << 14

// LargestBuffer is the largest buffer of a socket in bytes, since kernels count it, and the settings that bound it,
// in 31 bits (struct sock of include/net/sock.h).
const LargestBuffer = math.MaxInt32

// Connections is how many connections it takes at least to have so many bytes under way.
func Connections(flight unit.Bytes) int { return int((flight + LargestWindow - 1) / LargestWindow) }

// ScaledWindow is the largest window of a connection whose route limits it to so many bytes. The
// kernel chooses the window scale by the limit, and lets the window grow beyond it as the buffer
// grows, as far as that scale can express (net/ipv4/tcp_output.c, tcp_select_initial_window;
// tcp_input.c, tcp_rcv_space_adjust).
func ScaledWindow(limit int) unit.Bytes {
	return unit.Bytes(UnscaledWindow << max(0, bits.Len(uint(limit))-16))
}

// PerRoundTrip is what so many bytes under way carry: bytes × 8 / RTT (Little's law; for a TCP
// window RFC 7323 §1.1). Without a round trip nothing bounds it, and the answer is 0.
func PerRoundTrip(bytes float64, rtt time.Duration) unit.BitRate {
	if rtt <= 0 {
		return 0
	}
	return unit.BitRate(bytes * 8 / rtt.Seconds())
}

// InFlight is what must be under way to fill a path: rate × RTT / 8, the
// bandwidth-delay product. It is 0 where the path is not known.
func InFlight(rate unit.BitRate, rtt time.Duration) unit.Bytes {
	return unit.Bytes(float64(rate) / 8 * rtt.Seconds())
}

// SlotsInFlight is what all slots of an NFS mount have under way together, in
// bytes: so many calls, each with a transfer (RFC 8881 §2.10.6).
func SlotsInFlight(slots int64, transfer unit.Bytes) unit.Bytes {
	return unit.Bytes(slots) * transfer
}

// AheadWindow is how much of a file the kernel asks for at a time on behalf of one sequential
// reader of page cache: the read-ahead, or, where a program reads more than that at once, what it
// reads, up to the largest request of the device (of an NFS mount the rsize): mm/readahead.c,
// page_cache_sync_ra and page_cache_async_ra with bdi->io_pages. 0 of read or request is not
// known, and counts as small.
func AheadWindow(ahead, read, request unit.Bytes) unit.Bytes {
	return max(ahead, min(read, request))
}

// AheadMost is AheadWindow for whatever program: one may read as much at once as
// it likes, and posix_fadvise(SEQUENTIAL), which cp gives, doubles the read-ahead
// (mm/fadvise.c, generic_fadvise).
func AheadMost(ahead, request unit.Bytes) unit.Bytes { return max(2*ahead, request) }

// AheadInFlight is what one sequential reader has under way at most: the window that it reads and
// the next one, which is asked for when it comes to the first page of this one (mm/readahead.c,
// the page marked PG_readahead). Over 40.7 ms Linux 6.1 with 128 KiB had 1.4 windows per round
// trip for reads of 4 KiB, and 1.0 to 1.1 windows of twice that after posix_fadvise.
func AheadInFlight(window unit.Bytes) unit.Bytes { return 2 * window }
