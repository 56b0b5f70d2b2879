package facts

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// thunderboltDevice matches the name of an attached device, by domain and route; 0 is the host's
// own router (Documentation/admin-guide/thunderbolt.rst).
const thunderboltDevice = `^[0-9]+-[1-9a-f][0-9a-f]*$`

// readThunderbolt lists the devices at Thunderbolt and USB4 ports, and marks the PCIe links that
// are a tunnel through one, whose reported speed is not what they carry. The kernel marks them
// since 5.14 (removable); before, a bridge at 2.5 GT/s counts as a tunnel if anything is
// attached.
func readThunderbolt(_ context.Context, src kernel.Source, f *model.Facts) error {
	const dir = "/sys/bus/thunderbolt/devices"
	names, err := src.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	device := regexp.MustCompile(thunderboltDevice)
	for _, name := range names {
		if !device.MatchString(name) {
			continue
		}
		speed, err := parseLaneSpeed(word(src, dir+"/"+name+"/tx_speed").Or(""))
		lanes := integer(src, dir+"/"+name+"/tx_lanes").Or(0)
		if err != nil || lanes < 1 || lanes > 4 {
			continue
		}
		f.Thunderbolt = append(f.Thunderbolt, model.ThunderboltDevice{
			Name: name, Product: strings.TrimSpace(word(src, dir+"/"+name+"/vendor_name").Or("") + " " + word(src, dir+"/"+name+"/device_name").Or("")),
			Rate: speed * unit.BitRate(lanes),
		})
	}
	for i := range f.NICs {
		n := &f.NICs[i]
		if n.PCI.State == model.Present {
			n.PCI.Value.Tunnel = tunnel(src, n.PCI.Value, false)
		}
		for j := range n.Upstream.Value {
			n.Upstream.Value[j].Tunnel = tunnel(src, n.Upstream.Value[j], len(f.Thunderbolt) > 0)
		}
	}
	return nil
}

// tunnel tells whether a PCIe link leads through Thunderbolt or USB4.
func tunnel(src kernel.Files, l model.PCISlot, plugged bool) bool {
	marked := word(src, "/sys/bus/pci/devices/"+l.Address+"/removable")
	if marked.State == model.Present {
		return marked.Value == "removable"
	}
	return plugged && l.GTs == 2.5
}

// parseLaneSpeed reads "20.0 Gb/s", the rate of one lane.
func parseLaneSpeed(s string) (unit.BitRate, error) {
	num, ok := strings.CutSuffix(s, " Gb/s")
	v, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || !(v > 0 && v <= 1000) {
		return 0, errors.New("no speed of a lane")
	}
	return unit.BitRate(v) * unit.Gbit, nil
}
