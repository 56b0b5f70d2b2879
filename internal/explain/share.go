package explain

import calc "linerate/internal/size"

const winScaleSetting = "linux.sysctl.net.ipv4.tcp_adv_win_scale"

// windowShare is the share (0..1] of its receive buffer that the kernel of e
// offers as window when segments carry mss bytes; 0 stands for those of an MTU
// of 1500.
func windowShare(e *End, mss int) float64 {
	release := ""
	if e != nil && e.Facts != nil {
		release = e.Facts.Kernel
	}
	scale, _ := e.setting(winScaleSetting)
	share, _ := calc.WindowShare(release, scale, mss)
	return share
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
