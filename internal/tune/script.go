package tune

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/tune/setter"
)

const scriptName = "undo.sh"

// maxScript bounds what is read of undo.sh: it holds what a journal of maxJournal has open.
const maxScript = 2 * maxJournal

// writeScript makes undo.sh anew for everything that is open, or removes it
// and the kept copy of linerate when nothing is. It is replaced in one step, so there is always a whole one.
func (s *session) writeScript() error {
	if err := s.step("script"); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, scriptName)
	text, err := s.script()
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	if text == "" {
		for _, name := range []string{scriptName, keptName} {
			if err := errors.Join(s.dir.remove(name), s.dir.remove(name+newSuffix)); err != nil {
				return fmt.Errorf("remove %s: %w", s.dir.full(name), err)
			}
		}
		return s.dir.sync()
	}
	if err := s.dir.replace(scriptName, 0o700, strings.NewReader(text)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// script is undo.sh for what is open, newest first; empty when nothing is.
func (s *session) script() (string, error) {
	var b strings.Builder
	var open []Entry
	programs := false
	for _, e := range slices.Backward(s.journal.entries) {
		if !e.Open(s.BootID) {
			continue
		}
		open = append(open, e)
		q := setter.Quote
		set, err := s.mechanism(e.Setting)
		if err != nil {
			return "", err
		}
		sh, err := set.Shell(place(e), e.Before)
		if err != nil {
			return "", err
		}
		if len(sh.Programs) > 0 {
			programs = true
			sh = orByCopy(sh, place(e), e.Before)
		}
		if name, ok := setter.InterfaceNamed(place(e)); ok && e.Index > 0 {
			sh.Read = fmt.Sprintf("same_interface %s %d %s && { %s; }", q(name), e.Index, q(e.Hardware), sh.Read)
		}
		fmt.Fprintf(&b, "\nread_now() { %s; }\nwrite_value() ( %s; )\nrestore %s %s %s %s %s %s\n",
			sh.Read, sh.Write, q(bootOf(e)), q(place(e).String()), q(e.ours()), q(e.Before), q(e.Origin), q(s.original(e)))
	}
	if b.Len() == 0 {
		return "", nil
	}
	copied := ""
	if programs {
		sum, err := s.keptSum()
		if err != nil {
			return "", err
		}
		kept, err := filepath.Abs(s.KeptBinary())
		if err != nil {
			return "", err
		}
		copied = fmt.Sprintf(scriptCopy, setter.Quote(kept), setter.Quote(sum))
	}
	marked, err := markLine(len(s.journal.entries), open)
	if err != nil {
		return "", err
	}
	return sealed(scriptHead + marked + copied + b.String() + scriptEnd), nil
}

// orByCopy has the kept copy of linerate do what takes a program that the host
// lacks when the script runs.
func orByCopy(sh setter.Shell, at setter.Place, like string) setter.Shell {
	q := setter.Quote
	have := "lacking=$(lacks " + strings.Join(sh.Programs, " ") + `); if [ -z "$lacking" ]; then `
	place := q(at.Setting) + " " + q(at.Target)
	return setter.Shell{
		Read:  have + sh.Read + "; else by_copy read " + place + " " + q(like) + "; fi",
		Write: have + sh.Write + "; else by_copy write " + place + ` "$value"; fi`,
	}
}

// original is what was in the place of e before the oldest change that undo.sh restores there,
// also after a restart if it restores e then.
func (s *session) original(e Entry) string {
	if o := s.first(s.journal.entries, e); o.Persisted || !e.Persisted {
		return o.Before
	}
	return e.Before
}

// bootOf is the boot that an entry is of for undo.sh; empty is any.
func bootOf(e Entry) string {
	if e.Persisted {
		return ""
	}
	return e.BootID
}

// scriptHead does in shell what undoOne does. set -f: no value is a file
// pattern.
const scriptHead = `#!/bin/sh
# Restores what linerate changed on this host, newest first. Needs a shell and
# coreutils, and no linerate: where the host lacks another program, such as
# ethtool, the copy of linerate beside the journal reads and writes the value. A
# value that somebody else changed since is left alone and shown; --force
# restores it too.
set -fu
PATH=$PATH:` + setter.ProgramPath + `
force=${1:-}
failed=0
whole=
trap '[ -n "$whole" ] || { echo "this script ends too early: not everything was restored" >&2; exit 1; }' EXIT
sys=/sys/class/net
boot=$(cat /proc/sys/kernel/random/boot_id) || exit 1

same_interface() { # name, number, hardware: another one may have the name, or the number, by now
	if [ "$(cat "$sys/$1/ifindex" 2>/dev/null)" != "$2" ]; then
		echo "$1 is not the interface that it was, which has the number $2 in 'ip link': renamed, or gone" >&2
		return 1
	fi
	device=$(readlink "$sys/$1/device" 2>/dev/null)
	address=$(cat "$sys/$1/address" 2>/dev/null)
	kind=$(cat "$sys/$1/addr_assign_type" 2>/dev/null) # 0: the address is the permanent one
	node=$(stat -c %i "$sys/$1/" 2>/dev/null) # another one where it was made anew
	was=${3%%#*}
	case $3 in
	*'#'*) [ -n "$node" ] && {
		[ "${3##*#}" = "$node" ] && return
		was=another
	} ;;
	esac
	case $was in
	'') return 0 ;; # not known
	"link:$address") return 0 ;;
	link:*) [ -z "$device" ] && [ "$kind" != 0 ] && return ;; # an address that may be set
	pci:*) [ "pci:${device##*/}" = "$was" ] && return ;;
	mac:*)
		[ "mac:$address" = "$was" ] && return
		[ "mac:$(cat "$sys/$1/bonding_slave/perm_hwaddr" 2>/dev/null)" = "$was" ] && return
		# Of an address that was set, sysfs does not show what it was.
		case "$(ip link show dev "$1" 2>/dev/null) " in
		*" permaddr ${was#mac:} "*) return 0 ;;
		esac
		;;
	esac
	echo "$1 has the number $2, and is another interface (address $address, device ${device##*/}), not $3" >&2
	return 1
}

restore() { # boot id, setting, ours, original, that before the plan itself moved it, that before all plans
	if [ -n "$1" ] && [ "$1" != "$boot" ]; then
		echo "$2: changed before the last restart, which undid it"
		return
	fi
	if ! now=$(read_now); then
		echo "$2: cannot be read" >&2
		failed=1
		return
	fi
	if [ "$now" = "$4" ] || { [ -n "$5" ] && [ "$now" = "$5" ]; } || [ "$now" = "$6" ]; then
		echo "$2: has its original value $now"
		return
	fi
	if [ "$now" != "$3" ] && [ "$force" != --force ]; then
		echo "$2: changed by somebody else, left alone: ours $3, theirs $now, original $6" >&2
		failed=1
		return
	fi
	value=$4
	if write_value && now=$(read_now) && [ "$now" = "$4" ]; then
		echo "$2: restored to $4"
	else
		echo "$2: could not be restored to $4" >&2
		failed=1
	fi
}
`

// scriptCopy is the part of undo.sh that starts the kept copy of linerate. Its
// hash is compared first: who runs the script is root.
const scriptCopy = `
kept=%s
kept_sum=%s

lacks() { # programs: prints those that this host has not
	for name in "$@"; do
		command -v "$name" >/dev/null 2>&1 || printf '%%s ' "$name"
	done
}

by_copy() { # read or write, setting, target, value
	if [ -z "$kept_sum" ]; then
		echo "this host lacks ${lacking%% }: install it, and run this again" >&2
		return 1
	fi
	sum=$(sha256sum < "$kept") || return 1
	if [ "${sum%%%% *}" != "$kept_sum" ]; then
		echo "$kept is not the copy that was kept: install ${lacking%% }, and run this again" >&2
		return 1
	fi
	"$kept" ` + ValueRole + ` "${kept%%/*}" "$@"
}
`
