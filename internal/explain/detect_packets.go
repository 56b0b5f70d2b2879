package explain

import (
	"fmt"

	"linerate/internal/model"
)

const (
	// longestPause is how many bits a pause frame can hold a port for: 65535
	// quanta of 512 bit times (IEEE 802.3 Annex 31B).
	longestPause = 65535 * 512
	// pausesPerSecond at least, before they are worth a word.
	pausesPerSecond = 10
	// heldLeast is the share of the time that pauses must be able to hold the
	// port for, to explain what is missing.
	heldLeast = 0.1
	// oneCore: this share of the packets passes one core, which softirq fills to
	// softirqFull while another core is idle to idleCore.
	oneCore     = 0.85
	softirqFull = 0.5
	coreAtEnd   = 0.9
	idleCore    = 0.5
	// squeezesPerSecond is worth a word.
	squeezesPerSecond = 10
)

// seePaused: Ethernet flow control stops the sender's port. The count of frames
// bounds how long it can have stood still; where that does not explain what is
// missing, something else is at work.
func seePaused(s *scene) *finding {
	type side struct {
		v    *hostView
		rate float64
		says string
	}
	var told, tells side
	if v := s.sender; v != nil {
		told = side{v, v.packets.pauseRx, "%s of %s is told to stop %.0f times a second (pause frames received)"}
	}
	if v := s.reader; v != nil {
		tells = side{v, v.packets.pauseTx, "%s of %s tells the other side to stop %.0f times a second (pause frames sent)"}
	}
	f := &finding{id: model.FlowControl, cap: 0.8, costs: true}
	most := 0.0
	for _, x := range []side{tells, told} {
		if x.v == nil || !(x.rate >= pausesPerSecond) || x.v.nic == nil {
			continue
		}
		held := heldBy(x.rate, x.v.nic)
		if !(held >= max(heldLeast, s.missing()/2)) {
			continue
		}
		most = max(most, held)
		f.say(x.v.end.Host, "pause_frames", x.rate, "1/s", x.v.n, x.says, x.v.nic.Name, x.v.end.Host, x.rate)
	}
	if len(f.evidence) == 0 {
		return nil
	}
	f.margin = over(most, heldLeast, 1)
	f.advice = "find who sends the pause frames: the switch port's counters tell; it protects a slower port or a full buffer behind it"
	if f.evidence[0].Host == s.c.Receiver.host() {
		f.host = s.c.Receiver.host()
		f.advice = fmt.Sprintf("%s takes packets more slowly than they come: give it a larger receive ring, more queues and cores, or a faster slot; then see whether its port still sends pause frames", f.host)
	}
	f.say("", "pause_bound", most, "ratio", s.n(), "so many can hold the port for up to %s of the time", pct(most))
	f.or(model.LinkRate, "turn flow control off at that port (ethtool -A) for a moment: if losses take the place of the pauses, what is behind it carries no more")
	return f
}

// heldBy is the most share of the time that pause frames hold a port; 1 where
// its speed is not known.
func heldBy(perSecond float64, n *model.NIC) float64 {
	speed, ok := n.Speed.Get()
	if !ok || speed <= 0 {
		return 1
	}
	return min(1, perSecond*longestPause/float64(speed))
}

// seeOneCore: one core does the softirq work of all packets and has no time
// left, while others idle. Hosts that share a kernel share these counters, and
// then nothing is said.
func seeOneCore(s *scene) *finding {
	if s.c.oneKernel() {
		return nil
	}
	for _, x := range []struct {
		v  *hostView
		id model.LimiterID
	}{{s.reader, model.ReceiverCPU}, {s.sender, model.SenderCPU}} {
		if x.v == nil {
			continue
		}
		p := x.v.packets
		if !(p.took >= oneCore && p.softirq >= softirqFull && p.full >= coreAtEnd && p.idle >= idleCore) {
			continue
		}
		f := &finding{id: x.id, host: x.v.end.Host, cause: causeOneCore, margin: min(over(p.full, coreAtEnd, 1), over(p.idle, idleCore, 0.9)), cap: 0.85, costs: true}
		f.say(f.host, "softirq_core_share", p.full, "ratio", x.v.n, "core %d is %s busy, %s of its time with packets in softirq, while another core is %s idle", p.core, pct(p.full), pct(p.softirq), pct(p.idle))
		f.say(f.host, "one_core_packets", p.took, "ratio", x.v.n, "%s of all packets pass that core", pct(p.took))
		f.squeezeEvidence(x.v)
		f.advice = spreadAdvice(x.v)
		return f
	}
	return nil
}

func (f *finding) squeezeEvidence(v *hostView) {
	if v.packets.squeezed >= squeezesPerSecond {
		f.say(v.end.Host, "softirq_squeezed", v.packets.squeezed, "1/s", v.n, "softirq ran out of its budget %.0f times a second with packets left", v.packets.squeezed)
	}
}

// spreadAdvice says how to put packets on more cores, by what the NIC has.
func spreadAdvice(v *hostView) string {
	out := "spread the packets over more cores: "
	n := v.nic
	if n == nil {
		return out + "more receive queues (ethtool -L), each with its interrupt on a core of its own"
	}
	c, ok := n.Channels.Get()
	switch {
	case ok && c.Receive() < c.ReceiveMax():
		return out + fmt.Sprintf("%s has %d receive queues and could have %d (ethtool -L %s)", n.Name, c.Receive(), c.ReceiveMax(), n.Name)
	case ok && c.Receive() > 1:
		return out + fmt.Sprintf("%s has %d receive queues: put their interrupts on different cores (/proc/irq/*/smp_affinity_list); one connection stays on one queue, so use several (nconnect, multichannel), or receive packet steering (rps_cpus)", n.Name, c.Receive())
	}
	return out + fmt.Sprintf("%s has one receive queue: receive packet steering (/sys/class/net/%s/queues/rx-0/rps_cpus) hands its packets to other cores", n.Name, n.Name)
}

// ringAdvice is what gives a NIC more room.
func ringAdvice(n *model.NIC) string {
	if r, ok := n.Ring.Get(); ok && r.Rx > 0 && r.Rx < r.RxMax {
		return fmt.Sprintf("raise the receive ring of %s from %d (ethtool -G; it can %d), and spread its queues over more cores", n.Name, r.Rx, r.RxMax)
	}
	return "spread the receive queues of " + n.Name + " over more cores near its slot: it has no room for packets that the host does not fetch in time"
}

// socketDrops is how many segments the host's sockets dropped: no room in the
// receive buffer, in the backlog of a socket in use, or after pruning
// (net/ipv4/tcp_input.c, tcp_ipv4.c; Documentation/networking/snmp_counter.rst).
func socketDrops(grown map[string]int64) (n int64) {
	for _, name := range []string{"TcpExt.TCPRcvQDrop", "TcpExt.TCPBacklogDrop", "TcpExt.RcvPruned", "TcpExt.OfoPruned", "TcpExt.TCPZeroWindowDrop"} {
		n += max(0, grown[name])
	}
	return n
}
