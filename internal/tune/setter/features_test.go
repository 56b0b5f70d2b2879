package setter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeNIC behaves as the kernel does: what is wanted is kept, what is in force
// also depends on other features, and a fixed feature ignores requests.
type fakeNIC struct{ wanted map[string]bool }

func newFakeNIC() *fakeNIC {
	return &fakeNIC{map[string]bool{"tx-scatter-gather": true, "tx-tcp-segmentation": true, "tx-generic-segmentation": true, "rx-gro": true, "rx-lro": false}}
}

func (n *fakeNIC) Get(ifname string) (map[string]bool, error) {
	if ifname != "eth7" {
		return nil, fmt.Errorf("no device %s", ifname)
	}
	active := maps.Clone(n.wanted)
	active["tx-tcp-segmentation"] = active["tx-tcp-segmentation"] && active["tx-scatter-gather"]
	return active, nil
}

func (n *fakeNIC) Set(ifname string, on map[string]bool) error {
	if ifname != "eth7" {
		return fmt.Errorf("no device %s", ifname)
	}
	for name, v := range on {
		if name != "rx-lro" { // fixed
			n.wanted[name] = v
		}
	}
	return nil
}

func resolve(device string) (string, error) {
	if device != "pci:0000:3b:00.0" {
		return "", errors.New("no such device")
	}
	return "eth7", nil
}

var nicPlace = setter.Place{Setting: setter.FeaturesSetting, Target: "pci:0000:3b:00.0"}

func TestFeaturesConform(t *testing.T) {
	settertest.Conform(t, settertest.Case{
		Setter: setter.Features{Offloads: newFakeNIC(), Interface: resolve},
		At:     nicPlace,
		A:      "rx-gro=on tx-tcp-segmentation=on", Messy: " tx-tcp-segmentation=on\trx-gro=on", B: "rx-gro=off tx-tcp-segmentation=off",
		Bad: []string{"rx-gro", "rx-gro=yes", "=on", "rx-gro=on rx-gro=on", "RX=on", "rx-gro=on;reboot=on", "rx gro=on"},
		BadAt: []setter.Place{
			{Setting: setter.FeaturesSetting},
			{Setting: setter.FeaturesSetting, Target: "eth7"}, // a name that a reboot can change
		},
		Absent: []setter.Place{{Setting: setter.FeaturesSetting, Target: "pci:0000:3b:00.1"}},
	})
}

func TestFeaturesReadOnlyWhatWasAskedFor(t *testing.T) {
	f := setter.Features{Offloads: newFakeNIC(), Interface: resolve}
	got, err := f.Read(context.Background(), nicPlace, "tx-generic-segmentation=off rx-lro=on")
	if err != nil || got != "rx-lro=off tx-generic-segmentation=on" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := f.Read(context.Background(), nicPlace, "tx-warp=on"); err == nil || !strings.Contains(err.Error(), "tx-warp") {
		t.Errorf("unknown feature: %v", err)
	}
}

func TestFeaturesRestoreDependents(t *testing.T) {
	nic := newFakeNIC()
	f := setter.Features{Offloads: nic, Interface: resolve}
	before, _ := nic.Get("eth7")
	for _, v := range []string{"tx-scatter-gather=off", "tx-scatter-gather=on"} {
		if err := f.Write(context.Background(), nicPlace, v); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := nic.Get("eth7"); !maps.Equal(before, after) {
		t.Errorf("after on again: %v, want %v", after, before)
	}
}

// ethtoolOutput is the layout of ethtool -k (Debian's 6.1), shortened.
const ethtoolOutput = `Features for eth7:
rx-checksumming: on [fixed]
tx-checksumming: on
	tx-checksum-ipv4: off [fixed]
tcp-segmentation-offload: on
	tx-tcp-segmentation: off [requested on]
	tx-tcp-ecn-segmentation: on
generic-segmentation-offload: on
generic-receive-offload: off
large-receive-offload: off [fixed]
tx-udp_tnl-segmentation: on
`

func TestFeaturesShell(t *testing.T) {
	bin := t.TempDir()
	record := filepath.Join(bin, "called")
	script := "#!/bin/sh\nif [ \"$1\" = -k ]; then cat <<'EOT'\n" + ethtoolOutput + "EOT\nelse echo \"$@\" > " + record + "\nfi\n"
	labtest.Program(t, filepath.Join(bin, "ethtool"), strings.NewReader(script))
	at := setter.Place{Setting: setter.FeaturesSetting, Target: "if:lo"}
	like := "rx-checksum=off rx-gro=on tx-generic-segmentation=on tx-tcp-segmentation=on tx-udp_tnl-segmentation=on"
	sh, err := setter.Features{}.Shell(at, like)
	if err != nil {
		t.Fatal(err)
	}
	got := runShell(t, bin, "set -fu; "+sh.Read)
	if want := "rx-checksum=on rx-gro=off tx-generic-segmentation=on tx-tcp-segmentation=off tx-udp_tnl-segmentation=on"; got != want {
		t.Errorf("read:\n got %s\nwant %s", got, want)
	}
	runShell(t, bin, "set -fu; value='rx-gro=on tx-tcp-segmentation=off'; "+sh.Write)
	called, err := os.ReadFile(record)
	if err != nil || string(called) != "-K lo rx-gro on tx-tcp-segmentation off\n" {
		t.Errorf("ethtool was called with %q, %v", called, err)
	}
}

func runShell(t *testing.T, bin, script string) string {
	t.Helper()
	if _, err := os.Stat("/sys/class/net/lo"); err != nil {
		t.Skipf("the shell commands are for Linux: %v", err)
	}
	cmd := kernel.Exec(context.Background(), "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s", script, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func TestFeaturesShellDevices(t *testing.T) {
	for device, want := range map[string]string{
		"pci:0000:3b:00.0":      "/sys/bus/pci/devices/0000:3b:00.0/net",
		"mac:52:54:00:12:34:56": "address: 52:54:00:12:34:56",
		"if:eth0":               "/sys/class/net/eth0",
	} {
		sh, err := setter.Features{}.Shell(setter.Place{Setting: setter.FeaturesSetting, Target: device}, "rx-gro=on")
		if err != nil || !strings.Contains(sh.Read, "'"+want+"'") {
			t.Errorf("%s: %q, %v", device, sh.Read, err)
		}
	}
	for _, device := range []string{"", "eth0", "pci:", "pci:../../x", "if:..", "if:a*", "usb:1"} {
		if sh, err := (setter.Features{}).Shell(setter.Place{Setting: setter.FeaturesSetting, Target: device}, "rx-gro=on"); err == nil {
			t.Errorf("%s: %q", device, sh.Read)
		}
	}
}
