package size

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

// The papers' own numbers. Where a paper is wrong the test says so, and holds
// what is right.

func value(t *testing.T, a Answer, err error, name string) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	v, ok := a.Value(name)
	if !ok {
		t.Fatalf("%s: no result %q among %+v", a.What, name, a.Results)
	}
	return v
}

// near tells whether got is want to the digits that a paper prints.
func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*math.Abs(want) }

func TestATTOTable1PCIe(t *testing.T) {
	for _, c := range []struct {
		gen, lanes int
		bytes      float64
	}{
		{1, 1, 250e6}, {1, 2, 500e6}, {1, 4, 1e9}, {1, 8, 2e9},
		{2, 1, 500e6}, {2, 2, 1e9}, {2, 4, 2e9}, {2, 8, 4e9},
	} {
		a, err := PCIe(PCIeInput{Gen: c.gen, Lanes: c.lanes, Payload: 256, Ports: 1})
		if got := value(t, a, err, "after coding, in bytes"); got != c.bytes {
			t.Errorf("generation %d x%d: %g B/s, want %g", c.gen, c.lanes, got, c.bytes)
		}
		// The table stops at the line code; what a NIC gets is less.
		if p := value(t, a, err, "payload"); p >= c.bytes*8 {
			t.Errorf("generation %d x%d: payload %g is no less than %g after coding", c.gen, c.lanes, p, c.bytes*8)
		}
	}
}

func TestCITSlots(t *testing.T) {
	for _, c := range []struct {
		gen           int
		coded, wrong  float64 // bit/s
		carries40Gbit bool
	}{
		// "8b/12b line encoding, 20% overhead, 25.6Gbps": it is 8b/10b, and the 20%
		// have been taken off 40 GT/s already to give 32.
		{2, 32e9, 25.6e9, false},
		// "64Gbps … 64/66 encoding": generation 3 has 128b/130b, and 64 is before it.
		{3, 63.02e9, 64e9, true},
	} {
		a, err := PCIe(PCIeInput{Gen: c.gen, Lanes: 8, Payload: 256, Rate: 40 * unit.Gbit, Ports: 1})
		got := value(t, a, err, "after coding")
		if !near(got, c.coded, 1e-4) || near(got, c.wrong, 1e-3) {
			t.Errorf("generation %d x8: %g bit/s after coding, want %g", c.gen, got, c.coded)
		}
		if room := value(t, a, err, "headroom"); (room > 0) != c.carries40Gbit {
			t.Errorf("generation %d x8: headroom for 40 Gbit/s %g", c.gen, room)
		}
	}
}

func TestCITWindows(t *testing.T) {
	rtt := 16 * time.Millisecond
	a, err := Window(WindowInput{Rate: 40 * unit.Gbit, RTT: rtt})
	if got := value(t, a, err, "window"); got != 80e6 {
		t.Errorf("40 Gbit/s over 16 ms: %g B, want 80 MB", got)
	}
	// Timestamps off, as the paper has them, takes away what tells old segments
	// from new ones after 0.86 s.
	if got := value(t, a, err, "sequence numbers wrap after"); !near(got, 0.86, 0.005) {
		t.Errorf("sequence numbers last %g s, want 0.86", got)
	}
	if !strings.Contains(strings.Join(a.Notes, " "), "keep TCP timestamps on") {
		t.Errorf("no word on timestamps: %q", a.Notes)
	}
	// Buffers of 16 MiB for that path: one flow gets a sixth to a fifth of it at best.
	for _, c := range []struct {
		share, gbit, flows float64
	}{{1, 8.39, 5}, {0.75, 6.29, 7}, {0.5, 4.19, 10}} {
		a, err := WindowFor(WindowInput{Rate: 40 * unit.Gbit, RTT: rtt, Buffer: 16 * unit.MiB, Share: c.share})
		if got := value(t, a, err, "rate of one connection"); !near(got, c.gbit*1e9, 2e-3) {
			t.Errorf("share %g: one flow %g bit/s, want %g Gbit/s", c.share, got, c.gbit)
		}
		if got := value(t, a, err, "connections needed"); got != c.flows {
			t.Errorf("share %g: %g connections, want %g", c.share, got, c.flows)
		}
	}
}

// ATTO prints the formula beside a constant of 1 MiB and does not evaluate it.
func TestATTOBuffers(t *testing.T) {
	for rtt, want := range map[time.Duration]float64{200 * time.Microsecond: 250e3, time.Millisecond: 1.25e6} {
		a, err := Window(WindowInput{Rate: 10 * unit.Gbit, RTT: rtt})
		if got := value(t, a, err, "window"); got != want {
			t.Errorf("10 Gbit/s over %s: %g B, want %g", rtt, got, want)
		}
	}
	a, err := Window(WindowInput{Rate: 10 * unit.Gbit, Window: unit.MiB})
	if got := value(t, a, err, "longest RTT"); !near(got, 839e-6, 1e-3) {
		t.Errorf("1 MiB carries 10 Gbit/s up to %g s, want 839 µs", got)
	}
}

func TestLinkOfPapers(t *testing.T) {
	// CIT's "theoretical peak 39.6 Gbps" is MTU 9000 with timestamps.
	a, err := Link(LinkInput{Rate: 40 * unit.Gbit, MTU: 9000, Timestamps: true, Protocol: "tcp"})
	if got := value(t, a, err, "goodput"); !near(got, 39.6e9, 1e-3) {
		t.Errorf("40GbE with MTU 9000: %g bit/s, want 39.6 Gbit/s", got)
	}
	// ATTO's switch MTU of 9000 is too small: it counts headers.
	for tags, size := range map[int]string{0: "9018", 1: "9022"} {
		a, err := Link(LinkInput{Rate: 10 * unit.Gbit, MTU: 9000, VLANTags: tags, Protocol: "tcp"})
		if err != nil || !strings.Contains(strings.Join(a.Notes, " "), "frames of "+size+" bytes") {
			t.Errorf("%d tags: %v, %q, want frames of %s", tags, err, a.Notes, size)
		}
	}
	// Jumbo frames: ATTO says 10-20%, NAPPIT 20-50%, DELL's figure 3 shows 600%.
	// Headers are 4.4% (5.2% with timestamps); more is another fault removed.
	for timestamps, want := range map[bool]float64{false: 0.044, true: 0.052} {
		a, err := Link(LinkInput{Rate: 10 * unit.Gbit, MTU: 9000, Timestamps: timestamps, Protocol: "tcp"})
		if got := value(t, a, err, "gain over MTU 1500"); !near(got, want, 0.01) || got > 0.1 {
			t.Errorf("timestamps %v: gain %g, want %g", timestamps, got, want)
		}
	}
}

func TestNAPPITPools(t *testing.T) {
	disk := PoolInput{DiskRate: 150e6, DiskIOPS: 100}
	with := func(layout string, vdevs, width int, size unit.Bytes) PoolInput {
		in := disk
		in.Layout, in.Vdevs, in.Width, in.DiskSize = layout, vdevs, width, size
		return in
	}
	for _, c := range []struct {
		what string
		in   PoolInput
		name string
		want float64
	}{
		{"aspect 1, example", with("raidz2", 1, 6, 0), "streaming read", 600e6},
		{"aspect 1, example", with("raidz2", 1, 6, 0), "streaming write", 600e6},
		{"aspect 1, mirrors read with all disks", with("mirror", 3, 2, 0), "streaming read", 900e6},
		{"aspect 1, mirrors write with vdevs", with("mirror", 3, 2, 0), "streaming write", 450e6},
		// The heading says "n × number of datadisks", which would be 800 for this
		// pool; the example beneath it counts vdevs and is right.
		{"aspect 2, example", with("raidz2", 2, 6, 0), "random read IOPS", 200},
		{"aspect 2, example", with("raidz2", 2, 6, 0), "random write IOPS", 200},
		{"aspect 2, mirrors", with("mirror", 3, 2, 0), "random read IOPS", 600},
		{"aspect 2, mirrors", with("mirror", 3, 2, 0), "random write IOPS", 300},
		{"7 disks of raid-0 have 7 times a disk's", with("raid0", 1, 7, 0), "random read IOPS", 700},
		{"10 disks in one Z2 have one disk's", with("raidz2", 1, 10, 0), "random read IOPS", 100},
		{"24 × 10 TB as 4 × 6", with("raidz2", 4, 6, 10*unit.TB), "capacity", 160e12},
		{"20 × 10 TB as 2 × 10", with("raidz2", 2, 10, 10*unit.TB), "capacity", 160e12},
		{"which has half the IOPS", with("raidz2", 2, 10, 10*unit.TB), "random read IOPS", 200},
		{"5 × 1.2 TB Z1", with("raidz1", 1, 5, 1200*unit.GB), "capacity", 4.8e12},
		{"20 × 3.8 TB as 2 × 10, up to 60 TB", with("raidz2", 2, 10, 3800*unit.GB), "capacity", 60.8e12},
	} {
		a, err := Pool(c.in)
		if got := value(t, a, err, c.name); got != c.want {
			t.Errorf("%s: %s %g, want %g", c.what, c.name, got, c.want)
		}
	}
}

func TestNAPPITMemory(t *testing.T) {
	// "10% of RAM up to 4 GB": OpenZFS means 4 GiB.
	for ram, want := range map[unit.Bytes]float64{8 * unit.GB: 0.8e9, 40 * unit.GB: 4e9, 128 * unit.GB: 4 << 30} {
		a, err := RAM(RAMInput{RAM: ram, Record: 128 * unit.KiB})
		if got := value(t, a, err, "write cache"); got != want {
			t.Errorf("%s: write cache %g, want %g", ram, got, want)
		}
	}
	// "2-5 GB RAM per TB dedup data" are records of 128 and 64 KiB; with 8 KiB it
	// is 39 GB, which the rule does not say.
	for record, want := range map[unit.Bytes]float64{128 * unit.KiB: 2.44e9, 64 * unit.KiB: 4.88e9, 8 * unit.KiB: 39.1e9} {
		a, err := RAMFor(RAMInput{Dedup: unit.TB, Record: record})
		if got := value(t, a, err, "dedup table"); !near(got, want, 0.002) {
			t.Errorf("1 TB in records of %s: %g B, want %g", record, got, want)
		}
	}
	a, err := RAMFor(RAMInput{Active: 10 * unit.TB, Record: 128 * unit.KiB})
	if got := value(t, a, err, "metadata of active data"); got != 100e9 {
		t.Errorf("metadata of 10 TB: %g B, want 1%%", got)
	}
	// "L2ARC should not exceed 5-10 × RAM": with today's headers ten times the
	// RAM takes 1% of it for records of 128 KiB, 16% for 8 KiB.
	for record, want := range map[unit.Bytes]float64{128 * unit.KiB: 0.0098, 8 * unit.KiB: 0.156} {
		a, err := RAM(RAMInput{RAM: 64 * unit.GiB, Record: record, L2ARC: 640 * unit.GiB})
		if got := value(t, a, err, "L2ARC headers") / float64(64*unit.GiB); !near(got, want, 0.01) {
			t.Errorf("records of %s: headers take %g of the RAM, want %g", record, got, want)
		}
	}
}

func TestNAPPITFrames(t *testing.T) {
	for _, c := range []struct {
		format string
		paper  float64 // bytes
	}{{"film4k", 75e6}, {"pal", 2.5e6}} { // "about 75 MB", "2,5 MB", both RGB of 16 bits
		a, err := Streams(StreamsInput{Format: c.format, Pixel: "rgb-16", FPS: 25, MTU: 9000})
		if got := value(t, a, err, "one frame"); !near(got, c.paper, 0.025) {
			t.Errorf("%s: %g B, the paper says %g", c.format, got, c.paper)
		}
	}
}

// SFC blames "NFS network caches" for what one client reads, about 7 times
// 1 GbE. RHEL 5 had 16 RPC slots of 32 KiB on one connection: 600 µs per call,
// the server's time included, is all it takes.
func TestSFCSlots(t *testing.T) {
	a, err := NFS(NFSInput{Version: "3", RTT: 200 * time.Microsecond, Service: 400 * time.Microsecond,
		Slots: 16, Transfer: 32 * unit.KiB, Nconnect: 1, Rate: 9.4 * unit.Gbit})
	if got := value(t, a, err, "ceiling"); !near(got, 6.99e9, 1e-3) {
		t.Errorf("16 slots of 32 KiB over 600 µs: %g bit/s, want 6.99 Gbit/s", got)
	}
	// Today's defaults are far above the link.
	a, err = NFS(NFSInput{Version: "4.1", RTT: 600 * time.Microsecond, Transfer: unit.MiB, Nconnect: 1, Rate: 9.4 * unit.Gbit})
	if got := value(t, a, err, "ceiling"); got != 9.4e9 {
		t.Errorf("64 slots of 1 MiB: ceiling %g, want the link", got)
	}
}

// The vendor's chart of data + protection units by nodes.
func TestOneFSChart(t *testing.T) {
	levels := []string{"+1n", "+2d:1n", "+2n", "+3d:1n", "+3d:1n1d", "+4d:1n", "+4d:2n"}
	chart := map[int][]float64{ // data units; 0: no such stripe
		3: {2, 4, 0, 6, 3, 8, 0}, 4: {3, 6, 0, 9, 5, 12, 4}, 5: {4, 8, 3, 12, 7, 16, 6}, 6: {5, 10, 4, 15, 9, 16, 8},
	}
	for nodes, row := range chart {
		for i, want := range row {
			a, err := Pool(PoolInput{Layout: onefsPrefix + levels[i], Vdevs: nodes})
			if want == 0 {
				if err == nil {
					t.Errorf("%s on %d nodes: %+v, want an error", levels[i], nodes, a.Results)
				}
				continue
			}
			if got := value(t, a, err, "data units"); got != want {
				t.Errorf("%s on %d nodes: %g data units, want %g", levels[i], nodes, got, want)
			}
		}
	}
	// The example beside the chart: five nodes of 108 TB.
	a, err := Pool(PoolInput{Layout: "onefs-+2d:1n", Vdevs: 5, DiskSize: 108 * unit.TB})
	if got := value(t, a, err, "protection overhead"); !near(got, 0.2, 1e-9) {
		t.Errorf("overhead %g, want 20%%", got)
	}
	if got := value(t, a, err, "capacity"); got != 432e12 {
		t.Errorf("capacity %g, want 432 TB", got)
	}
	// ATTO's N+1 for small clusters, by its old name.
	a, err = Pool(PoolInput{Layout: "onefs-n+1", Vdevs: 3})
	if got := value(t, a, err, "protection overhead"); !near(got, 1.0/3, 1e-9) {
		t.Errorf("N+1 on three nodes: overhead %g, want a third", got)
	}
}
