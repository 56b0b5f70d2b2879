package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tcpPort is where iperf3 listens on loopback.
const tcpPort = "35201"

// tcpFigures are goodput in Gbit/s, and what the machine took per 10^9 bytes,
// interrupts included.
type tcpFigures struct{ rate, cpu float64 }

// iperfStyles are ways to run iperf3 with a receiver that copies; each row takes
// the one that is fastest there.
func iperfStyles() map[string][]string {
	return map[string][]string{"defaults": nil, "1 MiB writes": {"-l", "1M"}, "zero copy": {"-Z"}, "zero copy, 1 MiB": {"-Z", "-l", "1M"}}
}

// tcp holds load tcp against iperf3 on loopback.
func (b *bench) tcp(ctx context.Context) error {
	version, err := exec.CommandContext(ctx, "iperf3", "--version").Output()
	if err != nil {
		return fmt.Errorf("find the peer: %w: install iperf3", err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	fmt.Fprintf(b.out, "\n%s, loopback, cubic at both, %d pairs of %d s, medians of ratios linerate / iperf3 with their range; CPU is the whole machine's, interrupts included\n\n", first, b.pairs, b.seconds)
	fmt.Fprintln(b.out, "| streams | iperf3 Gbit/s | ratio of Gbit/s | ratio of CPU per GB | iperf3 ran |\n|---|---|---|---|---|")
	for _, streams := range []int{1, 4} {
		best, style := 0.0, ""
		for name := range iperfStyles() {
			f, err := b.iperf(ctx, streams, name)
			if err != nil {
				return err
			}
			if f.rate > best {
				best, style = f.rate, name
			}
		}
		var peers, rates, cpus []float64
		for i := range b.pairs {
			var own, peer tcpFigures
			runs := []func() error{
				func() (err error) { own, err = b.ownTCP(ctx, streams); return err },
				func() (err error) { peer, err = b.iperf(ctx, streams, style); return err },
			}
			for k := range runs {
				if err := runs[(k+i)%2](); err != nil {
					return err
				}
			}
			peers, rates, cpus = append(peers, peer.rate), append(rates, own.rate/peer.rate), append(cpus, own.cpu/peer.cpu)
		}
		fmt.Fprintf(b.out, "| %d | %.1f | %s | %s | %s |\n", streams, median(peers), spread(rates), spread(cpus), style)
	}
	return b.skipCopy(ctx)
}

// skipCopy says what cannot be compared: receivers that drop in the kernel.
func (b *bench) skipCopy(ctx context.Context) error {
	help, err := exec.CommandContext(ctx, "iperf3", "--help").CombinedOutput()
	if err != nil {
		return fmt.Errorf("iperf3 --help: %w", err)
	}
	if !strings.Contains(string(help), "skip-rx-copy") {
		fmt.Fprintln(b.out, "\n--discard is not compared: this iperf3 has no --skip-rx-copy (3.17 has)")
	}
	return nil
}

// busyTime is what the machine's cores have done so far (proc_stat(5)).
func busyTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	words := strings.Fields(line)
	if len(words) < 8 || words[0] != "cpu" {
		return 0, errors.New("read /proc/stat: no line of all cores")
	}
	ticks := int64(0)
	for i, w := range words[1:8] { // user nice system idle iowait irq softirq
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/stat: %w", err)
		}
		if i != 3 && i != 4 {
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil // USER_HZ is 100
}

// iperf runs the peer once: a server for one client, of which the first second
// does not count. The machine is looked at within the rest.
func (b *bench) iperf(ctx context.Context, streams int, style string) (f tcpFigures, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.seconds+10)*time.Second)
	defer cancel()
	server := exec.CommandContext(ctx, "iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", tcpPort)
	if err := server.Start(); err != nil {
		return f, err
	}
	defer func() { cancel(); _ = server.Wait() }() // one that still waits for a client is killed
	if err := listening(ctx); err != nil {
		return f, err
	}
	args := append([]string{"-c", "127.0.0.1", "-p", tcpPort, "-P", fmt.Sprint(streams), "-t", fmt.Sprint(b.seconds), "-O", "1", "-C", "cubic", "-J"}, iperfStyles()[style]...)
	type look struct {
		busy time.Duration
		err  error
	}
	looks := make(chan look, 2)
	began := time.Now()
	for _, at := range []time.Duration{1200 * time.Millisecond, time.Duration(b.seconds)*time.Second + 800*time.Millisecond} {
		time.AfterFunc(time.Until(began.Add(at)), func() { busy, err := busyTime(); looks <- look{busy, err} })
	}
	out, err := exec.CommandContext(ctx, "iperf3", args...).Output()
	if err != nil {
		return f, fmt.Errorf("iperf3: %w: %.300s", err, out)
	}
	one, two := <-looks, <-looks
	if err := errors.Join(one.err, two.err); err != nil {
		return f, err
	}
	var got struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal(out, &got); err != nil || got.End.Received.Rate <= 0 {
		return f, fmt.Errorf("read what iperf3 says: %w: %.300s", err, out)
	}
	f.rate = got.End.Received.Rate / 1e9
	moved := f.rate / 8 * (float64(b.seconds) - 0.4) // 10^9 bytes between the looks
	f.cpu = (two.busy - one.busy).Abs().Seconds() / moved
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
func (b *bench) ownTCP(ctx context.Context, streams int) (f tcpFigures, err error) {
	cmd := exec.CommandContext(ctx, b.binary, "load", "tcp", "--streams", fmt.Sprint(streams), "--seconds", fmt.Sprint(b.seconds), "--congestion", "cubic", "--json")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(filepath.Dir(b.file), "data"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("linerate: %w: %s", err, stderr.String())
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
	if err := json.Unmarshal(out, &got); err != nil || len(got.Directions) != 1 || got.Directions[0].Sender.Busy == nil {
		return f, fmt.Errorf("read what linerate says: %w: %.300s", err, out)
	}
	return tcpFigures{got.Load.Goodput / 1e9, *got.Directions[0].Sender.Busy}, nil
}
