package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/tune/setter"
)

// fakeHost is the kernel and the disk of a fake host. Its disk is a directory; its
// values survive the process that is killed.
type fakeHost struct {
	root   string
	values map[setter.Place]string
	writes int
}

var errRefused = errors.New("operation not permitted")

// nic is the fake's one card.
const nic = "pci:0000:3b:00.0"

// defaults are what the kernel has when it starts.
func defaults() map[setter.Place]string {
	return map[setter.Place]string{
		{Setting: "linux.sysctl.net.core.rmem_max"}:               "212992",
		{Setting: "linux.sysctl.net.core.wmem_max"}:               "212992",
		{Setting: "linux.sysctl.net.ipv4.tcp_rmem"}:               "4096 131072 6291456",
		{Setting: "linux.sysctl.net.ipv4.tcp_notsent_lowat"}:      "4294967295",
		{Setting: "linux.sysctl.net.core.optmem_max"}:             "20480", // rounds to 16
		{Setting: "linux.sysctl.net.core.somaxconn"}:              "4096",  // clamps at 65535
		{Setting: "linux.sysctl.net.core.busy_poll"}:              "0",     // refuses anything else
		{Setting: "linux.sysctl.net.ipv4.tcp_mem"}:                "1 2 3", // writes half of it
		{Setting: "linux.sysctl.net.core.netdev_budget"}:          "300",   // takes no notice
		{Setting: "linux.zfsmodule.zfs_arc_max"}:                  "0",
		{Setting: "linux.link.mtu", Target: nic}:                  "1500",
		{Setting: "linux.link.txqueuelen", Target: nic}:           "1000",
		{Setting: "linux.ethtool.ring", Target: nic}:              "rx=512 tx=512",
		{Setting: "linux.ethtool.channels", Target: nic}:          "combined=4",
		{Setting: "linux.ethtool.rss", Target: nic}:               "equal=4", // made anew with the channels
		{Setting: "linux.ethtool.features", Target: nic}:          "rx-gro=on",
		{Setting: "linux.mount.nfs.rsize", Target: "/mnt/media"}:  "262144",
		{Setting: "linux.bdi.nfs_readahead", Target: "/mnt/nas"}:  "128",
		{Setting: "linux.mount.nfs.rsize", Target: "/mnt/no-tab"}: "8192",
	}
}

const fakeFstab = "# mounts\nUUID=1 / ext4 errors=remount-ro 0 1\nnas:/media /mnt/media\tnfs rw,rsize=262144 0 0\n"

// newFakeHost has a disk below root, with some files that linerate did not write.
func newFakeHost(root string) (*fakeHost, error) {
	h := &fakeHost{root: root, values: defaults()}
	for _, dir := range []string{"etc/sysctl.d", "etc/udev", "run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{"etc/fstab": fakeFstab, "etc/sysctl.d/10-theirs.conf": "net.core.wmem_max = 212992\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o640); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Owns implements setter.Setter.
func (h *fakeHost) Owns(setting string) bool {
	return strings.HasPrefix(setting, "linux.") && !strings.HasPrefix(setting, "linux.file.")
}

// Canonical implements setter.Setter.
func (h *fakeHost) Canonical(_ setter.Place, value string) (string, error) {
	if v := strings.Join(strings.Fields(value), " "); v != "" {
		return v, nil
	}
	return "", setter.ErrValue
}

// Read implements setter.Setter.
func (h *fakeHost) Read(_ context.Context, at setter.Place, _ string) (string, error) {
	v, ok := h.values[at]
	if !ok {
		return "", fmt.Errorf("read %s: no such device", at)
	}
	return v, nil
}

// Write implements setter.Setter, as kernels do.
func (h *fakeHost) Write(_ context.Context, at setter.Place, value string) error {
	if _, ok := h.values[at]; !ok {
		return fmt.Errorf("write %s: no such device", at)
	}
	h.writes++
	switch at.Setting[strings.LastIndexByte(at.Setting, '.')+1:] {
	case "optmem_max":
		n, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		value = strconv.Itoa(n / 16 * 16)
	case "somaxconn":
		n, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		value = strconv.Itoa(min(n, 65535))
	case "busy_poll":
		if value != "0" {
			return errRefused
		}
	case "netdev_budget":
		return nil
	case "tcp_mem":
		if value != "1 2 3" {
			h.values[at] = strings.Fields(value)[0] + " 2 3"
			return errRefused
		}
	case "channels":
		rss := setter.Place{Setting: "linux.ethtool.rss", Target: at.Target}
		h.values[rss] = "equal=" + strings.TrimPrefix(value, "combined=")
	}
	h.values[at] = value
	return nil
}

// Shell implements setter.Setter; the fake has no shell.
func (h *fakeHost) Shell(at setter.Place, _ string) (setter.Shell, error) {
	return setter.Shell{Read: "echo " + setter.Quote(h.values[at]), Write: "false"}, nil
}

// reboot forgets what was set and then does what the files say.
func (h *fakeHost) reboot() error {
	h.values = defaults()
	files, err := filepath.Glob(filepath.Join(h.root, "etc/sysctl.d/*.conf"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
			if at := (setter.Place{Setting: "linux.sysctl." + name}); ok && !strings.HasPrefix(line, "#") {
				if err := h.Write(context.Background(), at, value); err != nil && !errors.Is(err, errRefused) {
					return err
				}
			}
		}
	}
	return nil
}

// state is all that the host is: every value, and every file of /etc with its
// mode and owner.
func (h *fakeHost) state() (string, error) {
	var b strings.Builder
	for _, at := range slices.SortedFunc(maps.Keys(h.values), func(a, b setter.Place) int { return strings.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(&b, "%s = %s\n", at, h.values[at])
	}
	tree, err := treeState(filepath.Join(h.root, "etc"))
	return b.String() + tree, err
}

// treeState is every file below dir.
func treeState(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(path, dir), info.Mode())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}
