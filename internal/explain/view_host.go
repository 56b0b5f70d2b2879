package explain

import (
	"slices"
	"time"

	"linerate/internal/model"
)

// hostView is what an end's host counters say over a span. Unknown is NaN.
type hostView struct {
	end *End
	n   int
	// The busiest task of the watched connections: share of wall time on a
	// CPU, and runnable without one.
	task      string
	run, wait float64
	ran       float64 // on CPUs, of all these tasks together
	disk      float64 // highest share of samples in which a task waits for a disk (state D)
	throttled float64 // share of wall time the cgroup was out of quota
	// The busiest core that the task may run on.
	core       int
	busy       float64 // share of wall time not idle
	least      float64 // the same of the core that is idle most
	kernel     float64 // system + softirq + irq share of the busy time
	soft       float64 // share of wall time in softirq and irq
	steal      float64 // share of wall time
	softDrops  float64 // packets/s dropped before the stack, on the cores the end may use
	qdrops     float64
	overlimits float64
	qdisc      string
	qdiscDev   string // the interface whose counters these are
	// standing is the share of the samples in which packets wait in that qdisc; unknown where it was
	// seldom read.
	standing   float64
	packet     float64 // bytes per packet at the NIC that carries the data, data direction
	packetRate float64 // packets/s there
	nic        *model.NIC
	packets    packetView
	// beside is what that NIC carried in the data direction beyond the end's connections, bit/s.
	beside float64
	snmp   map[string]int64 // growth over the whole recording
	// machine is the share of all cores' time that is used, and pressed the share of the
	// time in which some task waited for a CPU. Both are of the machine.
	machine, pressed float64
}

// viewHost computes the features of the host e over s. out: the data leaves
// this host (the direction of the NIC counters).
func viewHost(e *End, s span, nic *model.NIC, out bool) *hostView {
	if e == nil {
		return nil
	}
	var in []model.Sample
	for _, x := range e.Samples {
		if x.At >= s.from && x.At <= s.to {
			in = append(in, x)
		}
	}
	v := &hostView{end: e, n: len(in), nic: nic, run: unknown(), wait: unknown(), ran: unknown(), throttled: unknown(),
		packets: viewPackets(nil, nil, nil), machine: unknown(), pressed: unknown(), busy: unknown(), least: unknown(), kernel: unknown(), soft: unknown(), steal: unknown(), packet: unknown(), packetRate: unknown(), softDrops: unknown(), beside: unknown(), core: -1}
	v.snmp = growth(e.Samples)
	v.qdiscs(e.Samples, nic)
	v.standing = v.backlogged(in)
	if len(in) < 2 {
		return v
	}
	v.tasks(in)
	v.quota(in)
	allowed := v.allowedCores(in)
	v.cores(in, allowed)
	v.others(in)
	v.softnet(in, allowed)
	v.carried(in, out)
	v.beside = v.foreign(in, out)
	v.packets = viewPackets(in, nic, e.Facts)
	return v
}

func wall(in []model.Sample) float64 { return (in[len(in)-1].At - in[0].At).Seconds() }

// tasks finds the task that wanted a CPU most. A task is followed by its id;
// one that was there for under half of the span is left out.
func (v *hostView) tasks(in []model.Sample) {
	type seen struct {
		first, last model.Task
		from, to    time.Duration
	}
	all := map[int]*seen{}
	for _, s := range in {
		for _, t := range s.Tasks {
			if all[t.TID] == nil {
				all[t.TID] = &seen{first: t, from: s.At}
			}
			all[t.TID].last, all[t.TID].to = t, s.At
		}
	}
	v.disk = mostOften(in, func(t model.Task) bool { return t.State == "D" })
	best, ran := -1.0, 0.0
	for _, tid := range sortedKeys(all) {
		t := all[tid]
		d := (t.to - t.from).Seconds()
		if d < wall(in)/2 || d <= 0 {
			continue
		}
		run, wait := (t.last.CPU-t.first.CPU).Seconds()/d, (t.last.Wait-t.first.Wait).Seconds()/d
		ran += max(0, run)
		if run >= 0 && wait >= 0 && run+wait > best {
			best, v.run, v.wait, v.task, v.core = run+wait, min(run, 1), min(wait, 1), t.last.Name, t.last.Core
		}
	}
	if best >= 0 {
		v.ran = ran
	}
}

// mostOften is the highest share of the samples in which one task is found so.
func mostOften(in []model.Sample, is func(model.Task) bool) (most float64) {
	found := map[int]int{}
	for _, s := range in {
		for _, t := range s.Tasks {
			if is(t) {
				found[t.TID]++
			}
		}
	}
	for _, n := range found {
		most = max(most, ratio(float64(n), float64(len(in))))
	}
	return most
}

func sortedKeys[K int | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (v *hostView) quota(in []model.Sample) {
	a, okA := in[0].Throttled.Get()
	b, okB := in[len(in)-1].Throttled.Get()
	if okA && okB {
		v.throttled = max(0, ratio((b-a).Seconds(), wall(in)))
	}
}

// cores finds the busiest of the cores that the end's tasks ran on or, when
// that is not known, may run on.
func (v *hostView) cores(in []model.Sample, allowed []int) {
	first := map[int]model.CPUTime{}
	for _, c := range in[0].CPUs {
		first[c.CPU] = c
	}
	for _, b := range in[len(in)-1].CPUs {
		a, ok := first[b.CPU]
		if !ok || (len(allowed) > 0 && !slices.Contains(allowed, b.CPU)) {
			continue
		}
		soft := (b.SoftIRQ - a.SoftIRQ + b.IRQ - a.IRQ).Seconds()
		kernel := (b.System - a.System).Seconds() + soft
		busy := kernel + (b.User - a.User).Seconds()
		idle := (b.Idle - a.Idle + b.IOWait - a.IOWait).Seconds()
		steal := (b.Steal - a.Steal).Seconds()
		use := ratio(busy+steal, busy+steal+idle)
		if known(use) && !(use >= v.least) {
			v.least = use
		}
		if use >= 0 && !(use <= v.busy) {
			v.core, v.busy, v.kernel, v.steal = b.CPU, use, ratio(kernel, busy), ratio(steal, busy+steal+idle)
			v.soft = ratio(soft, busy+steal+idle)
		}
	}
}

func (v *hostView) softnet(in []model.Sample, allowed []int) {
	count := func(s model.Sample) (sum float64) {
		for _, x := range s.Softnet {
			if len(allowed) == 0 || slices.Contains(allowed, x.CPU) {
				sum += float64(x.Dropped)
			}
		}
		return sum
	}
	a, b := in[0], in[len(in)-1]
	if len(a.Softnet) > 0 && len(a.Softnet) == len(b.Softnet) {
		v.softDrops = ratio(count(b)-count(a), wall(in))
	}
}

// allowedCores are the cores the busiest task was seen on; -1 is not known.
func (v *hostView) allowedCores(in []model.Sample) []int {
	var ran []int
	for _, s := range in {
		for _, t := range s.Tasks {
			if t.Name == v.task && t.Core >= 0 && !slices.Contains(ran, t.Core) {
				ran = append(ran, t.Core)
			}
		}
	}
	if v.end.Facts == nil || len(v.end.Facts.CPUs) == 0 {
		return ran
	}
	mine := slices.DeleteFunc(ran, func(c int) bool { return !slices.Contains(v.end.Facts.CPUs, c) })
	if len(mine) == 0 {
		return v.end.Facts.CPUs
	}
	return mine
}

// qdiscs counts over the whole recording: their counters are read less often.
func (v *hostView) qdiscs(all []model.Sample, nic *model.NIC) {
	first := map[string]model.QdiscCount{}
	v.qdrops, v.overlimits = unknown(), unknown()
	for _, s := range all {
		for _, q := range s.Qdiscs {
			if nic != nil && q.Dev != nic.Name {
				continue
			}
			a, ok := first[q.Dev]
			if !ok {
				first[q.Dev] = q
				continue
			}
			d, o := float64(q.Drops-a.Drops), float64(q.Overlimits-a.Overlimits)
			if d+o >= 0 && !(d+o < v.qdrops+v.overlimits) {
				v.qdrops, v.overlimits, v.qdisc, v.qdiscDev = d, o, q.Kind, q.Dev
			}
		}
	}
}

// backlogged is the share of the samples in which packets wait in the qdisc that qdiscs chose.
func (v *hostView) backlogged(in []model.Sample) float64 {
	read, waits := 0.0, 0.0
	for _, s := range in {
		for _, q := range s.Qdiscs {
			if q.Dev == v.qdiscDev {
				read++
				waits += float64(min(1, max(0, q.Backlog)))
			}
		}
	}
	if read < fewSamples {
		return unknown()
	}
	return waits / read
}

func (v *hostView) carried(in []model.Sample, out bool) {
	if v.nic == nil {
		return
	}
	count := func(s model.Sample) (bytes, packets float64, ok bool) {
		for _, n := range s.NICs {
			if n.Name != v.nic.Name {
				continue
			}
			if out {
				return float64(n.TxBytes), float64(n.TxPackets), true
			}
			return float64(n.RxBytes), float64(n.RxPackets), true
		}
		return 0, 0, false
	}
	ab, ap, okA := count(in[0])
	bb, bp, okB := count(in[len(in)-1])
	if okA && okB && bp >= ap && bb >= ab {
		v.packet, v.packetRate = ratio(bb-ab, bp-ap), ratio(bp-ap, wall(in))
	}
}

// Counters are the SNMP counters that verdicts read: of samples that are kept for a verdict alone no
// others are needed.
func Counters() []string {
	return []string{"TcpExt.TCPMemoryPressures", "TcpExt.PruneCalled", "TcpExt.RcvPruned", "TcpExt.OfoPruned", "TcpExt.TCPOFODrop",
		"TcpExt.TCPRcvQDrop", "TcpExt.TCPAbortOnMemory", "TcpExt.TCPMTUPSuccess", "TcpExt.TCPOFOQueue",
		"TcpExt.TCPBacklogDrop", "TcpExt.TCPZeroWindowDrop", "Tcp.ActiveOpens", "Tcp.PassiveOpens"}
}

// growth is by how much each of the Counters grew, from the first sample that has it to the last.
func growth(all []model.Sample) map[string]int64 {
	out := map[string]int64{}
	for _, name := range Counters() {
		first, known := int64(0), false
		for _, s := range all {
			if x, ok := s.SNMP[name]; ok {
				if !known {
					first, known = x, true
				}
				out[name] = x - first
			}
		}
	}
	return out
}
