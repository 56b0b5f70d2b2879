package rules

import (
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func linkCases() []sick {
	feature := func(name string, on bool) func(*model.Facts) {
		return nicWas(func(n *model.NIC) { n.Features.Value[name] = on })
	}
	return []sick{
		{"port-downshifted", Medium, true, nicWas(func(n *model.NIC) { n.Speed = model.Known(unit.Gbit) }), nicWas(func(n *model.NIC) { n.Modes.Value.Peer = unit.Gbit })},
		{"port-slower-than-it-can", Info, true, nicWas(func(n *model.NIC) { n.Speed, n.Modes.Value.Peer = model.Known(unit.Gbit), unit.Gbit }), nicWas(func(n *model.NIC) { n.Modes.Value.Supported = unit.Gbit })},
		{"pause-received", Medium, false, count("rx_pause_frames", 1e5), count("rx_pause_frames", 1e5-1)},
		{"pause-sent", Medium, false, count("tx_pause_frames", 1e5), count("tx_pause_frames", 1e5-1)},
		{"crc-errors", Medium, false, count("rx_crc_errors", 1000), count("rx_crc_errors", 999)},
		{"crc-errors", High, false, count("rx_crc_errors", 200000), count("rx_crc_errors", 9)},
		{"fec-uncorrectable", Medium, false, count("fec_uncorrectable", 1000), count("fec_uncorrectable", 999)},
		{"fec-off-with-errors", Medium, false, both(count("rx_crc_errors", 10), nicWas(func(n *model.NIC) { n.FEC = model.Known("Off") })), count("rx_crc_errors", 9)},
		{"ring-overrun", Medium, false, count("rx_missed_errors", 10000), count("rx_missed_errors", 9999)},
		{"link-flaps", Medium, false, count("carrier_changes", 40), count("carrier_changes", 39)},
		{"mtu-below-ethernet", Info, true, nicWas(func(n *model.NIC) { n.MTU = 1400 }), nicWas(func(n *model.NIC) { n.MTU = 1500 })},
		{"mtu-differs-in-subnet", Medium, false, both(sharedNet, nicWas(func(n *model.NIC) { n.MTU = 9000 })), nicWas(func(n *model.NIC) { n.MTU = 1500 })},
		{"bridge-port-mtu", Medium, false, func(f *model.Facts) {
			f.NICs = append(f.NICs, model.NIC{Name: "br0", Kind: "bridge", Up: true, MTU: 9000})
			p0(f).Master = "br0"
		}, nicWas(func(n *model.NIC) { n.MTU = 9000 })},
		{"route-mtu-below-link", Low, false, func(f *model.Facts) { f.Routes[0].MTU = 1400 }, func(f *model.Facts) { f.Routes[0].MTU = 1500 }},
		{"route-window-limited", High, true, func(f *model.Facts) { f.Routes[0].Window = 65536 }, func(f *model.Facts) { f.Routes[0].Window = 0 }},
		{"default-route-on-jumbo", Low, false, func(f *model.Facts) { f.NICs[1].MTU = 9000 }, func(f *model.Facts) { f.NICs[0].MTU = 9000 }},
		{"same-subnet-arp-flux", Medium, false, sharedNet, func(f *model.Facts) { f.NICs[0].ARPIgnore, f.NICs[1].ARPIgnore = model.Known(1), model.Known(1) }},
		{"strict-reverse-path", Medium, false, both(sharedNet, func(f *model.Facts) {
			f.NICs[1].RPFilter = model.Known(1)
			f.Routes = append(f.Routes, model.Route{Dst: netip.MustParsePrefix("10.0.0.0/24"), Dev: "p0"})
		}), func(f *model.Facts) { f.Routes[1].Dev = "p1" }},
		{"strict-reverse-path", High, false, both(around, func(f *model.Facts) { f.NICs[0].RPFilter = model.Known(1) }), func(f *model.Facts) { f.NICs[0].RPFilter = model.Known(2) }},
		{"route-detour", Low, false, around, func(f *model.Facts) { f.Routes[len(f.Routes)-1].Dev = "p0" }},
		{"route-detour", Medium, true, both(around, func(f *model.Facts) { f.NICs[1].Speed = model.Known(unit.Gbit) }), func(f *model.Facts) { f.NICs[1].Up = false }},
		{"pcie-payload-small", Medium, true, nicWas(func(n *model.NIC) {
			n.Speed, n.Payload = model.Known(56*unit.Gbit), model.Known(model.PCIPayload{Payload: 128, PayloadMax: 256, ReadRequest: 512})
		}), nicWas(func(n *model.NIC) { n.Payload.Value.Payload = 256 })},
		{"checksum-offload-off", Low, false, feature("rx-checksum", false), feature("rx-checksum", true)},
		{"checksum-offload-off", Medium, false, feature("tx-checksum-ip-generic", false), feature("tx-checksum-ipv4", true)},
		{"scatter-gather-off", Medium, false, feature("tx-scatter-gather", false), feature("tx-scatter-gather", true)},
		{"single-queue", Medium, false, nicWas(func(n *model.NIC) { n.Channels.Value.Combined = 1 }), nicWas(func(n *model.NIC) { n.Channels.Value.CombinedMax = 1 })},
		{"interrupt-per-packet", Low, false, nicWas(func(n *model.NIC) { n.Coalesce.Value = model.Coalesce{} }), nicWas(func(n *model.NIC) { n.Coalesce.Value.RxUsecs = 8 })},
		{"interrupt-delay-long", Low, false, nicWas(func(n *model.NIC) { n.Coalesce.Value = model.Coalesce{RxUsecs: 200} }), nicWas(func(n *model.NIC) { n.Coalesce.Value.RxUsecs = 199 })},
		{"irq-off-node", Medium, false, nicWas(func(n *model.NIC) { n.LocalCPUs = model.Known([]int{4, 5, 6, 7}) }), nicWas(func(n *model.NIC) { n.IRQs.Value[0].CPUs = []int{4} })},
		{"irqs-on-one-core", Medium, false, nicWas(func(n *model.NIC) { n.IRQs.Value[1].CPUs = []int{0} }), nicWas(func(n *model.NIC) { n.IRQs.Value[1].Count = 999 })},
		{"irqs-on-one-core", Low, false, nicWas(func(n *model.NIC) {
			n.IRQs = model.Known([]model.IRQ{{Number: 40, CPUs: []int{0}, Allowed: []int{0}}, {Number: 41, CPUs: []int{0}, Allowed: []int{0}}, {Number: 42, CPUs: []int{0}, Allowed: []int{0}}})
		}), nicWas(func(n *model.NIC) { n.IRQs.Value[2].Allowed = []int{0, 1} })},
		{"tx-queue-short", Low, false, nicWas(func(n *model.NIC) { n.TxQueueLen, n.Qdisc = model.Known(99), "pfifo_fast" }), nicWas(func(n *model.NIC) { n.TxQueueLen = model.Known(100) })},
		{"qdisc-drops", Low, false, count("qdisc_drops", 100000), count("qdisc_drops", 99999)},
		{"qdisc-shapes", Medium, false, nicWas(func(n *model.NIC) { n.Qdisc = "tbf" }), nicWas(func(n *model.NIC) { n.Qdisc = "fq" })},
		{"thunderbolt-below-port", High, true, func(f *model.Facts) {
			f.Thunderbolt = []model.ThunderboltDevice{{Name: "0-1", Rate: 20 * unit.Gbit}, {Name: "0-3", Rate: 10 * unit.Gbit}}
			slotsUp(2.5, 4)(f)
			f.NICs[0].Upstream.Value[0].Tunnel = true
		}, func(f *model.Facts) { f.Thunderbolt[0].Rate = 40 * unit.Gbit }},
		{"pcie-upstream-below-port", High, true, slotsUp(8, 1), slotsUp(8, 4)},
		{"pcie-both-ports", Low, true, func(f *model.Facts) {
			for i := range f.NICs {
				f.NICs[i].PCI.Value.Lanes, f.NICs[i].PCI.Value.MaxLanes = 4, 4
			}
		}, func(f *model.Facts) { f.NICs[1].Up = false }},
		{"pcie-errors", Low, false, nicWas(func(n *model.NIC) { n.PCIErrors = model.Known(int64(1000)) }), nicWas(func(n *model.NIC) { n.PCIErrors = model.Known(int64(999)) })},
		{"bond-port-down", Medium, true, bond(func(b *model.Bond) { b.Ports[0].Up = false }), bondBack(func(b *model.Bond) { b.Ports[0].Up = true })},
		{"lacp-split", High, true, bond(func(b *model.Bond) { b.Ports[0].Aggregator = "2" }), bondBack(func(b *model.Bond) { b.Mode = "load balancing (xor)" })},
		{"lacp-no-partner", High, true, bond(func(b *model.Bond) { b.Partner = "00:00:00:00:00:00" }), bondBack(func(b *model.Bond) { b.Partner = "" })},
		{"bond-hash-layer-two", Medium, false, bond(func(b *model.Bond) { b.Hash = "layer2" }), bondBack(func(b *model.Bond) { b.Hash = "layer2+3" })},
		{"bond-round-robin", Low, false, bond(func(b *model.Bond) { b.Mode = "load balancing (round-robin)" }), bondBack(func(b *model.Bond) { b.Ports[0].Up = false })},
		{"bond-speeds-differ", Medium, false, bond(func(b *model.Bond) { b.Ports[0].Speed = 10 * unit.Gbit }), bondBack(func(b *model.Bond) { b.Mode = "fault-tolerance (active-backup)" })},
		{"bond-unmonitored", Low, false, bond(func(b *model.Bond) { b.MIIms = 0 }), bondBack(func(b *model.Bond) { b.ARPms = 100 })},
		{"bond-port-flaps", Medium, false, bond(func(b *model.Bond) { b.Ports[1].Failures = 20 }), bondBack(func(b *model.Bond) { b.Ports[1].Failures = 19 })},
	}
}

func hostCases() []sick {
	soft := func(change func(s []model.Softnet)) func(*model.Facts) {
		return func(f *model.Facts) { change(f.CPU.Softnet.Value) }
	}
	run := func(names ...string) func(*model.Facts) {
		return func(f *model.Facts) { f.Services = model.Known(names) }
	}
	fast := nicWas(func(n *model.NIC) {
		n.Speed, n.PCI, n.Upstream = model.Known(40*unit.Gbit), model.Fact[model.PCISlot]{}, model.Fact[[]model.PCISlot]{}
	})
	track := func(c model.Conntrack) func(*model.Facts) {
		return func(f *model.Facts) { f.Conntrack = model.Known(c) }
	}
	return []sick{
		{"irqbalance-moves-irqs", Info, false, both(fast, run("irqbalance")), run()},
		{"one-softirq-core", Info, false, soft(func(s []model.Softnet) { s[1].Processed = 5e5 }), soft(func(s []model.Softnet) { s[1].Processed = 6e5 })},
		{"backlog-drops", Low, false, soft(func(s []model.Softnet) { s[0].Dropped = 101 }), soft(func(s []model.Softnet) { s[0].Dropped = 99 })},
		{"softirq-budget", Low, false, soft(func(s []model.Softnet) { s[0].Squeezed = 10000 }), soft(func(s []model.Softnet) { s[0].Squeezed = 9999 })},
		{"aspm-powersave", Low, false, put("module.pcie_aspm.policy", "default performance [powersave] powersupersave"), put("module.pcie_aspm.policy", "default [performance] powersave powersupersave")},
		{"governor-powersave", Medium, false, cpu(func(c *model.CPUInfo) { c.Governors = model.Known([]string{"powersave"}) }), cpu(func(c *model.CPUInfo) { c.Driver = model.Known("intel_pstate") })},
		{"governor-lags", Info, false, cpu(func(c *model.CPUInfo) { c.Governors = model.Known([]string{"ondemand"}) }), cpu(func(c *model.CPUInfo) { c.Governors = model.Known([]string{"schedutil"}) })},
		{"energy-preference-power", Low, false, cpu(func(c *model.CPUInfo) { c.Preference = model.Known("power") }), cpu(func(c *model.CPUInfo) { c.Preference = model.Known("balance_power") })},
		{"cpu-frequency-capped", Low, false, cpu(func(c *model.CPUInfo) { c.CapKHz = model.Known(int64(2.3e6)) }), cpu(func(c *model.CPUInfo) { c.CapKHz = model.Known(int64(2.4e6)) })},
		{"turbo-off", Info, false, cpu(func(c *model.CPUInfo) { c.NoTurbo = model.Known(true) }), cpu(func(c *model.CPUInfo) { c.NoTurbo = model.Known(false) })},
		{"deep-idle-states", Info, false, cpu(func(c *model.CPUInfo) { c.IdleExit = model.Known(100 * time.Microsecond) }), cpu(func(c *model.CPUInfo) { c.IdleExit = model.Known(99 * time.Microsecond) })},
		{"slow-clock", Medium, false, cpu(func(c *model.CPUInfo) { c.Clocksource = model.Known("hpet") }), cpu(func(c *model.CPUInfo) { c.Clocksource = model.Known("kvm-clock") })},
		{"numa-balancing", Info, false, fast, put("sysctl.kernel.numa_balancing", "0")},
		{"fixed-socket-buffer", Medium, false, both(rtt(time.Millisecond), foreign("illumos.ipadm.tcp.send_buf", "49152")), foreign("illumos.ipadm.tcp.send_buf", "134217728")},
		{"buffer-ceiling", Medium, false, both(rtt(10*time.Millisecond), foreign("freebsd.sysctl.net.inet.tcp.recvbuf_max", "2097152")), foreign("freebsd.sysctl.net.inet.tcp.recvbuf_max", "134217728")},
		{"guide-disagrees", Info, false, foreign("freebsd.boot.net.inet.tcp.recvbuf_inc", "65536"), foreign("freebsd.boot.net.inet.tcp.recvbuf_inc", "")},
		{"guide-disagrees", Info, false, foreign("macos.boot.net.inet.tcp.rfc1323", "1"), foreign("macos.boot.net.inet.tcp.rfc1323", "")},
		{"guide-disagrees", Medium, false, foreign("any.zfs.sync", "disabled"), foreign("any.zfs.sync", "standard")},
		{"guide-disagrees", Info, false, foreign("illumos.system.nfs.nfs3_nra", "16"), foreign("illumos.system.nfs.nfs3_nra", "")},
		{"guide-disagrees", Low, false, foreign("any.zfs.primarycache", "metadata"), foreign("any.zfs.primarycache", "all")},
		{"guide-disagrees", Info, false, foreign("macos.file.sysctl_conf", "net.inet.tcp.sendspace"), foreign("macos.file.sysctl_conf", "")},
		{"guide-disagrees", Medium, false, foreign("onefs.file.protection@/ifs", "+1"), foreign("onefs.file.protection@/ifs", "+2:1")},
		{"guide-disagrees", Medium, false, foreign("windows.tcp.autotuning@Internet", "restricted"), foreign("windows.tcp.autotuning@Internet", "normal")},
		{"guide-disagrees", Medium, false, foreign("windows.adapter.rss@SAN1", "disabled"), foreign("windows.adapter.rss@SAN1", "enabled")},
		{"zone-reclaim", Medium, false, put("sysctl.vm.zone_reclaim_mode", "1"), cpu(func(c *model.CPUInfo) { c.Nodes.Value = c.Nodes.Value[:1] })},
		{"congestion-control-yields", Medium, false, put("sysctl.net.ipv4.tcp_congestion_control", "lp"), put("sysctl.net.ipv4.tcp_congestion_control", "bbr")},
		{"congestion-control-reno", Medium, false, both(rtt(time.Millisecond), put("sysctl.net.ipv4.tcp_congestion_control", "reno")), rtt(100 * time.Microsecond)},
		{"bbr-without-fq", Medium, false, func(f *model.Facts) {
			f.Kernel, p0(f).Qdisc = "4.12.14-122", "pfifo_fast"
			put("sysctl.net.ipv4.tcp_congestion_control", "bbr")(f)
		}, func(f *model.Facts) { f.Kernel = "4.13.0" }},
		{"slow-start-after-idle", Info, false, rtt(10 * time.Millisecond), rtt(9 * time.Millisecond)},
		{"mtu-probing-off", Info, false, nicWas(func(n *model.NIC) { n.MTU = 9000 }), put("sysctl.net.ipv4.tcp_mtu_probing", "1")},
		{"small-queue-limit", Info, false, put("sysctl.net.ipv4.tcp_limit_output_bytes", "131071"), put("sysctl.net.ipv4.tcp_limit_output_bytes", "131072")},
		{"notsent-lowat-small", Info, false, put("sysctl.net.ipv4.tcp_notsent_lowat", "16384"), put("sysctl.net.ipv4.tcp_notsent_lowat", "4294967295")},
		{"dirty-limit-small", Low, false, put("sysctl.vm.dirty_bytes", "67108863"), put("sysctl.vm.dirty_bytes", "67108864")},
		{"dirty-limit-small", Low, false, both(put("sysctl.vm.dirty_bytes", "0"), both(put("sysctl.vm.dirty_ratio", "1"), func(f *model.Facts) { f.Memory = model.Known(unit.Bytes(4 << 30)) })), put("sysctl.vm.dirty_ratio", "5")},
		{"dirty-limit-small", Medium, true, both(put("sysctl.vm.dirty_bytes", "4194304"), rtt(2*time.Millisecond)), put("sysctl.vm.dirty_bytes", "junk")},
		{"known-bad-version", Low, false, zfsWas(func(z *model.ZFS) { z.Version = "2.1.13-1" }), zfsWas(func(z *model.ZFS) { z.Version = "2.1.14-1" })},
		{"known-bad-version", Low, false, zfsWas(func(z *model.ZFS) { z.Version = "2.2.1" }), zfsWas(func(z *model.ZFS) { z.Version = "2.2" })},
		{"known-bad-version", Low, false, nicWas(func(n *model.NIC) {
			n.Speed, n.PCIID = model.Known(2500*unit.Mbit), model.Known(model.PCIID{Vendor: 0x8086, Device: 0x15f3, Revision: 2})
		}), nicWas(func(n *model.NIC) { n.PCIID.Value.Revision = 3 })},
		{"tcp-memory-pressure", Medium, false, netCount("TcpExt.TCPMemoryPressures", 1), netCount("TcpExt.TCPMemoryPressures", 0)},
		{"receive-queue-pruned", Low, false, netCount("TcpExt.RcvPruned", 10000), netCount("TcpExt.RcvPruned", 9999)},
		{"reverse-path-drops", Low, false, netCount("TcpExt.IPReversePathFilter", 100000), netCount("TcpExt.IPReversePathFilter", 99999)},
		{"tcp-retransmissions", Low, false, netCount("Tcp.RetransSegs", 1e6), netCount("Tcp.RetransSegs", 1e6-1)},
		{"tcp-retransmissions", Medium, false, netCount("Tcp.RetransSegs", 1e7), netCount("Tcp.OutSegs", 9e5)},
		{"fragments-lost", Low, false, netCount("Ip.ReasmFails", 1000), netCount("Ip.ReasmFails", 999)},
		{"tcp-checksum-errors", Low, false, netCount("Tcp.InCsumErrors", 1000), netCount("Tcp.InCsumErrors", 999)},
		{"firewall-rules-many", Low, false, chain(model.FirewallChain{Family: "inet", Hook: "input", Rules: 100}), chain(model.FirewallChain{Family: "inet", Hook: "input", Rules: 99})},
		{"firewall-rules-many", Low, false, func(f *model.Facts) {
			f.Firewall = model.Known([]model.FirewallChain{{Family: "ip", Table: "raw", Rules: 60}, {Family: "inet", Hook: "output", Rules: 40}})
		}, func(f *model.Facts) { f.Firewall.Value[1].Hook = "forward" }},
		{"firewall-rules-many", Low, false, chain(model.FirewallChain{Family: "inet", Hook: "input", Rules: 500}), func(f *model.Facts) { f.Firewall.Value[0].Before = new(int) }},
		{"firewall-queues-packets", Info, false, chain(model.FirewallChain{Family: "ip", Hook: "input", Queues: true}), chain(model.FirewallChain{Family: "ip", Hook: "forward", Queues: true})},
		{"conntrack-full", Medium, false, track(model.Conntrack{Count: 95, Max: 100}), track(model.Conntrack{Count: 79, Max: 100})},
		{"conntrack-drops", Medium, false, track(model.Conntrack{Max: 100, Drops: 100}), track(model.Conntrack{Max: 100, Drops: 99})},
		{"conntrack-in-path", Info, false, track(model.Conntrack{Max: 100, Count: 1}), track(model.Conntrack{Max: 100})},
		{"unneeded-services", Info, false, run("cupsd"), run("tuned")},
		{"nfsd-threads-few", Low, false, func(f *model.Facts) { f.NFSD.Value.Threads = 8 }, func(f *model.Facts) { f.NFSD.Value.Threads = 9 }},
		{"nfsd-udp", Low, false, func(f *model.Facts) { f.NFSD.Value.UDP = 100000 }, func(f *model.Facts) { f.NFSD.Value.UDP = 9999 }},
	}
}

func storageCases() []sick {
	nfs := func(change func(m *model.NetMount)) func(*model.Facts) {
		return func(f *model.Facts) { change(&f.Storage[0]) }
	}
	smb := func(change func(m *model.NetMount)) func(*model.Facts) {
		return func(f *model.Facts) { change(&f.Storage[1]) }
	}
	fast := nicWas(func(n *model.NIC) { n.Speed = model.Known(40 * unit.Gbit) })
	return []sick{
		{"nfs-over-udp", Medium, false, nfs(func(m *model.NetMount) { m.Proto = "udp" }), nfs(func(m *model.NetMount) { m.Proto = "tcp" })},
		{"nfs-transfer-small", Low, false, option(0, "rsize", "131072"), option(0, "rsize", "262144")},
		{"nfs-transfer-small", Medium, false, option(0, "wsize", "32768"), option(0, "wsize", "junk")},
		{"nconnect-not-in-effect", Medium, false, nfs(func(m *model.NetMount) { m.Conns = model.Known(1) }), nfs(func(m *model.NetMount) { m.Conns = model.Known(0) })},
		{"nconnect-not-in-effect", Medium, false, both(without(0, "nconnect"), nfs(func(m *model.NetMount) { m.Asked = model.Known(8) })), nfs(func(m *model.NetMount) { m.Conns = model.Known(8) })},
		{"nfs-one-connection", Low, false, both(fast, both(without(0, "nconnect"), nfs(func(m *model.NetMount) { m.Conns = model.Known(1) }))), nfs(func(m *model.NetMount) { m.Conns = model.Known(2) })},
		{"nfs-one-connection", Low, true, both(func(f *model.Facts) { bonded(f) }, both(without(0, "nconnect"), nfs(func(m *model.NetMount) { m.Conns = model.Known(1) }))), nfs(func(m *model.NetMount) { m.Conns = model.Known(2) })},
		{"nfs-readahead-small", Medium, true, rtt(2 * time.Millisecond), rtt(167 * time.Microsecond)},
		{"nfs-readahead-small", Low, false, rtt(170 * time.Microsecond), nfs(func(m *model.NetMount) { m.Ahead = model.Known(unit.Bytes(256 << 10)) })},
		{"nfs-slots", Medium, true, both(option(0, "rsize", "65536", "wsize", "65536"), rtt(2*time.Millisecond)), rtt(time.Millisecond)},
		{"nfs-readahead-blocks", Medium, true, both(runs("freebsd"), both(option(0, "rsize", "65536", "wsize", "65536", "readahead", "1"), rtt(400*time.Microsecond))), rtt(41 * time.Microsecond)},
		{"nfs-soft", Info, false, option(0, "soft", ""), option(0, "ro", "")},
		{"nfs-attributes-uncached", Low, false, both(runs("macos"), option(0, "noac", "")), without(0, "noac")},
		{"nfs-sync", Medium, false, option(0, "sync", ""), without(0, "sync")},
		{"nfs-attributes-uncached", Medium, false, option(0, "noac", ""), without(0, "noac")},
		{"nfs-attributes-uncached", Low, false, option(0, "acregmax", "0"), option(0, "acregmax", "60")},
		{"nfs-encrypted", Info, false, option(0, "sec", "krb5p"), option(0, "sec", "krb5")},
		{"nfs-old-version", Info, false, option(0, "vers", "4.0"), option(0, "vers", "3")},
		{"nfs-old-version", Medium, false, option(0, "vers", "2"), option(0, "vers", "4.1")},
		{"smb-old-dialect", Medium, false, option(1, "vers", "1.0"), option(1, "vers", "2.1")},
		{"smb-old-dialect", Medium, false, option(1, "vers", "2.0"), option(1, "vers", "3.0")},
		{"smb-signed", Info, false, both(option(1, "sec", "ntlmsspi"), func(f *model.Facts) { f.NICs[0].Speed = model.Known(unit.Gbit) }), option(1, "seal", "")},
		{"smb-signed", Low, false, option(1, "sec", "ntlmsspi"), option(1, "sec", "ntlmssp")},
		{"smb-encrypted", Info, false, option(1, "seal", ""), without(1, "seal")},
		{"smb-multichannel-not-in-effect", Medium, false, option(1, "max_channels", "4"), option(1, "max_channels", "2")},
		{"smb-one-channel", Info, false, both(without(1, "multichannel"), smb(func(m *model.NetMount) { m.Conns = model.Known(1) })), option(1, "vers", "2.1")},
		{"smb-cache-none", Medium, false, option(1, "cache", "none"), option(1, "cache", "loose")},
		{"smb-transfer-small", Low, false, option(1, "rsize", "262144"), option(1, "rsize", "524288")},
		{"smb-small-requests-held", Info, false, smb(func(m *model.NetMount) { m.MinRTT = model.Known(5 * time.Millisecond) }), smb(func(m *model.NetMount) { m.MinRTT = model.Known(4 * time.Millisecond) })},
		{"smb-small-requests-held", Info, false, smb(func(m *model.NetMount) { m.MinRTT = model.Known(16 * time.Millisecond) }), option(1, "tcpnodelay", "")},
		{"smb-small-requests-held", Info, false, smb(func(m *model.NetMount) { m.MinRTT = model.Known(16 * time.Millisecond) }), both(smb(func(m *model.NetMount) { m.MinRTT = model.Known(16 * time.Millisecond) }), func(f *model.Facts) { f.Kernel = "5.15.0-100-generic" })},
		{"iscsi-session-down", High, false, iscsiWas(func(s *model.ISCSISession) { s.State = "FAILED" }), iscsiWas(func(s *model.ISCSISession) { s.State = "" })},
		{"iscsi-digests", Info, false, iscsiWas(func(s *model.ISCSISession) { s.Conns[0].DataDigest = model.Known(true) }), iscsiWas(func(s *model.ISCSISession) { s.Conns[0].DataDigest = model.Known(false) })},
		{"iscsi-segment-small", Low, false, iscsiWas(func(s *model.ISCSISession) { s.Conns[0].MaxSend = model.Known(int64(8192)) }), iscsiWas(func(s *model.ISCSISession) { s.Conns[0].MaxSend = model.Known(int64(8193)) })},
		{"iscsi-write-round-trip", Low, false, iscsiWas(func(s *model.ISCSISession) { s.InitialR2T, s.Immediate = model.Known(true), model.Known(false) }), iscsiWas(func(s *model.ISCSISession) { s.Immediate = model.Known(true) })},
		{"iscsi-burst-small", Low, false, iscsiWas(func(s *model.ISCSISession) { s.MaxBurst = model.Known(int64(65535)) }), iscsiWas(func(s *model.ISCSISession) { s.MaxBurst = model.Known(int64(65536)) })},
		{"iscsi-one-port", Low, true, func(f *model.Facts) { f.ISCSI[1].Conns[0].Local = f.ISCSI[0].Conns[0].Local }, func(f *model.Facts) { f.ISCSI[1].Conns[0].Local = netip.Addr{} }},
		{"iscsi-not-multipathed", Medium, false, func(f *model.Facts) {
			f.Disks, f.Services = append(f.Disks, model.Disk{Name: "sdc", Session: "session2"}), model.Known([]string{})
		}, func(f *model.Facts) { f.Disks[1].Holders = []string{"dm-0"} }},
		{"iscsi-queue-short", Medium, true, both(diskWas(func(d *model.Disk) { d.MaxRequest = model.Known(unit.Bytes(64 << 10)) }), iscsiWas(func(s *model.ISCSISession) { s.Conns[0].MinRTT = model.Known(time.Millisecond) })), diskWas(func(d *model.Disk) { d.Depth = model.Known(64) })},
		{"iscsi-queue-short", Medium, true, both(diskWas(func(d *model.Disk) { d.Depth = model.Known(1) }), iscsiWas(func(s *model.ISCSISession) { s.Conns[0].MinRTT = model.Known(time.Millisecond) })), diskWas(func(d *model.Disk) { d.Depth, d.MaxRequest = model.Known(16), model.Known(unit.Bytes(1<<20)) })},
		{"disk-scheduler", Low, false, diskWas(func(d *model.Disk) { d.Scheduler = model.Known("bfq") }), diskWas(func(d *model.Disk) { d.Session = "" })},
		{"disk-readahead-small", Low, false, diskWas(func(d *model.Disk) { d.Ahead = model.Known(unit.Bytes(32 << 10)) }), diskWas(func(d *model.Disk) { d.Ahead = model.Known(unit.Bytes(64 << 10)) })},
		{"disk-queue-short", Low, false, diskWas(func(d *model.Disk) { d.Requests = model.Known(31) }), diskWas(func(d *model.Disk) { d.Depth = model.Known(31) })},
		{"disk-request-small", Low, false, diskWas(func(d *model.Disk) { d.MaxRequest = model.Known(unit.Bytes(64 << 10)) }), diskWas(func(d *model.Disk) { d.HWRequest = model.Known(unit.Bytes(128 << 10)) })},
		{"array-degraded", High, false, func(f *model.Facts) { f.Arrays[0].Degraded = model.Known(1) }, func(f *model.Facts) { f.Arrays[0].Degraded = model.Known(0) }},
		{"array-rebuilding", Medium, false, func(f *model.Facts) { f.Arrays[0].Action = "recover" }, func(f *model.Facts) { f.Arrays[0].Action = "" }},
		{"zfs-pool-state", High, false, zfsWas(func(z *model.ZFS) { z.Pools["tank"] = "DEGRADED" }), zfsWas(func(z *model.ZFS) { z.Pools["tank"] = "ONLINE" })},
		{"zfs-prefetch-off", Medium, false, zfsWas(func(z *model.ZFS) { z.Params["zfs_prefetch_disable"] = "1" }), zfsWas(func(z *model.ZFS) { z.Params["zfs_prefetch_disable"] = "junk" })},
		{"zfs-arc-small", Low, false, zfsWas(func(z *model.ZFS) { z.ARC["c_max"] = 16<<30 - 1 }), zfsWas(func(z *model.ZFS) { z.ARC["c_max"] = 16 << 30 })},
		{"zfs-memory-throttled", Low, false, zfsWas(func(z *model.ZFS) { z.ARC["memory_throttle_count"] = 100 }), zfsWas(func(z *model.ZFS) { z.ARC["memory_throttle_count"] = 99 })},
		{"zfs-cache-index-large", Low, false, zfsWas(func(z *model.ZFS) { z.ARC["l2_hdr_size"] = 4 << 30 }), zfsWas(func(z *model.ZFS) { z.ARC["l2_hdr_size"] = 3 << 30 })},
		{"zfs-sync-always", Low, false, dataset(func(d *model.ZFSDataset) { d.Sync = "always" }), dataset(func(d *model.ZFSDataset) { d.Sync = "standard" })},
		{"zfs-sync-always", Medium, false, both(dataset(func(d *model.ZFSDataset) { d.Sync = "always" }), pool(func(p *model.ZFSPool) { p.Log = false })), dataset(func(d *model.ZFSDataset) { d.Sync = "" })},
		{"zfs-sync-disabled", Info, false, dataset(func(d *model.ZFSDataset) { d.Sync = "disabled" }), dataset(func(d *model.ZFSDataset) { d.Sync = "standard" })},
		{"zfs-no-log-device", Info, false, both(pool(func(p *model.ZFSPool) { p.Log = false }), diskWas(func(d *model.Disk) { d.Rotational = model.Known(true) })), pool(func(p *model.ZFSPool) { p.Log = true })},
		{"zfs-record-small", Low, false, dataset(func(d *model.ZFSDataset) { d.Record = 32 << 10 }), dataset(func(d *model.ZFSDataset) { d.Record = 64 << 10 })},
		{"zfs-record-small", Info, false, dataset(func(d *model.ZFSDataset) { d.Record, d.Shared = 16<<10, false }), dataset(func(d *model.ZFSDataset) { d.Record = 0 })},
		{"zfs-dedup-on", Medium, false, dataset(func(d *model.ZFSDataset) { d.Dedup = "on" }), dataset(func(d *model.ZFSDataset) { d.Dedup = "-" })},
		{"zfs-dedup-on", Low, false, both(dataset(func(d *model.ZFSDataset) { d.Dedup = "sha256" }), pool(func(p *model.ZFSPool) { p.Dedup = model.Known(3.1) })), dataset(func(d *model.ZFSDataset) { d.Dedup = "off" })},
		{"zfs-pool-full", Low, false, pool(func(p *model.ZFSPool) { p.Capacity = model.Known(90) }), pool(func(p *model.ZFSPool) { p.Capacity = model.Known(89) })},
		{"zfs-pool-full", Medium, false, pool(func(p *model.ZFSPool) { p.Capacity = model.Known(96) }), pool(func(p *model.ZFSPool) { p.Capacity = model.Fact[int]{} })},
		{"zfs-data-uncached", Low, false, dataset(func(d *model.ZFSDataset) { d.Cache = "metadata" }), dataset(func(d *model.ZFSDataset) { d.Cache = "" })},
		{"zfs-dirty-limit-small", Info, false, zfsWas(func(z *model.ZFS) { z.Params["zfs_dirty_data_max"] = "1073741824" }), zfsWas(func(z *model.ZFS) { z.Params["zfs_dirty_data_max"] = "junk" })},
		{"switch-mtu-below-port", Medium, false, plugged(func(p *model.SwitchPort) { p.MTU, p.Frame = model.Known(1517), true }), plugged(func(p *model.SwitchPort) { p.MTU, p.Frame = model.Known(1518), true })},
		{"switch-port-discards", Medium, false, plugged(func(p *model.SwitchPort) { p.Rose = model.Known(map[string]int64{"out_discards": 1}) }), plugged(func(p *model.SwitchPort) { p.Rose = model.Known(map[string]int64{"out_packets": 1}) })},
		{"switch-lag-mismatch", Medium, false, plugged(func(p *model.SwitchPort) { p.Group = model.Known("Po1") }), plugged(func(p *model.SwitchPort) { p.Group = model.Known("") })},
	}
}

// plugged puts p0 into a switch port.
func plugged(set func(p *model.SwitchPort)) func(f *model.Facts) {
	return func(f *model.Facts) {
		p := model.SwitchPort{Interface: "p0", Source: "lldp", System: "sw1", Chassis: "02:00:00:00:00:01", Port: "Ethernet1"}
		set(&p)
		f.Switches = []model.SwitchPort{p}
	}
}
