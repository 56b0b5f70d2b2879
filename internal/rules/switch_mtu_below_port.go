package rules

import (
	"fmt"

	"linerate/internal/model"
)

// frameExtra is what an Ethernet frame adds to a packet: 14 bytes of header and 4
// of checksum (IEEE 802.3 clause 3.2).
const frameExtra = 18

func switchMTU() Rule {
	return Rule{
		ID:     "switch-mtu-below-port",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "The switch port announces a smaller frame size than the host sends: it silently drops larger frames.",
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
					Fix:      fmt.Sprintf("set this port and all others on the path to frames of at least %d bytes; some switches report a constant: linerate check with both hosts proves what passes", n.MTU+frameExtra),
					Source:   "IEEE 802.1AB annex on 802.3 (maximum frame size); RFC 2863 (ifMtu); RFC 2923 section 2.1",
				}
			})
		},
	}
}

// eachSwitchPort is each for the switch ports that the host's interfaces are plugged into.
func eachSwitchPort(f *model.Facts, check func(n *model.NIC, p model.SwitchPort) *model.Finding) []model.Finding {
	return each(f.Switches, func(p model.SwitchPort) *model.Finding {
		if n := nicNamed(f, p.Interface); n != nil {
			return check(n, p)
		}
		return nil
	})
}

// switchPortText names a port of a switch, and the source of its facts.
func switchPortText(p model.SwitchPort) string {
	name := p.System
	if name == "" {
		name = p.Chassis
	}
	return fmt.Sprintf("%s of switch %s (by %s)", p.Port, name, p.Source)
}
