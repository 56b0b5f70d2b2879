package kernel

import (
	"math"
	"testing"

	"github.com/vishvananda/netlink"

	"linerate/internal/unit"
)

func TestTbfRequest(t *testing.T) {
	r := tbfRequest(5, TokenBucket{Rate: unit.Gbit, Burst: 500_000, Limit: 1_250_000})
	if r.LinkIndex != 5 || r.Parent != netlink.HANDLE_ROOT || r.Rate != 125_000_000 || r.Limit != 1_250_000 {
		t.Errorf("%+v", r)
	}
	// The burst is given in scheduler ticks: 500 kB at 125 MB/s are 4 ms.
	if us := float64(r.Buffer) / netlink.TickInUsec(); math.Abs(us-4000) > 1 {
		t.Errorf("burst of %.1f µs, want 4000", us)
	}
	if r := tbfRequest(5, TokenBucket{Parent: NetemParent, Rate: 100 * unit.Gbit}); r.Parent != NetemParent || r.Rate != 12_500_000_000 {
		t.Errorf("%+v", r)
	}
}

func TestNetemRequest(t *testing.T) {
	r := netemRequest(5, Netem{Delay: 5000, Loss: 0.001, Limit: 777})
	if r.LinkIndex != 5 || r.Parent != netlink.HANDLE_ROOT || r.Handle != netlink.MakeHandle(1, 0) || r.Limit != 777 {
		t.Errorf("%+v", r)
	}
	if us := float64(r.Latency) / netlink.TickInUsec(); math.Abs(us-5000) > 1 {
		t.Errorf("delay of %.1f µs, want 5000", us)
	}
	if p := float64(r.Loss) / math.MaxUint32; math.Abs(p-0.001) > 1e-6 {
		t.Errorf("loss %g, want 0.001", p)
	}
}

func TestAffinity(t *testing.T) {
	cpus, err := Affinity()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("%v %v", cpus, err)
	}
	if err := SetAffinity([]int{1 << 9}); err == nil {
		t.Error("bound to a CPU that does not exist")
	}
}
