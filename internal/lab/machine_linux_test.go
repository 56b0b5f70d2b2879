package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/qemu"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
)

// A host with a kernel of its own is a host like any other: its interfaces
// have their names and addresses, what is set in it stays in it, commands run
// in it with their streams and exit codes, and a reboot takes away what was not
// written to a file.
func TestKernelHost(t *testing.T) {
	labtest.Long(t)
	needRights(t)
	if _, err := uml.Find("/"); errors.Is(err, uml.ErrMissing) || errors.Is(err, uml.ErrCPU) {
		t.Skip(err)
	}
	labtest.Needs(t, "mkfs.ext4", "modprobe", "findmnt")
	topo, err := topology.Find("back-to-back")
	if err != nil {
		t.Fatal(err)
	}
	topo, err = topo.WithKinds(map[string]topology.Kind{"server1": topology.Kernel})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	state := filepath.Join(t.TempDir(), "state")
	before := traces(t, state)
	l, err := Up(ctx, topo.Scaled(false), plainOptions(t, state))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		sameTraces(t, before, traces(t, state))
	}()
	inside := func(argv ...string) string {
		t.Helper()
		out, err := l.Run(ctx, "server1", argv...)
		if err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for _, c := range []struct {
		want string
		argv []string
	}{
		{"server1", []string{"hostname"}},
		{"9000", []string{"cat", "/sys/class/net/eth0/mtu"}},
		{"4096 131072 6291456", []string{"sh", "-c", "echo $(cat /proc/sys/net/ipv4/tcp_rmem)"}},
		{"16384", []string{"cat", "/proc/sys/vm/min_free_kbytes"}},
		{"overlay", []string{"findmnt", "-n", "-o", "FSTYPE", "/"}},
	} {
		if got := inside(c.argv...); got != c.want {
			t.Errorf("%q: %q, want %q", c.argv, got, c.want)
		}
	}
	if got, own := inside("uname", "-r"), release(ctx, t); got == own {
		t.Errorf("the host has the machine's own kernel, %s", own)
	}
	if _, err := l.Run(ctx, "server1", "sh", "-c", "exit 7"); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("exit 7: %v", err)
	}
	sameDefaults(ctx, t, l, "server1", 20)
	// The unified hierarchy of cgroups caps memory as the older one does.
	if got := residentIn(ctx, t, l, "server1", "lab-test-capped", "/root"); got > capOfTest || got == 0 {
		t.Errorf("a process with %v holds %v of a file of %v", capOfTest, got, fileOfTest)
	}
	inside("sh", "-c", "echo kept > /etc/linerate-test; sysctl -qw net.ipv4.tcp_sack=0; sync")
	if err := l.Reboot(ctx, "server1"); err != nil {
		t.Fatal(err)
	}
	if got := inside("cat", "/etc/linerate-test", "/proc/sys/net/ipv4/tcp_sack"); got != "kept\n1" {
		t.Errorf("after a reboot: %q", got)
	}
	if rtt := roundTrip(ctx, t, l, "client1", "server1"); rtt < 200*time.Microsecond {
		t.Errorf("RTT %v, the link alone takes 200µs", rtt)
	}
	if err := l.Reboot(ctx, "client1"); err == nil || !strings.Contains(err.Error(), "--kernel client1") {
		t.Errorf("reboot of a namespace: %v", err)
	}
}

// release of this machine's kernel.
func release(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := kernel.Exec(ctx, "uname", "-r").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A device host has the cards, nodes and ports that its topology says, its frames cross the lab's
// links, and what only such a host has can be set on it. It boots once for all of that: an emulated
// processor takes its time.
func TestDeviceHost(t *testing.T) {
	labtest.Long(t)
	needRights(t)
	if _, err := qemu.Find(); errors.Is(err, qemu.ErrMissing) {
		t.Skip(err)
	}
	labtest.Needs(t, "mkfs.ext4", "ethtool", "tc", "ip")
	topo, err := topology.Find("dual-homed")
	if err == nil {
		topo, err = topo.WithKinds(map[string]topology.Kind{"nas1": topology.Device})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	state := filepath.Join(t.TempDir(), "state")
	before := traces(t, state)
	l, err := Up(ctx, topo.Scaled(false), plainOptions(t, state))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		sameTraces(t, before, traces(t, state))
	}()
	for file, want := range map[string]string{
		"/sys/class/net/eth0/device/uevent":                "DRIVER=e1000e",
		"/sys/class/net/eth1/device/uevent":                "DRIVER=vmxnet3",
		"/sys/class/net/eth1/device/numa_node":             "1",
		"/sys/devices/system/node/online":                  "0-1",
		"/sys/class/net/eth0/device/../max_link_width":     "4",
		"/sys/class/net/eth0/device/../current_link_width": "1",
		"/sys/class/net/eth1/mtu":                          "9000",
		"/proc/sys/kernel/hostname":                        "nas1",
	} {
		out, err := l.Run(ctx, "nas1", "cat", file)
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %q, %v; want %s", file, out, err, want)
		}
	}
	sameDefaults(ctx, t, l, "nas1", 20)
	interrupts(ctx, t, l)
	if rtt := roundTrip(ctx, t, l, "client1", "nas1"); rtt < 200*time.Microsecond {
		t.Errorf("RTT %v, the links alone take 200µs", rtt)
	}
	setInDevice(ctx, t, l)
}

// interrupts go to one core with the fault and where they went without it.
func interrupts(ctx context.Context, t *testing.T, l *Lab) {
	t.Helper()
	where := func() string {
		out, err := l.Run(ctx, "nas1", "sh", "-c", "cd /sys/class/net/eth1/device/msi_irqs && for i in *; do cat /proc/irq/$i/smp_affinity_list; done")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	before := where()
	in, err := fault.Parse([]string{"one-core-for-queues"}, l.Topology())
	if err != nil {
		t.Fatal(err)
	}
	undo, err := in.Inject(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	if got := where(); len(got) < 3 || strings.Trim(got, "0 ") != "" {
		t.Errorf("with the fault vectors go to %s", got)
	}
	if err := undo(ctx); err != nil {
		t.Fatal(err)
	}
	if got := where(); got != before {
		t.Errorf("vectors went to %s, and go to %s afterwards", before, got)
	}
}

// plainOptions make a build of this program without the race detector the
// hosts' own: the detector's memory has no room in a User-Mode Linux process.
func plainOptions(t *testing.T, state string) Options {
	t.Helper()
	if !raced {
		return selfOptions(state)
	}
	binary := filepath.Join(t.TempDir(), "lab.test")
	cmd := kernel.Exec(t.Context(), "go", "test", "-c", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build without the race detector: %v: %s", err, out)
	}
	return Options{Self: []string{binary}, StateDir: state}
}
