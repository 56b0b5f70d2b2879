package explain

import (
	"fmt"

	"linerate/internal/model"
)

// adviceFor tells an operator what removes a limiter that no setting of ours
// removes.
func adviceFor(s *scene, f *finding) string {
	if f.advice != "" {
		return f.advice
	}
	switch f.id {
	case model.MTUBlackhole:
		return blackholeAdvice(s, f)
	case model.Outage:
		return "find where packets stop: link, route, firewall between the two ends"
	case model.PathLoss:
		return lossAdvice(s)
	case model.PathQueue:
		return "give the slowest hop a deeper queue, or send below the policed rate"
	case model.LinkRate:
		return slowLinkAdvice(s.ceiling, s.total)
	case model.ApplicationSource:
		return "make the sending application read or produce faster: it leaves the connection idle"
	case model.ApplicationSink:
		if f.cause == causeOwnCPU {
			return "make the receiving application read faster: it computes all the time while data waits"
		}
		return "make the receiving application read faster: data waits while it does something else"
	case model.ReceiverCPU, model.SenderCPU:
		return cpuAdvice(f)
	case model.Pacing:
		return "the application sets SO_MAX_PACING_RATE: have it ask for more, or for none"
	case model.LocalQdisc:
		return "remove or raise the shaper of the sender's own interface (" + s.sender.qdisc + ")"
	case model.Reordering:
		return "make the path keep packets of one connection in order (hash by flow, not per packet)"
	}
	return ""
}

// lossAdvice goes by how the losses come. Where that leaves several mechanisms, it has
// what tells them apart. Losses whose place a counter shows have an advice of their own.
func lossAdvice(s *scene) string {
	const damage = "error counters of cables, transceivers and switch ports"
	const overflow = "discard counters of switch ports"
	p := patternUnknown
	if s != nil {
		p = s.pattern()
	}
	switch p {
	case patternRandom:
		return "losses come one by one: look for the hop that damages packets (" + damage + ") or drops them at random"
	case patternBursty:
		return burstAdvice
	}
	return "look for the hop that loses packets: " + damage + " grow where it damages them, " + overflow + " where a queue overflows"
}

// burstAdvice is for losses that come several at a time.
const burstAdvice = "losses come many at a time: where discard counters of switch ports grow with them, a queue or a policer drops bursts (give it room, or send evenly paced); where a link goes down for a moment, its log says so"

func blackholeAdvice(s *scene, f *finding) string {
	hosts := ""
	for _, e := range []*End{s.c.Sender, s.c.Receiver} {
		if n := s.c.nicOf(e); n != nil {
			hosts += fmt.Sprintf(", %s has %d", e.Host, n.MTU)
		}
	}
	mtu := s.snd.last.PMTU
	if mtu == 0 { // not shown
		return fmt.Sprintf("full-sized packets vanish on the way and nothing reports it: make every hop carry the hosts' MTU and pass ICMP \"fragmentation needed\", or lower the MTU of both ends (segments carry %d bytes%s)", s.snd.last.SndMSS, hosts)
	}
	if f.cause == causeProbed {
		fits := s.snd.last.SndMSS + s.snd.last.PMTU - s.snd.last.AdvMSS
		return fmt.Sprintf("packets of %d bytes vanish, about %d pass: make every hop carry the hosts' MTU, or lower it at both ends (path MTU in force %d%s)", mtu, fits, mtu, hosts)
	}
	return fmt.Sprintf("packets of %d bytes vanish on the way and nothing reports it: make every hop carry the hosts' MTU and pass ICMP \"fragmentation needed\", or lower the MTU of both ends (path MTU in force %d%s)", mtu, mtu, hosts)
}

// slowLinkAdvice is for a path that carries total bit/s of payload; the ceiling may be
// unknown (NaN).
func slowLinkAdvice(ceiling, total float64) string {
	if known(ceiling) {
		return fmt.Sprintf("the slowest hop carries %s of payload: find the hop whose link is slower than the ends' (negotiated speed, shaper, contract)", bits(total))
	}
	return fmt.Sprintf("the path carries %s of payload: compare it with the speed of the links on the way", bits(total))
}

func cpuAdvice(f *finding) string {
	who := map[model.LimiterID]string{model.ReceiverCPU: "receiving", model.SenderCPU: "sending"}[f.id]
	switch f.cause {
	case causeQuota:
		return "raise the CPU quota of the " + who + " task's cgroup"
	case causeNoCore:
		return "free CPU time at the " + who + " end: stop what else runs there, or let the NIC do more of the work (GRO, larger MTU)"
	case causeOwnCPU:
		return "the " + who + " task needs all of its core: larger reads and writes, a faster core, or more streams on more cores"
	}
	return "give the " + who + " task a core of its own: other work keeps it waiting"
}

func restAdvice(id model.LimiterID) string {
	switch id {
	case model.None:
		return "nothing to change: the path is at its ceiling"
	case model.StartUp:
		return "transfer more, or for longer, to see what the path carries"
	}
	return "gather what could not be seen, then look again"
}
