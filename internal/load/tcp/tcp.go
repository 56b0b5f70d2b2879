// Package tcp turns a measured TCP run into figures: goodput, what it was in each
// second, what each end's threads and the machine's interrupts took for it, and
// what each stream spent its time on.
//
// It is pure: runs are made by measure, and samples taken by hosts. It refuses
// to say what limits a path; that is explain's.
package tcp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
)

// Figures of one direction of a load.
type Figures struct {
	From    string        `json:"from"` // hosts
	To      string        `json:"to"`
	Source  netip.Addr    `json:"from_addr"` // data addresses
	Target  netip.Addr    `json:"to_addr"`
	Goodput float64       `json:"goodput_bps"` // payload, received after the warm-up
	Bytes   int64         `json:"bytes"`
	Window  time.Duration `json:"window_ns"` // what Goodput is the mean of
	// PerSecond is payload that arrived in each whole second after the warm-up,
	// in bytes, by the receiver's tcp_info, or, where its system shows none, what its
	// program read; empty where neither is known.
	PerSecond []int64  `json:"per_second_bytes"`
	Sender    End      `json:"sender"`
	Receiver  End      `json:"receiver"`
	Streams   []Stream `json:"streams"`
	// ZeroCopy is what became of the sends without a copy; nil: none were asked for.
	ZeroCopy *ZeroCopy `json:"zero_copy,omitempty"`
}

// ZeroCopy counts sends by MSG_ZEROCOPY that the kernel has told the end of, and
// those of them that it copied all the same.
type ZeroCopy struct {
	Sends  int64 `json:"sends"`
	Copied int64 `json:"copied"`
}

// End is what one host took, after the warm-up.
type End struct {
	Name string `json:"name"`
	// Threads is the CPU of the generator's threads in seconds per 10^9 bytes of
	// payload; nil: not known, and so below.
	Threads *float64 `json:"cpu_s_per_gb"`
	// SoftIRQ is interrupt time of the whole machine, whoever caused it, and Busy
	// all of its time that was not idle, in the same unit. A kernel that does not
	// account interrupts apart counts part of SoftIRQ in Threads, too.
	SoftIRQ *float64 `json:"softirq_s_per_gb"`
	Busy    *float64 `json:"machine_busy_s_per_gb"`
	// Process is the share of a core that all threads of the generator's process took
	// together; nil: not known, and not asked where each thread is seen.
	Process *float64 `json:"process,omitempty"`
	// Busiest is the share of a core that the busiest thread took.
	Busiest *float64 `json:"busiest_thread"`
	// Waited is the largest share of its time for which a thread was ready to run and had
	// no core, and Wanted the largest share that a thread ran or waited so.
	Waited *float64 `json:"waiting_thread"`
	Wanted *float64 `json:"wanting_thread"`
}

// Stream is one connection, by its sender's tcp_info, after the warm-up. The
// shares are of the time (tcpi_busy_time, tcpi_rwnd_limited and
// tcpi_sndbuf_limited, include/uapi/linux/tcp.h).
type Stream struct {
	Local         netip.AddrPort `json:"local"`
	Remote        netip.AddrPort `json:"remote"`
	CC            string         `json:"cc"`
	Rate          float64        `json:"acked_bps"`
	Retrans       int            `json:"retransmitted_segments"`
	RTT           time.Duration  `json:"rtt_ns"` // the last
	MinRTT        time.Duration  `json:"min_rtt_ns"`
	Busy          float64        `json:"busy_share"`
	RwndLimited   float64        `json:"rwnd_limited_share"`
	SndbufLimited float64        `json:"sndbuf_limited_share"`
}

// Summarise is pure.
func Summarise(r model.Run) Figures {
	f := Figures{From: r.Workload.Sender, To: r.Workload.Receiver, Source: r.Workload.From, Target: r.Workload.To, Goodput: float64(r.Goodput), Bytes: int64(r.Bytes), Window: r.Window,
		PerSecond: []int64{}, Streams: []Stream{}}
	sent, got := after(r.Samples[f.From], r.Workload.Warmup), after(r.Samples[f.To], r.Workload.Warmup)
	f.Sender, f.Receiver = end(f.From, sent, f.Goodput/8), end(f.To, got, f.Goodput/8)
	if slices.Contains(r.Unsampled, f.From) {
		f.Sender.counted(r.Counted.SenderCPU, r.Counted.SenderWindow, f.Goodput/8)
	}
	f.PerSecond = append(f.PerSecond, seconds(got, r.Workload.Warmup, r.Workload.Duration)...)
	if slices.Contains(r.Unsampled, f.To) {
		f.Receiver.counted(r.Counted.ReceiverCPU, r.Counted.ReceiverWindow, f.Goodput/8)
		f.PerSecond = append(f.PerSecond, r.Counted.PerSecond...)
	}
	f.Streams = append(f.Streams, streams(sent)...)
	if r.Workload.ZeroCopy {
		f.ZeroCopy = &ZeroCopy{r.ZeroSends, r.ZeroCopied}
	}
	return f
}

// after leaves out the warm-up.
func after(samples []model.Sample, warmup time.Duration) []model.Sample {
	i := slices.IndexFunc(samples, func(s model.Sample) bool { return s.At >= warmup })
	if i < 0 {
		return nil
	}
	return samples[i:]
}

// end is what a host took per 10^9 bytes at a rate in bytes per second.
func end(name string, samples []model.Sample, rate float64) End {
	e := End{Name: name}
	if len(samples) < 2 || rate <= 0 {
		return e
	}
	first, last := samples[0], samples[len(samples)-1]
	gb := (last.At - first.At).Seconds() * rate / 1e9
	if gb <= 0 {
		return e
	}
	per := func(d time.Duration) *float64 { v := d.Seconds() / gb; return &v }
	if sum, ok := e.threads(samples); ok {
		e.Threads = per(sum)
	}
	if len(first.CPUs) > 0 && len(last.CPUs) > 0 {
		irq1, busy1 := machine(first)
		irq2, busy2 := machine(last)
		e.SoftIRQ, e.Busy = per(irq2-irq1), per(busy2-busy1)
	}
	return e
}

// counted enters what a process used by its own account, at a rate in bytes per second.
func (e *End) counted(cpu *time.Duration, window time.Duration, rate float64) {
	if cpu == nil || window <= 0 {
		return
	}
	share := cpu.Seconds() / window.Seconds()
	e.Process = &share
	if rate > 0 {
		perGB := share / rate * 1e9
		e.Threads = &perGB
	}
}

// threads adds up what the generator's threads took between the first and the last sample
// that shows each, and enters the largest shares.
func (e *End) threads(samples []model.Sample) (sum time.Duration, ok bool) {
	type reading struct{ at, cpu, wait time.Duration }
	first, last := map[int]reading{}, map[int]reading{}
	for _, s := range samples {
		for _, t := range s.Tasks {
			if _, ok := first[t.TID]; !ok {
				first[t.TID] = reading{s.At, t.CPU, t.Wait}
			}
			last[t.TID] = reading{s.At, t.CPU, t.Wait}
		}
	}
	for tid, l := range last {
		f := first[tid]
		took, waited := l.cpu-f.cpu, l.wait-f.wait
		sum += took
		if d := float64(l.at - f.at); d > 0 {
			raise(&e.Busiest, float64(took)/d)
			raise(&e.Waited, float64(waited)/d)
			raise(&e.Wanted, float64(took+waited)/d)
		}
	}
	return sum, len(last) > 0
}

func raise(most **float64, v float64) {
	if *most == nil || v > **most {
		*most = &v
	}
}

// machine is the interrupt time and the time that was not idle of all cores.
func machine(s model.Sample) (irq, busy time.Duration) {
	for _, c := range s.CPUs {
		irq += c.SoftIRQ + c.IRQ
		busy += c.User + c.System + c.SoftIRQ + c.IRQ
	}
	return irq, busy
}

// received is the payload that has arrived on all connections. The other
// direction's few bytes, the proof of the token, are in it.
func received(s model.Sample) (n int64) {
	for _, c := range s.Conns {
		n += c.BytesReceived
	}
	return n
}

// seconds interpolates what has arrived at whole seconds.
func seconds(samples []model.Sample, warmup, duration time.Duration) []int64 {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s model.Sample) bool { return len(s.Conns) == 0 })
	var out []int64
	before, ok := arrivedAt(samples, warmup)
	if !ok {
		return nil
	}
	for t := warmup + time.Second; t <= duration; t += time.Second {
		now, ok := arrivedAt(samples, t)
		if !ok {
			break
		}
		out = append(out, int64(now-before))
		before = now
	}
	return out
}

// nearby is how far from a sample a moment may lie outside of them all: samples
// are taken ten times a second.
const nearby = 200 * time.Millisecond

// arrivedAt is what had arrived at a time; false beyond the samples.
func arrivedAt(samples []model.Sample, t time.Duration) (float64, bool) {
	i, _ := slices.BinarySearchFunc(samples, t, func(s model.Sample, t time.Duration) int { return cmp.Compare(s.At, t) })
	switch {
	case len(samples) < 2:
		return 0, false
	case i == len(samples):
		i-- // a little behind the last one
	case i == 0:
		i++ // a little before the first one
	}
	a, b := samples[i-1], samples[i]
	if t < a.At-nearby || t > b.At+nearby || b.At <= a.At {
		return 0, false
	}
	from, to := float64(received(a)), float64(received(b))
	return from + (to-from)*float64(t-a.At)/float64(b.At-a.At), true
}

// streams are the connections that a sender wrote to, by their port.
func streams(samples []model.Sample) []Stream {
	type ends struct{ local, remote netip.AddrPort }
	type seen struct {
		conn model.Conn
		at   time.Duration
	}
	first, last := map[ends]seen{}, map[ends]seen{}
	for _, s := range samples {
		for _, c := range s.Conns {
			k := ends{c.Local, c.Remote}
			if _, ok := first[k]; !ok {
				first[k] = seen{c, s.At}
			}
			last[k] = seen{c, s.At}
		}
	}
	var out []Stream
	for k, l := range last {
		f := first[k]
		d := (l.at - f.at).Seconds()
		acked := l.conn.BytesAcked - f.conn.BytesAcked
		if d <= 0 || acked <= l.conn.BytesReceived-f.conn.BytesReceived {
			continue // the receiving side of a connection inside one host
		}
		share := func(a, b time.Duration) float64 { return min(1, max(0, (b-a).Seconds()/d)) }
		out = append(out, Stream{
			Local: k.local, Remote: k.remote, CC: l.conn.CC, Rate: float64(acked) * 8 / d,
			Retrans: l.conn.TotalRetrans - f.conn.TotalRetrans, RTT: l.conn.RTT, MinRTT: l.conn.MinRTT,
			Busy: share(f.conn.Busy, l.conn.Busy), RwndLimited: share(f.conn.RwndLimited, l.conn.RwndLimited),
			SndbufLimited: share(f.conn.SndbufLimited, l.conn.SndbufLimited),
		})
	}
	slices.SortFunc(out, func(a, b Stream) int { return a.Local.Compare(b.Local) })
	return out
}

const (
	// busyThread is the share of a core from which on a thread of the generator may be
	// what limits a run, also if it only wanted that much.
	busyThread = 0.95
	// keptWaiting: a thread that waited for a core for this share of its time ran beside
	// others that took it.
	keptWaiting = 0.2
)

// GeneratorLimited tells whether a thread of this program had no time left, or waited much
// for a core that others had, with what was seen.
func (f Figures) GeneratorLimited() (bool, []string) {
	var evidence []string
	limited := false
	for _, e := range []struct {
		End
		does string
	}{{f.Sender, "sends"}, {f.Receiver, "receives"}} {
		said, is := e.limited(e.does)
		evidence, limited = append(evidence, said...), limited || is
	}
	return limited, evidence
}

// limited judges one end, which sends or receives.
func (e End) limited(does string) (evidence []string, limited bool) {
	say := func(format string, args ...any) { evidence = append(evidence, fmt.Sprintf(format, args...)) }
	switch {
	case e.Busiest != nil:
		say("the busiest thread that %s took %.0f%% of a core of %s", does, 100**e.Busiest, e.Name)
		if *e.Waited >= keptWaiting {
			say("a thread that %s waited for a core of %s for %.0f%% of the time: that machine has more to do than cores", does, e.Name, 100**e.Waited)
		}
		return evidence, *e.Wanted >= busyThread || *e.Waited >= keptWaiting
	case e.Process != nil:
		// Which thread took how much of it is not seen: one may have taken a whole core.
		say("all threads that %s took %.0f%% of a core of %s together; the busiest one, and whether any waited for a core, cannot be seen there", strings.TrimSuffix(does, "s"), 100**e.Process, e.Name)
		return evidence, *e.Process >= busyThread
	}
	say("what the threads of the end that %s took on %s is not known", does, e.Name)
	return evidence, false
}
