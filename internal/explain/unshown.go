package explain

import (
	"slices"
	"time"

	"linerate/internal/model"
)

// What other systems than Linux do not show of a connection is unknown here, never zero.

const (
	// unshownCap is the most confidence in a limiter by what such a system shows: each has
	// rivals that nothing there tells apart from it.
	unshownCap = 0.5
	// statesLeast and statesMost of the time that passed have to be in the sender's states
	// together, or they are not believed: then they did not count what they are meant to.
	statesLeast = 0.8
	statesMost  = 1.2
)

// fills tells whether a source fills the fields of tcp_info that end there.
func fills(from model.ConnSource, end int) bool {
	return from == model.FromEstats && slices.Contains([]int{infoBytes, infoSndWnd, infoRcvWnd}, end) ||
		from == model.FromNettop && slices.Contains([]int{infoBytes, infoSndWnd}, end)
}

// forgetUnshown makes unknown what was worked out from fields that were not shown.
func (v *sndView) forgetUnshown() {
	if v.last.From == "" {
		return
	}
	v.appLimited, v.lossState = unknown(), unknown()
	if v.last.From == model.FromNettop {
		v.dry, v.drained, v.silent, v.held, v.window, v.backoff, v.cwndGrowth = unknown(), unknown(), unknown(), unknown(), unknown(), unknown(), unknown()
		v.resent, v.early, v.watched, v.losses, v.rtos, v.copies, v.turns, v.queue, v.queueTop = unknown(), unknown(), unknown(), unknown(), unknown(), unknown(), unknown(), unknown(), unknown()
	}
}

// estatsShares are the shares of chronographs from the three states that a sender is in by turns
// (RFC 4898: tcpEStatsPerfSndLimTimeRwin, …Cwnd, …Snd). That of the send buffer is in the third, with a
// program that has nothing to send, and so is not known.
func estatsShares(a, b *model.Conn, dur time.Duration) (rwnd, sndbuf float64) {
	window, held := b.RwndLimited-a.RwndLimited, b.Busy-a.Busy
	all := ratio((held + b.SourceLimited - a.SourceLimited).Seconds(), dur.Seconds())
	if window < 0 || held < window || !(all >= statesLeast && all <= statesMost) {
		return unknown(), unknown()
	}
	return min(1, ratio(window.Seconds(), dur.Seconds())), unknown()
}

// roundTrips is the round trip over its minimum.
func roundTrips(c *model.Conn, least time.Duration) float64 {
	if c.From != "" && c.RTT == 0 {
		return unknown()
	}
	return ratio(c.RTT.Seconds(), least.Seconds())
}

// from is what showed the flow where that was not Linux; "" is Linux.
func (s *scene) from() model.ConnSource {
	switch {
	case s.snd != nil && s.snd.last.From != "":
		return s.snd.last.From
	case s.rcv != nil:
		return s.rcv.last.From
	}
	return ""
}

// unshownSign tells whether the sending end's system does not show what the sign is read from.
func (s *scene) unshownSign(id model.Sign) bool {
	if s.snd.last.From == model.FromNettop {
		return id != model.RateSteady && id != model.SegmentsLost
	}
	return s.snd.last.From != "" && slices.Contains([]model.Sign{model.BufferFull, model.Paced, model.NoSACK, model.HeldAtHome, model.LargeFail}, id)
}

// rivals are limiters that look the same where the system does not show what would tell.
func rivals(id model.LimiterID) []model.Alternative {
	const (
		buffer = "Windows does not show a socket's send buffer: have the program ask for a larger one (SO_SNDBUF), or keep more sends under way"
		policy = "Get-NetQosPolicy: a throttle rate there holds packets back in this host"
		cpu    = "look at Task Manager meanwhile, at the program and at each core: linerate does not read them on Windows"
	)
	switch id {
	case model.ApplicationSource:
		return []model.Alternative{{Limiter: model.SendBuffer, Probe: buffer}, {Limiter: model.SenderCPU, Probe: cpu}}
	case model.LinkRate, model.PathLoss, model.PathQueue, model.CongestionControl, model.Reordering:
		return []model.Alternative{{Limiter: model.LocalQdisc, Probe: policy}, {Limiter: model.SenderCPU, Probe: cpu}}
	case model.ApplicationSink:
		return []model.Alternative{{Limiter: model.ReceiverCPU, Probe: cpu}}
	}
	return nil
}

// likeMacOS are the limiters that nothing that macOS shows tells apart.
func likeMacOS() []model.Alternative {
	const how = "where the other end runs Linux, watch the connection there by explain --attach"
	var out []model.Alternative
	for _, id := range []model.LimiterID{model.ApplicationSource, model.ApplicationSink, model.SendBuffer, model.ReceiverWindow, model.LinkRate, model.PathLoss, model.PathQueue} {
		out = append(out, model.Alternative{Limiter: id, Probe: how})
	}
	return out
}

// capUnshown keeps a finding by what another system shows as unsure as it is.
func (s *scene) capUnshown(f *finding) {
	if f != nil && f.id == model.Undetermined && s.from() == model.FromNettop {
		f.alts = likeMacOS()
		if v := s.snd; v != nil && v.last.RTT > 0 {
			f.say(s.c.Sender.host(), "mean_rtt", v.last.RTT.Seconds()*1e3, "ms", v.n, "the round trip is %s, as a mean over the life of the connection", ms(v.last.RTT))
		}
	}
	if s.from() == "" || f == nil || claimsNothing(f.id) {
		return
	}
	if f.cap == 0 || f.cap > unshownCap {
		f.cap = unshownCap
	}
	also := rivals(f.id)
	if s.from() == model.FromNettop {
		also = likeMacOS()
	}
	for _, r := range also {
		if r.Limiter == f.id {
			continue
		}
		f.alts = slices.DeleteFunc(f.alts, func(a model.Alternative) bool { return a.Limiter == r.Limiter })
		f.alts = append(f.alts, r)
	}
}

// unshownAt lists what the system of an end does not show of its connections.
func unshownAt(e *End) []model.Blind {
	system, lacks, look := "", "", ""
	for _, s := range e.Samples {
		for _, c := range s.Conns {
			switch c.From {
			case model.FromEstats:
				system, lacks, look = "Windows", "buffers, options and congestion control of the connections at ", "Task Manager"
			case model.FromNettop:
				system, lacks, look = "macOS", "windows, queues, buffers and data in flight of the connections at ", "Activity Monitor"
			}
		}
	}
	if system == "" {
		return nil
	}
	return []model.Blind{{
		What:      lacks + e.Host,
		WouldShow: "whether a full send buffer or an idle program leaves nothing to send, who fixed a window, and how losses slow the sender down",
		How:       system + " does not show them: watch the other end, where that runs Linux",
	}, {
		What:      "the programs and cores at " + e.Host,
		WouldShow: "whether one is full, and whether a program waits for it",
		How:       "linerate does not read them on " + system + ": look at " + look + " meanwhile",
	}}
}
