package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"linerate/bench/kit"
)

// tcpPort is where iperf3 listens on loopback.
const tcpPort = "35201"

// iperfStyles are ways to run iperf3 with a receiver that copies; each row takes
// the one that is fastest there.
func iperfStyles() map[string][]string {
	return map[string][]string{"defaults": nil, "1 MiB writes": {"-l", "1M"}, "zero copy": {"-Z"}, "zero copy, 1 MiB": {"-Z", "-l", "1M"}}
}

// ownStyles are ways to run load tcp.
func ownStyles() map[string][]string {
	return map[string][]string{"defaults": nil, "sendfile": {"--sendfile"}}
}

// tcpRow is a number of streams and what the receivers do with what arrives.
type tcpRow struct {
	streams int
	discard bool // dropped in the kernel
}

func (r tcpRow) String() string {
	if r.discard {
		return fmt.Sprintf("%d, dropped in the kernel", r.streams)
	}
	return fmt.Sprint(r.streams)
}

// tcp holds load tcp against iperf3 on loopback.
func (b *bench) tcp(ctx context.Context) error {
	version, err := kit.Output(exec.CommandContext(ctx, "iperf3", "--version"))
	if err != nil {
		return fmt.Errorf("find the peer: %w: install iperf3", err)
	}
	help, err := exec.CommandContext(ctx, "iperf3", "--help").CombinedOutput()
	if err != nil {
		return fmt.Errorf("iperf3 --help: %w", err)
	}
	rows := []tcpRow{{1, false}, {4, false}, {1, true}, {4, true}}
	var errs []error
	if !strings.Contains(string(help), "skip-rx-copy") {
		rows = rows[:2]
		errs = append(errs, errors.New("the rows of --discard: this iperf3 has no --skip-rx-copy to hold it against: put one of 3.17 or later first on PATH"))
	}
	first, _, _ := strings.Cut(string(version), "\n")
	fmt.Fprintf(b.out, "\n%s, loopback, cubic at both, %d pairs of %d s, medians of ratios linerate / iperf3 with their range; CPU is the whole machine's, interrupts included\n\n", first, b.pairs, b.wholeSeconds())
	kit.Head(b.out, "streams", "iperf3 Gbit/s", "ratio of Gbit/s", "ratio of CPU per GB", "iperf3 ran", "linerate ran", "pairs repeated", "others took")
	for _, r := range rows {
		if err := b.tcpRow(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("%v streams: %w", r, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// wholeSeconds is how long a run over TCP takes: iperf3 knows no parts of seconds.
func (b *bench) wholeSeconds() int { return max(1, int(math.Ceil(b.length.Seconds()))) }

func (b *bench) tcpRow(ctx context.Context, r tcpRow) error {
	style, err := fastest(iperfStyles(), func(name string) (figures, error) { return b.iperf(ctx, r, name) })
	if err != nil {
		return err
	}
	way, err := fastest(ownStyles(), func(name string) (figures, error) { return b.ownTCP(ctx, r, name) })
	if err != nil {
		return err
	}
	var peers, rates, cpus []float64
	var own, peer figures
	t, err := b.turns([]func() error{
		func() (err error) { own, err = b.ownTCP(ctx, r, way); return err },
		func() (err error) { peer, err = b.iperf(ctx, r, style); return err },
	}, func() {
		peers = append(peers, peer.rate)
		rates = append(rates, own.rate/peer.rate)
		cpus = append(cpus, own.cpu/peer.cpu)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| %v | %.1f | %s | %s | %s | %s | %s |\n", r, kit.MedianOrZero(peers), kit.Spread(rates), kit.Spread(cpus), style, way, t)
	return nil
}

// iperf runs the peer once: a server for one client, of which the first second
// does not count. The CPU time of the machine is read within the rest.
func (b *bench) iperf(ctx context.Context, r tcpRow, style string) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.wholeSeconds()+10)*time.Second)
	defer cancel()
	server := exec.CommandContext(ctx, "iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", tcpPort)
	if err := server.Start(); err != nil {
		return f, err
	}
	defer func() { cancel(); _ = server.Wait() }() // one that still waits for a client is killed
	if err := listening(ctx); err != nil {
		return f, err
	}
	args := append([]string{"-c", "127.0.0.1", "-p", tcpPort, "-P", fmt.Sprint(r.streams), "-t", fmt.Sprint(b.wholeSeconds()), "-O", "1", "-C", "cubic", "-J"}, iperfStyles()[style]...)
	if r.discard {
		args = append(args, "--skip-rx-copy")
	}
	type reading struct {
		kit.CPU
		err error
	}
	readings := make(chan reading, 2)
	began := time.Now()
	for _, at := range []time.Duration{1200 * time.Millisecond, time.Duration(b.wholeSeconds())*time.Second + 800*time.Millisecond} {
		time.AfterFunc(time.Until(began.Add(at)), func() { c, _, err := kit.ReadCPU(); readings <- reading{c, err} })
	}
	var got struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := kit.Decode(exec.CommandContext(ctx, "iperf3", args...), &got); err != nil {
		return f, err
	}
	if got.End.Received.Rate <= 0 {
		return f, errors.New("iperf3 received nothing")
	}
	one, two := <-readings, <-readings
	if err := errors.Join(one.err, two.err); err != nil {
		return f, err
	}
	f.rate = got.End.Received.Rate / 1e9
	moved := f.rate / 8 * (float64(b.wholeSeconds()) - 0.4) // 10^9 bytes between the readings
	f.cpu = (two.Busy - one.Busy).Abs().Seconds() / moved
	return f, nil
}

// listening waits for the server's socket: a connection would be its one client.
func listening(ctx context.Context) error {
	port := fmt.Sprintf(":%04X 00000000:0000 0A", 35201)
	for {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			return err
		}
		if strings.Contains(string(table), port) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("iperf3 does not listen: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ownTCP runs load tcp once.
func (b *bench) ownTCP(ctx context.Context, r tcpRow, style string) (f figures, err error) {
	args := []string{"load", "tcp", "--streams", fmt.Sprint(r.streams), "--seconds", fmt.Sprint(b.wholeSeconds()), "--congestion", "cubic", "--json"}
	args = append(args, ownStyles()[style]...)
	if r.discard {
		args = append(args, "--discard")
	}
	var got struct {
		Load struct {
			Goodput float64 `json:"goodput_bps"`
		}
		Directions []struct {
			Sender struct {
				Busy *float64 `json:"machine_busy_s_per_gb"`
			}
		}
	}
	if err := b.Ask(ctx, &got, args...); err != nil {
		return f, err
	}
	if len(got.Directions) != 1 || got.Directions[0].Sender.Busy == nil {
		return f, errors.New("linerate printed no CPU time of the one direction that was asked for")
	}
	return figures{got.Load.Goodput / 1e9, *got.Directions[0].Sender.Busy}, nil
}
