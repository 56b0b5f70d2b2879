package rules

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// The ports of a bond in different groups of one switch, unless LACP proves the
// switch's word wrong or two switches are meant.
func TestSwitchGroups(t *testing.T) {
	for name, c := range map[string]struct {
		partner, chassis string
		groups           [2]string
		found            bool
	}{
		"one group":        {"", "a", [2]string{"Po1", "Po1"}, false},
		"two groups":       {"", "a", [2]string{"Po1", "Po2"}, true},
		"one port in none": {"", "a", [2]string{"Po1", ""}, true},
		"LACP agreed":      {"02:00:5e:00:53:01", "a", [2]string{"Po1", ""}, false},
		"two switches":     {"", "b", [2]string{"Po1", "Po2"}, false},
	} {
		f := server()
		bonded(f).Partner = c.partner
		for i, ifname := range []string{"p0", "p1"} {
			p := model.SwitchPort{Interface: ifname, Source: "lldp", Chassis: "a", Port: "Ethernet" + ifname, Group: model.Known(c.groups[i])}
			if i == 1 {
				p.Chassis = c.chassis
			}
			f.Switches = append(f.Switches, p)
		}
		got := switchGroup().Check(f, Context{})
		if (len(got) == 1) != c.found || c.found && (got[0].Severity != High || !strings.Contains(got[0].Observed, "p1 at Ethernetp1 of switch a (by lldp): group")) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A finding on drops names the queue that dropped, or says that the switch does not tell.
func TestSwitchDropsNameTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		queues model.Fact[[]model.SwitchQueue]
		want   string
	}{
		"not told": {model.Unknown[[]model.SwitchQueue](model.Absent, "none"), "does not tell which of its queues dropped"},
		"one of two": {model.Known([]model.SwitchQueue{{Queue: "1", Rose: model.Known[int64](0)}, {Queue: "3", Rose: model.Known[int64](7)}, {Queue: "0", In: true}}),
			"; queue 3 towards the host dropped 7"},
		"none of them": {model.Known([]model.SwitchQueue{{Queue: "1"}}), "none of the queues that it tells of dropped"},
	} {
		f := server()
		plugged(func(p *model.SwitchPort) {
			p.Rose, p.Queues = model.Known(map[string]int64{"out_discards": 7, "too_large": 2}), c.queues
		})(f)
		got := switchDiscards().Check(f, Context{})
		if len(got) != 1 || !strings.HasSuffix(got[0].Observed, c.want) || !strings.Contains(got[0].Observed, "2 frames were larger") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
