package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// LeaveSessionGroups moves process pid to the top of the cgroup trees by which service managers
// end a session with all its processes: that of version 2, and the named ones of version 1
// (name=systemd, name=elogind, name=openrc). Version 1 trees with a controller only account and
// limit, and are not touched. It returns the groups that pid could not leave, each with the
// reason; a host without such trees has none. r is the root of /proc.
func LeaveSessionGroups(r Root, pid int) (stuck []string, err error) {
	mounts, err := r.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	groups, err := r.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find the cgroups of process %d: %w", pid, err)
	}
	own := sessionGroups(string(groups))
	tops := sessionTrees(string(mounts))
	for tree, group := range own {
		top, ok := tops[tree]
		switch {
		case ok && group == top.shows, group == "/":
			continue // the process is at the top already
		case !ok:
			stuck = append(stuck, fmt.Sprintf("%s (its tree is not mounted here)", group))
			continue
		}
		if err := os.WriteFile(filepath.Join(r.Path(top.at), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			stuck = append(stuck, fmt.Sprintf("%s (%v)", group, err))
		}
	}
	return stuck, nil
}

// sessionGroups are the groups of a process in those trees; the key "" is version 2.
func sessionGroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[0] == "0" && f[1] == "" || strings.HasPrefix(f[1], "name=")) {
			own[f[1]] = f[2]
		}
	}
	return own
}

// treeTop is the mount point of a tree, and the group that is visible there.
type treeTop struct{ at, shows string }

func sessionTrees(mountinfo string) map[string]treeTop {
	tops := map[string]treeTop{}
	for line := range strings.Lines(mountinfo) {
		left, right, _ := strings.Cut(line, " - ")
		lf, rf := strings.Fields(left), strings.Fields(right)
		if len(lf) < 5 || len(rf) < 3 {
			continue
		}
		top := treeTop{at: lf[4], shows: lf[3]}
		switch rf[0] {
		case "cgroup2":
			tops[""] = top
		case "cgroup":
			for o := range strings.SplitSeq(rf[2], ",") {
				if strings.HasPrefix(o, "name=") {
					tops[o] = top
				}
			}
		}
	}
	return tops
}
