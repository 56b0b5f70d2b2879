package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/move"
)

// resume measures what a kill costs, what the journal costs, and that a sparse file takes the
// time of its data.
func (b *bench) resume(ctx context.Context) error {
	n, err := b.large(b.mib)
	if err != nil {
		return err
	}
	fmt.Printf("**After kill -9**, one file of %d MiB; what the journal took of the time; a sparse file of 1 TiB\n\n", b.mib)
	kit.Head(os.Stdout, "what", "figure")
	var journal []float64
	for range b.rounds {
		if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755), b.settle()); err != nil {
			return err
		}
		t, err := b.told(ctx)
		if err != nil {
			return err
		}
		journal = append(journal, 100*float64(t.Moved.Journal)/float64(t.TookNs))
	}
	fmt.Printf("| time in which data were made durable for the journal, beside the rest, in %% of a copy here | %s |\n", kit.Spread(journal))
	var again, on []float64
	for range b.rounds {
		lost, took, err := b.resumed(ctx, n)
		if err != nil {
			return err
		}
		if lost >= 0 {
			again, on = append(again, float64(lost)/(1<<20)), append(on, took.Seconds())
		}
	}
	if len(again) > 0 {
		fmt.Printf("| MiB that had been written and were sent again | %s |\n| s until the next run wrote more | %s |\n", kit.Spread(again), kit.Spread(on))
	}
	if err := b.journalled(ctx); err != nil {
		return err
	}
	return b.sparse(ctx)
}

// journalled holds copies of files that are just large enough for a journal against those of files that are
// one page smaller and have none: all else is the same, but that these are made durable together.
func (b *bench) journalled(ctx context.Context) error {
	const files, from, page = 16, 64 << 20, 4 << 10
	src := b.src
	defer func() { b.src = src }()
	kinds := []struct {
		dir  string
		size int64
	}{{src + "-with", from}, {src + "-without", from - page}}
	for _, k := range kinds {
		b.src = k.dir
		if _, err := b.smallIn(files, files, k.size); err != nil {
			return err
		}
		defer os.RemoveAll(k.dir)
	}
	var ratio []float64
	for range b.rounds + 2 {
		var rates [2]float64
		for _, i := range b.rand.Perm(len(kinds)) {
			b.src = kinds[i].dir
			if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755), b.settle()); err != nil {
				return err
			}
			t, err := b.told(ctx)
			if err != nil {
				return err
			}
			rates[i] = float64(t.Moved.Bytes) / float64(t.TookNs)
		}
		ratio = append(ratio, rates[0]/rates[1])
	}
	fmt.Printf("| rate of %d files of 64 MiB, with a journal, over that of files 4 KiB smaller, without one (goal: 0.98) | %s |\n", files, kit.Spread(ratio))
	return nil
}

func (b *bench) told(ctx context.Context) (t told, err error) {
	err = kit.Decode(b.Command(ctx, "copy", "--json", b.src+"/", b.dst), &t)
	return t, err
}

// resumed kills a copy in its middle and has another go on: what it wrote again, and how long
// it took to write anything. -1: the copy was over before.
func (b *bench) resumed(ctx context.Context, size int64) (lost int64, on time.Duration, err error) {
	if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755), b.settle()); err != nil {
		return 0, 0, err
	}
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	had := int64(0)
	for had < size*6/10 && ctx.Err() == nil {
		time.Sleep(time.Millisecond) // whatever is written, until enough is
		n := written(cmd.Process.Pid)
		if _, err := os.Lstat(filepath.Join(b.dst, "large")); err == nil || n < had {
			break
		}
		had = n
	}
	_ = cmd.Process.Kill() // it may have ended
	if cmd.Wait() == nil {
		return -1, 0, nil
	}
	begun := time.Now()
	cmd = b.Command(ctx, "copy", "--json", b.src+"/", b.dst)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	for ctx.Err() == nil && written(cmd.Process.Pid) < move.BlockSize {
		if _, err := os.Lstat(filepath.Join(b.dst, "large")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	on = time.Since(begun)
	var t told
	err = json.NewDecoder(out).Decode(&t)
	return had - t.Moved.Resumed, on, errors.Join(err, cmd.Wait())
}

// written is how much a process has written, whatever became of it. The blocks of the target's
// file say nothing: its room is made at once. 0: the process is gone.
func written(pid int) (n int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "wchar: %d", &n) // other lines leave it
	}
	return n
}

// sparse copies a file of 1 TiB with some data, and a file of those data alone.
func (b *bench) sparse(ctx context.Context) error {
	const data = 256 << 20
	var times [2][]float64
	for range b.rounds {
		for i, size := range []int64{1 << 40, data} {
			if err := errors.Join(os.RemoveAll(b.src), os.Mkdir(b.src, 0o755), os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755)); err != nil {
				return err
			}
			f, err := os.Create(filepath.Join(b.src, "sparse"))
			if err != nil {
				return err
			}
			block := make([]byte, 4<<20)
			err = f.Truncate(size)
			for at := int64(0); at < data && err == nil; at += int64(len(block)) {
				for i := range block {
					block[i] = byte(b.rand.Uint64())
				}
				_, err = f.WriteAt(block, at*(size/data))
			}
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			if err := b.settle(); err != nil {
				return err
			}
			begun := time.Now()
			if _, err := b.told(ctx); err != nil {
				return err
			}
			times[i] = append(times[i], time.Since(begun).Seconds())
		}
	}
	var ratio []float64
	for i := range times[0] {
		ratio = append(ratio, times[0][i]/times[1][i])
	}
	fmt.Printf("| 1 TiB with 256 MiB of data, time over that of 256 MiB | %s |\n\n", kit.Spread(ratio))
	return nil
}
