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
