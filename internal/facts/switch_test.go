package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/kernel/snmp"
	"linerate/internal/model"
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
		ifMTU:          {intRow("11", 1500), intRow("12", 9216), intRow("13", 1500), intRow("1000", 9216)},
		ifName:         {textRow("11", "Ethernet1"), textRow("12", "Ethernet2"), textRow("13", "Ethernet3"), textRow("1000", "Port-Channel1")},
		ifHighSpeed:    {intRow("11", 10000), intRow("12", 25000)},
		dot3Pause:      {intRow("11", 1), intRow("12", 3)},
		lagAttached:    {intRow("11", 1000), intRow("12", 0), intRow("13", 13)},
		lldpChassis:    {textRow("0", "\x00\x1c\x73\x01\x02\x03")},
		lldpSystem:     {textRow("0", "sw1")},
		lldpPortID:     {textRow("1", "Ethernet1"), textRow("2", "local-2"), textRow("3", "77")},
		lldpPortAbout:  {textRow("1", "to nas1"), textRow("2", "Ethernet2"), textRow("3", "Ethernet3")},
		lldpFarPort:    {textRow("0.2.1", "\x02\x00\x00\x00\x00\x09"), textRow("0.3.1", "eth0"), textRow("0.9.1", "eth9")},
		lldpFarSystem:  {textRow("0.2.1", "nas1"), textRow("0.3.1", "nas2.example")},
		ifOutDiscards:  {intRow("11", 5)},
		dot3InPause:    {intRow("11", 7), intRow("12", 4)},
		dot3HCInPause:  {intRow("11", 1<<33+7)},
		pfcRequests:    {intRow("11", 21)},
		basePortIf:     {intRow("1", 11), intRow("2", 12)},
		basePortLarge:  {intRow("1", 6), intRow("9", 1)},
		portClasses:    {intRow("1", 8), intRow("2", 99)},
		aristaInDrops:  {intRow("11.0", 1)},
		aristaOutDrops: {intRow("11.3.0", 40), intRow("11.10.0", 0), intRow("11.3.1", 2), intRow("11.3", 9), intRow("11.3.7", 9)},
		aristaOutSent:  {intRow("11.3.0", 4000)},
		ciscoDrops:     {intRow("12.2.1.1", 5), intRow("12.2.1.2", 6), intRow("12.1.1.1", 3), intRow("12.9.1.1", 3), intRow("12", 3)},
		dellCells:      {intRow("13.2", 77)},
		ifOutPackets:   {intRow("11", 1000)},
	}
}

func TestReadSwitch(t *testing.T) {
	s, err := ReadSwitch(exampleSwitch(), "192.0.2.2")
	if err != nil {
		t.Fatal(err)
	}
	s.Grow(SwitchCounts{})
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

// Queues are those of the vendors' tables; the rows of one queue add up, and what is no queue is
// left out. Standard counters come in their longer form where a switch has it.
func TestSwitchQueues(t *testing.T) {
	s, err := ReadSwitch(exampleSwitch(), "192.0.2.2")
	if err != nil {
		t.Fatal(err)
	}
	again := exampleSwitch()
	again[aristaOutDrops] = []snmp.Row{intRow("11.3.0", 45), intRow("11.3.1", 1)}
	again[basePortLarge] = []snmp.Row{intRow("1", 8)}
	later, err := ReadCounters(again)
	if err != nil {
		t.Fatal(err)
	}
	s.Grow(later)
	words := func(i string) (out []string) {
		for _, q := range s.ports[i].Queues.Or(nil) {
			out = append(out, fmt.Sprintf("%s in=%v drops=%v rose=%v sent=%v cells=%v", q.Queue, q.In, q.Drops.Or(-1), q.Rose.Or(-1), q.Passed.Or(-1), q.Cells.Or(-1)))
		}
		return out
	}
	for port, want := range map[string][]string{
		"11":   {"3 in=false drops=40 rose=5 sent=4000 cells=-1", "10 in=false drops=0 rose=-1 sent=-1 cells=-1", "3 multicast in=false drops=2 rose=-1 sent=-1 cells=-1", "0 in=true drops=1 rose=0 sent=-1 cells=-1"},
		"12":   {"1 in=false drops=11 rose=0 sent=-1 cells=-1", "1 in=true drops=3 rose=0 sent=-1 cells=-1"},
		"13":   {"2 in=false drops=-1 rose=-1 sent=-1 cells=77"},
		"1000": nil,
	} {
		if got := words(port); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", port, got, want)
		}
	}
	p := s.ports["11"]
	if c := p.Counters.Value; c["in_pause"] != 1<<33+7 || c["out_pfc"] != 21 || c["too_large"] != 6 || p.Rose.Value["too_large"] != 2 || p.Classes.Value != 8 {
		t.Errorf("%+v", p)
	}
	if none := s.ports["1000"]; none.Queues.State != model.Absent || !strings.Contains(none.Queues.Why, "tells nothing of this port's queues") || none.Classes.State != model.Absent || s.ports["12"].Classes.State != model.Absent {
		t.Errorf("%+v", none)
	}
}
