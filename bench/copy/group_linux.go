package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// group is a control group in which a program runs with all that it starts, the far ends of
// ssh included: its CPU time is that of both ends, and of the kernel on their behalf.
type group struct{ dir string }

// newGroup makes one, in whichever hierarchy counts CPU time; nil where none can be had.
func newGroup(name string) *group {
	for _, root := range []string{"/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		dir := filepath.Join(root, name)
		if os.Mkdir(dir, 0o755) == nil {
			return &group{dir}
		}
	}
	return nil
}

func (g *group) remove() error {
	if g == nil {
		return nil
	}
	for range 50 {
		if os.Remove(g.dir) == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // a process of it is not quite gone
	}
	return fmt.Errorf("control group %s is still in use", g.dir)
}

// into has a command run in the group.
func (g *group) into(cmd *exec.Cmd) {
	if g == nil {
		return
	}
	cmd.Args = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
}

// cpu is what the group has used so far.
func (g *group) cpu() (time.Duration, error) {
	if g == nil {
		return 0, errors.New("no control group counts CPU time here")
	}
	if b, err := os.ReadFile(filepath.Join(g.dir, "cpuacct.usage")); err == nil {
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return time.Duration(n), err
	}
	b, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "usage_usec" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return time.Duration(n) * time.Microsecond, err
		}
	}
	return 0, errors.New("cpu.stat has no usage_usec")
}

// anonymous watches the memory of the group's processes and gives, once it is stopped, the
// most that one of them had to itself, in bytes.
func (g *group) anonymous(ctx context.Context) (stop func() int64) {
	if g == nil {
		return func() int64 { return 0 }
	}
	ctx, cancel := context.WithCancel(ctx)
	most := int64(0)
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			b, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs")) // none: nothing runs
			for _, pid := range strings.Fields(string(b)) {
				most = max(most, rssAnon(pid))
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return func() int64 { cancel(); wait.Wait(); return most }
}

// rssAnon is a process's own resident memory (proc(5)), and what of it was swapped out.
func rssAnon(pid string) (sum int64) {
	b, _ := os.ReadFile("/proc/" + pid + "/status") // it may have ended
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 1 && (f[0] == "RssAnon:" || f[0] == "VmSwap:") {
			n, _ := strconv.ParseInt(f[1], 10, 64) // the kernel's own number
			sum += n << 10
		}
	}
	return sum
}
