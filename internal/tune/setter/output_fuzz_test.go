package setter

import (
	"context"
	"strings"
	"testing"

	"linerate/internal/kernel"
)

// What iscsiadm prints becomes a value that Write would take back, or an error.
func FuzzISCSIOutput(f *testing.F) {
	f.Add("node.session.cmds_max = 128\nnode.session.queue_depth = 32\n")
	f.Add("node.session.cmds_max = 128\nnode.session.cmds_max = 64\n")
	at := Place{Setting: iscsiPrefix + "queue", Target: "iscsi:iqn.2001-04.com.example:t1,192.0.2.1:3260"}
	f.Fuzz(func(t *testing.T, out string) {
		for setting := range iscsiSettings() {
			at.Setting = iscsiPrefix + setting
			i := ISCSI{Run: func(context.Context, ...string) ([]byte, error) { return []byte(out), nil }}
			v, err := i.Read(t.Context(), at, "")
			if err != nil {
				continue
			}
			if c, err := i.Canonical(at, v); err != nil || c != v {
				t.Errorf("%s of %q reads %q, which is %q (%v)", setting, out, v, c, err)
			}
		}
	})
}

// The name of a route, of a journal that may be damaged, is one that can be written again,
// or an error; so is a table of receive queues.
func FuzzPlaces(f *testing.F) {
	f.Add("route:default,dev=eth0", uint32(8), "default")
	f.Add("route:10.0.0.0/8,via=10.0.0.1,metric=100", uint32(1), "weight=1,2")
	f.Add("if:eth0", uint32(0), "equal=4")
	f.Fuzz(func(t *testing.T, target string, slots uint32, like string) {
		_, _ = routeKey(Place{Setting: routePrefix + "mtu", Target: target}) // errors are fine
		table := make([]uint32, 1+slots%1024)
		for i := range table {
			table[i] = uint32(i) % max(1, slots%7)
		}
		if form, err := tableForm(kernel.RSS{Table: table, Rings: int(1 + slots%64)}, like); err == nil && strings.ContainsAny(form, " \n;'") {
			t.Errorf("%d slots: %q", len(table), form)
		}
	})
}
