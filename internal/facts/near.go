package facts

import (
	"fmt"
	"path"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Nodes are the NUMA nodes of a host with their CPUs.
func Nodes(src kernel.Files) model.Fact[[]model.Node] { return readNodes(src) }

// DiskNode is the NUMA node that the disks of a block device are attached to, by the device's
// number ("8:16"): also of a partition, and of what LVM, multipath and md make of disks, where all
// are at one.
func DiskNode(src kernel.Files, device string) model.Fact[int] {
	link, err := src.Readlink("/sys/dev/block/" + device)
	if err != nil {
		return model.Unknown[int](model.Unsupported, "the files lie on no block device of this host")
	}
	var found []model.Fact[int]
	for _, disk := range disks(src, path.Base(link), maxStack) {
		found = append(found, nodeAbove(src, "/sys/class/block/"+disk))
	}
	return agreed(found, "disks")
}

// NICNode is the NUMA node that the card of an interface is attached to: of a bond, a bridge or a
// VLAN that of its ports, where all are at one.
func NICNode(src kernel.Files, name string) model.Fact[int] {
	return agreed(portNodes(src, name, maxStack), "cards")
}

func portNodes(src kernel.Files, name string, depth int) (found []model.Fact[int]) {
	dir := "/sys/class/net/" + name
	entries, err := src.ReadDir(dir)
	if err != nil || depth == 0 {
		return nil
	}
	for _, e := range entries {
		if port, ok := strings.CutPrefix(e, "lower_"); ok {
			found = append(found, portNodes(src, port, depth-1)...)
		}
	}
	if len(found) == 0 {
		found = append(found, nodeAbove(src, dir))
	}
	return found
}

// agreed is the node that all of these are at.
func agreed(found []model.Fact[int], what string) model.Fact[int] {
	if len(found) == 0 {
		return model.Unknown[int](model.Unsupported, "it has no "+what)
	}
	for _, f := range found {
		switch {
		case f.State != model.Present:
			return f
		case f.Value != found[0].Value:
			return model.Unknown[int](model.Unsupported, fmt.Sprintf("its %s are at the NUMA nodes %d and %d", what, found[0].Value, f.Value))
		}
	}
	return found[0]
}

// nodeAbove is the NUMA node of the nearest device above a link of sysfs that has one.
func nodeAbove(src kernel.Files, at string) model.Fact[int] {
	link, err := src.Readlink(at)
	if err != nil {
		return lost[int](err)
	}
	for dir := path.Join(path.Dir(at), link); strings.HasPrefix(dir, "/sys/devices/"); dir = path.Dir(dir) {
		if _, err := src.ReadFile(dir + "/numa_node"); err == nil {
			return readNUMA(src, dir+"/")
		}
	}
	return model.Unknown[int](model.Unsupported, "no device is behind it that the firmware gives a NUMA node")
}
