package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// healthy as a fault is none at all.
const healthy = "healthy"

// Case is one cell of the matrix.
type Case struct {
	Fault    string        `json:"fault"`
	Severity string        `json:"severity,omitempty"`
	HostKind topology.Kind `json:"host_kind"`
	Workload string        `json:"workload"`
	CC       string        `json:"cc"`
	Repeat   int           `json:"repeat"`

	road fault.Road
	wild *wildFault // instead of one of the catalogue
}

// Key names the case in a file of results.
func (c Case) Key() string {
	return fmt.Sprintf("%s/%s/%s/%s/%s/%d", c.Fault, c.Severity, c.HostKind, c.Workload, c.CC, c.Repeat)
}

// matches tells whether the key has that in it.
func (c Case) matches(part string) bool { return strings.Contains(c.Key(), part) }

// matrix is every case that applies: each fault that TCP between namespace
// hosts can show, at each severity with cubic and at the middle one with bbr
// (see controls); each that a reader of NFS, SMB or iSCSI on a kernel host can
// meet; between them paths with nothing wrong.
func matrix(quick bool, repeats int) []Case {
	var out []Case
	for r := range repeats {
		for _, f := range faults(quick) {
			for _, sev := range f.Severities {
				middle := sev == f.Severities[len(f.Severities)/2]
				for i, cc := range controls(f) {
					if middle && i == 0 || !quick && (middle || i == 0) {
						out = append(out, newCase(f, sev.Name, cc, r))
					}
				}
			}
		}
		out = append(out, healthyCases(quick, r)...)
		out = append(out, storageCases(quick, r)...)
		if !quick {
			out = append(out, pairCases(r)...)
		}
	}
	return out
}

// controls are those that a fault is tried with, the main one first. Over ten
// milliseconds cubic recovers no faster than reno does, so that a sender that
// was made to use reno is held against bbr alone.
func controls(f fault.Fault) []string {
	if f.Limiter == model.CongestionControl {
		return []string{"bbr"}
	}
	return []string{"cubic", "bbr"}
}

func newCase(f fault.Fault, severity, cc string, repeat int) Case {
	return Case{Fault: f.ID, Severity: severity, HostKind: topology.Namespace, Workload: "tcp", CC: cc, Repeat: repeat, road: f.Road}
}

// healthyOften is how often each healthy path is run for one run of each fault:
// false alarms are rare, and a healthy case is short.
const healthyOften = 3

func healthyCases(quick bool, repeat int) []Case {
	none := fault.Fault{ID: healthy, Road: fault.LongRoad}
	if quick {
		return []Case{newCase(none, string(none.Road), "cubic", healthyOften*repeat)}
	}
	var out []Case
	for r := range healthyOften {
		for _, road := range []fault.Road{fault.LongRoad, fault.JumboRoad, fault.FastRoad} {
			none.Road = road
			out = append(out, newCase(none, string(road), "cubic", healthyOften*repeat+r))
		}
		none.Road = fault.LongRoad
		out = append(out, newCase(none, string(none.Road), "bbr", healthyOften*repeat+r))
	}
	return out
}

// faults that apply; the quick ones are the first of each limiter and place.
func faults(quick bool) []fault.Fault {
	type kind struct {
		limiter any
		place   fault.Place
	}
	seen := map[kind]bool{}
	var out []fault.Fault
	for _, f := range fault.Catalogue() {
		k := kind{f.Limiter, f.AppliesTo}
		if !applies(f) || quick && seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, f)
	}
	return out
}

// applies tells whether the road that the fault asks for can show it.
func applies(f fault.Fault) bool {
	if !slices.Contains(f.Workloads, "tcp") || !slices.Contains(f.HostKinds, topology.Namespace) {
		return false
	}
	_, err := fault.Parse([]string{f.ID}, road(f.Road))
	return err == nil
}

// shard picks every n-th case, the i-th first, in an order drawn from the seed;
// cases of one road stay together, since they share a lab.
func shard(all []Case, i, n int, seed uint64) []Case {
	var out []Case
	for k, c := range all {
		if k%n == i-1 {
			out = append(out, c)
		}
	}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	slices.SortStableFunc(out, func(a, b Case) int { return rank(a.road) - rank(b.road) })
	return out
}

func rank(r fault.Road) int {
	return slices.Index(append([]fault.Road{fault.LongRoad, fault.JumboRoad, fault.FastRoad}, storageRoads()...), r)
}

// road is the topology of a kind of path. Queues take two rate × RTT, so that
// nothing but a fault limits a healthy one.
func road(r fault.Road) topology.Topology {
	if slices.Contains(storageRoads(), r) {
		return storageRoad(r)
	}
	if r == wildRoad {
		return routedRoad()
	}
	shape := topology.Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, MTU: 1500, Queue: 2500 * unit.KB}
	switch r {
	case fault.JumboRoad:
		shape.MTU, shape.Delay = 9000, 2500*time.Microsecond
		return twoLinks(shape)
	case fault.FastRoad:
		shape = topology.Shape{Rate: fastRate}
	}
	t := topology.Topology{
		Name: "judge-" + string(r), Title: "two hosts and one link",
		Hosts: []topology.Host{aHost("client1", 1, 1500), aHost("server1", 2, 1500)},
		Links: []topology.Link{{ID: "client1-server1", A: endOf("client1"), B: endOf("server1"), AB: shape, BA: shape, Direct: r == fault.FastRoad}},
	}
	return flow(t)
}

// fastRate is three times what a core here passes in packets of 1500 bytes one
// by one, so that their cost binds and not the link.
const fastRate = 20 * unit.Gbit

// twoLinks has a switch in the middle; the two links' delays add up.
func twoLinks(shape topology.Shape) topology.Topology {
	sw := topology.End{Node: "switch1"}
	return flow(topology.Topology{
		Name: "judge-jumbo", Title: "two hosts and a switch",
		Hosts:    []topology.Host{aHost("client1", 1, shape.MTU), aHost("server1", 2, shape.MTU)},
		Switches: []topology.Switch{{Name: "switch1", MTU: shape.MTU}},
		Links: []topology.Link{
			{ID: "client1-switch1", A: endOf("client1"), B: sw, AB: shape, BA: shape},
			{ID: "switch1-server1", A: sw, B: endOf("server1"), AB: shape, BA: shape},
		},
	})
}

func flow(t topology.Topology) topology.Topology {
	t.Flow = topology.Flow{Senders: []string{"client1"}, Receiver: "server1", Via: "eth0"}
	return t
}

func endOf(name string) topology.End { return topology.End{Node: name, Interface: "eth0"} }

func aHost(name string, number byte, mtu int) topology.Host {
	addr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, 0, number}), 24)
	return topology.Host{Name: name, Kind: topology.Namespace, Interfaces: []topology.Interface{{Name: "eth0", Addr: addr, MTU: mtu}}}
}
