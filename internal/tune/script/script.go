// Package script writes the script by which a plan is carried out on a host on which linerate
// does not run: one file in the host's own shell that applies, confirms, undoes and tells. It
// keeps a record on the host before each write, reads back, and leaves alone what somebody else
// changed. The package is pure. It refuses a value that could be more than a value in a shell.
package script

import (
	"cmp"
	_ "embed" // the part that all scripts have
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed body.sh
var body string

//go:embed files.sh
var files string

// State is where a host keeps the records of its plans, each in a directory of the plan's name.
const State = "/var/lib/linerate/plans"

// Mechanism is how one setting is read and written, in the shell of the host.
type Mechanism struct {
	Read  string // a command that prints the value
	Write string // a command that sets the value in "$value"
	// Ready is a command that fails, and prints why, where the setting is there and no write of
	// it would be taken; empty: that shows when it is written.
	Ready string
	Tidy  string // a command that removes what a killed write may leave; "": that leaves nothing
	// File is a file of the host, by its absolute path, that Write replaces as a whole by
	// file_put: the script keeps what it was, and undo puts that back. Settle is a command that
	// follows each change of the file; empty: none. Both are for sh.
	File, Settle string
	// Runtime: a restart of the host undoes the write.
	Runtime bool
	// Test says why the host does not take "$value"; nothing: it does. Empty: there is no telling.
	// Adapter restarts at the write. Both are for PowerShell.
	Test, Adapter string
}

// ready is its command.
func (m Mechanism) ready() string {
	if m.Ready == "" {
		return ":"
	}
	return m.Ready
}

// file is the word of sh for its file.
func (m Mechanism) file() string {
	if m.File == "" {
		return "''"
	}
	return `"$root"` + Quote(m.File)
}

// Step is one change.
type Step struct {
	Name     string // the setting and its device, as people know them
	From, To string
	Mechanism
}

// System is what a script has to know of the kind of host.
type System struct {
	Uname string // what "uname -s" prints there
	Boot  string // a command that prints a text which no other start of the host has
	// Schedule is a command that has "$dir/change.sh" called with "unconfirmed" in "$1"
	// minutes, and fails where nothing would do so.
	Schedule string
	// Unschedule takes that back, as the last thing that a script does: it may end the very job
	// that runs it. Empty: a job that finds nothing to do does no harm.
	Unschedule string
	// Forgets: a restart drops what was scheduled. Repeats: it is called again and again until
	// Unschedule, so that an undo that failed need not schedule another.
	Forgets, Repeats bool
	// PowerShell runs the scripts, and has no need of the above.
	PowerShell bool
}

// Records is where a host keeps them, as its people write it.
func (k System) Records() string {
	if k.PowerShell {
		return `%ProgramData%\linerate\plans`
	}
	return State
}

// Script is the script of a plan.
type Script struct {
	Plan, Host, State string
	Root              string // before the names of the host's files; empty but in tests
	System            System
	Steps             []Step
	// Unprivileged lets it run without root: for tests, whose commands need none.
	Unprivileged bool
}

// ErrValue is that of a value that a script must not hold.
var ErrValue = errors.New("not a value that a script may hold")

// What values and names of settings consist of. No expressions: one that counts to hundreds takes
// milliseconds to compile, at the start of each process of linerate.
const (
	valueSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+/-"
	nameSigns  = valueSigns + "@ " // adapters of Windows are called "Ethernet 2"
)

var planPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`) })

// consistsOf: 1 to most bytes, each of them one of the signs.
func consistsOf(s, signs string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, signs) == ""
}

// CheckValue refuses a value that is empty or has other characters than letters, digits and
// a few signs that mean nothing to a shell.
func CheckValue(v string) error {
	if !consistsOf(v, valueSigns, 200) {
		return fmt.Errorf("value %q: %w", v, ErrValue)
	}
	return nil
}

// Quote makes one word of sh.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Text is the script, as a file.
func (s Script) Text() (string, error) { return s.write(false) }

// UndoText is the same as a file that only undoes: it needs no other.
func (s Script) UndoText() (string, error) { return s.write(true) }

// Only undoing: the file takes no word but --force.
const (
	undoHead = `# This file undoes them: without a word, or with --force.
`
	undoWords = `case $#${1:-} in
0 | 1--force) set -- undo "$@" ;;
*) echo "usage: sh $0 [--force]" >&2; exit 2 ;;
esac
`
)

func (s Script) write(undo bool) (string, error) {
	if !planPattern().MatchString(s.Plan) {
		return "", fmt.Errorf("write the script: plan %q: %w", s.Plan, ErrValue)
	}
	if len(s.Steps) == 0 {
		return "", errors.New("write the script: the plan has no changes")
	}
	for _, st := range s.Steps {
		if !consistsOf(st.Name, nameSigns, 300) {
			return "", fmt.Errorf("write the script: setting %q: %w", st.Name, ErrValue)
		}
		for _, v := range []string{st.From, st.To} {
			if err := CheckValue(v); err != nil {
				return "", fmt.Errorf("write the script: %s: %w", st.Name, err)
			}
		}
	}
	if s.System.PowerShell {
		return s.powershell(undo)
	}
	head, words := "", ""
	if undo {
		head, words = undoHead, undoWords
	}
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/sh
# Plan %s of linerate: %d changes of a host of %s.
%s# Read it, then run it there as root. Each value is compared with what the plan was made for
# before anything is changed; the originals stand here, and a copy of this script is kept in
# %s on the host.
set -fu
%splan=%s
system=%s
state=%s
root=%s
steps=%d
unprivileged=%s
repeats=%s
`, s.Plan, len(s.Steps), s.System.Uname, head, s.State+"/"+s.Plan, words, Quote(s.Plan), Quote(s.System.Uname), Quote(s.State), Quote(s.Root), len(s.Steps), map[bool]string{true: "yes"}[s.Unprivileged], yes(s.System.Repeats))
	fmt.Fprintf(&b, "boot_now() { %s; }\nschedule() { %s; }\nunschedule() { %s; }\n", s.System.Boot, s.System.Schedule, cmp.Or(s.System.Unschedule, ":"))
	b.WriteString(files)
	for i, st := range s.Steps {
		settle := cmp.Or(st.Settle, ":")
		fmt.Fprintf(&b, "\nstep_%[1]d() { setting=%[2]s; from=%[3]s; to=%[4]s; runtime=%[5]s; file=%[10]s; }\nread_%[1]d() { %[6]s; }\nwrite_%[1]d() { %[7]s && settle_%[1]d; }\n"+
			"ready_%[1]d() { %[8]s; }\ntidy_%[1]d() { %[9]s; settle_%[1]d; }\nsettle_%[1]d() { %[11]s; }\n",
			i+1, Quote(st.Name), Quote(st.From), Quote(st.To), yes(st.Runtime), st.Read, "{ "+st.Write+"; }", st.ready(), cmp.Or(st.Tidy, ":"), st.file(), settle)
	}
	return b.String() + body, nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Kind is a kind of host for which scripts are written.
type Kind interface {
	// Name is the word for it in ids of settings.
	Name() string
	System() System
	// Mechanism is how a setting is read and written there; an error says that it is not.
	Mechanism(setting, target string) (Mechanism, error)
	// Canonical is a value as the host prints it, or why it takes no such value.
	Canonical(setting, target, value string) (string, error)
}

// Keeper is a Kind of which some settings can also be written to where the host reads them when
// it starts.
type Keeper interface {
	// Keep is how; at says in a word where. An error says that it is not.
	Keep(setting, target string) (m Mechanism, at string, err error)
}

// ByHand is a Kind whose scripts only a person runs, who has read them.
type ByHand interface {
	// ByHand is why.
	ByHand() string
}

// All are the kinds of hosts. To add one: a file here, and a line in this list.
func All() []Kind { return []Kind{Illumos{}, FreeBSD{}, MacOS{}, OneFS{}, Windows{}} }

// Find finds a kind by its name, or by Go's word for it.
func Find(name string) (Kind, bool) {
	if name == "darwin" {
		name = "macos"
	}
	for _, k := range All() {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}
