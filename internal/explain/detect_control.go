package explain

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

const (
	controlSetting   = "linux.sysctl.net.ipv4.tcp_congestion_control"
	availableSetting = "linux.sysctl.net.ipv4.tcp_available_congestion_control"
	// controlLosses are enough to tell rare ones from a stray event.
	controlLosses = 3
)

// seeControl: the sender runs a control that gains one segment per round trip
// (Reno, RFC 5681), and losses so rare that a model-based one does not notice
// them (bbr: none up to 1%, measured) cost it the rate. CUBIC, which everybody
// has, is not named so: there the losses are, with the control as the
// alternative.
func seeControl(s *scene) *finding {
	v := s.snd
	if v == nil || v.last.CC != "reno" || s.queues() || !(v.losses >= controlLosses) || !(v.retrans > lossFloor && v.retrans < rareLoss) || s.outrunsLoss() {
		return nil
	}
	if p := s.pattern(); p != patternRandom && p != patternUnknown {
		return nil
	}
	f := &finding{id: model.CongestionControl, host: s.c.Sender.host(), margin: over(v.retrans, rareLoss, 0), cap: 0.75, costs: true}
	f.say(f.host, "retransmit_share", v.retrans, "ratio", v.n, "%s recovers by one segment per round trip, and %s of the bytes are sent again: it is expected to reach about %s", v.last.CC, pct(v.retrans), bits(s.sentResponse()))
	f.say(f.host, "rtt_over_min", v.queue, "ratio", v.n, "RTT is %.2f times its minimum of %s: no queue stands", v.queue, ms(s.minRTT))
	f.say(f.host, "inflight_over_cwnd", v.inflight, "ratio", v.n, "data in flight is %s of the congestion window", pct(v.inflight))
	f.patternEvidence(s)
	f.or(model.PathLoss, "send with a congestion control that goes by a model of the path (bbr): if the rate rises to the link's, the losses need not be hunted")
	f.unseenReader(s)
	return f
}

// controlFix is bbr where the sender has it and its setting is what is in force;
// elsewhere the operator has to say.
func controlFix(s *scene) model.Fix {
	e := s.c.Sender
	now, _ := e.setting(controlSetting)
	have, _ := e.setting(availableSetting)
	if now == s.snd.last.CC && slices.Contains(strings.Fields(have), "bbr") {
		return change(e.Host, controlSetting, now, "bbr", "use a congestion control that rare losses do not slow down; for connections opened after it")
	}
	who := "the application or a route asks for " + s.snd.last.CC
	if now == s.snd.last.CC {
		who = s.snd.last.CC + " is the host's own setting, and bbr is not loaded there (modprobe tcp_bbr)"
	}
	return operator(e.Host, who+": use bbr, which rare losses do not slow down, or cubic, which gains faster on long paths")
}
