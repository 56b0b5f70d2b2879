package cli

import (
	"bytes"
	"math"
	"testing"
	"time"

	"linerate/internal/load/tcp"
	"linerate/internal/model"
)

// The interrupts of a machine count once, however many ends and directions have
// seen them; threads count all.
func TestCPUOfBothEnds(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	// 3 and 1 GB: the same 6 s of interrupts beside each.
	directions := []tcp.Figures{
		{Goodput: 24e9, Sender: tcp.End{Threads: v(0.1), SoftIRQ: v(2)}, Receiver: tcp.End{Threads: v(0.3), SoftIRQ: v(2)}},
		{Goodput: 8e9, Sender: tcp.End{Threads: v(0.2), SoftIRQ: v(6)}, Receiver: tcp.End{Threads: v(0.2), SoftIRQ: v(6)}},
	}
	for _, c := range []struct {
		same         bool
		threads, irq float64
	}{{true, 0.4, 1.5}, {false, 0.4, 3}} {
		r := tcpResult{Directions: directions}
		r.Load.Goodput = 32e9
		r.cpu(c.same)
		if math.Abs(*r.Load.CPUPerGB-c.threads) > 1e-9 || math.Abs(*r.Load.SoftIRQPerGB-c.irq) > 1e-9 {
			t.Errorf("on one machine %v: %v, %v", c.same, *r.Load.CPUPerGB, *r.Load.SoftIRQPerGB)
		}
	}
	directions[1].Receiver = tcp.End{}
	r := tcpResult{Directions: directions}
	r.Load.Goodput = 32e9
	if r.cpu(false); r.Load.CPUPerGB != nil || r.Load.SoftIRQPerGB != nil {
		t.Errorf("an end that is not known: %v, %v", r.Load.CPUPerGB, r.Load.SoftIRQPerGB)
	}
	// Nothing moved: no cost per byte.
	r = tcpResult{Directions: []tcp.Figures{{}}}
	if r.cpu(true); r.Load.CPUPerGB != nil || r.Load.SoftIRQPerGB != nil {
		t.Error("a cost per byte of no bytes")
	}
}

func TestSecondsOfBothDirections(t *testing.T) {
	r := tcpResult{Directions: []tcp.Figures{{PerSecond: []int64{1, 2, 3}}, {PerSecond: []int64{10, 20}}}}
	if r.perSecond(); len(r.PerSecond) != 2 || r.PerSecond[0].Bytes != 11 || r.PerSecond[1].Bytes != 22 {
		t.Errorf("%v", r.PerSecond)
	}
}

// The line shows what arrives at the receiver, between samples that are far
// enough apart.
func TestWatchTCP(t *testing.T) {
	var b bytes.Buffer
	start := time.Unix(1e9, 0)
	p := &progress{w: &b, now: func() time.Time { return start }, started: start, live: true, width: 60}
	watch := p.watchTCP("a", "b", 10*time.Second)
	for i := range 11 {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		watch("a", model.Sample{HostAt: at, Conns: []model.Conn{{BytesReceived: 72}}})
		watch("b", model.Sample{HostAt: at, Conns: []model.Conn{{BytesReceived: int64(i) * 12_500_000}}})
	}
	if want := "  0.0s  a: 1 Gbit/s, 10s left\r\x1b[K  0.0s  a: 1 Gbit/s, 9s left"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	p.live = false
	if p.watchTCP("a", "b", time.Second) != nil {
		t.Error("nobody watches, and samples are asked for")
	}
}
