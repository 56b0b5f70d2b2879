package kernel

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// EthGroup is one family of driver parameters, in the terms of ethtool(8).
type EthGroup string

// The groups.
const (
	EthRing     EthGroup = "ring"
	EthChannels EthGroup = "channels"
	EthCoalesce EthGroup = "coalesce"
	EthPause    EthGroup = "pause"
)

// ethField is one attribute: a u32, or a u8 for a switch.
type ethField struct {
	kind  uint16
	width int
}

// ethGroup holds the commands that read and set a group, by include/uapi/linux/ethtool_netlink.h:
// the SET command follows the GET. Names that end in -max are the driver's bounds, which cannot
// be set.
type ethGroup struct {
	get    uint8
	fields map[string]ethField
}

func ethGroups() map[EthGroup]ethGroup {
	return map[EthGroup]ethGroup{
		EthRing:     {ethnlRings, map[string]ethField{"rx-max": {2, 4}, "tx-max": {5, 4}, "rx": {6, 4}, "tx": {9, 4}}},
		EthChannels: {ethnlChannels, map[string]ethField{"rx-max": {2, 4}, "tx-max": {3, 4}, "combined-max": {5, 4}, "rx": {6, 4}, "tx": {7, 4}, "combined": {9, 4}}},
		EthCoalesce: {ethnlCoalesce, map[string]ethField{
			"rx-usecs": {2, 4}, "rx-frames": {3, 4}, "tx-usecs": {6, 4}, "tx-frames": {7, 4}, "adaptive-rx": {11, 1}, "adaptive-tx": {12, 1},
		}},
		EthPause: {ethnlPause, map[string]ethField{"autoneg": {2, 1}, "rx": {3, 1}, "tx": {4, 1}}},
	}
}

// parseEthGroup reads the parameters of an answer; those that the driver lacks are missing.
func parseEthGroup(g ethGroup, b []byte) (map[string]int64, error) {
	a, err := ethnlAttrs(b)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for name, f := range g.fields {
		v, ok := a[f.kind]
		if !ok || len(v) < f.width {
			continue
		}
		if out[name] = int64(u8(v, 0)); f.width == 4 {
			out[name] = int64(u32(v, 0))
		}
	}
	return out, nil
}

// ethValue is one attribute of a request.
type ethValue struct {
	kind uint16
	v    []byte
}

// ethValues builds the attributes that set numbers, in order of name.
func ethValues(g ethGroup, want map[string]int64) ([]ethValue, error) {
	var out []ethValue
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n := want[name]
		f, ok := g.fields[name]
		if !ok || n < 0 || f.width == 4 && n > 1<<32-1 || f.width == 1 && n > 1 {
			return nil, fmt.Errorf("ethtool %s=%d: no such setting, or out of range", name, n)
		}
		v := []byte{byte(n)}
		if f.width == 4 {
			v = binary.NativeEndian.AppendUint32(nil, uint32(n))
		}
		out = append(out, ethValue{f.kind, v})
	}
	return out, nil
}

// RSS is how an interface spreads arriving connections over its receive queues.
type RSS struct {
	Rings int      // receive queues in use
	Table []uint32 // the queue of each slot of the hash
}

// vmxnet3Step is the multiple to which vmxnet3 rounds its receive ring at an MTU: 32 times the
// buffers of a packet, the first of up to 3072 bytes and the others of a page.
func vmxnet3Step(mtu int) int64 {
	const first, page, header = 3072, 4096, 14 + 4 // Ethernet and VLAN
	buffers := int64(1)
	if rest := mtu + header - first; rest > 0 {
		buffers += int64((rest + page - 1) / page)
	}
	return 32 * buffers
}
