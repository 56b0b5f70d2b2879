package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/unit"
)

const memoryMounts = "20 1 0:1 / /proc rw - proc proc rw\n33 1 0:5 / /cg rw - cgroup2 cgroup2 rw\n"

// A group of version 2 is made below the root, gets its limit before the process, and
// what killed processes left is removed.
func TestCapMemory(t *testing.T) {
	r := cgroupTree(t, map[string]string{
		"proc/self/mountinfo": memoryMounts, "proc/self/cgroup": "0::/user/session\n", "proc/77/stat": "77 (x)",
		"cg/cgroup.subtree_control": "cpu memory\n", "cg/user/session/cgroup.procs": "",
	})
	for _, left := range []string{"linerate-memory-66", "linerate-memory-77", "other"} {
		if err := os.Mkdir(r.Path("/cg/"+left), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := CapMemory(r, 1234, 256*unit.MiB)
	if err != nil {
		t.Fatal(err)
	}
	group := r.Path("/cg/linerate-memory-1234")
	for file, want := range map[string]string{"memory.max": "268435456", "cgroup.procs": "1234"} {
		if err := os.Chmod(filepath.Join(group, file), 0o600); err != nil { // the kernel's can be read
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(group, file)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	for name, stays := range map[string]bool{"linerate-memory-66": false, "linerate-memory-77": true, "other": true} {
		if _, err := os.Stat(r.Path("/cg/" + name)); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %v", name, err, stays)
		}
	}
	if _, ok := c.Peak(); ok {
		t.Error("a kernel without memory.peak tells it")
	}
	for name, text := range map[string]string{"memory.peak": "4096\n"} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, ok := c.Peak(); !ok || n != 4096 {
		t.Errorf("%v %v", n, ok)
	}
	// The kernel removes a group with its files.
	for _, name := range []string{"memory.max", "memory.peak", "cgroup.procs"} {
		if err := os.Remove(filepath.Join(group, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.End(1234); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(r.Path("/cg/user/session/cgroup.procs")); err != nil || string(b) != "1234" {
		t.Errorf("back in %q, %v", b, err)
	}
	if _, err := os.Stat(group); err == nil {
		t.Error("the group is left")
	}
}

func TestNoMemoryCap(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"no cgroup tree is mounted": {"proc/self/mountinfo": "20 1 0:1 / /proc rw - proc proc rw\n", "proc/self/cgroup": ""},
		"delegates its memory":      {"proc/self/mountinfo": memoryMounts, "proc/self/cgroup": "0::/\n", "cg/cgroup.subtree_control": "cpu\n"},
		"mountinfo":                 {},
	} {
		if _, err := CapMemory(cgroupTree(t, files), 1, unit.GiB); !errors.Is(err, ErrNoMemoryCap) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
