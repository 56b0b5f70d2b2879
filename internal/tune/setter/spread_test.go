package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// oneOf takes only some words, as a kernel does that offers a choice.
func oneOf(words ...string) func(string, string) (string, error) {
	return func(_, written string) (string, error) {
		for _, w := range words {
			if w == strings.TrimSpace(written) {
				return written, nil
			}
		}
		return "", syscall.EINVAL
	}
}

// choice is oneOf for a file that shows the choice with the chosen in brackets.
func choice(words ...string) func(string, string) (string, error) {
	return func(_, written string) (string, error) {
		shown, found := "", false
		for _, w := range words {
			if w == strings.TrimSpace(written) {
				w, found = "["+w+"]", true
			}
			shown += w + " "
		}
		if !found {
			return "", syscall.EINVAL
		}
		return shown + "\n", nil
	}
}

// number makes another number of what is written.
func number(change func(n int) int) func(string, string) (string, error) {
	return func(_, written string) (string, error) {
		n, err := strconv.Atoi(strings.TrimSpace(written))
		return strconv.Itoa(change(n)) + "\n", err
	}
}

// conformOn runs the family's tests on a fake host's files.
func conformOn(t *testing.T, tree *settertest.Tree, gone string, c settertest.Case) {
	t.Helper()
	c.Refuse, c.Vanish, c.RunShell = tree.Refuse, tree.VanishAt(gone), true
	if c.Rest == nil {
		c.Rest = func() string { return tree.All() }
	}
	settertest.Conform(t, c)
}

func cpuTree(t *testing.T) *settertest.Tree {
	tree := settertest.NewTree(t, map[string]string{
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor":              "powersave\n",
		"/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference": "balance_power\n",
		"/sys/devices/system/cpu/cpufreq/policy2/scaling_governor":              "powersave\n",
		"/sys/devices/system/cpu/cpufreq/policy2/energy_performance_preference": "balance_power\n",
		"/sys/devices/system/cpu/cpufreq/policy10/scaling_governor":             "powersave\n",
		"/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us":           "0\n",
		"/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us":           "0\n",
		"/sys/devices/system/cpu/possible":                                      "0-1\n",
	})
	for _, p := range []string{"policy0", "policy2", "policy10"} {
		tree.Takes["/sys/devices/system/cpu/cpufreq/"+p+"/scaling_governor"] = oneOf("powersave", "performance")
	}
	return tree
}

func TestCPUConforms(t *testing.T) {
	at := setter.Place{Setting: "linux.cpu.governor"}
	badAt := []setter.Place{{Setting: "linux.cpu.governor", Target: "pci:0000:3b:00.0"}, {Setting: "linux.cpu.smt"}}
	bad := []string{"power save", "performance;reboot", "PERFORMANCE", "policy0=performance", "policy0=performance policy0=powersave", "policy0=", "../x"}
	for _, b := range []string{"performance", "policy0=performance policy2=powersave policy10=performance"} {
		tree := cpuTree(t)
		conformOn(t, tree, "/sys/devices/system/cpu/cpufreq", settertest.Case{
			Setter: setter.CPU(tree), At: at, A: "powersave", Messy: " powersave\n", B: b, Bad: bad, BadAt: badAt,
		})
	}
	tree := cpuTree(t)
	conformOn(t, tree, "/sys/devices/system/cpu", settertest.Case{
		Setter: setter.CPU(tree), At: setter.Place{Setting: "linux.cpu.cstates"}, A: "none", Messy: "none ", B: "cpu0=0 cpu1=20",
		Bad: []string{"-1", "n/a", "2147483648", "1us", "cpu0=1 cpu0=2"}, BadAt: badAt,
	})
	for value, file := range map[string]string{"none": "0", "0": "n/a", "3": "3"} {
		whole := cpuTree(t)
		if err := setter.CPU(whole).Write(context.Background(), setter.Place{Setting: "linux.cpu.cstates"}, value); err != nil {
			t.Fatal(err)
		}
		if b, err := whole.ReadFile("/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us"); err != nil || strings.TrimSpace(string(b)) != file {
			t.Errorf("%s: the file holds %q, %v, want %s", value, b, err, file)
		}
	}
}

// A list must name just what there is, and a value that the kernel refuses
// keeps its cause.
func TestSpreadRefuses(t *testing.T) {
	tree := cpuTree(t)
	at := setter.Place{Setting: "linux.cpu.governor"}
	before := tree.All()
	for value, want := range map[string]error{
		"policy0=performance policy2=powersave":                       setter.ErrValue,
		"policy0=performance policy2=powersave policy11=performance":  setter.ErrValue,
		"policy0=performance policy2=powersave policy10=a policy11=b": setter.ErrValue,
		"warp": syscall.EINVAL,
	} {
		if err := setter.CPU(tree).Write(context.Background(), at, value); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", value, err, want)
		}
	}
	if after := tree.All(); after != before {
		t.Errorf("refused, and yet\n%s\nbefore\n%s", after, before)
	}
	none := settertest.NewTree(t, map[string]string{"/sys/devices/system/cpu/cpufreq/boost": "1\n"})
	if v, err := setter.CPU(none).Read(context.Background(), at, ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("a host without policies: %q, %v", v, err)
	}
}

func irqTree(t *testing.T) *settertest.Tree {
	tree := settertest.NewTree(t, map[string]string{
		"/sys/bus/pci/devices/0000:3b:00.0/msi_irqs/9":   "msix\n",
		"/sys/bus/pci/devices/0000:3b:00.0/msi_irqs/24":  "msix\n",
		"/sys/bus/pci/devices/0000:3b:00.0/msi_irqs/110": "msix\n",
		"/proc/irq/9/smp_affinity_list":                  "0-7\n",
		"/proc/irq/24/smp_affinity_list":                 "0-7\n",
		"/proc/irq/110/smp_affinity_list":                "0-7\n",
		"/sys/bus/pci/devices/0000:00:03.0/irq":          "11\n",
		"/proc/irq/11/smp_affinity_list":                 "0-7\n",
		"/sys/class/net/eth7/device":                     "-> ../../../0000:3b:00.0",
		"/sys/class/net/eth8/device":                     "-> ../../../virtio2",
	})
	for _, irq := range []string{"9", "24", "110", "11"} {
		tree.Takes["/proc/irq/"+irq+"/smp_affinity_list"] = func(_, written string) (string, error) {
			if strings.ContainsAny(written, "89") { // no such CPU
				return "", syscall.EINVAL
			}
			return written, nil
		}
	}
	return tree
}

func TestInterruptsConform(t *testing.T) {
	for _, c := range []struct{ target, b, gone string }{
		{"pci:0000:3b:00.0", "v0=0 v1=2-3 v2=1,5", "/sys/bus/pci/devices/0000:3b:00.0"},
		{"pci:0000:3b:00.0", "2", "/proc/irq"},
		{"pci:0000:00:03.0", "0-1,4", "/proc/irq/11"},
	} {
		tree := irqTree(t)
		conformOn(t, tree, c.gone, settertest.Case{
			Setter: setter.Interrupts(tree, resolve), At: setter.Place{Setting: setter.IRQSetting, Target: c.target},
			A: "0-7", Messy: "3,0-2,5,4,7,6,1", B: c.b,
			Bad:    []string{"3-1", "-1", "a", "0-", "1,,2", "99999999999", "0-99999999", "v0=1", "v0=1 v0=2", "ff"},
			BadAt:  []setter.Place{{Setting: setter.IRQSetting}, {Setting: setter.IRQSetting, Target: "pci:../../x"}, {Setting: setter.IRQSetting, Target: "eth7"}, {Setting: "linux.irq.priority", Target: c.target}},
			Absent: []setter.Place{{Setting: setter.IRQSetting, Target: "pci:0000:3b:00.7"}, {Setting: setter.IRQSetting, Target: "mac:52:54:00:00:00:01"}},
		})
	}
}

// A device is found by its interface too, and a vector that the kernel keeps
// to itself is left alone when it has the value already.
func TestInterruptsOfAnInterface(t *testing.T) {
	tree := irqTree(t)
	byName := func(device string) (string, error) { return strings.TrimPrefix(device, "if:"), nil }
	s := setter.Interrupts(tree, byName)
	at := setter.Place{Setting: setter.IRQSetting, Target: "if:eth7"}
	tree.Takes["/proc/irq/24/smp_affinity_list"] = func(string, string) (string, error) { return "", syscall.EIO }
	if err := s.Write(context.Background(), at, "v0=1 v1=0-7 v2=2"); err != nil {
		t.Error(err)
	}
	if err := s.Write(context.Background(), at, "1"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a managed interrupt: %v", err)
	}
	if _, err := s.Read(context.Background(), setter.Place{Setting: setter.IRQSetting, Target: "if:eth8"}, ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("an interface on no PCI device: %v", err)
	}
}

func TestQueuesConform(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"rps_cpus":     {A: "0", B: "f", Messy: "0x0000", Bad: []string{"g", "0x", ",", "1-3", strings.Repeat("f", 3000), "rx-0=1"}},
		"xps_cpus":     {A: "ff,ffffffff", B: "tx-0=1 tx-1=8,00000001", Messy: "FFFFFFFFFF", Bad: []string{"none"}},
		"rps_flow_cnt": {A: "0", B: "4096", Messy: " 0", Bad: []string{"-1", "f", "1048577", "99999999999999999999"}, Rounds: map[string]string{"1000": "1024"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for i := range 2 {
				files[fmt.Sprintf("/sys/class/net/eth7/queues/rx-%d/rps_cpus", i)] = "00000000,00000000\n"
				files[fmt.Sprintf("/sys/class/net/eth7/queues/rx-%d/rps_flow_cnt", i)] = "0\n"
				files[fmt.Sprintf("/sys/class/net/eth7/queues/tx-%d/xps_cpus", i)] = "000000ff,ffffffff\n"
			}
			tree := settertest.NewTree(t, files)
			for i := range 2 {
				tree.Takes[fmt.Sprintf("/sys/class/net/eth7/queues/rx-%d/rps_flow_cnt", i)] = number(roundUp)
			}
			c.Setter, c.At = setter.Queues(tree, resolve), setter.Place{Setting: "linux.queue." + name, Target: "pci:0000:3b:00.0"}
			c.BadAt = []setter.Place{{Setting: c.At.Setting}, {Setting: c.At.Setting, Target: "eth7"}, {Setting: "linux.queue.xps_rxqs", Target: c.At.Target}}
			c.Absent = []setter.Place{{Setting: c.At.Setting, Target: "pci:0000:3b:00.1"}}
			c.Refuse, c.Vanish = tree.Refuse, tree.VanishAt("/sys/class/net/eth7/queues")
			// Masks are padded by the kernel until something is written.
			settertest.Conform(t, c)
		})
	}
}

func roundUp(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

func TestQueuesShell(t *testing.T) {
	tree := settertest.NewTree(t, map[string]string{
		"/sys/class/net/eth7/queues/rx-0/rps_cpus":  "00000000,0000000f\n",
		"/sys/class/net/eth7/queues/rx-2/rps_cpus":  "00000000,00000000\n",
		"/sys/class/net/eth7/queues/rx-10/rps_cpus": "000000ff,ffffffff\n",
	})
	sh, err := setter.Queues(tree, resolve).Shell(setter.Place{Setting: "linux.queue.rps_cpus", Target: "if:lo"}, "0")
	if err != nil {
		t.Fatal(err)
	}
	// The interface is found on this machine; its queues are the fake's.
	at := strings.NewReplacer(`"/sys/class/net/$(cd '/sys/class/net/lo' && echo 'lo')/queues"`, setter.Quote(tree.Path("/sys/class/net/eth7/queues")))
	if got, want := runShell(t, "/bin", "set -fu; "+at.Replace(sh.Read)), "rx-0=f rx-2=0 rx-10=ff,ffffffff"; got != want {
		t.Errorf("read %q, want %q:\n%s", got, want, sh.Read)
	}
	runShell(t, "/bin", "set -fu; value=3; "+at.Replace(sh.Write))
	for _, q := range []string{"rx-0", "rx-2", "rx-10"} {
		if b, err := tree.ReadFile("/sys/class/net/eth7/queues/" + q + "/rps_cpus"); err != nil || string(b) != "3\n" {
			t.Errorf("%s: %q, %v", q, b, err)
		}
	}
}

func nfsTree(t *testing.T) *settertest.Tree {
	tree := settertest.NewTree(t, map[string]string{
		"/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"30 22 0:52 / /mnt/nas rw,noatime shared:9 - nfs4 10.0.0.2:/pool rw,vers=4.2\n" +
			"31 22 0:53 / /mnt/two\\040words rw - nfs 10.0.0.2:/b rw\n" +
			"32 22 0:54 / /mnt/hidden rw - nfs 10.0.0.2:/c rw\n" +
			"33 32 0:55 / /mnt/hidden rw - tmpfs none rw\n",
		"/sys/class/bdi/0:52/read_ahead_kb": "128\n",
		"/sys/class/bdi/0:53/read_ahead_kb": "128\n",
		"/sys/class/bdi/0:54/read_ahead_kb": "128\n",
		"/sys/class/bdi/0:55/read_ahead_kb": "128\n",
		"/proc/fs/nfsd/threads":             "8\n",
		"/proc/fs/nfsd/max_block_size":      "1048576\n",
	})
	for _, dev := range []string{"0:52", "0:53"} {
		tree.Takes["/sys/class/bdi/"+dev+"/read_ahead_kb"] = number(func(n int) int { return n / 4 * 4 })
	}
	return tree
}

func TestNFSReadAheadConforms(t *testing.T) {
	for _, point := range []string{"/mnt/nas", "/mnt/two words"} {
		tree := nfsTree(t)
		place := func(target string) setter.Place {
			return setter.Place{Setting: setter.ReadAheadSetting, Target: target}
		}
		conformOn(t, tree, "/sys/class/bdi", settertest.Case{
			Setter: setter.NFSReadAhead(tree), At: place("mount:" + point), A: "128", Messy: "128\n", B: "4096",
			Rounds: map[string]string{"1023": "1020"}, Bad: []string{"-1", "4k", "4194305", "1 2", "mount=3"},
			BadAt:  []setter.Place{place(""), place("/mnt/nas"), place("mount:mnt"), place("mount:/mnt/../nas"), place("mount:/mnt/\nnas"), {Setting: "linux.bdi.other", Target: "mount:/mnt/nas"}},
			Absent: []setter.Place{place("mount:/mnt/none"), place("mount:/"), place("mount:/mnt/hidden")},
		})
	}
}

func TestNFSDConforms(t *testing.T) {
	tree := nfsTree(t)
	conformOn(t, tree, "/proc/fs/nfsd", settertest.Case{
		Setter: setter.NFSD(tree), At: setter.Place{Setting: setter.NFSDThreadsSetting}, A: "8", Messy: " 8 ", B: "128",
		Bad:   []string{"0", "-1", "8193", "many", "99999999999999999999"},
		BadAt: []setter.Place{{Setting: "linux.nfsd.versions"}, {Setting: setter.NFSDThreadsSetting, Target: "mount:/x"}},
	})
	// The largest request can be changed only while no server runs.
	tree = nfsTree(t)
	tree.Takes["/proc/fs/nfsd/max_block_size"] = func(string, string) (string, error) { return "", syscall.EBUSY }
	at := setter.Place{Setting: setter.NFSDMaxBlockSetting}
	if err := setter.NFSD(tree).Write(context.Background(), at, "65536"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("with the server running: %v", err)
	}
	// A stopped server is neither started nor read as one with 0 threads.
	stopped := settertest.NewTree(t, map[string]string{"/proc/fs/nfsd/threads": "0\n"})
	at.Setting = setter.NFSDThreadsSetting
	if v, err := setter.NFSD(stopped).Read(context.Background(), at, ""); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("read %q, %v", v, err)
	}
	if err := setter.NFSD(stopped).Write(context.Background(), at, "8"); err == nil {
		t.Error("started a server")
	}
	if _, err := setter.NFSD(settertest.NewTree(t, nil)).Read(context.Background(), at, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no server at all: %v", err)
	}
}
