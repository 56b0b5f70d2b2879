package script

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

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
var properties = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^illumos\.(ipadm\.tcp\.(max_buf|send_buf|recv_buf|_cwnd_max|_deferred_acks_max|_naglim_def)|sharectl\.nfs\.(servers|lockd_servers))$`)
})

var (
	illumosSystem = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^illumos\.system\.(nfs\.(nfs3_max_threads|nfs3_nra|nfs3_bsize|nfs3_max_transfer_size)|sd\.sd_io_time|sata\.sata_auto_online|zfs\.(zfs_arc_max|l2arc_noprefetch))$`)
	})
	illumosDriver = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^illumos\.driver\.ixgbe\.(intr_throttling|flow_control)$`)
	})
	illumosUnit   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-F]{32}$`) })
	illumosNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(unset|0|[1-9][0-9]{0,18}|0x[0-9a-fA-F]{1,16})$`) })
)

// zfsLog is a device of a pool, which no script of linerate adds.
const zfsLog = "any.zfs.slog"

var errZFSLog = errors.New("a device that is added to a pool loses what it held, which no undo brings back: by hand, zpool add POOL log DEVICE, zpool remove POOL DEVICE")

const (
	illumosMTU   = "illumos.dladm.mtu"
	illumosCache = "illumos.stmf.write_cache"
	ixgbeFile    = "/kernel/drv/ixgbe.conf"
)

// Mechanism implements Kind.
func (Illumos) Mechanism(setting, target string) (Mechanism, error) {
	name := setting[strings.LastIndex(setting, ".")+1:]
	switch {
	case setting == zfsLog:
		return Mechanism{}, errZFSLog
	case strings.HasPrefix(setting, "any.zfs."):
		sh, err := setter.ZFS{}.Shell(setter.Place{Setting: setting, Target: target}, "")
		return Mechanism{Read: sh.Read, Write: sh.Write}, err
	case setting == illumosMTU || setting == illumosCache:
		return illumosDevice(setting, target)
	case !properties().MatchString(setting) && !illumosSystem().MatchString(setting) && !illumosDriver().MatchString(setting):
		return Mechanism{}, fmt.Errorf("linerate does not set %s on illumos", setting)
	case target != "":
		return Mechanism{}, fmt.Errorf("%s is a setting of the whole host, not of %s", setting, target)
	case illumosSystem().MatchString(setting):
		at := strings.Replace(strings.TrimPrefix(setting, "illumos.system."), ".", ":", 1)
		return line("/etc/system", "*", "set"+at+"=", "", "set "+at+"="), nil
	case illumosDriver().MatchString(setting):
		return ixgbe(name), nil
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

func ixgbe(name string) Mechanism { return line(ixgbeFile, "#", name+"=", ";", name+" = ") }

func illumosDevice(setting, target string) (Mechanism, error) {
	if setting == illumosCache {
		if !illumosUnit().MatchString(target) {
			return Mechanism{}, fmt.Errorf("%s is a setting of a logical unit, as %[1]s@600144F0…, which stmfadm list-lu names; not of %q", setting, target)
		}
		return Mechanism{ // wcd is whether the cache is disabled
			Read:  "stmfadm list-lu -v " + target + ` | sed -n -e 's/^ *Writeback Cache *: Enabled$/false/p' -e 's/^ *Writeback Cache *: Disabled$/true/p'`,
			Write: `stmfadm modify-lu -p wcd="$value" ` + target,
		}, nil
	}
	m := interfaces().FindStringSubmatch(target)
	if m == nil {
		return Mechanism{}, fmt.Errorf("%s is a setting of a link; %q names none", setting, target)
	}
	return Mechanism{
		Read:    "dladm show-linkprop -c -o value -p mtu " + m[1],
		Write:   `dladm set-linkprop -t -p mtu="$value" ` + m[1],
		Runtime: true,
	}, nil
}

// Keep implements Keeper. What keeps a value sets what runs too: that is put back as it was, since
// it is another step's.
func (k Illumos) Keep(setting, target string) (Mechanism, string, error) {
	m, err := k.Mechanism(setting, target)
	if err != nil || !m.Runtime {
		return Mechanism{}, "", err
	}
	show, set, reset, at := "ipadm show-prop -c -o persistent -p ", "ipadm set-prop -p ", "ipadm reset-prop -p ", " tcp"
	name := setting[strings.LastIndex(setting, ".")+1:]
	if setting == illumosMTU {
		show, set, reset, at = "dladm show-linkprop -P -c -o value -p ", "dladm set-linkprop -p ", "dladm reset-linkprop -p ", " "+strings.TrimPrefix(target, "if:")
	}
	return Mechanism{
		Read: "kept=$(" + show + name + at + `) && case $kept in '' | -- | '?') echo unset ;; *) printf '%s\n' "$kept" ;; esac`,
		Write: "runs=$(" + m.Read + `) && [ -n "$runs" ] && if [ "$value" = unset ]; then ` + reset + name + at + "; else " + set + name + `="$value"` + at + "; fi && " +
			`value=$runs && ` + m.Write,
	}, strings.Fields(set)[0], nil
}

// Canonical implements Kind.
func (Illumos) Canonical(setting, target, value string) (string, error) {
	ok, want := true, ""
	switch {
	case setting == zfsLog:
		return "", errZFSLog
	case strings.HasPrefix(setting, "any.zfs."):
		return setter.ZFS{}.Canonical(setter.Place{Setting: setting, Target: target}, value)
	case setting == illumosCache:
		ok, want = value == "true" || value == "false", "true (the cache is disabled) or false"
	case illumosSystem().MatchString(setting) || illumosDriver().MatchString(setting): // as the file has it: 0x10 is no other spelling of 16 there
		ok, want = illumosNumber().MatchString(value), "a number, as 16 or 0x10"
	default:
		return number(setting, value)
	}
	if !ok {
		return "", fmt.Errorf("%s: %q: want %s: %w", setting, value, want, setter.ErrValue)
	}
	return value, nil
}
