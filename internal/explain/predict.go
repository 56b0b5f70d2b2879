package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
	calc "linerate/internal/size"
	"linerate/internal/unit"
)

// Ground is what is known of a path before its next rung is measured.
type Ground struct {
	// Sender and Receiver with facts, and samples of a trickle where there was
	// one: they tell segment size, TCP options and the interfaces in use.
	Sender, Receiver *End
	LineRate         model.Fact[unit.BitRate]
	Streams          int           // of the rungs with N
	RTT              time.Duration // the smallest seen; 0: not known
	// Copy is what one core of a host copies through memory, and CopyNear what
	// it copies within its caches, by host.
	Copy, CopyNear map[string]unit.BitRate
	// Cost of TCP on a host's own loopback, by host.
	Cost     map[string]CPUCost
	Measured map[string]unit.BitRate // rungs measured so far, by name
	File     *FileGround             // nil: no export is looked at
}

// FileGround is what is known of the export and the file that is read. The
// server is the Sender, the client the Receiver.
type FileGround struct {
	Mount     model.Mount // of the client; zero: not mounted there
	ReadAhead unit.Bytes  // of the client's mount; 0: not known
	Block     unit.Bytes  // what the reader asks for at once; 0: not known
	Slots     int64       // RPC slots of the mount; 0: not known
	Disk      string      // of the client, where a unit of iSCSI is read; empty: a mount is
	Depth     int64       // commands that the disk takes at once; 0: not known
	Credits   int64       // of an SMB session; 0: not known
	Cached    *float64    // share of the file in the server's memory before; nil: not known
	RAM       bool        // the export lies in memory
}

// Expectation is what the model says of a rung before it is measured. Ceiling
// comes from facts alone, Predicted also from the rungs below. nil: nothing
// known bounds it; the texts then say what is missing.
type Expectation struct {
	Ceiling   *unit.BitRate
	Formula   string
	Predicted *unit.BitRate
	From      string
}

// bound is one thing that a rate cannot exceed, with its numbers.
type bound struct {
	rate unit.BitRate
	why  string
}

// Expect computes what the model says of a rung: the least of its bounds.
func Expect(g Ground, rung string) Expectation {
	e := g.ceiling(rung)
	e.Predicted, e.From = least(g.bounds(rung))
	if e.Predicted == nil {
		e.From = g.nothingPredicts(rung)
	}
	return e
}

func (g Ground) nothingPredicts(rung string) string {
	switch {
	case rung == RungMemory:
		return "nothing below memory predicts it"
	case rung == RungDisk:
		return "no fact tells what the storage can do"
	case (rung == RungWhole || rung == RungRAM) && (g.File == nil || g.File.Mount.Point == ""):
		return "the client has no mount to predict"
	}
	return "neither facts nor the rungs below bound it"
}

// ceiling is what facts alone say.
func (g Ground) ceiling(rung string) Expectation {
	switch rung {
	case RungMemory:
		return Expectation{Formula: "not known: memory channels and their speed are not among the facts"}
	case RungLoopback, RungCached:
		return Expectation{Formula: "not known from facts alone: it follows from the memory rung"}
	case RungDisk:
		return Expectation{Formula: "sequential read rate of the server's storage"}
	case RungReverse, RungWrite:
		g.Sender, g.Receiver = g.Receiver, g.Sender
	}
	ce := Ceiling(g.asCase())
	if ce.Rate == nil {
		return Expectation{Formula: ce.Formula}
	}
	links := append([]bound{{*ce.Rate, ce.Formula}}, g.slots()...)
	if len(links) == 1 {
		return Expectation{Ceiling: ce.Rate, Formula: ce.Formula}
	}
	rate, formula := least(links)
	return Expectation{Ceiling: rate, Formula: formula}
}

func (g Ground) asCase() Case {
	return Case{Sender: g.Sender, Receiver: g.Receiver, LineRate: g.LineRate}
}

// bounds lists what bounds a rung.
func (g Ground) bounds(rung string) []bound {
	switch rung {
	case RungLoopback:
		return g.copies()
	case RungStream:
		return g.network(1)
	case RungStreams:
		out := g.network(g.Streams)
		if one, ok := g.Measured[RungStream]; ok {
			out = append(out, bound{one * unit.BitRate(g.Streams), fmt.Sprintf("%d × one stream as measured, %s", g.Streams, one)})
		}
		return out
	case RungReverse:
		g.Sender, g.Receiver = g.Receiver, g.Sender
		return g.network(g.Streams)
	case RungCached:
		if r, ok := g.Copy[g.Sender.host()]; ok {
			// A copy takes three transfers a byte: read, read for ownership,
			// write (McCalpin's STREAM counts two of them). A read into a small
			// buffer takes the first alone.
			r *= 3
			return []bound{{r, fmt.Sprintf("a read from memory into a small buffer is a third of a memory copy's transfers: 3 × %s on %s = %s", r/3, g.Sender.host(), r)}}
		}
	case RungRAM, RungWhole:
		return g.path()
	case RungWrite:
		// A write goes as N streams in the other direction do. How fast the server's storage writes
		// cannot be told from how fast it reads.
		if r, ok := g.Measured[RungReverse]; ok {
			return []bound{{r, fmt.Sprintf("N streams from the client as measured, %s", r)}}
		}
	}
	return nil
}

// network is what bounds n streams.
func (g Ground) network(n int) []bound {
	var out []bound
	if ce := Ceiling(g.asCase()); ce.Rate != nil {
		out = append(out, bound{*ce.Rate, "link goodput " + ce.Formula})
	}
	out = append(out, g.slots()...)
	out = append(out, g.windows(n)...)
	return append(out, g.cores(n)...)
}

// slots is what the PCIe links of both data interfaces carry.
func (g Ground) slots() []bound {
	var out []bound
	for _, e := range []*End{g.Sender, g.Receiver} {
		n := e.dataNIC(tracks(e))
		if n == nil {
			continue
		}
		s, ok := n.PCI.Get()
		if !ok || s.GTs <= 0 || s.Lanes <= 0 || s.Tunnel {
			continue
		}
		payload := n.Payload.Or(model.PCIPayload{Payload: calc.UsualPayload}).Payload
		rate := calc.SlotPayload(calc.SlotRate(s.GTs, s.Lanes), payload)
		out = append(out, bound{rate, fmt.Sprintf("PCIe of %s on %s %g GT/s × %d × %.3f (coding) × %d/%d B (TLP) = %s",
			n.Name, e.Host, s.GTs, s.Lanes, calc.LineCode(s.GTs), payload, payload+calc.PacketOverhead, rate)})
	}
	return out
}

// windows: n windows per round trip, as large as the hosts' settings let them
// grow (tcp(7)), and 64 KiB each without window scaling (RFC 7323).
func (g Ground) windows(n int) []bound {
	if g.RTT <= 0 {
		return nil
	}
	var out []bound
	add := func(bytes float64, why string) {
		rate := calc.PerRoundTrip(bytes*float64(n), g.RTT)
		times := ""
		if n > 1 {
			times = fmt.Sprintf("%d × ", n)
		}
		out = append(out, bound{rate, fmt.Sprintf("%s%s / %s = %s", times, why, ms(g.RTT), rate)})
	}
	if limit, ok := thirdOf(g.Receiver, rmemSetting); ok {
		share := windowShare(g.Receiver, Ceiling(g.asCase()).Inputs.MSS)
		add(float64(limit)*share, fmt.Sprintf("tcp_rmem of %s %s × %.2g", g.Receiver.Host, unit.Bytes(limit), share))
	}
	if limit, ok := thirdOf(g.Sender, wmemSetting); ok {
		add(float64(limit)*calc.SendShare, fmt.Sprintf("tcp_wmem of %s %s × %g", g.Sender.Host, unit.Bytes(limit), calc.SendShare))
	}
	if o, ok := lastFull(lookAtLink(g.asCase()).flows); ok && o.Options != 0 && o.Options&optWScale == 0 {
		add(calc.UnscaledWindow, "window without scaling 64 KiB")
	}
	return out
}

// path is what bounds a read of the mounted export.
func (g Ground) path() []bound {
	f := g.File
	if f == nil || f.Mount.Point == "" {
		return nil
	}
	conns := mountNumber(f.Mount, "nconnect", 1)
	var out []bound
	one, haveOne := g.Measured[RungStream]
	all, haveAll := g.Measured[RungStreams]
	switch {
	case conns > 1 && haveAll:
		out = append(out, bound{all, fmt.Sprintf("%d connections, as %d streams measured %s", conns, g.Streams, all)})
	case conns == 1 && haveOne:
		out = append(out, bound{one, fmt.Sprintf("one connection, as one stream measured %s", one)})
	default:
		out = append(out, g.network(int(conns))...)
	}
	if disk, ok := g.Measured[RungDisk]; ok && !f.RAM && (f.Cached == nil || *f.Cached < 0.5) {
		out = append(out, bound{disk, fmt.Sprintf("server disk as measured %s", disk)})
	}
	return append(out, g.calls()...)
}

// creditBytes is what one SMB credit stands for ([MS-SMB2] 3.1.5.2).
const creditBytes = 64 << 10

// calls: what can be asked for in one round trip, the least time that a request takes: by all slots
// together, and for a single reader.
func (g Ground) calls() []bound {
	f := g.File
	if g.RTT <= 0 {
		return nil
	}
	var out []bound
	add := func(n int64, size unit.Bytes, what, of string) {
		if n > 0 && size > 0 {
			rate := calc.PerRoundTrip(float64(calc.SlotsInFlight(n, size)), g.RTT)
			out = append(out, bound{rate, fmt.Sprintf("%s %d × %s %s / %s = %s", what, n, of, size, ms(g.RTT), rate)})
		}
	}
	request := unit.Bytes(mountNumber(f.Mount, "rsize", 0)) // the largest
	switch {
	case strings.HasPrefix(f.Mount.Type, "nfs"):
		add(f.Slots, request, "NFS slots", "rsize")
	case f.Disk != "":
		request = g.largestRequest(f.Disk)
		add(f.Depth, request, "iSCSI queue depth", "request")
	case f.Credits > 0:
		add(f.Credits, creditBytes, "SMB credits", "a credit's")
	}
	if f.ReadAhead > 0 {
		window, what := calc.AheadWindow(f.ReadAhead, f.Block, request), "read-ahead"
		if window > f.ReadAhead {
			what = fmt.Sprintf("reads of %s in requests of at most %s, ahead", f.Block, request)
		}
		rate := calc.PerRoundTrip(float64(calc.AheadInFlight(window)), g.RTT)
		out = append(out, bound{rate, fmt.Sprintf("2 × %s %s / %s = %s", what, window, ms(g.RTT), rate)})
	}
	return out
}

// largestRequest is what the client asks of a disk in one command.
func (g Ground) largestRequest(disk string) unit.Bytes {
	if g.Receiver == nil || g.Receiver.Facts == nil {
		return 0
	}
	for _, d := range g.Receiver.Facts.Disks {
		if d.Name == disk {
			return d.MaxRequest.Or(0)
		}
	}
	return 0
}

func mountNumber(m model.Mount, option string, other int64) int64 {
	n, err := strconv.ParseInt(m.Options[option], 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return other
	}
	return n
}

// least is the smallest bound, and all of them in words, the smallest first.
func least(all []bound) (*unit.BitRate, string) {
	all = slices.DeleteFunc(slices.Clone(all), func(b bound) bool { return !(b.rate > 0) || !known(float64(b.rate)) })
	if len(all) == 0 {
		return nil, ""
	}
	slices.SortStableFunc(all, func(a, b bound) int { return cmp.Compare(a.rate, b.rate) })
	rate := all[0].rate
	if len(all) == 1 {
		return &rate, all[0].why
	}
	var rest []string
	for _, b := range all[1:] {
		rest = append(rest, b.why)
	}
	return &rate, all[0].why + "; not bound by " + strings.Join(rest, "; ")
}
