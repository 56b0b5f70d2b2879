package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/size"
	"linerate/internal/unit"
)

func sizeLinkCommand(env *environment) *cobra.Command {
	in := size.LinkInput{MTU: 1500, Timestamps: true, Protocol: "tcp"}
	cmd := calculate(env, &in, size.Link, size.LinkFor)
	cmd.Use, cmd.Short = "link", "Payload of an Ethernet link by MTU, headers and protocol"
	cmd.Long = `link computes what of a line rate is payload: the MTU less IP and TCP (or UDP)
headers, over the frame with its header, check sequence, preamble, gap and VLAN
tags; and the share that iSCSI, NFSv3 or SMB leave of it.`
	cmd.Example = `  linerate size link --rate 10Gbit
  linerate size link --rate 10Gbit --mtu 9000 --vlan 1 --protocol iscsi
  linerate size link --reverse --rate 20Gbit --link 10Gbit`
	rateFlag(cmd, &in.Rate, "rate", "line rate; with --reverse the payload wanted")
	rateFlag(cmd, &in.Link, "link", "with --reverse: the line rate of one link, to count links")
	cmd.Flags().IntVar(&in.MTU, "mtu", in.MTU, "MTU in bytes")
	cmd.Flags().IntVar(&in.VLANTags, "vlan", 0, "VLAN tags of each frame: 0, 1 or 2")
	cmd.Flags().BoolVar(&in.IPv6, "ipv6", false, "IPv6 instead of IPv4")
	cmd.Flags().BoolVar(&in.Timestamps, "timestamps", in.Timestamps, "TCP timestamps, as Linux has them")
	cmd.Flags().StringVar(&in.Protocol, "protocol", in.Protocol, strings.Join(size.Protocols(), ", "))
	bytesFlag(cmd, &in.Transfer, "transfer", "data per reply or PDU (default 1 MiB, iscsi 256 KiB)")
	return completeFlags(cmd, map[string][]string{"protocol": size.Protocols()}, "mtu", "vlan")
}

func sizeWindowCommand(env *environment) *cobra.Command {
	in := size.WindowInput{Share: 0.5}
	cmd := calculate(env, &in, size.Window, size.WindowFor)
	cmd.Use, cmd.Short = "window", "TCP window, rate, RTT: the third from the other two, and the buffers"
	cmd.Long = `window computes the bandwidth-delay product in each direction, and the Linux
buffers (tcp_rmem, tcp_wmem) that it needs.`
	cmd.Example = `  linerate size window --rate 10Gbit --rtt 1ms
  linerate size window --buffer 16MiB --rtt 16ms
  linerate size window --window 4MiB --rate 10Gbit
  linerate size window --reverse --rate 40Gbit --rtt 16ms --buffer 16MiB`
	rateFlag(cmd, &in.Rate, "rate", "payload rate; with --reverse the goal")
	timeFlag(cmd, &in.RTT, "rtt", "round-trip time")
	bytesFlag(cmd, &in.Window, "window", "data in flight of one connection")
	bytesFlag(cmd, &in.Buffer, "buffer", "receive buffer (tcp_rmem maximum) instead of --window")
	cmd.Flags().Float64Var(&in.Share, "buffer-share", in.Share, "part of the buffer that is window, 0.05 to 1")
	return completeFlags(cmd, nil, "buffer-share")
}

func sizePCIeCommand(env *environment) *cobra.Command {
	in := size.PCIeInput{Payload: 256, Ports: 1}
	cmd := calculate(env, &in, size.PCIe, size.PCIeFor)
	cmd.Use, cmd.Short = "pcie", "What a slot carries, and whether the ports fit"
	cmd.Long = `pcie computes generation × lanes × line code × packet efficiency, per direction,
and compares it with the ports of the adapter.`
	cmd.Example = `  linerate size pcie --gen 2 --lanes 8 --rate 10Gbit --ports 2
  linerate size pcie --gen 3 --lanes 8 --payload 128 --rate 40Gbit
  linerate size pcie --reverse --rate 100Gbit --ports 2`
	cmd.Flags().IntVar(&in.Gen, "gen", 0, "generation, 1 to 5, as trained (with --reverse: default each)")
	cmd.Flags().IntVar(&in.Lanes, "lanes", 0, "lanes, as trained")
	cmd.Flags().IntVar(&in.Payload, "payload", in.Payload, "Maximum Payload Size in bytes")
	cmd.Flags().BoolVar(&in.ECRC, "ecrc", false, "packets carry the end-to-end check sum")
	rateFlag(cmd, &in.Rate, "rate", "rate of one port")
	cmd.Flags().IntVar(&in.Ports, "ports", in.Ports, "ports of the adapter in use")
	return completeFlags(cmd, map[string][]string{"payload": {"128", "256", "512", "1024", "2048", "4096"}}, "gen", "lanes", "ports")
}

func sizeNFSCommand(env *environment) *cobra.Command {
	in := size.NFSInput{Version: "4.1", Transfer: unit.MiB, Nconnect: 1}
	cmd := calculate(env, &in, size.NFS, size.NFSFor)
	cmd.Use, cmd.Short = "nfs", "Ceilings of an NFS mount: slots, windows, read-ahead"
	cmd.Long = `nfs computes what a mount can have in flight, over the time a call takes, and
takes the smallest ceiling.`
	cmd.Example = `  linerate size nfs --rtt 500us --readahead 128KiB --rate 10Gbit
  linerate size nfs --version 3 --slots 16 --transfer 32KiB --rtt 600us
  linerate size nfs --reverse --rate 40Gbit --rtt 2ms --window 4MiB`
	cmd.Flags().StringVar(&in.Version, "version", in.Version, "3, 4.1 or 4.2")
	timeFlag(cmd, &in.RTT, "rtt", "round-trip time")
	timeFlag(cmd, &in.Service, "service", "the server's time per call, on top")
	cmd.Flags().IntVar(&in.Slots, "slots", 0, "session slots, or RPC slots per connection of version 3 (default 64, 65536)")
	bytesFlag(cmd, &in.Transfer, "transfer", "rsize or wsize")
	cmd.Flags().IntVar(&in.Nconnect, "nconnect", in.Nconnect, "TCP connections, 1 to 16")
	bytesFlag(cmd, &in.Window, "window", "TCP window of one connection")
	bytesFlag(cmd, &in.ReadAhead, "readahead", "read-ahead of the mount (read_ahead_kb)")
	rateFlag(cmd, &in.Rate, "rate", "payload rate of the link; with --reverse the goal")
	return completeFlags(cmd, map[string][]string{"version": {"3", "4.1", "4.2"}}, "slots", "nconnect")
}

func sizeISCSICommand(env *environment) *cobra.Command {
	in := size.ISCSIInput{
		QueueDepth: 32, Block: 64 * unit.KiB, Latency: time.Millisecond,
		// open-iscsi's defaults (etc/iscsid.conf).
		MaxRecv: 256 * unit.KiB, FirstBurst: 256 * unit.KiB, MaxBurst: 16776192, Immediate: true,
	}
	cmd := calculate(env, &in, size.ISCSI, size.ISCSIFor)
	cmd.Use, cmd.Short = "iscsi", "IOPS and throughput by queue depth and latency; PDUs and R2Ts"
	cmd.Long = `iscsi computes commands in flight over the latency of one (Little's law), the
round trips that writes wait for, and the share of data in the TCP payload.`
	cmd.Example = `  linerate size iscsi --queue-depth 32 --block 8KiB --latency 500us
  linerate size iscsi --write --block 1MiB --latency 2ms --rtt 500us
  linerate size iscsi --reverse --rate 10Gbit --block 64KiB --latency 1ms`
	cmd.Flags().IntVar(&in.QueueDepth, "queue-depth", in.QueueDepth, "commands in flight")
	bytesFlag(cmd, &in.Block, "block", "bytes per command")
	timeFlag(cmd, &in.Latency, "latency", "time of one command")
	cmd.Flags().BoolVar(&in.Write, "write", false, "writes instead of reads")
	timeFlag(cmd, &in.RTT, "rtt", "round-trip time, to count what R2Ts add to --latency")
	bytesFlag(cmd, &in.MaxRecv, "max-recv", "MaxRecvDataSegmentLength of the receiving side")
	bytesFlag(cmd, &in.FirstBurst, "first-burst", "FirstBurstLength")
	bytesFlag(cmd, &in.MaxBurst, "max-burst", "MaxBurstLength")
	cmd.Flags().BoolVar(&in.InitialR2T, "initial-r2t", false, "InitialR2T=Yes")
	cmd.Flags().BoolVar(&in.Immediate, "immediate-data", in.Immediate, "ImmediateData=Yes")
	cmd.Flags().IntVar(&in.Digests, "digests", 0, "of each PDU: 0, header 1, header and data 2")
	rateFlag(cmd, &in.Rate, "rate", "payload rate of the link; with --reverse the goal")
	return completeFlags(cmd, nil, "queue-depth", "digests")
}
