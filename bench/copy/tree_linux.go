package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
)

// treeGoal is what an end of a copy may have to itself, however many files there are, in bytes.
const treeGoal = 256 << 20

// perDirectory is how many files of the tree lie in one directory, and directories in one above.
const perDirectory = 1000

// many holds the memory of linerate's processes against the number of files: empty ones, so that
// nothing but their number counts. One run each; what follows another finds what that has left.
func (b *bench) many(ctx context.Context) error {
	if b.group == nil {
		return errors.New("memory is told by a control group, and none can be made here")
	}
	begun := time.Now()
	if err := b.empties(b.manyFiles); err != nil {
		return err
	}
	defer func() { _, _ = os.RemoveAll(b.src), os.RemoveAll(b.dst) }() // others make their own
	to := b.far.name() + ":" + b.dst
	fmt.Printf("**A tree of %d empty files**, made in %v; goal: at most %d MiB that a process has to itself\n\n", b.manyFiles, time.Since(begun).Round(time.Second), treeGoal>>20)
	kit.Head(os.Stdout, "what", "files/s", "CPU-s, both ends", "most MiB of a process")
	over := false
	for _, s := range []struct {
		name  string
		fresh bool // the target is empty
		args  []string
	}{
		{"dry run to another host", true, []string{"copy", "--dry-run", b.src + "/", to}},
		{"copy to another host", true, []string{"copy", b.src + "/", to}},
		{"the same again", false, []string{"copy", b.src + "/", to}},
		{"--check", false, []string{"copy", "--check", b.src + "/", to}},
		{"--delete of what is not there", false, []string{"copy", "--delete", b.src + "/", to}},
		{"copy within this host", true, []string{"copy", b.src + "/", b.dst}},
		{"the same again, within this host", false, []string{"copy", b.src + "/", b.dst}},
	} {
		if s.fresh {
			if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755)); err != nil {
				return err
			}
		}
		cmd := b.Command(ctx, s.args...)
		b.group.into(cmd)
		before, _ := b.group.cpu() // said once where there is none
		memory, at := b.group.anonymous(ctx), time.Now()
		_, err := kit.Output(cmd)
		took, most := time.Since(at), memory()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		after, _ := b.group.cpu()
		over = over || most > treeGoal
		fmt.Printf("| %s | %.0f | %.1f | %d |\n", s.name, float64(b.manyFiles)/took.Seconds(), (after - before).Seconds(), most>>20)
	}
	fmt.Println()
	if over {
		return fmt.Errorf("a process had more than %d MiB to itself", treeGoal>>20)
	}
	return nil
}

// empties makes the source so many empty files.
func (b *bench) empties(n int) error {
	if err := os.RemoveAll(b.src); err != nil {
		return err
	}
	dir := ""
	for i := range n {
		if i%perDirectory == 0 {
			d := i / perDirectory
			dir = filepath.Join(b.src, fmt.Sprintf("d%03d", d/perDirectory), fmt.Sprintf("d%03d", d%perDirectory))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		fd, err := unix.Open(fmt.Sprintf("%s/f%06d", dir, i), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}
