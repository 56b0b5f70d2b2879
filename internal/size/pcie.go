package size

import (
	"errors"
	"fmt"
	"slices"

	"linerate/internal/unit"
)

// generation is a PCI Express generation up to 5: rate per lane in GT/s and its
// line code (PCI Express Base Specification: 8b/10b for 1 and 2, 128b/130b for
// 3 to 5). Generation 6 sends flits, for which this packet arithmetic is wrong.
type generation struct {
	perLane   float64 // transfers per second
	data, raw int     // bits of the line code
}

func generations() []generation {
	return []generation{{2.5e9, 8, 10}, {5e9, 8, 10}, {8e9, 128, 130}, {16e9, 128, 130}, {32e9, 128, 130}}
}

// coded is the rate of lanes after the line code, which is counted once.
func (g generation) coded(lanes int) float64 {
	return float64(SlotRate(g.perLane/1e9, lanes))
}

// PacketOverhead, in bytes, of a memory write with a 64-bit address: framing and sequence number
// 4, header 16, link check sum 4. (Generations 1 and 2: start 1, sequence 2, end 1; from 3 on a
// start token of 4.) Read completions have a header of 12. ECRC, which is optional, adds 4.
// Neugebauer et al., SIGCOMM 2018, section 3, take the same.
const (
	PacketOverhead = 24
	endToEndCRC    = 4
)

// PCIeInput describes a slot and the ports of the adapter in it.
type PCIeInput struct {
	Gen     int          `json:"gen,omitempty"`   // 1 to 5; in reverse 0 means each
	Lanes   int          `json:"lanes,omitempty"` // as trained, not as the connector looks
	Payload int          `json:"payload_bytes"`   // Maximum Payload Size in force
	ECRC    bool         `json:"ecrc"`
	Rate    unit.BitRate `json:"rate_bps,omitempty"` // of one port
	Ports   int          `json:"ports"`
}

func (in PCIeInput) packet() int {
	p := in.Payload + PacketOverhead
	if in.ECRC {
		p += endToEndCRC
	}
	return p
}

func (in PCIeInput) check(gens int) error {
	var payload error
	if !slices.Contains([]int{128, 256, 512, 1024, 2048, 4096}, in.Payload) {
		payload = fmt.Errorf("payload of %d is not one of 128, 256, 512, 1024, 2048, 4096 B", in.Payload)
	}
	if in.Gen == 6 {
		return errors.New("size pcie: generation 6 sends flits, for which this arithmetic is wrong: generations 1 to 5 are computed")
	}
	return first("pcie", checkCount("generation", in.Gen, gens, 5), payload,
		optional(in.Rate != 0, checkRate("rate", in.Rate)),
		checkCount("ports", in.Ports, 1, 16))
}

// PCIe computes what a slot carries per direction,
//
//	GT/s × lanes × code × payload / (payload + 24)
//
// and whether the ports fit.
func PCIe(in PCIeInput) (Answer, error) {
	if err := in.check(1); err != nil {
		return Answer{}, err
	}
	if !slices.Contains(widths(), in.Lanes) {
		return Answer{}, fmt.Errorf("size pcie: lanes of %d is not one of 1, 2, 4, 8, 16", in.Lanes)
	}
	a := newAnswer("pcie", in)
	g := generations()[in.Gen-1]
	coded := g.coded(in.Lanes)
	a.add("after coding", coded, BitsPerSecond, "%g GT/s × %d × %d/%d", g.perLane/1e9, in.Lanes, g.data, g.raw)
	a.add("after coding, in bytes", coded/8, BytesPerSecond, "%s / 8", unit.BitRate(coded))
	net := coded * float64(in.Payload) / float64(in.packet())
	a.add("payload", net, BitsPerSecond, "%s × %d / %d B", unit.BitRate(coded), in.Payload, in.packet())
	if in.Rate > 0 {
		need := float64(in.Rate) * float64(in.Ports)
		a.add("the ports need", need, BitsPerSecond, "%d × %s", in.Ports, in.Rate)
		a.add("headroom", net-need, BitsPerSecond, "%s − %s", unit.BitRate(net), unit.BitRate(need))
		a.add("share used", need/net, Share, "%s / %s", unit.BitRate(need), unit.BitRate(net))
		a.note("%s", fits(net, need))
	}
	pcieNotes(a)
	return *a, nil
}

// dllpMargin is kept for acknowledgements, flow control and descriptors, which
// this arithmetic leaves out: they cost a few per cent, more with small frames.
const dllpMargin = 0.05

func fits(net, need float64) string {
	switch {
	case need > net:
		return "It does not fit: the slot, not the port, is the limit in each direction."
	case need > net*(1-dllpMargin):
		return "It fits on paper only: acknowledgements, flow control and descriptors take the last few per cent."
	}
	return "It fits."
}

func pcieNotes(a *Answer) {
	a.note("Per direction. The line code is counted once; not counted are acknowledgements, flow control, skip sets and the adapter's descriptors, a few per cent (more with small frames). What the adapter reads to send comes in completions, which some chipsets cut at 64 or 128 B: then sending gets less than this.")
	a.note("Use the generation and lanes the link has trained to (LnkSta), not those of the connector, and mind what else hangs on the same switch or chipset.")
}

// widths are the link widths of add-in cards.
func widths() []int { return []int{1, 2, 4, 8, 16} }

// PCIeFor computes the lanes that the ports need in each generation.
func PCIeFor(in PCIeInput) (Answer, error) {
	if err := in.check(0); err != nil {
		return Answer{}, err
	}
	if in.Rate == 0 {
		return Answer{}, errors.New("size pcie: in reverse, give the rate of a port")
	}
	a := newReverse("pcie", in)
	need := float64(in.Rate) * float64(in.Ports)
	a.add("the ports need", need, BitsPerSecond, "%d × %s", in.Ports, in.Rate)
	for i, g := range generations() {
		if in.Gen != 0 && in.Gen != i+1 {
			continue
		}
		one := g.coded(1) * float64(in.Payload) / float64(in.packet())
		lanes := atLeast(need / one)
		for _, w := range widths() {
			if float64(w) >= lanes {
				a.add(fmt.Sprintf("lanes of generation %d", i+1), float64(w), Count,
					"⌈%s / (%g GT/s × %d/%d × %d/%d B)⌉ as a link width", unit.BitRate(need), g.perLane/1e9, g.data, g.raw, in.Payload, in.packet())
				if need > float64(w)*one*(1-dllpMargin) {
					a.note("Generation %d: %s", i+1, fits(float64(w)*one, need))
				}
				break
			}
		}
		if lanes > 16 {
			a.note("Generation %d: not with 16 lanes.", i+1)
		}
	}
	pcieNotes(a)
	return *a, nil
}
