package fabric

import (
	"bytes"
	"encoding/binary"
	"testing"

	"linerate/internal/kernel"
)

// tcpFrame makes a super-packet of payload bytes 0, 1, 2 … cut at size.
func tcpFrame(v6 bool, payload, size int, flags byte) []byte {
	var ip []byte
	if v6 {
		ip = make([]byte, ipv6Header)
		ip[0], ip[6] = 0x60, protoTCP
		binary.BigEndian.PutUint16(ip[4:], uint16(minTCP+12+payload))
	} else {
		ip = make([]byte, minIPv4)
		ip[0], ip[9] = 0x45, protoTCP
		binary.BigEndian.PutUint16(ip[2:], uint16(minIPv4+minTCP+12+payload))
		binary.BigEndian.PutUint16(ip[4:], 0xfffe) // wraps
	}
	for i := 8; i < len(ip); i++ {
		if v6 || i >= 12 {
			ip[i] = byte(i * 7)
		}
	}
	tcp := make([]byte, minTCP+12)
	binary.BigEndian.PutUint32(tcp[4:], 0xffffff00) // wraps
	tcp[12], tcp[tcpFlagsAt] = 8<<4, flags
	h := kernel.VnetHeader{Flags: kernel.VnetNeedsChecksum, GSOType: kernel.VnetGSOTCPv4, GSOSize: uint16(size), HeaderLen: 66}
	etherType := uint16(etherTypeIP4)
	if v6 {
		h.GSOType, etherType = kernel.VnetGSOTCPv6, etherTypeIP6
	}
	if payload <= size {
		h.GSOType, h.GSOSize = kernel.VnetGSONone, 0
	}
	f := make([]byte, kernel.VnetHeaderLen+etherHeader)
	h.Put(f)
	binary.BigEndian.PutUint16(f[kernel.VnetHeaderLen+12:], etherType)
	f = append(append(f, ip...), tcp...)
	for i := range payload {
		f = append(f, byte(i))
	}
	return f
}

func TestInspectCountsWire(t *testing.T) {
	for _, c := range []struct {
		name         string
		frame        []byte
		segments, l3 int
		wire         int
	}{
		{"ack", tcpFrame(false, 0, 1448, 0), 1, 52, 66 + 24},
		{"full", tcpFrame(false, 1448, 1448, 0), 1, 1500, 1538},
		{"two and a bit", tcpFrame(false, 2897, 1448, 0), 3, 1500, 2*1538 + 67 + 24},
		{"exact", tcpFrame(false, 2896, 1448, 0), 2, 1500, 2 * 1538},
		{"v6", tcpFrame(true, 2856, 1428, 0), 2, 1500, 2 * 1538},
		{"arp", append(make([]byte, kernel.VnetHeaderLen), make([]byte, 42)...), 1, 28, 84},
	} {
		p, ok := inspect(c.frame)
		if !ok {
			t.Errorf("%s: not understood", c.name)
			continue
		}
		if p.segments != c.segments || p.packetSize() != c.l3 || p.wire(0, p.segments) != c.wire {
			t.Errorf("%s: %d segments, packet %d, wire %d; want %d, %d, %d", c.name, p.segments, p.packetSize(), p.wire(0, p.segments), c.segments, c.l3, c.wire)
		}
		for cut := range p.segments + 1 {
			if got := p.wire(0, cut) + p.wire(cut, p.segments); got != c.wire {
				t.Errorf("%s cut at %d: wire %d, want %d", c.name, cut, got, c.wire)
			}
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	whole := tcpFrame(false, 3000, 1448, 0)
	noSize := bytes.Clone(whole)
	noSize[4], noSize[5] = 0, 0
	unknown := bytes.Clone(whole)
	unknown[kernel.VnetHeaderLen+12] = 0x99
	shortIHL := bytes.Clone(whole)
	shortIHL[kernel.VnetHeaderLen+etherHeader] = 0x41
	for name, f := range map[string][]byte{
		"empty": {}, "vnet only": whole[:10], "half ip": whole[:30], "half tcp": whole[:50],
		"no size": noSize, "unknown type": unknown, "short ihl": shortIHL,
	} {
		if _, ok := inspect(f); ok {
			t.Errorf("%s: understood", name)
		}
	}
}

func TestCarveKeepsTheStream(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		f := tcpFrame(v6, 4*1000+100, 1000, flagFIN|flagPSH|flagCWR|0x10)
		p, ok := inspect(f)
		if !ok || p.segments != 5 {
			t.Fatalf("v6=%v: %d segments", v6, p.segments)
		}
		for a := range p.segments {
			for b := a + 1; b <= p.segments; b++ {
				checkCarved(t, &p, p.carve(nil, a, b), a, b)
			}
		}
	}
}

func checkCarved(t *testing.T, p *superPacket, out []byte, a, b int) {
	t.Helper()
	h, _ := kernel.ParseVnet(out)
	eth := out[kernel.VnetHeaderLen:]
	orig := p.frame[kernel.VnetHeaderLen:]
	tcp, ip := eth[p.l4:], eth[etherHeader:]
	if want := orig[p.header+a*p.size : min(p.header+b*p.size, len(orig))]; !bytes.Equal(eth[p.header:], want) {
		t.Errorf("[%d,%d): payload of %d bytes is not the original's %d", a, b, len(eth)-p.header, len(want))
	}
	if got, want := binary.BigEndian.Uint32(tcp[4:]), uint32(0xffffff00)+uint32(a*p.size); got != want {
		t.Errorf("[%d,%d): sequence %x, want %x", a, b, got, want)
	}
	wantFlags := byte(0x10)
	if a == 0 {
		wantFlags |= flagCWR
	}
	if b == p.segments {
		wantFlags |= flagFIN | flagPSH
	}
	if tcp[tcpFlagsAt] != wantFlags {
		t.Errorf("[%d,%d): flags %x, want %x", a, b, tcp[tcpFlagsAt], wantFlags)
	}
	if single := b-a == 1; single != (h.GSOType == kernel.VnetGSONone) || h.Flags != kernel.VnetNeedsChecksum || int(h.CsumStart) != p.l4 {
		t.Errorf("[%d,%d): header %+v", a, b, h)
	}
	checkChecksums(t, p.v6, ip, tcp)
	if !p.v6 && binary.BigEndian.Uint16(ip[4:]) != uint16(0xfffe+a) {
		t.Errorf("[%d,%d): id %x", a, b, binary.BigEndian.Uint16(ip[4:]))
	}
	if q, ok := inspect(out); !ok || q.segments != b-a {
		t.Errorf("[%d,%d): reads back as %d segments", a, b, q.segments)
	}
}

// checkChecksums does it the long way: a completed checksum must verify over
// pseudo-header and segment (RFC 9293, 3.1).
func checkChecksums(t *testing.T, v6 bool, ip, tcp []byte) {
	t.Helper()
	tcp = bytes.Clone(tcp)
	done := ^fold(sum16(tcp, 0))
	binary.BigEndian.PutUint16(tcp[tcpChecksum:], done)
	pseudo := []byte{0, 0, 0, 0, 0, 0, 0, protoTCP}
	binary.BigEndian.PutUint32(pseudo, uint32(len(tcp)))
	addrs, total := ip[12:20], binary.BigEndian.Uint16(ip[2:])
	if v6 {
		addrs, total = ip[8:40], ipv6Header+binary.BigEndian.Uint16(ip[4:])
	} else if fold(sum16(ip[:minIPv4], 0)) != 0xffff {
		t.Error("IP header checksum is wrong")
	}
	if int(total) != len(ip) {
		t.Errorf("IP length %d, is %d", total, len(ip))
	}
	if got := fold(sum16(tcp, sum16(pseudo, sum16(addrs, 0)))); got != 0xffff {
		t.Errorf("TCP checksum is wrong: %x", got)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(tcpFrame(false, 3000, 1448, flagPSH), uint8(1), uint8(2))
	f.Add(tcpFrame(true, 3000, 1428, flagFIN), uint8(0), uint8(1))
	f.Add([]byte{}, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, frame []byte, x, y uint8) {
		p, ok := inspect(frame)
		if !ok {
			return
		}
		if p.segments < 1 || p.wire(0, p.segments) < p.segments*(shortestFrame+wireOverhead) {
			t.Fatalf("%d segments, wire %d", p.segments, p.wire(0, p.segments))
		}
		a, b := int(x)%p.segments, int(y)%p.segments+1
		if !p.tcp || a >= b {
			return
		}
		out := p.carve(nil, a, b)
		if want := p.wire(a, b); len(out) > want {
			t.Fatalf("carved %d bytes for %d on the wire", len(out), want)
		}
	})
}
