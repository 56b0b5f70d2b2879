// Package bsd reads what the commands print that FreeBSD and macOS share: sysctl, ifconfig,
// netstat. It is pure: it judges texts. It refuses to guess: a line that it does not understand
// is told.
package bsd

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

// Reading is facts in the making, of a system with this name.
type Reading struct {
	Name   string
	Frames frame.Frames
	F      *model.Facts
}

// Asked are the sysctls that a script asks for: those of its line names='…'.
func Asked(script string) []string {
	_, rest, _ := strings.Cut(script, "names='")
	names, _, _ := strings.Cut(rest, "'")
	return strings.Fields(names)
}

// Start is the facts of no host yet.
func Start(name string, frames frame.Frames) Reading {
	return Reading{name, frames, &model.Facts{UID: -1, Settings: map[string]model.Fact[string]{}}}
}

// Blind tells that something was not read.
func (r Reading) Blind(what, shows, how string) {
	r.F.CouldNotSee = append(r.F.CouldNotSee, model.Blind{What: r.Name + ": " + what, WouldShow: shows, How: how})
}

// Lines are those of one command; without any the user is told what they would have shown.
func (r Reading) Lines(name, shows string) []string {
	t := r.Frames.Text(name)
	text, ok := t.Get()
	if !ok {
		how := t.Why
		if t.State == model.Denied {
			how = "log in as root: " + how
		}
		r.Blind(name, shows, how)
		return nil
	}
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// Optional are the lines of what many hosts do not have: a file that is not there, or nothing to
// print.
func (r Reading) Optional(name, shows string) []string {
	if r.Frames.Text(name).State == model.Absent {
		return nil
	}
	return r.Lines(name, shows)
}

// One is the output of a command of one line; empty: there is none.
func (r Reading) One(name string) string { return strings.TrimSpace(r.Frames.Text(name).Or("")) }

// Odd tells of a line that was not understood.
func (r Reading) Odd(name, line string) {
	r.Blind(name, "a value that was printed", fmt.Sprintf("the line %q was not understood", line))
}

// Sysctls are the values that "sysctl -e" printed, by name.
func (r Reading) Sysctls(frame string) map[string]string {
	out := map[string]string{}
	for _, line := range r.Lines(frame, "the settings of the system") {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			r.Odd(frame, line)
			continue
		}
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// Settings makes settings of all values that were asked for. One that sysctl passed over is one
// that the system does not have; which is told apart from one that is empty.
func (r Reading) Settings(values map[string]string, asked []string) {
	if len(values) == 0 {
		return // none was read, which does not mean that there are none
	}
	for _, name := range asked {
		id := r.Name + ".sysctl." + name
		value, ok := values[name]
		switch {
		case !ok:
			r.F.Settings[id] = model.Unknown[string](model.Unsupported, "this release has no such sysctl")
		case value == "":
			r.F.Settings[id] = model.Unknown[string](model.Absent, "it is not set")
		default:
			r.F.Settings[id] = model.Known(value)
		}
	}
}

// Host is what all have: names, user, processors, memory.
func (r Reading) Host(values map[string]string, memory string) {
	r.F.Hostname, r.F.Kernel = r.One("nodename"), r.One("release")
	if uid, err := strconv.Atoi(r.One("uid")); err == nil {
		r.F.UID = uid
	} else {
		r.Blind("uid", "whether we are root there", "id -u printed "+strconv.Quote(r.One("uid")))
	}
	n, err := strconv.Atoi(values["hw.ncpu"])
	if err != nil || n < 1 || n > 1<<16 {
		r.Blind("hw.ncpu", "how many CPUs there are", "sysctl printed "+strconv.Quote(values["hw.ncpu"]))
		n = 0
	}
	for i := range n {
		r.F.CPUs = append(r.F.CPUs, i)
	}
	if b, err := strconv.ParseInt(values[memory], 10, 64); err == nil && b > 0 {
		r.F.Memory = model.Known(unit.Bytes(b))
	}
}

// TCPCounters are those of "netstat -s -p tcp", by the words of each line.
func (r Reading) TCPCounters() {
	tcp := map[string]int64{}
	lines := r.Lines("tcpcount", "how much was sent again")
	for _, line := range lines {
		number, words, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case !ok || err != nil: // the heading, and lines that are only words
		case words == "packets sent" || words == "packet sent":
			tcp["Tcp.OutSegs"] = n
		case retransmitted.MatchString(words):
			tcp["Tcp.RetransSegs"] = n
		}
	}
	switch {
	case len(tcp) == 2:
		r.F.NetCounters = model.Known(tcp)
	case len(lines) > 0:
		r.Blind("tcpcount", "how much was sent again", "its lines on packets sent and on data retransmitted are not both there")
	}
}

var retransmitted = regexp.MustCompile(`^data packets? \([0-9]+ bytes?\) retransmitted$`)
