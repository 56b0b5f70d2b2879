package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
)

// thisBoot is the boot id that undo.sh compares with.
func thisBoot(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skipf("undo.sh is for Linux hosts: %v", err)
	}
	return strings.TrimSpace(string(b))
}

func runScript(dir string, args ...string) (string, error) {
	argv := append([]string{"/bin/sh", filepath.Join(dir, "state", scriptName)}, args...)
	out, err := kernel.Exec(context.Background(), argv...).CombinedOutput()
	return string(out), err
}

func applied(t *testing.T, bootID string) (string, *Tuner) {
	t.Helper()
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID = bootID
	mustApply(t, tn, sysctlPlan(bootID))
	if got := sysctlValues(t, dir); got != "it's $new;it's $new;" {
		t.Fatalf("applied %s", got)
	}
	return dir, tn
}

func TestScriptRestoresAtEveryStep(t *testing.T) {
	id := thisBoot(t)
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID = id
	runs := 0
	tn.Fault = func(step string) error {
		before := sysctlValues(t, dir)
		if before == "old value;old value;" {
			return nil
		}
		out, err := runScript(dir)
		if err != nil || sysctlValues(t, dir) != "old value;old value;" {
			t.Errorf("before %s: left %s: %v\n%s", step, sysctlValues(t, dir), err, out)
		}
		runs++
		setValues(t, dir, strings.Split(before, ";"))
		return nil
	}
	mustApply(t, tn, sysctlPlan(id))
	if runs < 4 {
		t.Errorf("ran only %d times", runs)
	}
}

func setValues(t *testing.T, dir string, values []string) {
	t.Helper()
	for i, name := range []string{"ipv4/tcp_words", "core/words"} {
		if err := os.WriteFile(filepath.Join(dir, "proc/sys/net", name), []byte(values[i]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScriptThenUndo(t *testing.T) {
	dir, tn := applied(t, thisBoot(t))
	for range 2 {
		if out, err := runScript(dir); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	mustUndo(t, tn, "")
	wantOpen(t, tn, 0)
	if got := sysctlValues(t, dir); got != "old value;old value;" {
		t.Errorf("left %s", got)
	}
}

// Where the original from before two plans is there, both are undone: so say undo and undo.sh.
func TestScriptOfLayersWhoseOriginalIsThere(t *testing.T) {
	id := thisBoot(t)
	dir, tn := applied(t, id)
	again := sysctlPlan(id)
	again.ID = "p2"
	for i := range again.Changes {
		again.Changes[i].From, again.Changes[i].To = again.Changes[i].To, "newer"
	}
	mustApply(t, tn, again)
	setValues(t, dir, []string{"old value", "theirs"})
	out, err := runScript(dir)
	if err == nil || strings.Count(out, "has its original value old value") != 2 || !strings.Contains(out, "ours newer, theirs theirs, original old value") {
		t.Errorf("%v\n%s", err, out)
	}
	setValues(t, dir, []string{"old value", "old value"})
	if out, err := runScript(dir); err != nil || strings.Count(out, "has its original value old value") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
	setValues(t, dir, []string{"newer", "newer"})
	if out, err := runScript(dir); err != nil || sysctlValues(t, dir) != "old value;old value;" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestScriptLeavesTheirsAlone(t *testing.T) {
	dir, _ := applied(t, thisBoot(t))
	setValues(t, dir, []string{"theirs", "it's $new"})
	out, err := runScript(dir)
	if err == nil || !strings.Contains(out, "ours it's $new, theirs theirs, original old value") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := sysctlValues(t, dir); got != "theirs;old value;" {
		t.Errorf("left %s", got)
	}
	if out, err := runScript(dir, "--force"); err != nil || sysctlValues(t, dir) != "old value;old value;" {
		t.Errorf("--force: %v\n%s", err, out)
	}
}

func TestScriptOfAnEarlierBootWritesNothing(t *testing.T) {
	thisBoot(t)
	dir, _ := applied(t, boot)
	out, err := runScript(dir, "--force")
	if err != nil || strings.Count(out, "which undid it") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if got := sysctlValues(t, dir); got != "it's $new;it's $new;" {
		t.Errorf("left %s", got)
	}
}

func TestScriptSaysWhatFails(t *testing.T) {
	dir, _ := applied(t, thisBoot(t))
	if err := os.Remove(filepath.Join(dir, "proc/sys/net/core/words")); err != nil {
		t.Fatal(err)
	}
	out, err := runScript(dir)
	if err == nil || !strings.Contains(out, "words: cannot be read") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "tcp_words: restored to old value") {
		t.Errorf("the other value was not restored\n%s", out)
	}
}

// interfaceInSys makes what /sys/class/net shows of an interface; device is its PCI address.
func interfaceInSys(t *testing.T, name, index, address, kind, device, bonded string) (sys string) {
	t.Helper()
	sys = t.TempDir()
	for file, text := range map[string]string{"ifindex": index, "address": address, "addr_assign_type": kind, "bonding_slave/perm_hwaddr": bonded} {
		if text == "" {
			continue
		}
		path := filepath.Join(sys, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if device != "" {
		if err := os.Symlink("../../../devices/pci0000:00/"+device, filepath.Join(sys, name, "device")); err != nil {
			t.Fatal(err)
		}
	}
	return sys
}

// An interface is the one that was changed by its hardware: the kernel gives a number, and
// anybody a name, to another one.
func TestScriptTellsInterfacesByTheirHardware(t *testing.T) {
	thisBoot(t)
	const perm, other, pci = "52:54:00:00:00:01", "52:54:00:00:00:02", "0000:01:00.0"
	for _, tt := range []struct {
		name, hardware                       string
		index, address, kind, device, bonded string
		permaddr                             string // as ip(8) shows it
		want                                 bool
	}{
		{name: "the same card", hardware: "mac:" + perm, index: "5", address: perm, kind: "0", device: pci, want: true},
		{name: "another card", hardware: "mac:" + perm, index: "5", address: other, kind: "0", device: pci},
		{name: "in a bond, which gave it an address", hardware: "mac:" + perm, index: "5", address: other, kind: "3", device: pci, bonded: perm, want: true},
		{name: "another one in a bond", hardware: "mac:" + perm, index: "5", address: other, kind: "3", device: pci, bonded: other},
		{name: "with an address that was set", hardware: "mac:" + perm, index: "5", address: other, kind: "3", device: pci, permaddr: perm, want: true},
		{name: "another one with an address that was set", hardware: "mac:" + perm, index: "5", address: other, kind: "3", device: pci, permaddr: other},
		{name: "a virtual one in a card's place", hardware: "mac:" + perm, index: "5", address: other, kind: "1"},
		{name: "the same slot", hardware: "pci:" + pci, index: "5", address: other, kind: "3", device: pci, want: true},
		{name: "another slot", hardware: "pci:" + pci, index: "5", address: perm, kind: "0", device: "0000:02:00.0"},
		{name: "a virtual one in a slot's place", hardware: "pci:" + pci, index: "5", address: perm, kind: "1"},
		{name: "virtual, with another address", hardware: "link:" + perm, index: "5", address: other, kind: "3", want: true},
		{name: "a card in a virtual one's place", hardware: "link:" + perm, index: "5", address: other, kind: "0", device: pci},
		{name: "loopback", hardware: "link:00:00:00:00:00:00", index: "5", address: "00:00:00:00:00:00", kind: "0", want: true},
		{name: "virtual, made anew", hardware: "link:" + perm + "#1", index: "5", address: perm, kind: "3"},
		{name: "virtual, with its node", hardware: "link:" + perm + "#NODE", index: "5", address: other, kind: "3", want: true},
		{name: "another number", hardware: "mac:" + perm, index: "6", address: perm, kind: "0", device: pci},
		{name: "of an earlier build", index: "5", address: other, kind: "0", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := interfaceInSys(t, "eth0", tt.index, tt.address, tt.kind, tt.device, tt.bonded)
			node, err := kernel.Exec(t.Context(), "stat", "-c", "%i", filepath.Join(sys, "eth0")).Output()
			if err != nil {
				t.Fatal(err)
			}
			tt.hardware = strings.Replace(tt.hardware, "NODE", strings.TrimSpace(string(node)), 1)
			text := strings.Replace(scriptHead, "sys=/sys/class/net\n", "sys="+sys+"\nip() { echo 'link/ether x permaddr "+tt.permaddr+" y'; }\n", 1)
			file := filepath.Join(sys, "script")
			if err := os.WriteFile(file, []byte(text+"same_interface eth0 5 '"+tt.hardware+"'\nfailed=$? whole=yes\nexit $failed\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := kernel.Exec(t.Context(), "/bin/sh", file).CombinedOutput()
			if (err == nil) != tt.want || !tt.want && !strings.Contains(string(out), "eth0 ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
