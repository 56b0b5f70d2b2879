package cli

import (
	"math"
	"testing"

	"linerate/internal/load/tcp"
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
