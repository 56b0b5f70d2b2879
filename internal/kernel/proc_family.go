package kernel

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxFamily bounds how many descendants of a process are followed.
const maxFamily = 1024

// ParseChildren reads /proc/PID/task/TID/children: process ids, separated by spaces (proc(5)).
func ParseChildren(b []byte) ([]int, error) {
	var pids []int
	for _, s := range strings.Fields(string(b)) {
		pid, err := strconv.ParseUint(s, 10, 31)
		if err != nil || pid == 0 {
			return nil, fmt.Errorf("parse children: %q is no process id", s)
		}
		pids = append(pids, int(pid))
	}
	return pids, nil
}

// Family is a process and its descendants, pid first. If the kernel does not list children
// (CONFIG_PROC_CHILDREN), it is the process itself; a process that ended meanwhile counts as
// childless.
func Family(src Files, pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out) && len(out) < maxFamily; i++ {
		dir := "/proc/" + strconv.Itoa(out[i]) + "/task"
		tids, err := src.ReadDir(dir)
		if err != nil {
			continue // the process has ended
		}
		for _, tid := range tids {
			b, err := src.ReadFile(path.Join(dir, tid, "children"))
			if err != nil {
				continue
			}
			children, err := ParseChildren(b)
			if err != nil {
				continue
			}
			for _, c := range children {
				if !slices.Contains(out, c) && len(out) < maxFamily {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// OpenFiles are the targets of a process's descriptors, as its /proc/PID/fd links show them:
// paths, "socket:[123]", "pipe:[4]". One that closes meanwhile is left out. The error is that of
// opening the directory: fs.ErrPermission for another user's process, fs.ErrNotExist for none.
func OpenFiles(src Files, pid int) ([]string, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	fds, err := src.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(fds))
	for _, fd := range fds {
		if target, err := src.Readlink(path.Join(dir, fd)); err == nil {
			out = append(out, target)
		}
	}
	return out, nil
}

// Sockets are the inodes of the sockets that a process holds; errors are those of OpenFiles.
func Sockets(src Files, pid int) ([]uint32, error) {
	files, err := OpenFiles(src, pid)
	if err != nil {
		return nil, err
	}
	var inodes []uint32
	for _, f := range files {
		if inode, ok := ParseSocketLink(f); ok {
			inodes = append(inodes, inode)
		}
	}
	return inodes, nil
}

// familyOf is a process and its descendants, pid first, where a system tells only each process's parent by
// its number. That number may be a later process's by now: whoever began before it is no child of it, and
// one whose beginning is not told is left out.
func familyOf(pid int, parents map[int]int, began func(pid int) (uint64, error)) []int {
	out := []int{pid}
	for i := 0; i < len(out) && len(out) < maxFamily; i++ {
		own, err := began(out[i])
		if err != nil {
			continue
		}
		for _, c := range slices.Sorted(maps.Keys(parents)) {
			if parents[c] != out[i] || slices.Contains(out, c) || len(out) == maxFamily {
				continue
			}
			if at, err := began(c); err == nil && at >= own {
				out = append(out, c)
			}
		}
	}
	return out
}
