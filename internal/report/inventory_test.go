package report

import (
	"bytes"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// The inventory has what the JSON has of an interface, and says of what is missing why.
func TestInventory(t *testing.T) {
	c := Check{Hosts: []HostCheck{{Name: "nas1", Facts: &model.Facts{Kernel: "6.1", CPUs: []int{0, 1}, NICs: []model.NIC{
		{Name: "lo", Up: true},
		{Name: "eth0", Up: true, MTU: 9000, Speed: model.Known(25 * unit.Gbit), Duplex: model.Known("full"), Driver: model.Known("mlx5_core"),
			Ring: model.Known(model.Ring{Rx: 1024, RxMax: 8192, Tx: 1024, TxMax: 8192}), FEC: model.Known("RS"),
			Channels: model.Known(model.Channels{Combined: 8, CombinedMax: 63}),
			IRQs:     model.Known([]model.IRQ{{Number: 40, CPUs: []int{0}}, {Number: 41, CPUs: []int{1, 3}}}),
			Coalesce: model.Unknown[model.Coalesce](model.Denied, "it takes root"),
			Features: model.Known(map[string]bool{"rx-gro": true, "rx-lro": false})},
	}, Switches: []model.SwitchPort{
		{Interface: "eth0", Source: "snmp 192.0.2.2", System: "sw1", Port: "Ethernet1", MTU: model.Known(9214), Classes: model.Known(8),
			Counters: model.Known(map[string]int64{"out_discards": 12, "in_errors": 0, "in_pause": 3}),
			Queues:   model.Known([]model.SwitchQueue{{Queue: "3", Drops: model.Known[int64](12), Rose: model.Known[int64](4), Passed: model.Known[int64](99)}, {Queue: "0", In: true, Drops: model.Known[int64](0)}})},
		{Interface: "eth0", Source: "snmp 192.0.2.3", System: "sw2", Port: "1/1", Queues: model.Unknown[[]model.SwitchQueue](model.Absent, "the switch tells nothing of its queues")},
	}, Disks: []model.Disk{{Name: "sda", Scheduler: model.Known("none"), Requests: model.Known(256)}}}}, {Name: "nas2", Error: "no way"}}}
	var out bytes.Buffer
	if err := c.Inventory().Text(&out, false, 100); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"eth0 up, MTU 9000", "25 Gbit/s, duplex full", "RS", "rx 1024 of 8192, tx 1024 of 8192", "8 of 63 that receive", "2 interrupts on CPUs 0-1,3",
		"denied: it takes root", "offloads on rx-gro", "offloads off rx-lro", "sda none",
		"eth0 at Ethernet1 of switch sw1 (by snmp 192.0.2.2)", "largest packet 9214", "in pause 3, out discards 12", "traffic classes 8",
		"queue 3 to the host, 12 dropped, 4 more between two readings, 99 sent", "queue 0 from the host, 0 dropped", "queues the switch tells nothing of its queues", "Not looked at: no way"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(text, " lo ") {
		t.Errorf("the loopback is no port:\n%s", out.String())
	}
}
