package facts

import (
	"maps"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// fillDetail adds what rtnetlink and ethtool do not report.
func fillDetail(src kernel.Source, n *model.NIC, l kernel.Link, p kernel.Port, drops int64) {
	n.Kind, n.Firmware = l.Kind, p.Firmware
	n.Ring, n.Channels, n.Coalesce, n.Pause, n.FEC, n.Modes = p.Ring, p.Channels, p.Coalesce, p.Pause, p.FEC, p.Modes
	if l.QueueLen > 0 {
		n.TxQueueLen = model.Known(l.QueueLen)
	}
	n.RPFilter, n.ARPIgnore = inEffect(src, l.Name, "rp_filter"), inEffect(src, l.Name, "arp_ignore")
	n.Bond = readBond(src, l)
	n.Counters = readCounters(src, l, p, drops)
	address := kernel.PCIAddress(l, p)
	if address == "" {
		return
	}
	n.Upstream = readUpstream(src, address)
	dir := "/sys/bus/pci/devices/" + address + "/"
	n.LocalCPUs = readCPUs(src, dir+"local_cpulist")
	n.IRQs = readIRQs(src, dir)
	n.PCIErrors = readAER(src, dir)
	n.PCIID = readPCIID(src, dir)
	n.Payload = readPayload(src, dir)
}

// inEffect is an IPv4 setting of an interface: the larger of all's and its
// own (Documentation/networking/ip-sysctl.rst, rp_filter and arp_ignore).
func inEffect(src kernel.Files, ifname, name string) model.Fact[int] {
	own := small(src, "/proc/sys/net/ipv4/conf/"+ifname+"/"+name)
	all := small(src, "/proc/sys/net/ipv4/conf/all/"+name)
	if own.State != model.Present || all.State != model.Present {
		return own
	}
	return model.Known(max(own.Value, all.Value))
}

func readCPUs(src kernel.Files, file string) model.Fact[[]int] {
	w := word(src, file)
	if w.State != model.Present {
		return model.Unknown[[]int](w.State, w.Why)
	}
	cpus, err := kernel.ParseCPUList(w.Value)
	if err != nil {
		return model.Unknown[[]int](model.Unsupported, err.Error())
	}
	if len(cpus) == 0 {
		return model.Unknown[[]int](model.Unsupported, file+" names no CPU")
	}
	return model.Known(cpus)
}

// readCounters reads an interface's counters (Documentation/ABI/testing/
// sysfs-class-net-statistics).
func readCounters(src kernel.Files, l kernel.Link, p kernel.Port, drops int64) model.Fact[map[string]int64] {
	out := map[string]int64{
		"rx_packets": l.Count.RxPackets, "tx_packets": l.Count.TxPackets, "rx_errors": l.Count.RxErrors, "tx_errors": l.Count.TxErrors,
		"rx_crc_errors": l.Count.RxCRC, "qdisc_drops": drops,
	}
	dir := "/sys/class/net/" + l.Name + "/"
	for _, name := range []string{"rx_missed_errors", "rx_fifo_errors", "collisions", "tx_carrier_errors"} {
		if v, ok := integer(src, dir+"statistics/"+name).Get(); ok {
			out[name] = v
		}
	}
	if v, ok := integer(src, dir+"carrier_changes").Get(); ok {
		out["carrier_changes"] = v
	}
	maps.Copy(out, p.Counters)
	return model.Known(out)
}

// readUpstream reads the links of all bridges between a device and the root of its bus: an
// under-trained one limits what is behind it.
func readUpstream(src kernel.Source, address string) model.Fact[[]model.PCISlot] {
	link, err := src.Readlink("/sys/bus/pci/devices/" + address)
	if err != nil {
		return lost[[]model.PCISlot](err)
	}
	out := []model.PCISlot{} // not nil: a known fact has a value
	for e := range strings.SplitSeq(link, "/") {
		if e == address || !kernel.IsPCIAddress(e) {
			continue
		}
		if s, ok := readLink(src, "/sys/bus/pci/devices/"+e+"/", e).Get(); ok {
			out = append(out, s)
		}
	}
	return model.Known(out)
}

// readIRQs reads the MSI interrupts of a PCI device: how often each fired, and its affinity
// (Documentation/ABI/testing/sysfs-kernel-irq, core-api/irq/irq-affinity.rst).
func readIRQs(src kernel.Files, dir string) model.Fact[[]model.IRQ] {
	names, err := src.ReadDir(dir + "msi_irqs")
	if err != nil {
		return lost[[]model.IRQ](err)
	}
	out := []model.IRQ{}
	for _, name := range numberedNames(names, "") {
		_ = word(src, dir+"msi_irqs/"+name) // so that a recording lists it
		n, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		irq := model.IRQ{Number: n, Count: sumCounts(word(src, "/sys/kernel/irq/"+name+"/per_cpu_count").Value)}
		cpus := readCPUs(src, "/proc/irq/"+name+"/effective_affinity_list")
		allowed := readCPUs(src, "/proc/irq/"+name+"/smp_affinity_list")
		irq.Allowed = allowed.Value
		if cpus.State != model.Present || len(cpus.Value) == 0 {
			cpus = allowed
		}
		if cpus.State == model.Denied {
			return model.Unknown[[]model.IRQ](model.Denied, cpus.Why)
		}
		irq.CPUs = cpus.Value
		out = append(out, irq)
	}
	return model.Known(out)
}

// sumCounts adds "12,0,3".
func sumCounts(s string) int64 {
	var sum int64
	for part := range strings.SplitSeq(s, ",") {
		if v, err := strconv.ParseUint(part, 10, 48); err == nil {
			sum += int64(v)
		}
	}
	return sum
}

// readAER reads how many errors the device corrected on its link
// (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
func readAER(src kernel.Files, dir string) model.Fact[int64] {
	b, err := src.ReadFile(dir + "aer_dev_correctable")
	if err != nil {
		return lost[int64](err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "TOTAL_ERR_COR "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err == nil && n >= 0 {
				return model.Known(n)
			}
		}
	}
	return model.Unknown[int64](model.Unsupported, "the device counts no corrected errors")
}
