package kernel

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestLeaveSessionGroups(t *testing.T) {
	r := cgroupTree(t, map[string]string{
		"proc/self/mountinfo": "30 1 0:2 / /cg/cpuset rw shared:3 - cgroup cgroup rw,cpuset\n" +
			"32 1 0:4 / /cg/named rw - cgroup cgroup rw,xattr,name=systemd\n" +
			"33 1 0:5 / /cg/unified rw - cgroup2 cgroup2 rw\n" +
			"34 1 0:6 /docker/a /cg/inner rw - cgroup cgroup rw,name=inner\nshort\n",
		"proc/7/cgroup": "9:cpuset:/session\n8:name=systemd:/user.slice/session-3.scope\n7:name=inner:/docker/a\n6:name=far:/x\n0::/user.slice/session-3.scope\nbad\n",
		"proc/8/cgroup": "8:name=systemd:/\n0::/\n", "proc/9/cgroup": "0::/deep\n",
		"cg/named/cgroup.procs": "", "cg/unified/cgroup.procs": "", "cg/cpuset/cgroup.procs": "", "cg/inner/cgroup.procs": "",
	})
	stuck, err := LeaveSessionGroups(r, 7)
	if err != nil || !slices.Equal(stuck, []string{"/x (its tree is not mounted here)"}) {
		t.Errorf("%q, %v", stuck, err)
	}
	for name, want := range map[string]string{"named": "7", "unified": "7", "cpuset": "", "inner": ""} {
		if b, err := r.ReadFile("/cg/" + name + "/cgroup.procs"); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v, want %q", name, b, err, want)
		}
	}
	if stuck, err := LeaveSessionGroups(r, 8); err != nil || stuck != nil {
		t.Errorf("at the top: %q, %v", stuck, err)
	}
	if err := os.RemoveAll(r.Path("/cg/unified")); err != nil {
		t.Fatal(err)
	}
	if stuck, err := LeaveSessionGroups(r, 9); err != nil || len(stuck) != 1 || !strings.HasPrefix(stuck[0], "/deep (") {
		t.Errorf("a tree that refuses: %q, %v", stuck, err)
	}
	if _, err := LeaveSessionGroups(r, 10); err == nil {
		t.Error("a process that is not there")
	}
	if stuck, err := LeaveSessionGroups(Root(t.TempDir()), 7); err != nil || stuck != nil {
		t.Errorf("no /proc: %q, %v", stuck, err)
	}
}
