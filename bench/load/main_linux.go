// Command load holds load block against fio and load tcp against iperf3, in pairs
// that take turns: requests per second and CPU per request of one thread with 32
// requests in flight, Gbit/s and CPU per GB, as ratios. Against fio both use io_uring
// with registered files and buffers, and both keep latencies. The honesty bench holds
// the latencies of both against a schedule of stalls that is known.
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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	dir := flag.String("dir", "/var/tmp", "where the file lies")
	pairs := flag.Int("pairs", 5, "pairs per row")
	seconds := flag.Int("seconds", 2, "of each run")
	size := flag.String("size", "512m", "of the file; it has to fit into memory for the cached rows")
	only := flag.String("only", "", "block, tcp or honest; default: block and tcp")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{dir: *dir, pairs: *pairs, seconds: *seconds, size: *size, out: os.Stdout}
	if err := b.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench/load:", err)
		os.Exit(1)
	}
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

// figures of a run: requests per second, and CPU of the process in µs per
// request, kernel included.
type figures struct{ iops, cpu float64 }

type bench struct {
	dir, size      string
	pairs, seconds int
	out            io.Writer
	binary, file   string
	startup        time.Duration // CPU of fio that does one request
}

func (b *bench) run(ctx context.Context, only string) (err error) {
	work, err := os.MkdirTemp(b.dir, "linerate-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b.binary, b.file = filepath.Join(work, "linerate"), filepath.Join(work, "file")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/linerate").CombinedOutput(); err != nil {
		return fmt.Errorf("build linerate: %w\n%s", err, out)
	}
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
	version, err := exec.CommandContext(ctx, "fio", "--version").Output()
	if err != nil {
		return fmt.Errorf("find the peer: %w: install fio", err)
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s, %d pairs of %d s, medians of ratios linerate / fio with their range\n\n", strings.TrimSpace(string(version)), b.pairs, b.seconds)
	fmt.Fprintln(b.out, "| workload | fio IOPS | ratio of IOPS | ratio of CPU per request | a free generator's ratio | fio ran |\n|---|---|---|---|---|---|")
	for _, r := range rows() {
		if err := b.row(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// prepare makes the file, and finds what fio costs without any load.
func (b *bench) prepare(ctx context.Context) error {
	f, err := os.Create(b.file)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "truncate", "-s", b.size, b.file).CombinedOutput(); err != nil {
		return fmt.Errorf("make file: %w: %s", err, out)
	}
	if _, err := b.ours(ctx, rows()[0], "--fill"); err != nil {
		return err
	}
	var least time.Duration
	for range 3 {
		cmd := exec.CommandContext(ctx, "fio", append(b.fioArgs(rows()[0]), "--number_ios=1")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fio: %w: %s", err, out)
		}
		if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); least == 0 || took < least {
			least = took
		}
	}
	b.startup = least
	return nil
}

// row runs the pairs of a row, each in the other order than the one before.
func (b *bench) row(ctx context.Context, r row) error {
	style, err := b.fastest(ctx, r)
	if err != nil {
		return err
	}
	null, err := b.ours(ctx, r, "--engine", "null")
	if err != nil {
		return err
	}
	var peers, iops, cpu, free []float64
	for i := range b.pairs {
		var fio, own figures
		if i%2 == 0 {
			fio, err = b.fio(ctx, r, style)
			if err == nil {
				own, err = b.ours(ctx, r)
			}
		} else {
			own, err = b.ours(ctx, r)
			if err == nil {
				fio, err = b.fio(ctx, r, style)
			}
		}
		if err != nil {
			return err
		}
		peers = append(peers, fio.iops)
		iops, cpu = append(iops, own.iops/fio.iops), append(cpu, own.cpu/fio.cpu)
		// Without the generator's own time a request would take so much less.
		free = append(free, 1/(1/own.iops-1/null.iops)/fio.iops)
	}
	fmt.Fprintf(b.out, "| %s | %.0f | %s | %s | %s | %s |\n", r.name, median(peers), spread(iops), spread(cpu), spread(free), style)
	return nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func spread(v []float64) string {
	return fmt.Sprintf("%.2f (%.2f-%.2f)", median(v), slices.Min(v), slices.Max(v))
}

// fastest finds how fio does best.
func (b *bench) fastest(ctx context.Context, r row) (string, error) {
	best, name := 0.0, ""
	for _, s := range slices.Sorted(maps.Keys(fioStyles())) {
		f, err := b.fio(ctx, r, s)
		if err != nil {
			return "", err
		}
		if f.iops > best {
			best, name = f.iops, s
		}
	}
	return name, nil
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
	args := append(b.fioArgs(r), "--time_based", fmt.Sprintf("--runtime=%d", b.seconds))
	cmd := exec.CommandContext(ctx, "fio", append(args, fioStyles()[style]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("fio: %w", err)
	}
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
	// What fio has to say about its options comes before the JSON.
	if i := strings.IndexByte(string(out), '{'); i > 0 {
		out = out[i:]
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.Jobs) != 1 || got.Jobs[0].Error != 0 {
		return figures{}, fmt.Errorf("read what fio says: %w: %.200s", cmp.Or(err, errors.New("it failed")), out)
	}
	j := got.Jobs[0]
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - b.startup
	return figures{j.Read.IOPS + j.Write.IOPS, took.Seconds() * 1e6 / (j.Read.Total + j.Write.Total)}, nil
}

// ours runs load block once.
func (b *bench) ours(ctx context.Context, r row, also ...string) (figures, error) {
	args := []string{"load", "block", b.file, "--pattern", r.order, "--block", r.block, "--read", fmt.Sprint(r.read), "--qd", "32",
		"--seconds", fmt.Sprint(b.seconds), "--json"}
	if r.read < 100 {
		args = append(args, "--destroy", b.file)
	}
	if r.direct {
		args = append(args, "--direct")
	}
	cmd := exec.CommandContext(ctx, b.binary, append(args, also...)...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(filepath.Dir(b.file), "data")) // its bundles go with the file
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("linerate: %w: %s", err, stderr.String())
	}
	var got struct {
		Load struct {
			IOPS   float64 `json:"iops"`
			CPU    float64 `json:"cpu_us_per_io"`
			Failed int64   `json:"failed"`
		}
		Spec struct{ Engine string }
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return figures{}, fmt.Errorf("read what linerate says: %w", err)
	}
	if got.Load.Failed > 0 || got.Spec.Engine == "calls" {
		return figures{}, fmt.Errorf("linerate: %d requests failed, engine %s: io_uring is needed", got.Load.Failed, got.Spec.Engine)
	}
	return figures{got.Load.IOPS, got.Load.CPU}, nil
}
