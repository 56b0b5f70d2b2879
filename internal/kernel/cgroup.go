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
	"time"

	"linerate/internal/unit"
)

// Cgroup is one control group directory that a process can join.
type Cgroup string

// Hierarchy is one mounted cgroup tree and the caller's place in it.
type Hierarchy struct {
	Dir         string // of the group that the caller is in
	V2          bool
	Controllers []string // v1: those of the tree; v2: those enabled for groups below Dir's root
}

// CgroupHierarchies finds the mounted trees from /proc/self/mountinfo and /proc/self/cgroup below
// r (cgroups(7)). If the caller's own group is not visible in a tree (it lies above what a
// container mounts), the tree's root stands for it.
func CgroupHierarchies(r Root) ([]Hierarchy, error) {
	mounts, err := r.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	groups, err := r.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	own := OwnCgroups(string(groups))
	var out []Hierarchy
	for line := range strings.Lines(string(mounts)) {
		if h, ok := parseCgroupMount(r, line, own); ok {
			out = append(out, h)
		}
	}
	return out, nil
}

// OwnCgroups maps each controller ("" for v2) to the group of a process, by its /proc/PID/cgroup
// (cgroups(7)).
func OwnCgroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			own[c] = f[2]
		}
	}
	return own
}

func parseCgroupMount(r Root, line string, own map[string]string) (Hierarchy, bool) {
	left, right, ok := strings.Cut(line, " - ")
	lf, rf := strings.Fields(left), strings.Fields(right)
	if !ok || len(lf) < 5 || len(rf) < 3 {
		return Hierarchy{}, false
	}
	point := r.Path(lf[4])
	switch rf[0] {
	case "cgroup2":
		// Only controllers that are enabled for all children of the root count: to enable more
		// would change the machine's settings.
		b, err := os.ReadFile(filepath.Join(point, "cgroup.subtree_control"))
		if err != nil {
			return Hierarchy{}, false
		}
		return Hierarchy{Dir: point, V2: true, Controllers: strings.Fields(string(b))}, true
	case "cgroup":
		opts := strings.Split(rf[2], ",")
		for _, c := range opts {
			if group, ok := own[c]; ok && c != "" {
				return Hierarchy{Dir: existingDir(filepath.Join(point, group), point), Controllers: opts}, true
			}
		}
	}
	return Hierarchy{}, false
}

func existingDir(dir, otherwise string) string {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return dir
	}
	return otherwise
}

// MakeCgroup creates group name in h, bound to cpus if h has the cpuset controller. On error
// nothing is left behind.
func MakeCgroup(h Hierarchy, name string, cpus []int) (Cgroup, error) {
	dir := filepath.Join(h.Dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cgroup: %w", err)
	}
	if err := errors.Join(bindCgroup(h, dir, cpus), preferCgroup(h, dir)); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return Cgroup(dir), nil
}

// preferCgroup gives the group the greatest weight if h has the cpu controller, so that other
// work of this machine does not slow an emulated host down
// (Documentation/admin-guide/cgroup-v2.rst, cpu.weight; sched/core.c, MAX_SHARES).
func preferCgroup(h Hierarchy, dir string) error {
	if !slices.Contains(h.Controllers, "cpu") {
		return nil
	}
	file, weight := "cpu.shares", "262144"
	if h.V2 {
		file, weight = "cpu.weight", "10000"
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(weight), 0); err != nil {
		return fmt.Errorf("set weight of cgroup: %w", err)
	}
	return nil
}

func bindCgroup(h Hierarchy, dir string, cpus []int) error {
	has := false
	for _, c := range h.Controllers {
		has = has || c == "cpuset"
	}
	if !has {
		return nil
	}
	mems := "cpuset.mems"
	if !h.V2 { // a v1 group starts without memory nodes and accepts no task until it has some
		b, err := os.ReadFile(filepath.Join(h.Dir, mems))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, mems), b, 0)
		}
		if err != nil {
			return fmt.Errorf("set memory nodes of cgroup: %w", err)
		}
	}
	var list []string
	for _, c := range cpus {
		list = append(list, strconv.Itoa(c))
	}
	if err := os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(strings.Join(list, ",")), 0); err != nil {
		return fmt.Errorf("bind cgroup to CPUs: %w", err)
	}
	return nil
}

// LimitMemory bounds the memory of the group's processes, page cache included, if h has the
// memory controller.
func (c Cgroup) LimitMemory(h Hierarchy, most unit.Bytes) error {
	file := "memory.limit_in_bytes"
	if h.V2 {
		file = "memory.max"
	}
	if err := os.WriteFile(filepath.Join(string(c), file), []byte(strconv.FormatInt(int64(most), 10)), 0); err != nil {
		return fmt.Errorf("limit memory of cgroup: %w", err)
	}
	return nil
}

// Processes are the ids of the processes in the group; none if the group does not exist.
func (c Cgroup) Processes() ([]int, error) {
	b, err := os.ReadFile(filepath.Join(string(c), "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list processes of cgroup: %w", err)
	}
	var pids []int
	for f := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("list processes of cgroup %s: %w", c, err)
		}
		if pid > 0 { // 0 is a process of another pid namespace
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Join moves process pid, with all its threads, into the group.
func (c Cgroup) Join(pid int) error {
	if err := os.WriteFile(filepath.Join(string(c), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("join cgroup: %w", err)
	}
	return nil
}

// Remove deletes the group. It retries until deadline, since a process that just ended leaves its
// group a little later. A missing group is no error.
func (c Cgroup) Remove(deadline time.Duration) error {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := os.Remove(string(c))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if waited >= deadline {
			return fmt.Errorf("remove cgroup: %w", err)
		}
		time.Sleep(pause)
	}
}
