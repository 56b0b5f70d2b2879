package lab

import (
	"context"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// Traffic for the fast port takes the slow one while the wrong route is in, and
// the fast one again afterwards: the links' own counters tell.
func TestWrongRoute(t *testing.T) {
	if _, err := kernel.FindProgram("ip", adminPath()); err != nil {
		t.Skipf("%v; apt-get install --no-install-recommends iproute2", err)
	}
	topo, err := topology.Find("dual-homed")
	if err != nil {
		t.Fatal(err)
	}
	l := upLab(t, topo.Scaled(false))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	used := func() (fast, slow unit.Bytes) {
		t.Helper()
		before, _, err := l.LinkStats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := transferBetween(ctx, l, "client1", "nas1", time.Second, 0); err != nil {
			t.Fatal(err)
		}
		after, _, err := l.LinkStats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sent := func(link string) unit.Bytes {
			return unit.Bytes(after.Links[link][0].WireBytes - before.Links[link][0].WireBytes)
		}
		return sent("client1.eth1-jumbo"), sent("client1-house")
	}
	const little = 100 * unit.KB // ARP and the like
	if fast, slow := used(); fast < unit.MB || slow > little {
		t.Fatalf("healthy: %v over the fast port, %v over the slow one", fast, slow)
	}
	in, err := fault.Parse([]string{"wrong-route"}, l.Topology())
	if err != nil {
		t.Fatal(err)
	}
	undo, err := in.Inject(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	if fast, slow := used(); slow < unit.MB || fast > little {
		t.Errorf("wrong route: %v over the fast port, %v over the slow one", fast, slow)
	}
	if err := undo(ctx); err != nil {
		t.Fatal(err)
	}
	if fast, slow := used(); fast < unit.MB || slow > little {
		t.Errorf("afterwards: %v over the fast port, %v over the slow one", fast, slow)
	}
}
