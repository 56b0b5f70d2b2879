package file

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// hostsOf are two hosts on one network, each with a port beside it.
func hostsOf() map[string]*model.Facts {
	host := func(name, addr, other string) *model.Facts {
		return &model.Facts{
			Host: name, OS: "linux", Kernel: "6.1.0-18-amd64",
			NICs: []model.NIC{
				{Name: "lo", Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
				{Name: "mgmt0", Device: "mac:02:00:00:00:00:01", Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix(other)}},
				{Name: "eth0", Device: "pci:0000:3b:00.0", Up: true, MTU: 1500, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}, Speed: model.Known(10 * unit.Gbit),
					Features: model.Known(map[string]bool{"rx-gro": true}), Ring: model.Unknown[model.Ring](model.Unsupported, "veth has none"),
					PCI: model.Known(model.PCISlot{Lanes: 4, MaxLanes: 8, GTs: 8})},
			},
			Settings: map[string]model.Fact[string]{
				"linux.sysctl.net.ipv4.tcp_available_congestion_control": model.Known("reno cubic"),
				"linux.sysctl.net.core.rmem_max":                         model.Unknown[string](model.Denied, "read-only here"),
			},
		}
	}
	return map[string]*model.Facts{"client": host("lab:client1", "10.0.0.1/24", "192.168.7.1/32"), "server": host("lab:server1", "10.0.0.2/24", "192.168.8.1/32")}
}

func checkerOf(t *testing.T, factors string) *Checker {
	t.Helper()
	text := "v: 1\nname: t\nhosts: {client: lab:client1, server: lab:server1}\nfactors:\n" + factors +
		"workloads: [{name: bulk, senders: [server], receivers: [client]}]\n"
	f, err := Parse("t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return NewChecker(f, hostsOf())
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, factors, want string }{
		{"fine", "- {name: a, levels: [{name: x, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu: 9000}}}]}\n", ""},
		{"no such device", "- {name: a, levels: [{name: x, set: {client: {linux.link.mtu@eth9: 9000}}}]}\n", "there is no interface eth9"},
		{"no such feature", "- {name: a, levels: [{name: x, set: {client: {linux.ethtool.features: rx-lro=on}}}]}\n", "no feature rx-lro"},
		{"no rings", "- {name: a, levels: [{name: x, set: {client: {linux.ethtool.ring: rx=4096}}}]}\n", "veth has none"},
		{"read-only", "- {name: a, levels: [{name: x, set: {client: {linux.sysctl.net.core.rmem_max: 4194304}}}]}\n", "read-only here"},
		{"no bbr", "- {name: a, levels: [{name: x, set: {server: {linux.sysctl.net.ipv4.tcp_congestion_control: bbr}}}]}\n", "there is no bbr"},
		{"no vegas for the workload", "- {name: a, levels: [{name: x, workload: {congestion: vegas}}]}\n", "a x: congestion on server: there is no vegas; the kernel has reno cubic"},
		{"cubic for the workload", "- {name: a, levels: [{name: x, workload: {congestion: cubic}}]}\n", ""},
		{"no mount", "- {name: a, levels: [{name: x, set: {client: {linux.bdi.nfs_readahead: 1024}}}]}\n", "no NFS is mounted"},
		{"security", "- {name: a, levels: [{name: x, set: {client: {linux.sysctl.net.ipv4.tcp_timestamps: 0}}}]}\n", "trades data safety"},
		{"already so", "- {name: a, levels: [{name: x, set: {client: {linux.sysctl.net.ipv4.tcp_sack: 1}}}]}\n", "nothing to compare"},
		{"workload already so", "- {name: a, levels: [{name: x, workload: {streams: 1}}]}\n", "nothing to compare"},
		{"cannot be verified", "- {name: a, operator: true, levels: [{name: x, instruct: do, back: undo, verify: {host: server, fact: nic.firmware, is: 3}}]}\n", "could not be verified"},
		{"done already", "- {name: a, operator: true, levels: [{name: x, instruct: do, back: undo, verify: {host: server, fact: nic.slot.width@eth0, is: 4}}]}\n", "reads 4 already"},
	} {
		k := checkerOf(t, c.factors)
		for _, a := range k.Asks() {
			k.Now[a] = "1500"
			if strings.HasSuffix(a.Setting, "tcp_sack") {
				k.Now[a] = "1"
			}
		}
		got := k.Problems()
		if c.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if len(got) != 1 || !strings.Contains(got[0].What, c.want) || got[0].Next == "" || got[0].Fatal != (c.name != "security") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestCheckNeedsRootAndItsSystem(t *testing.T) {
	k := checkerOf(t, "- {name: a, levels: [{name: x, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu: 9000}}}]}\n")
	k.Facts["client"].UID = 1000
	k.Facts["server"].OS = "windows"
	got := k.Problems()
	if len(got) != 2 || !strings.Contains(got[0].What, "without root") || !strings.Contains(got[1].What, "runs windows") {
		t.Errorf("%+v", got)
	}
	delete(k.Facts, "client")
	delete(k.Facts, "server")
	if got := k.Problems(); len(got) != 0 {
		t.Errorf("of hosts that nobody looked at: %+v", got)
	}
}

func TestChangesAndAsks(t *testing.T) {
	k := checkerOf(t, "- {name: a, levels: [{name: x, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu@eth0: 9000}}}]}\n")
	asks := k.Asks()
	want := []Ask{{"client", "linux.link.mtu", "pci:0000:3b:00.0", "9000"}, {"server", "linux.link.mtu", "pci:0000:3b:00.0", "9000"}}
	if !slices.Equal(asks, want) {
		t.Errorf("%+v", asks)
	}
	k.Now[asks[0]] = "1500"
	got := k.Changes()
	if len(got) != 2 || got[0].Now != "1500" || got[0].Target != "eth0" || got[0].Needs != "link flap" || !got[0].Cuts || got[1].Now != "" {
		t.Errorf("%+v", got)
	}
}

// Two networks between the hosts: which one carries the data is not guessed.
func TestPathIsNotGuessed(t *testing.T) {
	k := checkerOf(t, "- {name: a, levels: [{name: x, set: {client: {linux.link.mtu: 9000}}}]}\n")
	for i, name := range []string{"client", "server"} {
		k.Facts[name].NICs[1].Addrs = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 7, byte(i + 1)}), 24)}
	}
	if got := k.Problems(); len(got) != 1 || !strings.Contains(got[0].What, "2 networks") {
		t.Errorf("%+v", got)
	}
	k.File.Via = "10.0.0.2"
	if got := k.Problems(); len(got) != 0 {
		t.Errorf("with via: %+v", got)
	}
}

func TestDefault(t *testing.T) {
	f := hostsOf()["client"]
	if got := Default(f, "linux.link.mtu"); got == "" {
		t.Error("the default MTU is not known")
	}
	if got := Default(f, "linux.nonsense"); got != "" {
		t.Errorf("%q", got)
	}
}

// What is in force already is left out, unless nothing would be left.
func TestLeaveOut(t *testing.T) {
	const sack, mtu = "- {name: a, levels: [{name: x, set: {client: {linux.sysctl.net.ipv4.tcp_sack: 1}}}]}\n", "- {name: b, levels: [{name: y, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu: 9000}}}]}\n"
	for _, c := range []struct {
		factors     string
		left, notes int
	}{{sack + mtu, 1, 1}, {mtu, 1, 0}, {sack, 1, 0}} {
		k := checkerOf(t, c.factors)
		for _, a := range k.Asks() {
			if k.Now[a] = "1500"; strings.HasSuffix(a.Setting, "tcp_sack") {
				k.Now[a] = "1"
			}
		}
		notes := k.LeaveOut()
		if len(notes) != c.notes || len(k.File.Factors) != c.left {
			t.Errorf("%q: %d factors left, %+v", c.factors, len(k.File.Factors), notes)
		}
		if left := k.File.LeftOut; len(left) != c.notes || c.notes == 1 && (left[0].Name != "a" || len(left[0].Levels) != 1 || left[0].Levels[0].Name != "x") {
			t.Errorf("%q: left out %+v", c.factors, left)
		}
		if c.notes == 1 && (notes[0].Fatal || k.File.Factors[0].Name != "b" || len(k.Problems()) != 0) {
			t.Errorf("%q: %+v, then %+v", c.factors, notes, k.Problems())
		}
	}
}

// Problems say where in the file what they are of stands.
func TestProblemsHaveLines(t *testing.T) {
	const text = `v: 1
name: t
hosts:
  client: lab:client1
  server: lab:server1
baseline:
  - {name: s, set: {client: {linux.ethtool.ring: rx=4096}}}
factors:
  - name: a
    levels:
      - name: x
        workload: {congestion: vegas}
      - {name: y, set: {server: {linux.link.mtu@eth9: 9000}}}
workloads:
  - {name: bulk, senders: [server], receivers: [client]}
  - {name: other, senders: [server], receivers: [client], congestion: vegas}
primary: bulk
budget: 1h
`
	f, err := Parse("t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k := NewChecker(f, hostsOf())
	k.Lines = LinesOf([]byte(text))
	got := map[int]string{}
	for _, p := range k.Problems() {
		got[p.Line] = p.What
	}
	for line, want := range map[int]string{7: "veth has none", 11: "no vegas", 13: "no interface eth9", 16: "no vegas"} {
		if !strings.Contains(got[line], want) {
			t.Errorf("line %d: %q, want %q in it", line, got[line], want)
		}
	}
	if l := k.Lines; l.Hosts["server"] != 5 || l.Budget != 18 || l.Workloads["bulk"] != 15 || l.Levels[[2]string{"a", "nothing"}] != 0 {
		t.Errorf("%+v", l)
	}
}

// A setting that cannot be read on one of its hosts could not be put back there.
func TestUnreadSettingIsRefused(t *testing.T) {
	k := checkerOf(t, "- {name: a, levels: [{name: x, set: {client: {linux.sysctl.net.core.busy_poll: 50}, server: {linux.sysctl.net.core.busy_poll: 50}}}]}\n")
	for _, a := range k.Asks() {
		if k.Now[a] = "0"; a.Host == "server" {
			delete(k.Now, a)
			k.Unread[a] = "no such file"
		}
	}
	got := k.Problems()
	if len(got) != 1 || !got[0].Fatal || !strings.Contains(got[0].What, "busy_poll on server cannot be read") || !strings.Contains(got[0].What, "no such file") {
		t.Errorf("%+v", got)
	}
}

// What a lab does in the operator's place needs no fact where all hosts are of one
// lab, and is nothing without what hands would do.
func TestLabInTheOperatorsPlace(t *testing.T) {
	const level = "- {name: cable, operator: true, levels: [{name: bent, LEVEL}]}\n"
	for _, c := range []struct{ hosts, level, want string }{
		{"{client: lab:client1, server: lab:server1}", "instruct: bend it, back: straighten it, lab: loss-random mild", ""},
		{"{client: lab:client1, server: lab:server1}", "instruct: fill the pool, back: remove what fills it, lab: host:server1 fill=80%", ""},
		{"{client: lab:a/client1, server: lab:a/server1}", "instruct: bend it, back: straighten it, lab: ['host:server1', 'tcp_rmem=4096 131072 262144']", ""},
		{"{client: lab:a/client1, server: lab:b/server1}", "instruct: bend it, back: straighten it, lab: loss-random mild", "not all of one lab"},
		{"{client: lab:client1, server: root@nas1}", "instruct: bend it, back: straighten it, lab: loss-random mild", "not all of one lab"},
		{"{client: lab:client1, server: root@nas1}", "instruct: bend it, back: straighten it, lab: loss-random mild, verify: {host: server, fact: nic.speed, is: 1Gbit}", ""},
		{"{client: lab:client1, server: lab:server1}", "instruct: bend it, back: straighten it", "needs verify"},
		{"{client: lab:client1, server: lab:server1}", "lab: loss-random mild, workload: {streams: 2}", "say with instruct"},
	} {
		text := "v: 1\nname: t\nhosts: " + c.hosts + "\nfactors:\n" + strings.Replace(level, "LEVEL", c.level, 1) + "workloads: [{name: bulk, senders: [server], receivers: [client]}]\n"
		if strings.Contains(c.level, "workload") {
			text = strings.Replace(text, "operator: true, ", "", 1)
		}
		f, err := Parse("t", []byte(text))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line 5")) {
			t.Errorf("%s: %v, want %q", c.level, err, c.want)
		}
		if err != nil {
			continue
		}
		if l := f.Factors[0].Levels[0]; len(l.Lab) != 2 || ByLab(f, l) != !strings.Contains(c.hosts, "nas1") {
			t.Errorf("%s: %q, by the lab %v", c.level, l.Lab, ByLab(f, l))
		}
	}
}
