package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"linerate/internal/kernel/golden"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

const faultsDoc = "../../../docs/faults.md"

// mounted gives the fake the mounts, disks and values that storage faults look
// for.
func mounted(t topology.Topology) *fakeLab {
	f := newFake(t)
	f.answers["cat /proc/mounts"] = "proc /proc proc rw 0 0\n" +
		"nas:/e /mnt/e nfs4 rw,vers=4.2,rsize=1048576,wsize=1048576,nconnect=4,addr=10.0.0.2 0 0\n" +
		"//nas/s /mnt/s cifs rw,sec=none,rsize=4194304 0 0\n/dev/ubdb /srv/memory ext4 rw 0 0\n"
	f.answers["ls -l /sys/block"] = "lrwxrwxrwx 1 root root 0 Nov 1 00:00 sda -> ../devices/platform/host0/session1/target0:0:0/0:0:0:0/block/sda\n"
	f.answers["ls /sys/class/net/eth0/device/msi_irqs"] = "24\n25\n"
	f.answers["mountpoint -d /mnt/e"] = "0:47\n"
	for _, h := range t.Hosts {
		for k, v := range map[string]string{
			"net.ipv4.tcp_rmem": "4096 131072 6291456", "/proc/fs/nfsd/threads": "8", dirtyBytes: "0", dirtyRatio: "20",
			"/sys/module/nfs/parameters/max_session_slots": "64", "/sys/block/sda/device/queue_depth": "32",
			"/sys/block/sda/queue/max_sectors_kb": "1280", "/sys/class/bdi/0:47/read_ahead_kb": "15360",
			"net.ipv4.conf.all.arp_ignore": "1", "eth0": "9000",
			"/sys/block/ubdb/dev": "98:16", throttle: "98:16 0",
			"/proc/irq/24/smp_affinity_list": "1", "/proc/irq/25/smp_affinity_list": "0-3",
		} {
			f.state[h.Name+" "+k] = v
		}
		f.state[h.Name+" mount /mnt/e"] = "mount -i -t nfs4 -o rw,vers=4.2,rsize=1048576,wsize=1048576,nconnect=4,addr=10.0.0.2 nas:/e /mnt/e"
		f.state[h.Name+" mount /mnt/s"] = "mount -t cifs -o rw,sec=none,rsize=4194304 //nas/s /mnt/s"
	}
	f.state["switch1"] = "9000"
	return f
}

// kindFor is a topology whose hosts are of the first kind the fault takes.
func kindFor(f Fault) topology.Topology { return twoPorts(f.HostKinds[0]) }

func TestEveryFaultGoesInAndOut(t *testing.T) {
	for _, f := range Catalogue() {
		for _, s := range f.Severities {
			i := Injection{Fault: f.ID, Severity: s.Name}
			lab := mounted(kindFor(f))
			before := lab.print()
			undo, err := i.Inject(context.Background(), lab)
			if err != nil {
				t.Errorf("%s: %v", i, err)
				continue
			}
			if changed := lab.print() != before; changed == (f.effects == nil) {
				t.Errorf("%s: the lab changed: %v, its application is what is wrong: %v", i, changed, f.effects == nil)
			}
			for range 2 {
				if err := undo(context.Background()); err != nil {
					t.Errorf("%s: %v", i, err)
				}
			}
			if got := lab.print(); got != before {
				t.Errorf("%s: taking it out left\n%s\nwant\n%s", i, got, before)
			}
		}
	}
}

// A limit that was set in bytes comes back in bytes.
func TestDirtyLimitInBytes(t *testing.T) {
	lab := mounted(twoPorts(topology.Kernel))
	for _, h := range lab.topo.Hosts {
		lab.state[h.Name+" "+dirtyBytes], lab.state[h.Name+" "+dirtyRatio] = "33554432", "0"
	}
	before := lab.print()
	undo, err := Injection{Fault: "dirty-limit"}.Inject(t.Context(), lab)
	if err != nil || lab.print() == before {
		t.Fatalf("%v", err)
	}
	if err := undo(t.Context()); err != nil || lab.print() != before {
		t.Errorf("%v\n%s", err, lab.print())
	}
}

// TestFailedFaultLeavesNothing fails every step in turn.
func TestFailedFaultLeavesNothing(t *testing.T) {
	for _, f := range Catalogue() {
		i := Injection{Fault: f.ID}
		for at := range 12 {
			lab := mounted(kindFor(f))
			lab.failAt = at
			before := lab.print()
			_, err := i.Inject(context.Background(), lab)
			if err == nil {
				break
			}
			if !errors.Is(err, errFake) {
				t.Errorf("%s, step %d: %v", f.ID, at, err)
			}
			if got := lab.print(); got != before {
				t.Errorf("%s, failed at step %d, left\n%s\nwant\n%s", f.ID, at, got, before)
			}
		}
	}
}

// TestFaultsOfOneLinkGoInAnyOrder: the one that stays keeps its effect.
func TestFaultsOfOneLinkGoInAnyOrder(t *testing.T) {
	lab := newFake(twoPorts(topology.Namespace))
	before := lab.print()
	ctx := context.Background()
	loss, err := Injection{Fault: "loss-random", Severity: "severe"}.Inject(ctx, lab)
	if err != nil {
		t.Fatal(err)
	}
	jitter, err := Injection{Fault: "jitter", Severity: "severe"}.Inject(ctx, lab)
	if err != nil {
		t.Fatal(err)
	}
	if err := loss(ctx); err != nil {
		t.Fatal(err)
	}
	if s := lab.Shapes("client1-switch1")[0]; s.Loss != 0 || s.Jitter == 0 {
		t.Errorf("after the loss was taken out: %+v", s)
	}
	if err := jitter(ctx); err != nil {
		t.Fatal(err)
	}
	if got := lab.print(); got != before {
		t.Errorf("left\n%s", got)
	}
}

// TestSameThingTwice: of two faults that set the same, the later goes first.
func TestSameThingTwice(t *testing.T) {
	ctx := context.Background()
	for _, words := range [][2]string{
		{"loss-random severe", "loss-random mild"},
		{"rcv-window-sysctl severe", "rcv-window-sysctl mild"},
		{"host:client1 mtu=1400", "host:client1 mtu=1300"},
		{"switch:switch1 mtu=1400", "switch:switch1 mtu=1300"},
		{"host:client1 tso=off", "host:client1 tso=on"},
	} {
		lab := mounted(twoPorts(topology.Namespace))
		before := lab.print()
		var undo [2]Undo
		for n, w := range words {
			i, err := Parse(strings.Fields(w), lab.topo)
			if err != nil {
				t.Fatal(err)
			}
			if undo[n], err = i.Inject(ctx, lab); err != nil {
				t.Fatal(err)
			}
		}
		both := lab.print()
		if err := undo[0](ctx); !errors.Is(err, errChanged) || lab.print() != both {
			t.Errorf("%s was taken out under %s: %v\n%s", words[0], words[1], err, lab.print())
		}
		if err := errors.Join(undo[1](ctx), undo[0](ctx)); err != nil || lab.print() != before {
			t.Errorf("%v: %v, left\n%s", words, err, lab.print())
		}
	}
}

func TestCatalogueIsWhole(t *testing.T) {
	known := map[model.LimiterID]bool{}
	for _, l := range model.Limiters() {
		known[l.ID] = true
	}
	seen := map[string]bool{}
	tcp := 0
	for _, f := range Catalogue() {
		if seen[f.ID] || f.ID == "" || f.Doc == "" || f.Counterfactual == "" || f.Road == "" || f.AppliesTo == "" || f.FixKind == "" {
			t.Errorf("%q: twice, or a part is missing: %+v", f.ID, f)
		}
		seen[f.ID] = true
		for _, id := range append(slices.Clone(f.Confusable), f.Limiter) {
			if !known[id] {
				t.Errorf("%s: %q is not in the vocabulary", f.ID, id)
			}
		}
		if n := len(f.Severities); n != 1 && n != 3 {
			t.Errorf("%s has %d severities", f.ID, n)
		}
		if (f.effects == nil) == (f.workload == nil) || (f.workload != nil) != (f.AppliesTo == AtApplication) {
			t.Errorf("%s: it changes either the lab or the workload, and an application the workload", f.ID)
		}
		if f.Beside != "" {
			if _, err := Parse(strings.Fields(f.Beside), twoPorts(topology.Namespace)); err != nil {
				t.Errorf("%s: beside: %v", f.ID, err)
			}
		}
		if slices.Contains(f.Workloads, "tcp") && f.Needs == "" {
			tcp++
		}
	}
	if len(seen) < 30 || tcp < 13 {
		t.Errorf("%d faults, %d of them for TCP between any two hosts", len(seen), tcp)
	}
}

func TestApplicationFaultsChangeTheWorkload(t *testing.T) {
	topo := twoPorts(topology.Namespace)
	for _, f := range Catalogue() {
		w, healthy := model.Workload{Streams: 2, CC: "cubic"}, model.Workload{Streams: 2, CC: "cubic"}
		if err := (Injection{Fault: f.ID}).Workload(&w, topo); err != nil && f.AppliesTo == AtApplication {
			t.Errorf("%s: %v", f.ID, err)
		}
		if changed := fmt.Sprint(w) != fmt.Sprint(healthy); changed != (f.AppliesTo == AtApplication) {
			t.Errorf("%s applies to %s and the workload changed: %v", f.ID, f.AppliesTo, changed)
		}
	}
}

// TestRefusals: what a lab lacks is said.
func TestRefusals(t *testing.T) {
	plain := twoPorts(topology.Namespace)
	plain.Links, plain.Switches = plain.Links[3:], nil // only the direct link
	plain.Flow.Via = "eth1"
	plain.Hosts[0].Interfaces = plain.Hosts[0].Interfaces[1:]
	for id, want := range map[string]string{
		"mtu-switch": "has no switch", "wrong-route": "no second port each", "arp-flux": "no two ports on one switch",
		"nfs-few-threads": "bring the lab up with --kernel server1", "host-mtu": "is 1500 already", "asymmetric-route": "no second port each",
	} {
		_, err := Parse([]string{id}, plain)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", id, err, want)
		}
	}
	if _, err := Parse([]string{"loss-random"}, topology.Topology{Name: "empty"}); err == nil {
		t.Error("a topology without a flow was taken")
	}
}

func page() string {
	var b strings.Builder
	b.WriteString(`# The faults of the lab

What ` + "`linerate lab fault add`" + ` can inject by name, and what the judge
(` + "`go run ./bench/diagnosis`" + `) injects to see whether the diagnosis finds it.
This page does not say whether a fault limits anything in your lab: remove it
and compare. It is generated from ` + "`internal/lab/fault`" + `; after a change run
` + "`go test ./internal/lab/fault -update`" + `.

| fault | what is wrong | of | mild, medium, severe | limiter | what removing it means | also looks like | workloads | hosts | who fixes it |
|---|---|---|---|---|---|---|---|---|---|
`)
	for _, f := range Catalogue() {
		var like, sizes []string
		for _, c := range f.Confusable {
			like = append(like, "`"+string(c)+"`")
		}
		for _, s := range f.Severities {
			sizes = append(sizes, s.Text)
		}
		doc := f.Doc
		if f.Beside != "" {
			doc += " (shows beside `" + f.Beside + "`)"
		}
		if f.Needs != "" {
			doc += "; needs " + f.Needs
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` | %s | %s | %s | %s | %s |\n", f.ID, doc, f.AppliesTo, strings.Join(sizes, ", "),
			f.Limiter, f.Counterfactual, strings.Join(like, ", "), strings.Join(f.Workloads, ", "), strings.Join(kinds(f), ", "), f.FixKind)
	}
	b.WriteString("\n## By hand\n\nA link takes ")
	for i, k := range linkKeys() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "`%s=%s`", k.name, k.like)
	}
	b.WriteString(", and `direction=ab` or `ba` for one direction only. A host takes `mtu=`, `tso=`, `gso=` and\n`gro=` (on or off), `tcp_…=`, any sysctl that begins with `net.` or `vm.`, and `fill=80%`: how full its disk is\nto be, or `fill.NAME=80%` its disk NAME. A switch takes `mtu=`.\n")
	return b.String()
}

func kinds(f Fault) []string {
	var out []string
	for _, k := range f.HostKinds {
		out = append(out, string(k))
	}
	return out
}

func TestFaultsPage(t *testing.T) {
	want := page()
	golden.Same(t, faultsDoc, want)
}

func TestEstablished(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0200000A:1451 0100000A:8D2E 01 00000000:00000000 00:00000000 00000000     0        0 4242 1
   1: 0200000A:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4243 1
   2: 0300000A:1451 0100000A:8D2E 01 00000000:00000000 00:00000000 00000000     0        0 4244 1
`
	got, err := established(strings.NewReader(table), twoPorts("").Hosts[1].Interfaces[0].Addr.Addr())
	if err != nil || len(got) != 1 || !got["socket:[4242]"] {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestPapersTopologies: each has a flow that a fault of its path can be put in,
// and those that are about a fault can be given it.
func TestPapersTopologies(t *testing.T) {
	all, err := topology.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, topo := range all {
		for _, f := range Catalogue() {
			if _, err := Parse([]string{f.ID}, topo); f.Needs == "" && f.Road != JumboRoad && err != nil {
				t.Errorf("%s in %s: %v", f.ID, topo.Name, err)
			}
		}
	}
	dual, err := topology.Find("dual-homed")
	if err != nil {
		t.Fatal(err)
	}
	lab := newFake(dual)
	if _, err := (Injection{Fault: "wrong-route"}).Inject(context.Background(), lab); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"client1 10.30.9.20/32 via 10.30.1.1 dev eth0 = route", "router1 10.30.9.20/32 via 10.30.2.20 dev eth1 = route"} {
		if !strings.Contains(lab.print(), want) {
			t.Errorf("wrong-route: no %q in\n%s", want, lab.print())
		}
	}
}
