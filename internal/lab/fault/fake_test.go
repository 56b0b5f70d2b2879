package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// fakeLab remembers what it was told. It fails the step number failAt.
type fakeLab struct {
	topo    topology.Topology
	shapes  map[string][2]topology.Shape
	state   map[string]string // everything else that can be changed
	running map[string]bool
	answers map[string]string // of Run, by the joined argv
	steps   int
	failAt  int
}

var errFake = errors.New("refused")

func newFake(t topology.Topology) *fakeLab {
	f := &fakeLab{topo: t, shapes: map[string][2]topology.Shape{}, state: map[string]string{}, running: map[string]bool{}, answers: map[string]string{}, failAt: -1}
	for _, l := range t.Links {
		f.shapes[l.ID] = [2]topology.Shape{l.AB, l.BA}
	}
	return f
}

func (f *fakeLab) step() error {
	f.steps++
	if f.steps-1 == f.failAt {
		return errFake
	}
	return nil
}

// print is the whole state as text.
func (f *fakeLab) print() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(f.shapes)) {
		out = append(out, fmt.Sprintf("%s %+v", id, f.shapes[id]))
	}
	for _, k := range slices.Sorted(maps.Keys(f.state)) {
		out = append(out, k+" = "+f.state[k])
	}
	for _, k := range slices.Sorted(maps.Keys(f.running)) {
		out = append(out, "running "+k)
	}
	return strings.Join(out, "\n")
}

func (f *fakeLab) Topology() topology.Topology          { return f.topo }
func (f *fakeLab) Shapes(link string) [2]topology.Shape { return f.shapes[link] }
func (f *fakeLab) set(key, value string) (string, error) {
	if err := f.step(); err != nil {
		return "", err
	}
	old := f.state[key]
	if f.state[key] = value; value == "" {
		delete(f.state, key)
	}
	return old, nil
}

func (f *fakeLab) Reshape(_ context.Context, link string, dir int, change func(*topology.Shape)) error {
	if err := f.step(); err != nil {
		return err
	}
	s := f.shapes[link]
	change(&s[dir])
	f.shapes[link] = s
	return nil
}

func (f *fakeLab) Sysctl(_ context.Context, host, key, value string) (string, error) {
	return f.set(host+" "+key, value)
}

func (f *fakeLab) Features(_ context.Context, host, iface string, want map[string]bool) (map[string]bool, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for n, on := range want {
		key := host + " " + iface + " " + n
		old[n] = f.state[key] != "off"
		if delete(f.state, key); !on {
			f.state[key] = "off"
		}
	}
	return old, nil
}

func (f *fakeLab) SetMTU(_ context.Context, host, iface string, mtu int) (int, error) {
	return f.mtu(host+" "+iface, mtu)
}

func (f *fakeLab) SwitchMTU(_ context.Context, sw string, mtu int) (int, error) {
	return f.mtu(sw, mtu)
}

func (f *fakeLab) mtu(key string, mtu int) (int, error) {
	text := ""
	if mtu != 0 {
		text = fmt.Sprint(mtu)
	}
	old, err := f.set(key, text)
	n := 0
	if old != "" {
		_, err = fmt.Sscan(old, &n)
	}
	return n, err
}

// Run knows the commands that faults use: what one puts, its counterpart takes.
func (f *fakeLab) Run(_ context.Context, host string, argv ...string) ([]byte, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	line := strings.Join(argv, " ")
	switch {
	case argv[0] == "cat":
		if text, ok := f.answers[line]; ok {
			return []byte(text), nil
		}
		return []byte(f.state[host+" "+argv[1]]), nil
	case argv[0] == "sh":
		f.steps-- // the one step is counted by set
		if argv[5] == dirtyBytes && argv[4] == "0" {
			return nil, errors.New("sh: write error: Invalid argument")
		}
		_, err := f.set(host+" "+argv[5], argv[4])
		if other := map[string]string{dirtyBytes: dirtyRatio, dirtyRatio: dirtyBytes}[argv[5]]; other != "" && err == nil {
			f.state[host+" "+other] = "0"
		}
		return nil, err
	case strings.HasPrefix(line, "ip route add"):
		f.state[host+" "+strings.Join(argv[3:], " ")] = "route"
	case strings.HasPrefix(line, "ip route del"):
		delete(f.state, host+" "+strings.Join(argv[3:], " "))
	case strings.HasPrefix(line, "tc qdisc replace dev eth0"):
		f.state[host+" qdisc"] = line
	case strings.HasPrefix(line, "tc qdisc del dev eth0"):
		delete(f.state, host+" qdisc")
	case argv[0] == "test" && f.state[host+" "+argv[len(argv)-1]] != "":
		return nil, errors.New("exit status 1")
	case argv[0] == "fallocate":
		f.state[host+" "+argv[3]] = argv[2]
	case argv[0] == "rm":
		delete(f.state, host+" "+argv[2])
	case argv[0] == "mount":
		f.state[host+" mount "+argv[len(argv)-1]] = line
	}
	return []byte(f.answers[line]), nil
}

func (f *fakeLab) Start(_ context.Context, host, name string, argv ...string) (func() error, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	key := host + " " + name + ": " + strings.Join(argv, " ")
	f.running[key] = true
	return func() error { delete(f.running, key); return nil }, nil
}

// twoPorts is client1 and server1 with two ports each: eth0 on switch1 (MTU
// 9000), eth1 joined directly, and both of server1's also on switch1 where
// flux is true.
func twoPorts(kind topology.Kind) topology.Topology {
	shape := topology.Shape{Rate: unit.Gbit, Delay: 2500 * time.Microsecond, Queue: 2500 * unit.KB, MTU: 9000}
	port := func(name string, net, host byte, mtu int) topology.Interface {
		return topology.Interface{Name: name, MTU: mtu, Addr: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, net, host}), 24)}
	}
	link := func(id, a, ai, b, bi string) topology.Link {
		return topology.Link{ID: id, A: topology.End{Node: a, Interface: ai}, B: topology.End{Node: b, Interface: bi}, AB: shape, BA: shape}
	}
	return topology.Topology{
		Name: "two-ports",
		Hosts: []topology.Host{
			{Name: "client1", Kind: kind, Interfaces: []topology.Interface{port("eth0", 0, 1, 9000), port("eth1", 1, 1, 1500)}},
			{Name: "server1", Kind: kind, Interfaces: []topology.Interface{port("eth0", 0, 2, 9000), port("eth1", 1, 2, 1500), port("eth2", 0, 3, 9000)},
				Servers: []topology.Server{{Kind: "nfs"}}},
		},
		Switches: []topology.Switch{{Name: "switch1", MTU: 9000}},
		Links: []topology.Link{
			link("client1-switch1", "client1", "eth0", "switch1", ""),
			link("switch1-server1", "switch1", "", "server1", "eth0"),
			link("switch1-server1b", "switch1", "", "server1", "eth2"),
			link("client1-server1", "client1", "eth1", "server1", "eth1"),
		},
		Flow: topology.Flow{Senders: []string{"client1"}, Receiver: "server1", Via: "eth0"},
	}
}
