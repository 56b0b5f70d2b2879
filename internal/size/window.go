package size

import (
	"errors"
	"fmt"
	"math"
	"time"

	"linerate/internal/unit"
)

// sequenceSpace is that of TCP, in bytes (RFC 9293 §3.4).
const sequenceSpace = 1 << 32

// segmentLifetime is TCP's assumption of how long a segment lives in the
// network, in seconds (RFC 9293 §3.4.2).
const segmentLifetime = 120

// WindowInput holds two of rate, RTT and window; a zero value is not given.
type WindowInput struct {
	Rate   unit.BitRate  `json:"rate_bps,omitempty"`     // payload
	RTT    time.Duration `json:"rtt_ns,omitempty"`       // round trip
	Window unit.Bytes    `json:"window_bytes,omitempty"` // data in flight
	Buffer unit.Bytes    `json:"buffer_bytes,omitempty"` // instead of Window: the receive buffer
	Share  float64       `json:"buffer_share"`           // of the buffer that is offered as window; 0: 0.5
}

func (in *WindowInput) check() error {
	if in.Share == 0 {
		in.Share = 0.5
	}
	if in.Window != 0 && in.Buffer != 0 {
		return errors.New("size window: window and buffer are two ways to say one thing; give one of them")
	}
	err := first("window",
		optional(in.Rate != 0, checkRate("rate", in.Rate)),
		optional(in.RTT != 0, checkTime("RTT", in.RTT)),
		optional(in.Window != 0, checkBytes("window", in.Window, 1, LargestWindow)),
		optional(in.Buffer != 0, checkBytes("buffer", in.Buffer, 2048, LargestBuffer)),
		checkNumber("buffer share", in.Share, 0.05, 1))
	if err == nil && in.Buffer != 0 {
		in.Window = min(unit.Bytes(float64(in.Buffer)*in.Share), LargestWindow)
	}
	return err
}

// windowText says where the window came from.
func (in WindowInput) windowText() string {
	if in.Buffer != 0 && float64(in.Buffer)*in.Share > LargestWindow {
		return fmt.Sprintf("min(%d B buffer × %g, %d B)", in.Buffer, in.Share, LargestWindow)
	}
	if in.Buffer != 0 {
		return fmt.Sprintf("(%d B buffer × %g)", in.Buffer, in.Share)
	}
	return fmt.Sprintf("%d B", in.Window)
}

// Window computes the third of rate, RTT and window from the other two, by the
// bandwidth-delay product: window = rate × RTT / 8 (RFC 7323 §1.1).
func Window(in WindowInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	a := newAnswer("window", in)
	rtt := in.RTT.Seconds()
	switch {
	case in.Rate > 0 && in.RTT > 0 && in.Window == 0:
		bdp := float64(in.Rate) * rtt / 8
		a.add("window", bdp, Bytes, "%s × %s / 8", in.Rate, seconds(rtt))
		wrap(a, in.Rate/unit.BitRate(buffers(a, bdp, in.Share)))
	case in.RTT > 0 && in.Window > 0 && in.Rate == 0:
		rate := float64(PerRoundTrip(float64(in.Window), in.RTT))
		a.add("rate of one connection", rate, BitsPerSecond, "%s × 8 / %s", in.windowText(), seconds(rtt))
		wrap(a, unit.BitRate(rate))
	case in.Rate > 0 && in.Window > 0 && in.RTT == 0:
		a.add("longest RTT", float64(in.Window)*8/float64(in.Rate), Seconds, "%s × 8 / %s", in.windowText(), in.Rate)
		wrap(a, in.Rate)
	default:
		return Answer{}, errors.New("size window: give two of rate, RTT and window (or buffer)")
	}
	windowNotes(a, in)
	return *a, nil
}

// buffers adds what a window needs on Linux at both ends, of each connection where one cannot have it, and tells
// how many those are.
func buffers(a *Answer, window, share float64) (n float64) {
	n = 1
	one := fmt.Sprintf("%.0f B", window)
	if most := math.Floor(min(LargestWindow, LargestBuffer*share)); window > most {
		n = atLeast(window / most)
		a.add("connections needed", n, Count, "⌈%.0f B / %.0f B⌉", window, most)
		one = fmt.Sprintf("(%.0f B / %.0f)", window, n)
		window = math.Ceil(window / n)
		a.note("One connection has no more under way than 65535 B × 2¹⁴ (RFC 7323 section 2.3), and Linux counts a socket's buffer in 31 bits: the window is that of all together, the buffers are those of each.")
	}
	a.add("receive buffer (tcp_rmem maximum)", window/share, Bytes, "%s / %g", one, share)
	a.add("send buffer (tcp_wmem maximum)", 2*window, Bytes, "2 × %s", one)
	return n
}

// wrap adds how long the sequence numbers of one connection last. RFC 7323 §5: without timestamps an old segment
// can be taken for a new one when that is less than a segment's lifetime in the network.
func wrap(a *Answer, rate unit.BitRate) {
	after := sequenceSpace * 8 / float64(rate)
	a.add("sequence numbers wrap after", after, Seconds, "2³² B × 8 / %s", rate)
	if after < segmentLifetime {
		a.note("Sequence numbers wrap within a segment's lifetime: keep TCP timestamps on, which tell an old segment from a new one.")
	}
}

func windowNotes(a *Answer, in WindowInput) {
	a.note("Linux offers a part of the receive buffer as window, %g assumed here, and keeps the rest for overhead. From 6.6 that part is payload / memory of the packets received (scaling_ratio in include/net/tcp.h), 1/2 until it is measured (1/4 in the first of those kernels); up to 6.5 it was 1/2 with tcp_adv_win_scale 1 and 3/4 with 2.", in.Share)
	a.note("The send buffer must hold what is in flight; autotuning asks for twice the congestion window (net/ipv4/tcp_input.c, tcp_sndbuf_expand). Never lower a maximum that is already larger.")
}

// WindowFor computes what a rate over an RTT needs: the window and buffers, and
// with a given window or buffer the number of connections.
func WindowFor(in WindowInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	if in.Rate == 0 || in.RTT == 0 {
		return Answer{}, errors.New("size window: in reverse, give the rate wanted and the RTT")
	}
	a := newReverse("window", in)
	rtt := in.RTT.Seconds()
	bdp := float64(in.Rate) * rtt / 8
	a.add("data in flight", bdp, Bytes, "%s × %s / 8", in.Rate, seconds(rtt))
	var n float64 // connections
	if in.Window > 0 {
		one := float64(PerRoundTrip(float64(in.Window), in.RTT))
		a.add("rate of one connection", one, BitsPerSecond, "%s × 8 / %s", in.windowText(), seconds(rtt))
		n = atLeast(bdp / float64(in.Window))
		a.add("connections needed", n, Count, "⌈%.0f B / %s⌉", bdp, in.windowText())
	} else {
		n = buffers(a, bdp, in.Share)
	}
	wrap(a, in.Rate/unit.BitRate(max(1, n)))
	windowNotes(a, in)
	return *a, nil
}
