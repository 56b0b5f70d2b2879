package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const bondText = `Ethernet Channel Bonding Driver: v6.1.0

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up
MII Polling Interval (ms): 100

802.3ad info
Active Aggregator Info:
	Aggregator ID: 1
	Partner Mac Address: 00:00:00:00:00:00

Slave Interface: ens2f0
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 3
Aggregator ID: 1
details partner lacp pdu:
    system priority: 65535

Slave Interface: ens2f1
MII Status: down
Speed: Unknown
Duplex: Unknown
Link Failure Count: 0
Aggregator ID: 2
`

func TestParseBond(t *testing.T) {
	got, err := parseBond(bondText)
	want := model.Bond{
		Mode: "IEEE 802.3ad Dynamic link aggregation", Hash: "layer3+4", MIIms: 100, Partner: "00:00:00:00:00:00", Aggregator: "1",
		Ports: []model.BondPort{{Name: "ens2f0", Up: true, Speed: 10 * unit.Gbit, Duplex: "full", Failures: 3, Aggregator: "1"}, {Name: "ens2f1", Duplex: "Unknown", Aggregator: "2"}},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v -want +got:\n%s", err, d)
	}
	if _, err := parseBond("MII Status: up\n"); err == nil {
		t.Error("no mode, no error")
	}
}

func TestLACPPartnerNeedsRoot(t *testing.T) {
	for partner, blind := range map[string]int{"": 1, "02:00:5e:00:53:01": 0} {
		f := &model.Facts{NICs: []model.NIC{{Name: "bond0", Bond: model.Known(model.Bond{Mode: "IEEE 802.3ad", Partner: partner})}}}
		if lacpBlind(f); len(f.CouldNotSee) != blind {
			t.Errorf("partner %q: %+v", partner, f.CouldNotSee)
		}
	}
}

func TestParseCounterFiles(t *testing.T) {
	if d := parseNFSD("rc 0 1 2\nth 8 0 0.0\nnet 34 4 30 3\n"); d != (model.NFSD{Threads: 8, UDP: 4, TCP: 30}) {
		t.Errorf("%+v", d)
	}
	if d := parseNFSD("th -1\nnet 1 -2 3 4\nth\n"); d != (model.NFSD{}) {
		t.Errorf("%+v", d)
	}
	for text, want := range map[string]string{
		"# Version 1.1\n# Path Client(Flags) # IPs\n/srv/nfs\\040root\t10.0.0.0/24(rw,no_root_squash,sync,wdelay,no_subtree_check,fsid=0,sec=1)\n/srv/nfs\\040root/a\t*(ro)\n": "/srv/nfs root",
		"/a\tx(rw,fsid=0)\n/b\ty(rw,fsid=0)\n": "",
		"/a\tx(rw,fsid=01)\n/b\n\tx(fsid=0)\n": "",
		"/a\tx(rw,fsid=0\n":                    "",
	} {
		if got := parseExportRoot(text); got != want {
			t.Errorf("%q: root %q, want %q", text, got, want)
		}
	}
	if n := parseConntrackStat("entries  found drop early_drop\n0001  02 0a 01\n0001 02 10\n"); n != 26 {
		t.Errorf("%d drops", n)
	}
	if d := cmp.Diff(map[string]int64{"c_max": 134, "hits": 7}, parseARC("9 1 0x01\nname type data\nc_max 4 134\nhits 4 7\nother 4 1\nsize 4 -1\n")); d != "" {
		t.Error(d)
	}
	for in, want := range map[string]string{"[mq-deadline] kyber none": "mq-deadline", "none": "none", "a [b": "b", "": ""} {
		if got := parseScheduler(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := sumCounts("12,0,x,3"); n != 15 {
		t.Errorf("%d", n)
	}
}

func FuzzFactFiles(f *testing.F) {
	f.Add(bondText)
	f.Add("th 8 0 0.0\nnet 34 4 30 3\n")
	f.Add("entries drop\n1 ffffffff\n")
	f.Add("c_max 4 9223372036854775807\n")
	f.Add("1,2,281474976710655")
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := parseBond(s); err == nil && b.Mode == "" {
			t.Error("a bond without a mode")
		}
		for name, v := range parseARC(s) {
			if v < 0 {
				t.Errorf("%s = %d", name, v)
			}
		}
		if r := parseExportRoot(s); r != "" && r[0] != '/' {
			t.Errorf("root %q", r)
		}
		if d := parseNFSD(s); d.Threads < 0 || d.UDP < 0 || parseConntrackStat(s) < 0 || sumCounts(s) < 0 {
			t.Error("a negative counter")
		}
		if v, err := parseLinkSpeed(s); err == nil && !(v > 0 && v <= 1000) {
			t.Errorf("link speed %g", v)
		}
		if strings.Contains(parseScheduler(s), "[") && !strings.Contains(s, "[[") && strings.Count(s, "[") < 2 {
			t.Errorf("scheduler %q", parseScheduler(s))
		}
		for _, h := range []string{"-- proc/meminfo --\n", "-- proc/uptime --\n"} {
			src := parsed(h + s)
			if m := readMemory(src); m.State == model.Present && m.Value <= 0 {
				t.Errorf("memory %v", m)
			}
			if u := readUptime(src); u.State == model.Present && u.Value < 0 {
				t.Errorf("uptime %v", u)
			}
		}
	})
}

func parsed(archive string) *kerneltest.Host { return kerneltest.Parse([]byte(archive)) }

// An adapter at the end of a Thunderbolt cable: the kernel marks its links since
// 5.14, before that the speed of its bridge gives it away.
func TestThunderbolt(t *testing.T) {
	const tree = `-- sys/bus/thunderbolt/devices/0-0/tx_speed --
40.0 Gb/s
-- sys/bus/thunderbolt/devices/0-0/tx_lanes --
2
-- sys/bus/thunderbolt/devices/0-301/tx_speed --
10.0 Gb/s
-- sys/bus/thunderbolt/devices/0-301/tx_lanes --
2
-- sys/bus/thunderbolt/devices/0-301/vendor_name --
ATTO
-- sys/bus/thunderbolt/devices/0-301/device_name --
NS 2101
-- sys/bus/thunderbolt/devices/0-1/tx_speed --
fast
-- sys/bus/pci/devices/0000:05:00.0/removable --
removable
-- sys/bus/pci/devices/0000:01:00.0/removable --
fixed
`
	nic := func(address string, gts float64) model.NIC {
		up := model.PCISlot{Address: "0000:02:00.0", GTs: gts, Lanes: 4}
		return model.NIC{PCI: model.Known(model.PCISlot{Address: address, GTs: 8, Lanes: 4}), Upstream: model.Known([]model.PCISlot{up})}
	}
	f := &model.Facts{NICs: []model.NIC{nic("0000:05:00.0", 8), nic("0000:01:00.0", 2.5), nic("0000:09:00.0", 8)}}
	if err := readThunderbolt(t.Context(), parsed(tree), f); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]model.ThunderboltDevice{{Name: "0-301", Product: "ATTO NS 2101", Rate: 20 * unit.Gbit}}, f.Thunderbolt); d != "" {
		t.Error(d)
	}
	for i, want := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		if got := [2]bool{f.NICs[i].PCI.Value.Tunnel, f.NICs[i].Upstream.Value[0].Tunnel}; got != want {
			t.Errorf("card %d: %v, want %v", i, got, want)
		}
	}
	g := &model.Facts{NICs: []model.NIC{nic("0000:01:00.0", 2.5)}}
	if err := readThunderbolt(t.Context(), parsed("-- proc/uptime --\n1 1\n"), g); err != nil || g.NICs[0].Upstream.Value[0].Tunnel || len(g.Thunderbolt) > 0 {
		t.Errorf("a host without Thunderbolt: %+v, %v", g, err)
	}
}

func FuzzParseLaneSpeed(f *testing.F) {
	f.Add("20.0 Gb/s")
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := parseLaneSpeed(s); err == nil && !(v > 0 && v <= 1000*unit.Gbit) {
			t.Errorf("%q: %v", s, v)
		}
	})
}
