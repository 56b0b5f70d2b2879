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
	// runsDry: share of samples with an empty send queue that a starved
	// writer leaves behind.
	runsDry = 0.25
	// coreFull and kernelWork: a core that has no time left and spends it
	// in the network stack.
	coreFull   = 0.85
	kernelWork = 0.60
)

// starvedWriter tells whether the sending task has all the CPU it can get and
// wants more.
func (v *hostView) starvedWriter() bool {
	return v != nil && (v.run >= ownCPU || v.throttled >= quotaShare ||
		(v.wait >= writerWait && v.wait+v.run >= wantsCPU))
}

func (v *hostView) starvedReader() bool {
	return v != nil && (v.throttled >= quotaShare || (v.wait >= readerWait && v.wait+v.run >= wantsCPU))
}

// stackBound tells whether the task's core is full with work of the kernel.
func (v *hostView) stackBound() bool {
	return v != nil && v.busy >= coreFull && v.kernel >= kernelWork && !(v.throttled >= quotaShare)
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

func (f *finding) coreEvidence(c Case, v *hostView) {
	f.say(v.end.Host, "core_busy_share", v.busy, "ratio", v.n, "core %d is busy %s of the time, %s of it in the kernel's network stack", v.core, pct(v.busy), pct(v.kernel))
	f.say(v.end.Host, "core_kernel_share", v.kernel, "ratio", v.n, "system, softirq and irq are %s of that core's work", pct(v.kernel))
	f.scoped(c, "core_busy_share", "core_kernel_share")
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

// seePacketCost: a core is full of kernel work because every wire-sized packet
// passes the stack by itself. A task short of CPU for another reason leaves a
// core that is idle (quota) or full of user time (another program).
func seePacketCost(s *scene) *finding {
	tx, rx := s.sender.off(txFeatures()), s.reader.off(rxFeatures())
	full := s.fullCore()
	if full == nil || (len(tx) == 0 && len(rx) == 0 && !s.singlePackets()) {
		return nil
	}
	f := &finding{id: model.PacketCost, margin: over(full.busy, coreFull, 0.97)}
	switch {
	case len(tx) > 0:
		f.host, f.cause = s.sender.end.Host, causeTx
	case len(rx) > 0:
		f.host, f.cause = s.reader.end.Host, causeRx
	default:
		f.host, f.cause, f.cap = full.end.Host, causeUnknown, 0.55
		f.or(model.SenderCPU, "read the NIC's offloads at both ends (ethtool -k)")
	}
	f.coreEvidence(s.c, full)
	if off := append(slices.Clone(tx), rx...); len(off) > 0 {
		f.say(f.host, "offloads_off", float64(len(off)), "features", full.n, "%s off", strings.Join(off, " and ")+map[bool]string{true: " is", false: " are"}[len(off) == 1])
	}
	if s.sender != nil {
		f.say(s.sender.end.Host, "bytes_per_packet", s.sender.packet, "bytes", s.sender.n, "packets leave with %.0f bytes each, %.0f a second", s.sender.packet, s.sender.packetRate)
	}
	f.taskEvidence(s.sender, "writer")
	return f
}

// fullCore is the end whose core is full of kernel work. The sender's is asked
// first; over a veth pair it also does the receiver's softirq work.
func (s *scene) fullCore() *hostView {
	if s.sender.stackBound() {
		return s.sender
	}
	if s.reader.stackBound() {
		return s.reader
	}
	return nil
}

// singlePackets: the offloads could not be read, but packets of no more than
// one segment leave the sender. Only a virtual NIC counts what the stack
// hands it; a physical one counts what is on the wire, which says nothing.
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
	stack := s.reader.run >= ownCPU && s.reader.stackBound() && s.rcv.queued >= queuedShare
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
