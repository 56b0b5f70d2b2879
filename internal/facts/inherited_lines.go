package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// settingLines keeps the lines of a host's files that set something. It has each expression
// compiled once: a host has hundreds of files.
type settingLines struct {
	open    func(line string) string // drops what is secret
	matches map[string]func(string) bool
}

func newSettingLines() settingLines {
	return settingLines{notSecret(), map[string]func(string) bool{}}
}

// of returns a text with all lines that set nothing left blank, so that line numbers hold and
// nothing else leaves the host: no password of a mount or a wireless network, no server, no user.
func (s settingLines) of(name, text string) string {
	read := s.reader(name)
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

// reader chooses the reader by the file's path.
func (s settingLines) reader(name string) reader {
	dir := path.Dir(name)
	switch {
	case name == "/etc/fstab":
		return s.matching(`.`, fstabLine)
	case name == "/etc/exports", strings.HasSuffix(name, ".exports"):
		return exportLines
	case name == "/proc/cmdline", name == "/etc/default/grub", name == "/boot/grub/grub.conf":
		return s.arguments()
	case name == "/etc/samba/smb.conf":
		return s.sections(map[string]string{"global": `(?i)^\s*(socket|server|aio|use|write)`})
	case name == "/etc/nfs.conf":
		return s.sections(map[string]string{"nfsd": `^\s*threads`})
	case name == "/etc/sysctl.conf", strings.HasSuffix(dir, "/sysctl.d"):
		return s.matching(`MLX|^[^#;]*(=|: )`, s.open)
	case strings.HasSuffix(dir, "/modprobe.d"):
		return s.matching(`^\s*options\s`, s.open)
	case strings.HasSuffix(dir, "/udev/rules.d"):
		return s.matching(`RUN|ATTR\{`, s.open)
	case strings.HasSuffix(dir, "/systemd/network"):
		return s.sections(map[string]string{"match": `.`, "link": `.`})
	case strings.HasSuffix(dir, "/system-connections"):
		return s.sections(map[string]string{"connection": `^(id|interface-name|type)=`, "ethernet": `^mtu=`, "802-3-ethernet": `^mtu=`, "ethtool": `.`})
	case strings.HasSuffix(name, "/tuned.conf"):
		return s.sections(map[string]string{"main": `include`, "sysctl": `.`, "cpu": `.`, "net": `.`})
	case strings.HasPrefix(dir, "/etc/sysconfig/"):
		return s.matching(`^\s*(MTU|ETHTOOL_OP)`, s.open)
	case strings.HasSuffix(name, ".service"):
		return s.sections(map[string]string{"service": commandWords})
	case strings.HasPrefix(dir, "/etc/network/interfaces"), name == "/etc/network/interfaces":
		return s.matching(`^\s*(iface|mtu)\s|`+commandWords, s.open)
	case strings.HasSuffix(dir, "/netplan"), strings.HasSuffix(dir, "/drv"), dir == "/etc/system.d",
		slices.Contains([]string{"/etc/tuned/active_profile", "/etc/tuned/tuned-main.conf", "/etc/infiniband/openib.conf", "/etc/system"}, name):
		return s.matching(`.`, s.open)
	}
	return s.matching(commandWords, s.open)
}

// commandWords occur in each script line that can set something.
const commandWords = `(?i)/proc/|/sys/|sysctl|ethtool|ifconfig|\blink\b|\bip\s|setpci|numactl|cpupower|irqbalance|modprobe|\btc\b|netsh|\breg(\.exe)?\b|ipadm|sharectl|dladm|stmfadm|\bzfs\b|netadapter|set_irq_affinity`

// match is an expression, compiled when it is first asked for.
func (s settingLines) match(pattern string) func(string) bool {
	f := s.matches[pattern]
	if f == nil {
		f = regexp.MustCompile(pattern).MatchString
		if pattern == commandWords {
			f = isCommand(f)
		}
		s.matches[pattern] = f
	}
	return f
}

// matching keeps the lines that match, redacted by a function.
func (s settingLines) matching(pattern string, keep func(line string) string) reader {
	match := s.match(pattern)
	return func(group []string) []string {
		if !slices.ContainsFunc(group, match) {
			return nil
		}
		return each(group, keep)
	}
}

// isCommand asks an expression of commandWords only about lines that hold one of its words, since
// a host has some ten thousand lines of scripts and the expression is slow.
func isCommand(match func(string) bool) func(string) bool {
	words := strings.Fields(`/proc/ /sys/ sysctl ethtool ifconfig link ip setpci numactl cpupower
		irqbalance modprobe tc netsh reg ipadm sharectl dladm stmfadm zfs netadapter set_irq_affinity`)
	return func(line string) bool {
		lower := strings.ToLower(line)
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) }) && match(line)
	}
}

func each(group []string, f func(string) string) []string {
	out := make([]string, len(group))
	for i, line := range group {
		out[i] = f(line)
	}
	return out
}

// sections keeps section headers and, in the named sections, the lines that match the pattern.
func (s settingLines) sections(keep map[string]string) reader {
	section, match := "", map[string]func(string) bool{}
	for name, pattern := range keep {
		match[name] = s.match(pattern)
	}
	return func(group []string) []string {
		line := strings.TrimSpace(group[0])
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = strings.ToLower(strings.TrimSpace(line[1 : len(line)-1]))
			if match[section] == nil {
				return []string{"[x]"} // a section name, such as that of a share, is private
			}
			return group
		}
		if match[section] == nil || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || !slices.ContainsFunc(group, match[section]) {
			return nil
		}
		return each(group, s.open)
	}
}

// notSecret drops a line that may hold a secret or the host's name.
func notSecret() func(line string) string {
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
func (s settingLines) arguments() reader {
	keep := s.match(`^((mem|ramdisk_size|iommu|intel_iommu|amd_iommu|pci|pcie_aspm|nosmt|mitigations|isolcpus|nohz_full|idle|processor\.max_cstate|intel_idle\.max_cstate)(=|$)|[a-z][a-z0-9_]*\.[a-z0-9_./]+=)`)
	return s.matching(`.`, func(line string) string {
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
			if keep(w) && !strings.HasPrefix(w, "systemd.") && !strings.HasPrefix(w, "rd.") && s.open(w) != "" {
				words = append(words, w)
			}
		}
		return head + strings.Join(words, " ")
	})
}
