package cli

import (
	"net/netip"
	"strings"
	"testing"

	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/tune/profile"
)

// The other end is planned along where its port takes less than this one is to
// send, and only there.
func TestALargerMTUIsPlannedAtBothEnds(t *testing.T) {
	port := func(mtu int) *model.Facts {
		return &model.Facts{NICs: []model.NIC{{Name: "lo"}, {Name: "ens5", Device: "pci:0000:05:00.0", MTU: mtu, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}}}
	}
	row := func(dev, from, to string) profile.Row {
		return profile.Row{Place: profile.Place{Setting: "linux.link.mtu", Target: "pci:0000:03:00.0"}, Device: dev, Now: from, To: to, Change: true, Typed: true, Cuts: true}
	}
	for name, c := range map[string]struct {
		row    profile.Row
		there  *model.Facts
		raised bool
		far    string
	}{
		"both":                 {row("eth0", "1500", "9000"), port(1500), true, "1500 to 9000"},
		"it takes them":        {row("eth0", "1500", "9000"), port(9000), true, ""},
		"it takes more":        {row("eth0", "1500", "9000"), port(9216), true, ""},
		"lower":                {row("eth0", "9000", "1500"), port(9000), false, ""},
		"another port":         {row("eth1", "1500", "9000"), port(1500), false, ""},
		"not looked at":        {row("eth0", "1500", "9000"), nil, false, ""},
		"an address of nobody": {row("eth0", "1500", "9000"), &model.Facts{}, true, ""},
	} {
		d := &drafted{name: "nas1", there: c.there, peerTo: netip.MustParseAddr("10.0.0.2"), rows: []profile.Row{c.row}, path: profile.Path{Dev: "eth0"}}
		d.o.to = "client1"
		if c.there != nil {
			d.peer = &host.Client{}
		}
		d.findFar()
		if raised := d.raisedMTU() != nil; raised != c.raised {
			t.Errorf("%s: raised %v", name, raised)
		}
		if c.far == "" {
			if d.far != nil || len(d.ends()) != 1 {
				t.Errorf("%s: %+v", name, d.far)
			}
			continue
		}
		if d.far == nil || d.far.Now+" to "+d.far.To != c.far || d.far.Target != "pci:0000:05:00.0" || d.far.Device != "ens5" || d.far.Typed || !d.far.Cuts {
			t.Fatalf("%s: %+v", name, d.far)
		}
		doc := d.plan()
		if len(doc.Plan) != 2 || doc.Plan[0].Host != "nas1" || doc.Plan[1].Host != "client1" || len(d.ends()) != 2 {
			t.Errorf("%s: %+v", name, doc.Plan)
		}
		var text strings.Builder
		if err := doc.page().Text(&text, false, 80); err != nil || !strings.Contains(text.String(), "link.mtu@ens5 on client1\n    1500 → 9000\n") {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
	}
}
