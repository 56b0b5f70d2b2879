package guide

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

// Each setting can be looked at with a command, but for what only a console, a
// file or a pair of eyes shows.
func TestShownBy(t *testing.T) {
	none := []string{
		"switch.", "array.", "any.phy.", "any.nic.", "any.pcie.", "any.bios.", "any.route.", "any.client.",
		"windows.iscsi.", "macos.file.sysctl_conf", "illumos.driver.",
	}
	for _, s := range All() {
		without := slices.ContainsFunc(none, func(p string) bool { return strings.HasPrefix(s.ID, p) })
		if by := s.ShownBy(); (by == "") != without || strings.Contains(by, "{") {
			t.Errorf("%s is shown by %q", s.ID, by)
		}
	}
	for id, want := range map[string]string{
		"linux.sysctl.net.ipv4.tcp_rmem": "sysctl net.ipv4.tcp_rmem",
		"linux.ethtool.features.gro":     "ethtool -k IF",
		"any.zfs.recordsize":             "zfs get recordsize DATASET",
		"any.zfs.slog":                   "zpool status",
		"windows.tcp.chimney":            "netsh int tcp show global",
		"illumos.system.nfs.nfs3_nra":    `echo "nfs3_nra/D" | mdb -k`,
	} {
		if s, ok := Find(id); !ok || s.ShownBy() != want {
			t.Errorf("%s is shown by %q, want %q", id, s.ShownBy(), want)
		}
	}
}

func TestCurrent(t *testing.T) {
	h := model.HostFiles{
		OS:  "linux",
		Now: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 33554432", "net.ipv4.conf.all.arp_ignore": "0", "net.ipv4.conf.eth0/100.arp_ignore": "1"},
		Running: []model.Running{
			{Setting: "linux.link.mtu", Name: "mtu", Device: "eth0", Value: "9000"},
			{Setting: "linux.ethtool.ring", Name: "ring rx", Device: "eth0", Value: "512"},
			{Setting: "linux.ethtool.gro", Name: "gro", Device: "eth0", Value: "on"},
			{Setting: "linux.ethtool.tso", Name: "tso", Device: "eth0", Value: "off"},
			{Setting: "linux.mount.nfs.wsize", Name: "wsize", Device: "/mnt", Value: "262144"},
			{Setting: "linux.block.nr_requests", Name: "nr_requests", Device: "sda", Value: "64"},
			{Setting: "linux.bdi.read_ahead_kb", Name: "read_ahead_kb", Device: "0:50", Value: "128"},
		},
	}
	for id, want := range map[string][]string{
		"linux.sysctl.net.ipv4.tcp_rmem":           {" 4096 131072 33554432"},
		"linux.sysctl.net.ipv4.conf.IF.arp_ignore": {"all 0", "eth0/100 1"},
		"linux.link.mtu":                           {"eth0 9000"},
		"linux.ethtool.ring":                       {"eth0 512"},
		"linux.ethtool.features.gro":               {"eth0 on"},
		"linux.ethtool.features":                   {"eth0 on", "eth0 off"},
		"linux.mount.nfs.rsize":                    {"/mnt 262144"},
		"linux.block.nr_requests":                  {"sda 64"},
		"linux.bdi.nfs_readahead":                  {"0:50 128"},
		"windows.adapter.jumbo":                    nil,
	} {
		s, ok := Find(id)
		if !ok {
			t.Errorf("no %s", id)
		}
		var got []string
		for _, r := range Current(h, s) {
			got = append(got, r.Device+" "+r.Value)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s -want +got:\n%s", id, d)
		}
	}
}

func TestNear(t *testing.T) {
	for typed, want := range map[string]string{
		"tcp_rmme": "tcp_rmem", "readahead": "nfs_readahead", "read ahead": "nfs_readahead", "record size": "recordsize", "JumboPackets": "Jumbo Packet",
		"fnprefetch": "onefs.sysctl.efs.bam.fnprefetch.enable_streaming",
	} {
		if near := Near(typed, 6); !slices.Contains(near, want) {
			t.Errorf("near %q: %v", typed, near)
		}
	}
	if near := Near("qqqqqq", 6); near != nil {
		t.Errorf("near qqqqqq: %v", near)
	}
}

// What a line sets is compared with what runs, in the kernel's words.
func TestHolds(t *testing.T) {
	h := linux(map[string]string{
		"/etc/sysctl.d/1.conf":           "net.ipv4.tcp_rmem = 4096 87380 1\nnet.ipv4.tcp_wmem=4096\t16384  4194304\n",
		"/etc/rc.local":                  "echo 20 > /proc/irq/73/smp_affinity\nethtool -G eth0 rx 512 tx 64\nethtool -K eth0 gro off\nip link set eth9 mtu 9000\nifconfig $IF mtu 9000\n",
		"/etc/modprobe.d/1.conf":         "options mlx4_en pfctx=Y\n",
		"/etc/fstab":                     "s:/x /mnt nfs rsize=1048576,vers=4,proto=tcp 0 0\n",
		"/etc/systemd/network/1.link":    "[Match]\nOriginalName=eth0\n[Link]\nMTUBytes=9000\n",
		"/etc/systemd/network/2.network": "[Match]\nName=e*\n[Link]\nMTUBytes=9000\n",
	})
	h.Now = map[string]string{"net.ipv4.tcp_rmem": "4096 131072 33554432", "net.ipv4.tcp_wmem": "4096 16384 4194304"}
	h.Running = []model.Running{
		{Setting: "linux.irq.affinity", Name: "smp_affinity", Device: "irq 73", Value: "00000020"},
		{Setting: "linux.ethtool.ring", Name: "ring rx", Device: "eth0", Value: "512"},
		{Setting: "linux.ethtool.ring", Name: "ring tx", Device: "eth0", Value: "512"},
		{Setting: "linux.ethtool.gro", Name: "gro", Device: "eth0", Value: "on"},
		{Setting: "linux.link.mtu", Name: "mtu", Device: "eth0", Value: "1500"},
		{Setting: "linux.module.mlx4_en.pfctx", Name: "mlx4_en pfctx", Value: "1"},
		{Setting: "linux.mount.nfs.rsize", Name: "rsize", Device: "/mnt", Value: "262144"},
		{Setting: "linux.mount.nfs.vers", Name: "vers", Device: "/mnt", Value: "4.2"},
		{Setting: "linux.mount.nfs.proto", Name: "proto", Device: "/mnt", Value: "tcp"},
	}
	want := map[string]string{
		"net.ipv4.tcp_rmem=4096 87380 1": "no", "net.ipv4.tcp_wmem=4096 16384 4194304": "yes", "smp_affinity=20": "yes", "ring rx=512": "yes", "ring tx=64": "no",
		"gro=off": "no", "mtu=9000 eth9": "", "mtu=9000 $IF": "", "mlx4_en pfctx=Y": "yes", "rsize=1048576 /mnt": "no", "vers=4 /mnt": "yes", "proto=tcp /mnt": "yes",
		"mtu=9000 OriginalName=eth0": "no", "mtu=9000 Name=e*": "",
	}
	got := map[string]string{}
	for _, it := range Audit(h).Items {
		name := it.Name + "=" + it.Value
		if it.Name == "mtu" || strings.HasPrefix(it.Device, "/") {
			name += " " + it.Device
		}
		got[name] = it.Holds
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
