package inlab

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// traces is all that a demo could leave behind on this machine, as text.
type traces struct {
	processes, mounts, links, cgroups, files, settings []string
}

func (s traces) diff(after traces) []string {
	var out []string
	for _, c := range []struct {
		what          string
		before, after []string
	}{
		{"process", s.processes, after.processes}, {"mount", s.mounts, after.mounts}, {"link", s.links, after.links},
		{"cgroup", s.cgroups, after.cgroups}, {"file", s.files, after.files}, {"setting", s.settings, after.settings},
	} {
		known := map[string]bool{}
		for _, b := range c.before {
			known[b] = true
		}
		for _, a := range c.after {
			if !known[a] {
				out = append(out, c.what+" "+a)
			}
		}
	}
	return out
}

// look takes the traces; dir is the runtime directory of the demo.
func look(t *testing.T, dir string) traces {
	t.Helper()
	return traces{
		processes: ownProcesses(t), mounts: lines(t, "/proc/self/mountinfo"), links: links(t),
		cgroups: cgroups(), files: files(dir), settings: settings(t),
	}
}

// ownProcesses are those of this test binary but for the test itself.
func ownProcesses(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		link, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || strings.TrimSuffix(link, " (deleted)") != exe {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // gone already: an empty command says so
		out = append(out, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(cmd), "\x00", " ")))
	}
	return out
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func links(t *testing.T) []string {
	t.Helper()
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range ifs {
		out = append(out, i.Name)
	}
	return out
}

func cgroups() []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "linerate-lab-") && !alive(d.Name()) {
			out = append(out, p)
		}
		return nil // a cgroup that vanished meanwhile is no trace
	})
	return out
}

// alive tells whether the owner of a lab's cgroup lives: other tests have labs
// of their own at the same time. Names are linerate-lab-<pid>-….
func alive(cgroup string) bool {
	pid, _, _ := strings.Cut(strings.TrimPrefix(cgroup, "linerate-lab-"), "-")
	_, err := os.Stat(filepath.Join("/proc", pid))
	return err == nil
}

func files(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != dir {
			out = append(out, p)
		}
		return nil
	})
	return out
}

func settings(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, s := range []string{"tcp_rmem", "tcp_wmem", "tcp_no_metrics_save", "tcp_congestion_control", "tcp_mtu_probing"} {
		out = append(out, s+" "+strings.Join(lines(t, "/proc/sys/net/ipv4/"+s), ""))
	}
	return out
}

// wantNothingNew waits, for killed processes die at their own pace, until
// nothing is there that was not before.
func wantNothingNew(t *testing.T, before traces, dir string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = before.diff(look(t, dir)); len(left) == 0 {
			return
		}
	}
	sort.Strings(left)
	t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
}
