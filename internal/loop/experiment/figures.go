package experiment

import (
	"math"
	"net/netip"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/tcp"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/study/file"
)

// Units of outcomes.
const (
	bitsPerSecond = "bit/s"
	perSecond     = "1/s"
)

// fill adds the outcome of a run and the CPU use of both ends to its record.
func (m *work) fill(run *model.StudyRun, w model.StudyWorkload) {
	total := 0.0
	run.Unit = bitsPerSecond
	if len(m.pairs)+len(m.alone) > 1 {
		run.PerClient = map[string]float64{}
	}
	for i, r := range m.runs {
		total += float64(r.Goodput)
		if run.PerClient != nil {
			run.PerClient[m.client(i)] = float64(r.Goodput)
		}
		run.PerSecond = added(run.PerSecond, tcp.Summarise(r).PerSecond, i == 0)
		run.Warnings = append(run.Warnings, r.Warnings...)
	}
	for _, a := range m.alone {
		total += a.value(run)
	}
	run.Value = &total
	if m.kind == file.TCP {
		run.Retransmitted = m.retransmitted(w.Warmup)
	}
	run.CPU, run.Softirq, run.PerCore = map[string]float64{}, map[string]float64{}, map[string][]float64{}
	for _, h := range m.hosts() {
		cores, busy, irq, ok := coresOf(m.samplesOf(h), w.Warmup)
		if !ok {
			continue
		}
		run.CPU[h.Name], run.Softirq[h.Name], run.PerCore[h.Name] = busy, irq, cores
	}
	if m.oneKernel() {
		run.Scope = "machine"
	}
}

// client is the host of pair i on the side that has several.
func (m *work) client(i int) string {
	if m.pairs[0].from == m.pairs[1].from {
		return m.pairs[i].to.Name
	}
	return m.pairs[i].from.Name
}

// added adds the rates of each second to the sum over pairs of hosts; if a pair has fewer seconds, only
// the seconds that all have are kept.
func added(sum []float64, bytes []int64, first bool) []float64 {
	if first {
		for _, b := range bytes {
			sum = append(sum, float64(b)*8)
		}
		return sum
	}
	sum = sum[:min(len(sum), len(bytes))]
	for i := range sum {
		sum[i] += float64(bytes[i]) * 8
	}
	return sum
}

// retransmitted is the share of data segments that senders retransmitted after the warm-up;
// nil: not known.
func (m *work) retransmitted(warmup time.Duration) *float64 {
	again, all := 0, int64(0)
	for i, p := range m.pairs {
		first, last := map[connKey]model.Conn{}, map[connKey]model.Conn{}
		for _, s := range m.runs[i].Samples[p.from.At] {
			for _, c := range s.Conns {
				k := connKey{c.Local, c.Remote}
				if _, ok := first[k]; !ok || s.At <= warmup {
					first[k] = c
				}
				last[k] = c
			}
		}
		for k, l := range last {
			again += max(0, l.TotalRetrans-first[k].TotalRetrans)
			all += max(0, l.DataSegsOut-first[k].DataSegsOut)
		}
	}
	if all == 0 {
		return nil
	}
	share := float64(again) / float64(all)
	return &share
}

type connKey struct{ local, remote netip.AddrPort }

// coresOf returns the busy share after the warm-up of each core and of all together, and the
// share of interrupts. Time that a hypervisor gave to other guests does not count as busy.
func coresOf(samples []model.Sample, warmup time.Duration) (cores []float64, busy, irq float64, ok bool) {
	var first, last *model.Sample
	for i, s := range samples {
		if len(s.CPUs) == 0 {
			continue
		}
		if first == nil || s.At <= warmup {
			first = &samples[i]
		}
		last = &samples[i]
	}
	if first == last {
		return nil, 0, 0, false
	}
	before := map[int]model.CPUTime{}
	for _, c := range first.CPUs {
		before[c.CPU] = c
	}
	var work, soft, all time.Duration
	for _, c := range last.CPUs {
		b, ok := before[c.CPU]
		if !ok {
			continue // the core came online during the run
		}
		used := usedOf(c) - usedOf(b)
		total := used + c.Idle - b.Idle + c.IOWait - b.IOWait + c.Steal - b.Steal
		share := 0.0
		if total > 0 {
			share = math.Round(1e4*min(1, float64(used)/float64(total))) / 1e4 // a sample has no higher precision
		}
		cores = append(cores, share)
		work, all = work+used, all+total
		soft += c.SoftIRQ + c.IRQ - b.SoftIRQ - b.IRQ
	}
	if all <= 0 {
		return nil, 0, 0, false
	}
	return cores, min(1, float64(work)/float64(all)), min(1, float64(soft)/float64(all)), true
}

func usedOf(c model.CPUTime) time.Duration { return c.User + c.System + c.SoftIRQ + c.IRQ }

// oneKernel reports whether several hosts share one kernel, so that each shows the cores of
// the whole machine.
func (m *work) oneKernel() bool {
	seen := map[string]bool{}
	for _, h := range m.hosts() {
		if h.last == nil || h.last.BootID == "" {
			continue
		}
		if seen[h.last.BootID] {
			return true
		}
		seen[h.last.BootID] = true
	}
	return false
}

// aloneRun is the load of one host without a peer.
type aloneRun struct {
	host    *Host
	res     load.Result
	samples []model.Sample
	worker  measure.Worker
	stop    func() ([]model.Sample, error)
}
