package script

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"linerate/internal/tune/setter"
)

// MacOS is the scripts' view of macOS.
type MacOS struct{}

// Name implements Kind.
func (MacOS) Name() string { return "macos" }

// System implements Kind. atrun, by which at(1) works, is off on macOS: launchd does it, by a job
// that is gone after a restart, which undoes what runs anyway.
func (MacOS) System() System {
	return System{
		Uname: "Darwin",
		Boot:  "sysctl -n kern.bootsessionuuid",
		Schedule: `printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' '<plist version="1.0"><dict>' "<key>Label</key><string>org.linerate.$plan</string>"` +
			` "<key>ProgramArguments</key><array><string>/bin/sh</string><string>$dir/change.sh</string><string>unconfirmed</string></array>"` +
			` "<key>StartInterval</key><integer>$(($1 * 60))</integer>" '<key>RunAtLoad</key><false/></dict></plist>' >"$dir/job.plist" &&` +
			` { launchctl bootout "system/org.linerate.$plan" >/dev/null 2>&1 || :; } &&` +
			` launchctl bootstrap system "$dir/job.plist" >"$dir/at" 2>&1 && launchctl print "system/org.linerate.$plan" >/dev/null 2>&1`,
		Unschedule: `rm -f "$dir/job.plist"; launchctl bootout "system/org.linerate.$plan" >/dev/null 2>&1 || :`,
		Forgets:    true,
		Repeats:    true,
	}
}

const macosSysctl = "macos.sysctl."

var macosNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(kern\.ipc\.maxsockbuf|net\.inet\.tcp\.(sendspace|recvspace|autorcvbufmax|autosndbufmax|doautorcvbuf|delayed_ack|win_scale_factor))$`)
})

// Mechanism implements Kind. Whether a sysctl can be written shows only when it is.
func (MacOS) Mechanism(setting, target string) (Mechanism, error) {
	name := strings.TrimPrefix(setting, macosSysctl)
	switch {
	case setting == "macos.link.mtu":
		m := interfaces().FindStringSubmatch(target)
		if m == nil {
			return Mechanism{}, fmt.Errorf("%s is a setting of an interface; %q names none", setting, target)
		}
		return Mechanism{ // it is kept by the system's settings, so that a restart does not undo it
			Read:  "networksetup -getMTU " + m[1] + ` | sed -n 's/^Active MTU: \([0-9][0-9]*\) .*/\1/p'`,
			Write: "networksetup -setMTU " + m[1] + ` "$value"`,
		}, nil
	case setting == macosSMB:
		return nsmb(target)
	case macosByHand(setting) != "":
		return Mechanism{}, fmt.Errorf("linerate does not set %s: %s", setting, macosByHand(setting))
	case strings.HasPrefix(setting, macosSysctl) && target != "":
		return Mechanism{}, fmt.Errorf("%s is a setting of the whole host, not of %s", setting, target)
	case strings.HasPrefix(setting, macosSysctl) && macosNames().MatchString(name):
		return Mechanism{Read: "sysctl -n " + name, Write: "sysctl " + name + `="$value"`, Runtime: true}, nil
	}
	return Mechanism{}, fmt.Errorf("linerate does not set %s on macOS", setting)
}

// macosByHand is why a setting of the guide is not one of a plan.
func macosByHand(setting string) string {
	return map[string]string{
		"macos.file.sysctl_conf":             "no release of today reads that file, so that nothing it says is in force; set the sysctl itself, with --persist by a job of launchd",
		macosSysctl + "net.inet.tcp.rfc1323": "macOS has not had it since 10.11, and window scaling is always on: there is nothing to set",
		"macos.mount.nfs":                    "its options are those of a new mount, which is not linerate's to make: linerate setting macos.mount.nfs tells which",
		"macos.port.thunderbolt":             "it is a cable in another port: by hand",
	}[setting]
}

const (
	macosSMB = "macos.file.nsmb_conf"
	nsmbFile = "/etc/nsmb.conf"
	yesOrNo  = "^(yes|no)$"
	seconds  = "^(0|[1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)$" // the client takes no more
)

// nsmbKeys are the options of the SMB client that are changed, for all servers, and their values: nsmb.conf(5), and
// readPreferenceSection of Apple's SMBClient/lib/smb/preference.c. Its rcfile.c says that a section may be
// named again, and that the last value counts.
var nsmbKeys = map[string]*regexp.Regexp{
	"signing_required": regexp.MustCompile(yesOrNo), "notify_off": regexp.MustCompile(yesOrNo), "streams": regexp.MustCompile(yesOrNo),
	"mc_on": regexp.MustCompile(yesOrNo), "mc_prefer_wired": regexp.MustCompile(yesOrNo), "dir_cache_max": regexp.MustCompile(seconds),
}

// nsmb is an option of the SMB client in its section for all servers; one that is not there is unset.
func nsmb(key string) (Mechanism, error) {
	if nsmbKeys[key] == nil {
		return Mechanism{}, fmt.Errorf("%s: name one of %s, as --set %[1]s@signing_required=yes", macosSMB, strings.Join(slices.Sorted(maps.Keys(nsmbKeys)), ", "))
	}
	m := line(nsmbFile, "#", key+"=", "", key+"=")
	m.Read, m.Write = "within='[default' && "+m.Read, "within='[default' && "+m.Write
	return m, nil
}

// What macOS needs to set sysctls when it starts: no release of today reads /etc/sysctl.conf.
const (
	macosLines = "/etc/linerate.sysctl.sh"
	macosJob   = "/Library/LaunchDaemons/org.linerate.sysctl.plist"
)

// Keep implements Keeper: a job of launchd runs a file of lines, which only root can write to.
func (k MacOS) Keep(setting, target string) (Mechanism, string, error) {
	m, err := k.Mechanism(setting, target)
	if err != nil || !m.Runtime {
		return Mechanism{}, "", err
	}
	const program = "/usr/sbin/sysctl"
	name := strings.TrimPrefix(setting, macosSysctl)
	m = line(macosLines, "#", program+name+"=", "", program+" "+name+"=")
	m.Settle = `if [ -e "$root` + macosLines + `" ]; then (umask 022; printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' '<plist version="1.0"><dict>' ` +
		`'<key>Label</key><string>org.linerate.sysctl</string>' '<key>ProgramArguments</key><array><string>/bin/sh</string><string>` + macosLines + `</string></array>' ` +
		`'<key>RunAtLoad</key><true/></dict></plist>' >"$root` + macosJob + `.new" && sync && mv -f "$root` + macosJob + `.new" "$root` + macosJob + `" && sync); ` +
		`else rm -f "$root` + macosJob + `" "$root` + macosJob + `.new"; fi`
	return m, macosLines, nil
}

// Canonical implements Kind.
func (k MacOS) Canonical(setting, target, value string) (string, error) {
	if _, err := k.Mechanism(setting, target); err != nil {
		return "", err
	}
	if setting != macosSMB {
		return number(setting, value)
	}
	if value != "unset" && !nsmbKeys[target].MatchString(value) {
		return "", fmt.Errorf("%s@%s: %q: want what matches %s: %w", setting, target, value, nsmbKeys[target], setter.ErrValue)
	}
	return value, nil
}
