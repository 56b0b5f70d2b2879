package rules

import (
	"fmt"

	"linerate/internal/model"
)

// frameExtra is what an Ethernet frame adds to a packet: 14 bytes of header and 4
// of checksum (IEEE 802.3 clause 3.2).
const frameExtra = 18

// switchMTU: the switch port says that it carries less than the host sends.
func switchMTU() Rule {
	return Rule{
		ID:     "switch-mtu-below-port",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "The switch port says that it carries smaller frames than the host sends: large ones are dropped without a message.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachSwitchPort(f, func(n *model.NIC, p model.SwitchPort) *model.Finding {
				mtu, ok := p.MTU.Get()
				need, unit := n.MTU, "packets or frames of"
				if p.Frame {
					need, unit = n.MTU+frameExtra, "frames of"
				}
				if !ok || mtu <= 0 || n.MTU <= 0 || mtu >= need {
					return nil
				}
				return &model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("the switch port of %s says that it carries less than %s sends", n.Name, n.Name),
					Observed: fmt.Sprintf("%s has MTU %d; %s carries %s up to %d", n.Name, n.MTU, switchPortText(p), unit, mtu),
					Fix:      fmt.Sprintf("set the port, and all between, to frames of at least %d bytes; some switches report a constant: check with both hosts proves what passes", n.MTU+frameExtra),
					Source:   "IEEE 802.1AB annex on 802.3 (maximum frame size); RFC 2863 (ifMtu); RFC 2923 section 2.1",
				}
			})
		},
	}
}

// eachSwitchPort collects what look finds of the switch ports that interfaces
// are plugged into.
func eachSwitchPort(f *model.Facts, look func(n *model.NIC, p model.SwitchPort) *model.Finding) []model.Finding {
	var out []model.Finding
	for _, p := range f.Switches {
		n := nicNamed(f, p.Interface)
		if n == nil {
			continue
		}
		if found := look(n, p); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// switchPortText names a port of a switch, and who says so.
func switchPortText(p model.SwitchPort) string {
	name := p.System
	if name == "" {
		name = p.Chassis
	}
	return fmt.Sprintf("%s of switch %s (by %s)", p.Port, name, p.Source)
}
