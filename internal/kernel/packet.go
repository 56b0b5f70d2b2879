package kernel

import "encoding/binary"

// VnetHeaderLen is the length in bytes of the header that precedes every frame
// of a PacketPort (struct virtio_net_hdr, include/uapi/linux/virtio_net.h).
const VnetHeaderLen = 10

// Values of VnetHeader.
const (
	VnetNeedsChecksum = 1 // Flags: the checksum at CsumStart+CsumOffset is still to be filled in
	VnetGSONone       = 0
	VnetGSOTCPv4      = 1
	VnetGSOTCPv6      = 4
	VnetGSOECN        = 0x80 // added to a TCP type: the first segment carries CWR
)

// VnetHeader says what a network card would still have to do with the frame: split it into
// segments of GSOSize bytes of payload, fill in checksums.
type VnetHeader struct {
	Flags, GSOType                            uint8
	HeaderLen, GSOSize, CsumStart, CsumOffset uint16
}

// ParseVnet reads the header at the start of b. Byte order is the machine's.
func ParseVnet(b []byte) (VnetHeader, bool) {
	if len(b) < VnetHeaderLen {
		return VnetHeader{}, false
	}
	u16 := binary.NativeEndian.Uint16
	return VnetHeader{Flags: b[0], GSOType: b[1], HeaderLen: u16(b[2:]), GSOSize: u16(b[4:]), CsumStart: u16(b[6:]), CsumOffset: u16(b[8:])}, true
}

// Put writes the header to the start of b, which must hold VnetHeaderLen bytes.
func (h VnetHeader) Put(b []byte) {
	put := binary.NativeEndian.PutUint16
	b[0], b[1] = h.Flags, h.GSOType
	put(b[2:], h.HeaderLen)
	put(b[4:], h.GSOSize)
	put(b[6:], h.CsumStart)
	put(b[8:], h.CsumOffset)
}
