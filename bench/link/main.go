//go:build linux

// Command link holds the lab's links against what was asked of them: the rate
// of one TCP stream, the round trip idle and under load, the share of losses,
// and the CPU that a Gbit/s costs. It builds a lab of two hosts for each row
// and runs the loop's own workload in it.
//
//	go run ./bench/link
//
// It needs root. It judges no diagnosis and touches nothing but its own labs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linerate/bench/kit"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func main() {
	kit.Main("link", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, os.Stdout) })
	})
}

// row is one link to be measured.
type row struct {
	rate unit.BitRate
	rtt  time.Duration
	mtu  int
	loss float64
}

func rows() []row {
	const wan = 16 * time.Millisecond
	return []row{
		{unit.Gbit, wan, 1500, 0}, {unit.Gbit, wan, 9000, 0},
		{10 * unit.Gbit, wan, 1500, 0}, {10 * unit.Gbit, wan, 9000, 0},
		{unit.Gbit, wan, 1500, 0.001}, {unit.Gbit, time.Millisecond, 1500, 0.01},
	}
}

func run(ctx context.Context, u kit.User, w io.Writer) error {
	kit.Head(w, "asked", "goodput", "of what the frames leave", "idle RTT", "RTT under load, at most", "lost (95% of what was asked)", "sent again", "CPU s per Gbit", "late at most")
	for _, r := range rows() {
		if err := r.measure(ctx, u, w); err != nil {
			return fmt.Errorf("%s %s: %w", r.rate, r.rtt, err)
		}
	}
	return nil
}

func (r row) topology() topology.Topology {
	host := func(name, addr string) topology.Host {
		return topology.Host{Name: name, Kind: topology.Namespace, Interfaces: []topology.Interface{{Name: "eth0", Addr: netip.MustParsePrefix(addr), MTU: r.mtu}}}
	}
	shape := topology.Shape{Rate: r.rate, Delay: r.rtt / 2, Queue: max(256*unit.KiB, unit.Bytes(2*float64(r.rate)/8*r.rtt.Seconds()))}
	there := shape
	there.Loss = r.loss
	a, b := topology.End{Node: "client1", Interface: "eth0"}, topology.End{Node: "server1", Interface: "eth0"}
	return topology.Topology{Name: "link", Hosts: []topology.Host{host("client1", "10.79.0.1/24"), host("server1", "10.79.0.2/24")},
		Links: []topology.Link{{ID: "client1-server1", A: a, B: b, AB: there, BA: shape}},
		Flow:  topology.Flow{Senders: []string{"client1"}, Receiver: "server1", Via: "eth0"}}
}

func (r row) measure(ctx context.Context, u kit.User, w io.Writer) (err error) {
	l, err := lab.Up(ctx, r.topology(), lab.Options{Self: []string{u.Binary}, StateDir: filepath.Join(u.Home, "state"), Seed: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down(context.WithoutCancel(ctx))) }()
	// Windows large enough for the path, so that the link is what is measured.
	for host, key := range map[string]string{"client1": "net.ipv4.tcp_wmem", "server1": "net.ipv4.tcp_rmem"} {
		if _, err := l.Sysctl(ctx, host, key, "4096 131072 134217728"); err != nil {
			return err
		}
	}
	before, _, err := l.LinkStats(ctx)
	if err != nil {
		return err
	}
	result, err := r.pass(ctx, l, u.Binary)
	if err != nil {
		return err
	}
	after, _, err := l.LinkStats(ctx)
	if err != nil {
		return err
	}
	r.print(w, result, before, after)
	return nil
}

// pass runs one stream and returns its run.
func (r row) pass(ctx context.Context, l *lab.Lab, binary string) (model.Run, error) {
	var ends [2]loop.End
	for i, name := range []string{"client1", "server1"} {
		ep := host.Endpoint{Name: name, Argv: l.Enter(name), Self: []string{binary}, Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name)}
		c, err := host.Dial(ctx, ep, host.Options{Now: time.Now})
		if err != nil {
			return model.Run{}, err
		}
		defer c.Close()
		ends[i] = loop.End{Name: name, Addr: l.Addr(name), Agent: c}
	}
	timing := loop.DefaultTiming()
	timing.DiagnosisWarmup = 2 * time.Second
	pass := loop.Loop{Sender: ends[0], Receiver: ends[1], Workload: model.Workload{Streams: 1, CC: "cubic"}, LineRate: model.Known(r.rate), Timing: timing, Now: time.Now}
	rec, err := pass.Run(ctx)
	if err != nil {
		return model.Run{}, err
	}
	return rec.Results.Runs[0], nil
}

func (r row) print(w io.Writer, run model.Run, before, after fabric.Stats) {
	var idle time.Duration
	var rtts []time.Duration
	for _, s := range run.Samples["client1"] {
		for _, c := range s.Conns {
			if c.MinRTT > 0 && (idle == 0 || c.MinRTT < idle) {
				idle = c.MinRTT
			}
			rtts = append(rtts, c.RTT)
		}
	}
	loaded := slices.Max(append(rtts, 0))
	// Payload of a full frame over what it takes on the wire: Ethernet's 38
	// bytes beside the packet, IP and TCP with timestamps 52 of it.
	share := float64(run.Goodput) / (float64(r.rate) * float64(r.mtu-52) / float64(r.mtu+38))
	a, b := before.Links["client1-server1"][0], after.Links["client1-server1"][0]
	n, lost := float64(b.Segments-a.Segments-(b.QueueDrops-a.QueueDrops)), float64(b.Lost-a.Lost)
	sd := 1.96 * math.Sqrt(r.loss*(1-r.loss)/n)
	cpu := (after.CPU - before.CPU).Seconds() / (float64(b.WireBytes-a.WireBytes) * 8 / 1e9)
	fmt.Fprintf(w, "| %s, %s, MTU %d, loss %.3g%% | %s | %.1f%% | %s | %s | %.4f%% (%.4f-%.4f%%) | %.4f%% | %.4f | %s |\n", r.rate, r.rtt, r.mtu, 100*r.loss, run.Goodput, 100*share,
		idle.Round(10*time.Microsecond), loaded.Round(10*time.Microsecond), 100*lost/n, 100*max(0, r.loss-sd), 100*(r.loss+sd), 100*resent(run), cpu, b.LatestSend.Round(10*time.Microsecond))
	for _, warning := range after.Warnings() {
		fmt.Fprintf(w, "%s: %s\n", warning.What, warning.Evidence)
	}
}

// resent is the share of the bytes that TCP sent again.
func resent(run model.Run) float64 {
	var first, last model.Conn
	for _, s := range run.Samples["client1"] {
		for _, c := range s.Conns {
			if first.BytesSent == 0 {
				first = c
			}
			last = c
		}
	}
	return float64(last.BytesRetrans-first.BytesRetrans) / float64(max(1, last.BytesSent-first.BytesSent))
}
