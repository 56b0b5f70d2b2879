package size

import (
	"errors"
	"fmt"
	"time"

	"linerate/internal/unit"
)

// ISCSIInput describes a block workload over one iSCSI session. The lengths are
// the negotiated values, of which each side offers one (RFC 7143 §13).
type ISCSIInput struct {
	QueueDepth int           `json:"queue_depth,omitempty"` // commands in flight
	Block      unit.Bytes    `json:"block_bytes"`           // per command
	Latency    time.Duration `json:"latency_ns"`            // of a command, round trip included
	Write      bool          `json:"write"`                 // false: reads
	RTT        time.Duration `json:"rtt_ns,omitempty"`      // 0: not given, no R2T time is added
	MaxRecv    unit.Bytes    `json:"max_recv_bytes"`        // MaxRecvDataSegmentLength of the side that receives
	FirstBurst unit.Bytes    `json:"first_burst_bytes"`
	MaxBurst   unit.Bytes    `json:"max_burst_bytes"`
	InitialR2T bool          `json:"initial_r2t"` // true: no unsolicited data beyond the command itself
	Immediate  bool          `json:"immediate_data"`
	Digests    int           `json:"digests"`            // of each PDU: 0, header 1, header and data 2
	Rate       unit.BitRate  `json:"rate_bps,omitempty"` // payload the link carries; in reverse the goal
}

func (in ISCSIInput) check() error {
	const most = 1<<24 - 1 // the length fields have 24 bits
	return first("iscsi", checkCount("queue depth", in.QueueDepth, 1, 65535),
		checkBytes("block", in.Block, 512, 64*unit.MiB),
		checkTime("latency", in.Latency),
		optional(in.RTT != 0, checkTime("RTT", in.RTT)),
		optional(in.RTT > in.Latency, fmt.Errorf("RTT of %s is more than the latency of %s, which includes it", in.RTT, in.Latency)),
		checkBytes("MaxRecvDataSegmentLength", in.MaxRecv, 512, most),
		checkBytes("FirstBurstLength", in.FirstBurst, 512, most),
		checkBytes("MaxBurstLength", in.MaxBurst, in.FirstBurst, most),
		checkCount("digests", in.Digests, 0, 2),
		optional(in.Rate != 0, checkRate("rate", in.Rate)))
}

// unsolicited is what a write sends before the target asks (RFC 7143 §4.2.5.2): up to
// FirstBurstLength with InitialR2T=No, up to one PDU of immediate data otherwise.
func (in ISCSIInput) unsolicited() unit.Bytes {
	switch {
	case !in.InitialR2T:
		return min(in.Block, in.FirstBurst)
	case in.Immediate:
		return min(in.Block, in.FirstBurst, in.MaxRecv)
	}
	return 0
}

// solicitations is the number of R2Ts of a write, each for at most
// MaxBurstLength, one at a time (MaxOutstandingR2T=1, the default).
func (in ISCSIInput) solicitations() int {
	if !in.Write {
		return 0
	}
	return parts(in.Block-in.unsolicited(), in.MaxBurst)
}

// command is the time of one command, with the round trips of its R2Ts.
func (in ISCSIInput) command() (float64, string) {
	n := in.solicitations()
	if n == 0 || in.RTT == 0 {
		return in.Latency.Seconds(), seconds(in.Latency.Seconds())
	}
	t := in.Latency.Seconds() + float64(n)*in.RTT.Seconds()
	return t, fmt.Sprintf("(%s + %d R2T × %s)", seconds(in.Latency.Seconds()), n, seconds(in.RTT.Seconds()))
}

// ISCSI computes IOPS and throughput by Little's law, queue depth / latency, and the share of the
// TCP payload that is data: block / (block + PDUs × (48 + 4 × digests)).
func ISCSI(in ISCSIInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	a := newAnswer("iscsi", in)
	t, text := in.command()
	iops := float64(in.QueueDepth) / t
	a.add("IOPS", iops, PerSecond, "%d / %s", in.QueueDepth, text)
	rate := iops * float64(in.Block) * 8
	a.add("throughput", rate, BitsPerSecond, "%d × %d B × 8 / %s", in.QueueDepth, in.Block, text)
	a.add("throughput in bytes", rate/8, BytesPerSecond, "%s / 8", unit.BitRate(rate))
	if in.Rate > 0 {
		a.add("ceiling", min(rate, float64(in.Rate)), BitsPerSecond, "the smaller of %s and the link's %s", unit.BitRate(rate), in.Rate)
		depth := atLeast(float64(in.Rate) * t / 8 / float64(in.Block))
		a.add("depth that fills the link", depth, Count, "⌈%s × %s / (8 × %d B)⌉", in.Rate, text, in.Block)
	}
	in.addPDUs(a)
	in.notes(a)
	return *a, nil
}

// pdus counts those that carry data: a new one begins with each sequence, which
// holds up to FirstBurstLength (unsolicited) or MaxBurstLength.
func (in ISCSIInput) pdus() int {
	left, n := in.Block, 0
	if in.Write {
		u := in.unsolicited()
		left, n = left-u, parts(u, in.MaxRecv)
	}
	return n + int(left/in.MaxBurst)*parts(in.MaxBurst, in.MaxRecv) + parts(left%in.MaxBurst, in.MaxRecv)
}

// parts is how many pieces of up to most bytes b has.
func parts(b, most unit.Bytes) int { return int((b + most - 1) / most) }

func (in ISCSIInput) addPDUs(a *Answer) {
	pdus := in.pdus()
	around := basicHeader + digest*in.Digests
	share := float64(in.Block) / (float64(in.Block) + float64(pdus*around))
	a.add("share of data in the TCP payload", share, Share, "%d / (%d + %d × %d B)", in.Block, in.Block, pdus, around)
	if in.Write {
		a.add("R2Ts per command", float64(in.solicitations()), Count, "⌈(%d − %d B unsolicited) / %d B⌉", in.Block, in.unsolicited(), in.MaxBurst)
	}
}

func (in ISCSIInput) notes(a *Answer) {
	if in.Write && in.solicitations() > 0 {
		a.note("A write beyond its unsolicited data waits one round trip per R2T: raise FirstBurstLength, with InitialR2T=No, above the block to save it.")
		if in.RTT == 0 {
			a.note("No RTT was given: the latency is taken to hold those round trips.")
		}
	}
	a.note("The share counts the PDUs that carry data, not commands without data, R2Ts and responses (48 B each, some in the other direction); TCP and Ethernet headers come on top (size link).")
	a.note("The latency must be the one at this depth: it grows with the queue once the target is busy, and depth then adds nothing. The smallest of LUN queue_depth, session cmds_max and the target's window is the depth in force.")
}

// ISCSIFor computes the queue depth that in.Rate needs.
func ISCSIFor(in ISCSIInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	if in.Rate == 0 {
		return Answer{}, errors.New("size iscsi: in reverse, give the rate wanted")
	}
	in.QueueDepth = 0 // it is the answer
	a := newReverse("iscsi", in)
	t, text := in.command()
	a.add("IOPS needed", float64(in.Rate)/8/float64(in.Block), PerSecond, "%s / (8 × %d B)", in.Rate, in.Block)
	a.add("queue depth needed", atLeast(float64(in.Rate)*t/8/float64(in.Block)), Count, "⌈%s × %s / (8 × %d B)⌉", in.Rate, text, in.Block)
	in.addPDUs(a)
	in.notes(a)
	return *a, nil
}
