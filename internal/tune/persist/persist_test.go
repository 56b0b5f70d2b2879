package persist

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files stand for a host's.
type files map[string]string

func (f files) host(nics ...NIC) Host {
	return Host{NICs: nics, Ethtool: "/usr/sbin/ethtool", Read: func(path string) (string, bool, error) {
		text, ok := f[path]
		return text, ok, nil
	}}
}

const card = "pci:0000:3b:00.0"

func TestRender(t *testing.T) {
	nic := NIC{Device: card, Name: "eth0"}
	for _, c := range []struct {
		name   string
		values []Value
		have   files
		nic    NIC
		want   map[string]string
		refuse []Refused
	}{
		{
			name: "sysctls", values: []Value{{"linux.sysctl.net.ipv4.tcp_rmem", "", "4096 131072 6291456"}, {"linux.sysctl.net.core.rmem_max", "", "6291456"}, {"linux.sysctl.net.ipv4.conf.eth0.100.rp_filter", "", "2"}},
			want: map[string]string{sysctlFile: Mark + "net.core.rmem_max = 6291456\nnet.ipv4.tcp_rmem = 4096 131072 6291456\nnet/ipv4/conf/eth0.100/rp_filter = 2\n"},
		},
		{
			name: "a second plan adds to the first", values: []Value{{"linux.sysctl.net.core.rmem_max", "", "2"}, {"linux.sysctl.net.core.wmem_max", "", "3"}},
			have: files{sysctlFile: Mark + "net.core.rmem_max = 1\nnet.core.rmem_max_other = 5\n"},
			want: map[string]string{sysctlFile: Mark + "net.core.rmem_max = 2\nnet.core.rmem_max_other = 5\nnet.core.wmem_max = 3\n"},
		},
		{
			name: "what is there already", values: []Value{{"linux.sysctl.net.core.rmem_max", "", "1"}},
			have: files{sysctlFile: Mark + "net.core.rmem_max = 1\n"},
		},
		{
			name: "modules", values: []Value{{"linux.zfsmodule.zfs_arc_max", "", "1073741824"}, {"linux.module.sunrpc.tcp_slot_table_entries", "", "128"}, {"linux.module.x.y", "", "a b"}},
			want:   map[string]string{modprobeFile: Mark + "options sunrpc tcp_slot_table_entries=128\noptions zfs zfs_arc_max=1073741824\n"},
			refuse: []Refused{{"linux.module.x.y", `modprobe.d cannot hold the value "a b"`}},
		},
		{
			name: "fstab", values: []Value{{"linux.mount.nfs.rsize", "/mnt/my nas", "1048576"}, {"linux.mount.nfs.ac", "mount:/mnt/my nas", "off"}, {"linux.mount.nfs.hard", "/mnt/my nas", "on"}},
			have: files{fstab: "# mounts\nUUID=1 / ext4 rw 0 1\nnas:/a\t/mnt/my\\040nas  nfs \trw,rsize=8192,ac  0 0 # slow\n\nnas:/b /mnt/b nfs rw"},
			want: map[string]string{fstab: "# mounts\nUUID=1 / ext4 rw 0 1\nnas:/a\t/mnt/my\\040nas  nfs \trw,rsize=1048576,hard  0 0 # slow\n\nnas:/b /mnt/b nfs rw"},
		},
		{
			name: "a mount of somebody else's", values: []Value{{"linux.mount.nfs.rsize", "/mnt/x", "1"}}, have: files{fstab: "UUID=1 / ext4 rw 0 1\n"},
			refuse: []Refused{{"linux.mount.nfs.rsize of /mnt/x", "/etc/fstab has no line for /mnt/x: it is mounted by something else (autofs, a unit), which has to get the option"}},
		},
		{
			name: "a card of nobody's", nic: nic, values: []Value{{"linux.link.mtu", card, "9000"}, {"linux.link.txqueuelen", card, "10000"}, {"linux.ethtool.ring", card, "rx=4096 tx=4096"}, {"linux.ethtool.rss", card, "equal"}},
			want: map[string]string{udevFile: Mark +
				"# linux.link.mtu of " + card + "\n" + `ACTION=="add", SUBSYSTEM=="net", KERNELS=="0000:3b:00.0", DRIVERS=="?*", ATTR{mtu}="9000"` + "\n" +
				"# linux.link.txqueuelen of " + card + "\n" + `ACTION=="add", SUBSYSTEM=="net", KERNELS=="0000:3b:00.0", DRIVERS=="?*", ATTR{tx_queue_len}="10000"` + "\n" +
				"# linux.ethtool.ring of " + card + "\n" + `ACTION=="add", SUBSYSTEM=="net", KERNELS=="0000:3b:00.0", DRIVERS=="?*", RUN+="/usr/sbin/ethtool -G $name rx 4096 tx 4096"` + "\n"},
			refuse: []Refused{{"linux.ethtool.rss of " + card, "no file is known that sets it when the host starts: apply the plan again after a restart"}},
		},
		{
			name: "NetworkManager", nic: NIC{Device: card, Name: "eth0", Keyfile: "/etc/NetworkManager/system-connections/a.nmconnection"}, values: []Value{{"linux.link.mtu", card, "9000"}},
			have: files{"/etc/NetworkManager/system-connections/a.nmconnection": "[connection]\nid=a\n\n[ethernet]\nmtu=1500\ncloned=x\n\n[ipv4]\nmethod=auto\n"},
			want: map[string]string{"/etc/NetworkManager/system-connections/a.nmconnection": "[connection]\nid=a\n\n[ethernet]\nmtu=9000\ncloned=x\n\n[ipv4]\nmethod=auto\n"},
		},
		{
			name: "systemd-networkd", nic: NIC{Device: card, Name: "eth0", NetworkFile: "/run/systemd/network/20-wired.network"}, values: []Value{{"linux.link.mtu", card, "9000"}},
			want: map[string]string{"/etc/systemd/network/20-wired.network.d/90-linerate.conf": Mark + "[Link]\nMTUBytes=9000\n"},
		},
		{
			name: "a .network file of several", nic: NIC{Device: card, Name: "eth0", NetworkFile: "/etc/systemd/network/all.network", NetworkShared: true, LinkText: "# c\n[Match]\nOriginalName=*\n\n[Link]\n# names\nNamePolicy=keep kernel\nMACAddressPolicy=persistent\n"},
			values: []Value{{"linux.link.mtu", card, "9000"}},
			want: map[string]string{"/etc/systemd/network/10-linerate-pci-0000-3b-00-0.link": Mark +
				"[Match]\nPath=pci-0000:3b:00.0\n\n[Link]\nMTUBytes=9000\nNamePolicy=keep kernel\nMACAddressPolicy=persistent\n"},
		},
		{
			name: "what cannot be kept", values: []Value{{"linux.link.mtu", "pci:0000:99:00.0", "9000"}, {"any.zfs.recordsize", "tank", "1M"}, {"linux.cpu.governor", "", "performance"}},
			refuse: []Refused{
				{"linux.link.mtu of pci:0000:99:00.0", "the device is not there now"}, {"any.zfs.recordsize of tank", "it is already permanent where it was set"},
				{"linux.cpu.governor", "no file is known that sets it when the host starts: apply the plan again after a restart"},
			},
		},
	} {
		got, refused, err := Render(c.values, c.have.host(c.nic))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		text := map[string]string{}
		for _, f := range got {
			text[f.Path] = f.Text
		}
		if c.want == nil {
			c.want = map[string]string{}
		}
		if d := cmp.Diff(c.want, text); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if d := cmp.Diff(c.refuse, refused); d != "" {
			t.Errorf("%s: refused: %s", c.name, d)
		}
		again, _, err := Render(c.values, files(text).with(c.have).host(c.nic))
		if err != nil || len(again) != 0 {
			t.Errorf("%s: again: %+v, %v", c.name, again, err)
		}
	}
}

func (f files) with(others files) files {
	for path, text := range others {
		if _, ok := f[path]; !ok {
			f[path] = text
		}
	}
	return f
}

func TestRenderRefusesForeignFiles(t *testing.T) {
	for path, v := range map[string]Value{
		sysctlFile: {"linux.sysctl.net.core.rmem_max", "", "1"}, modprobeFile: {"linux.zfsmodule.zfs_arc_max", "", "1"}, udevFile: {"linux.link.mtu", card, "1"},
	} {
		_, _, err := Render([]Value{v}, files{path: "# mine\n"}.host(NIC{Device: card, Name: "eth0"}))
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	denied := errors.New("permission denied")
	h := Host{Read: func(string) (string, bool, error) { return "", false, denied }}
	if _, _, err := Render([]Value{{"linux.sysctl.net.core.rmem_max", "", "1"}}, h); !errors.Is(err, denied) {
		t.Errorf("%v", err)
	}
}

// A host without ethtool is told so before anything is written; what udev sets by the
// interface's own files is kept all the same.
func TestRenderWithoutEthtool(t *testing.T) {
	h := files{}.host(NIC{Device: card, Name: "eth0"})
	h.Ethtool = ""
	values := []Value{{"linux.ethtool.ring", card, "rx=4096"}, {"linux.link.txqueuelen", card, "10000"}, {"linux.ethtool.features", card, "rx-gro=on"}}
	got, refused, err := Render(values, h)
	if err != nil || len(got) != 1 || strings.Contains(got[0].Text, "ethtool") || !strings.Contains(got[0].Text, `ATTR{tx_queue_len}="10000"`) {
		t.Errorf("%+v, %v", got, err)
	}
	const why = "the host has no ethtool, by which udev could set it: install ethtool"
	if d := cmp.Diff([]Refused{{"linux.ethtool.ring of " + card, why}, {"linux.ethtool.features of " + card, why}}, refused); d != "" {
		t.Error(d)
	}
}

// What a host's name or value could carry must not end a rule or begin another.
func TestUdevRulesHoldNoQuotes(t *testing.T) {
	for _, v := range []Value{
		{"linux.link.mtu", `if:a", RUN+="x`, "9000"}, {"linux.ethtool.ring", card, `rx=1", RUN+="reboot`}, {"linux.ethtool.ring", card, "rx=1\nACTION"},
	} {
		got, refused, err := Render([]Value{v}, files{}.host(NIC{Device: v.Target, Name: "eth0"}))
		if err != nil || len(got) != 0 || len(refused) != 1 {
			t.Errorf("%v: %+v, %+v, %v", v, got, refused, err)
		}
	}
}

func TestSysctlThatAnotherFileSetsToo(t *testing.T) {
	got, _, err := Render([]Value{{"linux.sysctl.net.core.rmem_max", "", "1"}}, files{"/etc/sysctl.conf": "# net.core.rmem_max=3\n net.core.rmem_max = 5\n"}.host())
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Note, "/etc/sysctl.conf sets net.core.rmem_max too") {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzMountOption(f *testing.F) {
	f.Add("nas:/a /mnt/a nfs rw,rsize=8192 0 0\n", "/mnt/a", "rsize", "1")
	f.Add("a b c d", "b", "", "off")
	f.Fuzz(func(t *testing.T, text, point, option, value string) {
		out, found := setMountOption(text, point, option, value)
		if !found && out != text {
			t.Errorf("changed %q to %q without a line for it", text, out)
		}
		if strings.Count(out, "\n") != strings.Count(text, "\n") && !strings.Contains(value+option, "\n") {
			t.Errorf("%q has other lines than %q", out, text)
		}
	})
}
