package store

import (
	"slices"
	"strings"
	"time"

	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// ClimbedVersion is the version of Climbed's JSON form that this build writes.
const ClimbedVersion = 1

// Climbed is what a kept run measured of the rungs of a path. Without a Run none did, and Why says
// what would.
type Climbed struct {
	V       int           `json:"v"`
	Path    string        `json:"path"`
	Run     string        `json:"run,omitempty"` // its id
	At      time.Time     `json:"at,omitzero"`
	Command string        `json:"command,omitempty"`
	Ceiling *unit.BitRate `json:"ceiling_bps"` // of the path, as the run's verdict had it; null: not known
	Rungs   []model.Rung  `json:"rungs"`
	Why     string        `json:"why,omitempty"`
}

// LastLadder finds the ladder of a path, by the name that a live view gives it, in a list of runs with
// the newest first: that of the newest run that measured two rungs or more, since rungs tell something
// by how they differ; where there is none, of the newest that measured one.
func LastLadder(list []Summary, path string) Climbed {
	out := Climbed{V: ClimbedVersion, Path: path, Rungs: []model.Rung{}}
	most := 0
	for _, s := range list {
		n := measured(s.Ladder)
		if s.State != Complete || n == 0 || most > 1 || most == 1 && n == 1 || !s.isOf(path) {
			continue
		}
		most = n
		out.Run, out.At, out.Command, out.Ceiling, out.Rungs = s.ID, s.Created, s.Command, s.ceiling, s.Ladder
	}
	if out.Run == "" {
		out.Why = climbing(path)
	}
	return out
}

// climbing says what would measure the rungs of a path.
func climbing(path string) string {
	if a, b, two := strings.Cut(path, between); two {
		return "No kept run has measured the rungs of this path. This does, with load: linerate explain " + a + " " + b + " --load"
	}
	return "No kept run has measured the rungs of this path. This does, with load: linerate explain CLIENT SERVER --load"
}

func measured(ladder []model.Rung) (n int) {
	for _, r := range ladder {
		if r.Seen && r.Measured != nil {
			n++
		}
	}
	return n
}

// between stands between the hosts in the name of a path.
const between = " – "

// isOf tells whether a run was of a path: of its two hosts, or, where the path is one of a single
// host, of what its command named in the same words.
func (s Summary) isOf(path string) bool {
	a, b, two := strings.Cut(path, between)
	if !two {
		return len(s.hosts) == 1 && slices.ContainsFunc(strings.Fields(s.Command), func(w string) bool {
			_, value, _ := strings.Cut(w, "=")
			return w == path || value == path && path != ""
		})
	}
	return len(s.hosts) == 2 && (same(s.hosts[0], a) && same(s.hosts[1], b) || same(s.hosts[0], b) && same(s.hosts[1], a))
}

// same tells whether two names are of one host: by which user and with which directory is no matter.
func same(a, b string) bool {
	x, err1 := host.ParseName(a)
	y, err2 := host.ParseName(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	x.User, x.Path, y.User, y.Path = "", "", "", ""
	return x == y
}
