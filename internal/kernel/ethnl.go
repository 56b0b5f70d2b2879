package kernel

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Commands of the generic netlink family "ethtool", from
// include/uapi/linux/ethtool_netlink.h; answers begin with a header of four
// bytes, then come attributes whose numbers the parsers below give.
const (
	ethnlLinkModes = 4
	ethnlRings     = 15
	ethnlChannels  = 17
	ethnlCoalesce  = 19
	ethnlPause     = 21
	ethnlFEC       = 29

	genlHeaderLen = 4
	ethnlCompact  = 1 << 0 // bit sets as words
	ethnlStats    = 1 << 2 // with statistics; commands without statistics refuse it
)

// unaskable returns why a driver must not be asked for its rings: the request itself would
// crash the kernel. Empty: it may be asked.
func unaskable(driver string) string {
	// vector_get_ringparam (arch/um/drivers/vector_kern.c) dereferences a receive queue that a
	// TAP with GRO does not have: seen on 6.1.
	if driver == "uml-vector" {
		return "the driver uml-vector ends the kernel when it is asked for its rings"
	}
	return ""
}

// ethnlAttrs collects the attributes of an answer by their number.
func ethnlAttrs(b []byte) (map[uint16][]byte, error) {
	if len(b) < genlHeaderLen {
		return nil, fmt.Errorf("parse ethtool answer: %d bytes, want at least %d", len(b), genlHeaderLen)
	}
	return attrs(b[genlHeaderLen:])
}

func attrs(b []byte) (map[uint16][]byte, error) {
	out := map[uint16][]byte{}
	if err := eachAttr(b, func(kind uint16, v []byte) { out[kind] = v }); err != nil {
		return nil, fmt.Errorf("parse ethtool attributes: %w", err)
	}
	return out, nil
}

// count reads a u32; a value that no hardware reaches counts as absent.
func count(b []byte) int {
	if v := u32(b, 0); v < 1<<24 {
		return int(v)
	}
	return 0
}

// ParseEthRings decodes the answer to ETHTOOL_MSG_RINGS_GET.
func ParseEthRings(b []byte) (model.Ring, error) {
	a, err := ethnlAttrs(b)
	return model.Ring{RxMax: count(a[2]), TxMax: count(a[5]), Rx: count(a[6]), Tx: count(a[9])}, err
}

// ParseEthChannels decodes the answer to ETHTOOL_MSG_CHANNELS_GET.
func ParseEthChannels(b []byte) (model.Channels, error) {
	a, err := ethnlAttrs(b)
	return model.Channels{
		RxMax: count(a[2]), TxMax: count(a[3]), CombinedMax: count(a[5]),
		Rx: count(a[6]), Tx: count(a[7]), Combined: count(a[9]),
	}, err
}

// ParseEthCoalesce decodes the answer to ETHTOOL_MSG_COALESCE_GET.
func ParseEthCoalesce(b []byte) (model.Coalesce, error) {
	a, err := ethnlAttrs(b)
	return model.Coalesce{
		RxUsecs: count(a[2]), RxFrames: count(a[3]), TxUsecs: count(a[6]), TxFrames: count(a[7]),
		AdaptiveRx: u8(a[11], 0) != 0, AdaptiveTx: u8(a[12], 0) != 0,
	}, err
}

// ParseEthPause decodes the answer to ETHTOOL_MSG_PAUSE_GET, and the frame counters
// "tx_pause_frames" and "rx_pause_frames" if the driver has them.
func ParseEthPause(b []byte) (model.Pause, map[string]int64, error) {
	a, err := ethnlAttrs(b)
	if err != nil {
		return model.Pause{}, nil, err
	}
	p := model.Pause{Autoneg: u8(a[2], 0) != 0, Rx: u8(a[3], 0) != 0, Tx: u8(a[4], 0) != 0}
	counters, err := nestedCounters(a[5], map[uint16]string{2: "tx_pause_frames", 3: "rx_pause_frames"})
	return p, counters, err
}

// nestedCounters reads 64-bit statistics by name. FEC counters come as arrays whose first element
// is the total (net/ethtool/fec.c); all ones means unsupported.
func nestedCounters(b []byte, names map[uint16]string) (map[string]int64, error) {
	out := map[string]int64{}
	stats, err := attrs(b)
	for kind, name := range names {
		if v := stats[kind]; len(v) >= 8 && u64(v, 0) < 1<<63 {
			out[name] = int64(u64(v, 0))
		}
	}
	return out, err
}

// ParseEthFEC decodes the answer to ETHTOOL_MSG_FEC_GET: the mode in effect, empty if the driver
// does not report it, and "fec_corrected", "fec_uncorrectable" in blocks.
func ParseEthFEC(b []byte) (string, map[string]int64, error) {
	a, err := ethnlAttrs(b)
	if err != nil {
		return "", nil, err
	}
	// Bits of enum ethtool_link_mode_bit_indices.
	mode := map[uint32]string{49: "Off", 50: "RS", 51: "BaseR", 74: "LLRS"}[u32(a[4], 0)]
	counters, err := nestedCounters(a[5], map[uint16]string{2: "fec_corrected", 3: "fec_uncorrectable"})
	return mode, counters, err
}

// ParseEthLinkModes decodes the answer to ETHTOOL_MSG_LINKMODES_GET.
func ParseEthLinkModes(b []byte) (model.LinkModes, error) {
	a, err := ethnlAttrs(b)
	if err != nil {
		return model.LinkModes{}, err
	}
	m := model.LinkModes{Autoneg: u8(a[2], 0) != 0}
	for at, into := range map[uint16][2]*unit.BitRate{3: {&m.Advertised, &m.Supported}, 4: {&m.Peer, nil}} {
		set, err := attrs(a[at])
		if err != nil {
			return m, err
		}
		*into[0] = fastest(set[4]) // ETHTOOL_A_BITSET_VALUE
		if into[1] != nil {
			*into[1] = fastest(set[5]) // …_MASK: what is supported
		}
	}
	return m, nil
}

// fastest is the highest speed of a bit set of link modes, in 32-bit words.
func fastest(set []byte) unit.BitRate {
	var most unit.BitRate
	for _, m := range linkModes() {
		for bit := m.first; bit <= m.last; bit++ {
			if u32(set, bit/32*4)>>(bit%32)&1 == 1 {
				most = max(most, m.speed)
			}
		}
	}
	return most
}

type linkModeRange struct {
	first, last int
	speed       unit.BitRate
}

// linkModes are the bits of enum ethtool_link_mode_bit_indices
// (include/uapi/linux/ethtool.h) that stand for a speed.
func linkModes() []linkModeRange {
	const m, g = unit.Mbit, unit.Gbit
	return []linkModeRange{
		{0, 1, 10 * m}, {2, 3, 100 * m}, {4, 5, g}, {12, 12, 10 * g}, {15, 15, 2500 * m}, {17, 17, g},
		{18, 20, 10 * g}, {21, 22, 20 * g}, {23, 26, 40 * g}, {27, 30, 56 * g}, {31, 33, 25 * g}, {34, 35, 50 * g},
		{36, 39, 100 * g}, {40, 40, 50 * g}, {41, 41, g}, {42, 46, 10 * g}, {47, 47, 2500 * m}, {48, 48, 5 * g},
		{52, 56, 50 * g}, {57, 61, 100 * g}, {62, 66, 200 * g}, {67, 67, 100 * m}, {68, 68, g}, {69, 73, 400 * g},
		{75, 79, 100 * g}, {80, 84, 200 * g}, {85, 89, 400 * g}, {90, 91, 100 * m}, {92, 92, 10 * m},
	}
}
