package facts

import (
	"errors"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/kernel/snmp"
	"linerate/internal/unit"
)

// tables is a switch of three ports: two in a group, a host at each of two.
type tables map[string][]snmp.Row

func (t tables) Walk(column string) ([]snmp.Row, error) {
	if column == ifMTU && t == nil {
		return nil, errors.New("timed out")
	}
	return t[column], nil
}

func intRow(index string, v int64) snmp.Row { return snmp.Row{Index: index, Int: v} }

func textRow(index, s string) snmp.Row { return snmp.Row{Index: index, Bytes: []byte(s)} }

func exampleSwitch() tables {
	return tables{
		ifMTU:         {intRow("11", 1500), intRow("12", 9216), intRow("13", 1500), intRow("1000", 9216)},
		ifName:        {textRow("11", "Ethernet1"), textRow("12", "Ethernet2"), textRow("13", "Ethernet3"), textRow("1000", "Port-Channel1")},
		ifHighSpeed:   {intRow("11", 10000), intRow("12", 25000)},
		dot3Pause:     {intRow("11", 1), intRow("12", 3)},
		lagAttached:   {intRow("11", 1000), intRow("12", 0), intRow("13", 13)},
		lldpChassis:   {textRow("0", "\x00\x1c\x73\x01\x02\x03")},
		lldpSystem:    {textRow("0", "sw1")},
		lldpPortID:    {textRow("1", "Ethernet1"), textRow("2", "local-2"), textRow("3", "77")},
		lldpPortAbout: {textRow("1", "to nas1"), textRow("2", "Ethernet2"), textRow("3", "Ethernet3")},
		lldpFarPort:   {textRow("0.2.1", "\x02\x00\x00\x00\x00\x09"), textRow("0.3.1", "eth0"), textRow("0.9.1", "eth9")},
		lldpFarSystem: {textRow("0.2.1", "nas1"), textRow("0.3.1", "nas2.example")},
		ifOutDiscards: {intRow("11", 5)},
		ifOutPackets:  {intRow("11", 1000)},
	}
}

func TestReadSwitch(t *testing.T) {
	s, err := ReadSwitch(exampleSwitch(), "192.0.2.2")
	if err != nil {
		t.Fatal(err)
	}
	s.Grow(nil)
	later, err := ReadCounters(tables{ifOutDiscards: {intRow("11", 9)}, ifOutPackets: {intRow("11", 3)}})
	if err != nil {
		t.Fatal(err)
	}
	s.Grow(later)

	heard := HeardPorts([]kernel.Heard{{Interface: "eth1", LLDP: kernel.LLDP{Chassis: "00:1c:73:01:02:03", Port: "Ethernet1", System: "sw1", MaxFrame: 1518}}})
	got := s.Ports("nas1", heard, map[string]string{"eth2": "02:00:00:00:00:09", "eth0": "02:00:00:00:00:07"})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	a, b := got[0], got[1]
	if a.Interface != "eth1" || a.Port != "Ethernet1" || a.Source != "snmp 192.0.2.2" || a.MTU.Value != 1500 || a.Speed.Value != 10*unit.Gbit || a.Group.Value != "Port-Channel1" || a.Pause.Value.Rx || a.Pause.Value.Tx {
		t.Errorf("%+v", a)
	}
	if a.Rose.Value["out_discards"] != 4 || a.Counters.Value["out_discards"] != 5 {
		t.Errorf("%+v", a)
	}
	if _, ok := a.Rose.Value["out_packets"]; ok {
		t.Error("a counter that went back grew")
	}
	if b.Interface != "eth2" || b.Port != "Ethernet2" || b.Group.Value != "" || !b.Pause.Value.Rx || b.Pause.Value.Tx {
		t.Errorf("%+v", b)
	}
	if got := s.Ports("nas2", nil, map[string]string{"eth0": "02:00:00:00:00:07"}); len(got) != 1 || got[0].Port != "Ethernet3" || got[0].Group.Value != "" {
		t.Errorf("by host name: %+v", got)
	}
	if got := s.Ports("nas1", nil, map[string]string{"eth2": "02:00:00:00:00:09", "bond0": "02:00:00:00:00:09"}); len(got) != 0 {
		t.Errorf("one MAC at two interfaces: %+v", got)
	}
	if heard[0].MTU.Value != 1518 || !heard[0].Frame || heard[0].Source != "lldp" {
		t.Errorf("%+v", heard[0])
	}
}

func TestReadSwitchFails(t *testing.T) {
	if _, err := ReadSwitch(tables(nil), "192.0.2.2"); err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Error(err)
	}
	if _, err := ReadSwitch(tables{}, "192.0.2.2"); err == nil || !strings.Contains(err.Error(), "shows no interfaces") {
		t.Error(err)
	}
}
