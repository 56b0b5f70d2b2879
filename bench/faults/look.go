package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// traces is what a command could leave behind.
type traces struct {
	settings                              map[string]string // of both hosts, by host and file
	processes, namespaces, cgroups, files []string
}

func (b bench) look(ctx context.Context) (t traces, err error) {
	if t.settings, err = b.settings(ctx); err != nil {
		return t, err
	}
	running, err := b.running()
	if err != nil {
		return t, err
	}
	spaces := map[string]bool{}
	for pid, line := range running {
		t.processes = append(t.processes, fmt.Sprintf("%d %s", pid, line))
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil {
			spaces[ns] = true
		}
	}
	t.namespaces = slices.Collect(maps.Keys(spaces))
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && b.madeBy(d.Name()) {
			t.cgroups = append(t.cgroups, path)
		}
		return nil // a group may go while it is looked at
	})
	if err != nil {
		return t, err
	}
	t.files, err = b.kept()
	return t, err
}

// madeBy tells whether a control group was made by a process of the bench: others may use
// labs of their own meanwhile, and a group's name has the number of the process.
func (b bench) madeBy(group string) bool {
	if !strings.HasPrefix(group, "linerate-") {
		return false
	}
	for _, part := range strings.Split(group, "-") {
		if pid, err := strconv.Atoi(part); err == nil && b.pids[pid] {
			return true
		}
	}
	return false
}

// kept are the files of the home but for results, which are to stay, and journals, which
// keep the history of a host.
func (b bench) kept() (out []string, err error) {
	err = filepath.WalkDir(b.Home, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(b.Home, path) // both are absolute
		switch {
		case err != nil: // it went meanwhile
			return nil
		case strings.HasPrefix(rel, "linerate/runs"), strings.HasPrefix(rel, "linerate/studies"), strings.HasPrefix(rel, "."), strings.HasPrefix(rel, "bin"):
			return nil
		case slices.Contains([]string{"journal.jsonl", "lock", "undo.sh", "deadman.json"}, d.Name()), d.IsDir():
			return nil
		}
		out = append(out, rel)
		return nil
	})
	return out, err
}

// running are the processes of the bench's own binary, with their arguments.
func (b bench) running() (map[int]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	out := map[int]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !b.own(e.Name()) {
			continue
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil {
			_, args, _ := strings.Cut(string(line), "\x00")
			b.pids[pid] = true
			out[pid] = " " + strings.TrimSpace(strings.ReplaceAll(args, "\x00", " "))
		}
	}
	return out, nil
}

// changeable are the files that the commands here may change.
const changeable = "cd /proc/sys/net && grep -H . ipv4/tcp_* core/rmem_* core/wmem_* core/*backlog* core/*qdisc* ipv4/conf/*/rp_filter 2>/dev/null; grep -H . /sys/class/net/*/mtu /sys/class/net/*/tx_queue_len"

// settings are those of both hosts.
func (b bench) settings(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, h := range hosts() {
		text, err := b.Run(ctx, "lab", "exec", h, "--", "sh", "-c", changeable+"; true")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			// The key of fast open is drawn anew whenever it is read.
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasSuffix(name, "tcp_fastopen_key") {
				out[h+" "+name] = value
			}
		}
	}
	if len(out) < 20 {
		return nil, fmt.Errorf("read the settings of the hosts: %d of them", len(out))
	}
	return out, nil
}

// differ lists what is not as it was.
func differ(before, now map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			out = append(out, fmt.Sprintf("%s is %q, was %q", name, now[name], before[name]))
		}
	}
	return out
}

// extra lists what was not there before.
func extra(before, now []string) (out []string) {
	for _, s := range now {
		if !slices.Contains(before, s) {
			out = append(out, s)
		}
	}
	return out
}
