package file

import (
	"os"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func factsOf() *model.Facts {
	return &model.Facts{
		Kernel: "6.1.0", OS: "linux", CPUs: []int{0, 1}, BootID: "b",
		NICs: []model.NIC{
			{Name: "lo", Up: true},
			{Name: "eth0", Device: "pci:0000:3b:00.0", Up: true, MTU: 9000, Speed: model.Known(10 * unit.Gbit), Driver: model.Unknown[string](model.Denied, "needs root"),
				PCI: model.Known(model.PCISlot{Lanes: 8, MaxLanes: 16, GTs: 8})},
		},
		Mounts:   []model.Mount{{Point: "/", Type: "ext4"}, {Point: "/mnt", Type: "nfs4", Options: map[string]string{"vers": "4.2", "nconnect": "8"}}},
		Settings: map[string]model.Fact[string]{"linux.sysctl.net.ipv4.tcp_rmem": model.Known("1 2 3")},
		ZFS: model.Known(model.ZFS{Pools: map[string]string{"tank": "ONLINE", "rpool": "DEGRADED"},
			Store: map[string]model.ZFSPool{"tank": {Log: true, Ashift: model.Known(12), Capacity: model.Known(81)}}}),
		Arrays: []model.Array{{Name: "md0", Level: "raid10"}},
	}
}

func TestFactValue(t *testing.T) {
	for _, c := range []struct{ fact, want, err string }{
		{"kernel", "6.1.0", ""}, {"cpus", "2", ""}, {"os", "linux", ""}, {"boot", "b", ""},
		{"nic.speed", "10 Gbit/s", ""}, {"nic.slot.width", "8", ""}, {"nic.slot.gts@eth0", "8", ""}, {"nic.slot.max_width", "16", ""},
		{"nic.mtu@pci:0000:3b:00.0", "9000", ""}, {"nic.up", "true", ""},
		{"nic.driver", "", "needs root"}, {"nic.firmware", "", "not known"}, {"nic.speed@eth7", "", "there are eth0"},
		{"mount.vers", "4.2", ""}, {"mount.type@/mnt", "nfs4", ""}, {"mount.rsize", "", "no such option"},
		{"zfs.log@tank", "true", ""}, {"zfs.ashift@tank", "12", ""}, {"zfs.state", "", "say which"}, {"zfs.cache@rpool", "", "did not tell"},
		{"array.level", "raid10", ""}, {"array.degraded", "", "not known"},
		{"linux.sysctl.net.ipv4.tcp_rmem", "1 2 3", ""}, {"linux.sysctl.net.ipv4.tcp_wmem", "", "not known"},
		{"linux.sysctl.net.ipv4.tcp_rmen", "", "no setting"}, {"nic.colour", "", "no such fact"}, {"kernel@eth0", "", "no device"},
	} {
		got, err := FactValue(factsOf(), c.fact)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.fact, got, err, c.want, c.err)
		}
	}
}

func TestHolds(t *testing.T) {
	for is, want := range map[string]bool{"10Gbit": true, "10 Gbit/s": true, "1Gbit": false, "fast": false} {
		got, now, err := Holds(factsOf(), model.StudyVerify{Fact: "nic.speed", Is: is})
		if got != want || now != "10 Gbit/s" || err != nil {
			t.Errorf("%s: %v, %s, %v", is, got, now, err)
		}
	}
	if _, _, err := Holds(factsOf(), model.StudyVerify{Fact: "nic.driver", Is: "ixgbe"}); err == nil {
		t.Error("a fact that nobody can see holds")
	}
}

// A pool that was filled to 80% is there from 80 to 82%.
func TestHoldsHowFull(t *testing.T) {
	for is, want := range map[string]bool{"80": true, "80%": true, "79%": true, "81": true, "82": false, "78": false, "full": false} {
		got, now, err := Holds(factsOf(), model.StudyVerify{Fact: "zfs.used@tank", Is: is})
		if got != want || now != "81" || err != nil {
			t.Errorf("%s: %v, %s, %v", is, got, now, err)
		}
	}
}

// docs/study.md lists the facts, and each template.
func TestDocsListFactsAndTemplates(t *testing.T) {
	b, err := os.ReadFile("../../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for name, reads := range FactNames() {
		if !strings.Contains(page, "| `"+name+"` | "+reads+" |") {
			t.Errorf("docs/study.md does not say that %s reads %q", name, reads)
		}
	}
	for _, x := range Templates() {
		if !strings.Contains(page, "`"+x.Name+"`") {
			t.Errorf("docs/study.md does not name the template %s", x.Name)
		}
	}
	for _, key := range slices.Concat(fileKeys(), factorKeys(), levelKeys(), rangeKeys(), verifyKeys(), workloadKeys(), protocolKeys(), Designs()) {
		if !strings.Contains(page, key) {
			t.Errorf("docs/study.md does not speak of %s", key)
		}
	}
}
