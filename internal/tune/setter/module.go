package setter

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Prefixes of the ids of this mechanism: linux.module.MODULE.PARAMETER, and
// linux.zfsmodule.PARAMETER for those of ZFS.
const (
	modulePrefix = "linux.module."
	zfsPrefix    = "linux.zfsmodule."
)

// modules are those whose parameters may be written. Parameters of others can run programs or
// switch protections off, and a plan may come from an untrusted source.
func modules() []string {
	return []string{
		"cifs", "dm_mod", "dm_multipath", "iscsi_tcp", "libiscsi", "libiscsi_tcp", "lockd", "nfs", "nfsd", "nfsv4", "nvme", "nvme_core",
		"nvme_tcp", "pcie_aspm", "scsi_mod", "sunrpc", "tcp_bbr", "tcp_cubic", "zfs",
	}
}

// Module sets parameters of loaded modules below /sys/module. A switch that the kernel prints as
// Y or N is read as 1 or 0 if the value in question is written so. Many drivers read a parameter
// only when a device or mount is created.
type Module struct{ Tree Tree }

func (Module) Owns(setting string) bool {
	return strings.HasPrefix(setting, modulePrefix) || strings.HasPrefix(setting, zfsPrefix)
}

func (Module) Canonical(at Place, value string) (string, error) {
	if _, err := modulePath(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) != 1 {
		return "", fmt.Errorf("value %q of %s: want one word: %w", value, at, ErrValue)
	}
	return words[0], nil
}

func modulePath(at Place) (string, error) {
	name, ok := strings.CutPrefix(at.Setting, modulePrefix)
	if !ok {
		name, ok = strings.CutPrefix(at.Setting, zfsPrefix)
		name = "zfs." + name
	}
	module, parameter, _ := strings.Cut(name, ".")
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	if !ok || at.Target != "" || parameter == "" || strings.Trim(parameter, chars) != "" || !slices.Contains(modules(), module) {
		return "", fmt.Errorf("module parameter %s: want linux.module.MODULE.PARAMETER without a device, and a module of %s: %w", at, strings.Join(modules(), ", "), ErrValue)
	}
	return "/sys/module/" + module + "/parameters/" + parameter, nil
}

func (m Module) Read(_ context.Context, at Place, like string) (string, error) {
	path, err := modulePath(at)
	if err != nil {
		return "", err
	}
	b, err := m.Tree.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	now, err := m.Canonical(at, bracketed(string(b)))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	if like = strings.TrimSpace(like); like == "0" || like == "1" {
		switch now {
		case "Y":
			return "1", nil
		case "N":
			return "0", nil
		}
	}
	return now, nil
}

func (m Module) Write(_ context.Context, at Place, value string) error {
	value, err := m.Canonical(at, value)
	if err != nil {
		return err
	}
	path, err := modulePath(at)
	if err != nil {
		return err
	}
	if err := m.Tree.WriteFile(path, []byte(value+"\n")); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

func (m Module) Shell(at Place, like string) (Shell, error) {
	path, err := modulePath(at)
	if err != nil {
		return Shell{}, err
	}
	file, spell := Quote(m.Tree.Path(path)), ""
	if like = strings.TrimSpace(like); like == "0" || like == "1" {
		spell = ` Y) word=1 ;; N) word=0 ;;`
	}
	return Shell{
		Read:  `{ read -r word < ` + file + ` || [ -n "$word" ]; } && case "$word" in *"["*"]"*) word=${word##*"["}; word=${word%%"]"*} ;;` + spell + ` esac && echo "$word"`,
		Write: `printf '%s\n' "$value" > ` + file,
	}, nil
}
