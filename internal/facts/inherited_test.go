package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
)

// tree writes files and, where the text begins with "→ ", links.
func tree(t *testing.T, files map[string]string) kernel.Root {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "→ "); ok {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return kernel.Root(root)
}

func TestReadInherited(t *testing.T) {
	got, err := ReadInherited(tree(t, map[string]string{
		"etc/sysctl.conf":                         "a = 1\n",
		"etc/sysctl.d/99-sysctl.conf":             "→ ../sysctl.conf",
		"etc/sysctl.d/10-abs.conf":                "→ /etc/other/abs.conf", // absolute, and still in the tree
		"etc/other/abs.conf":                      "b = 2\n",
		"etc/sysctl.d/50-masked.conf":             "→ /dev/null",
		"etc/sysctl.d/README":                     "no settings\n",
		"etc/sysctl.d/99-dangling.conf":           "→ nowhere",
		"etc/tuned/active_profile":                "mine\n",
		"etc/tuned/profiles/mine/tuned.conf":      "[main]\n",
		"usr/lib/modprobe.d/mlnx.conf":            "options mlx4_en x=1\n",
		"var/lib/dpkg/info/mlnx-tools:amd64.list": "/.\n/lib/modprobe.d/mlnx.conf\n",
		"var/lib/dpkg/info/mlnx-tools.md5sums":    "0 /etc/sysctl.conf\n",
		"proc/sys/kernel/osrelease":               "6.18.44\n",
		"proc/sys/net/ipv4/tcp_rmem":              "4096\t131072\t33554432\n",
	}), []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/sysctl.conf": "a = 1\n", "/etc/sysctl.d/99-sysctl.conf": "a = 1\n", "/etc/sysctl.d/10-abs.conf": "b = 2\n",
		"/etc/sysctl.d/50-masked.conf": "", "/etc/tuned/active_profile": "mine\n", "/etc/tuned/profiles/mine/tuned.conf": "[main]\n",
		"/usr/lib/modprobe.d/mlnx.conf": "options mlx4_en x=1\n",
	}
	if d := cmp.Diff(want, got.Files); d != "" {
		t.Errorf("files -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"/etc/sysctl.d/99-sysctl.conf": "/etc/sysctl.conf", "/etc/sysctl.d/10-abs.conf": "/etc/other/abs.conf"}, got.Links); d != "" {
		t.Errorf("links -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"/usr/lib/modprobe.d/mlnx.conf": "mlnx-tools"}, got.Owners); d != "" {
		t.Errorf("owners -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"net.ipv4.tcp_rmem": "4096 131072 33554432"}, got.Now); d != "" {
		t.Errorf("now -want +got:\n%s", d)
	}
	if got.OS != "linux" || got.Kernel != "6.18.44" || got.TCPNames != nil || len(got.Unread) != 0 {
		t.Errorf("os %q, kernel %q, %d names, unread %v", got.OS, got.Kernel, len(got.TCPNames), got.Unread)
	}
}

func TestReadInheritedTellsTheSystem(t *testing.T) {
	for file, want := range map[string]string{
		"etc/system":                "illumos",
		"kernel/drv/ixgbe.conf":     "illumos",
		"etc/sysctl.conf":           "linux",
		"proc/sys/kernel/osrelease": "linux",
		"Windows/System32/GroupPolicy/Machine/Scripts/Startup/a.cmd": "windows",
	} {
		got, err := ReadInherited(tree(t, map[string]string{file: "6.18\n"}), nil)
		if err != nil || got.OS != want {
			t.Errorf("%s: %q, %v; want %q", file, got.OS, err, want)
		}
	}
}

func TestReadInheritedRefusesWhatIsNoTree(t *testing.T) {
	_, err := ReadInherited(tree(t, map[string]string{"home/x": "y"}), nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestReadInheritedSaysWhatItCouldNotRead(t *testing.T) {
	root := tree(t, map[string]string{"etc/sysctl.conf": strings.Repeat("#", kernel.MaxFile+1), "etc/rc.local": "x\n"})
	got, err := ReadInherited(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unread["/etc/sysctl.conf"] == "" || got.Files["/etc/rc.local"] == "" {
		t.Errorf("unread %v, files %v", got.Unread, got.Files)
	}
}
