//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/unit"
)

// clientsLab is SFC's cluster, of six kernels. A client's link carries what such a
// kernel reads with a small part of a core, and the server's port what four of them
// take: the fifth is one too many, as in the paper, where the clients were added
// until the server's 10 Gbit/s were used up.
const clientsLab = `name: clients
title: five NFS clients and a server on one switch, each with a kernel of its own
paper: SFC
hosts:
  client1: {kind: kernel, memory: 256MiB, interfaces: {eth0: {address: 10.11.0.1/24}}}
  client2: {kind: kernel, memory: 256MiB, interfaces: {eth0: {address: 10.11.0.2/24}}}
  client3: {kind: kernel, memory: 256MiB, interfaces: {eth0: {address: 10.11.0.3/24}}}
  client4: {kind: kernel, memory: 256MiB, interfaces: {eth0: {address: 10.11.0.4/24}}}
  client5: {kind: kernel, memory: 256MiB, interfaces: {eth0: {address: 10.11.0.5/24}}}
  server1: {kind: kernel, memory: 384MiB, interfaces: {eth0: {address: 10.11.0.100/24}}, servers: [nfs]}
switches:
  switch: {mtu: 9216}
links:
  - {between: [client1.eth0, switch], rate: 60Mbit/s, rtt: 200us, queue: 256KB}
  - {between: [client2.eth0, switch], rate: 60Mbit/s, rtt: 200us, queue: 256KB}
  - {between: [client3.eth0, switch], rate: 60Mbit/s, rtt: 200us, queue: 256KB}
  - {between: [client4.eth0, switch], rate: 60Mbit/s, rtt: 200us, queue: 256KB}
  - {between: [client5.eth0, switch], rate: 60Mbit/s, rtt: 200us, queue: 256KB}
  - {between: [server1.eth0, switch], rate: 240Mbit/s, rtt: 200us, queue: 1MB}
flow: {from: [client1, client2, client3, client4, client5], to: server1, via: eth0}
`

const clientsStudy = `v: 1
name: clients
question: how does one server serve one to five clients?
source: SFC, figure of the scaling over clients
hosts: {c1: lab:client1, c2: lab:client2, c3: lab:client3, c4: lab:client4, c5: lab:client5}
factors:
  - name: clients
    levels:
      - {name: "2", workload: {clients: 2}}
      - {name: "3", workload: {clients: 3}}
      - {name: "4", workload: {clients: 4}}
      - {name: "5", workload: {clients: 5}}
workloads:
  - {name: read, kind: read, hosts: [c1, c2, c3, c4, c5], clients: 1, path: /mnt/nas/file, direct: true, seconds: 1}
primary: read
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 2}
`

// clientCount is how many clients the lab has.
const clientCount = 5

// clients read a file of the server's memory over NFS, past their page caches, and
// begin at one instant. The bytes that they counted are held against those that
// came over their wires.
func (b bench) clients(ctx context.Context, w io.Writer) error {
	var s *model.Study
	var samples store.Samples
	err := b.inOwnLab(ctx, clientsLab, func(lab.Status) (err error) {
		if err := b.mountAll(ctx); err != nil {
			return err
		}
		if s, samples, err = b.study(ctx, "clients", clientsStudy); err != nil {
			return err
		}
		return b.chart(ctx)
	})
	if err != nil {
		return err
	}
	clientsTable(w, s, samples)
	return nil
}

// mountAll puts a file into the server's memory and has all clients mount it.
func (b bench) mountAll(ctx context.Context) error {
	for i := range clientCount {
		script := "mkdir -p /mnt/nas; mount -i -t nfs -o vers=4.2,addr=10.11.0.100 10.11.0.100:/share /mnt/nas"
		if i == 0 {
			script += "; dd if=/dev/urandom of=/mnt/nas/file bs=1M count=64 conv=fsync"
		}
		if err := b.Inside(ctx, fmt.Sprintf("client%d", i+1), "sh", "-ec", script); err != nil {
			return err
		}
	}
	return nil
}

// chart sees to it that the report draws the scaling.
func (b bench) chart(ctx context.Context) error {
	file := filepath.Join(b.Home, "clients.html")
	if _, err := b.Run(ctx, "report", "last", "-o", file); err != nil {
		return err
	}
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(page), "scaling-0-clients") {
		return fmt.Errorf("the report draws no scaling over clients")
	}
	if b.keep == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(b.keep, "clients.html"), page, 0o644)
}

func clientsTable(w io.Writer, s *model.Study, samples store.Samples) {
	kit.Head(w, "clients", "n", "together", "over one client", "95% interval", "least and most of one client", "crossed the wires, at least")
	for _, c := range s.Comparisons {
		low, high := spread(s.Runs, c.Level)
		wire := wires(s, samples, c.Level)
		over := kit.None
		if len(wire) > 0 {
			over = fmt.Sprintf("%.3f (%.3f-%.3f)", kit.MedianOrZero(wire), slices.Min(wire), slices.Max(wire))
		}
		fmt.Fprintf(w, "| %s | %d | %v | %s | %s | %v, %v | %s |\n", c.Level, c.N, unit.BitRate(c.Treated), number(c.Ratio), interval(c), unit.BitRate(low), unit.BitRate(high), over)
	}
	counted := 0
	for _, r := range s.Runs {
		if r.Counted {
			counted++
		}
	}
	fmt.Fprintf(w, "\n%d runs, %d of them counted, in %v.\n", len(s.Runs), counted, s.Took.Round(time.Second))
}

// wires are, of each counted run of a level, the bytes that the interfaces of all
// clients received for each that was read, at the rate of the run for the whole time
// of the samples. That time is longer than the read: the share is a lower bound, and
// what came out of a page cache takes away from it.
func wires(s *model.Study, samples store.Samples, level string) []float64 {
	var out []float64
	for _, r := range s.Runs {
		if r.Level != level || !r.Counted {
			continue
		}
		var came, read float64
		for host, rate := range r.PerClient {
			at := s.File.Hosts[host]
			of := samples[r.Label][at]
			if len(of) < 2 {
				continue
			}
			first, last := of[0], of[len(of)-1]
			came += float64(received(last) - received(first))
			read += rate / 8 * last.HostAt.Sub(first.HostAt).Seconds()
		}
		if read > 0 {
			out = append(out, came/read)
		}
	}
	return out
}

func received(s model.Sample) (n int64) {
	for _, c := range s.NICs {
		if c.Name != "lo" {
			n += c.RxBytes
		}
	}
	return n
}

// spread is the least and the most that a client of a level got in any run.
func spread(runs []model.StudyRun, level string) (low, high float64) {
	for _, r := range runs {
		if r.Level != level || !r.Counted {
			continue
		}
		for _, v := range r.PerClient {
			if low == 0 || v < low {
				low = v
			}
			high = max(high, v)
		}
	}
	return low, high
}
