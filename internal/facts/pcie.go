package facts

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readSlot reads what the device at a PCI address negotiated with its slot, the device's own
// maximum, and its NUMA node.
func readSlot(src kernel.Source, address string) (model.Fact[model.PCISlot], model.Fact[int]) {
	if address == "" {
		why := "not a PCI device"
		return model.Unknown[model.PCISlot](model.Unsupported, why), model.Unknown[int](model.Unsupported, why)
	}
	dir := "/sys/bus/pci/devices/" + address + "/"
	link := readLink(src, dir, address)
	if _, err := src.ReadFile(dir + "numa_node"); err == nil && link.State == model.Absent {
		// A conventional or virtual device has no link.
		link = model.Unknown[model.PCISlot](model.Unsupported, "the device has no PCIe link")
	}
	return link, readNUMA(src, dir)
}

func readLink(src kernel.Source, dir, address string) model.Fact[model.PCISlot] {
	s := model.PCISlot{Address: address}
	for file, into := range map[string]*float64{"current_link_speed": &s.GTs, "max_link_speed": &s.MaxGTs} {
		b, err := src.ReadFile(dir + file)
		if err != nil {
			return lost[model.PCISlot](err)
		}
		if *into, err = parseLinkSpeed(string(b)); err != nil {
			return model.Unknown[model.PCISlot](model.Unsupported, err.Error())
		}
	}
	for file, into := range map[string]*int{"current_link_width": &s.Lanes, "max_link_width": &s.MaxLanes} {
		b, err := src.ReadFile(dir + file)
		if err != nil {
			return lost[model.PCISlot](err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || n <= 0 || n > 32 {
			return model.Unknown[model.PCISlot](model.Unsupported, fmt.Sprintf("%s is %q: the device has no PCIe link", file, strings.TrimSpace(string(b))))
		}
		*into = n
	}
	return model.Known(s)
}

// parseLinkSpeed reads "8.0 GT/s PCIe" or "2.5 GT/s"; "Unknown" is an error.
func parseLinkSpeed(s string) (float64, error) {
	num, _, ok := strings.Cut(strings.TrimSpace(s), " GT/s")
	v, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v > 1000 {
		return 0, fmt.Errorf("PCIe link speed is %q: the device has no PCIe link", strings.TrimSpace(s))
	}
	return v, nil
}

func readNUMA(src kernel.Files, dir string) model.Fact[int] {
	b, err := src.ReadFile(dir + "numa_node")
	if err != nil {
		return lost[int](err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return model.Unknown[int](model.Unsupported, "the firmware names no NUMA node for this device")
	}
	return model.Known(n)
}
