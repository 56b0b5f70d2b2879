package explain

import (
	"strconv"

	"linerate/internal/model"
	calc "linerate/internal/size"
)

const (
	// rwndShare and windowFull: the sender is held by the peer's window.
	// Model-based senders pace through most of that time, so a tenth is much.
	rwndShare  = 0.10
	windowFull = 0.90
	alwaysHeld = 0.90
	// queuedShare of the window in the receive queue: the reader is behind.
	queuedShare = 0.30
	// queuedPath: with this much standing queue the window or buffer is
	// full because the path is slow, and a larger one would only queue more.
	queuedPath = 1.30
	// ample: a window or buffer that, at the minimum round trip, carries this many
	// times the ceiling is not the limit.
	ample = 1.5
	// unscaledMax is the largest window without scaling (65535), with room.
	unscaledMax = 70000
	// steadyWindow: a window at the limit of its buffer stays put; one that
	// a slow reader holds back breathes by more than this.
	steadyWindow = 0.90
	optWScale    = 4
	// nearLimit: a buffer this close to the sysctl's maximum is at it.
	nearLimit = 0.95
	// routeUses and routeExceeds: a window that a route limits is at least about half of that limit,
	// since it grows up to it, and hardly more than the limit's scale can express.
	routeUses    = 0.5
	routeExceeds = 1.05
)

// windowBound tells whether the peer's window holds the sender.
func (s *scene) windowBound() bool {
	return s.snd != nil && (s.snd.rwnd >= rwndShare || s.snd.window >= windowFull)
}

func (f *finding) windowEvidence(s *scene) {
	v, h := s.snd, s.c.Sender.host()
	f.say(h, "inflight_over_window", v.window, "ratio", v.n, "data in flight fills %s of the advertised window of %s", pct(v.window), size(v.wndMid))
	f.say(h, "rwnd_limited_share", v.rwnd, "ratio", v.n, "the sender waits for the receive window %s of the time", pct(v.rwnd))
	if len(f.evidence) == 2 && !(v.window >= windowFull) {
		f.evidence[0], f.evidence[1] = f.evidence[1], f.evidence[0]
	}
}

// windowTakesRest: hardly a moment passes in which the sender does not wait for the receive window,
// which is full with no queue behind it. Near the ceiling, too, that is what takes what is missing.
func (s *scene) windowTakesRest() bool {
	v := s.snd
	return v != nil && v.rwnd >= alwaysHeld && v.window >= windowFull && v.queue < standingQueue
}

// carries tells whether a window of that many bytes is large enough for the known
// ceiling, with room to spare.
func (s *scene) carries(bytes float64) bool {
	return ratio(bytes*8, s.minRTT.Seconds()) >= ample*s.ceiling
}

func (s *scene) windowMargin() float64 {
	return max(over(s.snd.rwnd, rwndShare, 0.4), over(s.snd.window, 0.85, 1))
}

// seeNoScaling: without the window scale option no window exceeds 64 KiB
// (RFC 7323).
func seeNoScaling(s *scene) *finding {
	v := s.snd
	if !s.windowBound() || v.last.Options == 0 || v.last.Options&optWScale != 0 || !(v.wndMax <= unscaledMax) {
		return nil
	}
	f := &finding{id: model.ReceiverWindow, host: s.c.Receiver.host(), cause: causeScaling, margin: s.windowMargin()}
	f.windowEvidence(s)
	f.say(s.c.Sender.host(), "window_scaling", 0, "option", v.n, "the connection runs without window scaling")
	return f
}

// seeSlowReader: the window closes because received data waits to be read.
// Without the receiving end a window that keeps moving is the sign.
func seeSlowReader(s *scene) *finding {
	if s.rcv != nil {
		return slowReaderSeen(s)
	}
	if s.c.Receiver != nil || !s.windowBound() || !(s.snd.wndSpread < steadyWindow) {
		return nil
	}
	f := &finding{id: model.ApplicationSink, margin: over(s.snd.wndSpread, steadyWindow, 0.5), cap: 0.6}
	f.windowEvidence(s)
	f.say(s.c.Sender.host(), "window_spread", s.snd.wndSpread, "ratio", s.snd.n, "the window keeps moving (its low tenth is %s of its high tenth), as behind a reader that lags", pct(s.snd.wndSpread))
	f.or(model.ReceiverCPU, "log in at the receiving end: the reader's run delay tells")
	f.or(model.ReceiverWindow, "log in at the receiving end: its receive queue tells")
	return f
}

func slowReaderSeen(s *scene) *finding {
	r := s.rcv
	bound := s.windowBound() || s.snd == nil
	if !bound || !(r.queued >= queuedShare) {
		return nil
	}
	f := &finding{id: model.ApplicationSink, host: s.c.Receiver.host(), margin: over(r.queued, queuedShare, 0.7)}
	f.say(f.host, "receive_queue_share", r.queued, "ratio", r.n, "%s of received data waits in the receive queue (%s of the window)", size(r.recvQ), pct(r.queued))
	if s.snd != nil {
		f.windowEvidence(s)
	}
	f.taskEvidence(s.reader, "reader")
	if !(s.reader.run >= 0) {
		f.cap = 0.6
		f.or(model.ReceiverCPU, s.c.Receiver.seeTasks("the reader"))
	}
	if s.reader.run >= ownCPU {
		f.cause = causeOwnCPU
	}
	return f
}

// seeReceiveBuffer: the window is full and the reader keeps up.
func seeReceiveBuffer(s *scene) *finding {
	if !s.windowBound() || s.behindQueue(s.snd.wndMid) || s.carries(s.snd.wndMid) {
		return nil
	}
	f := &finding{id: model.ReceiverWindow, host: s.c.Receiver.host(), margin: s.windowMargin()}
	f.windowEvidence(s)
	f.cause = receiveCause(s)
	if s.rcv == nil {
		f.cap = 0.65
		f.say(s.c.Sender.host(), "window_spread", s.snd.wndSpread, "ratio", s.snd.n, "the window stays put (its low tenth is %s of its high tenth), as at the limit of a buffer", pct(s.snd.wndSpread))
		f.or(model.ApplicationSink, "log in at the receiving end: a full receive queue tells")
		f.or(model.ReceiverCPU, "log in at the receiving end: the reader's run delay tells")
		return f
	}
	f.rcvbufEvidence(s)
	return f
}

func (f *finding) rcvbufEvidence(s *scene) {
	r, h := s.rcv, s.c.Receiver.host()
	f.say(h, "receive_queue_share", r.queued, "ratio", r.n, "the reader keeps up: the receive queue holds %s of the window", pct(r.queued))
	f.say(h, "rcvbuf", float64(r.last.RcvBuf), "bytes", r.n, "the socket's receive buffer is %s", size(float64(r.last.RcvBuf)))
	if way, limited := s.routeWindow(); limited && f.cause == causeRoute {
		f.say(h, "route_window", float64(way.Window), "bytes", 1, "the route to %s limits the window to %s", way.Dst, size(float64(way.Window)))
	}
}

// routeWindow is the receiver's route to the sender by the main table, where that route may be what
// limits the window that was seen: a limit that another window does not fit holds nothing back.
func (s *scene) routeWindow() (model.Route, bool) {
	e := s.c.Receiver
	if e == nil || e.Facts == nil || s.rcv == nil {
		return model.Route{}, false
	}
	seen := s.rcv.window
	if s.snd != nil && known(s.snd.wndMid) {
		seen = s.snd.wndMid
	}
	way, _ := e.Facts.RouteTo(s.rcv.last.Remote.Addr().Unmap())
	most := routeExceeds * float64(calc.ScaledWindow(way.Window))
	return way, way.Window > 0 && seen >= routeUses*float64(way.Window) && seen <= most
}

// seeReceiveBufferAlone is seeReceiveBuffer with only the receiving end seen:
// a window's worth arrives per round trip, and at best the buffer is at its
// limit. Left alone the kernel keeps a window of twice what arrives.
func seeReceiveBufferAlone(s *scene) *finding {
	r := s.rcv
	if s.snd != nil || r == nil || !(r.filled >= 0.8) || !(r.queued < queuedShare) {
		return nil
	}
	queue := ratio(r.rtt.Seconds(), s.minRTT.Seconds())
	if !(queue < queuedPath) {
		return nil
	}
	f := &finding{id: model.ReceiverWindow, host: s.c.Receiver.host(), cause: receiveCause(s), margin: over(r.filled, 0.8, 1), cap: 0.65}
	if _, read := thirdOf(s.c.Receiver, rmemSetting); !read {
		f.cause = causeUnknown
	}
	if f.cause == causeUnknown || f.cause == causeOpen || f.cause == causeSocket || f.cause == causeCapped {
		f.cap = 0.5 // nothing shows what would keep the buffer from growing
	}
	f.say(f.host, "window_used", r.filled, "ratio", r.n, "%s of the advertised window of %s arrives per round trip of %s", pct(r.filled), size(r.window), ms(r.rtt))
	f.rcvbufEvidence(s)
	f.or(model.SendBuffer, "log in at the sending end: its tcp_info tells")
	f.or(model.PathLoss, "log in at the sending end: its tcp_info tells")
	return f
}

// receiveCause finds who fixed the size of the receive buffer.
func receiveCause(s *scene) cause {
	e := s.c.Receiver
	if s.rcv == nil {
		return causeUnknown
	}
	if max, ok := thirdOf(e, rmemSetting); ok && float64(s.rcv.last.RcvBuf) >= nearLimit*float64(max) {
		return causeSysctl
	}
	if v, ok := e.setting(moderateSetting); ok && v == "0" {
		return causeAutotuning
	}
	if capped(e, rmemMaxSetting, s.rcv.last.RcvBuf) {
		return causeCapped
	}
	if _, limited := s.routeWindow(); limited {
		return causeRoute
	}
	if m := s.memoryOf(s.reader); !pinned(s.flow.rcv, s.span, func(c *model.Conn) int64 { return c.RcvBuf }) || m != nil && m.pruned >= prunes {
		return causeOpen
	}
	return causeSocket
}

// capped tells whether a buffer is as large as the setting allows a program to
// ask for: the kernel doubles what it grants (net/core/sock.c).
func capped(e *End, id string, buffer int64) bool {
	v, ok := e.setting(id)
	if !ok {
		return false
	}
	most, err := strconv.ParseInt(v, 10, 64)
	return err == nil && most > 0 && buffer == 2*most
}
