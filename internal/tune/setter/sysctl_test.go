package setter_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// tree makes a root directory with the given files.
func tree(t *testing.T, files map[string]string) kernel.Root {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return kernel.Root(dir)
}

func TestSysctlConforms(t *testing.T) {
	root := tree(t, map[string]string{"proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"})
	settertest.Conform(t, settertest.Case{
		Setter: setter.Sysctl{Root: root},
		At:     setter.Place{Setting: "linux.sysctl.net.ipv4.tcp_rmem"},
		A:      "4096 131072 6291456", Messy: "4096\t131072   6291456\n", B: "4096 131072 33554432",
		BadAt: []setter.Place{
			{Setting: "linux.sysctl.net.ipv4.tcp_rmem", Target: "pci:0000:00:01.0"},
			{Setting: "linux.sysctl.kernel.core_pattern"},
			{Setting: "linux.sysctl.net."},
			{Setting: "linux.sysctl.net.ipv4/../../kernel/hostname"},
			{Setting: "linux.sysctl.net...kernel.hostname"},
			{Setting: "linux.sysctl.net.ipv4.conf....rp_filter"},
			{Setting: "linux.sysctl.net.ipv4.tcp_rmem'"},
			{Setting: "linux.sysctl.net.ipv4.tcp rmem"},
		},
		Absent: []setter.Place{{Setting: "linux.sysctl.net.ipv4"}, {Setting: "linux.sysctl.net.ipv4.none"}},
	})
}

func TestSysctlPaths(t *testing.T) {
	files := map[string]string{
		"linux.sysctl.net.core.rmem_max":                    "proc/sys/net/core/rmem_max",
		"linux.sysctl.net.ipv4.conf.eth0.rp_filter":         "proc/sys/net/ipv4/conf/eth0/rp_filter",
		"linux.sysctl.net.ipv4.conf.eth0.100.rp_filter":     "proc/sys/net/ipv4/conf/eth0.100/rp_filter",
		"linux.sysctl.net.ipv6.neigh.br-1.2@x.gc_thresh1":   "proc/sys/net/ipv6/neigh/br-1.2@x/gc_thresh1",
		"linux.sysctl.net.ipv4.tcp_available_ulp":           "proc/sys/net/ipv4/tcp_available_ulp",
		"linux.sysctl.net.netfilter.nf_conntrack_max":       "proc/sys/net/netfilter/nf_conntrack_max",
		"linux.sysctl.net.ipv4.conf.all.accept_local":       "proc/sys/net/ipv4/conf/all/accept_local",
		"linux.sysctl.net.ipv4.tcp_congestion_control":      "proc/sys/net/ipv4/tcp_congestion_control",
		"linux.sysctl.net.ipv4.tcp_allowed_congestion_ctrl": "proc/sys/net/ipv4/tcp_allowed_congestion_ctrl",
	}
	for id, file := range files {
		s := setter.Sysctl{Root: tree(t, map[string]string{file: "7\n"})}
		if got, err := s.Read(context.Background(), setter.Place{Setting: id}, ""); got != "7" {
			t.Errorf("%s: read %q, %v from %s", id, got, err, file)
		}
	}
}

func TestSysctlErrorsKeepTheirCause(t *testing.T) {
	s := setter.Sysctl{Root: tree(t, nil)}
	at := setter.Place{Setting: "linux.sysctl.net.ipv4.tcp_new_thing"}
	_, err := s.Read(context.Background(), at, "")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at.Setting) {
		t.Errorf("read: %v", err)
	}
	if err := s.Write(context.Background(), at, "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write: %v", err)
	}
}

// An id that gets past the checks must not name a file outside proc/sys/net.
func FuzzSysctlPath(f *testing.F) {
	for _, seed := range []string{"net.ipv4.tcp_rmem", "net.ipv4.conf...x", "net/../x", "net.ipv4.conf.a.b.c"} {
		f.Add("linux.sysctl." + seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		sh, err := setter.Sysctl{}.Shell(setter.Place{Setting: id}, "")
		if err != nil {
			return
		}
		_, file, _ := strings.Cut(sh.Write, " > '")
		file = strings.TrimSuffix(file, "'")
		if !strings.HasPrefix(file, "/proc/sys/net/") || path.Clean(file) != file || strings.ContainsAny(file, "'\n ") {
			t.Errorf("%q reads %q", id, file)
		}
	})
}
