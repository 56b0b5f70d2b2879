package main

import (
	"context"
	"fmt"
	"math"
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

// Faults that are not in the catalogue, drawn at random: how the diagnosis does where
// nobody looked. They act by hooks at places of the data path (wild_hooks.go), over two
// hosts with a router between them that the diagnosis does not see.

// wildRoad is the path of these faults.
const wildRoad fault.Road = "routed"

// The hosts of wildRoad and their addresses.
const (
	sender, router, receiver = "client1", "router1", "server1"
	senderAddr, receiverAddr = "10.78.1.1", "10.78.2.1"
	nearGate, farGate        = "10.78.1.254", "10.78.2.254"
	nearLink, farLink        = "client1-router1", "router1-server1"
)

// wildRate is slow enough that two busy cores carry it.
const wildRate = 300 * unit.Mbit

// trouble is what a trial puts in place and takes out.
type trouble interface {
	Inject(ctx context.Context, l fault.Lab) (fault.Undo, error)
	// Workload changes how the application runs.
	Workload(w *model.Workload, t topology.Topology) error
}

// mechanism is one way in which a path can be put wrong.
type mechanism struct {
	name  string
	class string
	// road is where it acts; empty: wildRoad.
	road fault.Road
	// right are the limiters that a verdict may name. None: the table has no row for
	// it, so that only "undetermined" or a low confidence is honest.
	right []model.LimiterID
	// low and high bound its severity, which is drawn evenly over the logarithm.
	low, high float64
	unit      string
	hooks     func(v float64) []hook
	workload  func(w *model.Workload, v float64)
}

// Wild is what a Result says of a fault that is in no catalogue.
type Wild struct {
	Class string            `json:"class"`
	Right []model.LimiterID `json:"right"`
}

// wildFault is a mechanism at a severity.
type wildFault struct {
	mechanism
	value float64
}

// Inject implements trouble.
func (f wildFault) Inject(ctx context.Context, l fault.Lab) (fault.Undo, error) {
	if f.hooks == nil {
		return func(context.Context) error { return nil }, nil
	}
	undo, err := fault.InTurn(ctx, l, f.hooks(f.value))
	if err != nil {
		return nil, fmt.Errorf("inject %s %s: %w", f.name, f.severity(), err)
	}
	return undo, nil
}

// Workload implements trouble.
func (f wildFault) Workload(w *model.Workload, _ topology.Topology) error {
	if f.workload != nil {
		f.workload(w, f.value)
	}
	return nil
}

func (f wildFault) severity() string {
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", f.value, f.unit))
}

// mechanisms are all of them. A name is never used twice.
func mechanisms() []mechanism {
	return slices.Concat(bySysctl(), byRoute(), byFilter(), byQdisc(), byGroup(), bySocket(), byApplication(), byLink(), byTraffic(), byMixing(), byStorage(), byStoragePath())
}

// wildHealthy is how many paths with nothing wrong a draw holds for each ten faults.
const wildHealthy = 1

// wildCases draws every mechanism once, at a severity of its own, in an order that is
// drawn too, those of one road together. The i-th of n parts of a draw share no mechanism.
func wildCases(seed uint64, i, n int, only string) []Case {
	draw := rand.New(rand.NewPCG(seed, hash("wild")))
	all := mechanisms()
	draw.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	byRoad := map[fault.Road][]Case{}
	for k, m := range all {
		// All is drawn of all of them, so that each part is the same whichever is run.
		f := wildFault{m, m.low * math.Pow(m.high/m.low, draw.Float64())}
		cc := "cubic"
		if draw.Float64() < 0.25 {
			cc = "bbr"
		}
		if k%n != i-1 {
			continue
		}
		c := f.on(cc)
		cases := append(byRoad[c.road], c)
		if len(cases)%(10/wildHealthy+1) == 5 {
			none := c
			none.Fault, none.Severity, none.Repeat, none.wild = healthy, string(c.road), k, nil
			cases = append(cases, none)
		}
		byRoad[c.road] = cases
	}
	var out []Case
	for _, r := range append([]fault.Road{wildRoad}, storageRoads()...) {
		out = append(out, byRoad[r]...)
	}
	return slices.DeleteFunc(out, func(c Case) bool {
		return !c.matches(only) && (c.wild == nil || c.wild.class != only)
	})
}

// on is the case of the fault. Storage is read with the control of its kernel hosts.
func (f wildFault) on(cc string) Case {
	c := Case{Fault: f.name, Severity: f.severity(), HostKind: topology.Namespace, Workload: "tcp", CC: cc, road: wildRoad, wild: &f}
	if f.road != "" {
		c = storageCase(f.name, f.severity(), f.road, 0)
		c.wild = &f
	}
	return c
}

// routedRoad has a router in the middle: two subnets, 10 ms, queues of twice what is
// in flight.
func routedRoad() topology.Topology {
	shape := topology.Shape{Rate: wildRate, Delay: 2500 * time.Microsecond, MTU: 1500, Queue: 750 * unit.KB}
	port := func(name, addr string) topology.Interface {
		return topology.Interface{Name: name, Addr: netip.PrefixFrom(netip.MustParseAddr(addr), 24), MTU: 1500}
	}
	by := func(gate string) []topology.Route { return []topology.Route{{Via: netip.MustParseAddr(gate)}} }
	return flow(topology.Topology{
		Name: "judge-routed", Title: "two hosts and a router",
		Hosts: []topology.Host{
			{Name: sender, Kind: topology.Namespace, Interfaces: []topology.Interface{port("eth0", senderAddr)}, Routes: by(nearGate), Memory: unit.GiB},
			{Name: router, Kind: topology.Namespace, Forward: true, Interfaces: []topology.Interface{port("eth0", nearGate), port("eth1", farGate)}},
			{Name: receiver, Kind: topology.Namespace, Interfaces: []topology.Interface{port("eth0", receiverAddr)}, Routes: by(farGate), Memory: unit.GiB},
		},
		Links: []topology.Link{
			{ID: nearLink, A: endOf(sender), B: endOf(router), AB: shape, BA: shape},
			{ID: farLink, A: topology.End{Node: router, Interface: "eth1"}, B: endOf(receiver), AB: shape, BA: shape},
		},
	})
}
