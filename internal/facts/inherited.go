package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Bounds of what is kept of a host's files. A host with every package of a distribution stays
// below a tenth.
const (
	maxInherited      = 4000    // files
	maxInheritedBytes = 4 << 20 // of their kept lines
)

// inheritedFiles are single files in which systems keep settings.
func inheritedFiles() []string {
	return []string{
		"/etc/sysctl.conf", "/etc/rc.local", "/etc/rc.d/rc.local", "/etc/tuned/active_profile", "/etc/tuned/tuned-main.conf",
		"/etc/network/interfaces", "/etc/fstab", "/etc/exports", "/etc/samba/smb.conf", "/etc/nfs.conf",
		"/etc/default/grub", "/boot/grub/grub.conf", "/proc/cmdline", "/etc/system",
		"/sbin/sysctl_perf_tuning", "/usr/sbin/sysctl_perf_tuning", "/etc/infiniband/openib.conf",
	}
}

// inheritedDirs are folders of such files, with the required ending.
func inheritedDirs() [][2]string {
	out := [][2]string{
		{"/etc/exports.d", ".exports"}, {"/etc/init.d", ""}, {"/etc/network/if-up.d", ""}, {"/etc/network/interfaces.d", ""},
		{"/etc/sysconfig/network-scripts", ""}, {"/etc/sysconfig/network", ""},
		{"/etc/systemd/system", ".service"}, {"/etc/system.d", ""}, {"/etc/driver/drv", ".conf"}, {"/kernel/drv", ".conf"},
		{"/etc/netplan", ".yaml"}, {"/run/netplan", ".yaml"}, {"/lib/netplan", ".yaml"},
		{"/Windows/System32/GroupPolicy/Machine/Scripts/Startup", ""},
	}
	for _, base := range []string{"/etc", "/run", "/usr/lib"} {
		out = append(out, [2]string{base + "/NetworkManager/system-connections", ".nmconnection"})
	}
	for _, base := range []string{"/etc", "/usr/lib"} {
		for _, at := range []string{"", "/pre-up.d", "/no-wait.d"} {
			out = append(out, [2]string{base + "/NetworkManager/dispatcher.d" + at, ""})
		}
	}
	for _, level := range []string{"0", "1", "2", "3", "4", "5", "6", "S"} {
		out = append(out, [2]string{"/etc/rc" + level + ".d", ""}, [2]string{"/etc/rc.d/rc" + level + ".d", ""})
	}
	for _, base := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"} {
		out = append(out, [2]string{base + "/sysctl.d", ".conf"}, [2]string{base + "/modprobe.d", ".conf"},
			[2]string{base + "/systemd/network", ".link"}, [2]string{base + "/systemd/network", ".network"}, [2]string{base + "/udev/rules.d", ".rules"})
	}
	return out
}

// ReadInherited reads the texts in which a host, or a recorded tree of one, keeps settings, and
// the running values of the named sysctls and module parameters (MODULE.PARAMETER). The list of
// files is fixed, so no caller can have another file read. Lines that set nothing are left blank,
// so that no password, key or server name is included. It judges nothing. A tree without any of
// the files is not a host's, which is an error (fs.ErrNotExist).
func ReadInherited(src kernel.Files, sysctls, parameters []string) (model.HostFiles, error) {
	r := inherited{src: src, lines: newSettingLines(), out: model.HostFiles{
		OS: "linux", Files: map[string]string{}, Links: map[string]string{}, Owners: map[string]string{},
		Now: map[string]string{}, Unread: map[string]string{},
	}}
	for _, file := range inheritedFiles() {
		r.file(file)
	}
	for _, d := range inheritedDirs() {
		r.dir(d[0], d[1])
	}
	r.tuned()
	r.system()
	if len(r.out.Files) == 0 && r.out.Kernel == "" && len(r.out.Unread) == 0 {
		return r.out, fmt.Errorf("read a host's settings: %w: no /etc with files of settings and no /proc/sys", fs.ErrNotExist)
	}
	r.sysctls(sysctls)
	r.running(parameters)
	r.owners()
	return r.out, nil
}

type inherited struct {
	src   kernel.Files
	lines settingLines
	out   model.HostFiles
	bytes int // kept so far
}

// file keeps one text. A link is followed by its text, so that an absolute path stays in the
// tree; a link to /dev/null hides a name and counts as an empty file.
func (r *inherited) file(name string) {
	at := r.follow(name)
	switch {
	case at == "/dev/null":
		r.out.Files[name] = ""
		return
	case at != name && !ofItsKind(name, at):
		if _, err := r.src.ReadFile(at); errors.Is(err, fs.ErrNotExist) {
			return // it leads nowhere
		}
		r.out.Unread[name] = "a link to " + at + ", which is no file of settings: not followed"
		return
	case len(r.out.Files) >= maxInherited || r.bytes >= maxInheritedBytes:
		r.out.Unread["more files"] = fmt.Sprintf("no more than %d files or %d MiB of settings are read", maxInherited, maxInheritedBytes>>20)
		return
	}
	b, err := r.src.ReadFile(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		if _, dir := r.src.ReadDir(at); dir != nil { // a folder is no file to miss
			r.out.Unread[name] = err.Error()
		}
		return
	}
	text := r.lines.of(name, string(b))
	if strings.HasSuffix(path.Dir(name), "/system-connections") && !regexp.MustCompile(`(?m)^(mtu|ring-|coalesce-|feature-|pause-|channels-)`).MatchString(text) {
		return // a profile that sets nothing: its name may be a wireless network's
	}
	r.bytes += len(text)
	r.out.Files[name] = text
	if at != name {
		r.out.Links[name] = at
	}
}

// follow returns the target of a name.
func (r *inherited) follow(name string) string {
	at := name
	for range 8 {
		to, err := r.src.Readlink(at)
		if err != nil {
			break
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(at), to)
		}
		at = path.Clean(to)
	}
	return at
}

// ofItsKind tells whether a link leads to one of the files that are read anyway, or to one with
// the same ending elsewhere. A link to a key or to /etc/shadow is not followed.
func ofItsKind(name, at string) bool {
	if slices.Contains(inheritedFiles(), at) || path.Ext(name) != "" && path.Ext(at) == path.Ext(name) {
		return true
	}
	return slices.ContainsFunc(inheritedDirs(), func(d [2]string) bool {
		return path.Dir(at) == d[0] && strings.HasSuffix(at, d[1])
	}) || path.Dir(at) == "/etc/rc.d/init.d"
}

func (r *inherited) dir(dir, ending string) {
	names, err := r.src.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			r.out.Unread[dir] = err.Error()
		}
		return
	}
	for _, n := range names {
		if strings.HasSuffix(n, ending) && interfaceFile(dir, n) {
			r.file(path.Join(dir, n))
		}
	}
}

// interfaceFile excludes the other files in the folder of network scripts, such as keys of
// wireless networks.
func interfaceFile(dir, name string) bool {
	return !strings.HasPrefix(dir, "/etc/sysconfig/") || strings.HasPrefix(name, "ifcfg-")
}

// tuned reads every profile, since profiles include each other.
func (r *inherited) tuned() {
	for _, dir := range []string{"/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"} {
		names, err := r.src.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			if _, err := r.src.ReadDir(path.Join(dir, n)); err == nil {
				r.file(path.Join(dir, n, "tuned.conf"))
			}
		}
	}
}

// system identifies the tree's system by files that only it has.
func (r *inherited) system() {
	for file := range r.out.Files {
		switch {
		case file == "/etc/system" || strings.HasPrefix(file, "/kernel/drv/"):
			r.out.OS = "illumos"
		case strings.HasPrefix(file, "/Windows/"):
			r.out.OS = "windows"
		}
	}
	if _, err := r.src.ReadDir("/System/Library/CoreServices"); err == nil {
		r.out.OS = "macos"
	}
	if b, err := r.src.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		r.out.OS, r.out.Kernel = "linux", strings.TrimSpace(string(b))
	}
}

// sysctls reads the values in force, if the tree has any.
func (r *inherited) sysctls(names []string) {
	interfaces, _ := r.src.ReadDir("/proc/sys/net/ipv4/conf") // none: nothing to read
	for _, name := range names {
		before, leaf, each := strings.Cut(name, ".IF.")
		if !each {
			r.sysctl(name, "/proc/sys/"+strings.ReplaceAll(name, ".", "/"))
			continue
		}
		for _, dev := range interfaces {
			// A dot in a name of an interface is a slash in that of its sysctl.
			r.sysctl(before+"."+strings.ReplaceAll(dev, ".", "/")+"."+leaf, path.Join("/proc/sys", strings.ReplaceAll(before, ".", "/"), dev, leaf))
		}
	}
	all, err := r.src.ReadDir("/proc/sys/net/ipv4")
	if err != nil {
		return
	}
	// A tree that holds only a few of them does not show which ones the host lacks.
	if slices.Contains(all, "tcp_rmem") && len(all) > 50 {
		r.out.TCPNames = all
	}
}

func (r *inherited) sysctl(name, file string) {
	if b, err := r.src.ReadFile(file); err == nil {
		r.out.Now[name] = strings.Join(strings.Fields(string(b)), " ")
	}
}

// owners looks the files up in dpkg's lists. rpm's database is not text; addOwners asks rpm on a
// running host.
func (r *inherited) owners() {
	const dir = "/var/lib/dpkg/info"
	names, err := r.src.ReadDir(dir)
	if err != nil {
		r.noOwners()
		return
	}
	for _, n := range names {
		pkg, ok := strings.CutSuffix(n, ".list")
		if !ok {
			continue
		}
		b, err := r.src.ReadFile(path.Join(dir, n))
		if err != nil {
			continue // a list of above a megabyte: kernel headers and the like
		}
		pkg, _, _ = strings.Cut(pkg, ":")
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			// If /lib is a link to /usr/lib, a list may name either.
			for _, file := range []string{line, "/usr" + line, strings.TrimPrefix(line, "/usr")} {
				if _, ok := r.out.Files[file]; ok {
					r.out.Owners[file] = pkg
				}
			}
		}
	}
}

// noRPM is the note if rpm cannot be asked.
const noRPM = "rpm's database is not read, so a file may belong to a package: rpm -qf FILE shows it"

// noOwners notes on a host with rpm that the owners are unknown.
func (r *inherited) noOwners() {
	for _, dir := range []string{"/usr/lib/sysimage/rpm", "/var/lib/rpm"} {
		if _, err := r.src.ReadDir(dir); err == nil {
			r.out.NoOwners = noRPM
			return
		}
	}
}
