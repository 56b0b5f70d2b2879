package setter

import "testing"

func TestInterfacesByName(t *testing.T) {
	for _, c := range []struct {
		at      Place
		name    string
		renamed Place
	}{
		{Place{"linux.link.mtu", "if:bond0"}, "bond0", Place{"linux.link.mtu", "if:new0"}},
		{Place{"linux.link.mtu", "pci:0000:3b:00.0"}, "", Place{"linux.link.mtu", "pci:0000:3b:00.0"}},
		{Place{"linux.sysctl.net.ipv4.conf.eth0.100.rp_filter", ""}, "eth0.100", Place{"linux.sysctl.net.ipv4.conf.new0.rp_filter", ""}},
		{Place{"linux.sysctl.net.ipv6.neigh.eth0.gc_stale_time", ""}, "eth0", Place{"linux.sysctl.net.ipv6.neigh.new0.gc_stale_time", ""}},
		{Place{"linux.sysctl.net.ipv4.conf.all.rp_filter", ""}, "", Place{"linux.sysctl.net.ipv4.conf.all.rp_filter", ""}},
		{Place{"linux.sysctl.net.ipv4.tcp_rmem", ""}, "", Place{"linux.sysctl.net.ipv4.tcp_rmem", ""}},
		{Place{"linux.sysctl.net.ipv4.conf.rp_filter", ""}, "", Place{"linux.sysctl.net.ipv4.conf.rp_filter", ""}},
	} {
		if name, ok := InterfaceNamed(c.at); ok != (c.name != "") || ok && name != c.name {
			t.Errorf("%s: %q, %v", c.at, name, ok)
		}
		if got := Renamed(c.at, "new0"); got != c.renamed {
			t.Errorf("%s renamed: %s, want %s", c.at, got, c.renamed)
		}
	}
}
