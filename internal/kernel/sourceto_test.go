package kernel

import (
	"net/netip"
	"testing"
)

func TestSourceToIsAnAddressOfThisHost(t *testing.T) {
	to := netip.MustParseAddr("127.0.0.1")
	from, err := SourceTo(to)
	if err != nil || from != to {
		t.Fatalf("to %v: %v %v, want the same", to, from, err)
	}
	if from, err := SourceTo(netip.Addr{}); err == nil {
		t.Errorf("to no address: %v, want an error", from)
	}
}

func TestCPUUsedGrows(t *testing.T) {
	before, err := CPUUsed()
	if err != nil {
		t.Fatal(err)
	}
	after, x := before, 0
	for after == before { // it counts in ticks of up to 16 ms on some systems
		for i := range 1 << 20 {
			x ^= i
		}
		if after, err = CPUUsed(); err != nil || after < before {
			t.Fatalf("%v after %v (%v, %d)", after, before, err, x)
		}
	}
}
