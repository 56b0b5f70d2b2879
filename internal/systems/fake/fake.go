// Package fake is a host for tests that runs illumos, FreeBSD, macOS or OneFS: the commands of its base
// system as one program under many names. Each refuses every option, property and link that it does not know, as the
// real ones do, so that a script that was written carelessly fails here. It knows nothing of
// how linerate reads its answers, and it is an imitation from the manual pages: passing here
// does not mean that a real host agrees.
package fake

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables of its environment.
const (
	// How is a comma-separated list of what is wrong: "empty:COMMAND" prints nothing and
	// succeeds, "denied:COMMAND" lacks the privilege, "missing:COMMAND" is not installed, "half:COMMAND"
	// prints half of its answer; "refuse:NAME" takes no other value of a setting than its first,
	// "ignore:NAME" takes it without effect, "round:NAME" makes less of it.
	How = "LINERATE_FAKE_HOW"
	// OS is illumos, freebsd, macos or onefs; empty is illumos.
	OS = "LINERATE_FAKE_OS"
	// Root is before the names of the files that a system reads when it starts.
	Root = "LINERATE_FAKE_ROOT"
	// Set overrides values, "send_buf=131072;sync=disabled".
	Set = "LINERATE_FAKE_SET"
	// State is a directory that holds what was changed; without it nothing can be.
	State = "LINERATE_FAKE_STATE"
)

// Names are the programs that it is.
func Names() []string {
	return []string{
		"uname", "id", "psrinfo", "prtconf", "kstat", "dladm", "ipadm", "sharectl", "zfs", "zpool", "cat", "at", "stmfadm",
		"sysctl", "ifconfig", "netstat", "nfsstat", "pgrep", "networksetup", "launchctl", "nettop", "sw_vers", "smbutil", "isi", "isi_sysctl_cluster", "mount",
	}
}

// Install makes a directory of its programs, which are all the file exe.
func Install(dir, exe string) error {
	for _, n := range Names() {
		if err := os.Symlink(exe, filepath.Join(dir, n)); err != nil {
			return fmt.Errorf("install the fake: %w", err)
		}
	}
	return nil
}

// Is tells whether a process was started as one of its programs.
func Is(argv0 string) bool { return slices.Contains(Names(), filepath.Base(argv0)) }

// Main is one of its programs; it returns the exit code.
func Main(args []string, env func(string) string, out, errs io.Writer) int {
	name := filepath.Base(args[0])
	for _, how := range strings.Split(env(How), ",") {
		what, of, _ := strings.Cut(how, ":")
		if of != name {
			continue
		}
		switch what {
		case "empty":
			return 0
		case "denied":
			fmt.Fprintf(errs, "%s: Permission denied\n", name)
			return 1
		case "missing":
			fmt.Fprintf(errs, "%s: not found\n", name)
			return 127
		}
	}
	h := host{env(Set), env(State), env(How)}
	if name == "cat" && env(OS) == "freebsd" && strings.HasSuffix(args[len(args)-1], "/etc/cron.d/at") {
		if _, err := fmt.Fprintf(out, "# at\n%s*/5 * * * * root /usr/libexec/atrun\n", map[bool]string{true: "#"}[h.value("atrun", "on") == "off"]); err != nil {
			return 1
		}
		return 0
	}
	if name == "cat" && !slices.Contains(h.files(env(OS)), strings.Join(args[1:], " ")) {
		return realCat(args[1:], out, errs) // of files that scripts make
	}
	said, code := h.run(env(OS), name, args[1:])
	if slices.Contains(strings.Split(env(How), ","), "half:"+name) {
		said = said[:len(said)/2]
	}
	to := out
	if code != 0 || name == "at" {
		to = errs
	}
	if _, err := io.WriteString(to, said); err != nil {
		return 1
	}
	return code
}

// run is what a command of a system prints, and its exit code.
func (h host) run(system, name string, args []string) (string, int) {
	switch system {
	case "freebsd":
		return h.freebsd(name, args)
	case "macos":
		return h.macos(name, args)
	case "onefs":
		return h.onefs(name, args)
	}
	return h.illumos(name, args)
}

// files are those that cat prints as the system came.
func (h host) files(system string) []string {
	switch system {
	case "freebsd":
		return []string{"/boot/loader.conf", "/etc/sysctl.conf", "/etc/exports"}
	case "macos":
		return []string{"/etc/sysctl.conf", "/etc/nsmb.conf"}
	}
	return []string{"/etc/system", "/kernel/drv/ixgbe.conf", "/etc/mnttab"}
}

func (h host) illumos(name string, args []string) (string, int) {
	said, ok, err := h.change(name, args)
	if err != nil {
		return fmt.Sprintf("%s: %v\n", name, err), 1
	}
	if ok {
		return said, 0
	}
	text, ok := h.answer(name, strings.Join(args, " "))
	if !ok {
		return fmt.Sprintf("%s: unknown option, property or object: %s\n", name, strings.Join(args, " ")), 2
	}
	if strings.HasSuffix(text, "No such file or directory\n") {
		return text, 1
	}
	return text, 0
}

// host is the state: what was set, over the values of a fresh system.
type host struct{ set, state, how string }

func (h host) value(name, fresh string) string {
	if b, err := os.ReadFile(filepath.Join(h.state, strings.ReplaceAll(name, "/", "~"))); err == nil && h.state != "" {
		return string(b)
	}
	for _, s := range strings.Split(h.set, ";") {
		if n, v, ok := strings.Cut(s, "="); ok && n == name {
			return v
		}
	}
	return fresh
}

// answer is what a command prints; false: it refuses.
func (h host) answer(name, args string) (string, bool) {
	switch name {
	case "dladm":
		return h.dladm(args)
	case "ipadm":
		return h.ipadm(args)
	case "zfs":
		return h.zfs(args)
	case "kstat":
		return h.kstat(args)
	}
	a, ok := map[string]string{
		"uname -s": "SunOS\n", "uname -m": "i86pc\n", "uname -n": "omnios\n", "uname -r": "5.11\n", "uname -v": "omnios-r151054-0\n",
		"id -u": h.value("uid", "0") + "\n", "prtconf -m": "65536\n",
		"psrinfo ":                          "0\ton-line   since 11/24/2026 08:00:01\n1\toff-line  since 11/24/2026 08:00:01\n",
		"sharectl get -p servers nfs":       "servers=" + h.value("servers", "1024") + "\n",
		"sharectl get -p lockd_servers nfs": "lockd_servers=" + h.value("lockd_servers", "256") + "\n",
		"stmfadm list-lu -v " + unit:        h.units(),
		"stmfadm list-lu -v":                h.units(),
		"zpool status": "  pool: tank\n state: ONLINE\n  scan: none requested\nconfig:\n\n\tNAME          STATE     READ WRITE CKSUM\n\ttank          ONLINE       0     0     0\n" +
			"\t  mirror-0    ONLINE       0     0     0\n\t    c1t0d0    ONLINE       0     0     0\n\t    c1t1d0    ONLINE       0     0     0\n" + h.logs() + "\nerrors: No known data errors\n",
		"sharectl get nfs": "servers=" + h.value("servers", "1024") + "\nlockd_servers=" + h.value("lockd_servers", "256") + "\nserver_versmin=2\nserver_versmax=4\nnfsmapid_domain=\n",
		"cat /etc/system":  "* comment\nset zfs:zfs_arc_max=0x400000000\nset nfs:nfs3_nra=16\nforceload: drv/sd\n",
		"cat /etc/mnttab": "rpool/ROOT/omnios\t/\tzfs\tdev=4350002\t0\nswap\t/tmp\ttmpfs\txattr,dev=4540002\t1764000000\n" +
			"10.0.0.8:/export/media\t/mnt/media\tnfs\trw,xattr,rsize=1048576,dev=4900003\t1764000100\n",
		"nfsstat -m": "/mnt/media from 10.0.0.8:/export/media\n Flags:\t\tvers=3,proto=tcp,sec=sys,hard,intr,link,symlink,acl,rsize=32768,wsize=32768,retrans=5,timeo=600\n" +
			" Attr cache:\tacregmin=3,acregmax=60,acdirmin=30,acdirmax=60\n\n",
		"cat /kernel/drv/ixgbe.conf": "cat: /kernel/drv/ixgbe.conf: No such file or directory\n",
	}[name+" "+args]
	return a, ok
}

// units are the logical units of COMSTAR, of which there is one.
func (h host) units() string {
	return "LU Name: " + unit + "\n    Operational Status: Online\n    Writeback Cache   : " +
		map[bool]string{true: "Disabled", false: "Enabled"}[h.value("tank:wcd", "true") == "true"] + "\n    Access State      : Active\n"
}

// logs are the log devices of the pool, none unless it is set.
func (h host) logs() string {
	if h.value("slog", "") == "" {
		return ""
	}
	return "\tlogs\n\t  c1t5d0      ONLINE       0     0     0\n"
}

// kept is what lasts by itself, as "--" where it was never set.
func (h host) kept(name string) string { return h.value("persistent."+name, "--") + "\n" }

const linkprop = "link,property,perm,value,default,possible"

func (h host) dladm(args string) (string, bool) {
	a, ok := map[string]string{
		"show-linkprop -c -o value -p mtu igb0":                h.value("igb0.mtu", "1500") + "\n",
		"show-linkprop -c -o value -p mtu ixgbe0":              h.value("mtu", "1500") + "\n",
		"show-linkprop -P -c -o value -p mtu igb0":             h.kept("igb0.mtu"),
		"show-linkprop -P -c -o value -p mtu ixgbe0":           h.kept("mtu"),
		"show-phys -p -o link,media,state,speed,duplex,device": "ixgbe0:Ethernet:up:10000:full:ixgbe0\nigb0:Ethernet:down:0:unknown:igb0\n",
		"show-link -p -o link,class,mtu,state,over":            "ixgbe0:phys:" + h.value("mtu", "1500") + ":up:--\nigb0:phys:" + h.value("igb0.mtu", "1500") + ":down:--\nvnic0:vnic:1500:up:ixgbe0\n",
		"show-linkprop -c -o " + linkprop + " -p mtu,flowctrl": "ixgbe0:mtu:rw:1500:1500:1500-15500\nixgbe0:flowctrl:rw:" + h.value("flowctrl", "no") + ":bi:no,tx,rx,bi,pfc,auto\nvnic0:mtu:rw:1500:1500:576-1500\n",
	}[args]
	return a, ok
}

func (h host) ipadm(args string) (string, bool) {
	if args == "show-addr -p -o addrobj,type,state,addr" {
		return "lo0/v4:static:ok:127.0.0.1/8\nixgbe0/v4:static:ok:10.0.0.9/24\nixgbe0/v6:addrconf:ok:fe80\\:\\:21b\\:21ff\\:fe00\\:1/10\n", true
	}
	if name, ok := strings.CutPrefix(args, "show-prop -c -o current -p "); ok {
		p, known := properties()[strings.TrimSuffix(name, " tcp")]
		return h.value(strings.TrimSuffix(name, " tcp"), p.fresh) + "\n", known && strings.HasSuffix(name, " tcp")
	}
	if name, ok := strings.CutPrefix(args, "show-prop -c -o persistent -p "); ok {
		name, tcp := strings.CutSuffix(name, " tcp")
		_, known := properties()[name]
		return h.value("persistent."+name, "") + "\n", known && tcp
	}
	rest, ok := strings.CutPrefix(args, "show-prop -c -o proto,property,perm,current,persistent,default,possible ")
	if !ok {
		return "", false
	}
	line := func(n, fresh, possible string) string {
		return fmt.Sprintf("tcp:%s:rw:%s:%s:%s:%s\n", n, h.value(n, fresh), h.value(n, ""), fresh, possible)
	}
	switch rest {
	case "tcp": // private properties show only by name
		return line("ecn", "passive", "never,passive,active") + line("max_buf", "1048576", "8192-1073741824") +
			line("recv_buf", "128000", "2048-1048576") + line("sack", "active", "never,passive,active") + line("send_buf", "49152", "4096-1048576"), true
	case "-p _cwnd_max,_deferred_acks_max,_naglim_def tcp":
		return line("_cwnd_max", "1048576", "128-1073741824") + line("_deferred_acks_max", "2", "0-16") + line("_naglim_def", "4095", "1-65535"), true
	}
	return "", false
}

// freshZFS are the properties of data sets that nobody set.
var freshZFS = map[string]string{"sync": "standard", "recordsize": "131072", "compression": "off", "dedup": "off", "primarycache": "all", "atime": "on"}

func (h host) zfs(args string) (string, bool) {
	if name, ok := strings.CutPrefix(args, "get -H -p -o value,source "); ok {
		property, set, _ := strings.Cut(name, " ")
		if v := h.value(set+":"+property, ""); v != "" {
			return v + "\tlocal\n", true
		}
		return freshZFS[property] + "\tdefault\n", freshZFS[property] != ""
	}
	rest, ok := strings.CutPrefix(args, "get -Hp -t filesystem -o name,property,value,source ")
	var out strings.Builder
	for _, set := range []string{"tank", "tank/media"} {
		for _, p := range strings.Split(rest, ",") {
			v, known := freshZFS[p]
			ok = ok && known
			fmt.Fprintf(&out, "%s\t%s\t%s\tdefault\n", set, p, h.value(set+":"+p, h.value(p, v)))
		}
	}
	return out.String(), ok
}

func (h host) kstat(args string) (string, bool) {
	rest, ok := strings.CutPrefix(args, "-p ")
	known := map[string]string{
		"unix:0:system_misc:boot_time": "unix:0:system_misc:boot_time\t" + h.value("boot_time", "1763971201") + "\n",
		"link:::ierrors":               "link:0:igb0:ierrors\t0\nlink:0:ixgbe0:ierrors\t7\n", "link:::oerrors": "link:0:ixgbe0:oerrors\t0\n",
		"link:::norcvbuf": "link:0:ixgbe0:norcvbuf\t0\n", "link:::noxmtbuf": "link:0:ixgbe0:noxmtbuf\t0\n",
		"link:::rbytes64": "link:0:ixgbe0:rbytes64\t1234567\n", "link:::obytes64": "link:0:ixgbe0:obytes64\t7654321\n",
		"tcp:0:tcp:retransSegs": "tcp:0:tcp:retransSegs\t12\n", "tcp:0:tcp:outDataSegs": "tcp:0:tcp:outDataSegs\t100000\n", "tcp:0:tcp:listenDrop": "tcp:0:tcp:listenDrop\t0\n",
	}
	var out strings.Builder
	for _, name := range strings.Fields(rest) {
		a, have := known[name]
		ok = ok && have
		out.WriteString(a)
	}
	return out.String(), ok
}
