package size

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"linerate/internal/unit"
)

// Defaults and limits of the Linux client.
const (
	sessionSlots    = 64    // fs/nfs/nfs4session.h NFS4_DEF_SLOT_TABLE_SIZE, module parameter max_session_slots
	maxSessionSlots = 1024  // NFS4_MAX_SLOT_TABLE
	maxRPCSlots     = 65536 // include/linux/sunrpc/xprt.h RPC_MAX_SLOT_TABLE_LIMIT
	maxNconnect     = 16    // nfs(5)

	// include/linux/nfs_xdr.h: NFS_MIN_FILE_IO_SIZE, NFS_MAX_FILE_IO_SIZE. Other
	// clients and servers go to 4 MiB.
	leastTransfer = unit.KiB
	maxTransfer   = unit.MiB
)

// NFSInput describes a mount. Zero values of Slots, Transfer and Nconnect stand
// for the client's defaults; of Window, ReadAhead and Rate for not given.
type NFSInput struct {
	Version   string        `json:"version"` // 3 or 4.1 (4.2 is the same here)
	RTT       time.Duration `json:"rtt_ns"`
	Service   time.Duration `json:"service_ns,omitempty"` // the server's time per call
	Slots     int           `json:"slots"`                // calls in flight: per session (4.1), per connection (3)
	Transfer  unit.Bytes    `json:"transfer_bytes"`
	Nconnect  int           `json:"nconnect"`
	Window    unit.Bytes    `json:"window_bytes,omitempty"`    // per connection
	ReadAhead unit.Bytes    `json:"readahead_bytes,omitempty"` // of the mount, read_ahead_kb
	Rate      unit.BitRate  `json:"rate_bps,omitempty"`        // payload the link carries; in reverse the goal
}

func (in *NFSInput) check() error {
	most := maxSessionSlots
	switch in.Version {
	case "3":
		most = maxRPCSlots
	case "4.1", "4.2":
	default:
		return fmt.Errorf("size nfs: unknown version %q; choose 3, 4.1 or 4.2", in.Version)
	}
	if in.Slots == 0 {
		in.Slots = sessionSlots
		if in.Version == "3" {
			in.Slots = maxRPCSlots
		}
	}
	return first("nfs", checkTime("RTT", in.RTT),
		optional(in.Service != 0, checkTime("service time", in.Service)),
		checkCount("slots", in.Slots, 1, most),
		checkBytes("transfer", in.Transfer, leastTransfer, 4*maxTransfer),
		checkCount("nconnect", in.Nconnect, 1, maxNconnect),
		optional(in.Window != 0, checkBytes("window", in.Window, 512, unit.Bytes(1)<<40)),
		optional(in.ReadAhead != 0, checkBytes("read-ahead", in.ReadAhead, 4*unit.KiB, unit.GiB)),
		optional(in.Rate != 0, checkRate("rate", in.Rate)))
}

// call is the least time a call takes: round trip and service.
func (in NFSInput) call() float64 { return (in.RTT + in.Service).Seconds() }

func (in NFSInput) callText() string {
	if in.Service == 0 {
		return seconds(in.RTT.Seconds())
	}
	return fmt.Sprintf("(%s + %s)", seconds(in.RTT.Seconds()), seconds(in.Service.Seconds()))
}

// slots in flight: a session's slots serve all its connections, RPC slots are
// each connection's own.
func (in NFSInput) slots() (int, string) {
	if in.Version == "3" {
		return in.Slots * in.Nconnect, fmt.Sprintf("%d slots × %s", in.Slots, amount(float64(in.Nconnect), "connection"))
	}
	return in.Slots, fmt.Sprintf("%d slots", in.Slots)
}

// slotSetting is what limits the slots on a Linux client.
func (in NFSInput) slotSetting() string {
	if in.Version == "3" {
		return "sunrpc.tcp_max_slot_table_entries"
	}
	return "nfs.max_session_slots (and what the server grants)"
}

// NFS computes the ceilings of a mount by Little's law, calls in flight × size
// / time per call, and takes the smallest.
func NFS(in NFSInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	a := newAnswer("nfs", in)
	slots, text := in.slots()
	a.add("slots", float64(PerRoundTrip(float64(SlotsInFlight(int64(slots), in.Transfer)), in.RTT+in.Service)), BitsPerSecond,
		"%s × %d B × 8 / %s", text, in.Transfer, in.callText())
	if in.Window > 0 {
		a.add("TCP windows", float64(PerRoundTrip(float64(in.Nconnect)*float64(in.Window), in.RTT)), BitsPerSecond,
			"%s × %d B × 8 / %s", amount(float64(in.Nconnect), "connection"), in.Window, seconds(in.RTT.Seconds()))
	}
	if in.Rate > 0 {
		a.add("link", float64(in.Rate), BitsPerSecond, "given")
	}
	addCeiling(a)
	if in.ReadAhead > 0 {
		a.add("one reader with small reads", float64(PerRoundTrip(float64(AheadInFlight(in.ReadAhead)), in.RTT+in.Service)), BitsPerSecond,
			"2 × %d B × 8 / %s", in.ReadAhead, in.callText())
	}
	nfsNotes(a, in)
	return *a, nil
}

// addCeiling adds the smallest of the results so far, all of them rates.
func addCeiling(a *Answer) {
	least := a.Results[0]
	var each []string
	for _, r := range a.Results {
		each = append(each, r.Text())
		if r.Value < least.Value {
			least = r
		}
	}
	if len(each) == 1 {
		a.add("ceiling", least.Value, BitsPerSecond, "%s", least.Name)
		return
	}
	a.add("ceiling", least.Value, BitsPerSecond, "%s: min(%s)", least.Name, strings.Join(each, ", "))
}

func nfsNotes(a *Answer, in NFSInput) {
	if in.Version == "3" {
		a.note("NFSv3 on Linux opens RPC slots as needed, up to sunrpc.tcp_max_slot_table_entries (%d) per connection; kernels of 2010 had 16.", maxRPCSlots)
	} else {
		a.note("An NFSv4.1 session's slots are shared by all its connections: nconnect adds windows and cores, not slots. The client asks for max_session_slots (64); the server may grant fewer.")
	}
	if in.Transfer > maxTransfer {
		a.note("The Linux client ends at an rsize and wsize of %s.", maxTransfer)
	}
	if in.ReadAhead > 0 {
		a.note("One reader: buffered and sequential, with reads no larger than the read-ahead, of which at most two windows are in flight: the one being read and the next. Larger reads (up to rsize), programs that announce a sequential read (posix_fadvise, as cp does), more files and direct I/O go beyond it. Linux sets 128 KiB from 5.4 on, before 15 × rsize; it has an optimum, not a maximum.")
	}
	a.note("The time per call must be measured under the load in question: queues add to it (mountstats shows RTT and execution time per call).")
}

// NFSFor computes what a mount needs to carry in.Rate.
func NFSFor(in NFSInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	if in.Rate == 0 {
		return Answer{}, errors.New("size nfs: in reverse, give the rate wanted")
	}
	a := newReverse("nfs", in)
	flight := float64(in.Rate) * in.call() / 8
	a.add("data in flight", flight, Bytes, "%s × %s / 8", in.Rate, in.callText())
	need := atLeast(flight / float64(in.Transfer))
	a.add("slots needed", need, Count, "⌈%.0f B / %d B⌉", flight, in.Transfer)
	a.add("read-ahead needed", need*float64(in.Transfer), Bytes, "%.0f × %d B, for one sequential reader", need, in.Transfer)
	if slots, text := in.slots(); need > float64(slots) {
		a.note("More than the %s there are: raise %s or the transfer size, or mount from several clients.", text, in.slotSetting())
	}
	if in.Window > 0 {
		bdp := float64(in.Rate) * in.RTT.Seconds() / 8
		n := atLeast(bdp / float64(in.Window))
		a.add("connections needed (nconnect)", n, Count, "⌈%s × %s / 8 / %d B⌉", in.Rate, seconds(in.RTT.Seconds()), in.Window)
		if n > maxNconnect {
			a.note("nconnect ends at %d: the window must grow as well.", maxNconnect)
		}
	}
	nfsNotes(a, in)
	return *a, nil
}
