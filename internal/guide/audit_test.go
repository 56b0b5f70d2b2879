package guide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

func linux(files map[string]string) model.HostFiles {
	return model.HostFiles{OS: "linux", Kernel: "6.18.44", Files: files}
}

// said is an audit in one line per item.
func said(b *book, h model.HostFiles) []string {
	var out []string
	for _, it := range b.audit(h).Items {
		force := ""
		if !it.InForce {
			force = " shadowed"
		}
		dev := ""
		if it.Device != "" {
			dev = "@" + it.Device
		}
		out = append(out, fmt.Sprintf("%s %s%s=%s %s%s", it.SetBy, it.Name, dev, it.Value, it.Status, force))
	}
	return out
}

func TestAudit(t *testing.T) {
	b := openBook()
	for name, c := range map[string]struct {
		host model.HostFiles
		want []string
	}{
		"the last file by name wins, whatever its folder": {
			linux(map[string]string{
				"/etc/sysctl.d/10-a.conf":     "net.ipv4.tcp_rmem = 4096 131072 67108864\n",
				"/usr/lib/sysctl.d/90-b.conf": "net.ipv4.tcp_rmem = 4096 87380 4194304\n",
			}),
			[]string{
				"/etc/sysctl.d/10-a.conf:1 net.ipv4.tcp_rmem=4096 131072 67108864 valid shadowed",
				"/usr/lib/sysctl.d/90-b.conf:1 net.ipv4.tcp_rmem=4096 87380 4194304 harmful",
			},
		},
		"a file of /etc hides the same name in /usr": {
			linux(map[string]string{
				"/etc/sysctl.d/90-b.conf":     "",
				"/usr/lib/sysctl.d/90-b.conf": "net.ipv4.tcp_sack = 0\n",
			}),
			nil,
		},
		"sysctl.conf is last, or where a link puts it": {
			model.HostFiles{OS: "linux", Kernel: "6.18", Files: map[string]string{
				"/etc/sysctl.conf":             "net.ipv4.tcp_sack = 0\n",
				"/etc/sysctl.d/50-x.conf":      "net.ipv4.tcp_sack = 1\n",
				"/etc/sysctl.d/99-sysctl.conf": "net.ipv4.tcp_sack = 0\n",
			}, Links: map[string]string{"/etc/sysctl.d/99-sysctl.conf": "/etc/sysctl.conf"}},
			[]string{
				"/etc/sysctl.d/50-x.conf:1 net.ipv4.tcp_sack=1 no-op shadowed",
				"/etc/sysctl.d/99-sysctl.conf:1 → /etc/sysctl.conf net.ipv4.tcp_sack=0 harmful",
			},
		},
		"TuneD comes after /usr and before /etc": {
			linux(map[string]string{
				"/etc/tuned/active_profile":                    "network-throughput\n",
				"/usr/lib/tuned/network-throughput/tuned.conf": "[main]\ninclude=base\n[sysctl]\nnet.ipv4.tcp_rmem=\"4096 131072 16777216\"\n",
				"/usr/lib/tuned/base/tuned.conf":               "[sysctl]\nvm.dirty_ratio = 40\n[cpu]\ngovernor=performance\n",
				"/usr/lib/sysctl.d/99-z.conf":                  "net.ipv4.tcp_rmem = 4096 131072 33554432\n",
				"/etc/sysctl.d/1-a.conf":                       "vm.dirty_ratio = 20\n",
			}),
			[]string{
				"/usr/lib/sysctl.d/99-z.conf:1 net.ipv4.tcp_rmem=4096 131072 33554432 no-op shadowed",
				"/usr/lib/tuned/base/tuned.conf:2, TuneD profile base vm.dirty_ratio=40 valid shadowed",
				"/usr/lib/tuned/base/tuned.conf:4, TuneD profile base governor=performance valid",
				"/usr/lib/tuned/network-throughput/tuned.conf:4, TuneD profile network-throughput net.ipv4.tcp_rmem=4096 131072 16777216 harmful",
				"/etc/sysctl.d/1-a.conf:1 vm.dirty_ratio=20 valid",
			},
		},
		"a raise with a smaller start is stale": {
			model.HostFiles{OS: "linux", Kernel: "6.1.0", Files: map[string]string{"/etc/sysctl.conf": "net.ipv4.tcp_rmem=4096 87380 16777216\n"}},
			[]string{"/etc/sysctl.conf:1 net.ipv4.tcp_rmem=4096 87380 16777216 stale"},
		},
		"without a release, defaults by release are not compared": {
			model.HostFiles{OS: "linux", Files: map[string]string{"/etc/sysctl.conf": "net.core.rmem_max=212992\nnet.ipv4.tcp_timestamps=0\n"}},
			[]string{"/etc/sysctl.conf:1 net.core.rmem_max=212992 valid", "/etc/sysctl.conf:2 net.ipv4.tcp_timestamps=0 harmful"},
		},
		"names that nobody knows are not judged, those the kernel lacks are": {
			model.HostFiles{OS: "linux", Kernel: "6.18", TCPNames: []string{"tcp_rmem"}, Files: map[string]string{
				"/etc/sysctl.conf": "net.ipv4.tcp_tw_recycle=1\nkernel.pid_max=99999\nnet/ipv4/conf/eth0.7/arp_filter=1\n",
			}},
			[]string{
				"/etc/sysctl.conf:1 net.ipv4.tcp_tw_recycle=1 wrong name",
				"/etc/sysctl.conf:2 kernel.pid_max=99999 not known",
				"/etc/sysctl.conf:3 net.ipv4.conf.eth0/7.arp_filter=1 valid",
			},
		},
		"devices: links, udev, modules, scripts": {
			linux(map[string]string{
				"/etc/systemd/network/10-x.link":                        "[Match]\nOriginalName=eth0\n[Link]\nRxBufferSize=4096\nTCPSegmentationOffload=no\n",
				"/etc/udev/rules.d/9.rules":                             `ACTION=="add", SUBSYSTEM=="net", ATTR{tx_queue_len}="10000", RUN+="/sbin/ethtool -K eth0 gro off"` + "\n",
				"/etc/NetworkManager/system-connections/e.nmconnection": "[connection]\ninterface-name=eth1\n[ethtool]\nfeature-gro=false\nring-rx=4096\n",
				"/etc/modprobe.d/a.conf":                                "options sunrpc tcp_slot_table_entries=16\noptions mlx4_core log_num_mgm_entry_size=-1\n",
				"/etc/rc.local":                                         "sudo /sbin/sysctl -q -w net.ipv4.tcp_sack=0; echo 5000 >/proc/sys/net/core/netdev_max_backlog\nip link set dev eth0 mtu 9000 # jumbo\nsetpci -s 03:00.0 68.w=5936\n",
				"/etc/systemd/system/nic.service":                       "[Service]\nExecStart=/bin/sh -c 'ethtool -A eth0 rx off tx off'\n",
			}),
			[]string{
				"/etc/modprobe.d/a.conf:1 sunrpc tcp_slot_table_entries=16 stale",
				"/etc/modprobe.d/a.conf:2 mlx4_core log_num_mgm_entry_size=-1 not known",
				"/etc/systemd/network/10-x.link:4 ring rx@OriginalName=eth0=4096 valid",
				"/etc/systemd/network/10-x.link:5 tso@OriginalName=eth0=off harmful",
				"/etc/NetworkManager/system-connections/e.nmconnection:4 gro@eth1=off harmful",
				"/etc/NetworkManager/system-connections/e.nmconnection:5 ring rx@eth1=4096 valid",
				"/etc/udev/rules.d/9.rules:1 txqueuelen=10000 stale",
				"/etc/udev/rules.d/9.rules:1 gro@eth0=off harmful",
				"/etc/rc.local:1 net.ipv4.tcp_sack=0 harmful",
				"/etc/rc.local:1 net.core.netdev_max_backlog=5000 valid",
				"/etc/rc.local:2 mtu@eth0=9000 valid",
				"/etc/rc.local:3 setpci 68.w@03:00.0=5936 valid",
				"/etc/systemd/system/nic.service:2 pause rx@eth0=off valid",
				"/etc/systemd/system/nic.service:2 pause tx@eth0=off valid",
			},
		},
		"mounts and servers": {
			linux(map[string]string{
				"/etc/fstab":          "nas:/x /mnt nfs rw,udp,rsize=32768,nconnect=8 0 0\n/dev/sda1 / ext4 rsize=1 0 1\n",
				"/etc/exports":        "/srv 10.0.0.0/8(rw,async) # all\n",
				"/etc/samba/smb.conf": "[global]\n socket options = TCP_NODELAY SO_RCVBUF=65536\n[share]\nuse sendfile = no\n",
			}),
			[]string{
				"/etc/fstab:1 proto@/mnt=udp wrong name",
				"/etc/fstab:1 rsize@/mnt=32768 harmful",
				"/etc/fstab:1 nconnect@/mnt=8 valid",
				"/etc/exports:1 sync@/srv=async harmful",
				"/etc/samba/smb.conf:2 socket options=TCP_NODELAY SO_RCVBUF=65536 harmful",
			},
		},
		"settings of other systems on Linux": {
			linux(map[string]string{"/etc/rc.local": "netsh int tcp set global chimney=enabled\nipadm set-prop -p max_buf=2097152 tcp\nzfs set sync=disabled tank\necho $X > /proc/sys/net/core/rmem_max\n"}),
			[]string{
				"/etc/rc.local:1 chimney=enabled wrong side",
				"/etc/rc.local:2 max_buf=2097152 wrong side",
				"/etc/rc.local:3 sync@tank=disabled harmful",
				"/etc/rc.local:4 net.core.rmem_max=$X not known",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, said(b, c.host)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestRemovalRestoresTheNextLowerValue(t *testing.T) {
	h := linux(map[string]string{
		"/etc/sysctl.d/1.conf": "net.ipv4.tcp_wmem = 4096 16384 8388608\n",
		"/etc/sysctl.d/2.conf": "net.ipv4.tcp_wmem = 4096 16384 67108864\nnet.core.rmem_max = 67108864\n",
	})
	var got []string
	for _, it := range Audit(h).Items {
		got = append(got, it.RemovalRestores)
	}
	want := []string{
		"nothing: /etc/sysctl.d/2.conf:1 sets it to 4096 16384 67108864 afterwards",
		"4096 16384 8388608, from /etc/sysctl.d/1.conf:1",
		"4194304 (the default of 6.18 and later)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestDriverPackageIsNamed(t *testing.T) {
	h := linux(map[string]string{
		"/etc/sysctl.conf":            "## MLXNET tuning parameters ##\nnet.ipv4.tcp_sack = 0\n## END MLXNET ##\nnet.core.rmem_max = 1\n",
		"/sbin/sysctl_perf_tuning":    "\t/sbin/sysctl net.ipv4.tcp_sack >> $orig\n\t/sbin/sysctl -q -w net.ipv4.tcp_timestamps=0\n",
		"/etc/modprobe.d/mlnx.conf":   "options mlx4_en inline_thold=0\n",
		"/etc/infiniband/openib.conf": "ONBOOT=yes\nRUN_SYSCTL=yes\n",
	})
	h.Owners = map[string]string{"/etc/modprobe.d/mlnx.conf": "mlnx-ofed-kernel-utils"}
	got := said(openBook(), h)
	want := []string{
		"/etc/modprobe.d/mlnx.conf:1, package mlnx-ofed-kernel-utils mlx4_en inline_thold=0 not known",
		"/etc/sysctl.conf:2, added by the installation of the Mellanox driver, as the comments around it say net.ipv4.tcp_sack=0 harmful",
		"/etc/sysctl.conf:4 net.core.rmem_max=1 harmful",
		"/sbin/sysctl_perf_tuning:2, executed by the Mellanox driver when it starts net.ipv4.tcp_timestamps=0 harmful",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	h.Files["/etc/infiniband/openib.conf"] = "RUN_SYSCTL=no\n"
	last := Audit(h).Items[3]
	if last.InForce || last.RemovalRestores != "nothing: the line is not executed" {
		t.Errorf("%+v", last)
	}
}

func TestMaskCPUs(t *testing.T) {
	for mask, want := range map[string]string{"20": "5", "3": "0, 1", "00000001,00000000": "32", "0x100000": "20", "zz": "none: it is not a CPU mask"} {
		if got := maskCPUs(mask); got != want {
			t.Errorf("maskCPUs(%q) = %q, want %q", mask, got, want)
		}
	}
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		`echo "4096 87380" > /proc/sys/x # c`: `echo|4096 87380|>|/proc/sys/x`,
		`a && b 'c d'; e|f`:                   `a / b|c d / e / f`,
		`echo 1>>/x`:                          `echo|1|>|/x`,
		`x\ y`:                                `x y`,
		`# all`:                               ``,
	} {
		var parts []string
		for _, words := range commands(line, posix) {
			parts = append(parts, strings.Join(words, "|"))
		}
		if got := strings.Join(parts, " / "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if got := commands(`reg add A\B /v x`, windows); !slices.Contains(got[0], `A\B`) {
		t.Errorf("%v", got)
	}
}
