package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/unit"
)

// memoryTime is how long each run from memory to memory takes.
const memoryTime = 2 * time.Second

// On a long line a run takes longer, for its windows have to grow first.
const (
	longMemoryTime = 20 * time.Second
	longStreams    = 8
)

// memory holds copy --mem, in the clear and encrypted, against iperf3 over the loopback.
func (b *bench) memory(ctx context.Context) error {
	iperf, err := exec.LookPath("iperf3")
	if err != nil {
		b.leaveOut("iperf3", "it is not installed")
	}
	fmt.Printf("**Memory to memory**, loopback, %d pairs of %v; iperf3 with -Z and with writes of 1 MiB, the faster counts\n\n", b.rounds+2, memoryTime)
	kit.Head(os.Stdout, "streams", "copy --mem --plain, Gbit/s", "over iperf3", "copy --mem, Gbit/s", "CPU-s/GB plain", "CPU-s/GB encrypted")
	for _, streams := range []int{1, 4} {
		var plain, sealed, over, used, usedSealed []float64
		for range b.rounds + 2 {
			p, err := b.mem(ctx, streams, "--plain")
			if err != nil {
				return err
			}
			s, err := b.mem(ctx, streams)
			if err != nil {
				return err
			}
			plain, used = append(plain, p.Rate/1e9), append(used, p.perGB())
			sealed, usedSealed = append(sealed, s.Rate/1e9), append(usedSealed, s.perGB())
			if iperf == "" {
				continue
			}
			best, err := b.iperf(ctx, iperf, streams)
			if err != nil {
				b.leaveOut("iperf3", err.Error())
				iperf = ""
				continue
			}
			over = append(over, p.Rate/best)
		}
		ratio := kit.None
		if len(over) > 0 {
			ratio = kit.Spread(over)
		}
		fmt.Printf("| %d | %.1f | %s | %.1f | %.2f | %.2f |\n", streams, kit.MedianOrZero(plain), ratio, kit.MedianOrZero(sealed), kit.MedianOrZero(used), kit.MedianOrZero(usedSealed))
	}
	fmt.Println()
	return nil
}

// memoryOver is copy --mem between two hosts of a lab at the ends of a long line, at both MTUs, held against
// iperf3 there and against what TCP over IPv4 with timestamps (52 bytes a packet) and Ethernet (38: header,
// checksum, preamble, gap) leave of the line.
func (b *bench) memoryOver(ctx context.Context, rate string) error {
	fmt.Printf("**Memory to memory**, %s and 16 ms, %d pairs of %v, %d streams; iperf3 with -Z\n\n", rate, b.rounds, longMemoryTime, longStreams)
	kit.Head(os.Stdout, "MTU", "copy --mem --plain, Gbit/s", "copy --mem, Gbit/s", "iperf3, Gbit/s", "copy --mem --plain over iperf3", "of what headers leave of the line")
	line, err := unit.ParseBitRate(rate)
	if err != nil {
		return err
	}
	for _, mtu := range []int{1500, 9000} {
		most := float64(line) / 1e9 * float64(mtu-20-32) / float64(mtu+38)
		err := b.inLab(ctx, rate, "16ms", mtu, nil, func(lab.Status) error {
			var plain, sealed, other, over []float64
			for range b.rounds {
				p, err := b.memBetween(ctx, "--plain")
				if err != nil {
					return err
				}
				s, err := b.memBetween(ctx)
				if err != nil {
					return err
				}
				plain, sealed = append(plain, p.Rate/1e9), append(sealed, s.Rate/1e9)
				if i, err := b.iperfBetween(ctx); err != nil {
					b.leaveOut("iperf3", err.Error())
				} else {
					other, over = append(other, i/1e9), append(over, p.Rate/i)
				}
			}
			ratio := kit.None
			if len(over) > 0 {
				ratio = kit.Spread(over)
			}
			fmt.Printf("| %d | %s | %s | %.2f | %s | %.1f%% |\n", mtu, kit.Spread(plain), kit.Spread(sealed), kit.MedianOrZero(other), ratio, 100*kit.MedianOrZero(plain)/most)
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// memBetween is one run of copy --mem between the lab's hosts.
func (b *bench) memBetween(ctx context.Context, more ...string) (t told, err error) {
	argv := append([]string{"copy", "--json", "--mem", longMemoryTime.String(), "--streams", fmt.Sprint(longStreams)}, more...)
	err = kit.Decode(b.Command(ctx, append(argv, "lab:client1", "lab:server1")...), &t)
	return t, err
}

// iperfBetween is one run of iperf3 between the lab's hosts, in bit/s.
func (b *bench) iperfBetween(ctx context.Context) (float64, error) {
	server := b.Command(ctx, "lab", "exec", "server1", "--", "iperf3", "-s", "-1")
	if err := server.Start(); err != nil {
		return 0, err
	}
	defer func() { _, _ = server.Process.Kill(), server.Wait() }() // it ends by itself after one client
	time.Sleep(500 * time.Millisecond)                             // it does not say when it listens
	return received(b.Command(ctx, "lab", "exec", "client1", "--", "iperf3", "-J", "-Z", "-c", "10.10.0.2",
		"-P", fmt.Sprint(longStreams), "-t", fmt.Sprintf("%.0f", longMemoryTime.Seconds())))
}

// told is what a copy says of itself.
type told struct {
	Rate   float64 `json:"rate_bps"`
	CPU    float64 `json:"cpu_s"`
	TookNs int64   `json:"took_ns"`
	Moved  struct {
		Bytes   int64 `json:"bytes"`
		Resumed int64 `json:"resumed_bytes"`
		Journal int64 `json:"journal_ns"`
	} `json:"moved"`
}

func (t told) perGB() float64 { return t.CPU / max(1e-9, float64(t.Moved.Bytes)/1e9) }

func (b *bench) mem(ctx context.Context, streams int, more ...string) (t told, err error) {
	err = kit.Decode(b.Command(ctx, append([]string{"copy", "--json", "--mem", memoryTime.String(), "--streams", fmt.Sprint(streams), "localhost"}, more...)...), &t)
	return t, err
}

// iperf is the faster of iperf3's ways, in bit/s.
func (b *bench) iperf(ctx context.Context, iperf string, streams int) (best float64, err error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	server := exec.CommandContext(ctx, iperf, "-s", "-p", fmt.Sprint(port))
	if err := server.Start(); err != nil {
		return 0, err
	}
	defer func() { _, _ = server.Process.Kill(), server.Wait() }() // it serves until then
	time.Sleep(200 * time.Millisecond)                             // it does not say when it listens
	for _, way := range []string{"-Z", "-l1M"} {
		cmd := exec.CommandContext(ctx, iperf, "-J", "-c", "127.0.0.1", "-p", fmt.Sprint(port), "-P", fmt.Sprint(streams), "-t", fmt.Sprintf("%.0f", memoryTime.Seconds()), way)
		rate, err := received(cmd)
		if err != nil {
			return 0, err
		}
		best = max(best, rate)
	}
	return best, nil
}

// received is the rate that iperf3's client has of its server, in bit/s.
func received(cmd *exec.Cmd) (float64, error) {
	out, err := kit.Output(cmd)
	if err != nil {
		return 0, err
	}
	var r struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	err = json.Unmarshal([]byte(strings.TrimSpace(string(out))), &r)
	return r.End.Received.Rate, err
}
