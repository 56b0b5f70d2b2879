package kernel

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/unit"
)

// A real group holds a process, lets it go, and does not outlive one that was killed.
func TestCapMemoryOfAProcess(t *testing.T) {
	start := func() *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	in := func(pid int) bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
		return err == nil && strings.Contains(string(b), memoryGroup+strconv.Itoa(pid))
	}
	killed, other := start(), start()
	end := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // by that
	}
	defer end(other)
	defer end(killed)
	left, err := CapMemory("/", killed.Process.Pid, 64*unit.MiB)
	if errors.Is(err, ErrNoMemoryCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !in(killed.Process.Pid) {
		t.Error("the process is not in the group")
	}
	end(killed)
	c, err := CapMemory("/", other.Process.Pid, 64*unit.MiB)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(left.group)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of a process that was killed is left: %v", err)
	}
	if err := c.End(other.Process.Pid); err != nil || in(other.Process.Pid) {
		t.Errorf("the process is still in the group: %v", err)
	}
	if _, err := os.Stat(string(c.group)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
}
