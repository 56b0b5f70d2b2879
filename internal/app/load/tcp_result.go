package load

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/load/tcp"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// TCPResult is the result of a load of TCP.
type TCPResult struct {
	Load       TCPLoad       `json:"load"`
	Spec       TCPRan        `json:"spec"`
	Directions []tcp.Figures `json:"directions"`
	// PerSecond is payload of all directions.
	PerSecond []TCPSecond `json:"per_second"`
	Hosts     []Host      `json:"hosts"`
	kept

	machines [][2]string // of each direction's ends
}

// TCPLoad are the figures of all directions together.
type TCPLoad struct {
	Workload  string  `json:"workload"`
	BytesPerS float64 `json:"bytes_per_s"`
	Goodput   float64 `json:"goodput_bps"`
	// CPU of both ends' threads, and interrupt time of the machines, each machine
	// once; null: not known.
	CPUPerGB         *float64        `json:"cpu_s_per_gb"`
	SoftIRQPerGB     *float64        `json:"softirq_s_per_gb"`
	GeneratorLimited bool            `json:"generator_limited"`
	Evidence         []string        `json:"evidence"`
	Warnings         []model.Warning `json:"warnings"`
}

// TCPSecond is what came in one second.
type TCPSecond struct {
	Bytes int64 `json:"bytes"`
}

// TCPRan describes the load that ran, as its options and the hosts made it.
type TCPRan struct {
	Streams    int           `json:"streams"`
	Measured   time.Duration `json:"measured_ns"`
	Warmup     time.Duration `json:"warmup_ns"`
	Rate       unit.BitRate  `json:"rate_bps,omitempty"`
	Pacing     unit.BitRate  `json:"pacing_bps,omitempty"`
	Congestion string        `json:"congestion,omitempty"`
	Write      unit.Bytes    `json:"write_bytes,omitempty"`
	Discard    bool          `json:"discard,omitempty"`
	From       netip.Addr    `json:"from"` // of the first direction; Directions have all
	To         netip.Addr    `json:"to"`
	Both       bool          `json:"both,omitempty"`
	ZeroCopy   bool          `json:"zero_copy,omitempty"`
	SendFile   bool          `json:"send_file,omitempty"`
	// Placed are the CPUs of each direction's ends, where they are not all.
	Placed []TCPPlace `json:"placed,omitempty"`
	Tried  []WriteTry `json:"write_tries,omitempty"`
}

// TCPPlace is where the threads of a direction run.
type TCPPlace struct {
	From         string `json:"from"`
	To           string `json:"to"`
	SenderCPUs   []int  `json:"sender_cpus,omitempty"`
	ReceiverCPUs []int  `json:"receiver_cpus,omitempty"`
}

// WriteTry is a size of writes that was tried.
type WriteTry struct {
	Size    unit.Bytes `json:"write_bytes"`
	Goodput float64    `json:"goodput_bps"`
}

func summarise(runs []model.Run, directions []tcpEnds, o TCPOptions) TCPResult {
	w := runs[0].Workload
	r := TCPResult{Load: TCPLoad{Workload: "tcp", Warnings: []model.Warning{}}, PerSecond: []TCPSecond{}, Hosts: []Host{},
		Spec: TCPRan{Streams: o.Streams, Measured: w.Duration - w.Warmup, Warmup: w.Warmup, Rate: o.Rate, Pacing: o.MaxPacing, Congestion: o.CC, Write: w.WriteSize,
			Discard: o.Discard, From: w.From, To: w.To, Both: o.Both, ZeroCopy: o.ZeroCopy, SendFile: o.SendFile}}
	for i, run := range runs {
		d := tcp.Summarise(run)
		r.machines = append(r.machines, directions[i].machines())
		r.place(directions[i])
		r.Directions = append(r.Directions, d)
		r.Load.Goodput += d.Goodput
		r.zeroCopy(d)
		r.notSeen(run.Unsampled)
		limited, evidence := d.GeneratorLimited()
		r.Load.GeneratorLimited = r.Load.GeneratorLimited || limited
		r.Load.Evidence = append(r.Load.Evidence, evidence...)
		r.Load.Warnings = append(r.Load.Warnings, run.Warnings...)
	}
	if o.SendFile {
		r.say("what was sent is a file in the page cache (sendfile): a program that writes what it has made takes a copy more")
	}
	if len(runs) > 1 {
		r.say("several directions run at once: a machine's time is that of all of them, and stands beside the bytes of each")
	}
	r.Load.BytesPerS = r.Load.Goodput / 8
	r.perSecond()
	r.cpu()
	return r
}

func (r *TCPResult) say(format string, args ...any) {
	r.Load.Evidence = append(r.Load.Evidence, fmt.Sprintf(format, args...))
}

// place lists the hosts of a direction, each once, and where its threads run.
func (r *TCPResult) place(d tcpEnds) {
	for _, n := range d.names {
		if !slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Name == n }) {
			r.Hosts = append(r.Hosts, Host{Name: n})
		}
	}
	if len(d.cpus[0])+len(d.cpus[1]) == 0 {
		return
	}
	r.Spec.Placed = append(r.Spec.Placed, TCPPlace{d.names[0], d.names[1], d.cpus[0], d.cpus[1]})
	for i, does := range []string{"sends", "receives"} {
		if len(d.cpus[i]) > 0 {
			r.say("%s %s on CPUs %s", d.names[i], does, unit.CPUList(d.cpus[i]))
		}
	}
}

// notSeen says which figures are missing because a host was not sampled.
func (r *TCPResult) notSeen(hosts []string) {
	for _, h := range hosts {
		r.say("%s does not run Linux: what its system counts of each connection (losses, round trip, windows), of interrupts and of other programs is not known", h)
	}
}

// zeroCopy says how many of the sends without a copy the kernel copied all the same.
func (r *TCPResult) zeroCopy(d tcp.Figures) {
	switch z := d.ZeroCopy; {
	case z == nil:
	case z.Sends == 0:
		r.say("%s: the kernel did not tell what became of the sends without a copy", d.From)
	case z.Copied > 0:
		r.say("%s: the kernel copied %.0f%% of the sends that asked for none, as it does on loopback, on veth and where the card cannot gather: --zerocopy only costs here", d.From, 100*float64(z.Copied)/float64(z.Sends))
	default:
		r.say("%s: %d sends went out without a copy", d.From, z.Sends)
	}
}

// searched says what the search found, and that a single try of each size is weak evidence.
func (r *TCPResult) searched(tries []WriteTry) {
	if len(tries) == 0 {
		return
	}
	r.Spec.Tried = tries
	var parts []string
	for _, t := range tries {
		parts = append(parts, fmt.Sprintf("%v: %v", t.Size, unit.BitRate(t.Goodput)))
	}
	r.say("writes of %v moved most (%s; one try of %v each, so that small differences are chance)", r.Spec.Write, strings.Join(parts, ", "), tryTime)
}

// perSecond adds the directions up, to the last second that is known of all of them.
func (r *TCPResult) perSecond() {
	n := len(r.Directions[0].PerSecond)
	for _, d := range r.Directions {
		n = min(n, len(d.PerSecond))
	}
	for i := range n {
		var s TCPSecond
		for _, d := range r.Directions {
			s.Bytes += d.PerSecond[i]
		}
		r.PerSecond = append(r.PerSecond, s)
	}
}

// cpu adds up what each end's threads took, and the interrupts of each machine
// once: every direction that it has a part in sees the same ones.
func (r *TCPResult) cpu() {
	threads, softirq, knownThreads, knownIRQ := 0.0, 0.0, r.Load.Goodput > 0, r.Load.Goodput > 0
	counted := map[string]bool{}
	for i, d := range r.Directions {
		if d.Goodput <= 0 {
			continue // without payload there is no CPU time per byte
		}
		part := d.Goodput / r.Load.Goodput
		for k, e := range []End{d.Sender, d.Receiver} {
			if knownThreads = knownThreads && e.Threads != nil; knownThreads {
				threads += part * *e.Threads
			}
			knownIRQ = knownIRQ && e.SoftIRQ != nil
			if machine := r.machines[i][k]; knownIRQ && !counted[machine] {
				softirq += part * *e.SoftIRQ
				counted[machine] = true
			}
		}
	}
	if knownThreads {
		r.Load.CPUPerGB = &threads
	}
	if knownIRQ {
		r.Load.SoftIRQPerGB = &softirq
	}
}
