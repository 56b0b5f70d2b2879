package kernel

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// RouteKey names one route of the main table: its destination, and its metric if several
// routes have the same destination.
type RouteKey struct {
	Dst    netip.Prefix
	Metric uint32
}

// String is the key as people write it: "10.0.0.0/24" or "0.0.0.0/0@100".
func (k RouteKey) String() string {
	if k.Metric == 0 {
		return k.Dst.String()
	}
	return fmt.Sprintf("%s@%d", k.Dst, k.Metric)
}

// RouteMetrics are the attributes of a route below RTA_METRICS
// (include/uapi/linux/rtnetlink.h) by the words of ip-route(8): mtu, window,
// advmss, initcwnd, initrwnd, quickack. One that is not set is not in Numbers.
type RouteMetrics struct {
	Numbers map[string]uint32
	MTULock bool   // path MTU discovery does not change it
	CongCtl string // congestion control; empty: the host's
	// rest are metrics that linerate does not know, kept as they are.
	rest map[uint16][]byte
}

// metricKinds are the numbers of RTAX_*.
func metricKinds() map[string]uint16 {
	return map[string]uint16{"mtu": 2, "window": 3, "advmss": 8, "initcwnd": 11, "initrwnd": 14, "quickack": 15}
}

const (
	metricLock    = 1 // a bit for each metric that is locked
	metricCongCtl = 16
	mtuLockBit    = 1 << 2
)

// parseMetrics reads the content of RTA_METRICS.
func parseMetrics(b []byte) (RouteMetrics, error) {
	m := RouteMetrics{Numbers: map[string]uint32{}, rest: map[uint16][]byte{}}
	names := map[uint16]string{}
	for name, kind := range metricKinds() {
		names[kind] = name
	}
	err := eachAttr(b, func(kind uint16, v []byte) {
		switch name := names[kind]; {
		case name != "" && len(v) >= 4:
			m.Numbers[name] = u32(v, 0)
		case kind == metricCongCtl:
			m.CongCtl = cString(v)
		case kind == metricLock && len(v) >= 4:
			m.MTULock = u32(v, 0)&mtuLockBit != 0
			m.rest[metricLock] = binary.NativeEndian.AppendUint32(nil, u32(v, 0)&^mtuLockBit)
		default:
			m.rest[kind] = slices.Clone(v)
		}
	})
	if err != nil {
		return m, fmt.Errorf("parse route metrics: %w", err)
	}
	return m, nil
}

// build is the content of RTA_METRICS, one attribute after the other.
func (m RouteMetrics) build() []byte {
	all := maps.Clone(m.rest)
	if all == nil {
		all = map[uint16][]byte{}
	}
	lock := u32(append(slices.Clone(all[metricLock]), 0, 0, 0, 0), 0)
	if m.MTULock {
		lock |= mtuLockBit
	}
	delete(all, metricLock)
	if lock != 0 {
		all[metricLock] = binary.NativeEndian.AppendUint32(nil, lock)
	}
	for name, kind := range metricKinds() {
		if v, ok := m.Numbers[name]; ok {
			all[kind] = binary.NativeEndian.AppendUint32(nil, v)
		}
	}
	if m.CongCtl != "" {
		all[metricCongCtl] = append([]byte(m.CongCtl), 0)
	}
	var out []byte
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		out = appendAttr(out, kind, all[kind])
	}
	return out
}

// appendAttr adds one netlink attribute, padded to four bytes.
func appendAttr(b []byte, kind uint16, v []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(v)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, v...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// Attributes of struct rtmsg's messages.
const (
	rtmsgLen     = 12
	rtaDst       = 1
	rtaPriority  = 6
	rtaMetrics   = 8
	rtaCacheinfo = 12
	rtaTable     = 15

	tableMain   = 254
	routeCloned = 0x200 // RTM_F_CLONED: learned, not configured
	nextHopDead = 0x01 | 0x10
)

// routeMsg is one route as the kernel reports it, with all attributes.
type routeMsg struct {
	head  []byte // struct rtmsg
	attrs []byte
	key   RouteKey
	m     RouteMetrics
	main  bool // in the main table, and configured
	// passing: the route expires by itself (a router advertised it).
	passing bool
}

// parseRouteMsg reads the payload of RTM_NEWROUTE.
func parseRouteMsg(b []byte) (routeMsg, error) {
	if len(b) < rtmsgLen {
		return routeMsg{}, fmt.Errorf("parse route: %d bytes, want at least %d", len(b), rtmsgLen)
	}
	r := routeMsg{head: slices.Clone(b[:rtmsgLen]), attrs: slices.Clone(b[rtmsgLen:])}
	addr, bits := netip.IPv4Unspecified(), int(b[1])
	if b[0] == 10 { // AF_INET6
		addr = netip.IPv6Unspecified()
	}
	table, metrics := uint32(b[4]), []byte(nil)
	err := eachAttr(r.attrs, func(kind uint16, v []byte) {
		switch kind {
		case rtaDst:
			if a, ok := netip.AddrFromSlice(v); ok {
				addr = a
			}
		case rtaPriority:
			r.key.Metric = u32(v, 0)
		case rtaTable:
			table = u32(v, 0)
		case rtaMetrics:
			metrics = v
		case rtaCacheinfo: // struct rta_cacheinfo: the third word is rta_expires
			r.passing = len(v) >= 12 && u32(v, 8) != 0
		}
	})
	if err != nil {
		return r, fmt.Errorf("parse route: %w", err)
	}
	r.key.Dst = netip.PrefixFrom(addr, bits)
	r.main = table == tableMain && u32(b, 8)&routeCloned == 0
	r.m, err = parseMetrics(metrics)
	return r, err
}

// with returns the message that sets the same route with other metrics. Attributes that the
// kernel only reports (cache times, a dead next hop) are left out.
func (r routeMsg) with(m RouteMetrics) []byte {
	out := slices.Clone(r.head)
	binary.NativeEndian.PutUint32(out[8:], u32(out, 8)&^nextHopDead)
	// The message was parsed before, so no attribute is malformed.
	_ = eachRawAttr(r.attrs, func(kind uint16, v []byte) {
		if k := kind & 0x3fff; k != rtaMetrics && k != rtaCacheinfo {
			out = appendAttr(out, kind, v)
		}
	})
	if b := m.build(); len(b) > 0 {
		out = appendAttr(out, rtaMetrics, b)
	}
	return out
}

// eachRawAttr is eachAttr with the flags of the number kept.
func eachRawAttr(b []byte, f func(kind uint16, v []byte)) error {
	for rest := b; len(rest) >= 4; {
		n := int(binary.NativeEndian.Uint16(rest))
		if n < 4 || n > len(rest) {
			return fmt.Errorf("attribute of %d bytes in %d", n, len(rest))
		}
		f(binary.NativeEndian.Uint16(rest[2:]), rest[4:n])
		rest = rest[min(len(rest), (n+3)&^3):]
	}
	return nil
}
