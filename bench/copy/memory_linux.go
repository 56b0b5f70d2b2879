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
)

// memoryTime is how long each run from memory to memory takes.
const memoryTime = 2 * time.Second

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
		if err := json.Unmarshal([]byte(strings.TrimSpace(string(out))), &r); err != nil {
			return 0, err
		}
		best = max(best, r.End.Received.Rate)
	}
	return best, nil
}
