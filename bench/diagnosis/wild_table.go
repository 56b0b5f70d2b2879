package main

import (
	"fmt"
	"strings"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func only(h ...hook) []hook { return h }

func is(id ...model.LimiterID) []model.LimiterID { return id }

func text(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// losing makes the path lose a share of the segments.
func losing(share float64) hook {
	return link(farLink, 0, func(s *topology.Shape) { s.Loss = share })
}

// bySysctl are settings of a host's TCP. Some cost nothing where the path is well: what
// is blamed then is a false alarm.
func bySysctl() []mechanism {
	at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) mechanism {
		return mechanism{name: name, class: "sysctl", right: right, low: low, high: high, unit: unit, hooks: hooks}
	}
	one := func(host, key string) func(v float64) []hook {
		return func(v float64) []hook { return only(sysctl(host, "net.ipv4."+key, text("%.0f", v))) }
	}
	return []mechanism{
		at("little-below-the-socket", nil, 1000, 8000, "bytes in tcp_limit_output_bytes", one(sender, "tcp_limit_output_bytes")),
		at("window-by-scale-factor", is(model.ReceiverWindow), 1, 8, "less in tcp_adv_win_scale", func(v float64) []hook {
			return only(sysctl(receiver, "net.ipv4.tcp_adv_win_scale", text("-%.0f", v)))
		}),
		at("probing-from-small", is(model.SmallSegments, model.MTUBlackhole), 100, 500, "bytes in tcp_base_mss, tcp_mtu_probing 2", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_mtu_probing", "2"), sysctl(sender, "net.ipv4.tcp_base_mss", text("%.0f", v)), sysctl(sender, "net.ipv4.tcp_mtu_probe_floor", "48"))
		}),
		at("patient-timer", is(model.PathLoss), 500e3, 5e6, "us in tcp_rto_min_us, losses in bursts", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_rto_min_us", text("%.0f", v)), link(farLink, 0, func(s *topology.Shape) { s.Loss, s.LossBurst = 0.002, 40 }))
		}),
		at("impatient-about-order", is(model.Reordering), 2, 20, "% late, tcp_max_reordering 3", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_max_reordering", "3"), sysctl(sender, "net.ipv4.tcp_recovery", "0"),
				link(farLink, 0, func(s *topology.Shape) { s.Reorder, s.ReorderBy = v/100, 8*time.Millisecond }))
		}),
		at("no-duplicate-sack", is(model.Reordering), 2, 30, "% late, tcp_dsack 0", func(v float64) []hook {
			return only(sysctl(receiver, "net.ipv4.tcp_dsack", "0"), link(farLink, 0, func(s *topology.Shape) { s.Reorder, s.ReorderBy = v/100, 25*time.Millisecond }))
		}),
		at("patient-about-loss", is(model.PathLoss), 0.0005, 0.01, "lost, tcp_reordering 300", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_reordering", "300"), losing(v))
		}),
		at("no-tail-probe", is(model.PathLoss), 0.0005, 0.01, "lost, tcp_early_retrans 0", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_early_retrans", "0"), sysctl(sender, "net.ipv4.tcp_recovery", "0"), losing(v))
		}),
		at("slow-pace", is(model.Pacing), 20, 80, "% in tcp_pacing_ca_ratio", func(v float64) []hook {
			return only(sysctl(sender, "net.ipv4.tcp_pacing_ca_ratio", text("%.0f", v)), sysctl(sender, "net.ipv4.tcp_pacing_ss_ratio", text("%.0f", v)), option(sender, solSocket, soMaxPacing, 1<<30))
		}),
		at("late-sack", nil, 20e6, 200e6, "ns in tcp_comp_sack_delay_ns", one(receiver, "tcp_comp_sack_delay_ns")),
		at("no-corking", nil, 1, 1.1, "", func(float64) []hook { return only(sysctl(sender, "net.ipv4.tcp_autocorking", "0")) }),
		at("small-bursts", nil, 1, 8, "in tcp_tso_win_divisor", one(sender, "tcp_tso_win_divisor")),
		at("shrinking-window", nil, 1, 1.1, "", func(float64) []hook { return only(sysctl(receiver, "net.ipv4.tcp_shrink_window", "1")) }),
	}
}

// byRoute are attributes of a route that nobody remembers having set.
func byRoute() []mechanism {
	at := func(name, host string, right []model.LimiterID, low, high float64, unit, format string, more ...func(v float64) hook) mechanism {
		return mechanism{name: name, class: "route", right: right, low: low, high: high, unit: unit, hooks: func(v float64) []hook {
			out := only(route(host, strings.ReplaceAll(format, "V", text("%.0f", v))))
			for _, m := range more {
				out = append(out, m(v))
			}
			return out
		}}
	}
	mild := func(float64) hook { return losing(0.0005) }
	return []mechanism{
		at("route-window", receiver, is(model.ReceiverWindow), 10e3, 150e3, "bytes of window", "window V"),
		at("route-initrwnd", receiver, nil, 2, 8, "segments of initrwnd", "initrwnd V"),
		at("route-mtu", sender, is(model.SmallSegments), 300, 900, "bytes of MTU, locked", "mtu lock V"),
		at("route-advmss", receiver, is(model.SmallSegments), 200, 900, "bytes of MSS", "advmss V"),
		at("route-rto", sender, is(model.PathLoss), 1000, 6000, "ms of RTO, losses in bursts", "rto_min Vms", func(float64) hook {
			return link(farLink, 0, func(s *topology.Shape) { s.Loss, s.LossBurst = 0.002, 40 })
		}),
		at("route-reno", sender, is(model.CongestionControl, model.PathLoss), 0.00005, 0.0005, "lost, reno by the route", "congctl lock reno", func(v float64) hook { return losing(v) }),
		at("route-quickack", receiver, nil, 1, 1.1, "", "quickack V"),
		at("route-reordering", sender, is(model.PathLoss), 20, 127, "segments of reordering, 0.05% lost", "reordering V", mild),
		at("route-initcwnd", sender, nil, 1, 3, "segments of initcwnd", "initcwnd V"),
		{name: "route-flaps", class: "route", right: is(model.PathLoss, model.Outage), low: 0.05, high: 0.4, unit: "s of each 1.5 s", hooks: func(v float64) []hook {
			return only(looped(router, text("ip route add blackhole %s/32; sleep %.2f; ip route del blackhole %s/32; sleep %.2f", receiverAddr, v, receiverAddr, 1.5-v)))
		}},
	}
}

// looped runs a line of shell again and again.
func looped(host, line string) hook {
	return runs(host, "loop", "sh", "-c", "while :; do "+line+"; done")
}

// data and acks match the packets of a test's connection, each way.
const (
	data = "ip protocol tcp ip daddr " + receiverAddr + " "
	acks = "ip protocol tcp ip daddr " + senderAddr + " "
)

// byFilter are rules of a packet filter, at an end or at a router that nobody sees.
func byFilter() []mechanism {
	at := func(name, host, chain string, right []model.LimiterID, low, high float64, unit string, rule func(v float64) string) mechanism {
		return mechanism{name: name, class: "filter", right: right, low: low, high: high, unit: unit, hooks: func(v float64) []hook {
			return only(filter(host, chain, rule(v)))
		}}
	}
	random := func(way string) func(v float64) string {
		// Connections come up: what is judged is how they fare then.
		return func(v float64) string {
			return text("%s tcp flags & syn != syn numgen random mod 100000 < %.0f drop", way, 1e5*v)
		}
	}
	with := func(m mechanism, more ...hook) mechanism {
		first := m.hooks
		m.hooks = func(v float64) []hook { return append(first(v), more...) }
		return m
	}
	lists := func(host, chain string, right []model.LimiterID) mechanism {
		return mechanism{name: "long-list-" + chain, class: "filter", right: right, low: 2000, high: 20000, unit: "rules", hooks: func(v float64) []hook {
			return only(shell(host, text("( echo 'table ip wild { chain c { type filter hook %s priority -10;'; yes 'ip saddr 192.0.2.77 tcp dport 7 drop' | head -n %.0f; echo '}'; echo '}' ) | nft -f -", chain, v), "nft delete table ip wild"))
		}}
	}
	return []mechanism{
		at("router-drops", router, "forward", is(model.PathLoss), 0.0005, 0.02, "dropped", random(data)),
		at("receiver-drops", receiver, "input", is(model.PathLoss), 0.0005, 0.02, "dropped", random(data)),
		at("sender-drops", sender, "output", is(model.LocalQdisc), 0.03, 0.5, "dropped", random(data)),
		at("router-drops-each-nth", router, "forward", is(model.PathLoss), 40, 1000, "th packet", func(v float64) string {
			return text("%s numgen inc mod %.0f == 0 drop", data, v)
		}),
		at("router-drops-runs", router, "forward", is(model.PathLoss, model.PathQueue), 5, 60, "in a row of 6000", func(v float64) string {
			return text("%s numgen inc mod 6000 < %.0f drop", data, v)
		}),
		at("sender-polices", sender, "output", is(model.LocalQdisc), 2000, 20000, "kB/s", func(v float64) string {
			return text("%s limit rate over %.0f kbytes/second burst 64 kbytes drop", data, v)
		}),
		at("receiver-polices", receiver, "input", is(model.PathQueue), 2000, 20000, "kB/s", func(v float64) string {
			return text("%s limit rate over %.0f kbytes/second burst 64 kbytes drop", data, v)
		}),
		at("router-polices-packets", router, "forward", is(model.PathQueue), 300, 3000, "packets/s", func(v float64) string {
			return text("%s limit rate over %.0f/second burst 20 packets drop", data, v)
		}),
		at("router-polices-acks", router, "forward", is(model.LinkRate, model.PathLoss), 20, 400, "packets/s", func(v float64) string {
			return text("%s limit rate over %.0f/second burst 5 packets drop", acks, v)
		}),
		at("acks-lost", router, "forward", is(model.PathLoss), 0.5, 0.95, "dropped", random(acks)),
		at("selective-acks-lost", router, "forward", is(model.PathLoss), 0.001, 0.01, "lost, ACKs with SACK blocks dropped", func(float64) string {
			return acks + "tcp option sack exists drop"
		}).beside(func(v float64) hook { return losing(v) }),
		at("window-rewritten", router, "forward", is(model.ReceiverWindow), 100, 4000, "in each ACK's window", func(v float64) string {
			return text("%s tcp flags & (syn|ack) == ack tcp window set %.0f", acks, v)
		}),
		at("scaling-stripped", router, "forward", is(model.ReceiverWindow), 1, 1.1, "", func(float64) string {
			return "tcp flags & syn == syn reset tcp option window"
		}),
		at("sack-stripped", router, "forward", is(model.SACKOff), 0.0005, 0.01, "lost", func(float64) string {
			return "tcp flags & syn == syn reset tcp option sack-perm"
		}).beside(func(v float64) hook { return losing(v) }),
		at("timestamps-stripped", router, "forward", nil, 1, 1.1, "", func(float64) string {
			return "tcp flags & syn == syn reset tcp option timestamp"
		}),
		at("clamped", router, "forward", is(model.SmallSegments), 150, 900, "bytes of MSS", func(v float64) string {
			return text("tcp flags & syn == syn tcp option maxseg size set %.0f", v)
		}),
		with(at("marked", router, "forward", is(model.PathQueue), 0.003, 0.1, "of the packets marked CE", func(v float64) string {
			return text("%s numgen random mod 100000 < %.0f ip ecn set ce", data, 1e5*v)
		}), sysctl(sender, "net.ipv4.tcp_ecn", "1"), sysctl(receiver, "net.ipv4.tcp_ecn", "1")),
		at("copied", router, "forward", is(model.Reordering, model.LinkRate), 0.1, 1, "sent twice", func(v float64) string {
			return text("%s numgen random mod 1000 < %.0f dup to %s device \"eth1\"", data, 1000*v, receiverAddr)
		}),
		lists(sender, "output", is(model.SenderCPU, model.PacketCost)),
		lists(receiver, "input", is(model.ReceiverCPU, model.PacketCost)),
		lists(router, "forward", is(model.LinkRate, model.PathQueue)),
		at("quota", router, "forward", is(model.Outage), 10, 60, "MB, then nothing", func(v float64) string {
			return text("%s quota over %.0f mbytes drop", data, v)
		}),
		at("throttled-after", router, "forward", is(model.PathQueue), 2000, 15000, "kB/s after the first 8 MB", func(v float64) string {
			return text("%s ct original bytes > 8000000 limit rate over %.0f kbytes/second burst 64 kbytes drop", data, v)
		}),
		{name: "smaller-hop", class: "filter", right: is(model.SmallSegments), low: 400, high: 1100, unit: "bytes of MTU beyond the router", hooks: func(v float64) []hook {
			return only(shell(router, text("ip link set eth1 mtu %.0f", v), "ip link set eth1 mtu 1500"), forgetPMTU())
		}},
		{name: "smaller-hop-silent", class: "filter", right: is(model.MTUBlackhole), low: 700, high: 1400, unit: "bytes of MTU beyond the router, no ICMP", hooks: func(v float64) []hook {
			return only(filter(router, "output", "ip protocol icmp drop"), shell(router, text("ip link set eth1 mtu %.0f", v), "ip link set eth1 mtu 1500"), forgetPMTU())
		}},
	}
}

// forgetPMTU makes the sender forget what it learnt of the path once the fault is out.
func forgetPMTU() hook { return shell(sender, "true", "ip route flush cache") }

// beside adds a second hook of the same severity.
func (m mechanism) beside(more func(v float64) hook) mechanism {
	first := m.hooks
	m.hooks = func(v float64) []hook { return append(first(v), more(v)) }
	return m
}

// byQdisc are shapers in places where none is expected.
func byQdisc() []mechanism {
	at := func(name, host, dev string, right []model.LimiterID, low, high float64, unit, format string) mechanism {
		return mechanism{name: name, class: "qdisc", right: right, low: low, high: high, unit: unit, hooks: func(v float64) []hook {
			return only(qdisc(host, dev, text(format, v)))
		}}
	}
	class := func(v float64) []hook {
		return only(shell(sender, text("tc qdisc replace dev eth0 root handle 1: htb default 10 && tc class add dev eth0 parent 1: classid 1:10 htb rate %.0fkbit ceil %.0fkbit", v, v), "tc qdisc del dev eth0 root"))
	}
	return []mechanism{
		at("router-shapes", router, "eth1", is(model.LinkRate), 20e3, 220e3, "kbit/s", "tbf rate %.0fkbit burst 128k limit 400k"),
		at("router-shapes-little-queue", router, "eth1", is(model.PathQueue, model.LinkRate), 3000, 40000, "bytes of queue at 250 Mbit/s", "tbf rate 250mbit burst 70k limit %.0f"),
		at("router-shapes-acks", router, "eth0", is(model.LinkRate), 64, 700, "kbit/s back", "tbf rate %.0fkbit burst 4k limit 200k"),
		at("receiver-shapes-acks", receiver, "eth0", is(model.LinkRate), 64, 700, "kbit/s back", "tbf rate %.0fkbit burst 4k limit 200k"),
		at("sender-shapes-little-queue", sender, "eth0", is(model.LocalQdisc), 5000, 60000, "bytes of queue at 280 Mbit/s", "tbf rate 280mbit burst 70k limit %.0f"),
		{name: "sender-class", class: "qdisc", right: is(model.LocalQdisc), low: 10e3, high: 200e3, unit: "kbit/s", hooks: class},
	}
}

// byGroup are limits of a control group, and processes that are stopped at times.
func byGroup() []mechanism {
	quota := func(host string, period time.Duration) func(v float64) []hook {
		us := period.Microseconds()
		return func(v float64) []hook {
			return only(group(host, "cpu", "cpu.cfs_period_us", text("%d", us)), group(host, "cpu", "cpu.cfs_quota_us", text("%.0f", max(1000, float64(us)*v/100))))
		}
	}
	memory := func(host string) func(v float64) []hook {
		return func(v float64) []hook {
			return only(group(host, "memory", "memory.kmem.tcp.limit_in_bytes", text("%.0f", v*1024)))
		}
	}
	stops := func(host string, off time.Duration) func(v float64) []hook {
		return func(v float64) []hook { return only(halts(host, time.Duration(float64(off)*(1/v-1)), off)) }
	}
	at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) mechanism {
		return mechanism{name: name, class: "group", right: right, low: low, high: high, unit: unit, hooks: hooks}
	}
	return []mechanism{
		at("sender-quota", is(model.SenderCPU), 1, 4, "% of a core", quota(sender, 100*time.Millisecond)),
		at("receiver-quota", is(model.ReceiverCPU), 1, 4, "% of a core", quota(receiver, 100*time.Millisecond)),
		at("receiver-quota-long", is(model.ReceiverCPU), 0.3, 4, "% of a core in each second", quota(receiver, time.Second)),
		at("sender-quota-long", is(model.SenderCPU), 0.3, 4, "% of a core in each second", quota(sender, time.Second)),
		at("receiver-group-memory", is(model.TCPMemory), 64, 1500, "KiB of TCP memory in its group", memory(receiver)),
		at("sender-group-memory", is(model.TCPMemory, model.SendBuffer), 64, 1500, "KiB of TCP memory in its group", memory(sender)),
		at("sender-stops", is(model.SenderCPU, model.ApplicationSource), 0.5, 0.9, "of the time, 30 ms at once", stops(sender, 30*time.Millisecond)),
		at("receiver-stops", is(model.ReceiverCPU, model.ApplicationSink), 0.5, 0.9, "of the time, 30 ms at once", stops(receiver, 30*time.Millisecond)),
		at("sender-stops-long", is(model.SenderCPU, model.ApplicationSource), 0.2, 0.7, "of the time, 600 ms at once", stops(sender, 600*time.Millisecond)),
		at("receiver-stops-long", is(model.ReceiverCPU, model.ApplicationSink), 0.2, 0.7, "of the time, 600 ms at once", stops(receiver, 600*time.Millisecond)),
	}
}

// Socket options, by their numbers in Linux (include/uapi).
const (
	solSocket, ipprotoTCP                           = 1, 6
	soSndBuf, soRcvBuf, soRcvLowat                  = 7, 8, 18
	soBusyPoll, soMaxPacing                         = 46, 47
	tcpMaxSeg, tcpCork, tcpWindowClamp, tcpQuickAck = 2, 3, 10, 12
)

// bySocket are options that the application sets on its connection.
func bySocket() []mechanism {
	at := func(name, host string, right []model.LimiterID, low, high float64, unit string, level, opt int) mechanism {
		return mechanism{name: name, class: "socket", right: right, low: low, high: high, unit: unit, hooks: func(v float64) []hook {
			return only(option(host, level, opt, int(v)))
		}}
	}
	return []mechanism{
		at("window-clamp", receiver, is(model.ReceiverWindow), 6e3, 120e3, "bytes", ipprotoTCP, tcpWindowClamp),
		at("largest-segment", sender, is(model.SmallSegments), 100, 900, "bytes", ipprotoTCP, tcpMaxSeg),
		at("corked", sender, nil, 1, 1.1, "", ipprotoTCP, tcpCork),
		at("reads-only-much", receiver, is(model.ApplicationSink, model.ReceiverWindow), 64<<10, 4<<20, "bytes of SO_RCVLOWAT", solSocket, soRcvLowat),
		at("send-buffer-later", sender, is(model.SendBuffer), 4e3, 100e3, "bytes", solSocket, soSndBuf),
		at("receive-buffer-later", receiver, is(model.ReceiverWindow), 4e3, 100e3, "bytes", solSocket, soRcvBuf),
		at("busy-poll", receiver, nil, 10, 200, "us", solSocket, soBusyPoll),
		at("each-acknowledged", receiver, nil, 1, 1.1, "", ipprotoTCP, tcpQuickAck),
	}
}

// byApplication are ways of an application to write and read.
func byApplication() []mechanism {
	at := func(name string, right []model.LimiterID, low, high float64, unit string, change func(w *model.Workload, v float64)) mechanism {
		return mechanism{name: name, class: "application", right: right, low: low, high: high, unit: unit, workload: change}
	}
	return []mechanism{
		at("asks-and-waits", is(model.ApplicationSource), 8<<10, 256<<10, "bytes a request, no delay", func(w *model.Workload, v float64) {
			w.Exchange, w.NoDelay = unit.Bytes(v), true
		}),
		at("many-small-windows", is(model.ReceiverWindow), 3e3, 12e3, "bytes of SO_RCVBUF, 6 connections", func(w *model.Workload, v float64) {
			w.RecvBuffer, w.Streams = unit.Bytes(v), 6
		}),
		at("many-slow-writers", is(model.ApplicationSource), 2e6, 25e6, "bit/s each, 8 connections", func(w *model.Workload, v float64) {
			w.Rate, w.Streams = unit.BitRate(8*v), 8
		}),
		at("many-slow-readers", is(model.ApplicationSink), 2e6, 25e6, "bit/s each, 8 connections", func(w *model.Workload, v float64) {
			w.ReadRate, w.Streams = unit.BitRate(8*v), 8
		}),
		at("many-paced", is(model.Pacing), 2e6, 25e6, "bit/s each, 8 connections", func(w *model.Workload, v float64) {
			w.MaxPacing, w.Streams = unit.BitRate(v), 8
		}),
		at("without-copies", nil, 1, 1.1, "", func(w *model.Workload, _ float64) { w.ZeroCopy = true }),
	}
}

// byLink are links that are other than the catalogue's, or not always the same.
func byLink() []mechanism {
	at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) mechanism {
		return mechanism{name: name, class: "link", right: right, low: low, high: high, unit: unit, hooks: hooks}
	}
	times := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	shaped := func(id string, dir int, change func(s *topology.Shape, v float64)) func(v float64) []hook {
		return func(v float64) []hook { return only(link(id, dir, func(s *topology.Shape) { change(s, v) })) }
	}
	return []mechanism{
		at("much-jitter", is(model.PathQueue), 2, 5, "ms either way", shaped(farLink, 0, func(s *topology.Shape, v float64) {
			s.Delay, s.Jitter = 6*time.Millisecond, times(v/1000)
		})),
		at("much-late", is(model.Reordering), 10, 40, "% late by 30 ms", shaped(farLink, 0, func(s *topology.Shape, v float64) {
			s.Reorder, s.ReorderBy = v/100, 30*time.Millisecond
		})),
		at("many-twice", is(model.Reordering), 10, 40, "% twice", shaped(nearLink, 0, func(s *topology.Shape, v float64) { s.Duplicate = v / 100 })),
		at("rate-swings", is(model.LinkRate, model.PathQueue), 0.1, 0.6, "of the rate, 0.4 s of each 0.8 s", func(v float64) []hook {
			return only(pulses(farLink, 0, 400*time.Millisecond, 400*time.Millisecond, func(s *topology.Shape) { s.Rate = wildRate * unit.BitRate(v) }))
		}),
		at("gone-at-times", is(model.PathLoss, model.Outage), 0.04, 0.4, "s of each 1.6 s", func(v float64) []hook {
			return only(pulses(farLink, 0, times(v), times(1.6-v), func(s *topology.Shape) { s.Loss = 1 }))
		}),
		at("delay-jumps", nil, 20, 120, "ms more, half of each 1.2 s", func(v float64) []hook {
			return only(pulses(farLink, 0, 600*time.Millisecond, 600*time.Millisecond, func(s *topology.Shape) { s.Delay += times(v / 1000) }))
		}),
		at("loses-at-times", is(model.PathLoss), 0.002, 0.05, "lost, half of each second", func(v float64) []hook {
			return only(pulses(farLink, 0, 500*time.Millisecond, 500*time.Millisecond, func(s *topology.Shape) { s.Loss = v }))
		}),
		at("far-away", is(model.SendBuffer, model.ReceiverWindow), 120, 400, "ms more", shaped(farLink, 0, func(s *topology.Shape, v float64) { s.Delay += times(v / 1000) })),
		at("acks-lost-in-runs", is(model.PathLoss), 0.2, 0.6, "of ACKs lost, 30 in a row", shaped(farLink, 1, func(s *topology.Shape, v float64) { s.Loss, s.LossBurst = v, 30 })),
		at("acks-late", nil, 20, 90, "% of ACKs late by 15 ms", shaped(farLink, 1, func(s *topology.Shape, v float64) {
			s.Reorder, s.ReorderBy = v/100, 15*time.Millisecond
		})),
		at("flaps", is(model.PathLoss, model.Outage), 0.05, 0.3, "s of each 1.6 s down", func(v float64) []hook {
			return only(looped(router, text("ip link set eth1 down; sleep %.2f; ip link set eth1 up; ip route replace 10.78.2.0/24 dev eth1; sleep %.2f", v, 1.6-v)))
		}),
	}
}

// byTraffic are others on the same path, and addresses that get lost.
func byTraffic() []mechanism {
	at := func(name string, right []model.LimiterID, low, high float64, unit string, hooks func(v float64) []hook) mechanism {
		return mechanism{name: name, class: "traffic", right: right, low: low, high: high, unit: unit, hooks: hooks}
	}
	rate := func(v float64) float64 { return v * float64(wildRate) }
	return []mechanism{
		at("others-beyond-the-router", is(model.LinkRate, model.PathQueue), 0.15, 0.8, "of the rate", func(v float64) []hook {
			return only(blasts(router, receiverAddr, rate(v), 0, 0))
		}),
		at("others-at-times", is(model.LinkRate, model.PathQueue), 0.5, 1.5, "of the rate, 0.2 s of each 0.6 s", func(v float64) []hook {
			return only(blasts(router, receiverAddr, rate(v), 200*time.Millisecond, 400*time.Millisecond))
		}),
		at("others-from-the-sender", is(model.LinkRate, model.PathQueue), 0.15, 0.8, "of the rate", func(v float64) []hook {
			return only(blasts(sender, receiverAddr, rate(v), 0, 0))
		}),
		at("others-the-other-way", is(model.LinkRate, model.PathLoss), 0.9, 1.6, "of the rate", func(v float64) []hook {
			return only(blasts(router, senderAddr, rate(v), 0, 0))
		}),
		at("neighbour-forgotten", is(model.PathLoss, model.Outage), 0.01, 0.2, "s between", func(v float64) []hook {
			return only(looped(router, text("ip neigh flush dev eth1; sleep %.2f", v)))
		}),
		at("neighbour-unheard", is(model.PathLoss, model.Outage), 0.2, 0.7, "of ARP dropped, forgotten each 0.3 s", func(v float64) []hook {
			return only(shell(router, text("nft 'add table arp wild; add chain arp wild c { type filter hook input priority 0; }; add rule arp wild c numgen random mod 100 < %.0f drop'", 100*v), "nft delete table arp wild"),
				looped(router, "ip neigh flush dev eth1; sleep 0.3"))
		}),
	}
}
