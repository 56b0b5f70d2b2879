package size

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

func TestLink(t *testing.T) {
	for _, c := range []struct {
		in   LinkInput
		want float64 // share of the line
	}{
		{LinkInput{MTU: 1500, Timestamps: true, Protocol: "tcp"}, 1448. / 1538},
		{LinkInput{MTU: 1500, Protocol: "tcp"}, 1460. / 1538},
		{LinkInput{MTU: 1500, IPv6: true, Timestamps: true, Protocol: "tcp"}, 1428. / 1538},
		{LinkInput{MTU: 1500, VLANTags: 1, Timestamps: true, Protocol: "tcp"}, 1448. / 1542},
		{LinkInput{MTU: 9000, VLANTags: 2, Protocol: "tcp"}, 8960. / 9046},
		{LinkInput{MTU: 1500, Timestamps: true, Protocol: "udp"}, 1472. / 1538},
		{LinkInput{MTU: 1500, Protocol: "iscsi", Transfer: 8 * unit.KiB}, 1460. / 1538 * 8192 / 8240},
		{LinkInput{MTU: 1500, Protocol: "nfs3"}, 1460. / 1538 * (1 << 20) / (1<<20 + 132)},
		{LinkInput{MTU: 1500, Protocol: "smb", Transfer: 64 * unit.KiB}, 1460. / 1538 * 65536 / 65620},
	} {
		c.in.Rate = unit.Gbit
		a, err := Link(c.in)
		if got := value(t, a, err, "share of the line"); !near(got, c.want, 1e-12) {
			t.Errorf("%+v: share %g, want %g", c.in, got, c.want)
		}
		if got := value(t, a, err, "goodput"); !near(got, c.want*1e9, 1e-12) {
			t.Errorf("%+v: goodput %g, want %g", c.in, got, c.want*1e9)
		}
		// In reverse that goodput needs the line it came from.
		c.in.Rate = unit.BitRate(c.want * 1e9)
		a, err = LinkFor(c.in)
		if got := value(t, a, err, "Ethernet rate"); got != 1e9 {
			t.Errorf("%+v: needs %g, want 1 Gbit/s", c.in, got)
		}
	}
}

// One connection has at most 65535 B × 2¹⁴ under way, and a socket's buffer 2³¹ - 1 B.
func TestWindowOfSeveralConnections(t *testing.T) {
	for _, c := range []struct {
		rtt        time.Duration
		share      float64
		n, receive float64 // connections, 0: one; buffer of each
	}{
		{20 * time.Millisecond, 0.5, 0, 2e9},          // 400 Gbit/s: 1 GB
		{60 * time.Millisecond, 0.5, 3, 2e9},          // 3 GB
		{20 * time.Millisecond, 0.25, 2, 2e9},         // 536870911 B of each buffer are window
		{60 * time.Millisecond, 1, 3, 1e9},            // the window is the bound
		{10737 * time.Microsecond, 0.25, 0, 2.1474e9}, // 536.85 MB
	} {
		in := WindowInput{Rate: 400 * unit.Gbit, RTT: c.rtt, Share: c.share}
		for _, compute := range []func(WindowInput) (Answer, error){Window, WindowFor} {
			a, err := compute(in)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := a.Value("connections needed")
			buffer, _ := a.Value("receive buffer (tcp_rmem maximum)")
			after, _ := a.Value("sequence numbers wrap after")
			if want := (1 << 32) * 8 / (400e9 / max(1, c.n)); after/want < 0.999 || after/want > 1.001 {
				t.Errorf("%s, share %g: sequence numbers of one connection wrap after %g s, want %g", c.rtt, c.share, after, want)
			}
			if n != c.n || buffer != c.receive || buffer > LargestBuffer {
				t.Errorf("%s, share %g: %g connections, buffers of %g, want %g and %g", c.rtt, c.share, n, buffer, c.n, c.receive)
			}
		}
	}
	if a, err := Window(WindowInput{RTT: time.Second, Buffer: LargestBuffer, Share: 1}); err != nil {
		t.Error(err)
	} else if rate, _ := a.Value("rate of one connection"); rate != 8*LargestWindow {
		t.Errorf("%g bit/s", rate)
	}
}

func TestWindowThirdFromTwo(t *testing.T) {
	a, err := Window(WindowInput{RTT: 10 * time.Millisecond, Buffer: 4 * unit.MiB})
	if got := value(t, a, err, "rate of one connection"); !near(got, 2097152*8/0.01, 1e-12) {
		t.Errorf("4 MiB of buffer, half of it window, over 10 ms: %g bit/s", got)
	}
	a, err = Window(WindowInput{Rate: unit.Gbit, RTT: 10 * time.Millisecond, Share: 0.25})
	if got := value(t, a, err, "receive buffer (tcp_rmem maximum)"); got != 5e6 {
		t.Errorf("1 Gbit/s over 10 ms with a quarter as window: %g B, want 5 MB", got)
	}
	if got := value(t, a, err, "send buffer (tcp_wmem maximum)"); got != 2.5e6 {
		t.Errorf("send buffer %g B, want twice 1.25 MB", got)
	}
}

// Packets of a memory write with a 64-bit address carry 24 B around the payload.
func TestPCIePayload(t *testing.T) {
	for _, c := range []struct {
		in   PCIeInput
		want float64
	}{
		{PCIeInput{Gen: 2, Lanes: 8, Payload: 256}, 32e9 * 256 / 280},
		{PCIeInput{Gen: 3, Lanes: 8, Payload: 256}, 64e9 * 128 / 130 * 256 / 280},
		{PCIeInput{Gen: 3, Lanes: 8, Payload: 128, ECRC: true}, 64e9 * 128 / 130 * 128 / 156},
		{PCIeInput{Gen: 5, Lanes: 16, Payload: 512}, 512e9 * 128 / 130 * 512 / 536},
	} {
		c.in.Ports = 1
		a, err := PCIe(c.in)
		if got := value(t, a, err, "payload"); !near(got, c.want, 1e-12) {
			t.Errorf("%+v: payload %g, want %g", c.in, got, c.want)
		}
	}
}

func TestPCIeReverse(t *testing.T) {
	for _, c := range []struct {
		in   PCIeInput
		name string
		want float64 // 0: does not fit
	}{
		{PCIeInput{Rate: 10 * unit.Gbit, Ports: 2, Payload: 256}, "lanes of generation 2", 8},
		{PCIeInput{Rate: 40 * unit.Gbit, Ports: 1, Payload: 256}, "lanes of generation 3", 8},
		{PCIeInput{Rate: 100 * unit.Gbit, Ports: 2, Payload: 256}, "lanes of generation 3", 0},
		{PCIeInput{Rate: 100 * unit.Gbit, Ports: 2, Payload: 256}, "lanes of generation 4", 16},
		{PCIeInput{Rate: 400 * unit.Gbit, Ports: 1, Payload: 256}, "lanes of generation 5", 16},
	} {
		a, err := PCIeFor(c.in)
		if got, _ := a.Value(c.name); err != nil || got != c.want {
			t.Errorf("%+v: %s %g, %v; want %g", c.in, c.name, got, err, c.want)
		}
	}
	// 3.2 of 3.28 Gbit/s is on paper only: the answer must not stop at the width.
	a, err := PCIeFor(PCIeInput{Gen: 2, Rate: 3.6 * unit.Gbit, Ports: 1, Payload: 256})
	if err != nil || !strings.Contains(strings.Join(a.Notes, " "), "on paper only") {
		t.Errorf("3.6 Gbit/s in x1 of 3.66: %v, %q", err, a.Notes)
	}
}

func TestNFS(t *testing.T) {
	in := NFSInput{Version: "4.1", RTT: time.Millisecond, Transfer: unit.MiB, Nconnect: 4, Window: unit.MiB, ReadAhead: 128 * unit.KiB}
	a, err := NFS(in)
	for name, want := range map[string]float64{
		"slots":                       64 * 1048576 * 8 * 1000, // of the session, whatever nconnect is
		"TCP windows":                 4 * 1048576 * 8 * 1000,
		"ceiling":                     4 * 1048576 * 8 * 1000,
		"one reader with small reads": 2 * 131072 * 8 * 1000,
	} {
		if got := value(t, a, err, name); !near(got, want, 1e-12) {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
	// RPC slots of version 3 are each connection's own.
	in.Version, in.Slots = "3", 16
	a, err = NFS(in)
	if got := value(t, a, err, "slots"); !near(got, 64*1048576*8*1000, 1e-12) {
		t.Errorf("16 slots on each of 4 connections: %g", got)
	}
	in.Rate, in.Transfer = 40*unit.Gbit, 32*unit.KiB
	a, err = NFSFor(in)
	if got := value(t, a, err, "slots needed"); got != 153 { // ⌈5,000,000 / 32,768⌉
		t.Errorf("5 MB in flight in calls of 32 KiB: %g slots, want 153", got)
	}
	if !strings.Contains(strings.Join(a.Notes, " "), "sunrpc.tcp_max_slot_table_entries or") {
		t.Errorf("the notes do not name the setting of version 3: %q", a.Notes)
	}
	if got := value(t, a, err, "connections needed (nconnect)"); got != 5 { // ⌈5,000,000 / 1,048,576⌉
		t.Errorf("5 MB in windows of 1 MiB: %g connections, want 5", got)
	}
}

func TestISCSI(t *testing.T) {
	open := ISCSIInput{QueueDepth: 32, Block: 8 * unit.KiB, Latency: 500 * time.Microsecond,
		MaxRecv: 256 * unit.KiB, FirstBurst: 256 * unit.KiB, MaxBurst: 16776192, Immediate: true}
	a, err := ISCSI(open)
	if got := value(t, a, err, "IOPS"); got != 64000 {
		t.Errorf("32 in flight over 500 µs: %g IOPS, want 64000", got)
	}
	if got := value(t, a, err, "throughput in bytes"); got != 64000*8192 {
		t.Errorf("throughput %g B/s", got)
	}
	for _, c := range []struct {
		what        string
		change      func(*ISCSIInput)
		r2ts, pdus  float64
		unsolicited unit.Bytes
	}{
		{"within FirstBurstLength", func(*ISCSIInput) {}, 0, 1, 8 * unit.KiB},
		{"1 MiB with 256 KiB unsolicited", func(in *ISCSIInput) { in.Block = unit.MiB }, 1, 4, 256 * unit.KiB},
		{"InitialR2T and no immediate data", func(in *ISCSIInput) { in.InitialR2T, in.Immediate = true, false }, 1, 1, 0},
		// The standard's own defaults (RFC 7143 §13.12-13.14): 8 KiB of immediate
		// data, bursts of 256 KiB in PDUs of 8 KiB.
		{"defaults of RFC 7143", func(in *ISCSIInput) {
			in.Block, in.InitialR2T, in.MaxRecv, in.FirstBurst, in.MaxBurst = unit.MiB, true, 8*unit.KiB, 64*unit.KiB, 256*unit.KiB
		}, 4, 128, 8 * unit.KiB},
		// A sequence ends with a short PDU.
		{"bursts that PDUs do not divide", func(in *ISCSIInput) {
			in.Block, in.InitialR2T, in.Immediate, in.MaxRecv, in.FirstBurst, in.MaxBurst = 64*unit.KiB, true, false, 24*unit.KiB, 32*unit.KiB, 32*unit.KiB
		}, 2, 4, 0},
	} {
		in := open
		in.Write, in.RTT = true, 100*time.Microsecond
		c.change(&in)
		a, err := ISCSI(in)
		if got := value(t, a, err, "R2Ts per command"); got != c.r2ts || float64(in.pdus()) != c.pdus || in.unsolicited() != c.unsolicited {
			t.Errorf("%s: %g R2Ts, %d PDUs, %d B unsolicited; want %g, %g, %d", c.what, got, in.pdus(), in.unsolicited(), c.r2ts, c.pdus, c.unsolicited)
		}
		if got, want := value(t, a, err, "IOPS"), 32/(500e-6+c.r2ts*100e-6); !near(got, want, 1e-12) {
			t.Errorf("%s: %g IOPS, want %g", c.what, got, want)
		}
	}
	open.Digests = 2
	a, err = ISCSI(open)
	if got := value(t, a, err, "share of data in the TCP payload"); !near(got, 8192./8248, 1e-12) {
		t.Errorf("share with both digests %g, want 8192 / 8248", got)
	}
}

// What a goal needs carries it, and one less does not.
func TestReverseIsEnoughAndNotMore(t *testing.T) {
	for goal := 300 * unit.Mbit; goal < 400*unit.Gbit; goal *= 1.7 {
		is := ISCSIInput{QueueDepth: 1, Block: 64 * unit.KiB, Latency: time.Millisecond, MaxRecv: unit.MiB, FirstBurst: unit.MiB, MaxBurst: unit.MiB, Rate: goal}
		a, err := ISCSIFor(is)
		is.QueueDepth, is.Rate = int(value(t, a, err, "queue depth needed")), 0
		enough, err := ISCSI(is)
		if got := value(t, enough, err, "throughput"); got < float64(goal)*(1-1e-9) || got*float64(is.QueueDepth-1)/float64(is.QueueDepth) >= float64(goal) {
			t.Errorf("iscsi %s: depth %d gives %g", goal, is.QueueDepth, got)
		}
		n := NFSInput{Version: "3", RTT: time.Millisecond, Transfer: 64 * unit.KiB, Nconnect: 1, Rate: goal}
		a, err = NFSFor(n)
		n.Slots, n.Rate = int(value(t, a, err, "slots needed")), 0
		enough, err = NFS(n)
		if got := value(t, enough, err, "slots"); got < float64(goal)*(1-1e-9) || got*float64(n.Slots-1)/float64(n.Slots) >= float64(goal) {
			t.Errorf("nfs %s: %d slots give %g", goal, n.Slots, got)
		}
		p := PoolInput{Layout: "raidz2", Width: 6, DiskRate: 150e6, DiskIOPS: 100, WantRate: ByteRate(goal / 8)}
		a, err = PoolFor(p)
		p.Vdevs, p.WantRate = int(value(t, a, err, "vdevs needed")), 0
		enough, err = Pool(p)
		if got := value(t, enough, err, "streaming write"); got < float64(goal)/8*(1-1e-9) || got*float64(p.Vdevs-1)/float64(p.Vdevs) >= float64(goal)/8 {
			t.Errorf("pool %s: %d vdevs give %g", goal, p.Vdevs, got)
		}
	}
}

func TestPoolWrites(t *testing.T) {
	for _, c := range []struct {
		layout        string
		width         int
		write, stream float64 // of a disk with 120 IOPS and 100 MB/s
	}{
		{"raid0", 4, 480, 400e6}, {"raid10", 4, 240, 200e6}, {"mirror", 3, 120, 100e6},
		{"raid5", 4, 120, 300e6}, {"raid6", 6, 120, 400e6}, {"raidz1", 4, 120, 300e6}, {"raidz3", 7, 120, 400e6},
	} {
		a, err := Pool(PoolInput{Layout: c.layout, Vdevs: 1, Width: c.width, DiskRate: 100e6, DiskIOPS: 120})
		if got := value(t, a, err, "random write IOPS"); got != c.write {
			t.Errorf("%s of %d: %g IOPS, want %g", c.layout, c.width, got, c.write)
		}
		if got := value(t, a, err, "streaming write"); got != c.stream {
			t.Errorf("%s of %d: %g B/s, want %g", c.layout, c.width, got, c.stream)
		}
	}
	read := 0.67
	a, err := Pool(PoolInput{Layout: "raid6", Vdevs: 1, Width: 12, DiskRate: 100e6, DiskIOPS: 180, Read: &read})
	if got := value(t, a, err, "mixed IOPS"); !near(got, 815.1, 1e-3) { // 1 / (0.67/2160 + 0.33/360)
		t.Errorf("mixed: %g IOPS, want 815", got)
	}
}

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		pixel string
		want  float64 // bytes of a frame of 1920 × 1080
	}{
		{"yuv422-8", 4147200}, {"yuv422-10", 5529600}, {"rgb-8", 6220800}, {"rgb-10", 8294400}, {"rgb-16", 12441600}, {"rgba-16", 16588800},
	} {
		a, err := Streams(StreamsInput{Format: "hd1080", Pixel: c.pixel, FPS: 25, MTU: 1500})
		if got := value(t, a, err, "one frame"); got != c.want {
			t.Errorf("%s: %g B, want %g", c.pixel, got, c.want)
		}
	}
	// v210 fills lines up: 1280 pixels take the room of 1296.
	a, err := Streams(StreamsInput{Format: "hd720", Pixel: "yuv422-10", FPS: 50, MTU: 1500})
	if got := value(t, a, err, "one frame"); got != 27*128*720 {
		t.Errorf("hd720 in v210: %g B, want %d", got, 27*128*720)
	}
	in := StreamsInput{Stream: 220 * unit.Mbit, Rate: 10 * unit.Gbit, Pool: 1e9, Spare: 0.2, MTU: 1500}
	a, err = Streams(in)
	for name, want := range map[string]float64{"streams on the link": 34, "streams on the pool": 29, "streams": 29} {
		if got := value(t, a, err, name); got != want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
	in.Pool, in.Count = 0, 34
	a, err = StreamsFor(in)
	if got := value(t, a, err, "links needed"); got != 1 || !a.Reverse {
		t.Errorf("34 streams: %g links, reverse %v", got, a.Reverse)
	}
	in.Count = 35
	a, err = StreamsFor(in)
	if got := value(t, a, err, "links needed"); got != 2 {
		t.Errorf("35 streams: %g links, want 2", got)
	}
}

func TestRefuses(t *testing.T) {
	nan := math.NaN()
	is := ISCSIInput{QueueDepth: 1, Block: 4096, Latency: time.Millisecond, MaxRecv: 8192, FirstBurst: 8192, MaxBurst: 8192}
	slow := is
	slow.RTT = 2 * time.Millisecond
	burst := is
	burst.MaxBurst = 4096
	for want, run := range map[string]func() (Answer, error){
		"the rate is needed":      func() (Answer, error) { return Link(LinkInput{MTU: 1500, Protocol: "tcp"}) },
		"MTU of 100":              func() (Answer, error) { return Link(LinkInput{Rate: 1e9, MTU: 100, Protocol: "tcp"}) },
		"MTU of 1200":             func() (Answer, error) { return Link(LinkInput{Rate: 1e9, MTU: 1200, IPv6: true, Protocol: "tcp"}) },
		"unknown protocol":        func() (Answer, error) { return Link(LinkInput{Rate: 1e9, MTU: 1500, Protocol: "ftp"}) },
		"no meaning for plain":    func() (Answer, error) { return Link(LinkInput{Rate: 1e9, MTU: 1500, Protocol: "udp", Transfer: 4096}) },
		"rate of one link":        func() (Answer, error) { return Link(LinkInput{Rate: 1e9, Link: 1e9, MTU: 1500, Protocol: "tcp"}) },
		"outside 1 kbit/s":        func() (Answer, error) { return Link(LinkInput{Rate: unit.BitRate(nan), MTU: 1500, Protocol: "tcp"}) },
		"give two of rate":        func() (Answer, error) { return Window(WindowInput{Rate: 1e9}) },
		"two ways to say":         func() (Answer, error) { return Window(WindowInput{RTT: 1, Window: 4096, Buffer: 8192}) },
		"buffer share":            func() (Answer, error) { return Window(WindowInput{Rate: 1e9, RTT: 1, Share: nan}) },
		"rate wanted and the RTT": func() (Answer, error) { return WindowFor(WindowInput{Rate: 1e9, Window: 4096}) },
		"generation 6 sends":      func() (Answer, error) { return PCIe(PCIeInput{Gen: 6, Lanes: 8, Payload: 256, Ports: 1}) },
		"lanes of 3":              func() (Answer, error) { return PCIe(PCIeInput{Gen: 3, Lanes: 3, Payload: 256, Ports: 1}) },
		"payload of 300":          func() (Answer, error) { return PCIe(PCIeInput{Gen: 3, Lanes: 8, Payload: 300, Ports: 1}) },
		"rate of a port":          func() (Answer, error) { return PCIeFor(PCIeInput{Payload: 256, Ports: 1}) },
		"unknown version":         func() (Answer, error) { return NFS(NFSInput{Version: "2"}) },
		"the RTT is needed":       func() (Answer, error) { return NFS(NFSInput{Version: "3", Transfer: 4096, Nconnect: 1}) },
		"nconnect of 17": func() (Answer, error) {
			return NFS(NFSInput{Version: "3", RTT: time.Millisecond, Transfer: 4096, Nconnect: 17})
		},
		"slots of 2000": func() (Answer, error) {
			return NFS(NFSInput{Version: "4.1", RTT: time.Millisecond, Slots: 2000, Transfer: 4096, Nconnect: 1})
		},
		"more than the latency": func() (Answer, error) { return ISCSI(slow) },
		"MaxBurstLength":        func() (Answer, error) { return ISCSI(burst) },
		"in reverse, give":      func() (Answer, error) { return ISCSIFor(is) },
		"unknown layout":        func() (Answer, error) { return Pool(PoolInput{Layout: "raid7", Vdevs: 1, Width: 4}) },
		"width of raidz2 of 2":  func() (Answer, error) { return Pool(PoolInput{Layout: "raidz2", Vdevs: 1, Width: 2}) },
		"is odd":                func() (Answer, error) { return Pool(PoolInput{Layout: "raid10", Vdevs: 1, Width: 5}) },
		"unknown OneFS":         func() (Answer, error) { return Pool(PoolInput{Layout: "onefs-+9n", Vdevs: 5}) },
		"more than 6 nodes":     func() (Answer, error) { return Pool(PoolInput{Layout: "onefs-+3d:1n", Vdevs: 7}) },
		"needs 9 nodes":         func() (Answer, error) { return Pool(PoolInput{Layout: "onefs-+4n", Vdevs: 8}) },
		"no width":              func() (Answer, error) { return Pool(PoolInput{Layout: "onefs-+1n", Vdevs: 3, Width: 8}) },
		"there is no reverse":   func() (Answer, error) { return PoolFor(PoolInput{Layout: "onefs-+1n", Vdevs: 3}) },
		"the rate wanted is":    func() (Answer, error) { return Pool(PoolInput{Layout: "raidz2", Vdevs: 1, Width: 6, WantRate: 1e9}) },
		"vdevs are the answer":  func() (Answer, error) { return PoolFor(PoolInput{Layout: "raidz2", Vdevs: 2, Width: 6, WantRate: 1e9}) },
		"give the RAM":          func() (Answer, error) { return RAM(RAMInput{Record: 4096}) },
		"RAM is the answer":     func() (Answer, error) { return RAMFor(RAMInput{RAM: unit.GiB, Record: 4096}) },
		"record of":             func() (Answer, error) { return RAM(RAMInput{RAM: unit.GiB, Record: 100}) },
		"unknown format": func() (Answer, error) {
			return Streams(StreamsInput{Format: "vhs", Pixel: "rgb-8", FPS: 25, MTU: 1500})
		},
		"unknown pixel": func() (Answer, error) { return Streams(StreamsInput{Format: "uhd", Pixel: "rgb", FPS: 25, MTU: 1500}) },
		"height of 0":   func() (Answer, error) { return Streams(StreamsInput{Width: 1920, Pixel: "rgb-8", FPS: 25, MTU: 1500}) },
		"frames per second": func() (Answer, error) {
			return Streams(StreamsInput{Format: "uhd", Pixel: "rgb-8", FPS: nan, MTU: 1500})
		},
		"spare of 1":              func() (Answer, error) { return Streams(StreamsInput{Stream: 1e8, Spare: 1, MTU: 1500}) },
		"number of streams":       func() (Answer, error) { return Streams(StreamsInput{Stream: 1e8, Count: 2, MTU: 1500}) },
		"give the number of":      func() (Answer, error) { return StreamsFor(StreamsInput{Stream: 1e8, MTU: 1500}) },
		"the pool is an answer":   func() (Answer, error) { return StreamsFor(StreamsInput{Stream: 1e8, Count: 1, Pool: 1e9, MTU: 1500}) },
		"unknown protocol \"\"; ": func() (Answer, error) { return LinkFor(LinkInput{Rate: 1e9, MTU: 1500}) },
	} {
		_, err := run()
		if err == nil || !strings.HasPrefix(err.Error(), "size ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

func TestText(t *testing.T) {
	for want, r := range map[string]Result{
		"9.41 Gbit/s":        {Value: 9.414e9, Unit: BitsPerSecond},
		"150 MB/s":           {Value: 150e6, Unit: BytesPerSecond},
		"1 GB/s":             {Value: 999.8e6, Unit: BytesPerSecond},
		"512 B":              {Value: 512, Unit: Bytes},
		"131072 B (128 KiB)": {Value: 131072, Unit: Bytes},
		"160 TB (146 TiB)":   {Value: 160e12, Unit: Bytes},
		"859 ms":             {Value: 0.859, Unit: Seconds},
		"500 µs":             {Value: 5e-4, Unit: Seconds},
		"0.32 /s":            {Value: 0.32, Unit: PerSecond},
		"64000 /s":           {Value: 64000, Unit: PerSecond},
		"99.982%":            {Value: 0.99982, Unit: Share},
		"100.0%":             {Value: 1, Unit: Share},
		"20":                 {Value: 20, Unit: Count},
		"-9.26 Gbit/s":       {Value: -9.26e9, Unit: BitsPerSecond},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%g %s prints %q, want %q", r.Value, r.Unit, got, want)
		}
	}
}

func FuzzParseByteRate(f *testing.F) {
	for _, s := range []string{"150MB/s", "1.2 GB/s", "150MB", "/s", "-1MB/s", "1e9B/s", "9e99TB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseByteRate(s); err == nil && !(r >= 0 && float64(r) <= math.MaxInt64) {
			t.Errorf("ParseByteRate(%q) = %v, accepted", s, r)
		}
	})
}

func FuzzOneFSLevel(f *testing.F) {
	for _, s := range []string{"onefs-+2d:1n", "onefs-N+2:1", "onefs-n2:1", "onefs-", "+1n", "onefs-n+"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, layout string, nodes int) {
		a, err := oneFS(PoolInput{Layout: layout, Vdevs: nodes})
		if err != nil {
			return
		}
		if share, ok := a.Value("share that holds data"); !ok || !(share >= 0.5 && share < 1) {
			t.Errorf("%q on %d nodes: %g holds data", layout, nodes, share)
		}
	})
}

// Whatever passes the checks gives numbers that JSON can carry.
func FuzzFinite(f *testing.F) {
	f.Add(1e9, int64(time.Millisecond), int64(65536), 1500, 0.5)
	f.Add(1e3, int64(1), int64(1)<<40, 65535, 0.05)
	f.Add(1e13, int64(100*time.Second), int64(512), 576, 1.0)
	f.Fuzz(func(t *testing.T, rate float64, ns, size int64, n int, share float64) {
		r, d, b := unit.BitRate(rate), time.Duration(ns), unit.Bytes(size)
		for _, run := range []func() (Answer, error){
			func() (Answer, error) { return Link(LinkInput{Rate: r, MTU: n, Protocol: "tcp"}) },
			func() (Answer, error) { return LinkFor(LinkInput{Rate: r, Link: r, MTU: n, Protocol: "udp"}) },
			func() (Answer, error) { return Window(WindowInput{Rate: r, RTT: d, Share: share}) },
			func() (Answer, error) { return WindowFor(WindowInput{Rate: r, RTT: d, Window: b, Share: share}) },
			func() (Answer, error) { return PCIeFor(PCIeInput{Payload: 256, Rate: r, Ports: n}) },
			func() (Answer, error) {
				return NFSFor(NFSInput{Version: "3", RTT: d, Slots: n, Transfer: b, Nconnect: 1, Rate: r})
			},
			func() (Answer, error) {
				return ISCSI(ISCSIInput{QueueDepth: n, Block: b, Latency: d, MaxRecv: 512, FirstBurst: 512, MaxBurst: 512, Write: true, Rate: r})
			},
			func() (Answer, error) {
				return Pool(PoolInput{Layout: "raid6", Vdevs: 1, Width: n, DiskSize: b, DiskRate: ByteRate(rate), DiskIOPS: rate, Read: &share})
			},
			func() (Answer, error) {
				return RAM(RAMInput{RAM: b, Active: b, Record: unit.Bytes(n), Dedup: b, L2ARC: b})
			},
			func() (Answer, error) {
				return StreamsFor(StreamsInput{Width: n, Height: n, Pixel: "rgb-8", FPS: rate, Rate: r, MTU: 1500, Spare: share, Count: n})
			},
		} {
			a, err := run()
			if err != nil {
				continue
			}
			if _, err := json.Marshal(a); err != nil {
				t.Errorf("%s: %v: %+v", a.What, err, a.Results)
			}
			for _, x := range a.Results {
				if x.Value < 0 && x.Name != "headroom" && x.Name != "left to cache file data" && x.Name != "gain over MTU 1500" {
					t.Errorf("%s: %s is %g", a.What, x.Name, x.Value)
				}
			}
		}
	})
}
