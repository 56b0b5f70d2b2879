package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// put is one fault with the rule that must tell of it. Words are those of `lab
// fault add`.
type put struct{ words, rule string }

// up brings up a lab, and has it used with the names of its hosts.
func (b bench) up(ctx context.Context, args []string, use func(name string, hosts []string) error) error {
	return b.Lab(ctx, args, func(l lab.Status) error {
		var hosts []string
		for _, h := range l.Hosts {
			hosts = append(hosts, h.Name)
		}
		return use(l.Name, hosts)
	})
}

// look is what check says of hosts of a lab, and of each two of them where there
// are but two: the worst severity of each rule, and the most findings above info
// on one host.
func (b bench) look(ctx context.Context, lab string, hosts, more []string) (rules map[string]string, most int, err error) {
	args := append([]string{"check", "--watch", "0", "--json"}, more...)
	for _, h := range hosts {
		args = append(args, "lab:"+lab+"/"+h)
	}
	var a answer
	if err := a.ask(b.Command(ctx, args...)); err != nil {
		return nil, 0, err
	}
	rules = map[string]string{}
	add := func(list []finding) {
		n := 0
		for _, f := range list {
			if _, ok := rules[f.Rule]; !ok { // they come worst first
				rules[f.Rule] = f.Severity
			}
			if f.Severity != "info" {
				n++
			}
		}
		most = max(most, n)
	}
	for _, h := range a.Hosts {
		add(h.Findings)
	}
	for _, p := range a.Pairs {
		if len(hosts) == 2 {
			add(p.Findings)
		}
	}
	return rules, most, nil
}

// healthy counts what is found while nothing is wrong.
func (b bench) healthy(ctx context.Context, w io.Writer) error {
	var all struct {
		Topologies []struct {
			Name string `json:"name"`
		} `json:"topologies"`
	}
	if err := b.Ask(ctx, &all, "lab", "topologies", "--json"); err != nil {
		return err
	}
	var labs [][]string
	for _, t := range all.Topologies {
		labs = append(labs, []string{t.Name})
	}
	labs = append(labs, []string{"nas", "--kernel", "client1,client2", "--serve", "client2=nfs"}, []string{"dual-homed", "--device", "nas1"})
	for _, args := range labs {
		err := b.up(ctx, args, func(lab string, hosts []string) error {
			rules, most, err := b.look(ctx, lab, hosts, nil)
			if err != nil {
				return err
			}
			var which []string
			for r, severity := range rules {
				if severity != "info" {
					which = append(which, "`"+r+"`")
				}
			}
			slices.Sort(which)
			fmt.Fprintf(w, "| %s | %d | %d | %s |\n", strings.Join(args, " "), len(hosts), most, kit.List(which))
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// aPath is the path of the long road, which virtual ports do not tell of.
func aPath() []string { return []string{"--line-rate", "1Gbit", "--rtt", "10ms"} }

// faults sets each fault and looks before, while and after.
func (b bench) faults(ctx context.Context, w io.Writer, lab, at string, hosts, path []string, list []put) error {
	for _, f := range list {
		_, before, err := b.look(ctx, lab, hosts, path)
		if err != nil {
			return err
		}
		words := append([]string{"lab", "fault", "add", "--json", "--name", lab}, strings.Fields(f.words)...)
		if at != "" {
			words = append(words, "at", "host:"+at)
		}
		var in struct {
			Number int `json:"number"`
		}
		if err := b.Ask(ctx, &in, words...); err != nil {
			return err
		}
		during, _, err := b.look(ctx, lab, hosts, path)
		if err != nil {
			return err
		}
		if _, err := b.Run(ctx, "lab", "fault", "remove", "--name", lab, fmt.Sprint(in.Number)); err != nil {
			return err
		}
		_, after, err := b.look(ctx, lab, hosts, path)
		if err != nil {
			return err
		}
		severity := during[f.rule]
		if severity == "" {
			severity = "NOT FOUND"
		}
		fmt.Fprintf(w, "| `%s` | %s | `%s` | %s | %d, %d |\n", f.words, lab+" "+strings.Join(hosts, ", "), f.rule, severity, before, after)
	}
	return nil
}

// namespaces sets the faults that hosts of this machine's kernel can have.
func (b bench) namespaces(ctx context.Context, w io.Writer) error {
	for _, l := range []struct {
		lab  string
		list []put
	}{
		{"back-to-back", []put{
			{"rcv-window-sysctl mild", "receive-buffer-below-bdp"}, {"rcv-autotuning-off", "receive-autotuning-off"}, {"window-scaling-off", "window-scaling-off"},
			{"send-buffer mild", "send-buffer-below-bdp"}, {"sack-off", "sack-off"}, {"offloads-off medium", "segmentation-offload-off"},
			{"local-shaper mild", "qdisc-shapes"}, {"notsent-lowat severe", "notsent-lowat-small"},
		}},
		{"dual-homed", []put{{"wrong-route", "route-detour"}, {"asymmetric-route", "strict-reverse-path"}}},
		{"two-ports", []put{{"arp-flux", "same-subnet-arp-flux"}}},
	} {
		topology := l.lab
		if l.lab == "two-ports" {
			topology = filepath.Join(b.Home, "two-ports.yaml")
			if err := os.WriteFile(topology, []byte(twoPorts), 0o644); err != nil {
				return err
			}
		}
		err := b.up(ctx, []string{topology}, func(lab string, hosts []string) error {
			return b.faults(ctx, w, lab, "", hosts, aPath(), l.list)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// twoPorts has a server with two ports of one subnet.
const twoPorts = `name: two-ports
title: a server with two ports on one switch
about: For faults that need two ports in one subnet.
hosts:
  client1: {interfaces: {eth0: {address: 10.40.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.40.0.2/24}, eth1: {address: 10.40.0.3/24}}}
switches: {switch: {mtu: 9216}}
links:
  - {between: [client1.eth0, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [server1.eth0, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
  - {between: [server1.eth1, switch], rate: 1Gbit/s, rtt: 200us, queue: 512KB}
flow: {from: [client1], to: server1, via: eth0}
`

// pairs sets the faults that take a look at both ends.
func (b bench) pairs(ctx context.Context, w io.Writer) error {
	return b.up(ctx, []string{"dual-homed"}, func(lab string, _ []string) error {
		return b.faults(ctx, w, lab, "", []string{"client1", "nas1"}, nil, []put{
			{"mtu-switch severe", "pair-mtu-blackhole"}, {"mtu-blackhole mild", "pair-mtu-blackhole"}, {"host-mtu medium", "pair-mtu-differs"},
			{"wrong-route", "pair-wrong-port"}, {"asymmetric-route", "pair-reverse-path-drops"},
		})
	})
}

// kernels has a client with NFS, SMB and iSCSI over 10 ms, whose read-ahead fits
// that: the kernel's own would be a fault.
func (b bench) kernels(ctx context.Context, w io.Writer) error {
	args := []string{"nas", "--kernel", "client1,client2", "--serve", "nas1=smb", "--serve", "client2=nfs,iscsi"}
	return b.up(ctx, args, func(lab string, _ []string) error {
		if _, err := b.Run(ctx, "lab", "fault", "add", "link:client1-switch", "delay=5ms"); err != nil {
			return err
		}
		logins, err := filepath.Glob(filepath.Join(b.Home, "linerate/*/nas1/server-smb/login"))
		if err != nil || len(logins) != 1 {
			return fmt.Errorf("find the SMB login: %d, %w", len(logins), err)
		}
		mount := `mkdir -p /mnt/nfs /mnt/smb && mount -i -t nfs -o vers=4.2,addr=10.60.0.2 10.60.0.2:/share /mnt/nfs &&
mount -t cifs -o credentials="$0",addr=10.60.0.100 //10.60.0.100/share /mnt/smb && modprobe -a iscsi_tcp sd_mod &&
iscsistart -i iqn.2026-01.lab.linerate:client1 -t iqn.2026-01.lab.linerate:share -g 1 -a 10.60.0.2 -p 3260 &&
echo 4096 >/sys/class/bdi/$(mountpoint -d /mnt/nfs)/read_ahead_kb &&
for i in $(seq 100); do ls /sys/block | grep -q ^sd && exit; sleep 0.1; done; exit 1`
		if err := b.Inside(ctx, "client1", "sh", "-c", mount, logins[0]); err != nil {
			return err
		}
		if err := b.faults(ctx, w, lab, "client2", []string{"client2"}, aPath(), []put{{"nfs-few-threads mild", "nfsd-threads-few"}}); err != nil {
			return err
		}
		return b.faults(ctx, w, lab, "client1", []string{"client1"}, aPath(), []put{
			{"nfs-few-slots severe", "nfs-slots"}, {"nfs-small-transfer mild", "nfs-transfer-small"}, {"nfs-sync-writes on", "nfs-sync"},
			{"smb-signing on", "smb-signed"}, {"smb-small-transfer mild", "smb-transfer-small"},
			{"iscsi-queue-depth mild", "iscsi-queue-short"}, {"iscsi-small-request medium", "disk-request-small"},
			{"small-read-ahead medium", "nfs-readahead-small"}, {"dirty-limit mild", "dirty-limit-small"},
		})
	})
}

// devices has a server with a card of its own.
func (b bench) devices(ctx context.Context, w io.Writer) error {
	return b.up(ctx, []string{"dual-homed", "--device", "nas1"}, func(lab string, _ []string) error {
		return b.faults(ctx, w, lab, "nas1", []string{"nas1"}, nil, []put{{"one-core-for-queues", "irqs-on-one-core"}})
	})
}
