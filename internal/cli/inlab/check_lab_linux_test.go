package inlab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/topology"
	"linerate/internal/report"
	"linerate/internal/rules"
)

// checkLab looks at all hosts of a lab. The path is that of the long road of the
// catalogue.
func checkLab(t testing.TB, u labUser, topo topology.Topology, args ...string) []report.HostCheck {
	t.Helper()
	args = append([]string{"check", "--json", "--watch", "0"}, args...)
	for _, h := range topo.Hosts {
		args = append(args, "lab:"+topo.Name+"/"+h.Name)
	}
	var c report.Check
	if err := json.Unmarshal([]byte(u.run(t, args...)), &c); err != nil || len(c.Hosts) != len(topo.Hosts) {
		t.Fatalf("%d hosts of %d, %v", len(c.Hosts), len(topo.Hosts), err)
	}
	return c.Hosts
}

// costly are the findings above info.
func costly(h report.HostCheck) []report.CheckFinding {
	var out []report.CheckFinding
	for _, f := range h.Findings {
		if f.Severity != rules.Info {
			out = append(out, f)
		}
	}
	return out
}

// healthyHosts: nothing is wrong with a host of a lab in which nothing is wrong.
func healthyHosts(t testing.TB, u labUser, topo topology.Topology) {
	t.Helper()
	for _, h := range checkLab(t, u, topo) {
		for _, f := range costly(h) {
			t.Errorf("%s: nothing is wrong with it, but %s %s: %s", h.Name, f.Severity, f.Rule, f.Observed)
		}
	}
}

// twoPorts is a receiver with two ports of one subnet on one switch.
const twoPorts = `name: two-ports
title: a server with two ports on one switch
about: For faults that need two ports in one subnet.
hosts:
  client1: {interfaces: {eth0: {address: 10.40.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.40.0.2/24}, eth1: {address: 10.40.0.3/24}}}
switches: {switch: {mtu: 9216}}
links:
  - {between: [client1.eth0, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [server1.eth0, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [server1.eth1, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
flow: {from: [client1], to: server1, via: eth0}
`

// A fault that inspection can see is found while it is there, and nothing is
// found before and after. The hosts are namespaces; faults of hosts with kernels
// of their own are set by bench/check.
func TestCheckSeesFaults(t *testing.T) {
	t.Parallel()
	needRoot(t)
	labtest.Needs(t, "ip", "tc", "ethtool")
	file := filepath.Join(t.TempDir(), "two-ports.yaml")
	if err := os.WriteFile(file, []byte(twoPorts), 0o600); err != nil {
		t.Fatal(err)
	}
	u := newLabUser(t, 0)
	for _, c := range []struct {
		lab    string
		faults []string
	}{
		{"back-to-back", []string{"rcv-window-sysctl", "rcv-autotuning-off", "window-scaling-off", "send-buffer", "sack-off", "offloads-off", "local-shaper", "notsent-lowat"}},
		{"dual-homed", []string{"asymmetric-route", "wrong-route"}}, // the first shows what the second is found by, too
		{file, []string{"arp-flux"}},
	} {
		topo, err := topology.Find(c.lab)
		if c.lab == file {
			topo, err = topology.Parse(file, []byte(twoPorts))
		}
		if err != nil {
			t.Fatal(err)
		}
		u.run(t, "lab", "up", c.lab)
		path := []string{"--line-rate", "1Gbit", "--rtt", "10ms"}
		for _, h := range checkLab(t, u, topo, path...) {
			for _, f := range costly(h) {
				t.Errorf("%s: before any fault: %s", h.Name, f.Observed)
			}
		}
		// A look that shows a fault also shows that the one before it is no more.
		gone := ""
		ended := func(in []report.HostCheck) {
			if gone != "" && found(in, gone) {
				t.Errorf("%s is found after its fault was taken out", gone)
			}
		}
		for _, id := range c.faults {
			s := faultsInSight()[id]
			add := []string{"lab", "fault", "add", "--name", topo.Name, id}
			if s.from != "" {
				add = append(add, s.from)
			}
			u.run(t, add...)
			seen := checkLab(t, u, topo, path...)
			if !found(seen, s.rule) {
				t.Errorf("%s: %s is not found", id, s.rule)
			}
			ended(seen)
			in := u.status(t, topo.Name).Faults
			if len(in) != 1 {
				t.Fatalf("%s: %d faults are in", id, len(in))
			}
			u.run(t, "lab", "fault", "remove", "--name", topo.Name, strconv.Itoa(in[0].Number))
			gone = s.rule
		}
		ended(checkLab(t, u, topo, path...))
		u.run(t, "lab", "down", "--name", topo.Name)
	}
}

func found(hosts []report.HostCheck, rule string) bool {
	for _, h := range hosts {
		for _, f := range h.Findings {
			if f.Rule == rule {
				return true
			}
		}
	}
	return false
}
