package mover

import (
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"linerate/internal/model"
)

func span(from, to int) (out []int) {
	for c := from; c < to; c++ {
		out = append(out, c)
	}
	return out
}

func TestWhereThreadsRun(t *testing.T) {
	two := model.Known([]model.Node{{ID: 0, CPUs: span(0, 16)}, {ID: 1, CPUs: span(16, 32)}})
	at := func(of string, node int) attached { return attached{of, model.Known(node)} }
	unknown := func(why string) attached { return attached{"x", model.Unknown[int](model.Unsupported, why)} }
	for name, c := range map[string]struct {
		nodes      model.Fact[[]model.Node]
		may        []int
		disk, card attached
		want       Near
		cpus       int // 0: this host's
	}{
		"one node":           {model.Known([]model.Node{{ID: 0, CPUs: span(0, 32)}}), span(0, 32), at("8:0", 0), at("eth0", 0), Near{Why: "this host has one NUMA node"}, 0},
		"not known":          {model.Unknown[[]model.Node](model.Absent, "no such file"), span(0, 32), at("8:0", 0), at("eth0", 0), Near{Why: "NUMA nodes are not known: no such file"}, 0},
		"each at its own":    {two, span(0, 32), at("8:0", 1), at("eth0", 0), Near{Disk: &Bound{"8:0", 1, span(16, 32)}, Net: &Bound{"eth0", 0, span(0, 16)}}, 32},
		"both at one":        {two, span(0, 32), at("8:0", 1), at("eth0", 1), Near{Disk: &Bound{"8:0", 1, span(16, 32)}, Net: &Bound{"eth0", 1, span(16, 32)}}, 16},
		"a mount":            {two, span(0, 32), unknown("the files lie on no block device"), at("eth0", 1), Near{Net: &Bound{"eth0", 1, span(16, 32)}, Why: "files: the files lie on no block device"}, 0},
		"neither is known":   {two, span(0, 32), unknown("a"), unknown("b"), Near{Why: "files: a; connections: b"}, 0},
		"confined elsewhere": {two, span(0, 20), at("8:0", 1), at("eth0", 0), Near{Net: &Bound{"eth0", 0, span(0, 16)}, Why: "files: 8:0 is at NUMA node 1, of which this process may use 4 CPUs: fewer than 8 could hold it back"}, 0},
		"a node without one": {two, span(0, 32), at("8:0", 2), at("eth0", 0), Near{Net: &Bound{"eth0", 0, span(0, 16)}, Why: "files: 8:0 is at NUMA node 2, which this host does not list"}, 0},
	} {
		got := decide(c.nodes, c.may, c.disk, c.card)
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if want := map[bool]int{true: runtime.NumCPU(), false: c.cpus}[c.cpus == 0]; got.cpus() != want {
			t.Errorf("%s: %d CPUs, want %d", name, got.cpus(), want)
		}
	}
}

func TestTheInterfaceOfAnAddress(t *testing.T) {
	name := interfaceOf(netip.MustParseAddr("127.0.0.1"))
	if other := interfaceOf(netip.MustParseAddr("192.0.2.77")); other != "" || !strings.HasPrefix(name, "lo") {
		t.Errorf("%q, and of nobody's address %q", name, other)
	}
}
