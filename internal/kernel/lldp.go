package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// LLDP is what a switch announces about the port that a frame came from (IEEE 802.1AB).
type LLDP struct {
	Chassis string `json:"chassis"` // MAC, name or number, as the switch has it
	Port    string `json:"port"`
	// Seconds is how long the announcement is valid; 0: the switch withdraws it.
	Seconds     int    `json:"seconds"`
	PortAbout   string `json:"port_about,omitempty"` // description
	System      string `json:"system,omitempty"`
	SystemAbout string `json:"system_about,omitempty"`
	// MaxFrame is the largest Ethernet frame, header and checksum included; 0: not announced.
	MaxFrame int `json:"max_frame,omitempty"`
	VLAN     int `json:"vlan,omitempty"` // untagged; 0: not told
	// Aggregated is whether the port is part of a group, and Group its number; nil: not
	// announced.
	Aggregated *bool `json:"aggregated,omitempty"`
	Group      int   `json:"group,omitempty"`
}

// Heard is an LLDP frame and the interface that received it.
type Heard struct {
	Interface string `json:"interface"`
	LLDP      LLDP   `json:"lldp"`
}

// maxLLDPText bounds a text, in bytes; longer ones are cut.
const maxLLDPText = 255

// ParseLLDP reads the payload of an LLDP frame, without its Ethernet header: IEEE 802.1AB clause
// 8 (chassis 1, port 2, time to live 3, then options up to the end 0), annexes of 802.1Q
// (00-80-C2) and 802.3 (00-12-0F). Unknown elements are skipped; one that exceeds the frame is an
// error.
func ParseLLDP(b []byte) (LLDP, error) {
	var l LLDP
	for n := 0; len(b) >= 2; n++ {
		head := binary.BigEndian.Uint16(b)
		kind, length := int(head>>9), int(head&0x1ff)
		if len(b) < 2+length {
			return l, fmt.Errorf("parse LLDP: element %d of kind %d has %d of %d bytes", n, kind, len(b)-2, length)
		}
		v := b[2 : 2+length]
		b = b[2+length:]
		if n < 3 && kind != n+1 {
			return l, fmt.Errorf("parse LLDP: element %d is of kind %d, want %d", n, kind, n+1)
		}
		switch kind {
		case 0:
			return l, l.complete(n)
		case 1:
			l.Chassis = lldpID(v, 4, 5)
		case 2:
			l.Port = lldpID(v, 3, 4)
		case 3:
			if len(v) >= 2 {
				l.Seconds = int(binary.BigEndian.Uint16(v))
			}
		case 4:
			l.PortAbout = lldpText(v)
		case 5:
			l.System = lldpText(v)
		case 6:
			l.SystemAbout = lldpText(v)
		case 127:
			l.organization(v)
		}
	}
	// Some switches omit the end element.
	return l, l.complete(3)
}

func (l *LLDP) complete(elements int) error {
	if elements < 3 || l.Chassis == "" || l.Port == "" {
		return fmt.Errorf("parse LLDP: %d elements, want a chassis, a port and a time to live", elements)
	}
	return nil
}

// lldpID reads an identifier by its subtype. The subtypes for a MAC and a network address differ
// between chassis and port.
func lldpID(v []byte, mac, network byte) string {
	if len(v) < 2 {
		return ""
	}
	kind, v := v[0], v[1:]
	switch {
	case kind == mac && len(v) == 6:
		return net.HardwareAddr(v).String()
	case kind == network && len(v) == 5 && v[0] == 1:
		return netip.AddrFrom4([4]byte(v[1:])).String()
	case kind == network && len(v) == 17 && v[0] == 2:
		return netip.AddrFrom16([16]byte(v[1:])).String()
	}
	return lldpText(v)
}

// lldpText keeps printable text; other bytes become hexadecimal.
func lldpText(v []byte) string {
	s := strings.TrimRight(string(v), "\x00")
	if len(s) > maxLLDPText {
		s = s[:maxLLDPText]
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }) {
		return hex.EncodeToString([]byte(s))
	}
	return strings.Join(strings.Fields(s), " ")
}

// organization reads the elements of 802.1Q and 802.3.
func (l *LLDP) organization(v []byte) {
	if len(v) < 4 {
		return
	}
	org, kind, v := [3]byte(v), v[3], v[4:]
	q, ethernet := [3]byte{0x00, 0x80, 0xc2}, [3]byte{0x00, 0x12, 0x0f}
	switch {
	case org == q && kind == 1 && len(v) >= 2:
		l.VLAN = int(binary.BigEndian.Uint16(v))
	case (org == ethernet && kind == 3 || org == q && kind == 7) && len(v) >= 5:
		in := v[0]&2 != 0
		l.Aggregated = &in
		if l.Group = 0; in {
			l.Group = int(binary.BigEndian.Uint32(v[1:]) & 0x7fffffff)
		}
	case org == ethernet && kind == 4 && len(v) >= 2:
		l.MaxFrame = int(binary.BigEndian.Uint16(v))
	}
}
