package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/server"
)

// removeWithin is how long a process that was ended may take to be gone.
const removeWithin = 5 * time.Second

// Down removes everything: processes (what was started through Enter too),
// and with them namespaces and interfaces, cgroups and directories. It may be
// called again, and goes through to the end whatever fails on the way.
func (l *Lab) Down(ctx context.Context) error {
	l.down = true
	errs := []error{freeReader(ctx, l), l.stopServers()}
	if l.fabric != nil {
		errs = append(errs, l.fabric.Stop())
		l.fabric = nil
	}
	for _, h := range l.hosts {
		if h.holder != nil {
			errs = append(errs, h.holder.Stop())
			h.holder = nil
		}
		if h.machine != nil {
			errs = append(errs, h.machine.keeper.Stop())
			h.machine = nil
		}
	}
	l.hosts = nil
	errs = append(errs, endProcesses(l.id, l.groups))
	for _, g := range l.groups {
		errs = append(errs, g.Remove(removeWithin))
	}
	l.groups = nil
	errs = append(errs, os.RemoveAll(l.dir), removeEmpty(l.opts.StateDir))
	return errors.Join(errs...)
}

// removeEmpty removes a directory unless something is in it (another lab's) or
// its parent does not let us (then another process made it for us).
func removeEmpty(dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

// endProcesses ends every process of lab id, known by its environment or, where
// that was lost (a server that cleans it for its sessions), by its control
// groups, and waits until none is left.
func endProcesses(id string, groups []kernel.Cgroup) error {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		pids, err := processesOf(id)
		for _, g := range groups {
			more, gerr := g.Processes()
			pids, err = append(pids, more...), errors.Join(err, gerr)
		}
		if err != nil {
			return fmt.Errorf("end processes of %s: %w", id, err)
		}
		if len(pids) == 0 {
			return nil
		}
		if waited > removeWithin {
			return fmt.Errorf("end processes of %s: %v are still there", id, pids)
		}
		for _, pid := range pids {
			start, err := kernel.ProcessStart("/proc", pid)
			if kernel.IsGone(err) {
				continue
			}
			if err = errors.Join(err, kernel.KillProcess(pid, start)); err != nil {
				return err
			}
		}
		time.Sleep(pause)
	}
}

func processesOf(id string) ([]int, error) {
	pids, err := kernel.Processes("/proc")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pids, func(pid int) bool {
		if pid == os.Getpid() {
			return true
		}
		// What cannot be read has ended, or is another user's and thus not ours.
		env, err := kernel.ProcessEnv("/proc", pid)
		return err != nil || !slices.Contains(env, labEnv+"="+id)
	}), nil
}

// Sweep removes what labs have left whose owner was killed: their processes,
// cgroups and directories. It leaves alone a lab whose owner lives and one of
// another user. removed names the labs. An ordinary user calls it before
// ReexecInUserNS: from inside, the processes of another user namespace cannot
// be seen.
func Sweep(_ context.Context, o Options) (removed []string, err error) {
	ids, dirs, err := remains(o.StateDir)
	if err != nil {
		return nil, fmt.Errorf("sweep labs: %w", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, endProcesses(id, groupsAmong(dirs[id])))
		for _, d := range dirs[id] {
			errs = append(errs, removeRemains(d))
		}
		removed = append(removed, id)
	}
	errs = append(errs, sweepSockets(o.StateDir))
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep labs: %w", err)
	}
	return removed, nil
}

// sweepSockets removes those of keepers that were killed, which have no listener.
func sweepSockets(stateDir string) error {
	socks, err := filepath.Glob(filepath.Join(stateDir, "*"+socketSuffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range socks {
		c, err := kernel.DialUnix(context.Background(), s)
		switch {
		case err == nil:
			_ = c.Close()
		case errors.Is(err, syscall.ECONNREFUSED) && kernel.OwnedByMe(s):
			errs = append(errs, os.Remove(s), os.Remove(strings.TrimSuffix(s, socketSuffix)+execSuffix))
		}
	}
	for i, err := range errs {
		if errors.Is(err, fs.ErrNotExist) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

func groupsAmong(dirs []string) []kernel.Cgroup {
	var out []kernel.Cgroup
	for _, d := range dirs {
		if strings.HasPrefix(filepath.Base(d), cgroupPrefix) {
			out = append(out, kernel.Cgroup(d))
		}
	}
	return out
}

// remains lists labs without a living owner, and the directories of each.
func remains(stateDir string) ([]string, map[string][]string, error) {
	dirs := map[string][]string{}
	own, err := dirsWith(stateDir, "lab-")
	if err != nil {
		return nil, nil, err
	}
	trees, err := kernel.CgroupHierarchies("/")
	if err != nil {
		return nil, nil, err
	}
	for _, t := range trees {
		groups, err := dirsWith(t.Dir, cgroupPrefix+"lab-")
		if err != nil {
			return nil, nil, err
		}
		own = append(own, groups...)
	}
	var ids []string
	for _, d := range own {
		id, ok := labOf(filepath.Base(d))
		if !ok || ownerLives(id) {
			continue
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		dirs[id] = append(dirs[id], d)
	}
	return ids, dirs, nil
}

// dirsWith lists the directories in dir that this user owns and whose names
// start with prefix. No dir is no error.
func dirsWith(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && kernel.OwnedByMe(path) {
			out = append(out, path)
		}
	}
	return out, nil
}

// labOf takes the lab's id from the name of its directory or cgroup.
func labOf(name string) (string, bool) {
	f := strings.Split(strings.TrimPrefix(name, cgroupPrefix), "-")
	if len(f) < 4 || f[0] != "lab" {
		return "", false
	}
	return strings.Join(f[:4], "-"), true
}

// ownerLives reports whether the process that a lab's id names is there. What has an
// id that cannot be read is not removed.
func ownerLives(id string) bool {
	var pid int
	var start uint64
	var rest string
	if _, err := fmt.Sscanf(id, "lab-%d-%d-%s", &pid, &start, &rest); err != nil {
		return true
	}
	got, err := kernel.ProcessStart("/proc", pid)
	return err == nil && got == start || err != nil && !kernel.IsGone(err)
}

// removeRemains removes a directory of ours, or a cgroup, in which only the
// kernel's files are left.
func removeRemains(dir string) error {
	if strings.HasPrefix(filepath.Base(dir), cgroupPrefix) {
		return kernel.Cgroup(dir).Remove(removeWithin)
	}
	hosts, err := filepath.Glob(filepath.Join(dir, "*"))
	errs := []error{err}
	for _, h := range hosts {
		errs = append(errs, server.ReleaseDisks("/", h))
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}
