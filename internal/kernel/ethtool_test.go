package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSettings(t *testing.T) {
	for _, c := range []struct {
		speed  uint32
		duplex byte
		mbps   int
		word   string
	}{
		{40000, 1, 40000, "full"},
		{100000, 1, 100000, "full"}, // beyond 16 bits
		{10, 0, 10, "half"},
		{1<<32 - 1, 0xff, -1, ""},
		{1<<16 - 1, 0xff, -1, ""},
		{0, 1, -1, "full"},
	} {
		b := make([]byte, 44)
		binary.NativeEndian.PutUint16(b[12:], uint16(c.speed))
		binary.NativeEndian.PutUint16(b[28:], uint16(c.speed>>16))
		b[14] = c.duplex
		if mbps, word := parseSettings(b); mbps != c.mbps || word != c.word {
			t.Errorf("speed %d duplex %d: %d %q, want %d %q", c.speed, c.duplex, mbps, word, c.mbps, c.word)
		}
	}
}

func TestFeatures(t *testing.T) {
	names := make([]string, 40)
	names[0], names[33] = "tx-scatter-gather", "rx-gro"
	b := make([]byte, 8+32)
	binary.NativeEndian.PutUint32(b[8+16+8:], 1<<1)
	got := parseFeatures(names, b)
	if d := cmp.Diff(map[string]bool{"tx-scatter-gather": false, "rx-gro": true}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	req, err := featureRequest(names, map[string]bool{"tx-scatter-gather": true, "rx-gro": false})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 8+16)
	for at, v := range map[int]uint32{0: ethSetFeatures, 4: 2, 8: 1, 12: 1, 16: 2, 20: 0} {
		binary.NativeEndian.PutUint32(want[at:], v)
	}
	if d := cmp.Diff(want, req); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := featureRequest(names, map[string]bool{"": true}); err == nil {
		t.Error("an empty name was accepted")
	}
}

func TestDeviceIDs(t *testing.T) {
	links := []Link{
		{Name: "veth0"}, {Name: "port1", PermMAC: "aa:00:00:00:00:01", Bus: "pci", BusID: "0000:3b:00.0"},
		{Name: "port2", PermMAC: "aa:00:00:00:00:02", Bus: "pci", BusID: "0000:3b:00.0"},
		{Name: "eth0", PermMAC: "aa:00:00:00:00:03"}, {Name: "usb0", PermMAC: "aa:00:00:00:00:04", Bus: "usb", BusID: "1-1"},
		{Name: "odd", Bus: "pci", BusID: "../../etc"},
	}
	ports := map[string]Port{"eth0": {BusInfo: "0000:00:03.0"}, "usb0": {BusInfo: "usb-0000:00:14.0-1"}}
	want := map[string]string{
		"veth0": "if:veth0", "port1": "mac:aa:00:00:00:00:01", "port2": "mac:aa:00:00:00:00:02",
		"eth0": "pci:0000:00:03.0", "usb0": "mac:aa:00:00:00:00:04", "odd": "if:odd",
	}
	if d := cmp.Diff(want, DeviceIDs(links, ports)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
