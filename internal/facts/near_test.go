package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

func TestTheNodesOfDisksAndCards(t *testing.T) {
	root := t.TempDir()
	for name, to := range map[string]string{
		"dev/block/8:1":   "../../devices/pci0000:00/0000:00:01.0/ata1/host0/block/sda/sda1",
		"dev/block/259:0": "../../devices/pci0000:80/0000:80:02.0/nvme/nvme0/nvme0n1",
		"dev/block/253:0": "../../devices/virtual/block/dm-0",
		"dev/block/253:1": "../../devices/virtual/block/dm-1",
		"dev/block/7:0":   "../../devices/virtual/block/loop0",
		"dev/block/8:32":  "../../devices/pci0000:00/0000:00:07.0/host1/block/sdc",

		"class/block/sda":     "../../devices/pci0000:00/0000:00:01.0/ata1/host0/block/sda",
		"class/block/sda1":    "../../devices/pci0000:00/0000:00:01.0/ata1/host0/block/sda/sda1",
		"class/block/nvme0n1": "../../devices/pci0000:80/0000:80:02.0/nvme/nvme0/nvme0n1",
		"class/block/sdc":     "../../devices/pci0000:00/0000:00:07.0/host1/block/sdc",
		"class/block/dm-0":    "../../devices/virtual/block/dm-0",
		"class/block/dm-1":    "../../devices/virtual/block/dm-1",
		"class/block/loop0":   "../../devices/virtual/block/loop0",

		"class/net/eth0":  "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0",
		"class/net/eth1":  "../../devices/pci0000:80/0000:80:04.0/net/eth1",
		"class/net/vlan5": "../../devices/virtual/net/vlan5",
		"class/net/bond0": "../../devices/virtual/net/bond0",
		"class/net/lo":    "../../devices/virtual/net/lo",
	} {
		at := filepath.Join(root, "sys", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(filepath.Dir(at), to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, content string) {
		at := filepath.Join(root, "sys/devices", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for slot, node := range map[string]string{"pci0000:00/0000:00:01.0": "0\n", "pci0000:00/0000:00:03.0": "0\n", "pci0000:80/0000:80:02.0": "1\n", "pci0000:80/0000:80:04.0": "1\n", "pci0000:00/0000:00:07.0": "-1\n"} {
		write(slot+"/numa_node", node)
	}
	write("virtual/block/dm-0/slaves/nvme0n1", "")
	write("virtual/block/dm-1/slaves/nvme0n1", "")
	write("virtual/block/dm-1/slaves/sda1", "")
	write("virtual/net/vlan5/lower_eth1", "")
	write("virtual/net/bond0/lower_eth0", "")
	write("virtual/net/bond0/lower_eth1", "")
	src := kernel.Root(root)
	check := func(what string, got model.Fact[int], want int, why string) {
		t.Helper()
		if n, ok := got.Get(); ok != (why == "") || ok && n != want || !strings.Contains(got.Why, why) {
			t.Errorf("%s: %+v, want %d %s", what, got, want, why)
		}
	}
	check("a partition", DiskNode(src, "8:1"), 0, "")
	check("NVMe", DiskNode(src, "259:0"), 1, "")
	check("LVM on one disk", DiskNode(src, "253:0"), 1, "")
	check("LVM on two", DiskNode(src, "253:1"), 0, "nodes")
	check("a loop device", DiskNode(src, "7:0"), 0, "no device is behind it")
	check("a firmware that says nothing", DiskNode(src, "8:32"), 0, "firmware names no NUMA node")
	check("a mount", DiskNode(src, "0:45"), 0, "no block device")
	check("a card", NICNode(src, "eth0"), 0, "")
	check("a VLAN", NICNode(src, "vlan5"), 1, "")
	check("a bond over two nodes", NICNode(src, "bond0"), 0, "nodes")
	check("loopback", NICNode(src, "lo"), 0, "no device is behind it")
	check("none", NICNode(src, "eth9"), 0, "no cards")
}
