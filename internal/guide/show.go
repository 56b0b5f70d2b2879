package guide

import "strings"

// ShownBy is the command that shows the setting's value on its operating system; empty if none
// is known. IF, DISK, DATASET and the like are placeholders.
func (s Setting) ShownBy() string {
	best, command := "", ""
	for _, c := range shownBy() {
		if strings.HasPrefix(s.ID, c[0]) && len(c[0]) > len(best) {
			best, command = c[0], c[1]
		}
	}
	native := s.Native()
	last := native[strings.LastIndexByte(native, '.')+1:]
	return strings.NewReplacer("{name}", native, "{last}", last).Replace(command)
}

// shownBy maps prefixes of ids to commands, taken from the commands' manual pages; the longest
// matching prefix counts. {name} is the native name, {last} its last part.
func shownBy() [][2]string {
	return append(shownByLinux(), shownByOthers()...)
}

func shownByLinux() [][2]string {
	return [][2]string{
		{"linux.sysctl.", "sysctl {name}"},
		{"linux.ethtool.features", "ethtool -k IF"},
		{"linux.ethtool.ring", "ethtool -g IF"},
		{"linux.ethtool.coalesce", "ethtool -c IF"},
		{"linux.ethtool.pause", "ethtool -a IF"},
		{"linux.ethtool.channels", "ethtool -l IF"},
		{"linux.ethtool.rss", "ethtool -x IF"},
		{"linux.ethtool.fec", "ethtool --show-fec IF"},
		{"linux.link.", "ip -d link show IF"},
		{"linux.bond.", "cat /proc/net/bonding/BOND"},
		{"linux.tc.", "tc -s qdisc show dev IF"},
		{"linux.route.", "ip route show"},
		{"linux.irq.", "cat /proc/irq/NUMBER/effective_affinity_list"},
		{"linux.service.irqbalance", "systemctl is-active irqbalance"},
		{"linux.queue.", "cat /sys/class/net/IF/queues/rx-*/rps_cpus"},
		{"linux.process.numa", "numastat -p PROCESS"},
		{"linux.pcie.", "lspci -s ADDRESS -vv"},
		{"linux.boot.", "cat /proc/cmdline"},
		{"linux.cpu.governor", "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"},
		{"linux.cpu.energy_performance_preference", "cat /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"},
		{"linux.cpu.cstates", "cpupower idle-info"},
		{"linux.cpu.smt", "cat /sys/devices/system/cpu/smt/control"},
		{"linux.mount.nfs.", "nfsstat -m"},
		{"linux.mount.cifs.", "cat /proc/fs/cifs/DebugData"},
		{"linux.bdi.", "cat /sys/class/bdi/$(mountpoint -d MOUNT)/read_ahead_kb"},
		{"linux.nfsd.", "cat /proc/fs/nfsd/{last}"},
		{"linux.exports.", "exportfs -v"},
		{"linux.samba.", "testparm -sv"},
		{"linux.samba.signing", "smbstatus"},
		{"linux.iscsi.", "iscsiadm -m session -P 2"},
		{"linux.iscsi.timeouts", "iscsiadm -m node"},
		{"linux.iscsi.queue_depth", "cat /sys/block/DISK/device/queue_depth"},
		{"linux.block.", "cat /sys/block/DISK/queue/{last}"},
		{"linux.nvme.", "nvme list-subsys"},
		{"linux.module.nfs.", "cat /sys/module/nfs/parameters/{last}"},
		{"linux.zfsmodule.", "cat /sys/module/zfs/parameters/{last}"},
		{"any.zfs.", "zfs get {last} DATASET"},
		{"any.zfs.slog", "zpool status"},
		{"any.zfs.layout", "zpool status"},
	}
}

func shownByOthers() [][2]string {
	const keyword = "Get-NetAdapterAdvancedProperty -Name IF -RegistryKeyword "
	return [][2]string{
		{"windows.adapter.", "Get-NetAdapterAdvancedProperty -Name IF"},
		{"windows.adapter.jumbo", keyword + `"*JumboPacket"`},
		{"windows.adapter.rss", "Get-NetAdapterRss -Name IF"},
		{"windows.adapter.rsc", "Get-NetAdapterRsc -Name IF"},
		{"windows.tcp.", "Get-NetTCPSetting"},
		{"windows.tcp.chimney", "netsh int tcp show global"},
		{"windows.registry.", `reg query HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces /s /v {last}`},
		{"windows.smb.", "Get-SmbClientConfiguration; Get-SmbServerConfiguration"},
		{"windows.smb.multichannel", "Get-SmbMultichannelConnection"},
		{"windows.power.", "powercfg /getactivescheme"},
		{"windows.mpio.", "mpclaim -s -d"},
		{"windows.binding.", "Get-NetAdapterBinding -Name IF"},
		{"windows.disk.timeout", `reg query HKLM\SYSTEM\CurrentControlSet\Services\Disk /v TimeOutValue`},
		{"macos.sysctl.", "sysctl {name}"},
		{"macos.link.mtu", "networksetup -getMTU IF"},
		{"macos.mount.nfs", "nfsstat -m"},
		{"macos.file.nsmb_conf", "smbutil statshares -a"},
		{"macos.port.thunderbolt", "system_profiler SPThunderboltDataType"},
		{"freebsd.sysctl.", "sysctl {name}"},
		{"freebsd.ifconfig.", "ifconfig IF"},
		{"freebsd.nfsd.threads", "sysctl vfs.nfsd.maxthreads"},
		{"illumos.ipadm.tcp.", "ipadm show-prop -p {last} tcp"},
		{"illumos.system.", `echo "{last}/D" | mdb -k`},
		{"illumos.sharectl.nfs.", "sharectl get -p {last} nfs"},
		{"illumos.dladm.", "dladm show-linkprop -p {last} LINK"},
		{"illumos.stmf.", "stmfadm list-lu -v"},
		{"onefs.sysctl.", "isi_for_array sysctl {name}"},
		{"onefs.file.", "isi get PATH"},
		{"onefs.network.mtu", "isi network subnets view SUBNET"},
		{"onefs.network.aggregation", "isi network pools view POOL"},
	}
}
