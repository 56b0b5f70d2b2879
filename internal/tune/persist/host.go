package persist

import (
	"fmt"
	"strings"
)

// Files that belong to linerate.
const (
	// sysctlFile comes after 99-sysctl.conf, which distributions link to /etc/sysctl.conf: the
	// last file wins (sysctl.d(5)).
	sysctlFile   = "/etc/sysctl.d/99-zz-linerate.conf"
	modprobeFile = "/etc/modprobe.d/linerate.conf"
	fstab        = "/etc/fstab"
)

// sysctl is a line "net.ipv4.tcp_rmem = 4096 131072 6291456".
func (r *rendering) sysctl(v Value) error {
	key := sysctlKey(strings.TrimPrefix(v.Setting, "linux.sysctl."))
	note := ""
	if text, ok, err := r.host.Read("/etc/sysctl.conf"); err != nil {
		return err
	} else if ok && setsSysctl(text, key) {
		note = "/etc/sysctl.conf sets " + key + " too; `sysctl --system` reads that last"
	}
	return r.own(sysctlFile, v, note, key+" = ", key+" = "+v.Value)
}

// sysctlKey writes a dotted name for sysctl.d(5): if an interface name holds dots, slashes
// separate.
func sysctlKey(name string) string {
	for _, dir := range []string{"net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.neigh.", "net.ipv6.neigh."} {
		rest, ok := strings.CutPrefix(name, dir)
		if dot := strings.LastIndexByte(rest, '.'); ok && strings.Count(rest, ".") > 1 {
			return strings.ReplaceAll(dir, ".", "/") + rest[:dot] + "/" + rest[dot+1:]
		}
	}
	return name
}

func setsSysctl(text, key string) bool {
	for line := range strings.Lines(text) {
		name, _, ok := strings.Cut(line, "=")
		if ok && strings.TrimLeft(strings.TrimSpace(name), "-") == key {
			return true
		}
	}
	return false
}

// module is a line "options zfs zfs_arc_max=…" (modprobe.d(5)).
func (r *rendering) module(v Value) error {
	name, param := "zfs", strings.TrimPrefix(v.Setting, "linux.zfsmodule.")
	if rest, ok := strings.CutPrefix(v.Setting, "linux.module."); ok {
		name, param, _ = strings.Cut(rest, ".")
	}
	if strings.ContainsAny(v.Value, " \t\"'#\\") {
		r.refuse(v, fmt.Sprintf("modprobe.d cannot hold the value %q", v.Value))
		return nil
	}
	key := "options " + name + " " + param + "="
	return r.own(modprobeFile, v, "a module that the initial RAM disk loads takes it once that is built anew (update-initramfs -u, dracut -f)", key, key+v.Value)
}

// mount changes one option of a mount's line in fstab(5).
func (r *rendering) mount(v Value) error {
	id := strings.Split(v.Setting, ".") // linux.mount.nfs.rsize
	option := id[len(id)-1]
	point := strings.TrimPrefix(v.Target, "mount:")
	refused := false
	err := r.edit(fstab, v, "", func(text string, exists bool) (string, error) {
		out, found := setMountOption(text, point, option, v.Value)
		refused = !found
		return out, nil
	})
	if err != nil || !refused {
		return err
	}
	for i := range r.files {
		if f := &r.files[i]; f.Path == fstab {
			f.Settings = f.Settings[:len(f.Settings)-1]
		}
	}
	r.refuse(v, fmt.Sprintf("%s has no line for %s: it is mounted by something else (autofs, a unit), which has to get the option", fstab, point))
	return nil
}

// setMountOption changes one option in the line of a mount point and keeps every other byte.
func setMountOption(text, point, option, value string) (string, bool) {
	found := false
	var b strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[0], "#") || unescape(f[1]) != point {
			b.WriteString(line)
			continue
		}
		found = true
		start := 0
		for i := range 3 {
			at := strings.Index(line[start:], f[i])
			start += at + len(f[i])
		}
		start += strings.Index(line[start:], f[3])
		b.WriteString(line[:start] + withOption(f[3], option, value) + line[start+len(f[3]):])
	}
	return b.String(), found
}

// unescape reads a field of fstab: \040 is a space (getmntent(3)).
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// withOption sets an option in a list: "on" and "off" are its presence.
func withOption(list, option, value string) string {
	word := option + "=" + value
	switch value {
	case "on":
		word = option
	case "off":
		word = ""
	}
	var out []string
	done := false
	for _, o := range strings.Split(list, ",") {
		name, _, _ := strings.Cut(o, "=")
		if name != option {
			out = append(out, o)
			continue
		}
		if !done && word != "" {
			out = append(out, word)
		}
		done = true
	}
	if !done && word != "" {
		out = append(out, word)
	}
	if len(out) == 0 {
		return "defaults"
	}
	return strings.Join(out, ",")
}
