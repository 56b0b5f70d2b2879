package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// traces is what a command could leave behind.
type traces struct {
	settings                              map[string]string // of all hosts, by host and file
	processes, namespaces, cgroups, files []string
}

func (s *station) look(ctx context.Context) (t traces, err error) {
	if t.settings, err = s.settings(ctx); err != nil {
		return t, err
	}
	running, err := s.running()
	if err != nil {
		return t, err
	}
	spaces := map[string]bool{}
	for _, p := range running {
		t.processes = append(t.processes, fmt.Sprintf("%d %s", p.pid, strings.Join(p.argv, " ")))
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.pid)); err == nil {
			spaces[ns] = true
		}
	}
	t.namespaces = slices.Collect(maps.Keys(spaces))
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && s.madeBy(d.Name()) {
			t.cgroups = append(t.cgroups, path)
		}
		return nil // a group may go while it is looked at
	})
	if err != nil {
		return t, err
	}
	t.files, err = s.kept()
	return t, err
}

// madeBy tells whether a control group was made by a process of the station: others may use
// labs of their own meanwhile, and a group's name has the number of the process.
func (s *station) madeBy(group string) bool {
	if !strings.HasPrefix(group, "linerate-") {
		return false
	}
	for _, part := range strings.Split(group, "-") {
		if pid, err := strconv.Atoi(part); err == nil && s.pids[pid] {
			return true
		}
	}
	return false
}

// kept are the files of the home, mounts and interfaces, but for results and what was copied,
// which are to stay, and journals, which keep the history of a host.
func (s *station) kept() (out []string, err error) {
	err = filepath.WalkDir(s.Home, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.Home, path) // both are absolute
		switch {
		case err != nil: // it went meanwhile
			return nil
		case strings.HasPrefix(rel, "linerate/runs"), strings.HasPrefix(rel, "linerate/studies"), strings.HasPrefix(rel, "linerate/copies"),
			strings.HasPrefix(rel, "data/copy"), strings.HasPrefix(rel, "."), rel == "varlib/linerate":
			return nil
		case slices.Contains([]string{"journal.jsonl", "lock", "deadman.json", "copy-last.json"}, d.Name()):
			return nil
		}
		out = append(out, rel)
		return nil
	})
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		out = append(out, "mount "+strings.Join(strings.Fields(line)[:2], " at "))
	}
	links, err := os.ReadDir("/sys/class/net")
	for _, l := range links {
		out = append(out, "interface "+l.Name())
	}
	return out, err
}

// process is one of the station's.
type process struct {
	pid  int
	argv []string
}

// is tells whether it plays a role.
func (p process) is(role string) bool {
	switch role {
	case ssh:
		return filepath.Base(p.argv[0]) == "ssh" && strings.HasPrefix(p.argv[0], "/usr/bin/")
	case sshd:
		// "sshd: root@notty" and "sshd: root [priv]" are those of sessions.
		return strings.HasPrefix(p.argv[0], "sshd: root")
	}
	return len(p.argv) > 1 && p.argv[1] == role && filepath.Base(p.argv[0]) == "linerate"
}

// running are the processes that run from the station's directories, or see its mounts.
func (s *station) running() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, err
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		exe, err1 := os.Readlink("/proc/" + e.Name() + "/exe")
		ns, err2 := os.Readlink("/proc/" + e.Name() + "/ns/mnt")
		line, err3 := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err1 != nil || err2 != nil || err3 != nil || len(line) == 0 || !strings.HasPrefix(exe, s.dir+"/") && ns != own {
			continue
		}
		s.pids[pid] = true
		out = append(out, process{pid, strings.Split(strings.TrimRight(string(line), "\x00 "), "\x00")})
	}
	return out, nil
}

// changeable are the files that the commands here may change.
const changeable = "cd /proc/sys/net && grep -H . ipv4/tcp_* core/rmem_* core/wmem_* core/*backlog* core/*qdisc* ipv4/conf/*/rp_filter 2>/dev/null; grep -H . /sys/class/net/*/mtu /sys/class/net/*/tx_queue_len; true"

// hosts are this one, those of the lab, and one with a kernel of its own while there is one.
func (s *station) hosts() []string {
	out := []string{"", "wan-16ms/client1", "wan-16ms/server1"}
	if s.kernel {
		out = append(out, kernelHost)
	}
	return out
}

// onHost are the arguments that run argv on a host of a lab.
func onHost(host string, argv ...string) []string {
	name, h, _ := strings.Cut(host, "/")
	return append([]string{"lab", "exec", "--name", name, h, "--"}, argv...)
}

// settings are those of the lab's hosts and of the station.
func (s *station) settings(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, h := range s.hosts() {
		var text []byte
		var err error
		if h == "" {
			text, err = exec.CommandContext(ctx, "sh", "-c", changeable).Output()
		} else {
			text, err = s.Run(ctx, onHost(h, "sh", "-c", changeable)...)
		}
		if err != nil {
			return nil, err
		}
		parse(h, string(text), out)
	}
	if len(out) < 60 {
		return nil, fmt.Errorf("read the settings of the hosts: %d of them", len(out))
	}
	return out, nil
}

// parse reads lines FILE:VALUE.
func parse(host, text string, into map[string]string) {
	for line := range strings.Lines(text) {
		// The key of fast open is drawn anew whenever it is read.
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasSuffix(name, "tcp_fastopen_key") {
			into[host+" "+name] = value
		}
	}
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

// removeLeft removes a file below the home, so that it is counted once.
func (s *station) removeLeft(rel string) error {
	if strings.HasPrefix(rel, "mount ") || strings.HasPrefix(rel, "interface ") {
		return fmt.Errorf("the station cannot go on: %s", rel)
	}
	return os.RemoveAll(filepath.Join(s.Home, rel))
}
