package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"linerate/internal/tune/setter"
)

// Illumos is the scripts' view of illumos.
type Illumos struct{}

// Name implements Kind.
func (Illumos) Name() string { return "illumos" }

// System implements Kind: how a script tells this system and its starts from
// others, and by what it is called later. at(1) says what it does on its error output.
func (Illumos) System() System {
	return System{
		Uname: "SunOS",
		Boot:  `kstat -p unix:0:system_misc:boot_time | awk '{ print $2 }'`,
		Schedule: `echo "/bin/sh '$dir/change.sh' unconfirmed" | at now + "$1" minutes >"$dir/at" 2>&1 &&` +
			` grep '^job ' "$dir/at" >/dev/null && ! grep -i 'cron may not be running' "$dir/at" >/dev/null`,
	}
}

// properties of ipadm and sharectl that are changed: each has a number as its value. What they
// may be is the host's to say: it prints the range, and refuses another value.
var properties = regexp.MustCompile(`^illumos\.(ipadm\.tcp\.(max_buf|send_buf|recv_buf|_cwnd_max|_deferred_acks_max|_naglim_def)|sharectl\.nfs\.(servers|lockd_servers))$`)

// Mechanism implements Kind.
func (Illumos) Mechanism(setting, target string) (Mechanism, error) {
	name := setting[strings.LastIndex(setting, ".")+1:]
	switch {
	case strings.HasPrefix(setting, "any.zfs."):
		sh, err := setter.ZFS{}.Shell(setter.Place{Setting: setting, Target: target}, "")
		return Mechanism{Read: sh.Read, Write: sh.Write}, err
	case !properties.MatchString(setting):
		return Mechanism{}, fmt.Errorf("linerate does not set %s on illumos yet", setting)
	case target != "":
		return Mechanism{}, fmt.Errorf("%s is a setting of the whole host, not of %s", setting, target)
	case strings.HasPrefix(setting, "illumos.sharectl."):
		return Mechanism{
			Read:  "sharectl get -p " + name + " nfs | sed -n 's/^" + name + "=//p'",
			Write: "sharectl set -p " + name + `="$value" nfs`,
		}, nil
	}
	return Mechanism{
		Read:    "ipadm show-prop -c -o current -p " + name + " tcp",
		Write:   "ipadm set-prop -t -p " + name + `="$value" tcp`,
		Runtime: true,
	}, nil
}

// Canonical implements Kind.
func (Illumos) Canonical(setting, target, value string) (string, error) {
	if strings.HasPrefix(setting, "any.zfs.") {
		return setter.ZFS{}.Canonical(setter.Place{Setting: setting, Target: target}, value)
	}
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return "", fmt.Errorf("%s: %q: want a number: %w", setting, value, setter.ErrValue)
	}
	return strconv.FormatUint(n, 10), nil
}
