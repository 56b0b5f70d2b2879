package setter_test

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

func TestSysctlOnAFakeKernel(t *testing.T) {
	tree := settertest.NewTree(t, map[string]string{
		"/proc/sys/net/core/rps_sock_flow_entries": "0\n",
		"/proc/sys/net/core/rmem_max":              "212992\n",
		"/proc/sys/vm/swappiness":                  "60\n",
		"/proc/sys/sunrpc/tcp_slot_table_entries":  "2\n",
	})
	tree.Takes["/proc/sys/net/core/rps_sock_flow_entries"] = number(roundUp)
	for setting, c := range map[string]settertest.Case{
		"net.core.rps_sock_flow_entries": {A: "0", B: "32768", Messy: "0\n", Rounds: map[string]string{"20000": "32768"}, Bad: []string{"-1", "536870913", "0x10", "010", "1 2", "many"}},
		"net.core.rmem_max":              {A: "212992", B: "67108864", Messy: "212992 ", Bad: []string{"2147483648", "0", "64M"}},
		"vm.swappiness":                  {A: "60", B: "10", Messy: " 60", Bad: []string{"201", "-1"}},
		"sunrpc.tcp_slot_table_entries":  {A: "2", B: "128", Messy: "2 ", Bad: []string{"1", "65537"}},
	} {
		c.Setter, c.At = setter.Sysctl{Tree: tree}, setter.Place{Setting: "linux.sysctl." + setting}
		c.BadAt = []setter.Place{{Setting: "linux.sysctl.vm.overcommit_memory"}, {Setting: "linux.sysctl.kernel.modprobe"}, {Setting: "linux.sysctl.fs.suid_dumpable"}, {Setting: "linux.sysctl.vm.dirty_bytes"}}
		t.Run(setting, func(t *testing.T) {
			conformOn(t, tree, "/proc/sys/"+strings.ReplaceAll(setting, ".", "/"), c)
			tree.VanishAt("")()
		})
	}
}

func TestSysctlRanges(t *testing.T) {
	for setting, values := range map[string][2][]string{ // taken, refused
		"net.ipv4.tcp_rmem":             {{"4096 131072 6291456", "1 1 2147483647"}, {"4096", "4096 131072", "0 1 1", "4096 131072 2147483648", "4096 131072 -1", "4096 131072 6M"}},
		"net.ipv4.tcp_mem":              {{"1 2 9223372036"}, {"1 2"}},
		"net.ipv4.tcp_sack":             {{"0", "1"}, {"256", "-1", "on"}},
		"net.ipv4.tcp_adv_win_scale":    {{"-2", "31"}, {"32", "-32"}},
		"net.ipv4.tcp_timestamps":       {{"2"}, {"3"}},
		"net.ipv4.tcp_notsent_lowat":    {{"4294967295"}, {"4294967296"}},
		"net.ipv4.tcp_some_new_setting": {{"anything goes", "1"}, nil},
	} {
		at := setter.Place{Setting: "linux.sysctl." + setting}
		for _, v := range values[0] {
			if got, err := (setter.Sysctl{}).Canonical(at, v); err != nil || got != v {
				t.Errorf("%s %q: %q, %v", setting, v, got, err)
			}
		}
		for _, v := range values[1] {
			if _, err := (setter.Sysctl{}).Canonical(at, v); !errors.Is(err, setter.ErrValue) {
				t.Errorf("%s %q: error %v", setting, v, err)
			}
		}
	}
}

// A refusal of what a namespace cannot set says so.
func TestSysctlSaysWhatIsTheMachines(t *testing.T) {
	tree := settertest.NewTree(t, map[string]string{"/proc/sys/net/core/rmem_max": "1\n", "/proc/sys/net/ipv4/tcp_rmem": "1 1 1\n"})
	tree.Refuse(fs.ErrPermission)
	s := setter.Sysctl{Tree: tree}
	if err := s.Write(context.Background(), setter.Place{Setting: "linux.sysctl.net.core.rmem_max"}, "5"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "whole machine") {
		t.Error(err)
	}
	if err := s.Write(context.Background(), setter.Place{Setting: "linux.sysctl.net.ipv4.tcp_rmem"}, "5 5 5"); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "whole machine") {
		t.Error(err)
	}
}

// Writing one spelling of a bound clears the other, which cannot be put back
// by itself: 0 is refused for bytes.
func TestDirtyConforms(t *testing.T) {
	for _, name := range []string{"dirty", "dirty_background"} {
		ratio, inBytes := "/proc/sys/vm/"+name+"_ratio", "/proc/sys/vm/"+name+"_bytes"
		tree := settertest.NewTree(t, map[string]string{ratio: "20\n", inBytes: "0\n"})
		tree.Takes[ratio] = func(_, written string) (string, error) {
			return written, tree.Root.WriteFile(inBytes, []byte("0\n"))
		}
		tree.Takes[inBytes] = func(old, written string) (string, error) {
			if n, err := strconv.Atoi(strings.TrimSpace(written)); err != nil || n < 8192 {
				return old, syscall.EINVAL
			}
			return written, tree.Root.WriteFile(ratio, []byte("0\n"))
		}
		at := setter.Place{Setting: "linux.sysctl.vm." + name + "_ratio"}
		settertest.Conform(t, settertest.Case{
			Setter: setter.Dirty{Tree: tree}, At: at, A: "20", Messy: " 20\n", B: "bytes=268435456",
			Bad:    []string{"101", "-1", "20%", "bytes=", "bytes=0", "bytes=4096", "bytes=1G", "bytes=8192 20", "268435456"},
			BadAt:  []setter.Place{{Setting: "linux.sysctl.vm.dirty_bytes"}, {Setting: at.Setting, Target: "if:lo"}},
			Rest:   func() string { return tree.All() },
			Refuse: tree.Refuse, Vanish: tree.VanishAt("/proc/sys/vm"),
		})
		whole := settertest.NewTree(t, map[string]string{ratio: "20\n", inBytes: "0\n"})
		for _, c := range [][2]string{{"10", ratio}, {"bytes=8192", inBytes}} {
			sh, err := setter.Dirty{Tree: whole}.Shell(at, "20")
			if err != nil {
				t.Fatal(err)
			}
			runShell(t, "/bin", "set -fu; value="+c[0]+"; "+sh.Write)
			if b, err := whole.ReadFile(c[1]); err != nil || string(b) != strings.TrimPrefix(c[0], "bytes=")+"\n" {
				t.Errorf("%s: %q, %v", c[0], b, err)
			}
			if got := runShell(t, "/bin", "set -fu; "+sh.Read); got != c[0] {
				t.Errorf("%s: the shell reads %q", c[0], got)
			}
		}
	}
}
