package setter_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

func moduleTree(t *testing.T) *settertest.Tree {
	tree := settertest.NewTree(t, map[string]string{
		"/sys/module/zfs/parameters/zfs_arc_max":          "0\n",
		"/sys/module/zfs/parameters/zfs_prefetch_disable": "0\n",
		"/sys/module/nvme_core/parameters/multipath":      "Y\n",
		"/sys/module/pcie_aspm/parameters/policy":         "[default] performance powersave \n",
		"/sys/module/kernel/parameters/crash_kexec":       "0\n",
	})
	tree.Takes["/sys/module/zfs/parameters/zfs_arc_max"] = func(_, written string) (string, error) {
		if len(written) > 20 {
			return "", syscall.EINVAL
		}
		return written, nil
	}
	tree.Takes["/sys/module/nvme_core/parameters/multipath"] = func(_, written string) (string, error) {
		return map[bool]string{true: "Y\n", false: "N\n"}[strings.Contains("1Yy", written[:1])], nil
	}
	tree.Takes["/sys/module/pcie_aspm/parameters/policy"] = choice("default", "performance", "powersave")
	return tree
}

func TestModuleConforms(t *testing.T) {
	badAt := []setter.Place{
		{Setting: "linux.module.kernel.crash_kexec"}, {Setting: "linux.module.zfs"}, {Setting: "linux.module.zfs."}, {Setting: "linux.zfsmodule."},
		{Setting: "linux.module.zfs.../../x"}, {Setting: "linux.zfsmodule.a/b"}, {Setting: "linux.zfsmodule.zfs_arc_max", Target: "zfs:pool"},
	}
	absent := []setter.Place{{Setting: "linux.zfsmodule.zfs_no_such"}, {Setting: "linux.module.tcp_bbr.x"}}
	tree := moduleTree(t)
	conformOn(t, tree, "/sys/module/zfs", settertest.Case{
		Setter: setter.Module{Tree: tree}, At: setter.Place{Setting: "linux.zfsmodule.zfs_arc_max"},
		A: "0", Messy: " 0\n", B: "68719476736", Bad: []string{"1 2", "a\tb"}, BadAt: badAt, Absent: absent,
	})
	tree = moduleTree(t)
	settertest.Conform(t, settertest.Case{ // a switch is shown as Y and N
		Setter: setter.Module{Tree: tree}, At: setter.Place{Setting: "linux.module.nvme_core.multipath"},
		A: "1", Messy: "1 ", B: "0", BadAt: badAt, Rest: func() string { return tree.All() }, Refuse: tree.Refuse, Vanish: tree.VanishAt("/sys/module/nvme_core"),
	})
	tree = moduleTree(t)
	settertest.Conform(t, settertest.Case{
		Setter: setter.Module{Tree: tree}, At: setter.Place{Setting: "linux.module.pcie_aspm.policy"},
		A: "default", Messy: " default", B: "performance", Rest: func() string { return tree.All() }, Refuse: tree.Refuse, Vanish: tree.VanishAt("/sys/module"),
	})
}

func TestModuleSpellsAsAskedFor(t *testing.T) {
	tree := moduleTree(t)
	m := setter.Module{Tree: tree}
	at := setter.Place{Setting: "linux.module.nvme_core.multipath"}
	for like, want := range map[string]string{"1": "1", "0": "1", "N": "Y", "": "Y"} {
		if got, err := m.Read(context.Background(), at, like); got != want || err != nil {
			t.Errorf("like %q: %q, %v, want %q", like, got, err, want)
		}
	}
	for like, want := range map[string]string{"0": "1", "N": "Y"} {
		sh, err := m.Shell(at, like)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, "/bin", "set -fu; "+sh.Read); got != want {
			t.Errorf("like %q the shell reads %q, want %q", like, got, want)
		}
	}
	if err := m.Write(context.Background(), setter.Place{Setting: "linux.zfsmodule.zfs_arc_max"}, strings.Repeat("9", 30)); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a number beyond 64 bits: %v", err)
	}
}
