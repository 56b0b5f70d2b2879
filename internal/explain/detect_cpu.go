package explain

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

const (
	// ownCPU: the task is on a CPU all the time.
	ownCPU = 0.90
	// quotaShare of wall time out of quota.
	quotaShare = 0.30
	// A writer waits for a CPU this long, a reader that long, and wants one
	// most of the time.
	writerWait = 0.30
	readerWait = 0.50
	wantsCPU   = 0.70
	// A task that waits for a CPU for this long, and this many times as long as it runs, is shut out: it
	// would be done 1/(1-0.4) times as fast if it got one at once, whatever it does the rest of the time.
	shutOutWait = 0.40
	shutOutMore = 10
	// runsDry: share of samples with an empty send queue that a starved
	// writer leaves behind.
	runsDry = 0.25
	// coreFull and kernelWork: a core that has no time left and spends it
	// in the network stack.
	coreFull   = 0.85
	kernelWork = 0.50
	// taskFull: running or waiting to run this much of the time.
	taskFull = 0.80
	// coreWorks: share of wall time in the kernel from which the cost of
	// packets can matter.
	coreWorks = 0.30
	// dearestPacket is more CPU time, in seconds, than any stack takes for a
	// packet: 1.7 µs were measured on a veth, some 20 µs in an emulated machine. A core that is
	// busier than its packets can make it does something else.
	dearestPacket = 40e-6
)

// starvedWriter tells whether the sending task has all the CPU it can get and
// wants more.
func (v *hostView) starvedWriter() bool {
	return v != nil && (v.run >= ownCPU || v.throttled >= quotaShare ||
		(v.wait >= writerWait && v.wait+v.run >= wantsCPU) || shutOut(v.wait, v.run))
}

// shutOut tells whether a task hardly gets a CPU when it wants one, and wants one often.
func shutOut(wait, run float64) bool { return wait >= shutOutWait && wait >= shutOutMore*run }

func (v *hostView) starvedReader() bool {
	return v != nil && (v.throttled >= quotaShare || (v.wait >= readerWait && v.wait+v.run >= wantsCPU) || shutOut(v.wait, v.run))
}

// packetPressure is how clearly (0..1) the host has no time left for packets:
// its core is full of kernel work, or its task gets no more of a core that
// mostly works in the kernel, or packets were dropped before the stack took
// them. Unknown when none of it is seen. Out of quota is another limiter.
func (v *hostView) packetPressure() float64 {
	if v == nil || v.throttled >= quotaShare {
		return unknown()
	}
	best := unknown()
	note := func(m float64) {
		if !(m <= best) {
			best = m
		}
	}
	if v.kernel >= kernelWork && v.busy >= coreFull {
		note(over(v.busy, coreFull, 0.97))
	}
	if v.kernel >= kernelWork && v.busy >= 2*coreWorks && v.run+v.wait >= taskFull {
		note(over(v.run+v.wait, taskFull, 1) / 2)
	}
	if v.softDrops >= 1 {
		note(0.5)
	}
	return best
}

func (f *finding) taskEvidence(v *hostView, role string) {
	if v == nil {
		return
	}
	if v.throttled > 0 {
		f.say(v.end.Host, role+"_throttled_share", v.throttled, "ratio", v.n, "the %s's CPU quota is used up %s of the time", role, pct(v.throttled))
	}
	run := func() {
		f.say(v.end.Host, role+"_cpu_share", v.run, "ratio", v.n, "the %s is on a CPU %s of the time", role, pct(v.run))
	}
	if v.run >= v.wait {
		run()
	}
	f.say(v.end.Host, role+"_run_delay_share", v.wait, "ratio", v.n, "the %s is runnable without a CPU %s of the time", role, pct(v.wait))
	if !(v.run >= v.wait) {
		run()
	}
}

func (f *finding) coreEvidence(c *views, v *hostView) {
	f.say(v.end.Host, "core_busy_share", v.busy, "ratio", v.n, "core %d is busy %s of the time, %s of it in the kernel's network stack", v.core, pct(v.busy), pct(v.kernel))
	f.say(v.end.Host, "core_kernel_share", v.kernel, "ratio", v.n, "system, softirq and irq are %s of that core's work", pct(v.kernel))
	if v.softDrops > 0 {
		f.say(v.end.Host, "softnet_drops", v.softDrops, "1/s", v.n, "%.3g packets a second are dropped before the stack takes them", v.softDrops)
	}
	f.squeezeEvidence(v)
	f.scoped(c, "core_busy_share", "core_kernel_share", "softnet_drops", "softirq_squeezed")
}

// segmentationFeatures by the kernel's names, in the order they are printed.
func txFeatures() []string { return []string{"tx-generic-segmentation", "tx-tcp-segmentation"} }
func rxFeatures() []string { return []string{"rx-gro"} }

// off lists which of the named features the NIC that carries the data has off.
func (v *hostView) off(names []string) []string {
	if v == nil || v.nic == nil {
		return nil
	}
	have, ok := v.nic.Features.Get()
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		on, present := have[n]
		return on || !present
	})
}

// seePacketCost: no CPU time is left while every wire-sized packet passes the
// stack by itself. A task short of CPU for another reason leaves a core that
// is idle (quota) or full of user time (another program).
func seePacketCost(s *scene) *finding {
	full, margin := s.sender, s.sender.packetPressure()
	if m := s.reader.packetPressure(); m > margin || !known(margin) {
		full, margin = s.reader, m
	}
	if !known(margin) {
		return nil
	}
	return s.packetCost(full, margin, 0)
}

// seePacketCostLikely: as seePacketCost, with a core that is not quite full.
// The rest of the time goes in handing packets from core to core, which also
// reorders them; so it is asked once nothing else at the ends explains the
// rate, and before the path is blamed.
func seePacketCostLikely(s *scene) *finding {
	for _, v := range []*hostView{s.sender, s.reader} {
		if v != nil && v.busy*v.kernel >= coreWorks && len(s.sender.off(txFeatures())) > 0 && !(v.throttled >= quotaShare) {
			f := s.packetCost(v, over(v.busy*v.kernel, coreWorks, 1), 0.6)
			if f == nil {
				continue // packets pass in large pieces after all
			}
			f.or(model.LinkRate, "turn segmentation offload on: if the rate stays, the path is the limit")
			return f
		}
	}
	return nil
}

// packetCost is the finding for the host whose CPU time has run out; nil when
// packets do not pass one by one.
func (s *scene) packetCost(full *hostView, margin, limit float64) *finding {
	tx, rx := s.sender.off(txFeatures()), s.reader.off(rxFeatures())
	if s.sender.wholePackets(s.mss()) {
		tx = nil
	}
	if s.reader.wholePackets(s.mss()) || full != s.reader {
		rx = nil
	}
	if !s.packetsCost(full) {
		return nil
	}
	f := &finding{id: model.PacketCost, margin: margin, cap: limit}
	switch {
	case len(tx) > 0:
		f.host, f.cause = s.sender.end.Host, causeTx
	case len(rx) > 0:
		f.host, f.cause = s.reader.end.Host, causeRx
	case full.busy >= coreFull && s.singlePackets():
		f.host, f.cause, f.cap = full.end.Host, causeUnknown, 0.55
		f.or(model.SenderCPU, "read the NIC's offloads at both ends (ethtool -k)")
	default:
		return nil
	}
	if full.othersFill() {
		f.cap = tossUpCap
		cpu := model.ReceiverCPU
		if full == s.sender {
			cpu = model.SenderCPU
		}
		f.or(cpu, "see which program fills that core: most of its time is neither softirq nor of this transfer's own tasks")
	}
	f.coreEvidence(s.c, full)
	if off := append(tx, rx...); len(off) > 0 {
		f.say(f.host, "offloads_off", float64(len(off)), "features", full.n, "segmentation offload is off: %s", strings.Join(off, ", "))
	}
	if s.sender != nil {
		f.say(s.sender.end.Host, "bytes_per_packet", s.sender.packet, "bytes", s.sender.n, "packets leave with %.0f bytes each", s.sender.packet)
		f.say(s.sender.end.Host, "packets_per_second", s.sender.packetRate, "1/s", s.sender.n, "%.0f packets a second leave", s.sender.packetRate)
	}
	f.taskEvidence(s.sender, "writer")
	f.taskEvidence(s.reader, "reader")
	return f
}

// othersFill: more than half of what the core is busy with is neither softirq nor of the tasks whose
// connections are watched, so that packets of theirs did not fill it.
func (v *hostView) othersFill() bool { return v.soft+v.ran < v.busy/2 }

// packetsCost: there are enough packets to have used the CPU time that the
// kernel used. A bound before the claim.
func (s *scene) packetsCost(v *hostView) bool {
	perSecond := ratio(s.total, 8*float64(s.mss()))
	return !known(perSecond) || v.busy*v.kernel/perSecond <= dearestPacket
}

// wholePackets: super-packets were seen to pass, so the offload that a feature
// says is off is not missed. Only a virtual NIC counts what the stack hands
// it; a physical one counts what is on the wire, which says nothing.
func (v *hostView) wholePackets(mss int) bool {
	return v != nil && v.nic != nil && v.nic.Speed.State != model.Present && mss > 0 && v.packet >= 2*float64(mss+ipTCPHeaders)
}

// singlePackets: the offloads could not be read, but packets of no more than
// one segment leave the sender, as far as a virtual NIC shows it.
func (s *scene) singlePackets() bool {
	v := s.sender
	if v == nil || v.nic == nil || v.nic.Features.State == model.Present || v.nic.Speed.State == model.Present || s.mss() == 0 {
		return false
	}
	return v.packet <= float64(s.mss()+ipTCPHeaders+timestampBytes+ethernetHeader)
}

// seeSenderCPU: the writer has no CPU to spare and the socket runs dry.
func seeSenderCPU(s *scene) *finding {
	v := s.snd
	if v == nil || !s.sender.starvedWriter() || !(v.dry >= runsDry || v.drained >= runsDry) {
		return nil
	}
	f := &finding{id: model.SenderCPU, host: s.sender.end.Host}
	f.margin = max(over(s.sender.run, ownCPU, 1), over(s.sender.throttled, quotaShare, 0.7), over(s.sender.wait, writerWait, 0.8))
	f.taskEvidence(s.sender, "writer")
	f.say(f.host, "notsent_dry_share", v.dry, "ratio", v.n, "the socket has nothing left to send in %s of the samples", pct(v.dry))
	f.cause = starvedBy(s.sender)
	return f
}

// seeReceiverCPU: the reader is runnable without a CPU. Under loss-based
// control nothing else shows it: the window stays open and the RTT grows, as
// if the path queued.
func seeReceiverCPU(s *scene) *finding {
	if s.rcv == nil {
		return nil
	}
	stack := s.reader.run >= ownCPU && s.reader.kernel >= kernelWork && s.rcv.queued >= queuedShare
	if !s.reader.starvedReader() && !stack {
		return nil
	}
	if !known(s.ceiling) && !s.windowBound() && !(s.rcv.queued >= queuedShare) && !(s.snd != nil && s.snd.queue >= standingQueue) {
		return nil
	}
	f := &finding{id: model.ReceiverCPU, host: s.reader.end.Host, costs: true}
	f.margin = max(over(s.reader.throttled, quotaShare, 0.7), over(s.reader.wait, readerWait, 0.85), over(s.reader.run, ownCPU, 1))
	f.taskEvidence(s.reader, "reader")
	f.say(f.host, "receive_queue_share", s.rcv.queued, "ratio", s.rcv.n, "the receive queue holds %s of the window", pct(s.rcv.queued))
	f.cause = starvedBy(s.reader)
	return f
}

func starvedBy(v *hostView) cause {
	switch {
	case v.throttled >= quotaShare:
		return causeQuota
	case v.run >= ownCPU:
		return causeOwnCPU
	}
	return ""
}
