package explain

import (
	"cmp"
	"slices"

	"linerate/internal/model"
	calc "linerate/internal/size"
)

// The forecast of what binds once the first limiter is gone. Each forecaster computes,
// from what the path shows now, the goodput at which one limiter will bind. None of
// them says that it binds already.

const (
	// belowCeiling: a bound this near the ceiling (or above) will not be felt.
	belowCeiling = 0.95
	// refuted: a bound below this share of the measured goodput is disproved. The
	// margin is wide because the payload share of a buffer varies by a quarter.
	refuted = 0.75
	// busyEnough: from this share of its time on, a task's or core's work is
	// taken to grow with the rate.
	busyEnough = 0.5
	// Confidence of a forecast: settings are read; a response to losses varies
	// several-fold; that work grows with the rate is a guess.
	sureOfSetting  = 0.6
	sureOfResponse = 0.5
	sureOfWork     = 0.35
)

// forecasters in no order; the bounds order what they find.
func forecasters() []func(*scene) *finding {
	return []func(*scene) *finding{
		willFillReceiveBuffer, willFillSendBuffer, willLose, willPace, willStarve,
		willFillReader, willFillWriter, willFillCore, willSendSmall,
	}
}

// outlook lists what will bind once the limiter first is gone, lowest bound
// first, each limiter once.
func (s *scene) outlook(first *finding) []*finding {
	var out []*finding
	for _, see := range forecasters() {
		f := see(s)
		if f != nil && f.id == model.PathLoss && (first.id == model.CongestionControl || first.id == model.PathQueue) {
			continue // under a control that losses do not slow down, or where no queue drops, losses set no bound
		}
		if f == nil || s.c.unknowing(f.id) || !s.soon(f.bound) || f.id == first.id || f.cause == causeOwnCPU && followsFrom(first.id, f.id) {
			continue
		}
		f.bound = max(f.bound, s.total)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b *finding) int { return cmp.Compare(a.bound, b.bound) })
	seen := map[model.LimiterID]bool{}
	return slices.DeleteFunc(out, func(f *finding) bool {
		twice := seen[f.id]
		seen[f.id] = true
		return twice
	})
}

// soon tells whether a rising goodput will meet this bound: the measured goodput does
// not disprove it, and it is below the ceiling. Where the ceiling is not known, the
// goodput that a fix without one aims at stands in for it.
func (s *scene) soon(bound float64) bool {
	most := belowCeiling * s.ceiling
	if !known(most) {
		most = blindGrowth * s.total
	}
	return known(bound) && bound >= refuted*s.total && bound < most
}

// perTrip is the goodput of all flows when each has so many bytes in flight.
func (s *scene) perTrip(bytes float64) float64 {
	return ratio(bytes*8, s.minRTT.Seconds()) * s.c.streams()
}

func forecast(id model.LimiterID, host string, bound, sure float64) *finding {
	return &finding{id: id, host: host, bound: bound, cap: sure}
}

// willFillReceiveBuffer: tcp_rmem lets the window grow so far and no further.
func willFillReceiveBuffer(s *scene) *finding {
	limit, ok := thirdOf(s.c.Receiver, rmemSetting)
	if !ok || s.rcv == nil {
		return nil
	}
	window := float64(limit) * s.windowShare()
	f := forecast(model.ReceiverWindow, s.c.Receiver.Host, s.perTrip(window), sureOfSetting)
	f.cause = causeSysctl
	if s.snd != nil && s.snd.last.Options != 0 && s.snd.last.Options&optWScale == 0 {
		f.bound, f.cause = s.perTrip(min(window, calc.UnscaledWindow)), causeScaling
	}
	f.say(f.host, "window_limit", window, "bytes", s.n(), "tcp_rmem lets the receive window grow to %s, which at %s carries %s", size(window), ms(s.minRTT), bits(f.bound))
	return f
}

// willFillSendBuffer: the same of tcp_wmem.
func willFillSendBuffer(s *scene) *finding {
	limit, ok := thirdOf(s.c.Sender, wmemSetting)
	if !ok || s.snd == nil {
		return nil
	}
	payload := float64(limit) * calc.SendShare
	f := forecast(model.SendBuffer, s.c.Sender.Host, s.perTrip(payload), sureOfSetting)
	f.cause = causeSysctl
	f.say(f.host, "send_buffer_limit", payload, "bytes", s.n(), "tcp_wmem lets a send buffer hold %s of data, which at %s carries %s", size(payload), ms(s.minRTT), bits(f.bound))
	return f
}

// willLose: at the share of losses met now, a loss-based sender gets no
// further than its response to them, once nothing else holds it.
func willLose(s *scene) *finding {
	v := s.snd
	if v == nil || s.modelBased() || !(v.retrans > lossFloor) || v.losses < lateEvents || v.behind() {
		return nil
	}
	id := model.PathLoss
	switch {
	case v.last.Options != 0 && v.last.Options&optSACK == 0:
		id = model.SACKOff
	case v.late():
		id = model.Reordering
	}
	f := forecast(id, "", s.sentResponse()*s.c.streams(), sureOfResponse)
	f.say(s.c.Sender.host(), "retransmit_share", v.retrans, "ratio", v.n, "%s of the bytes are sent again; at so many losses a loss-based sender reaches about %s", pct(v.retrans), bits(f.bound))
	return f
}

// behind: the losses come with a queue, so they go when the rate falls.
func (v *sndView) behind() bool { return v.queue >= queuedPath }

// willPace: SO_MAX_PACING_RATE.
func willPace(s *scene) *finding {
	if s.snd == nil || !known(s.snd.maxPacing) {
		return nil
	}
	f := forecast(model.Pacing, s.c.Sender.host(), s.snd.maxPacing*s.c.streams(), sureOfSetting)
	f.say(f.host, "max_pacing", s.snd.maxPacing, "bit/s", s.snd.n, "the socket's maximum pacing rate is %s", bits(s.snd.maxPacing))
	return f
}

// willStarve: the rate at which data passed while the socket had nothing left to send
// is the most that the writer produces.
func willStarve(s *scene) *finding {
	if s.snd == nil || !known(s.snd.fed) || len(s.c.flows) > 1 {
		return nil
	}
	f := forecast(model.ApplicationSource, s.c.Sender.host(), s.snd.fed, sureOfResponse)
	f.say(f.host, "rate_while_dry", s.snd.fed, "bit/s", s.snd.n, "whenever the socket has nothing left to send, %s pass", bits(s.snd.fed))
	return f
}

func willFillReader(s *scene) *finding { return s.willFillTask(s.reader, model.ReceiverCPU, "reader") }

func willFillWriter(s *scene) *finding { return s.willFillTask(s.sender, model.SenderCPU, "writer") }

// willFillTask: a task that needs so much of a core now needs all of it at the
// rate that much higher.
func (s *scene) willFillTask(v *hostView, id model.LimiterID, role string) *finding {
	if v == nil || !(v.run >= busyEnough) || len(s.c.flows) > 1 {
		return nil
	}
	f := forecast(id, v.end.Host, s.total/v.run, sureOfWork)
	f.cause = causeOwnCPU
	f.say(f.host, role+"_cpu_share", v.run, "ratio", v.n, "the %s is on a CPU %s of the time: all of a core is enough for about %s", role, pct(v.run), bits(f.bound))
	return f
}

// willFillCore: packets that pass the stack one by one fill a core.
func willFillCore(s *scene) *finding {
	for _, v := range []*hostView{s.sender, s.reader} {
		if v == nil || !(v.busy*v.kernel >= busyEnough) {
			continue
		}
		f := s.packetCost(v, 0, sureOfWork)
		if f == nil {
			continue
		}
		f.bound = ratio(s.total, v.busy)
		return f
	}
	return nil
}

// evenMatch decides between a fixed limit and random losses. A sender whose response
// to the losses alone would carry it just to the limit reaches this share of it on
// average (simulated for cubic, RFC 9438, with round trips of 10 and 30 ms and 3 to 100
// losses in 10^5 segments). From this share on the limit costs more, and comes first.
const evenMatch = 0.84

// capFirst names a limit of the socket or its host first where it costs more than the
// losses.
func (s *scene) capFirst(first, next *finding) (*finding, *finding) {
	if first.id != model.PathLoss && first.id != model.PathQueue || s.modelBased() {
		return first, next
	}
	for _, f := range s.outlook(first) {
		if !s.holds(f.id) || !(s.total >= evenMatch*f.bound) {
			continue
		}
		f.say(f.host, "share_of_bound", s.total/f.bound, "ratio", s.n(), "%s of that is reached in spite of the losses", pct(s.total/f.bound))
		return f, first
	}
	return first, next
}

// holds tells whether a limit computed from settings applies to this connection: its
// application may have asked for a larger window or buffer.
func (s *scene) holds(id model.LimiterID) bool {
	switch id {
	case model.ReceiverWindow:
		limit, ok := thirdOf(s.c.Receiver, rmemSetting)
		return ok && s.snd != nil && s.snd.wndMax <= float64(limit)
	case model.SendBuffer:
		limit, ok := thirdOf(s.c.Sender, wmemSetting)
		return ok && s.snd != nil && int64(s.snd.last.SndBuf) <= limit
	}
	return id == model.Pacing
}
