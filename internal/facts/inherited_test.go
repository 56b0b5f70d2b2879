package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
)

// tree writes files and, where the text begins with "→ ", links.
func tree(t *testing.T, files map[string]string) kernel.Root {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "→ "); ok {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return kernel.Root(root)
}

func TestReadInherited(t *testing.T) {
	got, err := ReadInherited(tree(t, map[string]string{
		"etc/sysctl.conf":                         "a = 1\n",
		"etc/sysctl.d/99-sysctl.conf":             "→ ../sysctl.conf",
		"etc/sysctl.d/10-abs.conf":                "→ /etc/other/abs.conf", // absolute, and still in the tree
		"etc/other/abs.conf":                      "b = 2\n",
		"etc/sysctl.d/50-masked.conf":             "→ /dev/null",
		"etc/sysctl.d/README":                     "no settings\n",
		"etc/sysctl.d/99-dangling.conf":           "→ nowhere",
		"etc/tuned/active_profile":                "mine\n",
		"etc/tuned/profiles/mine/tuned.conf":      "[main]\n",
		"usr/lib/modprobe.d/mlnx.conf":            "options mlx4_en x=1\n",
		"var/lib/dpkg/info/mlnx-tools:amd64.list": "/.\n/lib/modprobe.d/mlnx.conf\n",
		"var/lib/dpkg/info/mlnx-tools.md5sums":    "0 /etc/sysctl.conf\n",
		"proc/sys/kernel/osrelease":               "6.18.44\n",
		"proc/sys/net/ipv4/tcp_rmem":              "4096\t131072\t33554432\n",
	}), []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/sysctl.conf": "a = 1\n", "/etc/sysctl.d/99-sysctl.conf": "a = 1\n", "/etc/sysctl.d/10-abs.conf": "b = 2\n",
		"/etc/sysctl.d/50-masked.conf": "", "/etc/tuned/active_profile": "mine\n", "/etc/tuned/profiles/mine/tuned.conf": "[main]\n",
		"/usr/lib/modprobe.d/mlnx.conf": "options mlx4_en x=1\n",
	}
	if d := cmp.Diff(want, got.Files); d != "" {
		t.Errorf("files -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"/etc/sysctl.d/99-sysctl.conf": "/etc/sysctl.conf", "/etc/sysctl.d/10-abs.conf": "/etc/other/abs.conf"}, got.Links); d != "" {
		t.Errorf("links -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"/usr/lib/modprobe.d/mlnx.conf": "mlnx-tools"}, got.Owners); d != "" {
		t.Errorf("owners -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"net.ipv4.tcp_rmem": "4096 131072 33554432"}, got.Now); d != "" {
		t.Errorf("now -want +got:\n%s", d)
	}
	if got.OS != "linux" || got.Kernel != "6.18.44" || got.TCPNames != nil || len(got.Unread) != 0 {
		t.Errorf("os %q, kernel %q, %d names, unread %v", got.OS, got.Kernel, len(got.TCPNames), got.Unread)
	}
}

func TestReadInheritedTellsTheSystem(t *testing.T) {
	for file, want := range map[string]string{
		"etc/system":                "illumos",
		"kernel/drv/ixgbe.conf":     "illumos",
		"etc/sysctl.conf":           "linux",
		"proc/sys/kernel/osrelease": "linux",
		"Windows/System32/GroupPolicy/Machine/Scripts/Startup/a.cmd": "windows",
	} {
		got, err := ReadInherited(tree(t, map[string]string{file: "6.18\n"}), nil, nil)
		if err != nil || got.OS != want {
			t.Errorf("%s: %q, %v; want %q", file, got.OS, err, want)
		}
	}
}

func TestReadInheritedRefusesWhatIsNoTree(t *testing.T) {
	_, err := ReadInherited(tree(t, map[string]string{"home/x": "y"}), nil, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestReadInheritedSaysWhatItCouldNotRead(t *testing.T) {
	root := tree(t, map[string]string{"etc/sysctl.conf": strings.Repeat("#", kernel.MaxFile+1), "etc/rc.local": "sysctl -w x=1\n"})
	got, err := ReadInherited(root, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unread["/etc/sysctl.conf"] == "" || got.Files["/etc/rc.local"] == "" {
		t.Errorf("unread %v, files %v", got.Unread, got.Files)
	}
}

// What is kept of each kind of file: settings, and no password, server or user.
func TestSettingLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"/etc/sysctl.conf", "# c\n## MLXNET tuning parameters ##\na.b = 1\nkernel.hostname = nas\nnet.ipv4.tcp_fastopen_key = 0-1\n## END MLXNET ##\n",
			"\n## MLXNET tuning parameters ##\na.b = 1\n\n\n## END MLXNET ##\n"},
		{"/etc/fstab", "/dev/sda1 / ext4 rw 0 1\n# nas:/a /b nfs rw 0 0\nnas.example.com:/x /mnt/x nfs rw,rsize=1024,clientaddr=10.0.0.1 0 0\n//nas/s /s cifs username=bob,password=p,vers=3.0 0 0\n",
			"\n\nserver:/export /mnt/x nfs defaults,rsize=1024 0 0\nserver:/export /s cifs defaults,vers=3.0 0 0\n"},
		{"/etc/exports", "/srv bob.example.com(rw,async) \\\n  *(ro) # all\n/x *(rw)\n", "/srv client(rw,async) *(ro)\n\n/x *(rw)\n"},
		{"/etc/rc.local", "#!/bin/sh\nmount -o password=p //nas/x /x\nethtool -G eth0 \\\n rx 4096\ncurl -u a:b http://x/ip\n",
			"\n\nethtool -G eth0 \\\n rx 4096\n"},
		{"/etc/NetworkManager/system-connections/a.nmconnection", "[connection]\nid=Home\nuuid=1\n[wifi-security]\npsk=secret\n[ethtool]\nring-rx=4096\n",
			"[connection]\nid=Home\n\n[x]\n\n[ethtool]\nring-rx=4096\n"},
		{"/etc/samba/smb.conf", "[global]\nworkgroup = BANK\nsocket options = SO_RCVBUF=1\n[payroll]\npath = /srv/p\n", "[global]\n\nsocket options = SO_RCVBUF=1\n[x]\n"},
		{"/etc/netplan/a.yaml", "network:\n  wifis:\n    w:\n      access-points:\n        x: {password: p}\n      mtu: 9000\n", "network:\n  wifis:\n    w:\n      access-points:\n\n      mtu: 9000\n"},
		{"/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=1 quiet mem=4G mlx4_core.x=1 systemd.hostname=nas sysctl.net.ipv4.tcp_sack=0 ip=10.0.0.1\n", "mem=4G mlx4_core.x=1 sysctl.net.ipv4.tcp_sack=0\n"},
		{"/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX='quiet mem=4G'\n", "\nGRUB_CMDLINE_LINUX=mem=4G\n"},
		{"/etc/udev/rules.d/1.rules", "SUBSYSTEM==\"block\", ENV{ID}=\"x\"\nACTION==\"add\", ATTR{mtu}=\"9000\"\n", "\nACTION==\"add\", ATTR{mtu}=\"9000\"\n"},
		{"/etc/sysconfig/network-scripts/ifcfg-eth0", "IPADDR=10.0.0.1\nMTU=9000\nKEY=abc\n", "\nMTU=9000\n"},
	} {
		if d := cmp.Diff(c.want, newSettingLines().of(c.name, c.text)); d != "" {
			t.Errorf("%s -want +got:\n%s", c.name, d)
		}
	}
}

// A link in a folder of settings must not hand out another file.
func TestLinksToOtherFilesAreNotFollowed(t *testing.T) {
	got, err := ReadInherited(tree(t, map[string]string{
		"etc/sysctl.conf":        "a = 1\n",
		"etc/sysctl.d/9.conf":    "→ /etc/shadow",
		"etc/init.d/x":           "→ ../../root/.ssh/id_ed25519",
		"etc/init.d/y":           "→ /etc/rc.d/init.d/y",
		"etc/rc.d/init.d/y":      "sysctl -w a=2\n",
		"etc/shadow":             "root:x=1:\n",
		"root/.ssh/id_ed25519":   "KEY=1 sysctl\n",
		"etc/sysctl.d/../passwd": "x=1\n",
		"etc/sysctl.d/8.conf":    "→ /opt/site/8.conf",
		"opt/site/8.conf":        "b = 2\n",
		"etc/NetworkManager/system-connections/Home.nmconnection": "[connection]\nid=Home\n[wifi]\nssid=Home\n",
	}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"/etc/sysctl.conf": "a = 1\n", "/etc/sysctl.d/8.conf": "b = 2\n", "/etc/init.d/y": "sysctl -w a=2\n"}
	if d := cmp.Diff(want, got.Files); d != "" {
		t.Errorf("files -want +got:\n%s", d)
	}
	if len(got.Unread) != 2 || got.Unread["/etc/sysctl.d/9.conf"] == "" || got.Unread["/etc/init.d/x"] == "" {
		t.Errorf("unread %v", got.Unread)
	}
}

func TestReadInheritedIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("etc/sysctl.d/%d.conf", i)] = strings.Repeat("a.b = 1\n", kernel.MaxFile/8)
	}
	got, err := ReadInherited(tree(t, files), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != maxInheritedBytes/kernel.MaxFile || !strings.Contains(got.Unread["more files"], "4 MiB") {
		t.Errorf("%d files, unread %v", len(got.Files), got.Unread)
	}
}

func TestRunningValues(t *testing.T) {
	got, err := ReadInherited(tree(t, map[string]string{
		"etc/modprobe.d/a.conf":                                   "options mlx4-en inline_thold=0 other=1\n",
		"etc/rc.local":                                            "echo 20 > /proc/irq/73/smp_affinity\n",
		"sys/module/mlx4_en/parameters/inline_thold":              "104\n",
		"sys/module/zfs/parameters/zfs_arc_max":                   "0\n",
		"proc/irq/73/smp_affinity":                                "00000020\n",
		"proc/irq/74/smp_affinity":                                "1\n",
		"sys/class/net/eth0/mtu":                                  "9000\n",
		"sys/class/block/sda/queue/scheduler":                     "[mq-deadline] none\n",
		"sys/class/block/loop0/queue/scheduler":                   "[none]\n",
		"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
		"sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "powersave\n",
		"proc/self/mountinfo":                                     "30 20 0:50 / /mnt/nas rw shared:1 - nfs4 10.0.0.1:/x rw,vers=4.2,rsize=262144,proto=tcp\n",
	}), nil, []string{"zfs.zfs_arc_max", "zfs.none"})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Running{
		{Setting: "linux.module.mlx4-en.inline_thold", Name: "mlx4-en inline_thold", Value: "104"},
		{Setting: "linux.zfsmodule.zfs_arc_max", Name: "zfs zfs_arc_max", Value: "0"},
		{Setting: "linux.link.mtu", Name: "mtu", Device: "eth0", Value: "9000"},
		{Setting: "linux.block.scheduler", Name: "scheduler", Device: "sda", Value: "mq-deadline"},
		{Setting: "linux.mount.nfs.rsize", Name: "rsize", Device: "/mnt/nas", Value: "262144"},
		{Setting: "linux.mount.nfs.vers", Name: "vers", Device: "/mnt/nas", Value: "4.2"},
		{Setting: "linux.mount.nfs.proto", Name: "proto", Device: "/mnt/nas", Value: "tcp"},
		{Setting: "linux.cpu.governor", Name: "governor", Value: "performance and powersave"},
		{Setting: "linux.irq.affinity", Name: "smp_affinity", Device: "irq 73", Value: "00000020"},
	}
	if d := cmp.Diff(want, got.Running); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// rpmHost is a recorded host whose rpm answers.
type rpmHost struct {
	*kerneltest.Host
	owner func(file string) (string, error)
}

func (h rpmHost) Owner(_ context.Context, file string) (string, error) { return h.owner(file) }

func TestOwnersOfRPM(t *testing.T) {
	h := load(t, "vm-virtio")
	h.Files["var/lib/rpm/rpmdb.sqlite"] = "SQLite format 3"
	h.Files["etc/sysctl.d/90-mine.conf"] = "net.ipv4.tcp_sack = 0\n"
	h.Files["usr/lib/sysctl.d/50-theirs.conf"] = "net.ipv4.tcp_timestamps = 0\n"
	for name, c := range map[string]struct {
		owner func(file string) (string, error)
		want  string // of the packages' file
		says  string // why others may have an owner; empty: nothing
	}{
		"answers": {func(file string) (string, error) {
			if strings.HasPrefix(file, "/usr/") {
				return "tuned", nil
			}
			return "", nil
		}, "tuned", ""},
		"no rpm": {func(string) (string, error) { return "", fs.ErrNotExist }, "", "rpm -qf FILE shows it"},
		"fails":  {func(string) (string, error) { return "", errors.New("database is locked") }, "", "database is locked"},
	} {
		got, err := ReadHostFiles(context.Background(), rpmHost{h, c.owner}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Owners["/usr/lib/sysctl.d/50-theirs.conf"] != c.want || got.Owners["/etc/sysctl.d/90-mine.conf"] != "" || (got.NoOwners != "") != (c.says != "") || !strings.Contains(got.NoOwners, c.says) {
			t.Errorf("%s: %v, %q", name, got.Owners, got.NoOwners)
		}
	}
}

// What is asked first about a line must not miss one that the expression takes.
func TestIsCommandMissesNoLine(t *testing.T) {
	match := regexp.MustCompile(commandWords).MatchString
	ask := isCommand(match)
	lines := strings.Split(strings.NewReplacer(`\b`, " ", `\s`, "\t", `(\.exe)?`, ".exe").Replace(strings.TrimPrefix(commandWords, "(?i)")), "|")
	for _, line := range slices.Concat(lines, []string{"reg add", "mount /dev/sda /x", "echo 1 > /proc/sys/x", "skip it", ""}) {
		for _, l := range []string{line, strings.ToUpper(line), "a" + line + "z"} {
			if ask(l) != match(l) {
				t.Errorf("%q: %v, and the expression says %v", l, ask(l), match(l))
			}
		}
	}
	if len(lines) < 20 || !match(lines[0]) || !match(lines[6]) {
		t.Errorf("the lines are not of the expression: %q", lines)
	}
}

// What was read until an interrupt is no report.
func TestInterruptedFilesAreAnError(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	if h, err := ReadHostFiles(ctx, kernel.Live{}, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, %d files", err, len(h.Files))
	}
}
