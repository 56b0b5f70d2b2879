package explain

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// ground is a healthy 1 Gbit/s path of 10 ms before anything but a trickle ran.
func ground(k knobs) Ground {
	c := k.build()
	return Ground{Sender: c.Sender, Receiver: c.Receiver, LineRate: c.LineRate, Streams: 4, RTT: 10 * time.Millisecond,
		Copy: map[string]unit.BitRate{}, CopyNear: map[string]unit.BitRate{}, Cost: map[string]CPUCost{}, Measured: map[string]unit.BitRate{}}
}

func buffers(rmem, wmem string) map[string]string {
	return map[string]string{rmemSetting: rmem, wmemSetting: wmem}
}

func nfsMounted(options map[string]string) *FileGround {
	return &FileGround{Mount: model.Mount{Type: "nfs4", Point: "/mnt/nas", Options: options}}
}

func TestExpect(t *testing.T) {
	link := 1e9 * 1448 / 1538
	large := buffers("4096 131072 33554432", "4096 65536 33554432")
	share := 0.9
	for _, tc := range []struct {
		name string
		k    knobs
		edit func(*Ground)
		rung string
		want float64 // 0: nothing predicts
		from string
	}{
		{"the link binds", knobs{settings: large}, nil, RungStream, link, "link goodput 1 Gbit/s × 1448 / 1538 B"},
		{"the receive window binds", knobs{settings: buffers("4096 131072 262144", "4096 16384 33554432")}, nil, RungStream,
			262144 * 1448. / 2304 * 8 / 0.010, "tcp_rmem of server1 256 KiB × 0.63 / 10 ms = 132 Mbit/s; not bound by link goodput"},
		{"the send buffer binds", knobs{settings: buffers("4096 131072 33554432", "4096 16384 262144")}, nil, RungStream,
			262144 * 0.75 * 8 / 0.010, "tcp_wmem of client1 256 KiB × 0.75 / 10 ms"},
		{"four windows", knobs{settings: buffers("4096 131072 262144", "4096 16384 33554432")}, nil, RungStreams,
			4 * 262144 * 1448. / 2304 * 8 / 0.010, "4 × tcp_rmem of server1"},
		{"four times what one stream reached", knobs{settings: large}, func(g *Ground) { g.Measured[RungStream] = 50 * unit.Mbit }, RungStreams,
			200e6, "4 × one stream as measured, 50 Mbit/s"},
		{"the other way the other end's buffers count", knobs{settings: large}, func(g *Ground) {
			g.Sender.Facts.Settings[rmemSetting] = model.Known("4096 131072 262144")
		}, RungReverse, 4 * 262144 * 1448. / 2304 * 8 / 0.010, "4 × tcp_rmem of client1"},
		{"a core binds", knobs{settings: large}, func(g *Ground) { g.Cost["server1"] = CPUCost{PerByte: 20e-9} }, RungStream,
			8 / 20e-9, "one core of server1 at 20 ns/B"},
		{"packets one by one cost more", knobs{settings: large, features: map[string]bool{"tx-tcp-segmentation": true}}, func(g *Ground) {
			g.Cost["client1"], g.Cost["server1"] = CPUCost{PerByte: 1e-9, PerPacket: 20e-6}, CPUCost{PerByte: 1e-9, PerPacket: 20e-6}
		}, RungStream, 8 / (1e-9 + 20e-6/1448), "one core of server1 at 1 ns/B + 20 µs per packet of 1.41 KiB"},
		{"the slot binds", knobs{settings: large, line: -1, physical: 100 * unit.Gbit}, func(g *Ground) {
			g.RTT = 0
			g.Sender.Facts.NICs[0].PCI = model.Known(model.PCISlot{GTs: 8, Lanes: 8})
		}, RungStream, 8e9 * 8 * 128 / 130 * 256 / 280, "PCIe of eth0 on client1 8 GT/s × 8 × 0.985 (coding) × 256/280 B (TLP) = 57.6 Gbit/s"},
		{"no scaling", knobs{settings: large}, func(g *Ground) {
			for _, e := range []*End{g.Sender, g.Receiver} {
				for i := range e.Samples {
					e.Samples[i].Conns[0].Options &^= optWScale
				}
			}
		}, RungStream, 65535 * 8 / 0.010, "window without scaling 64 KiB"},
		{"nothing known", knobs{line: -1, noFacts: true}, func(g *Ground) { g.RTT = 0 }, RungStream, 0, "neither facts nor the rungs below"},
		{"memory", knobs{}, nil, RungMemory, 0, "nothing below memory"},
		{"loopback", knobs{}, func(g *Ground) {
			g.CopyNear["client1"], g.Sender.Facts.CPUs = 80*unit.Gbit, []int{0, 1}
		}, RungLoopback, 80e9, "within the caches of client1"},
		{"loopback on one core", knobs{}, func(g *Ground) {
			g.CopyNear["client1"], g.Sender.Facts.CPUs = 80*unit.Gbit, []int{3}
		}, RungLoopback, 40e9, "/ 2 on its one core"},
		{"cache of the server", knobs{}, func(g *Ground) { g.Copy["client1"] = 20 * unit.Gbit }, RungCached, 60e9, "3 × 20 Gbit/s on client1"},
		{"disk", knobs{}, nil, RungDisk, 0, "no fact tells"},
		{"no mount", knobs{}, nil, RungWhole, 0, "the client has no mount"},
		{"disk below the network", knobs{}, func(g *Ground) {
			g.File = nfsMounted(nil)
			g.Measured[RungStream], g.Measured[RungDisk] = 900*unit.Mbit, 300*unit.Mbit
		}, RungWhole, 300e6, "server disk as measured 300 Mbit/s; not bound by one connection, as one stream measured 900 Mbit/s"},
		{"the server has it in memory", knobs{}, func(g *Ground) {
			g.File = nfsMounted(nil)
			g.File.Cached = &share
			g.Measured[RungStream], g.Measured[RungDisk] = 900*unit.Mbit, 300*unit.Mbit
		}, RungWhole, 900e6, "one connection"},
		{"several connections", knobs{}, func(g *Ground) {
			g.File = nfsMounted(map[string]string{"nconnect": "8"})
			g.Measured[RungStream], g.Measured[RungStreams] = 200*unit.Mbit, 800*unit.Mbit
		}, RungWhole, 800e6, "8 connections, as 4 streams measured 800 Mbit/s"},
		{"few slots", knobs{}, func(g *Ground) {
			g.File = nfsMounted(map[string]string{"rsize": "32768"})
			g.File.Slots = 2
			g.Measured[RungStream] = 900 * unit.Mbit
		}, RungWhole, 2 * 32768 * 8 / 0.010, "NFS slots 2 × rsize 32 KiB / 10 ms = 52.4 Mbit/s"},
		{"little read-ahead", knobs{}, func(g *Ground) {
			g.File = nfsMounted(map[string]string{"rsize": "1048576"})
			g.File.Slots, g.File.ReadAhead = 64, 128*unit.KiB
			g.Measured[RungStream] = 900 * unit.Mbit
		}, RungWhole, 2 * 131072 * 8 / 0.010, "2 × read-ahead 128 KiB / 10 ms = 210 Mbit/s"},
		{"a shallow iSCSI queue", knobs{}, func(g *Ground) {
			g.File = &FileGround{Mount: model.Mount{Source: "iqn.x", Point: "/dev/sdb", Type: "iscsi"}, Disk: "sdb", Depth: 4}
			g.Receiver.Facts.Disks = []model.Disk{{Name: "sdb", MaxRequest: model.Known(64 * unit.KiB)}}
			g.Measured[RungStream] = 900 * unit.Mbit
		}, RungWhole, 4 * 65536 * 8 / 0.010, "iSCSI queue depth 4 × request 64 KiB / 10 ms = 210 Mbit/s"},
		{"few SMB credits", knobs{}, func(g *Ground) {
			g.File = &FileGround{Mount: model.Mount{Source: "//nas/share", Point: "/mnt/nas", Type: "cifs"}, Credits: 10}
			g.Measured[RungStream] = 900 * unit.Mbit
		}, RungWhole, 10 * 65536 * 8 / 0.010, "SMB credits 10 × a credit's 64 KiB / 10 ms = 524 Mbit/s"},
		{"little read-ahead, large reads", knobs{}, func(g *Ground) {
			g.File = nfsMounted(map[string]string{"rsize": "262144"})
			g.File.Slots, g.File.ReadAhead, g.File.Block = 64, 128*unit.KiB, unit.MiB
			g.Measured[RungStream] = 900 * unit.Mbit
		}, RungWhole, 2 * 262144 * 8 / 0.010, "2 × reads of 1 MiB in requests of at most 256 KiB, ahead 256 KiB / 10 ms = 419 Mbit/s"},
	} {
		g := ground(tc.k)
		if tc.edit != nil {
			tc.edit(&g)
		}
		got := Expect(g, tc.rung)
		if got.Formula == "" || !strings.Contains(got.From, tc.from) {
			t.Errorf("%s: formula %q, from %q, want %q in it", tc.name, got.Formula, got.From, tc.from)
		}
		switch {
		case tc.want == 0 && got.Predicted != nil:
			t.Errorf("%s: predicted %v, want nothing", tc.name, *got.Predicted)
		case tc.want > 0 && (got.Predicted == nil || math.Abs(float64(*got.Predicted)/tc.want-1) > 1e-6):
			t.Errorf("%s: predicted %v, want %v (%s)", tc.name, got.Predicted, tc.want, got.From)
		}
	}
}

func TestCeilingOfATaggedInterface(t *testing.T) {
	c := knobs{}.build()
	c.Sender.Facts.NICs[0].Driver = model.Known(vlanDriver)
	if got := Ceiling(c); math.Abs(float64(*got.Rate)-1e9*1448/1542) > 1 || !strings.Contains(got.Formula, "VLAN") {
		t.Errorf("%v: %s", *got.Rate, got.Formula)
	}
}

func TestCostOf(t *testing.T) {
	run := func(perByte, perPacket float64, packet unit.Bytes) LoopRun {
		rate := unit.BitRate(8e9)
		return LoopRun{Rate: rate, Packet: packet, Share: (perByte + perPacket/float64(packet)) * float64(rate) / 8}
	}
	got, ok := CostOf(run(0.1e-9, 1e-6, 65536), run(0.1e-9, 1e-6, 1448))
	if !ok || math.Abs(got.PerByte/0.1e-9-1) > 1e-6 || math.Abs(got.PerPacket/1e-6-1) > 1e-6 {
		t.Errorf("%+v, %v", got, ok)
	}
	// The kernel merged the small writes: a cost per byte is all there is.
	got, ok = CostOf(run(0.2e-9, 0, 65536), run(0.1e-9, 0, 1448))
	if !ok || got.PerPacket != 0 || math.Abs(got.PerByte/0.2e-9-1) > 1e-6 {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, bad := range []LoopRun{{}, {Rate: 1e9, Share: math.NaN()}, {Share: 1}} {
		if _, ok := CostOf(bad, run(1e-9, 0, 1448)); ok {
			t.Errorf("%+v has a cost", bad)
		}
	}
}

func TestBusiestShare(t *testing.T) {
	var samples []model.Sample
	for i := range 11 {
		at := time.Duration(i) * 100 * time.Millisecond
		samples = append(samples, model.Sample{At: at, Tasks: []model.Task{{TID: 1, CPU: at / 4}, {TID: 2, CPU: at * 3 / 4}}})
	}
	if got := BusiestShare(samples, 200*time.Millisecond); math.Abs(got-0.75) > 1e-6 {
		t.Errorf("share %v, want 0.75", got)
	}
	if got := BusiestShare(samples[:1], 0); !math.IsNaN(got) {
		t.Errorf("one reading: %v", got)
	}
}

func TestFirstDrop(t *testing.T) {
	rung := func(name string, predicted, measured unit.BitRate) model.Rung {
		return model.Rung{Rung: name, Predicted: &predicted, Measured: &measured, Seen: true}
	}
	ladder := []model.Rung{
		{Rung: RungMemory, Seen: true}, rung(RungLoopback, 100e9, 20e9),
		rung(RungStream, 900e6, 880e6), {Rung: RungStreams}, rung(RungReverse, 900e6, 300e6), rung(RungWhole, 800e6, 100e6),
	}
	if got := FirstDrop(ladder); !strings.Contains(got, "is N TCP streams, reverse: 300 Mbit/s measured, 900 Mbit/s predicted") {
		t.Errorf("%q", got)
	}
	if got := FirstDrop(ladder[:4]); got != "" {
		t.Errorf("%q, want none", got)
	}
}

// What removing the first cause alone brings is a range around the next limit, never below
// what was measured nor above what the ceiling allows.
func TestNextLimitHasARange(t *testing.T) {
	for _, l := range readLabels(t) {
		v := Judge(recorded(t, l.Name))
		n := v.NextLimit
		if n == nil {
			continue
		}
		if !(n.Low > 0 && n.Low <= n.At && n.At <= n.High) || n.Low < min(v.Measured, n.At) || v.Ceiling != nil && n.High > max(n.At, 1.03**v.Ceiling) {
			t.Errorf("%s: %v, from %v to %v; measured %v of %v", l.Name, n.At, n.Low, n.High, v.Measured, v.Ceiling)
		}
	}
}
