package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Reboot is a restart of a host: what only ran is gone, and what its files say is in force. n makes
// the start different from others.
func Reboot(system, state, root string, n int) error {
	kept, err := os.ReadDir(state)
	if err != nil {
		return fmt.Errorf("restart the fake: %w", err)
	}
	for _, f := range kept {
		if !outlasts(system, f.Name()) {
			if err := os.Remove(filepath.Join(state, f.Name())); err != nil {
				return fmt.Errorf("restart the fake: %w", err)
			}
		}
	}
	h := host{"", state, ""}
	start := map[string]string{"freebsd": "boot", "macos": "kern.bootsessionuuid", "illumos": "boot_time", "onefs": "boot"}[system]
	if err := h.write(start, fmt.Sprintf("%d", 1763971201+n)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(root, "var/run/linerate.boot")); err != nil && !os.IsNotExist(err) { // /var/run is emptied
		return fmt.Errorf("restart the fake: %w", err)
	}
	for file, before := range map[string]string{"/boot/loader.conf": "", "/etc/sysctl.conf": "", "/etc/linerate.sysctl.sh": "/usr/sbin/sysctl "} {
		b, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("restart the fake: %w", err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			line, ok := strings.CutPrefix(strings.TrimSpace(line), before)
			name, value, assigned := strings.Cut(line, "=")
			if ok && assigned && !strings.HasPrefix(line, "#") {
				if err := h.write(name, strings.Trim(value, `"`)); err != nil {
					return err
				}
			}
		}
	}
	if err := h.interfaces(filepath.Join(root, "etc/rc.conf")); err != nil {
		return err
	}
	return h.again(system)
}

// interfaces sets what FreeBSD's rc.conf gives ifconfig: as sh does, with each assignment that uses
// the one before it.
func (h host) interfaces(file string) error {
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("restart the fake: %w", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), `="`)
		value, _, ended := strings.Cut(value, `"`)
		if ok && ended && strings.HasPrefix(name, "ifconfig_") {
			all[name] = strings.NewReplacer("${"+name+"}", all[name], "$"+name, all[name]).Replace(value)
		}
	}
	for name, value := range all {
		at, words := strings.TrimPrefix(name, "ifconfig_")+":", strings.Fields(value)
		for i, w := range words {
			word := strings.TrimPrefix(w, "-")
			switch {
			case w == "mtu" && i+1 < len(words):
				err = h.write(at+"mtu", words[i+1])
			case word == "lro" || word == "tso4" || word == "tso6":
				err = h.write(at+word, map[bool]string{true: "on", false: "off"}[w == word])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// outlasts tells which values of the state a restart keeps.
func outlasts(system, name string) bool {
	switch system {
	case "macos":
		return name == "mtu"
	case "illumos":
		return strings.Contains(name, ":") || name == "servers" || name == "lockd_servers" || strings.HasPrefix(name, "persistent.")
	}
	return strings.Contains(name, "~") || strings.HasPrefix(name, "tank:")
}

// again sets what illumos keeps by itself.
func (h host) again(system string) error {
	if system != "illumos" {
		return nil
	}
	kept, err := filepath.Glob(filepath.Join(h.state, "persistent.*"))
	if err != nil {
		return fmt.Errorf("restart the fake: %w", err)
	}
	for _, file := range kept {
		name := strings.TrimPrefix(filepath.Base(file), "persistent.")
		if err := h.write(name, h.value("persistent."+name, "")); err != nil {
			return err
		}
	}
	return nil
}
