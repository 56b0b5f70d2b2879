package lab

import (
	"context"
	"testing"
	"time"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// Traffic for the fast port takes the slow one while the wrong route is in, and
// the fast one again afterwards: the links' own counters tell.
func TestWrongRoute(t *testing.T) {
	t.Parallel()
	topo, err := topology.Find("dual-homed")
	if err != nil {
		t.Fatal(err)
	}
	leavesByTheSlowPort(t, topo.Scaled(false), "wrong-route", "client1.eth1-jumbo", "client1-house")
}

// twoPorts has a NAS with two ports on one switch, of which the slow one is
// nearer: it answers first where a host answers for all its addresses.
const twoPorts = `
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

// The same with a host that answers for all its addresses on every port.
func TestARPFlux(t *testing.T) {
	t.Parallel()
	topo, err := topology.Parse("two-ports.yaml", []byte(twoPorts))
	if err != nil {
		t.Fatal(err)
	}
	leavesByTheSlowPort(t, topo, "arp-flux", "nas1-switch1", "nas1.eth1-switch1")
}

func leavesByTheSlowPort(t *testing.T, topo topology.Topology, id, fastLink, slowLink string) {
	t.Helper()
	labtest.Needs(t, "ip")
	l := upLab(t, topo)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	used := func() (fast, slow unit.Bytes) {
		t.Helper()
		before, _, err := l.LinkStats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transferBetween(ctx, l, "client1", "nas1", time.Second, 0); err != nil {
			t.Fatal(err)
		}
		after, _, err := l.LinkStats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// Of the two directions the one that carried data.
		sent := func(link string) unit.Bytes {
			a, b := after.Links[link], before.Links[link]
			return unit.Bytes(max(a[0].WireBytes-b[0].WireBytes, a[1].WireBytes-b[1].WireBytes))
		}
		return sent(fastLink), sent(slowLink)
	}
	const little = 100 * unit.KB // ARP and the like
	if fast, slow := used(); fast < unit.MB || slow > little {
		t.Fatalf("healthy: %v over the fast port, %v over the slow one", fast, slow)
	}
	in, err := fault.Parse([]string{id}, l.Topology())
	if err != nil {
		t.Fatal(err)
	}
	undo, err := in.Inject(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	if fast, slow := used(); slow < unit.MB {
		t.Errorf("%s: %v over the fast port, %v over the slow one", id, fast, slow)
	}
	if err := undo(ctx); err != nil {
		t.Fatal(err)
	}
	if fast, slow := used(); fast < unit.MB || slow > little {
		t.Errorf("afterwards: %v over the fast port, %v over the slow one", fast, slow)
	}
}
