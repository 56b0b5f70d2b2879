package setter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// sysctlPrefix is the prefix of this mechanism's ids.
const sysctlPrefix = "linux.sysctl."

// sysctlOpen tells which parts of the tree may be written. Others hold sysctls such as
// kernel.core_pattern, by which a plan could run a program.
func sysctlOpen(setting string) bool {
	name, ok := strings.CutPrefix(setting, sysctlPrefix)
	return ok && (strings.HasPrefix(name, "net.") || slices.Contains([]string{
		"kernel.numa_balancing", "sunrpc.tcp_max_slot_table_entries", "sunrpc.tcp_slot_table_entries",
		"vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs", "vm.min_free_kbytes", "vm.swappiness", "vm.vfs_cache_pressure", "vm.zone_reclaim_mode",
	}, name))
}

// Sysctl reads and writes the kernel's sysctls for network and memory, e.g.
// linux.sysctl.net.ipv4.tcp_rmem, under Root. Values are words with one space between them;
// numbers are decimal, and within the kernel's bounds for the settings in sysctlRange. It acts on
// the network namespace of the process: SysctlScope tells what that means for a setting.
type Sysctl struct {
	Root kernel.Root
	// Tree, if not nil, is used instead of Root.
	Tree Tree
}

func (s Sysctl) tree() Tree {
	if s.Tree != nil {
		return s.Tree
	}
	return s.Root
}

func (Sysctl) Owns(setting string) bool { return sysctlOpen(setting) }

func (Sysctl) Canonical(at Place, value string) (string, error) {
	if _, err := sysctlPath(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	return strings.Join(words, " "), sysctlFits(at, words)
}

// Read implements Setter. A sysctl has one part, so like does not matter.
func (s Sysctl) Read(_ context.Context, at Place, _ string) (string, error) {
	path, err := sysctlPath(at)
	if err != nil {
		return "", err
	}
	b, err := s.tree().ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	words, err := fields(at, string(b))
	return strings.Join(words, " "), err
}

func (s Sysctl) Write(_ context.Context, at Place, value string) error {
	path, err := sysctlPath(at)
	if err != nil {
		return err
	}
	value, err = s.Canonical(at, value)
	if err != nil {
		return err
	}
	if err := s.tree().WriteFile(path, []byte(value+"\n")); err != nil {
		return fmt.Errorf("write %q to %s%s: %w", value, at, sysctlHint(at.Setting, err), err)
	}
	return nil
}

func (s Sysctl) Shell(at Place, _ string) (Shell, error) {
	path, err := sysctlPath(at)
	if err != nil {
		return Shell{}, err
	}
	file := Quote(s.tree().Path(path))
	// $now is unquoted on purpose: word splitting turns tabs into one space.
	return Shell{
		Read:  "now=$(cat " + file + `) && set -- $now && printf '%s\n' "$*"`,
		Write: `printf '%s\n' "$value" > ` + file,
	}, nil
}

// perInterface are the directories whose entries are interfaces. An interface name may hold dots
// (eth0.100), so there the last dot ends it.
var perInterface = [...]string{"net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.neigh.", "net.ipv6.neigh."}

// sysctlPath maps an id to its file below /proc/sys.
func sysctlPath(at Place) (string, error) {
	name := strings.TrimPrefix(at.Setting, sysctlPrefix)
	if !sysctlOpen(at.Setting) || at.Target != "" {
		return "", fmt.Errorf("sysctl %s: want linux.sysctl.net.… (or one of the few open ones of vm, kernel and sunrpc) and no device: %w", at, ErrValue)
	}
	parts := strings.Split(name, ".")
	for _, dir := range perInterface {
		if rest, ok := strings.CutPrefix(name, dir); ok && strings.Contains(rest, ".") {
			dot := strings.LastIndexByte(rest, '.')
			parts = append(strings.Split(strings.TrimSuffix(dir, "."), "."), rest[:dot], rest[dot+1:])
		}
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || strings.Trim(p, sysctlChars) != "" {
			return "", fmt.Errorf("sysctl %s: %q is no name: %w", at, p, ErrValue)
		}
	}
	return "/proc/sys/" + strings.Join(parts, "/"), nil
}

const sysctlChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:@"
