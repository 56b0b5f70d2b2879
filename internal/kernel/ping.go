package kernel

import "errors"

// ErrTooLarge: a packet of that size does not leave this host, or the other host did not
// answer it.
var ErrTooLarge = errors.New("packets of that size do not get through")

// Sizes of the headers before an echo's payload: RFC 791 section 3.1, RFC 8200
// section 3, RFC 792 and RFC 4443 section 4.1.
const (
	ipv4Header = 20
	ipv6Header = 40
	echoHeader = 8
)

// echoPacket is an echo request of so many octets of ICMP. The checksum is for
// ICMPv4 only: the kernel makes that of ICMPv6 (RFC 3542 section 3.1).
func echoPacket(kind byte, id, seq uint16, size int) []byte {
	b := make([]byte, max(size, echoHeader))
	b[0], b[4], b[5], b[6], b[7] = kind, byte(id>>8), byte(id), byte(seq>>8), byte(seq)
	for i := echoHeader; i < len(b); i++ {
		b[i] = byte(i)
	}
	sum := checksum(b)
	b[2], b[3] = byte(sum>>8), byte(sum)
	return b
}

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
