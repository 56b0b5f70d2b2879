package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	agent "linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/lab/fault"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// deviceRole has this program run the tests TestInDevice… where it is started;
// deviceEnv marks them.
const (
	deviceRole = "lab-test-device"
	deviceEnv  = "LINERATE_LAB_TEST_DEVICE"
)

// setInDevice sets on a machine of its own what a namespace does not have: rings, coalescing and
// pause frames of real drivers, interrupts, steering, fq, block queues, the machine's own sysctls.
// It leaves the machine without one of its cards.
func setInDevice(ctx context.Context, t *testing.T, l *Lab) {
	t.Helper()
	out, err := l.Run(ctx, "nas1", fault.Self, deviceRole)
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInDeviceConform")) || bytes.Contains(out, []byte("--- SKIP")) {
		t.Errorf("in the machine: %v\n%s", err, out)
	}
}

// inDevice is the mechanisms of an agent and where each interface's device is.
func inDevice(t *testing.T) (all []setter.Setter, device map[string]string) {
	t.Helper()
	if os.Getenv(deviceEnv) == "" {
		t.Skip("runs inside TestDeviceHost")
	}
	src := kernel.Live{}
	links, err := src.Links(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]kernel.Port{}
	for _, l := range links {
		ports[l.Name] = src.Port(l.Name)
	}
	return agent.Setters(src), kernel.DeviceIDs(links, ports)
}

func mechanismOf(t *testing.T, all []setter.Setter, setting string) setter.Setter {
	t.Helper()
	for _, s := range all {
		if s.Owns(setting) {
			return s
		}
	}
	t.Fatalf("no mechanism for %s", setting)
	return nil
}

// deviceCase is one setting, and what is tried on it. What is there at first
// is the other value.
type deviceCase struct {
	setting, target, to string
	rounds              map[string]string
}

func TestInDeviceConform(t *testing.T) {
	all, device := inDevice(t)
	e1000e, vmxnet3 := device["eth0"], device["eth1"]
	disk := "at:" + diskPlace(t)
	for _, c := range []deviceCase{
		{"linux.ethtool.ring", e1000e, "rx=512 tx=1024", map[string]string{"rx=1001 tx=9": "rx=1008 tx=64"}},
		{"linux.ethtool.coalesce", e1000e, "rx-usecs=50", nil},
		{"linux.ethtool.pause", e1000e, "autoneg=off rx=on tx=off", nil},
		{"linux.ethtool.features", vmxnet3, "rx-gro=off tx-tcp-segmentation=off", nil},
		{"linux.link.mtu", e1000e, "9000", nil},
		{"linux.link.txqueuelen", vmxnet3, "5000", nil},
		{"linux.irq.affinity", e1000e, "v0=2 v1=1 v2=0-3", nil},
		{"linux.irq.affinity", vmxnet3, "3", nil},
		{"linux.queue.rps_cpus", vmxnet3, "e", nil},
		{"linux.queue.rps_flow_cnt", e1000e, "4096", map[string]string{"1000": "1024"}},
		{"linux.tc.qdisc", e1000e, "fq", nil},
		{"linux.tc.qdisc", vmxnet3, "mq", nil},
		{"linux.tc.qdisc", vmxnet3, "fq_codel", nil},
		{"linux.sysctl.net.core.rmem_max", "", "67108864", nil},
		{"linux.sysctl.net.core.rps_sock_flow_entries", "", "32768", map[string]string{"20000": "32768"}},
		{"linux.sysctl.vm.dirty_ratio", "", "bytes=268435456", nil},
		{"linux.sysctl.vm.dirty_background_ratio", "", "5", nil},
		{"linux.cpu.cstates", "", "cpu0=0 cpu1=20 cpu2=none cpu3=5", nil},
		{"linux.module.tcp_cubic.hystart_low_window", "", "32", nil},
		{"linux.block.scheduler", disk, "mq-deadline", nil},
		{"linux.block.nr_requests", disk, "64", map[string]string{"1": "4"}},
		{"linux.block.read_ahead_kb", disk, "4096", map[string]string{"1023": "1020"}},
		{"linux.block.max_sectors_kb", disk, "512", nil},
		{"linux.block.rq_affinity", disk, "2", nil},
		{"linux.block.nomerges", disk, "1", nil},
	} {
		t.Run(c.setting+" of "+c.target, func(t *testing.T) { c.conform(t, mechanismOf(t, all, c.setting)) })
	}
}

func (c deviceCase) conform(t *testing.T, s setter.Setter) {
	at := setter.Place{Setting: c.setting, Target: c.target}
	now, err := s.Read(context.Background(), at, c.to)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is %s", at, now)
	settertest.Conform(t, settertest.Case{Setter: s, At: at, A: now, Messy: " " + now + "\n", B: c.to, Rounds: c.rounds, RunShell: true})
}

// diskPlace is where the machine's disk is plugged in.
func diskPlace(t *testing.T) string {
	t.Helper()
	ids, err := kernel.BlockIDs(kernel.Root("/"))
	if err != nil {
		t.Fatal(err)
	}
	at, ok := strings.CutPrefix(ids["vda"], "at:")
	if !ok {
		t.Fatalf("block devices: %v", ids)
	}
	return at
}

// The pace of an fq, which must be there first and is in the way of another
// discipline until it is taken off.
func TestInDevicePace(t *testing.T) {
	all, device := inDevice(t)
	queue := mechanismOf(t, all, setter.QdiscSetting)
	root, pace := setter.Place{Setting: setter.QdiscSetting, Target: device["eth0"]}, setter.Place{Setting: setter.FQMaxRateSetting, Target: device["eth0"]}
	ctx := context.Background()
	if _, err := queue.Read(ctx, pace, ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("the pace of no fq: %v", err)
	}
	if err := queue.Write(ctx, root, "fq"); err != nil {
		t.Fatal(err)
	}
	deviceCase{setting: setter.FQMaxRateSetting, target: device["eth0"], to: "900000000"}.conform(t, queue)
	for _, step := range []struct {
		at    setter.Place
		value string
		want  error
	}{{pace, "800000000", nil}, {root, "default", setter.ErrSideEffect}, {pace, "none", nil}, {root, "default", nil}} {
		if err := queue.Write(ctx, step.at, step.value); !errors.Is(err, step.want) {
			t.Errorf("%s to %s: %v, want %v", step.at, step.value, err, step.want)
		}
	}
}

// With jumbo frames vmxnet3 starts with a receive ring that it would not set,
// and any write to either ring makes another of it: seen on this very driver.
func TestInDeviceRingThatDoesNotComeBack(t *testing.T) {
	all, device := inDevice(t)
	at := setter.Place{Setting: "linux.ethtool.ring", Target: device["eth1"]}
	s := mechanismOf(t, all, at.Setting)
	before, err := s.Read(context.Background(), at, "rx=1 tx=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"rx=2112", "tx=1024"} {
		if err := s.Write(context.Background(), at, v); !errors.Is(err, setter.ErrSideEffect) {
			t.Errorf("%s to %s: %v", before, v, err)
		}
	}
	if after, err := s.Read(context.Background(), at, "rx=1 tx=1"); after != before || err != nil {
		t.Errorf("%s became %s, %v", before, after, err)
	}
	if err := kernel.SetEth("eth1", kernel.EthRing, map[string]int64{"rx": 1056}); err != nil { // by hand, as the message says
		t.Fatal(err)
	}
	deviceCase{setting: at.Setting, target: at.Target, to: "rx=2112 tx=1024", rounds: map[string]string{"rx=1001 tx=1001": "rx=1056 tx=1024"}}.conform(t, s)
}

// What these drivers do not have is said to be unsupported.
func TestInDeviceUnsupported(t *testing.T) {
	all, device := inDevice(t)
	for _, at := range []setter.Place{
		{Setting: "linux.ethtool.pause", Target: device["eth1"]}, {Setting: "linux.ethtool.channels", Target: device["eth0"]},
		{Setting: "linux.cpu.governor"}, {Setting: setter.NFSDThreadsSetting}, {Setting: "linux.zfsmodule.zfs_arc_max"},
	} {
		v, err := mechanismOf(t, all, at.Setting).Read(context.Background(), at, "")
		if err == nil || !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %q, %v", at, v, err)
		}
	}
}

// The last test, in the order of the file: a card is pulled out. What was set
// on it can neither be read nor written any more, twice, and says so.
func TestInDeviceZGone(t *testing.T) {
	all, device := inDevice(t)
	address := strings.TrimPrefix(device["eth1"], "pci:")
	if err := kernel.Root("/").WriteFile("/sys/bus/pci/devices/"+address+"/remove", []byte("1\n")); err != nil {
		t.Fatal(err)
	}
	for setting, like := range map[string]string{
		"linux.ethtool.ring": "rx=512", setter.MTUSetting: "1500", setter.FeaturesSetting: "rx-gro=on", setter.IRQSetting: "1", "linux.queue.rps_cpus": "1", setter.QdiscSetting: "default",
	} {
		at := setter.Place{Setting: setting, Target: device["eth1"]}
		for range 2 {
			if v, err := mechanismOf(t, all, setting).Read(context.Background(), at, like); err == nil {
				t.Errorf("%s: read %q", at, v)
			}
			if err := mechanismOf(t, all, setting).Write(context.Background(), at, like); err == nil {
				t.Errorf("%s: written", at)
			}
		}
	}
}
