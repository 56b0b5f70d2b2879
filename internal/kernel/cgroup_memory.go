package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// memoryGroup is the prefix of the names of MemoryCap's groups; the process id follows.
const memoryGroup = "linerate-memory-"

// MemoryCap is a control group that the calling process created for itself, which limits its
// memory, including the page cache that it fills.
type MemoryCap struct {
	Most  unit.Bytes
	V2    bool
	group Cgroup
	home  string // of the group that the process came from
}

// ErrNoMemoryCap: this host gives the process no control group with a memory limit.
var ErrNoMemoryCap = errors.New("no control group with a memory limit is available")

// CapMemory moves process pid, with all its threads, into a new group with a limit (memory.max of
// cgroup v2, Documentation/admin-guide/cgroup-v2.rst; memory.limit_in_bytes of v1). Pages that
// are already cached stay charged to the group that read them first. End undoes it. Groups that
// killed processes left behind are removed first. r is the root of /proc.
//
// Errors: ErrNoMemoryCap with what is missing.
func CapMemory(r Root, pid int, most unit.Bytes) (*MemoryCap, error) {
	h, home, err := memoryTree(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMemoryCap, err)
	}
	sweepMemory(r, h.Dir)
	group := Cgroup(filepath.Join(h.Dir, memoryGroup+strconv.Itoa(pid)))
	if err := os.Mkdir(string(group), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMemoryCap, err)
	}
	err = group.LimitMemory(h, most)
	if err == nil {
		err = group.Join(pid)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMemoryCap, errors.Join(err, os.Remove(string(group))))
	}
	return &MemoryCap{Most: most, V2: h.V2, group: group, home: home}, nil
}

// memoryTree is the tree with the memory controller and the parent of the new group: in v1 the
// caller's group, so that its own limits hold on; in v2 the root, since a group with processes
// cannot have children with controllers.
func memoryTree(r Root) (Hierarchy, string, error) {
	all, err := CgroupHierarchies(r)
	if err != nil {
		return Hierarchy{}, "", err
	}
	groups, err := r.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Hierarchy{}, "", err
	}
	for _, h := range all {
		if !slices.Contains(h.Controllers, "memory") {
			continue
		}
		home := h.Dir
		if h.V2 {
			home = existingDir(filepath.Join(h.Dir, OwnCgroups(string(groups))[""]), h.Dir)
		}
		return h, home, nil
	}
	if len(all) == 0 {
		return Hierarchy{}, "", errors.New("no cgroup tree is mounted here")
	}
	return Hierarchy{}, "", errors.New("no mounted cgroup tree delegates its memory controller to groups (of version 2: memory in cgroup.subtree_control of the root)")
}

// sweepMemory removes groups whose process is gone; the kernel refuses to remove a group with
// processes.
func sweepMemory(r Root, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // creating the group will fail with the reason
	}
	for _, e := range entries {
		pid, ok := strings.CutPrefix(e.Name(), memoryGroup)
		if !ok {
			continue
		}
		if _, err := r.ReadFile("/proc/" + pid + "/stat"); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // a group that stays has no process
		}
	}
}

// Peak is the most memory that the group has held; false if this kernel does not record it
// (memory.peak came with Linux 5.19).
func (c *MemoryCap) Peak() (unit.Bytes, bool) {
	name := "memory.max_usage_in_bytes"
	if c.V2 {
		name = "memory.peak"
	}
	b, err := os.ReadFile(filepath.Join(string(c.group), name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return unit.Bytes(n), err == nil && n >= 0
}

// End moves process pid back to its former group, and removes the new one.
func (c *MemoryCap) End(pid int) error {
	if err := Cgroup(c.home).Join(pid); err != nil {
		return fmt.Errorf("leave group of limited memory: %w", err)
	}
	if err := os.Remove(string(c.group)); err != nil {
		return fmt.Errorf("remove group of limited memory: %w", err)
	}
	return nil
}
