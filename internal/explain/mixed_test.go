package explain

import (
	"path/filepath"
	"testing"

	"linerate/internal/model"
)

// Recordings of two causes at once, and of a path that a client of storage feels as a slow server: seen
// from both ends or from one, no verdict is wrong and confident.
func TestMixedRecordings(t *testing.T) {
	views := map[string]func(Case) Case{
		"both ends": func(c Case) Case { return c },
		"sender":    func(c Case) Case { c.Receiver, c.OneEnd = nil, true; return c },
		"receiver":  func(c Case) Case { c.Sender, c.OneEnd = nil, true; return c },
	}
	for _, l := range readLabelsIn(t, filepath.Join(recordings, "mixed")) {
		for name, view := range views {
			c := view(recorded(t, "mixed/"+l.Name))
			v := Judge(c)
			checkVerdict(t, c, v)
			t.Logf("%s, %s: %s (%.2f)", l.Name, name, v.Limiter, v.Confidence)
			if !l.right(v) && v.Limiter != model.Undetermined && v.Confidence > unseenEndCap {
				t.Errorf("%s, %s: %s (%.2f) %s", l.Name, name, v.Limiter, v.Confidence, v.Line)
			}
		}
	}
}

// Of pauses that the path makes a client sees segments out of order; of a server's it does not.
func TestPausesOfThePath(t *testing.T) {
	for name, sure := range map[string]bool{
		"mixed/path-gone-at-times.smb.cubic": false, "mixed/path-gone-at-times.iscsi.cubic": false, "cases/slow-disk": true,
	} {
		c := recorded(t, name)
		c.Sender, c.OneEnd = nil, true
		v := Judge(c)
		if v.Limiter != model.ServerTime || v.Confidence > contradictedCap != sure {
			t.Errorf("%s: %s (%.2f) %s", name, v.Limiter, v.Confidence, v.Line)
		}
	}
}

// A thread of the server's waits for the disk at any moment while others' data wait for the path.
func TestDataThatWaitIsNoSlowDisk(t *testing.T) {
	v := Judge(recorded(t, "mixed/path-gone-at-times.nfs.cubic"))
	if v.Confidence > contradictedCap || len(v.Alternatives) == 0 || !pathTakes(v.Alternatives[0].Limiter) {
		t.Errorf("%s (%.2f) or %v: %s", v.Limiter, v.Confidence, v.Alternatives, v.Line)
	}
}
