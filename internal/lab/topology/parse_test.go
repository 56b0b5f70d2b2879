package topology

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

const good = `name: mine
title: two hosts
hosts:
  a: {interfaces: {eth0: {address: 10.0.0.1/24}}}
  b: {interfaces: {eth0: {address: 10.0.0.2/24, mtu: 9000}}}
switches:
  sw: {mtu: 9216}
links:
  - {between: [a.eth0, sw], rate: 1Gbit/s, rtt: 2ms}
  - between: [b.eth0, sw]
    rate: 10Gbit/s
    delay: 1ms
    back: {rate: 100Mbit/s, loss: 0.1%}
flow: {from: [a], to: b, via: eth0}
`

func TestParse(t *testing.T) {
	got, err := Parse("mine.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	l, ok := got.Link("b-sw")
	if !ok || l.AB.Rate != 10*unit.Gbit || l.BA.Rate != 100*unit.Mbit || l.BA.Loss != 0.001 || l.AB.Loss != 0 || l.BA.Delay != time.Millisecond || l.Line != 10 {
		t.Errorf("link b-sw: %+v", l)
	}
	rate, rtt, mtu := got.Ceiling("a", "b", "eth0")
	if rate != 100*unit.Mbit || rtt != 4*time.Millisecond || mtu != 1500 {
		t.Errorf("ceiling %s, %s, MTU %d", rate, rtt, mtu)
	}
	if s := got.Scaled(false); s.Links[0].AB.Rate != 100*unit.Mbit || s.Links[0].AB.Queue != 256*unit.KiB || got.Links[0].AB.Rate != unit.Gbit {
		t.Errorf("scaled: %+v", s.Links[0])
	}
}

// Each edit of the good file is refused with its line and reason.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"[a.eth0, sw]", "[c.eth0, sw]", `mine.yaml:9: link c.eth0 - sw: there is no host or switch "c"; there are a, b, sw`},
		{"[a.eth0, sw]", "[a.eth1, sw]", `mine.yaml:9: link a.eth1 - sw: host a has no interface "eth1"`},
		{"[a.eth0, sw]", "[a, sw]", `mine.yaml:9: link a - sw: say which interface of host a`},
		{"[a.eth0, sw]", "[a.eth0, sw.p1]", `mine.yaml:9: link a.eth0 - sw.p1: a switch has as many ports as links join it, without names: say sw, not sw.p1`},
		{"[a.eth0, sw]", "[sw, sw]", `joins a thing with itself`},
		{"[a.eth0, sw]", "[b.eth0, sw]", `mine.yaml:10: link b.eth0 - sw: b.eth0 is on another link already`},
		{"[a.eth0, sw]", "[a.eth0]", `mine.yaml:9: a link is between two ends`},
		{"rate: 1Gbit/s", "rate: 0Gbit/s", `mine.yaml:9: link a.eth0 - sw: rate 0 bit/s: want more than 0`},
		{"rate: 1Gbit/s", "rate: 1Pbit/s", `mine.yaml:9: rate: "1Pbit/s": want a rate such as 10Gbit/s`},
		{"rate: 1Gbit/s", "rate: 900Gbit/s", `at most 400 Gbit/s`},
		{"rate: 1Gbit/s, ", "", `mine.yaml:9: link a.eth0 - sw: rate 0 bit/s`},
		{"rtt: 2ms", "rtt: 5s", `mine.yaml:9: link a.eth0 - sw: delay 2.5s: want 0 to 1s one way`},
		{"rtt: 2ms", "rtt: 2", `mine.yaml:9: rtt: "2": want a time such as 5ms`},
		{"rtt: 2ms", "rrt: 2ms", `mine.yaml:9: links: there is no key "rrt"; did you mean rtt?`},
		{"loss: 0.1%", "loss: 200%", `mine.yaml:13: loss: "200%": want a share`},
		{"mtu: 9000", "mtu: 90000", `mine.yaml:5: interface b.eth0: MTU 90000: want 576 to 9216`},
		{"10.0.0.2/24", "10.0.0.1/24", `mine.yaml:5: address 10.0.0.1 of b.eth0 is that of a.eth0`},
		{"10.0.0.2/24", "10.0.1.2/24", `are joined, but on different networks`},
		{"10.0.0.2/24", "8.8.8.8/24", `want a private IPv4 address`},
		{"10.0.0.2/24", "10.0.0.0/24", `want a private IPv4 address`},
		{"  b: {", "  a: {", `mine.yaml:5: not YAML: mapping key "a" already defined`},
		{"  b: {", "  sw: {", `another host or switch of that name`},
		{"  b: {", "  B_1: {", `a name has lower-case letters`},
		{"  b: {", "  b: {kind: cloud, ", `mine.yaml:5: host b: kind "cloud": choose namespace, kernel or device`},
		{"  b: {", "  b: {memory: 1KB, ", `want at least 32 MiB`},
		{"  b: {", "  b: {servers: [ftp], ", `there is no server "ftp"`},
		{"  b: {", "  b: {servers: [{kind: nfs, disk: x}], ", `the host has no disk "x"`},
		{"  b: {", "  b: {routes: [{to: default, via: 10.9.0.1}], ", `no interface of the host is on that network`},
		{"to: b,", "to: z,", `mine.yaml:1: flow: say from which hosts to which`},
		{"from: [a]", "from: [b]", `has no way to`},
		{"between: [a.eth0, sw]", "direct: true, between: [a.eth0, sw]", `a direct link joins two hosts`},
		{"flow:", "flaw:", `there is no key "flaw"; did you mean flow?`},
		{"name: mine", "name: [", `not YAML`},
		{good, "", `want one YAML document`},
		{good, "just text", `want keys such as name`},
		{"links:", "links: 7\nlonks:", `did you mean links?`},
	} {
		src := strings.Replace(good, c.old, c.new, 1)
		if _, err := Parse("mine.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v; want %q", c.new, c.old, err, c.want)
		}
	}
}

func TestSwitchesInALoop(t *testing.T) {
	src := strings.Replace(good, "  sw: {mtu: 9216}\n", "  sw: {}\n  s2: {}\n", 1)
	src = strings.Replace(src, "links:\n", "links:\n  - {between: [sw, s2], rate: 1Gbit/s}\n  - {between: [s2, sw], rate: 1Gbit/s}\n", 1)
	if _, err := Parse("mine.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), "mine.yaml:11: link s2 - sw closes a loop of switches") {
		t.Error(err)
	}
}

func TestNetworksThatOverlap(t *testing.T) {
	src := strings.Replace(good, "{eth0: {address: 10.0.0.1/24}}", "{eth0: {address: 10.0.0.1/24}, eth1: {address: 10.0.0.9/25}}", 1)
	src = strings.Replace(src, "mtu: 9000}}", "mtu: 9000}, eth1: {address: 10.0.0.8/25}}", 1)
	src = strings.Replace(src, "links:\n", "links:\n  - {between: [a.eth1, b.eth1], rate: 1Gbit/s}\n", 1)
	if _, err := Parse("mine.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), "overlaps with") {
		t.Error(err)
	}
}

// Several things wrong are told at once, in the order of the file.
func TestAllProblemsAtOnce(t *testing.T) {
	src := strings.NewReplacer("rtt: 2ms", "rtt: x", "delay: 1ms", "delay: y").Replace(good)
	_, err := Parse("mine.yaml", []byte(src))
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "mine.yaml:9:") || !strings.HasPrefix(lines[1], "mine.yaml:12:") {
		t.Errorf("%q", lines)
	}
}

func TestBuiltin(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for i, topo := range all {
		if topo.Name != Names()[i] || topo.Title == "" || topo.Paper == "" || topo.About == "" {
			t.Errorf("%s: %q %q", Names()[i], topo.Name, topo.Title)
		}
		if rate, _, mtu := topo.Ceiling(topo.Flow.Senders[0], topo.Flow.Receiver, topo.Flow.Via); rate == 0 || mtu == 0 {
			t.Errorf("%s: ceiling of its flow is %s, MTU %d", topo.Name, rate, mtu)
		}
	}
	demo, err := Demo()
	if err != nil {
		t.Fatal(err)
	}
	rate, rtt, mtu := demo.Ceiling("client1", "server1", "eth0")
	if rate != unit.Gbit || rtt != 10*time.Millisecond || mtu != 1500 || demo.Links[0].AB.Queue != 2_500_000 {
		t.Errorf("demo: %s, %s, MTU %d, queue %s", rate, rtt, mtu, demo.Links[0].AB.Queue)
	}
	if _, err := Find("nass"); err == nil || !strings.Contains(err.Error(), "there are back-to-back, cluster") {
		t.Error(err)
	}
}

// Packets for another network pass the router; those for the same one do not.
func TestPathOverARouter(t *testing.T) {
	topo, err := Find("dual-homed")
	if err != nil {
		t.Fatal(err)
	}
	slow, rtt, mtu := topo.Ceiling("client1", "nas1", "eth0")
	if slow != unit.Gbit || rtt != 600*time.Microsecond || mtu != 1500 {
		t.Errorf("over the router: %s, %s, MTU %d", slow, rtt, mtu)
	}
	fast, _, mtu := topo.Ceiling("client1", "nas1", "eth1")
	if i, ok := topo.SourceInterface("client1", "nas1", "eth1"); fast != 10*unit.Gbit || mtu != 9000 || !ok || i.Name != "eth1" {
		t.Errorf("on the jumbo network: %s, MTU %d, from %+v", fast, mtu, i)
	}
	if n := len(topo.Segments()); n != 3 {
		t.Errorf("%d segments", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, n := range append(Names(), "demo") {
		src, err := Source(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		topo, err := Parse("f", data)
		if err != nil {
			return
		}
		for _, s := range topo.Flow.Senders {
			if rate, _, mtu := topo.Ceiling(s, topo.Flow.Receiver, topo.Flow.Via); rate <= 0 || mtu <= 0 {
				t.Errorf("accepted a flow without a path:\n%s", data)
			}
		}
		topo.Scaled(false)
	})
}
