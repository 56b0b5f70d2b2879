package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// element is one type-length-value of LLDP.
func element(kind int, v ...byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(kind<<9|len(v))), v...)
}

func frame(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var (
	lldpChassis = element(1, 4, 0x00, 0x1c, 0x73, 0x01, 0x02, 0x03)
	lldpPort    = element(2, append([]byte{5}, "Ethernet12"...)...)
	lldpTTL     = element(3, 0, 120)
	lldpEnd     = element(0)
)

func TestParseLLDP(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		frame []byte
		want  LLDP
		fails string
	}{
		"all": {frame(lldpChassis, lldpPort, lldpTTL, element(4, []byte("to nas1")...), element(5, []byte("sw1")...), element(6, []byte("EOS\n4.30")...),
			element(127, 0, 0x80, 0xc2, 1, 0, 42), element(127, 0, 0x12, 0x0f, 4, 0x24, 0x14), element(127, 0, 0x12, 0x0f, 3, 3, 0, 0, 0, 7), element(8, 5, 1, 10, 0, 0, 1, 2, 0, 0, 0, 1, 0), lldpEnd, []byte("padding")),
			LLDP{Chassis: "00:1c:73:01:02:03", Port: "Ethernet12", Seconds: 120, PortAbout: "to nas1", System: "sw1", SystemAbout: "EOS 4.30", VLAN: 42, MaxFrame: 9236, Aggregated: &yes, Group: 7}, ""},
		"no end":         {frame(lldpChassis, lldpPort, lldpTTL), LLDP{Chassis: "00:1c:73:01:02:03", Port: "Ethernet12", Seconds: 120}, ""},
		"not in a group": {frame(lldpChassis, lldpPort, lldpTTL, element(127, 0, 0x80, 0xc2, 7, 1, 0, 0, 0, 9), lldpEnd), LLDP{Chassis: "00:1c:73:01:02:03", Port: "Ethernet12", Seconds: 120, Aggregated: &no}, ""},
		"addresses":      {frame(element(1, 5, 1, 192, 0, 2, 1), element(2, 3, 2, 0, 0, 0, 0, 9), lldpTTL, lldpEnd), LLDP{Chassis: "192.0.2.1", Port: "02:00:00:00:00:09", Seconds: 120}, ""},
		"control bytes":  {frame(lldpChassis, element(2, 5, 'a', 0x1b, '['), lldpTTL, lldpEnd), LLDP{Chassis: "00:1c:73:01:02:03", Port: "611b5b", Seconds: 120}, ""},
		"short options":  {frame(lldpChassis, lldpPort, lldpTTL, element(127, 0, 0x12), element(127, 0, 0x12, 0x0f, 4, 1), lldpEnd), LLDP{Chassis: "00:1c:73:01:02:03", Port: "Ethernet12", Seconds: 120}, ""},
		"cut":            {frame(lldpChassis, lldpPort[:5]), LLDP{}, "element 1 of kind 2"},
		"out of order":   {frame(lldpPort, lldpChassis, lldpTTL), LLDP{}, "want 1"},
		"early end":      {frame(lldpChassis, lldpPort, lldpEnd), LLDP{}, "want 3"},
		"empty":          {nil, LLDP{}, "want a chassis"},
	} {
		got, err := ParseLLDP(c.frame)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// What lldpd 1.0.16 sent for a veth whose other end is a host's.
func TestParseLLDPOfLldpd(t *testing.T) {
	b, err := hex.DecodeString("020704" + "22df86186732" + "040703" + "22df86186732" +
		"060200040a096c6f63616c686f73740c0861207377697463680e04009c0080100c05010a09090202000000020010181102fe80000000000000" +
		"20df86fffe1867320200000002000803737730fe0900120f030100000000fe0900120f0100800000360000")
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := LLDP{Chassis: "22:df:86:18:67:32", Port: "22:df:86:18:67:32", Seconds: 4, PortAbout: "sw0", System: "localhost", SystemAbout: "a switch", Aggregated: &no}
	if got, err := ParseLLDP(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParseLLDP(f *testing.F) {
	f.Add(frame(lldpChassis, lldpPort, lldpTTL, element(127, 0, 0x12, 0x0f, 3, 3, 0, 0, 0, 7), lldpEnd))
	f.Add(frame(element(1, 4), element(2, 3), element(3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLLDP(b)
		if err != nil {
			return
		}
		if l.Chassis == "" || l.Port == "" || l.MaxFrame > 1<<16 || strings.ContainsAny(l.Chassis+l.Port+l.System+l.PortAbout+l.SystemAbout, "\x00\x1b\n") {
			t.Errorf("%+v", l)
		}
	})
}
