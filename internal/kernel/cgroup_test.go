package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cgroupTree makes files below a new root.
func cgroupTree(t *testing.T, files map[string]string) Root {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Root(root)
}

func TestCgroupHierarchies(t *testing.T) {
	r := cgroupTree(t, map[string]string{
		"proc/self/mountinfo": "20 1 0:1 / /proc rw - proc proc rw\n" +
			"30 1 0:2 / /cg/cpuset rw,relatime shared:3 - cgroup cgroup rw,cpuset\n" +
			"31 1 0:3 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" +
			"32 1 0:4 / /cg/named rw - cgroup cgroup rw,name=systemd\n" +
			"33 1 0:5 / /cg/unified rw - cgroup2 cgroup2 rw\n" +
			"34 1 0:6 / /cg/empty rw - cgroup2 cgroup2 rw\nshort\n",
		"proc/self/cgroup":                  "3:cpuset:/job\n2:cpu,cpuacct:/beyond\n0::/\nbad\n",
		"cg/cpuset/job/tasks":               "",
		"cg/cpu/tasks":                      "",
		"cg/unified/cgroup.subtree_control": "cpu memory\n",
	})
	got, err := CgroupHierarchies(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []Hierarchy{
		{Dir: r.Path("/cg/cpuset/job"), Controllers: []string{"rw", "cpuset"}},
		{Dir: r.Path("/cg/cpu"), Controllers: []string{"rw", "cpu", "cpuacct"}},
		{Dir: r.Path("/cg/unified"), V2: true, Controllers: []string{"cpu", "memory"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := CgroupHierarchies(Root(t.TempDir())); err == nil {
		t.Error("no /proc is no error")
	}
}

func TestMakeCgroup(t *testing.T) {
	r := cgroupTree(t, map[string]string{"v1/cpuset.mems": "0-1\n", "v2/x": ""})
	v1 := Hierarchy{Dir: r.Path("/missing"), Controllers: []string{"cpuset"}}
	if _, err := MakeCgroup(v1, "g", []int{0}); err == nil {
		t.Error("made a group nowhere")
	}
	g, err := MakeCgroup(Hierarchy{Dir: r.Path("/v2"), V2: true, Controllers: []string{"cpu"}}, "g", []int{0})
	if err != nil {
		t.Fatal(err)
	}
	weight := filepath.Join(string(g), "cpu.weight")
	if err := os.Chmod(weight, 0o600); err != nil { // who writes to a kernel's file makes it for nobody
		t.Fatal(err)
	}
	if b, err := os.ReadFile(weight); err != nil || string(b) != "10000" {
		t.Errorf("the weight of the group is %q, %v", b, err)
	}
	if err := os.Remove(weight); err != nil { // a kernel's files go with their group
		t.Fatal(err)
	}
	if err := g.Remove(0); err != nil {
		t.Error(err)
	}
	if err := g.Remove(0); err != nil {
		t.Errorf("second removal: %v", err)
	}
	if err := g.Join(1); err == nil {
		t.Error("joined a group that is gone")
	}
	busy := Cgroup(r.Path("/v1"))
	if err := busy.Remove(0); err == nil || !strings.Contains(err.Error(), "v1") {
		t.Errorf("removed a group in use: %v", err)
	}
}
