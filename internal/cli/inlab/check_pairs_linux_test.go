package inlab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"linerate/internal/cli"
	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/report"
)

// checkPairs runs check over hosts of a lab; exit code 1 is an answer too.
func (u labUser) checkPairs(t testing.TB, hosts ...string) report.Check {
	t.Helper()
	cmd := u.command(append([]string{"check", "--json"}, hosts...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	var code *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &code) || code.ExitCode() != cli.ExitFailed) {
		t.Fatalf("%v: %s", err, said.String())
	}
	var c report.Check
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return c
}

// rulesOf lists what was found of a pair.
func rulesOf(p report.Pair) string {
	var ids []string
	for _, f := range p.Findings {
		ids = append(ids, f.Rule)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}

func orZero(v *int) int {
	if v == nil {
		return 0
	}
	return *v
}

// twoPortNAS has two ports in one network, of which the slow one is nearer.
const twoPortNAS = `
name: two-ports
title: a NAS with two ports on one switch
about: A test's.
hosts:
  client1: {interfaces: {eth0: {address: 10.78.0.1/24}}}
  nas1: {interfaces: {eth0: {address: 10.78.0.11/24}, eth1: {address: 10.78.0.12/24}}}
switches:
  switch1: {mtu: 1500}
links:
  - {between: [client1.eth0, switch1], rate: 200Mbit/s, rtt: 1ms, queue: 512KB}
  - {between: [nas1.eth0, switch1], rate: 200Mbit/s, rtt: 20ms, queue: 512KB}
  - {between: [nas1.eth1, switch1], rate: 100Mbit/s, rtt: 1ms, queue: 512KB}
flow: {from: [client1], to: nas1, via: eth0}
`

// Each fault of the way between two hosts is named from both ends, and nothing
// else is; a healthy pair has no findings, before and after.
func TestPairsInTheLab(t *testing.T) {
	t.Parallel()
	needRoot(t)
	labtest.Needs(t, "ip")
	file := filepath.Join(t.TempDir(), "two-ports.yaml")
	if err := os.WriteFile(file, []byte(twoPortNAS), 0o644); err != nil {
		t.Fatal(err)
	}
	type fault struct {
		add        []string
		rules      string
		there, bck int // path MTU; 0: none can be told
	}
	for _, lab := range []struct {
		up     string
		mtu    int
		faults []fault
	}{
		{"dual-homed", 9000, []fault{
			{[]string{"mtu-switch", "severe"}, "pair-mtu-blackhole", 1500, 1500},
			{[]string{"mtu-blackhole", "mild"}, "pair-mtu-blackhole", 8955, 8955},
			{[]string{"host-mtu", "medium"}, "pair-mtu-differs", 1504, 1500}, // a veth takes four more, for a VLAN tag
			{[]string{"wrong-route"}, "pair-wrong-port", 1500, 9000},
			{[]string{"asymmetric-route"}, "pair-reverse-path-drops pair-wrong-port", 0, 1500},
		}},
		{file, 1500, []fault{{[]string{"arp-flux"}, "pair-arp-flux", 1500, 1500}}},
	} {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", lab.up)
		look := func(what string) report.Pair {
			c := u.checkPairs(t, "lab:client1", "lab:nas1")
			if len(c.Pairs) != 1 {
				t.Fatalf("%s: %d pairs", what, len(c.Pairs))
			}
			return c.Pairs[0]
		}
		healthy := func(what string) {
			p := look(what)
			if len(p.Findings) > 0 || len(p.CouldNotSee) > 0 || orZero(p.MTUAToB) != lab.mtu || orZero(p.MTUBToA) != lab.mtu || p.RTT == nil || *p.RTT <= 0 || p.Datagrams == 0 {
				t.Errorf("%s: %+v", what, p)
			}
		}
		healthy("before")
		for i, f := range lab.faults {
			u.run(t, append([]string{"lab", "fault", "add"}, f.add...)...)
			p := look(f.add[0])
			// Which port's answer is the first one is a race that a busy machine may decide.
			for try := 0; f.add[0] == "arp-flux" && rulesOf(p) == "" && try < 5; try++ {
				u.run(t, "lab", "exec", "client1", "--", "ip", "neigh", "flush", "all")
				p = look(f.add[0])
			}
			if rulesOf(p) != f.rules || orZero(p.MTUAToB) != f.there || orZero(p.MTUBToA) != f.bck {
				t.Errorf("%s: %q, path MTU %d and %d: %+v", f.add[0], rulesOf(p), orZero(p.MTUAToB), orZero(p.MTUBToA), p)
			}
			u.run(t, "lab", "fault", "remove", strconv.Itoa(i+1))
		}
		healthy("afterwards")
		u.run(t, "lab", "down", "--all")
	}
}

// Of five one cannot be reached: it is named, and the pairs of the others are
// told.
func TestPairsWithoutTheUnreachable(t *testing.T) {
	t.Parallel()
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "dual-homed")
		c := u.checkPairs(t, "lab:client1", "lab:gone", "lab:nas1", "lab:router1", "localhost")
		if len(c.Hosts) != 5 || c.Hosts[1].Error == "" || !strings.Contains(c.Hosts[1].Error, "gone") {
			t.Fatalf("%+v", c.Hosts[1])
		}
		var names []string
		for _, p := range c.Pairs {
			names = append(names, p.A+" "+p.B)
			if lab := strings.Count(p.A+p.B, "lab:") == 2; lab && (p.RTT == nil || len(p.Findings) > 0) || !lab && len(p.CouldNotSee) == 0 {
				t.Errorf("%+v", p)
			}
		}
		want := "lab:client1 lab:nas1,lab:client1 lab:router1,lab:client1 localhost,lab:nas1 lab:router1,lab:nas1 localhost,lab:router1 localhost"
		if got := strings.Join(names, ","); got != want {
			t.Errorf("pairs %s, want %s", got, want)
		}
	})
}

// speakLLDP is a switch at the far end of an interface's cable: it tells of its
// port until its stdin ends.
func speakLLDP(ifname string) error {
	port, err := kernel.OpenPacketPort(ifname, 1)
	if err != nil {
		return err
	}
	frame := append(make([]byte, kernel.VnetHeaderLen), 0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc)
	for _, e := range []struct {
		kind byte
		v    string
	}{{1, "\x04\x02\x00\x00\x00\x00\x09"}, {2, "\x05Ethernet7"}, {3, "\x00\x78"}, {5, "sw1"}, {127, "\x00\x12\x0f\x04\x05\xee"}, {0, ""}} {
		frame = append(frame, e.kind<<1, byte(len(e.v)))
		frame = append(frame, e.v...)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // any end is one
		close(ended)
	}()
	for {
		if _, err := port.Send(frame); err != nil {
			return err
		}
		select {
		case <-ended:
			return port.Close()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A switch that tells of a port of MTU 1500 before a host of 9000 is believed as
// far as it goes; who is not told anything says so.
func TestCheckHearsTheSwitch(t *testing.T) {
	t.Parallel()
	needRoot(t)
	u := newLabUser(t, 0)
	u.run(t, "lab", "up", "dual-homed")
	cmd := u.command("lab", "exec", "nas1", "--", selfPath())
	cmd.Env = append(cmd.Env, copyRole+"=lldp eth1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // its end is the end of the switch
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	c := u.checkPairs(t, "lab:client1", "lab:router1", "--lldp", "5s")
	at := c.Hosts[0].Facts.Switches
	if len(at) != 1 || at[0].Interface != "eth1" || at[0].Port != "Ethernet7" || at[0].System != "sw1" || at[0].Source != "lldp" || at[0].MTU.Value != 1518 {
		t.Errorf("%+v", at)
	}
	found := func(h report.HostCheck) bool {
		return slices.ContainsFunc(h.Findings, func(f report.CheckFinding) bool { return f.Rule == "switch-mtu-below-port" })
	}
	if !found(c.Hosts[0]) || found(c.Hosts[1]) {
		t.Errorf("%+v", c.Hosts[0].Findings)
	}
	deaf := func(b model.Blind) bool { return b.What == "what switches say by LLDP" }
	if !slices.ContainsFunc(c.Hosts[1].CouldNotSee, deaf) || slices.ContainsFunc(c.Hosts[0].CouldNotSee, deaf) {
		t.Errorf("%+v; %+v", c.Hosts[0].CouldNotSee, c.Hosts[1].CouldNotSee)
	}
}

// twoRouters narrow the path between themselves.
const twoRouters = `name: chain
title: two routers in a row
hosts:
  client1: {interfaces: {eth0: {address: 10.81.1.10/24, mtu: 9000}}, routes: [{to: default, via: 10.81.1.1}]}
  router1: {forward: true, interfaces: {eth0: {address: 10.81.1.1/24, mtu: 9000}, eth1: {address: 10.81.2.1/24, mtu: 1500}}, routes: [{to: 10.81.3.0/24, via: 10.81.2.2}]}
  router2: {forward: true, interfaces: {eth0: {address: 10.81.2.2/24, mtu: 1500}, eth1: {address: 10.81.3.1/24, mtu: 9000}}, routes: [{to: 10.81.1.0/24, via: 10.81.2.1}]}
  nas1: {interfaces: {eth0: {address: 10.81.3.20/24, mtu: 9000}}, routes: [{to: default, via: 10.81.3.1}]}
links:
  - {between: [client1.eth0, router1.eth0], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [router1.eth1, router2.eth0], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [router2.eth1, nas1.eth0], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
flow: {from: [client1], to: nas1, via: eth0}
`

// The routers of a path are counted and named in order, and the MTU falls between the two that
// have the narrow link.
func TestCheckNamesTheRouters(t *testing.T) {
	t.Parallel()
	needRoot(t)
	file := filepath.Join(t.TempDir(), "chain.yaml")
	if err := os.WriteFile(file, []byte(twoRouters), 0o644); err != nil {
		t.Fatal(err)
	}
	u := newLabUser(t, 0)
	u.run(t, "lab", "up", file)
	p := u.checkPairs(t, "lab:client1", "lab:nas1").Pairs[0]
	there, back := p.AToB, p.BToA
	if orZero(there.Routers) != 2 || !slices.Equal(there.Addresses, []string{"10.81.1.1", "10.81.2.2"}) || there.Falls == nil || *there.Falls != (report.Fall{After: "10.81.1.1", Before: "10.81.2.2"}) {
		t.Errorf("there %+v, falls %+v", there, there.Falls)
	}
	if orZero(back.Routers) != 2 || !slices.Equal(back.Addresses, []string{"10.81.3.1", "10.81.2.1"}) || back.Falls == nil || *back.Falls != (report.Fall{After: "10.81.3.1", Before: "10.81.2.1"}) {
		t.Errorf("back %+v, falls %+v", back, back.Falls)
	}
}
