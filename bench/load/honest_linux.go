package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"

	"linerate/internal/stat"
)

// The honesty bench: writes at a set rate to a file system that stands still for
// 100 ms of every second. The requests that were due meanwhile have waited, whoever
// counts them.
const (
	honestRate    = 1000 // requests per second, evenly spaced
	honestStall   = 100 * time.Millisecond
	honestSeconds = 10
)

// honest makes an ext4 in a file, mounts it (in the mount namespace that it was
// started in), and holds the quantiles of both against what the stalls say.
func (b *bench) honest(ctx context.Context) (err error) {
	image, dir := filepath.Join(b.Home, "image"), filepath.Join(b.Home, "mnt")
	for _, argv := range [][]string{{"truncate", "-s", "256m", image}, {"mkfs.ext4", "-q", image}, {"mkdir", dir}, {"mount", "-o", "loop", image, dir}} {
		if err := kit.Do(ctx, argv...); err != nil {
			return fmt.Errorf("make a file system that can stand still: %w", err)
		}
	}
	defer func() { err = errors.Join(err, unmount(dir)) }()
	file := filepath.Join(dir, "f")
	if err := kit.Do(ctx, "fio", "--name=fill", "--filename="+file, "--size=64m", "--rw=write", "--bs=1m", "--end_fsync=1"); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%d writes of 4 KiB per second, direct, on a file system that stands still for %v of every second, for %d s\n\n", honestRate, honestStall, honestSeconds)
	kit.Head(b.out, "who", "p50 ms", "p99 ms", "p99.9 ms", "p99 / truth", "p99.9 / truth")
	for _, who := range []struct {
		name string
		run  func(context.Context, string) ([3]float64, error)
	}{{"linerate", b.honestOwn}, {"fio", b.honestFio}} {
		if err := b.honestRow(ctx, who.name, dir, func(ctx context.Context) ([3]float64, error) { return who.run(ctx, file) }); err != nil {
			return err
		}
	}
	return nil
}

// unmount waits for the kernel to let go of what a ring held open: it does that
// after the process has ended.
func unmount(dir string) error {
	for try := 0; ; try++ {
		out, err := exec.Command("umount", dir).CombinedOutput()
		if err == nil || try == 50 {
			return err
		}
		if !strings.Contains(string(out), "busy") {
			return fmt.Errorf("umount %s: %w: %s", dir, err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (b *bench) honestRow(ctx context.Context, name, dir string, run func(context.Context) ([3]float64, error)) error {
	freezing, end := context.WithCancel(ctx)
	defer end()
	type frozen struct {
		stalls []stall
		err    error
	}
	done := make(chan frozen, 1)
	go func() { s, err := freeze(freezing, dir, honestStall); done <- frozen{s, err} }()
	got, err := run(ctx)
	end()
	f := <-done
	if err := errors.Join(err, f.err); err != nil {
		return err
	}
	p99, p999 := truth(f.stalls, got[0])
	fmt.Fprintf(b.out, "| %s | %.3f | %.2f | %.2f | %.3f | %.3f |\n", name, got[0], got[1], got[2], got[1]/p99, got[2]/p999)
	fmt.Fprintf(b.out, "| the truth (%d stalls) | | %.2f | %.2f | | |\n", len(f.stalls), p99, p999)
	return nil
}

// truth is the 99th and 99.9th percentile in ms of evenly spaced requests, of which
// those that are due within a stall wait for its end, and then as long as others
// (usual, in ms).
func truth(stalls []stall, usual float64) (p99, p999 float64) {
	if len(stalls) == 0 {
		return usual, usual
	}
	var all []float64
	first := stalls[0].from
	// Whole periods from stall to stall: each second of the run is like every other.
	for k := range honestRate * len(stalls) {
		due, wait := first.Add(time.Duration(k)*time.Second/honestRate), 0.0
		for _, s := range stalls {
			if !due.Before(s.from) && due.Before(s.to) {
				wait = s.to.Sub(due).Seconds() * 1000
			}
		}
		all = append(all, wait+usual)
	}
	slices.Sort(all)
	return stat.NearestRank(all, 0.99), stat.NearestRank(all, 0.999)
}

func (b *bench) honestOwn(ctx context.Context, file string) (q [3]float64, err error) {
	var got struct {
		Load struct {
			Latency struct{ P50, P99, P999 float64 } `json:"latency_ns"`
		}
	}
	err = b.Ask(ctx, &got, "load", "block", file, "--read", "0", "--block", "4k", "--direct", "--qd", "32", "--rate", fmt.Sprint(honestRate),
		"--arrivals", "uniform", "--seconds", fmt.Sprint(honestSeconds), "--destroy", file, "--json")
	l := got.Load.Latency
	return [3]float64{l.P50 / 1e6, l.P99 / 1e6, l.P999 / 1e6}, err
}

func (b *bench) honestFio(ctx context.Context, file string) (q [3]float64, err error) {
	cmd := exec.CommandContext(ctx, "fio", "--name=bench", "--filename="+file, "--size=64m", "--bs=4k", "--rw=randwrite", "--direct=1", "--ioengine=io_uring",
		"--iodepth=32", "--thread", fmt.Sprintf("--rate_iops=%d", honestRate), "--time_based", fmt.Sprintf("--runtime=%d", honestSeconds),
		"--lat_percentiles=1", "--percentile_list=50:99:99.9", "--output-format=json")
	var got struct {
		Jobs []struct {
			Write struct {
				Lat struct {
					Percentile map[string]float64
				} `json:"lat_ns"`
			}
		}
	}
	if err := kit.Decode(cmd, &got); err != nil {
		return q, err
	}
	if len(got.Jobs) != 1 {
		return q, fmt.Errorf("fio told of %d jobs, not of one", len(got.Jobs))
	}
	p := got.Jobs[0].Write.Lat.Percentile
	return [3]float64{p["50.000000"] / 1e6, p["99.000000"] / 1e6, p["99.900000"] / 1e6}, nil
}

// Requests of ioctl that stop a file system and let it go on (FIFREEZE and FITHAW,
// include/uapi/linux/fs.h).
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// stall is a time in which nothing could be written.
type stall struct{ from, to time.Time }

// freeze stops the file system of dir for a time in every second, until ctx ends.
// What it returns is what a prober has met: the kernel stops writers only some
// milliseconds after it was told to (a grace period of RCU, percpu_down_write in
// kernel/locking/percpu-rwsem.c), and does not say when.
func freeze(ctx context.Context, dir string, d time.Duration) (out []stall, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("stop the file system: %w", err)
	}
	defer unix.Close(fd)
	probing, end := context.WithCancel(context.Background())
	type met struct {
		stalls []stall
		err    error
	}
	probed := make(chan met, 1)
	go func() { s, err := probe(probing, filepath.Join(dir, "probe")); probed <- met{s, err} }()
	defer func() {
		end()
		m := <-probed
		out, err = m.stalls, errors.Join(err, m.err)
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-ticker.C:
		}
		until := time.Now().Add(d)
		if err := unix.IoctlSetInt(fd, fiFreeze, 0); err != nil {
			return nil, fmt.Errorf("stop the file system: %w", err)
		}
		time.Sleep(time.Until(until))
		if err := unix.IoctlSetInt(fd, fiThaw, 0); err != nil {
			return nil, fmt.Errorf("let the file system go on: %w", err)
		}
	}
}

// Of the prober: how often it writes, and what of a write is a stall.
const (
	probeEvery = 200 * time.Microsecond
	probeStall = 30 * time.Millisecond
)

// probe writes to a file of its own again and again, and notes the writes that took
// long: each began when nothing could be written any more, give or take probeEvery,
// and ended when it could.
func probe(ctx context.Context, path string) (out []stall, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("probe the file system: %w", err)
	}
	defer unix.Close(fd)
	block := make([]byte, 512)
	for ctx.Err() == nil {
		s := stall{from: time.Now()}
		if _, err := unix.Pwrite(fd, block, 0); err != nil {
			return out, fmt.Errorf("probe the file system: %w", err)
		}
		if s.to = time.Now(); s.to.Sub(s.from) > probeStall {
			out = append(out, s)
		}
		time.Sleep(probeEvery)
	}
	return out, nil
}
