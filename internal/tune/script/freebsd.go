package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"linerate/internal/tune/setter"
)

// FreeBSD is the scripts' view of FreeBSD.
type FreeBSD struct{}

// Name implements Kind.
func (FreeBSD) Name() string { return "freebsd" }

// System implements Kind. kern.boot_id is random and of FreeBSD 13 and later; before it a mark in
// /var/run, which is emptied at each start, stands for it: kern.boottime moves when the clock is
// set, and would make a plan of this start look like one of an earlier. at(1) is run by cron,
// every five minutes by default.
func (FreeBSD) System() System {
	return System{
		Uname: "FreeBSD",
		Boot:  freebsdBoot,
		Schedule: `cat "$root/etc/crontab" "$root/etc/cron.d/at" 2>/dev/null | grep -v '^[[:space:]]*#' | grep atrun >/dev/null && pgrep -x cron >/dev/null &&` +
			` echo "/bin/sh '$dir/change.sh' unconfirmed" | at now + "$1" minutes >"$dir/at" 2>&1 && grep -i '^job ' "$dir/at" >/dev/null`,
	}
}

// freebsdBoot prints what tells starts apart.
const freebsdBoot = `id=$(sysctl -n -x kern.boot_id 2>/dev/null) && [ -n "$id" ] && printf '%s\n' "${id##*:}" || {` +
	` [ -s "$root/var/run/linerate.boot" ] || echo "mark $(date +%s) $$" >"$root/var/run/linerate.boot"; cat "$root/var/run/linerate.boot"; }`

const (
	freebsdSysctl  = "freebsd.sysctl."
	freebsdPause   = "freebsd.sysctl.dev.ix.N.fc"
	freebsdOffload = "freebsd.ifconfig.offload"
	freebsdMTU     = "freebsd.ifconfig.mtu"
	nmbclusters    = "kern.ipc.nmbclusters"
)

var (
	// freebsdNames are the sysctls of the whole host that are changed.
	freebsdNames = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(kern\.ipc\.maxsockbuf|net\.inet\.tcp\.(recvbuf_max|sendbuf_max|delayed_ack|cc\.algorithm))$`)
	})
	interfaces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^if:([a-z][a-z0-9_]{0,14}[0-9])$`) })
	offloads   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^lro=(on|off),tso4=(on|off),tso6=(on|off)$`) })
	algorithm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}$`) })
)

// Mechanism implements Kind.
func (FreeBSD) Mechanism(setting, target string) (Mechanism, error) {
	name := strings.TrimPrefix(setting, freebsdSysctl)
	switch {
	case setting == zfsLog:
		return Mechanism{}, errZFSLog
	case strings.HasPrefix(setting, "any.zfs."):
		sh, err := setter.ZFS{}.Shell(setter.Place{Setting: setting, Target: target}, "")
		return Mechanism{Read: sh.Read, Write: sh.Write}, err
	case setting == freebsdPause || setting == freebsdOffload || setting == freebsdMTU:
		return freebsdInterface(setting, target)
	case target != "":
		return Mechanism{}, fmt.Errorf("%s is a setting of the whole host, not of %s", setting, target)
	case setting == "freebsd.nfsd.threads":
		return sysctl("vfs.nfsd.maxthreads"), nil
	case name == nmbclusters: // a running kernel lets it grow only, so that nothing could undo it
		return loader(name), nil
	case freebsdNames().MatchString(name):
		return sysctl(name), nil
	}
	return Mechanism{}, fmt.Errorf("linerate does not set %s on FreeBSD", setting)
}

// sysctl is one that runs: -W names those that can be written.
func sysctl(name string) Mechanism {
	return Mechanism{
		Read:  "sysctl -n " + name,
		Write: "sysctl " + name + `="$value"`,
		Ready: `[ -n "$(sysctl -N -W ` + name + `)" ] || { now=${now:-$(sysctl -n ` + name + `)}; if [ -n "$now" ]; then echo "` + name + ` is $now, and the system lets nobody write it while it runs"; ` +
			`else echo "sysctl shows no ` + name + `"; fi; false; }`,
		Runtime: true,
	}
}

func loader(name string) Mechanism { return line("/boot/loader.conf", "#", name+"=", `"`, name+`="`) }

// line is an assignment in a file: by the functions of files.sh. before is what a line begins
// with, blanks left out.
func line(file, mark, before, after, text string) Mechanism {
	at := `"$root` + file + `"`
	return Mechanism{
		Read:  "file_get " + at + " " + Quote(before) + " " + Quote(after),
		Write: "file_put " + at + " " + Quote(mark) + " " + Quote(before) + " " + Quote(after) + " " + Quote(text) + ` "$value"`,
		Ready: "file_ready " + at,
		Tidy:  "rm -f " + at + ".linerate-new " + at + ".linerate-new.new",
		File:  file,
	}
}

func freebsdInterface(setting, target string) (Mechanism, error) {
	m := interfaces().FindStringSubmatch(target)
	if m == nil {
		return Mechanism{}, fmt.Errorf("%s is a setting of an interface; %q names none", setting, target)
	}
	name := m[1]
	switch setting {
	case freebsdPause:
		unit, ok := strings.CutPrefix(name, "ix")
		if _, err := strconv.Atoi(unit); !ok || err != nil {
			return Mechanism{}, fmt.Errorf("%s is of ix interfaces, and %s is none", setting, name)
		}
		return sysctl("dev.ix." + unit + ".fc"), nil
	case freebsdMTU:
		return Mechanism{
			Read:    "ifconfig " + name + ` | sed -n '1s/.* mtu \([0-9]*\).*/\1/p'`,
			Write:   "ifconfig " + name + ` mtu "$value"`,
			Runtime: true,
		}, nil
	}
	return Mechanism{
		// The first line with <…> after "options=" names what is on.
		Read: `on=$(ifconfig ` + name + `) && [ -n "$on" ] && on=$(printf '%s\n' "$on" | sed -n 's/^[[:space:]]*options=[0-9a-f]*<\(.*\)>$/,\1,/p') && ` +
			`lro=off tso4=off tso6=off && case $on in *,LRO,*) lro=on ;; esac && case $on in *,TSO4,*) tso4=on ;; esac && ` +
			`case $on in *,TSO6,*) tso6=on ;; esac && echo "lro=$lro,tso4=$tso4,tso6=$tso6"`,
		// In one call: killed between two, there would be a value that is neither the plan's nor the host's.
		Write: `words= && for want in $(printf '%s\n' "$value" | tr , ' '); do ` +
			`case $want in *=on) words="$words ${want%=on}" ;; *=off) words="$words -${want%=off}" ;; esac; done && ifconfig ` + name + ` $words`,
		Runtime: true,
	}, nil
}

// Keep implements Keeper.
func (k FreeBSD) Keep(setting, target string) (Mechanism, string, error) {
	name := strings.TrimPrefix(setting, freebsdSysctl)
	m, err := k.Mechanism(setting, target)
	switch {
	case err != nil || !m.Runtime:
		return Mechanism{}, "", err
	case setting == freebsdPause:
		name = "dev.ix." + strings.TrimPrefix(target, "if:ix") + ".fc"
	case setting == "freebsd.nfsd.threads":
		return Mechanism{}, "", fmt.Errorf("%s is kept by nfs_server_flags in /etc/rc.conf, with other options: add \"--maxthreads\" there by hand", setting)
	case strings.HasPrefix(setting, "freebsd.ifconfig."):
		return rcInterface(setting, strings.TrimPrefix(target, "if:")), rcConf, nil
	}
	return line("/etc/sysctl.conf", "#", name+"=", "", name+"="), "/etc/sysctl.conf", nil
}

// Canonical implements Kind.
func (FreeBSD) Canonical(setting, target, value string) (string, error) {
	switch {
	case setting == zfsLog:
		return "", errZFSLog
	case strings.HasPrefix(setting, "any.zfs."):
		return setter.ZFS{}.Canonical(setter.Place{Setting: setting, Target: target}, value)
	case setting == freebsdOffload:
		if !offloads().MatchString(value) {
			return "", fmt.Errorf("%s: %q: want lro=on,tso4=on,tso6=on, each on or off: %w", setting, value, setter.ErrValue)
		}
		return value, nil
	case setting == freebsdSysctl+"net.inet.tcp.cc.algorithm":
		if !algorithm().MatchString(value) {
			return "", fmt.Errorf("%s: %q: want the name of an algorithm: %w", setting, value, setter.ErrValue)
		}
		return value, nil
	case setting == freebsdSysctl+nmbclusters && value == "unset":
		return value, nil
	}
	return number(setting, value)
}

// number is the canonical form of one that is not negative.
func number(setting, value string) (string, error) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return "", fmt.Errorf("%s: %q: want a number: %w", setting, value, setter.ErrValue)
	}
	return strconv.FormatUint(n, 10), nil
}
