package guide_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/facts"
	"linerate/internal/guide"
	"linerate/internal/kernel"
)

// allKinds has a line for every file that the audit reads and every command
// that it knows, each among lines that must not matter.
func allKinds() map[string]string {
	return map[string]string{
		"/etc/sysctl.conf":       "# comment\n## MLXNET tuning parameters ##\nnet.ipv4.tcp_sack = 0\n## END MLXNET ##\nnet/core/rmem_max=1\n-net.ipv4.tcp_low_latency=1\n",
		"/etc/sysctl.d/90.conf":  "; c\nnet.ipv4.tcp_sack=1\n",
		"/etc/modprobe.d/a.conf": "alias a b\noptions zfs zfs_arc_max=1 \\\n zfs_txg_timeout=30\noptions mlx4_en inline_thold=0\n",
		"/etc/rc.local": "#!/bin/sh\nif true; then sysctl -q -w net.core.wmem_max=9; fi\nfalse && \\\n ethtool -K eth0 gro off\nifconfig eth0 mtu 9000\n" +
			"ip link set dev eth0 txqueuelen 10000\nip l set eth1 mtu 9000\nsetpci -s 1:0.0 68.w=5936\nnumactl --physcpubind=1 iperf3\ncpupower frequency-set -g performance\n" +
			"systemctl stop irqbalance\nmodprobe zfs zfs_arc_max=2\ntc qdisc replace dev eth0 root fq maxrate 9gbit\necho 20 > /proc/irq/73/smp_affinity\n" +
			"echo none | tee /sys/block/sda/queue/scheduler\nset_irq_affinity_bynode.sh 1 eth0\nzfs set sync=disabled tank\nisi_sysctl_cluster efs.bam.x=1\nipadm set-prop -p max_buf=1 tcp\n" +
			"sharectl set -p servers=1 nfs\ndladm set-linkprop -p mtu=9000 net0\nstmfadm modify-lu -p wcd=false 600\nnetsh int tcp set global chimney=enabled\n",
		"/etc/udev/rules.d/1.rules":                             "KERNEL==\"sda\", ATTR{queue/scheduler}=\"none\", \\\n RUN+=\"/sbin/ethtool -K eth0 tso off\"\nENV{X}=\"1\"\n",
		"/etc/systemd/network/1.link":                           "[Match]\nOriginalName=eth0\n[Link]\nMTUBytes=9000\nRxBufferSize=4096\n",
		"/etc/systemd/network/1.network":                        "[Match]\nName=eth1\n[Network]\nAddress=10.0.0.1/24\n[Link]\nMTUBytes=9000\n",
		"/etc/NetworkManager/system-connections/b.nmconnection": "[connection]\nid=b\ninterface-name=eth1\n[ethernet]\nmac-address=1\nmtu=9000\n[ethtool]\nfeature-gro=false\nring-rx=8192\n[ipv4]\naddress1=10.0.0.1/24\n",
		"/etc/NetworkManager/dispatcher.d/20-tune":              "#!/bin/sh\n[ \"$2\" = up ] && ethtool -G eth1 tx 4096\n",
		"/etc/netplan/1.yaml":                                   "network:\n  version: 2\n  ethernets:\n    eth2:\n      addresses: [10.0.0.1/24]\n      mtu: 9000\n      generic-receive-offload: false\n",
		"/etc/network/interfaces":                               "auto eth3\niface eth3 inet static\n  address 10.0.0.1\n  mtu 9000\n  up ethtool -A $IFACE rx off\n  wpa-psk x\n",
		"/etc/sysconfig/network-scripts/ifcfg-eth4":             "IPADDR=10.0.0.1\nMTU=9000\nETHTOOL_OPTS=\"-G ${DEVICE} rx 1\"\n",
		"/etc/sysconfig/network/ifcfg-eth5":                     "ETHTOOL_OPTIONS='-K iface lro on'\n",
		"/etc/systemd/system/tune.service":                      "[Unit]\nDescription=sysctl\n[Service]\nEnvironment=X=1\nExecStart=/bin/sh -c 'sysctl -w net.core.optmem_max=1'\n",
		"/etc/tuned/active_profile":                             "mine\n",
		"/etc/tuned/profiles/mine/tuned.conf":                   "[main]\nsummary=x\ninclude=base\n[sysctl]\nvm.dirty_ratio = 40\n[cpu]\ngovernor=performance\n[script]\nscript=x\n[net]\ncoalesce=rx 10\n",
		"/usr/lib/tuned/profiles/base/tuned.conf":               "[sysctl]\nnet.core.somaxconn=>2048\n",
		"/etc/fstab":                  "UUID=1 / ext4 defaults 0 1\nnas:/x /mnt/x nfs hard,rsize=32768,nconnect=4,udp 0 0\n//n/s /s cifs username=a,password=b,multichannel,max_channels=4\n",
		"/etc/exports":                "/srv/ram *(rw)\n/srv/b host1(rw,async) \\\n host2(ro)\n",
		"/etc/samba/smb.conf":         "[global]\n workgroup = X\n socket options = SO_RCVBUF=1\n server multi channel support = no\n aio read size = 0\n use sendfile = yes\n server signing = required\n[s]\n path = /s\n",
		"/etc/nfs.conf":               "[nfsd]\nthreads=64\nhost=x\n",
		"/proc/cmdline":               "root=UUID=1 quiet mem=4G intel_iommu=off sysctl.net.ipv4.tcp_timestamps=0 mlx4_core.log_num_mgm_entry_size=-1 intel_idle.max_cstate=0\n",
		"/sbin/sysctl_perf_tuning":    "case $1 in\n\tstart)\n\t/sbin/sysctl -q -w net.ipv4.tcp_timestamps=0\n",
		"/etc/infiniband/openib.conf": "ONBOOT=yes\nRUN_SYSCTL=yes\n",
		"/Windows/System32/GroupPolicy/Machine/Scripts/Startup/tune.cmd": "rem x\r\nreg add HKLM\\A\\B /v TcpAckFrequency /t REG_DWORD /d 1\r\nSet-NetAdapterAdvancedProperty -Name S -RegistryKeyword *JumboPacket -RegistryValue 9014\r\n",
	}
}

// What is left out before the lines leave a host changes no judgement.
func TestLinesLeftOutChangeNothing(t *testing.T) {
	root := t.TempDir()
	files := allKinds()
	files["/proc/sys/kernel/osrelease"] = "6.18.44\n"
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	roots := []string{root}
	papers, err := filepath.Glob("../../testdata/hosts/papers-*")
	if err != nil || len(papers) != 5 {
		t.Fatalf("%v, %v", papers, err)
	}
	for _, dir := range append(roots, papers...) {
		kept, err := facts.ReadInherited(kernel.Root(dir), guide.Sysctls(), guide.Parameters())
		if err != nil {
			t.Fatal(err)
		}
		whole := kept
		whole.Files = map[string]string{}
		for name := range kept.Files {
			b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			whole.Files[name] = string(b)
		}
		want, got := guide.Audit(whole), guide.Audit(kept)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -whole files +kept lines:\n%s", dir, d)
		}
		if dir == root {
			seen := map[string]bool{}
			for _, it := range got.Items {
				seen[fileOf(it.SetBy)] = true
			}
			for name := range allKinds() {
				if !seen[name] && name != "/etc/tuned/active_profile" && name != "/etc/infiniband/openib.conf" {
					t.Errorf("nothing was found in %s", name)
				}
			}
		}
	}
}

// fileOf is the file of "FILE:LINE, …".
func fileOf(setBy string) string {
	for i, r := range setBy {
		if r == ':' {
			return setBy[:i]
		}
	}
	return setBy
}
