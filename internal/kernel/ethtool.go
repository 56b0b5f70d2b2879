package kernel

import (
	"encoding/binary"
	"fmt"
)

// Commands and layouts of the SIOCETHTOOL ioctl, from include/uapi/linux/ethtool.h.
const (
	ethGetSettings  = 0x1
	ethGetDriver    = 0x3
	ethGetStrings   = 0x1b
	ethGetSetInfo   = 0x37
	ethGetFeatures  = 0x3a
	ethSetFeatures  = 0x3b
	ethGetRxRings   = 0x2d
	ethGetRxIndir   = 0x38
	ethSetRxIndir   = 0x39
	ethSetOfStrings = 4       // ETH_SS_FEATURES
	maxRSSTable     = 1 << 16 // far above any card's
	ethNameLen      = 32
	ethMaxFeatures  = 1024
)

// parseDriver reads struct ethtool_drvinfo.
func parseDriver(b []byte) (driver, firmware, bus string) {
	if len(b) < 4+5*ethNameLen {
		return "", "", ""
	}
	return cString(b[4 : 4+ethNameLen]), cString(b[68 : 68+ethNameLen]), cString(b[100 : 100+ethNameLen])
}

// parseSettings reads struct ethtool_cmd: the speed in Mbit/s, negative if the driver does not
// know it, and the duplex, then empty.
func parseSettings(b []byte) (mbps int, duplex string) {
	speed := uint32(u16(b, 12)) | uint32(u16(b, 28))<<16
	mbps = int(speed)
	if speed == 1<<32-1 || speed == 1<<16-1 || speed == 0 {
		mbps = -1
	}
	switch u8(b, 14) {
	case 0:
		duplex = "half"
	case 1:
		duplex = "full"
	}
	return mbps, duplex
}

// parseFeatureNames reads the strings of struct ethtool_gstrings: the name of feature i at index
// i, empty for a bit that this kernel does not use.
func parseFeatureNames(b []byte) []string {
	n := min(int(u32(b, 8)), ethMaxFeatures, max(0, len(b)-12)/ethNameLen)
	names := make([]string, n)
	for i := range names {
		names[i] = cString(b[12+i*ethNameLen : 12+(i+1)*ethNameLen])
	}
	return names
}

// parseFeatures reads struct ethtool_gfeatures: which features are active, by name.
func parseFeatures(names []string, b []byte) map[string]bool {
	active := make(map[string]bool, len(names))
	for i, name := range names {
		word := 8 + 16*(i/32) + 8 // available, requested, active, never_changed
		if name != "" && word+4 <= len(b) {
			active[name] = u32(b, word)>>(i%32)&1 == 1
		}
	}
	return active
}

// featureRequest builds struct ethtool_sfeatures. A name that the kernel lacks is an error, since
// the request would silently omit it.
func featureRequest(names []string, want map[string]bool) ([]byte, error) {
	blocks := (len(names) + 31) / 32
	b := make([]byte, 8+8*blocks)
	ne := binary.NativeEndian
	ne.PutUint32(b, ethSetFeatures)
	ne.PutUint32(b[4:], uint32(blocks))
	found := 0
	for i, name := range names {
		on, ok := want[name]
		if !ok || name == "" {
			continue
		}
		found++
		at, bit := 8+8*(i/32), uint32(1)<<(i%32)
		ne.PutUint32(b[at:], u32(b, at)|bit)
		if on {
			ne.PutUint32(b[at+4:], u32(b, at+4)|bit)
		}
	}
	if found != len(want) {
		return nil, fmt.Errorf("set offload features: this kernel knows %d of the %d that were asked for", found, len(want))
	}
	return b, nil
}
