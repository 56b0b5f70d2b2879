package fake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// oid is a sysctl of a fresh system.
type oid struct {
	fresh      string
	fixed      bool // nobody can write it
	loader     bool // the loader takes it
	grows      bool // what runs takes larger values only
	words      []string
	least, max int64 // of a number that can be written
}

// sysctl is the program; flags are those that the system's has.
func (h host) sysctl(known map[string]oid, flags string, args []string) (string, int) {
	on := map[rune]bool{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		for _, f := range args[0][1:] {
			if !strings.ContainsRune(flags, f) {
				return "usage: sysctl [-" + flags + "] name[=value] ...\n", 1
			}
			on[f] = true
		}
		args = args[1:]
	}
	if len(args) == 0 || on['n'] && on['N'] {
		return "usage: sysctl [-" + flags + "] name[=value] ...\n", 1
	}
	var out strings.Builder
	for _, a := range args {
		name, to, write := strings.Cut(a, "=")
		o, ok := known[name]
		switch {
		case !ok && on['i']:
		case !ok:
			return fmt.Sprintf("sysctl: unknown oid '%s'\n", name), 1
		case write:
			said, code := h.setOID(name, o, to)
			if code != 0 {
				return "sysctl: " + said + "\n", code
			}
			out.WriteString(said)
		case on['W'] && o.fixed, on['T'] && !o.loader:
		case on['N']:
			fmt.Fprintf(&out, "%s\n", name)
		case on['n']:
			fmt.Fprintf(&out, "%s\n", h.value(name, o.fresh))
		case on['e']:
			fmt.Fprintf(&out, "%s=%s\n", name, h.value(name, o.fresh))
		default:
			fmt.Fprintf(&out, "%s: %s\n", name, h.value(name, o.fresh))
		}
	}
	return out.String(), 0
}

func (h host) setOID(name string, o oid, to string) (string, int) {
	was := h.value(name, o.fresh)
	n, err := strconv.ParseInt(to, 10, 64)
	now, _ := strconv.ParseInt(was, 10, 64) // a word is no number, and grows is of numbers
	switch {
	case o.fixed && o.loader:
		return "oid '" + name + "' is a read only tunable\nsysctl: Tunable values are set in /boot/loader.conf", 1
	case o.fixed:
		return "oid '" + name + "' is read only", 1
	case o.words != nil && !slices.Contains(o.words, to):
		return name + "=" + to + ": No such process", 1
	case o.words == nil && err != nil:
		return "invalid integer '" + to + "'", 1
	case o.words == nil && (n < o.least || n > o.max || o.grows && n < now):
		return name + "=" + to + ": Invalid argument", 1
	}
	if err := h.write(name, to); err != nil {
		return name + "=" + to + ": " + err.Error(), 1
	}
	return fmt.Sprintf("%s: %s -> %s\n", name, was, to), 0
}

// exactly is the answer to one command line out of a few; false: it is none of them.
func exactly(name string, args []string, known map[string]string) (string, int) {
	line := strings.TrimSpace(name + " " + strings.Join(args, " "))
	if a, ok := known[line]; ok {
		return a, 0
	}
	if a, ok := known["fails: "+line]; ok {
		return a, 1
	}
	return fmt.Sprintf("%s: usage: one of %s\n", name, strings.Join(slices.Sorted(maps.Keys(known)), "; ")), 64
}
