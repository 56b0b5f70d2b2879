package store

import (
	"net"
	"slices"
	"strings"
	"time"

	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
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

// Place is a path as a live view knows it.
type Place struct {
	Path string // its name
	// Here is the host whose path it is alone, and Source what is mounted there ("nas1:/export"); empty:
	// of two hosts, or nothing is, or it is not known.
	Here, Source string
}

// PlaceOf is that of a picture.
func PlaceOf(p watch.Picture) Place {
	out := Place{Path: p.Path}
	if len(p.Hosts) != 1 || strings.Contains(p.Path, between) {
		return out
	}
	if out.Here = p.Hosts[0].Name; p.Hosts[0].Facts == nil {
		return out
	}
	point := ""
	for _, m := range p.Hosts[0].Facts.Mounts { // of two at one place the later lies on top
		if on := strings.TrimSuffix(m.Point, "/") + "/"; strings.HasPrefix(p.Path+"/", on) && len(on) >= len(point) {
			point, out.Source = on, m.Source
		}
	}
	return out
}

// LastLadder finds the ladder of a path in a list of runs with the newest first: that of the newest run
// that measured two rungs or more, since rungs tell something by how they differ; where there is none,
// of the newest that measured one.
func LastLadder(list []Summary, of Place) Climbed {
	out := Climbed{V: ClimbedVersion, Path: of.Path, Rungs: []model.Rung{}}
	most := 0
	for _, s := range list {
		n := measured(s.Ladder)
		if s.State != Complete || n == 0 || most > 1 || most == 1 && n == 1 || !s.isOf(of) {
			continue
		}
		most = n
		out.Run, out.At, out.Command, out.Ceiling, out.Rungs = s.ID, s.Created, s.Command, s.ceiling, s.Ladder
	}
	if out.Run == "" {
		out.Why = climbing(of)
	}
	return out
}

// climbing says what would measure the rungs of a path.
func climbing(of Place) string {
	ends := "CLIENT SERVER"
	if a, b, two := strings.Cut(of.Path, between); two {
		ends = a + " " + b
	} else if _, ok := exportOf(of.Source); ok {
		ends = here + " " + of.Source
	}
	return "No kept run has measured the rungs of this path. This does, with load: linerate explain " + ends + " --load"
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

// isOf tells whether a run was of a path: of its two hosts; or, where the path is one of a single host,
// of what its command named in the same words, or between that host and the server, by the export that
// is mounted there or the address that is watched.
func (s Summary) isOf(of Place) bool {
	a, b, two := strings.Cut(of.Path, between)
	switch {
	case two:
		return len(s.hosts) == 2 && (same(s.hosts[0], a) && same(s.hosts[1], b) || same(s.hosts[0], b) && same(s.hosts[1], a))
	case len(s.hosts) == 1:
		return slices.ContainsFunc(strings.Fields(s.Command), func(w string) bool {
			_, value, _ := strings.Cut(w, "=")
			return w == of.Path || value == of.Path && of.Path != ""
		})
	case len(s.hosts) == 2 && of.isHere(s.hosts[0]):
		return s.serves(of, s.hosts[1])
	case len(s.hosts) == 2 && of.isHere(s.hosts[1]):
		return s.serves(of, s.hosts[0])
	}
	return false
}

// here is how commands name the machine that they run on (reach.Here).
const here = "localhost"

// isHere tells whether a run's host is the one whose path it is, by that name or its own.
func (p Place) isHere(name string) bool {
	n, err := host.ParseName(name)
	return err == nil && n.Reach != host.Lab && n.Reach != host.Site && p.Here != "" && (n.Host == here || n.Host == p.Here)
}

// serves tells whether a run was to what a path leads to: to the export, named as it is mounted; or to
// the host of an address, whatever it exports.
func (s Summary) serves(of Place, server string) bool {
	if export, ok := exportOf(of.Source); ok {
		return slices.ContainsFunc(strings.Fields(s.Command), func(w string) bool {
			named, ok := exportOf(w)
			return ok && named == export
		})
	}
	to, _, err := net.SplitHostPort(of.Path)
	return err == nil && same(server, to)
}

// exportOf reads HOST:/export, by whichever user.
func exportOf(s string) (host.Name, bool) {
	n, err := host.ParseName(s)
	n.User = ""
	return n, err == nil && n.Host != "" && n.Path != ""
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
