package inlab

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// An operator raises an MTU over ssh that a link on the way does not carry:
// whole segments are lost from then on, their session hangs, and nobody can log
// in. The host gives itself back, and they can log in again.
func TestABrokenMTUGivesTheHostBack(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	l := bareLab(t, "mtu") // the client sends 9000 bytes, the path carries 1500
	ssh := host.Ssh{Command: sshInLab(t, l), Binary: func(string, string) (string, error) { return os.Executable() }}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	name, err := host.ParseName(l.Addr("server1").String())
	if err != nil {
		t.Fatal(err)
	}
	// TCP keeps to what the smaller end can take: all is well so far.
	if _, err := l.SetMTU(ctx, "server1", "eth0", 1500); err != nil {
		t.Fatal(err)
	}
	state := l.StateDir("server1")
	dial := func(ctx context.Context) (*host.Client, error) {
		ep, err := ssh.Reach(ctx, name, []netip.Addr{l.Addr("server1")})
		if err != nil {
			return nil, err
		}
		ep.StateDir = state
		return host.Dial(ctx, ep, host.Options{Log: func(s string) { t.Log(s) }, CallTimeout: 5 * time.Second})
	}
	c, err := dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := c.Facts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	nic := nicOf(t, facts, l.Addr("server1"))
	before := mtuOf(ctx, t, l, nic.Name)
	p := model.Plan{V: model.PlanVersion, ID: "cut", Host: "server1", BootID: facts.BootID, ConfirmWithin: 15 * time.Second, Changes: []model.Change{
		{Setting: "linux.link.mtu", Target: nic.Device, From: before, To: "9000", Cuts: true},
	}}
	soon, giveUp := context.WithTimeout(ctx, 5*time.Second)
	res, err := c.Apply(soon, p) // its answer may be lost
	giveUp()
	t.Logf("apply: deadline %v, %v", res.Deadline, err)
	soon, giveUp = context.WithTimeout(ctx, 5*time.Second)
	again, err := dial(soon)
	giveUp()
	if err == nil {
		t.Error("the operator was not cut off: the test does not test", again.Close())
	}
	_ = c.Close() // the session is dead: what it says does not matter
	for end := time.Now().Add(time.Minute); mtuOf(ctx, t, l, nic.Name) != before; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the MTU is still %s after a minute", mtuOf(ctx, t, l, nic.Name))
		}
	}
	c, err = dial(ctx)
	if err != nil {
		t.Fatalf("the host cannot be reached although its MTU is back: %v", err)
	}
	defer c.Close()
	history, err := c.History(ctx)
	if err != nil || len(history) != 1 || history[0].State != tune.Undone || history[0].Wanted != "9000" {
		t.Errorf("history %+v, %v", history, err)
	}
	if err := c.Confirm(ctx, "cut"); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("confirmed afterwards: %v", err)
	}
	if _, err := c.Leave(ctx); err != nil {
		t.Error(err)
	}
	if names, err := os.ReadDir(state); err == nil {
		t.Errorf("left %v", names)
	}
}

func nicOf(t testing.TB, f *model.Facts, addr netip.Addr) model.NIC {
	t.Helper()
	for _, n := range f.NICs {
		for _, a := range n.Addrs {
			if a.Addr() == addr {
				return n
			}
		}
	}
	t.Fatalf("no interface has %s: %+v", addr, f.NICs)
	return model.NIC{}
}

func mtuOf(ctx context.Context, t testing.TB, l *lab.Lab, nic string) string {
	t.Helper()
	out, err := l.Run(ctx, "server1", "cat", "/sys/class/net/"+nic+"/mtu")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
