package persist

import (
	"fmt"
	"path"
	"strings"
)

// udevFile sorts after the distributions' rules, so that $name is the final name.
const udevFile = "/etc/udev/rules.d/99-zz-linerate.rules"

// nic keeps a setting of an interface. The program that configures the interface also sets its
// MTU, so the MTU goes into that program's file; all else becomes a udev rule.
func (r *rendering) nic(v Value) error {
	n, ok := r.find(v.Target)
	if !ok {
		r.refuse(v, "the device is not there now")
		return nil
	}
	if v.Setting == "linux.link.mtu" {
		return r.mtu(v, n)
	}
	return r.udev(v, n)
}

func (r *rendering) find(device string) (NIC, bool) {
	for _, n := range r.host.NICs {
		if n.Device == device {
			return n, true
		}
	}
	return NIC{}, false
}

func (r *rendering) mtu(v Value, n NIC) error {
	switch {
	case n.Keyfile != "":
		return r.edit(n.Keyfile, v, "NetworkManager takes it at its next start or `nmcli connection reload`", func(text string, _ bool) (string, error) {
			return setKey(text, []string{"ethernet", "802-3-ethernet"}, "mtu", v.Value), nil
		})
	case n.NetworkFile != "" && !n.NetworkShared:
		dropIn := path.Join("/etc/systemd/network", path.Base(n.NetworkFile)+".d", "90-linerate.conf")
		return r.section(dropIn, v, "[Link]", "MTUBytes", v.Value)
	case n.LinkText != "":
		return r.link(v, n, "MTUBytes", v.Value)
	}
	return r.udev(v, n)
}

// section is a file of linerate with one section of keys.
func (r *rendering) section(file string, v Value, section, key, value string) error {
	return r.edit(file, v, "", func(text string, exists bool) (string, error) {
		if !exists {
			text = Mark + section + "\n"
		}
		if !strings.HasPrefix(text, Mark) {
			return "", fmt.Errorf("%s is there and not marked as linerate's: move it away", file)
		}
		return setKey(text, []string{strings.Trim(section, "[]")}, key, value), nil
	})
}

// link is a .link file for one device. Only the first matching file counts, so it copies the
// [Link] section of the file that it precedes, on which the names of interfaces depend.
func (r *rendering) link(v Value, n NIC, key, value string) error {
	match, ok := linkMatch(n.Device)
	if !ok {
		return r.udev(v, n)
	}
	file := "/etc/systemd/network/10-linerate-" + strings.NewReplacer(":", "-", ".", "-").Replace(n.Device) + ".link"
	return r.edit(file, v, "", func(text string, exists bool) (string, error) {
		if !exists {
			text = Mark + "[Match]\n" + match + "\n\n[Link]\n" + sectionText(n.LinkText, "Link")
		}
		if !strings.HasPrefix(text, Mark) {
			return "", fmt.Errorf("%s is there and not marked as linerate's: move it away", file)
		}
		return setKey(text, []string{"Link"}, key, value), nil
	})
}

// linkMatch is the [Match] of a device (systemd.link(5)): ID_PATH begins with
// "pci-" and the address.
func linkMatch(device string) (string, bool) {
	kind, id, _ := strings.Cut(device, ":")
	switch kind {
	case "pci":
		return "Path=pci-" + id, true
	case "mac":
		return "PermanentMACAddress=" + id, true
	}
	return "", false
}

// sectionText is the assignments of a section, without comments.
func sectionText(text, section string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		l := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(l, "["):
			in = l == "["+section+"]"
		case in && l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, ";"):
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// setKey sets a key of a file of sections: in the first of the named sections that exists, else
// in a new one at the end. Every other byte is kept.
func setKey(text string, sections []string, key, value string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	begin := -1
	for i, line := range lines {
		l := strings.TrimSpace(line)
		for _, s := range sections {
			if begin < 0 && l == "["+s+"]" {
				begin = i
			}
		}
	}
	assignment := key + "=" + value + "\n"
	if begin < 0 {
		if text != "" && !strings.HasSuffix(text, "\n\n") {
			text += "\n"
		}
		return text + "[" + sections[0] + "]\n" + assignment
	}
	for i := begin + 1; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "["); i++ {
		if name, _, ok := strings.Cut(lines[i], "="); ok && strings.TrimSpace(name) == key {
			lines[i] = assignment
			return strings.Join(lines, "")
		}
	}
	lines[begin] += assignment
	return strings.Join(lines, "")
}

// udev is a rule that sets the value when the interface appears (udev(7)).
func (r *rendering) udev(v Value, n NIC) error {
	match, ok := udevMatch(n.Device)
	action, why := r.udevAction(v)
	if !ok {
		why = "the device has no address that udev could find it by"
	}
	if why != "" {
		r.refuse(v, why)
		return nil
	}
	what := "# " + v.Setting + " of " + n.Device
	return r.udevRule(v, what, `ACTION=="add", SUBSYSTEM=="net", `+match+", "+action)
}

// udevRule keeps the rule of one setting of one device; the comment above it names the setting.
func (r *rendering) udevRule(v Value, what, rule string) error {
	return r.edit(udevFile, v, "", func(text string, exists bool) (string, error) {
		if !exists {
			text = Mark
		}
		if !strings.HasPrefix(text, Mark) {
			return "", fmt.Errorf("%s is there and not marked as linerate's: move it away", udevFile)
		}
		var b strings.Builder
		skip := false
		for line := range strings.Lines(text) {
			if skip {
				skip = false
				continue
			}
			if strings.TrimSpace(line) == what {
				skip = true // and the rule below it
				continue
			}
			b.WriteString(line)
		}
		return b.String() + what + "\n" + rule + "\n", nil
	})
}

// udevMatch matches the device when it appears. A VLAN has the address of the card below it, but
// no driver.
func udevMatch(device string) (string, bool) {
	kind, id, _ := strings.Cut(device, ":")
	if id == "" || strings.ContainsAny(id, "\"\\*?[]|$%\n ") {
		return "", false
	}
	switch kind {
	case "pci":
		return `KERNELS=="` + id + `", DRIVERS=="?*"`, true
	case "mac":
		return `ATTR{address}=="` + id + `", DRIVERS=="?*"`, true
	case "if":
		return `KERNEL=="` + id + `"`, true
	}
	return "", false
}

// udevAction sets the value by the interface's own files, or by ethtool(8), whose terms the
// values use. Values consist of letters, digits and "=-_", since they enter a rule unquoted.
func (r *rendering) udevAction(v Value) (action, why string) {
	if strings.Trim(v.Value, "abcdefghijklmnopqrstuvwxyz0123456789=-_ ") != "" {
		return "", fmt.Sprintf("a udev rule cannot hold the value %q", v.Value)
	}
	switch v.Setting {
	case "linux.link.mtu":
		return `ATTR{mtu}="` + v.Value + `"`, ""
	case "linux.link.txqueuelen":
		return `ATTR{tx_queue_len}="` + v.Value + `"`, ""
	}
	flag, ok := map[string]string{
		"linux.ethtool.ring": "-G", "linux.ethtool.channels": "-L", "linux.ethtool.coalesce": "-C",
		"linux.ethtool.pause": "-A", "linux.ethtool.features": "-K",
	}[v.Setting]
	switch {
	case !ok:
		return "", "no file is known that sets it when the host starts: apply the plan again after a restart"
	case r.host.Ethtool == "":
		return "", "the host has no ethtool, by which udev could set it: install ethtool"
	}
	return `RUN+="` + r.host.Ethtool + " " + flag + " $name " + strings.ReplaceAll(v.Value, "=", " ") + `"`, ""
}
