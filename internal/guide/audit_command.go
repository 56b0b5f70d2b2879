package guide

import (
	"slices"
	"strings"
)

// commandReaders are the commands whose arguments set something, each with its parser.
func commandReaders() map[string]func(args []string) []assignment {
	return map[string]func([]string) []assignment{
		"sysctl":             sysctlCommand("linux"),
		"isi_sysctl_cluster": sysctlCommand("onefs"),
		"ethtool":            ethtoolCommand,
		"ifconfig":           ifconfigCommand,
		"ip":                 ipCommand,
		"setpci":             setpciCommand,
		"numactl":            numactlCommand,
		"cpupower":           cpupowerCommand,
		"systemctl":          serviceCommand,
		"service":            serviceCommand,
		"chkconfig":          serviceCommand,
		"modprobe":           modprobeCommand,
		"tc":                 tcCommand,
		"netsh":              netshCommand,
		"reg":                regCommand,
		"ipadm":              propertyCommand("set-prop", "illumos.ipadm.tcp."),
		"sharectl":           propertyCommand("set", "illumos.sharectl.nfs."),
		"dladm":              propertyCommand("set-linkprop", "illumos.dladm."),
		"stmfadm":            propertyCommand("modify-lu", "illumos.named."),
		"zfs":                zfsCommand,

		"set-netadapteradvancedproperty": advancedPropertyCommand,
	}
}

// sysctlCommand reads NAME=VALUE arguments. The id gets the system of the command; the
// judgement recognises names that belong to BSD.
func sysctlCommand(os string) func([]string) []assignment {
	return func(args []string) []assignment {
		var out []assignment
		for _, arg := range args {
			name, value, ok := strings.Cut(arg, "=")
			if !ok || name == "" || strings.HasPrefix(name, "-") {
				continue
			}
			name = sysctlName(name)
			out = append(out, assignment{id: os + ".sysctl." + name, name: name, value: canonical(unquote(value))})
		}
		return out
	}
}

// ethtoolCommand reads "ethtool -G DEV rx N tx N" and the like.
func ethtoolCommand(args []string) []assignment {
	kinds := map[string]string{
		"-G": "ring", "--set-ring": "ring", "-C": "coalesce", "--coalesce": "coalesce",
		"-A": "pause", "--pause": "pause", "-L": "channels", "--set-channels": "channels",
		"-K": "features", "--features": "features", "--offload": "features",
		"--set-fec": "fec", "-X": "rss", "--rxfh": "rss",
	}
	kind := kinds[args[0]]
	if kind == "" || len(args) < 4 {
		return nil
	}
	var out []assignment
	for i := 2; i+1 < len(args); i += 2 {
		if args[i] == "" {
			continue
		}
		a := assignment{id: "linux.ethtool." + kind, name: kind + " " + args[i], value: args[i+1], device: args[1]}
		if kind == "features" {
			a.id, a.name = "linux.ethtool."+args[i], args[i]
		}
		out = append(out, a)
	}
	return out
}

// ifconfigCommand reads "ifconfig DEV … mtu N txqueuelen N".
func ifconfigCommand(args []string) []assignment { return linkWords(args[0], args[1:]) }

// ipCommand reads "ip link set [dev] DEV mtu N txqueuelen N".
func ipCommand(args []string) []assignment {
	i := slices.Index(args, "set")
	if i < 1 || !strings.HasPrefix("link", args[i-1]) {
		return nil
	}
	rest := args[i+1:]
	if len(rest) > 0 && rest[0] == "dev" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil
	}
	return linkWords(rest[0], rest[1:])
}

func linkWords(device string, words []string) []assignment {
	var out []assignment
	for i := 0; i+1 < len(words); i++ {
		switch name := words[i]; name {
		case "mtu":
			out = append(out, assignment{id: "linux.link.mtu", name: name, value: words[i+1], device: device})
		case "txqueuelen", "qlen":
			out = append(out, assignment{id: "linux.link.txqueuelen", name: "txqueuelen", value: words[i+1], device: device})
		case "gso_max_size", "gro_max_size":
			out = append(out, assignment{id: "linux.link." + name, name: name, value: words[i+1], device: device})
		}
	}
	return out
}

// setpciCommand reads "setpci -s BDF REGISTER=VALUE". The Device Control register, which holds
// the read request size, is 8 bytes into the PCI Express capability; on the ConnectX cards of
// old guides that is register 68.
func setpciCommand(args []string) []assignment {
	var out []assignment
	device := ""
	for i, arg := range args {
		if (arg == "-s" || arg == "-d") && i+1 < len(args) {
			device = args[i+1]
			continue
		}
		reg, value, ok := strings.Cut(arg, "=")
		if !ok || reg == "" {
			continue
		}
		id := "linux.setpci." + reg
		if up := strings.ToUpper(reg); strings.HasPrefix(up, "CAP_EXP+8") || strings.HasPrefix(up, "CAP_EXP+08") || up == "68.W" {
			id = "linux.pcie.max_read_request"
		}
		out = append(out, assignment{id: id, name: "setpci " + reg, value: value, device: device})
	}
	return out
}

// numactlCommand keeps the options; the program that it starts is recorded as the device.
func numactlCommand(args []string) []assignment {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i <= 0 {
		return nil
	}
	return []assignment{{id: "linux.process.numa", name: "numactl", value: strings.Join(args[:i], " "), device: base(args[i])}}
}

func cpupowerCommand(args []string) []assignment {
	i := slices.Index(args, "-g")
	if i < 0 || i+1 >= len(args) {
		return nil
	}
	return []assignment{{id: "linux.cpu.governor", name: "governor", value: args[i+1]}}
}

// serviceCommand reads the commands that stop irqbalance, in the three forms that Linux has
// had.
func serviceCommand(args []string) []assignment {
	has := func(w ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(w, strings.TrimSuffix(a, ".service")) })
	}
	if !has("irqbalance") || !has("stop", "disable", "mask", "off") {
		return nil
	}
	return []assignment{{id: "linux.service.irqbalance", name: "irqbalance", value: "stopped"}}
}

func modprobeCommand(args []string) []assignment {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 {
		return nil
	}
	var out []assignment
	for _, w := range args[i+1:] {
		if key, value, ok := strings.Cut(w, "="); ok && key != "" {
			out = append(out, moduleOption(args[i], key, value))
		}
	}
	return out
}

// tcCommand reads a pacing limit.
func tcCommand(args []string) []assignment {
	i, dev := slices.Index(args, "maxrate"), slices.Index(args, "dev")
	if i < 0 || i+1 >= len(args) || dev < 0 || dev+1 >= len(args) {
		return nil
	}
	return []assignment{{id: "linux.tc.fq_maxrate", name: "fq maxrate", value: args[i+1], device: args[dev+1]}}
}

// netshCommand reads "netsh int tcp set global NAME=VALUE".
func netshCommand(args []string) []assignment {
	var out []assignment
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok && name != "" && slices.Contains(args, "tcp") {
			out = append(out, assignment{id: "windows.named." + strings.ToLower(name), name: name, value: value})
		}
	}
	return out
}

// regCommand reads "reg add KEY /v NAME … /d VALUE". The device is the last part of the key,
// which is the interface.
func regCommand(args []string) []assignment {
	v, d := slices.Index(args, "/v"), slices.Index(args, "/d")
	if !strings.EqualFold(args[0], "add") || v < 0 || v+1 >= len(args) || d < 0 || d+1 >= len(args) || len(args[v+1]) == 0 {
		return nil
	}
	key := args[1]
	return []assignment{{id: "windows.named." + args[v+1], name: args[v+1], value: args[d+1], device: key[strings.LastIndexByte(key, '\\')+1:]}}
}

func advancedPropertyCommand(args []string) []assignment {
	var a assignment
	for i := 0; i+1 < len(args); i++ {
		switch strings.ToLower(args[i]) {
		case "-name":
			a.device = args[i+1]
		case "-registrykeyword", "-displayname":
			a.name = args[i+1]
		case "-registryvalue", "-displayvalue":
			a.value = args[i+1]
		}
	}
	if a.name == "" || a.value == "" {
		return nil
	}
	a.id = "windows.named." + a.name
	return []assignment{a}
}

// propertyCommand reads "VERB -p NAME=VALUE … TARGET" of illumos.
func propertyCommand(verb, prefix string) func([]string) []assignment {
	return func(args []string) []assignment {
		i := slices.Index(args, "-p")
		if args[0] != verb || i < 0 || i+1 >= len(args) {
			return nil
		}
		name, value, ok := strings.Cut(args[i+1], "=")
		if !ok || name == "" {
			return nil
		}
		a := assignment{id: prefix + name, name: name, value: value}
		if verb == "set-linkprop" || verb == "modify-lu" {
			a.device = args[len(args)-1]
		}
		return []assignment{a}
	}
}

// zfsCommand reads "zfs set NAME=VALUE DATASET".
func zfsCommand(args []string) []assignment {
	if args[0] != "set" || len(args) < 3 {
		return nil
	}
	name, value, ok := strings.Cut(args[1], "=")
	if !ok || name == "" {
		return nil
	}
	return []assignment{{id: "any.zfs." + name, name: name, value: value, device: args[2]}}
}
