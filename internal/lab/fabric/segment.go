package fabric

import (
	"encoding/binary"

	"linerate/internal/kernel"
)

// Sizes on an Ethernet wire, in bytes (IEEE 802.3): what a frame needs beside
// its own bytes (preamble 8, check sequence 4, gap 12), and the least that a
// frame occupies.
const (
	etherHeader   = 14
	wireOverhead  = 24
	shortestFrame = 60

	protoTCP     = 6
	protoUDP     = 17
	flagFIN      = 0x01
	flagPSH      = 0x08
	flagCWR      = 0x80
	tcpFlagsAt   = 13
	tcpChecksum  = 16
	ipv6Header   = 40
	minIPv4      = 20
	minTCP       = 20
	udpHeader    = 8
	etherTypeIP4 = 0x0800
	etherTypeIP6 = 0x86dd
)

// superPacket is what a frame amounts to on the wire: segments of header bytes
// and up to size bytes of payload each.
type superPacket struct {
	frame    []byte // kernel.VnetHeader, Ethernet header, packet
	vnet     kernel.VnetHeader
	segments int
	header   int // bytes of all headers, Ethernet included
	size     int // payload of a full segment
	payload  int // of all segments
	l4       int // offset of the transport header in the Ethernet frame
	v6       bool
	tcp      bool // carve works
}

// inspect parses a frame. ok is false for one that cannot be understood; the
// switch drops it.
func inspect(frame []byte) (p superPacket, ok bool) {
	vnet, ok := kernel.ParseVnet(frame)
	if !ok || len(frame) < kernel.VnetHeaderLen+etherHeader {
		return p, false
	}
	eth := frame[kernel.VnetHeaderLen:]
	p = superPacket{frame: frame, vnet: vnet, segments: 1, header: etherHeader, payload: len(eth) - etherHeader}
	p.size = p.payload
	if vnet.GSOType == kernel.VnetGSONone {
		return p, true
	}
	if vnet.GSOSize == 0 || !p.transport(eth) {
		return p, false
	}
	p.size = int(vnet.GSOSize)
	p.payload = len(eth) - p.header
	p.segments = max(1, (p.payload+p.size-1)/p.size)
	return p, true
}

// transport finds the headers of a TCP or UDP super-packet.
func (p *superPacket) transport(eth []byte) bool {
	var proto byte
	switch binary.BigEndian.Uint16(eth[12:]) {
	case etherTypeIP4:
		if len(eth) < etherHeader+minIPv4 {
			return false
		}
		ihl := int(eth[etherHeader]&0x0f) * 4
		if ihl < minIPv4 {
			return false
		}
		p.l4, proto = etherHeader+ihl, eth[etherHeader+9]
	case etherTypeIP6:
		if len(eth) < etherHeader+ipv6Header {
			return false
		}
		p.v6, p.l4, proto = true, etherHeader+ipv6Header, eth[etherHeader+6]
	default:
		return false
	}
	switch {
	case proto == protoUDP && len(eth) >= p.l4+udpHeader:
		p.header = p.l4 + udpHeader
	case proto == protoTCP && len(eth) >= p.l4+minTCP:
		p.header = p.l4 + int(eth[p.l4+12]>>4)*4
		p.tcp = p.header >= p.l4+minTCP
	}
	return p.header > p.l4 && p.header <= len(eth)
}

// packetSize is the size in bytes of the largest segment as an IP packet: what
// a path MTU is compared with.
func (p *superPacket) packetSize() int {
	return p.header - etherHeader + min(p.size, p.payload)
}

// wire is the number of bytes that segments [a, b) occupy on the wire.
func (p *superPacket) wire(a, b int) int {
	if a >= b {
		return 0
	}
	full := max(p.header+p.size, shortestFrame) + wireOverhead
	if b < p.segments {
		return (b - a) * full
	}
	last := p.payload - (p.segments-1)*p.size
	return (b-a-1)*full + max(p.header+last, shortestFrame) + wireOverhead
}

// carve appends to dst a frame of segments [a, b) alone, as a network card
// that had cut the super-packet would have sent them: sequence number, IP
// identification and length advance, FIN and PSH stay with the last segment
// and CWR with the first (RFC 3168, 6.1.2). The TCP checksum is left to be
// completed by the receiver of the frame, as it was.
func (p *superPacket) carve(dst []byte, a, b int) []byte {
	eth := p.frame[kernel.VnetHeaderLen:]
	from, to := p.header+a*p.size, min(p.header+b*p.size, len(eth))
	start := len(dst)
	dst = append(dst, p.frame[:kernel.VnetHeaderLen+p.header]...)
	dst = append(dst, eth[from:to]...)
	p.fixVnet(dst[start:], a, b)
	out := dst[start+kernel.VnetHeaderLen:]
	tcp := out[p.l4:]
	seq := binary.BigEndian.Uint32(tcp[4:])
	binary.BigEndian.PutUint32(tcp[4:], seq+uint32(a*p.size))
	if b < p.segments {
		tcp[tcpFlagsAt] &^= flagFIN | flagPSH
	}
	if a > 0 {
		tcp[tcpFlagsAt] &^= flagCWR
	}
	p.fixIP(out, a)
	return dst
}

func (p *superPacket) fixVnet(out []byte, a, b int) {
	h := p.vnet
	h.Flags = kernel.VnetNeedsChecksum
	h.HeaderLen = uint16(p.header)
	h.CsumStart, h.CsumOffset = uint16(p.l4), tcpChecksum
	if a > 0 {
		h.GSOType &^= kernel.VnetGSOECN
	}
	if b-a == 1 {
		h.GSOType, h.GSOSize = kernel.VnetGSONone, 0
	}
	h.Put(out)
}

// fixIP sets lengths and checksums of a carved Ethernet frame.
func (p *superPacket) fixIP(out []byte, skipped int) {
	ip, tcp := out[etherHeader:], out[p.l4:]
	var sum uint32
	if p.v6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(tcp)))
		sum = sum16(ip[8:ipv6Header], 0)
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		id := binary.BigEndian.Uint16(ip[4:])
		binary.BigEndian.PutUint16(ip[4:], id+uint16(skipped))
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^fold(sum16(ip[:p.l4-etherHeader], 0)))
		sum = sum16(ip[12:minIPv4], 0)
	}
	// The pseudo-header's sum stands in for the checksum until it is completed.
	pseudo := fold(sum + protoTCP + uint32(len(tcp)))
	binary.BigEndian.PutUint16(tcp[tcpChecksum:], pseudo)
}

// sum16 adds b to an Internet checksum (RFC 1071) that is still to be folded.
func sum16(b []byte, sum uint32) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
