package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// settingLines returns a text with all lines that set nothing left blank, so that line numbers
// hold and nothing else leaves the host: no password of a mount or a wireless network, no server,
// no user.
func settingLines(name, text string) string {
	read := lines(notSecret()).reader(name)
	var out []string
	for _, group := range logicalLines(text) {
		kept := read(group)
		if kept == nil {
			kept = make([]string, len(group))
		}
		out = append(out, kept...)
	}
	kept := strings.TrimRight(strings.Join(out, "\n"), "\n")
	if kept == "" {
		return ""
	}
	return kept + "\n"
}

// logicalLines groups each line with those that it continues on by a backslash.
func logicalLines(text string) [][]string {
	var out [][]string
	var group []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		group = append(group, line)
		if !strings.HasSuffix(line, `\`) {
			out = append(out, group)
			group = nil
		}
	}
	if group != nil {
		out = append(out, group)
	}
	return out
}

// reader keeps a line with its continuations, possibly redacted, or returns nil. It may remember
// the current section.
type reader func(group []string) []string

// lines keep what a function leaves of a line.
type lines func(string) string

// reader chooses the reader by the file's path.
func (open lines) reader(name string) reader {
	dir := path.Dir(name)
	switch {
	case name == "/etc/fstab":
		return matching(`.`, fstabLine)
	case name == "/etc/exports", strings.HasSuffix(name, ".exports"):
		return exportLines
	case name == "/proc/cmdline", name == "/etc/default/grub", name == "/boot/grub/grub.conf":
		return arguments(open)
	case name == "/etc/samba/smb.conf":
		return open.sections(map[string]string{"global": `(?i)^\s*(socket|server|aio|use|write)`})
	case name == "/etc/nfs.conf":
		return open.sections(map[string]string{"nfsd": `^\s*threads`})
	case name == "/etc/sysctl.conf", strings.HasSuffix(dir, "/sysctl.d"):
		return matching(`MLX|^[^#;]*(=|: )`, open)
	case strings.HasSuffix(dir, "/modprobe.d"):
		return matching(`^\s*options\s`, open)
	case strings.HasSuffix(dir, "/udev/rules.d"):
		return matching(`RUN|ATTR\{`, open)
	case strings.HasSuffix(dir, "/systemd/network"):
		return open.sections(map[string]string{"match": `.`, "link": `.`})
	case strings.HasSuffix(dir, "/system-connections"):
		return open.sections(map[string]string{"connection": `^(id|interface-name|type)=`, "ethernet": `^mtu=`, "802-3-ethernet": `^mtu=`, "ethtool": `.`})
	case strings.HasSuffix(name, "/tuned.conf"):
		return open.sections(map[string]string{"main": `include`, "sysctl": `.`, "cpu": `.`, "net": `.`})
	case strings.HasPrefix(dir, "/etc/sysconfig/"):
		return matching(`^\s*(MTU|ETHTOOL_OP)`, open)
	case strings.HasSuffix(name, ".service"):
		return open.sections(map[string]string{"service": commandWords})
	case strings.HasPrefix(dir, "/etc/network/interfaces"), name == "/etc/network/interfaces":
		return matching(`^\s*(iface|mtu)\s|`+commandWords, open)
	case strings.HasSuffix(dir, "/netplan"), strings.HasSuffix(dir, "/drv"), dir == "/etc/system.d",
		slices.Contains([]string{"/etc/tuned/active_profile", "/etc/tuned/tuned-main.conf", "/etc/infiniband/openib.conf", "/etc/system"}, name):
		return matching(`.`, open)
	}
	return matching(commandWords, open)
}

// commandWords occur in each script line that can set something.
const commandWords = `(?i)/proc/|/sys/|sysctl|ethtool|ifconfig|\blink\b|\bip\s|setpci|numactl|cpupower|irqbalance|modprobe|\btc\b|netsh|\breg(\.exe)?\b|ipadm|sharectl|dladm|stmfadm|\bzfs\b|netadapter|set_irq_affinity`

// matching keeps the lines that match, redacted by a function.
func matching(pattern string, f lines) reader {
	re := regexp.MustCompile(pattern)
	return func(group []string) []string {
		if !slices.ContainsFunc(group, re.MatchString) {
			return nil
		}
		return f.all(group)
	}
}

func (open lines) all(group []string) []string {
	out := make([]string, len(group))
	for i, line := range group {
		out[i] = open(line)
	}
	return out
}

// sections keeps section headers and, in the named sections, the lines that match the pattern.
func (open lines) sections(keep map[string]string) reader {
	section, res := "", map[string]*regexp.Regexp{}
	for name, pattern := range keep {
		res[name] = regexp.MustCompile(pattern)
	}
	return func(group []string) []string {
		line := strings.TrimSpace(group[0])
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = strings.ToLower(strings.TrimSpace(line[1 : len(line)-1]))
			if res[section] == nil {
				return []string{"[x]"} // a section name, such as that of a share, is private
			}
			return group
		}
		if res[section] == nil || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || !slices.ContainsFunc(group, res[section].MatchString) {
			return nil
		}
		return open.all(group)
	}
}

// notSecret drops a line that may hold a secret or the host's name.
func notSecret() lines {
	secret := regexp.MustCompile(`(?i)pass(word|wd|phrase)|secret|psk|wep|credential|private|[a-z_]key\b|\bkey\s*[:=]|hostname|domainname|identity`)
	return func(line string) string {
		if secret.MatchString(line) {
			return ""
		}
		return line
	}
}

// fstabLine keeps the mounts of network file systems, without server and user.
func fstabLine(line string) string {
	f := strings.Fields(line)
	if len(f) < 4 || !slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3"}, f[2]) || strings.HasPrefix(f[0], "#") {
		return ""
	}
	f[0] = "server:/export"
	opts := []string{"defaults"} // stands for the other options
	for _, o := range strings.Split(f[3], ",") {
		key, _, _ := strings.Cut(o, "=")
		if slices.Contains([]string{"rsize", "wsize", "nconnect", "vers", "nfsvers", "proto", "udp", "tcp", "max_channels", "multichannel"}, key) {
			opts = append(opts, o)
		}
	}
	f[3] = strings.Join(opts, ",")
	return strings.Join(f, " ")
}

// exportLines replaces the clients of an export, unless they are everybody, and joins a line with
// its continuations.
func exportLines(group []string) []string {
	text := ""
	for _, line := range group {
		text += strings.TrimSuffix(line, `\`) + " "
	}
	text, _, _ = strings.Cut(text, "#")
	f := strings.Fields(text)
	for i, client := range f {
		host, opts, has := strings.Cut(client, "(")
		if i == 0 || host == "*" || host == "" {
			continue
		}
		if f[i] = "client"; has {
			f[i] += "(" + opts
		}
	}
	out := make([]string, len(group))
	out[0] = strings.Join(f, " ")
	return out
}

// arguments keeps the kernel arguments that affect throughput: its own for memory, IOMMU, idle
// states and PCI, sysctls and options of modules.
func arguments(open lines) reader {
	keep := regexp.MustCompile(`^((mem|ramdisk_size|iommu|intel_iommu|amd_iommu|pci|pcie_aspm|nosmt|mitigations|isolcpus|nohz_full|idle|processor\.max_cstate|intel_idle\.max_cstate)(=|$)|[a-z][a-z0-9_]*\.[a-z0-9_./]+=)`)
	return matching(`.`, func(line string) string {
		line = strings.TrimSpace(line)
		head := ""
		switch rest, kernel := strings.CutPrefix(line, "kernel "); {
		case kernel:
			head, line = "kernel ", rest
		case strings.HasPrefix(line, "GRUB_CMDLINE_LINUX"):
			name, value, _ := strings.Cut(line, "=")
			head, line = name+"=", strings.Trim(value, `"'`)
		}
		var words []string
		for _, w := range strings.Fields(line) {
			if keep.MatchString(w) && !strings.HasPrefix(w, "systemd.") && !strings.HasPrefix(w, "rd.") && open(w) != "" {
				words = append(words, w)
			}
		}
		return head + strings.Join(words, " ")
	})
}
