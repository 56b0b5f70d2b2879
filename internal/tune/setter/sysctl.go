package setter

import (
	"context"
	"fmt"
	"strings"

	"linerate/internal/kernel"
)

// sysctlPrefix is what the ids of this mechanism begin with. Only the network
// part of the tree is open: others hold things like kernel.core_pattern, by
// which a plan could run a program.
const sysctlPrefix = "linux.sysctl.net."

// Sysctl reads and writes the kernel's network sysctls, e.g.
// linux.sysctl.net.ipv4.tcp_rmem, under Root. Values are words with one space
// between them. What it sees is the network namespace of the process.
type Sysctl struct{ Root kernel.Root }

// Owns implements Setter.
func (Sysctl) Owns(setting string) bool { return strings.HasPrefix(setting, sysctlPrefix) }

// Canonical implements Setter.
func (Sysctl) Canonical(at Place, value string) (string, error) {
	if _, err := sysctlPath(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	return strings.Join(words, " "), err
}

// Read implements Setter. A sysctl has one part, so like does not matter.
func (s Sysctl) Read(_ context.Context, at Place, _ string) (string, error) {
	path, err := sysctlPath(at)
	if err != nil {
		return "", err
	}
	b, err := s.Root.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	words, err := fields(at, string(b))
	return strings.Join(words, " "), err
}

// Write implements Setter.
func (s Sysctl) Write(_ context.Context, at Place, value string) error {
	path, err := sysctlPath(at)
	if err != nil {
		return err
	}
	value, err = s.Canonical(at, value)
	if err != nil {
		return err
	}
	if err := s.Root.WriteFile(path, []byte(value+"\n")); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

// Shell implements Setter.
func (s Sysctl) Shell(at Place, _ string) (Shell, error) {
	path, err := sysctlPath(at)
	if err != nil {
		return Shell{}, err
	}
	file := Quote(s.Root.Path(path))
	// $now is unquoted on purpose: word splitting makes tabs one space.
	return Shell{
		Read:  "now=$(cat " + file + `) && set -- $now && printf '%s\n' "$*"`,
		Write: `printf '%s\n' "$value" > ` + file,
	}, nil
}

// perInterface are the directories whose entries are interfaces. An interface
// name may hold dots (eth0.100), so there the last dot ends it.
var perInterface = [...]string{"net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.neigh.", "net.ipv6.neigh."}

// sysctlPath maps an id to its file below /proc/sys.
func sysctlPath(at Place) (string, error) {
	name := strings.TrimPrefix(at.Setting, "linux.sysctl.")
	if !strings.HasPrefix(at.Setting, sysctlPrefix) || at.Target != "" {
		return "", fmt.Errorf("sysctl %s: want linux.sysctl.net.… and no device: %w", at, ErrValue)
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
