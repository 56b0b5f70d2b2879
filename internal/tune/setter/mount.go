package setter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// mountOptionPrefix is the prefix of this mechanism's ids: linux.mount.nfs.nconnect,
// linux.mount.cifs.max_channels, of "mount:/mnt/nas".
const mountOptionPrefix = "linux.mount."

// ErrNewMount is the cause when only a new mount can change a value.
var ErrNewMount = errors.New("needs a new mount")

// Mount reads the options of mounted NFS and SMB shares that no remount changes, and says of each
// that it needs a new mount. It changes none: the NFS client answers a remount with other sizes,
// version or port with an error and accepts nconnect without effect (fs/nfs/super.c,
// nfs_compare_remount_data; fs/nfs/client.c); the SMB client takes any size without asking the
// server how much it answers, and fails reads above that; and linerate never unmounts a file
// system in use. Remount has the other options.
type Mount struct{ Tree Tree }

// mountOptions are the options in the guide, by the id without prefix: the file systems, and the
// name in the mount table.
func mountOptions() map[string][2]string {
	return map[string][2]string{
		"nfs.rsize": {"nfs", "rsize"}, "nfs.wsize": {"nfs", "wsize"}, "nfs.nconnect": {"nfs", "nconnect"}, "nfs.vers": {"nfs", "vers"},
		"cifs.multichannel": {"cifs", "max_channels"}, "cifs.rsize": {"cifs", "rsize"}, "cifs.wsize": {"cifs", "wsize"},
	}
}

func (Mount) Owns(setting string) bool {
	_, ok := mountOptions()[strings.TrimPrefix(setting, mountOptionPrefix)]
	return ok && strings.HasPrefix(setting, mountOptionPrefix)
}

func (m Mount) Canonical(at Place, value string) (string, error) {
	if err := m.check(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) != 1 || strings.ContainsAny(words[0], ",=") {
		return "", fmt.Errorf("value %q of %s: want one word: %w", value, at, ErrValue)
	}
	return words[0], nil
}

func (m Mount) check(at Place) error {
	if !m.Owns(at.Setting) {
		return fmt.Errorf("mount option %s: not one that linerate knows: %w", at, ErrValue)
	}
	_, err := mountPoint(at)
	return err
}

// Read implements Setter. An option that the mount table does not show is "default".
func (m Mount) Read(_ context.Context, at Place, _ string) (string, error) {
	if err := m.check(at); err != nil {
		return "", err
	}
	option := mountOptions()[strings.TrimPrefix(at.Setting, mountOptionPrefix)]
	on, err := mountedAt(m.Tree, at)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	if kind := strings.TrimSuffix(on.Type, "4"); kind != option[0] && !(kind == "smb3" && option[0] == "cifs") {
		return "", fmt.Errorf("read %s: %s is mounted there, not %s: %w", at, on.Type, option[0], ErrUnsupported)
	}
	if v := on.Options[option[1]]; v != "" {
		return m.Canonical(at, v)
	}
	return "default", nil
}

// mountedAt is the topmost mount at a mount point.
func mountedAt(tree Tree, at Place) (model.Mount, error) {
	point, err := mountPoint(at)
	if err != nil {
		return model.Mount{}, err
	}
	b, err := tree.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return model.Mount{}, err
	}
	mounts, err := kernel.ParseMountinfo(b)
	if err != nil {
		return model.Mount{}, err
	}
	var on model.Mount
	for _, m := range mounts {
		if m.Point == point {
			on = m
		}
	}
	if on.Point == "" {
		return on, fmt.Errorf("nothing is mounted at %s: %w", point, kernel.ErrNoDevice)
	}
	return on, nil
}

// Write implements Setter. It fails with ErrNewMount unless the value is already in force.
func (m Mount) Write(ctx context.Context, at Place, value string) error {
	value, err := m.Canonical(at, value)
	if err != nil {
		return err
	}
	now, err := m.Read(ctx, at, value)
	if err != nil || now == value {
		return err
	}
	option := mountOptions()[strings.TrimPrefix(at.Setting, mountOptionPrefix)]
	return fmt.Errorf("write %q to %s, which has %q: %w: put %s=%s into its line of /etc/fstab, end what uses it, unmount it (for nconnect every mount of that server) and mount it again",
		value, at, now, ErrNewMount, option[1], value)
}

// Shell implements Setter: a shell can only read it, too.
func (m Mount) Shell(at Place, _ string) (Shell, error) {
	if err := m.check(at); err != nil {
		return Shell{}, err
	}
	point, err := mountPoint(at)
	if err != nil {
		return Shell{}, err
	}
	option := mountOptions()[strings.TrimPrefix(at.Setting, mountOptionPrefix)][1]
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`).Replace(point)
	return Shell{
		Read: `point=` + Quote(escaped) + ` awk -v option=` + option + ` '$5 == ENVIRON["point"] { found = 1; now = "default"; n = split($6 "," $NF, o, ","); ` +
			`for (i = 1; i <= n; i++) if (index(o[i], option "=") == 1) now = substr(o[i], length(option) + 2) } END { if (!found) exit 1; print now }' ` + Quote(m.Tree.Path("/proc/self/mountinfo")),
		Write:    "echo " + Quote(option+" needs a new mount of "+point) + " >&2; false",
		Programs: []string{"awk"},
	}, nil
}
