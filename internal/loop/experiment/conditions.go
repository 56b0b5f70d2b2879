package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"time"

	"linerate/internal/model"
	"linerate/internal/study/file"
	"linerate/internal/unit"
)

const (
	// foreignShare is the share of an interface's traffic, or of its link, that may be foreign
	// during a run: half of the smallest effect worth having (2%).
	foreignShare = 0.01
	// foreignFloor is what a login and linerate's own samples may need.
	foreignFloor = 5 * unit.Mbit
	// sampleSkew is how far apart in time the parts of one sample may be read, at least.
	sampleSkew = 10 * time.Millisecond
	// risingErrors is the number of errors on an interface during a run that points to a cable
	// or a port. Drops do not count: the treatment may cause them.
	risingErrors = 10
	// stolenShare is the share of a host's CPU time that its hypervisor may give to other
	// machines during a run; foreignCPU is the share that foreign programs may take.
	stolenShare = 0.05
	foreignCPU  = 0.20
	// clockDrift is the drift beyond which a clock is not trusted: no sound clock drifts, and
	// NTP slews no clock, faster (500 ppm, RFC 5905 section 11.3: the frequency tolerance).
	// clockJump is the smallest step.
	clockDrift = 500.0 // ppm
	clockJump  = 20 * time.Millisecond
	// Bytes of a frame beside TCP payload: Ethernet's header as NIC counters have
	// it, IPv4 or IPv6, TCP with timestamps.
	headerV4 = 14 + 20 + 20 + 12
	headerV6 = 14 + 40 + 20 + 12

	loopbackName = "lo"
)

// ready checks before a run that every host is up, has not been restarted, and has its ports
// at their earlier speed.
func (x *Experiment) ready(ctx context.Context) error {
	errs := make([]error, len(x.Hosts))
	var wg sync.WaitGroup
	for i, h := range x.Hosts {
		wg.Go(func() {
			f, err := h.agent.Facts(ctx)
			if err != nil {
				errs[i] = fmt.Errorf("look at %s: %w", h.Name, err)
				return
			}
			h.last = f
			if h.warm, err = h.agent.Thermal(ctx); err != nil {
				errs[i] = fmt.Errorf("read the temperature of %s: %w", h.Name, err)
				return
			}
			errs[i] = sound(h.Name, h.base, f)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sound compares what must not change between runs.
func sound(name string, first, now *model.Facts) error {
	if first.BootID != now.BootID {
		return fmt.Errorf("%s was restarted", name)
	}
	is := map[string]model.NIC{}
	for _, n := range now.NICs {
		is[n.Device] = n
	}
	var wrong []string
	for _, was := range first.NICs {
		n, ok := is[was.Device]
		if !was.Up || len(was.Addrs) == 0 {
			continue // not a port of the study
		}
		a, known := was.Speed.Get()
		b, stillKnown := n.Speed.Get()
		switch {
		case !ok:
			wrong = append(wrong, was.Name+" is gone")
		case !n.Up:
			wrong = append(wrong, n.Name+" is down")
		case known && stillKnown && b < a:
			wrong = append(wrong, fmt.Sprintf("%s runs at %v and ran at %v", n.Name, b, a))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("on %s %s", name, strings.Join(wrong, ", "))
	}
	return nil
}

// doubt returns why a finished run does not count; empty: it counts.
func (x *Experiment) doubt(m *work) string {
	var why []string
	for _, h := range m.hosts() {
		if m.kind == file.TCP {
			why = append(why, m.traffic(h)...)
		}
		why = append(why, m.cpu(h)...)
	}
	for _, r := range m.runs {
		for host, c := range r.Clocks {
			why = append(why, x.clock(host, c)...)
		}
		for _, w := range r.Warnings {
			if w.ID == "ended-early" || w.ID == "clock-set" {
				why = append(why, w.What)
			}
		}
	}
	return strings.Join(why, "; ")
}

// clockSeen is the state of a host's clock after a run.
type clockSeen struct {
	model.Clock
	at time.Time
}

// clock returns reasons not to trust a host's clock, on which rates depend.
func (x *Experiment) clock(host string, c model.Clock) (why []string) {
	if c.Drift != nil && c.DriftError != nil && math.Abs(*c.Drift)-*c.DriftError > clockDrift {
		why = append(why, fmt.Sprintf("the clock of %s drifted by %.0f ppm during the run", host, *c.Drift))
	}
	was, ok := x.clocks[host]
	x.clocks[host] = clockSeen{c, x.Now()}
	may := clockJump + c.Error + was.Error + time.Duration(clockDrift*float64(x.Now().Sub(was.at))/1e6)
	if d := (c.Offset - was.Offset).Abs(); ok && d > may {
		why = append(why, fmt.Sprintf("the clock of %s jumped by %v since the run before", host, d.Round(time.Millisecond)))
	}
	return why
}

// traffic returns reasons not to trust an interface: rising errors or foreign traffic.
func (m *work) traffic(h *Host) (why []string) {
	nic := m.links[h]
	samples := m.samplesOf(h)
	if nic == nil || nic.Name == loopbackName || len(samples) < 2 {
		return nil // loopback counts each byte twice, and no other host uses it
	}
	first, ok1 := countOf(samples[0], nic.Name)
	last, ok2 := countOf(samples[len(samples)-1], nic.Name)
	span := samples[len(samples)-1].HostAt.Sub(samples[0].HostAt).Seconds()
	if !ok1 || !ok2 || span <= 0 {
		return nil
	}
	if n := last.RxErrors + last.TxErrors - first.RxErrors - first.TxErrors; n >= risingErrors {
		why = append(why, fmt.Sprintf("errors rise on %s of %s: %d during the run", nic.Name, h.Name, n))
	}
	in, out := m.own(h)
	per := func(b int64) unit.BitRate { return unit.BitRate(float64(max(0, b)) * 8 / span) }
	carried := max(per(last.RxBytes-first.RxBytes), per(last.TxBytes-first.TxBytes))
	// Each pair is sampled separately, slightly before or after the interface.
	apart := unit.BitRate((2*float64(len(m.pairs)-1)*sampleEvery.Seconds() + max(sampleSkew, samples[len(samples)-1].Spread).Seconds()) / span)
	limit := max(foreignFloor, foreignShare*max(carried, nic.Speed.Or(0))) + apart*carried
	// Virtual interfaces count super-packets with one header, so that the headers of
	// linerate's packets are overestimated by at most a twentieth; anything beyond is foreign
	// nevertheless.
	foreign := max(per(last.RxBytes-first.RxBytes-in), per(last.TxBytes-first.TxBytes-out))
	if foreign > limit {
		why = append(why, fmt.Sprintf("%v of other traffic on %s of %s", foreign, nic.Name, h.Name))
	}
	return why
}

func countOf(s model.Sample, nic string) (model.NICCount, bool) {
	for _, n := range s.NICs {
		if n.Name == nic {
			return n, true
		}
	}
	return model.NICCount{}, false
}

// own is what linerate's connections moved over a host's interface between the first and the
// last sample, with the headers on the wire.
func (m *work) own(h *Host) (in, out int64) {
	for i, p := range m.pairs {
		if p.from != h && p.to != h {
			continue
		}
		first, last := map[connKey]model.Conn{}, map[connKey]model.Conn{}
		for _, s := range m.runs[i].Samples[h.At] {
			for _, c := range s.Conns {
				k := connKey{c.Local, c.Remote}
				if _, ok := first[k]; !ok {
					first[k] = c
				}
				last[k] = c
			}
		}
		for k, l := range last {
			f, header := first[k], headerOf(k.local.Addr())
			in += l.BytesReceived - f.BytesReceived + (l.SegsIn-f.SegsIn)*header
			out += max(l.BytesSent-f.BytesSent, l.BytesAcked-f.BytesAcked) + (l.SegsOut-f.SegsOut)*header
		}
	}
	return in, out
}

func headerOf(a netip.Addr) int64 {
	if a.Unmap().Is4() {
		return headerV4
	}
	return headerV6
}

// cpu returns reasons not to trust a run because other work took CPU time of a host. Hosts
// that share a kernel show the time of the whole machine, which says nothing about one host.
// Kernel threads that work for a reader of a mount or a disk cannot be distinguished from
// those that work for others: there only programs count, by the time that they spend in user
// mode.
func (m *work) cpu(h *Host) (why []string) {
	samples := m.samplesOf(h)
	if m.oneKernel() || len(samples) < 2 {
		return nil
	}
	first, last := samples[0], samples[len(samples)-1]
	var all, used, user, irq, stolen time.Duration
	before := map[int]model.CPUTime{}
	for _, c := range first.CPUs {
		before[c.CPU] = c
	}
	for _, c := range last.CPUs {
		b := before[c.CPU]
		used += usedOf(c) - usedOf(b)
		user += c.User - b.User
		irq += c.SoftIRQ + c.IRQ - b.SoftIRQ - b.IRQ
		stolen += c.Steal - b.Steal
		all += usedOf(c) - usedOf(b) + c.Idle - b.Idle + c.IOWait - b.IOWait + c.Steal - b.Steal
	}
	if all <= 0 {
		return nil
	}
	if s := float64(stolen) / float64(all); s > stolenShare {
		why = append(why, fmt.Sprintf("%.0f%% of the time of %s went to other machines on its hypervisor", 100*s, h.Name))
	}
	ours, known := tasksOf(samples)
	foreign := used - irq - ours
	if m.kind != file.TCP {
		foreign = user - ours
	}
	if f := float64(foreign) / float64(all); known && f > foreignCPU {
		why = append(why, fmt.Sprintf("other programs took %.0f%% of the cores of %s", 100*f, h.Name))
	}
	return why
}

// tasksOf is the CPU time of the load's threads between the first and the last sample.
func tasksOf(samples []model.Sample) (sum time.Duration, known bool) {
	first, last := map[int]time.Duration{}, map[int]time.Duration{}
	for _, s := range samples {
		for _, t := range s.Tasks {
			if _, ok := first[t.TID]; !ok {
				first[t.TID] = t.CPU
			}
			last[t.TID] = t.CPU
		}
	}
	for tid, cpu := range last {
		sum += cpu - first[tid]
	}
	return sum, len(last) > 0
}
