// Command load holds load block against fio and load tcp against iperf3, in pairs
// that take turns: requests per second and CPU per request of one thread with 32
// requests in flight, Gbit/s and CPU per GB, as ratios. Against fio both use io_uring
// with registered files and buffers, and both keep latencies; a run on a target that
// does nothing stands in every pair, for what a free generator would reach. The
// honesty bench holds the latencies of both against a schedule of stalls that is
// known. Pairs in which the hypervisor took CPU are repeated.
//
//	go run ./bench/load -dir /var/tmp
//	go run ./bench/load -only tcp
//	sudo unshare -m go run ./bench/load -only honest     # it mounts a file
//
// It needs fio or iperf3, io_uring and 1 GiB of room, and says so if it has not got
// them. It touches files of its own only, and removes them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
)

func main() {
	dir := flag.String("dir", "/var/tmp", "where the file lies")
	pairs := flag.Int("pairs", 15, "pairs per row")
	length := flag.Duration("for", 700*time.Millisecond, "of each run; load tcp takes whole seconds")
	size := flag.String("size", "512m", "of the file; it has to fit into memory for the cached rows")
	only := flag.String("only", "", "block, tcp or honest; default: block and tcp")
	flag.Parse()
	b := &bench{pairs: *pairs, length: *length, size: *size, out: os.Stdout}
	kit.Main("load", func(ctx context.Context) error {
		return kit.WithUser(ctx, *dir, "", func(u kit.User) error {
			b.User = u
			b.file = filepath.Join(u.Home, "file")
			return b.run(ctx, *only)
		})
	})
}

// row is one workload.
type row struct {
	name   string
	block  string
	read   int // percent
	direct bool
	order  string // random or sequential
}

func rows() []row {
	return []row{
		{"4k random read, page cache", "4k", 100, false, "random"},
		{"8k random read, page cache", "8k", 100, false, "random"},
		{"8k random 67/33, page cache", "8k", 67, false, "random"},
		{"4k random read, direct", "4k", 100, true, "random"},
		{"8k random 67/33, direct", "8k", 67, true, "random"},
		{"256k sequential read, page cache", "256k", 100, false, "sequential"},
	}
}

// fioStyles are ways to run fio; each row takes the one that is fastest there.
func fioStyles() map[string][]string {
	return map[string][]string{
		"one by one": nil,
		"batches":    {"--iodepth_batch_submit=8", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=8"},
	}
}

// figures of a run: requests per second, and CPU of the process in µs per request,
// kernel included; over TCP goodput in Gbit/s, and CPU seconds of the machine per
// 10^9 bytes, interrupts included.
type figures struct{ rate, cpu float64 }

type bench struct {
	kit.User
	file, size string
	pairs      int
	length     time.Duration // of a run
	out        io.Writer
	startup    time.Duration // CPU of fio that does one request
}

func (b *bench) run(ctx context.Context, only string) error {
	switch only {
	case "":
		return errors.Join(b.block(ctx), b.tcp(ctx))
	case "block":
		return b.block(ctx)
	case "tcp":
		return b.tcp(ctx)
	case "honest":
		return b.honest(ctx)
	}
	return fmt.Errorf("-only %s: choose block, tcp or honest", only)
}

// block holds load block against fio.
func (b *bench) block(ctx context.Context) error {
	version, err := kit.Output(exec.CommandContext(ctx, "fio", "--version"))
	if err != nil {
		return fmt.Errorf("find the peer: %w: install fio", err)
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s, %d pairs of %v, medians of ratios linerate / fio with their range\n\n", strings.TrimSpace(string(version)), b.pairs, b.length)
	kit.Head(b.out, "workload", "fio IOPS", "ratio of IOPS", "ratio of CPU per request", "a free generator's ratio", "of a free generator", "fio ran", "pairs repeated", "others took")
	var errs []error
	for _, r := range rows() {
		if err := b.row(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// prepare makes the file, and finds what fio costs without any load.
func (b *bench) prepare(ctx context.Context) error {
	if err := kit.Do(ctx, "truncate", "-s", b.size, b.file); err != nil {
		return err
	}
	if _, err := b.ours(ctx, rows()[0], "--fill"); err != nil {
		return err
	}
	var took []time.Duration
	for range 5 {
		cmd := exec.CommandContext(ctx, "fio", append(b.fioArgs(rows()[0]), "--number_ios=1")...)
		if _, err := kit.Output(cmd); err != nil {
			return err
		}
		took = append(took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	b.startup = kit.MedianOrZero(took)
	return nil
}

// row runs the pairs of a row; who begins takes turns.
func (b *bench) row(ctx context.Context, r row) error {
	if !r.direct {
		// What was written past the page cache is not there.
		if err := kit.Do(ctx, "dd", "if="+b.file, "of=/dev/null", "bs=1M"); err != nil {
			return err
		}
	}
	style, err := fastest(fioStyles(), func(name string) (figures, error) { return b.fio(ctx, r, name) })
	if err != nil {
		return err
	}
	var peers, iops, cpu, free, reached []float64
	var fio, own, null figures
	runs := []func() error{
		func() (err error) { fio, err = b.fio(ctx, r, style); return err },
		func() (err error) { own, err = b.ours(ctx, r); return err },
		func() (err error) { null, err = b.ours(ctx, r, "--engine", "null"); return err },
	}
	turns, err := b.turns(runs, func() {
		peers = append(peers, fio.rate)
		iops = append(iops, own.rate/fio.rate)
		cpu = append(cpu, own.cpu/fio.cpu)
		// Without the generator's own time a request would take so much less.
		rate := 1 / (1/own.rate - 1/null.rate)
		free = append(free, rate/fio.rate)
		reached = append(reached, own.rate/rate)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| %s | %.0f | %s | %s | %s | %.2f | %s | %s |\n", r.name, kit.MedianOrZero(peers), kit.Spread(iops), kit.Spread(cpu), kit.Spread(free), kit.MedianOrZero(reached), style, turns)
	return nil
}

// fastest is the style with the highest median rate of three turns; of equals the
// first by name.
func fastest(styles map[string][]string, run func(style string) (figures, error)) (string, error) {
	got := map[string][]float64{}
	for range 3 {
		for name := range styles {
			f, err := run(name)
			if err != nil {
				return "", err
			}
			got[name] = append(got[name], f.rate)
		}
	}
	byMedian := func(a, b string) int { return cmp.Compare(kit.MedianOrZero(got[a]), kit.MedianOrZero(got[b])) }
	return slices.MaxFunc(slices.Sorted(maps.Keys(got)), byMedian), nil
}

func (b *bench) fioArgs(r row) []string {
	kind := map[string]string{"random": "rand", "sequential": ""}[r.order]
	rw := kind + "read"
	if kind == "" {
		rw = "read"
	}
	args := []string{"--name=bench", "--filename=" + b.file, "--size=" + b.size, "--bs=" + r.block, "--ioengine=io_uring", "--iodepth=32", "--thread",
		"--registerfiles=1", "--fixedbufs=1", "--nonvectored=1", "--norandommap=1", "--random_generator=tausworthe64", "--invalidate=0", "--fallocate=none",
		"--output-format=json", "--group_reporting=1"}
	if r.read < 100 {
		rw = kind + "rw"
		args = append(args, fmt.Sprintf("--rwmixread=%d", r.read))
	}
	direct := 0
	if r.direct {
		direct = 1
	}
	return append(args, "--rw="+rw, fmt.Sprintf("--direct=%d", direct))
}

// fio runs the peer once.
func (b *bench) fio(ctx context.Context, r row, style string) (figures, error) {
	args := append(b.fioArgs(r), "--time_based", fmt.Sprintf("--runtime=%dms", b.length.Milliseconds()))
	cmd := exec.CommandContext(ctx, "fio", append(args, fioStyles()[style]...)...)
	type side struct {
		IOPS  float64 `json:"iops"`
		Total float64 `json:"total_ios"`
	}
	var got struct {
		Jobs []struct {
			Error       int
			Read, Write side
		}
	}
	if err := kit.Decode(cmd, &got); err != nil {
		return figures{}, err
	}
	if len(got.Jobs) != 1 || got.Jobs[0].Error != 0 {
		return figures{}, fmt.Errorf("fio failed: %+v", got.Jobs)
	}
	j := got.Jobs[0]
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - b.startup
	return figures{j.Read.IOPS + j.Write.IOPS, took.Seconds() * 1e6 / (j.Read.Total + j.Write.Total)}, nil
}

// ours runs load block once.
func (b *bench) ours(ctx context.Context, r row, also ...string) (figures, error) {
	args := []string{"load", "block", b.file, "--pattern", r.order, "--block", r.block, "--read", fmt.Sprint(r.read), "--qd", "32",
		"--for", b.length.String(), "--json"}
	if r.read < 100 {
		args = append(args, "--destroy", b.file)
	}
	if r.direct {
		args = append(args, "--direct")
	}
	var got struct {
		Load struct {
			IOPS   float64 `json:"iops"`
			CPU    float64 `json:"cpu_us_per_io"`
			Failed int64   `json:"failed"`
		}
		Spec struct{ Engine string }
	}
	if err := b.Ask(ctx, &got, append(args, also...)...); err != nil {
		return figures{}, err
	}
	if got.Load.Failed > 0 || got.Spec.Engine == "calls" {
		return figures{}, fmt.Errorf("linerate: %d requests failed, engine %s: io_uring is needed", got.Load.Failed, got.Spec.Engine)
	}
	return figures{got.Load.IOPS, got.Load.CPU}, nil
}
