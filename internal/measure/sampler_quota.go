package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// quotaReader reads how long a CPU quota throttled a control group.
type quotaReader struct {
	src    kernel.Source
	mounts []model.Mount // of cgroup file systems, read once
	dir    string        // found once the processes are known
	pid    int           // the process whose group dir is
}

// find returns the directory of the group of the first process. Without a process no quota
// applies: the connections are the kernel's, or their owners are hidden.
func (q *quotaReader) find(pids []int) (string, error) {
	if len(pids) == 0 {
		return "", errNobody
	}
	pid := pids[0]
	if q.dir != "" && q.pid == pid {
		return q.dir, nil
	}
	b, err := q.src.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", err
	}
	group, err := kernel.ParseCPUGroup(b)
	if err != nil {
		return "", err
	}
	point, err := q.mountPoint(group.V2)
	if err != nil {
		return "", err
	}
	q.dir, q.pid = path.Join(point, group.Path), pid
	return q.dir, nil
}

func (q *quotaReader) mountPoint(v2 bool) (string, error) {
	if q.mounts == nil {
		b, err := q.src.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return "", err
		}
		if q.mounts, err = kernel.ParseMountinfo(b); err != nil {
			return "", err
		}
	}
	i := slices.IndexFunc(q.mounts, func(m model.Mount) bool {
		_, cpu := m.Options["cpu"]
		return v2 && m.Type == "cgroup2" || !v2 && m.Type == "cgroup" && cpu
	})
	if i < 0 {
		return "", fmt.Errorf("find the control group: its file system is not mounted: %w", fs.ErrNotExist)
	}
	return q.mounts[i].Point, nil
}

// read sums the time over the group and its ancestors, since a quota of any of them throttles the
// processes.
func (q *quotaReader) read(dir string) (model.Fact[time.Duration], error) {
	var sum time.Duration
	found := false
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		b, err := q.src.ReadFile(dir + "/cpu.stat")
		if errors.Is(err, fs.ErrNotExist) {
			if found {
				break // above the top of the tree
			}
			continue // a container may not show the lower part of the path
		}
		if err != nil {
			return model.Unknown[time.Duration](model.Denied, err.Error()), err
		}
		d, ok, err := kernel.ParseThrottled(b)
		if err != nil {
			return model.Fact[time.Duration]{}, err
		}
		sum, found = sum+d, found || ok
	}
	if !found {
		return model.Unknown[time.Duration](model.Unsupported, "the processes are in no group that can have a CPU quota"), nil
	}
	return model.Known(sum), nil
}

// remedy is what the user can do about a view that failed.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root: " + err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "this kernel does not offer it, or /proc or /sys is not mounted here: " + err.Error()
	}
	return err.Error()
}
