package setter

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// IRQSetting is the only id of this mechanism.
const IRQSetting = "linux.irq.affinity"

// Interrupts sets which CPUs serve the interrupts of a PCI device: a CPU list ("0-3,8") for all
// its vectors, or "v0=0 v1=1 …" if they differ. v0 is the vector with the lowest number; the
// numbers themselves change whenever the driver requests its vectors again. The kernel refuses
// managed interrupts, and a running irqbalance overwrites every value.
func Interrupts(tree Tree, ifname func(device string) (string, error)) Setter {
	i := interrupts{tree, ifname}
	return spreads{
		owns: func(setting string) bool { return setting == IRQSetting },
		of: func(at Place) spread {
			return spread{
				tree: tree, check: i.check, word: cpuList, found: trimmed, members: i.members, list: i.list, filter: trimmedShell,
				programs: interfacePrograms(at.Target),
			}
		},
	}
}

type interrupts struct {
	tree   Tree
	ifname func(device string) (string, error)
}

func (interrupts) check(at Place) error {
	if at.Setting != IRQSetting {
		return fmt.Errorf("interrupts %s: want %s: %w", at, IRQSetting, ErrValue)
	}
	if address, ok := strings.CutPrefix(at.Target, "pci:"); ok && !kernel.IsPCIAddress(address) {
		return fmt.Errorf("interrupts %s: no PCI address: %w", at, ErrValue)
	}
	_, err := shellInterface(at.Target)
	return err
}

// members are the vectors of the device's MSI or MSI-X, else its one interrupt line
// (Documentation/ABI/testing/sysfs-bus-pci).
func (i interrupts) members(at Place) ([]member, error) {
	dir, err := i.device(at)
	if err != nil {
		return nil, err
	}
	numbers, err := numbered(i.tree, dir+"/msi_irqs", "")
	if err != nil {
		b, lineErr := i.tree.ReadFile(dir + "/irq")
		if lineErr != nil {
			return nil, err
		}
		numbers = []string{trimmed(string(b))}
	}
	var out []member
	for n, irq := range numbers {
		out = append(out, member{"v" + strconv.Itoa(n), "/proc/irq/" + irq + "/smp_affinity_list"})
	}
	return out, nil
}

// device is the directory of the PCI device. A virtio interface is a child device of it.
func (i interrupts) device(at Place) (string, error) {
	if address, ok := strings.CutPrefix(at.Target, "pci:"); ok {
		return "/sys/bus/pci/devices/" + address, nil
	}
	ifname, err := i.ifname(at.Target)
	if err != nil {
		return "", err
	}
	link, err := i.tree.Readlink("/sys/class/net/" + ifname + "/device")
	if err != nil {
		return "", fmt.Errorf("%s has no interrupts of its own: %w", ifname, err)
	}
	address := path.Base(link)
	if !kernel.IsPCIAddress(address) {
		return "", fmt.Errorf("%s is on no PCI device but on %s: %w", ifname, address, ErrUnsupported)
	}
	return "/sys/bus/pci/devices/" + address, nil
}

func (i interrupts) list(at Place) (string, error) {
	find, err := shellInterface(at.Target)
	if err != nil {
		return "", err
	}
	dir := Quote(i.tree.Path("/sys/bus/pci/devices/" + strings.TrimPrefix(at.Target, "pci:")))
	if !strings.HasPrefix(at.Target, "pci:") {
		dir = `$(cd -P "/sys/class/net/$(` + find + `)/device" && pwd)`
	}
	return "dir=" + dir + ` && { if [ -d "$dir/msi_irqs" ]; then ls "$dir/msi_irqs" | sort -n; else cat "$dir/irq"; fi; }` +
		` | { n=0; while read -r irq; do echo "v$n "` + Quote(i.tree.Path("/proc/irq")) + `"/$irq/smp_affinity_list"; n=$((n + 1)); done; }`, nil
}

// cpuList is the canonical form of a list of CPUs.
func cpuList(at Place, s string) (string, error) {
	cpus, err := kernel.ParseCPUList(s)
	if err != nil || len(cpus) == 0 {
		return "", fmt.Errorf("value of %s: %q is no list of CPUs such as 0-3,8, each below %d: %w", at, s, kernel.MaxCPUs, ErrValue)
	}
	return unit.CPUList(cpus), nil
}
