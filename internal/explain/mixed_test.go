package explain

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

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

// besideIt adds a connection of the same mount that is used for a moment at times, in order: where
// the first one moves, or at any time.
func besideIt(c Case, anytime bool) Case {
	n, moved := *c.Receiver, int64(0)
	n.Samples = slices.Clone(n.Samples)
	for i, s := range n.Samples {
		x := s.Conns[0]
		first := i > 0 && x.BytesReceived > c.Receiver.Samples[i-1].Conns[0].BytesReceived
		x.Local, x.Inode = addrPort(x.Local.Addr().String()+":999"), x.Inode+99
		if i%6 == 0 && (first || anytime) {
			moved += 3 << 20
		}
		x.BytesReceived, x.RcvOOO = moved, 0
		n.Samples[i].Conns = append(slices.Clone(s.Conns), x)
	}
	c.Receiver = &n
	return c
}

// That one of several connections idles is no pause of the server.
func TestConnectionUsedNowAndThenIsNoPause(t *testing.T) {
	for _, anytime := range []bool{false, true} {
		c := recorded(t, "mixed/path-gone-at-times.smb.cubic")
		c.Sender, c.OneEnd = nil, true
		c = besideIt(c, anytime)
		if v := Judge(c); v.Limiter != model.ServerTime || v.Confidence > contradictedCap {
			t.Errorf("at any time %v: %s (%.2f) %s", anytime, v.Limiter, v.Confidence, v.Line)
		}
	}
}

// A client that asks for nothing for a moment makes no pause of the server: the call after it takes no longer.
func TestPauseWithoutCalls(t *testing.T) {
	for extra, want := range map[time.Duration]float64{0: 0, 300 * time.Millisecond: 2} {
		c := requesting(model.OfSMB, 20, 1<<20, 30*time.Millisecond, 0)
		at := func(i int) int64 { // samples that moved until then: of ten four do not
			return int64(i/10*6 + min(i%10, 6))
		}
		for i := range c.Receiver.Samples {
			s, n := &c.Receiver.Samples[i], 2*at(i)
			s.Conns[0].BytesReceived = n << 20
			took := time.Duration(n)*30*time.Millisecond + extra*time.Duration(max(0, i-1)/10)
			s.Requests.Read = model.RequestOp{Ops: n, Bytes: n << 20, Time: took}
		}
		if m := look(c).mount; m.pauses != want || m.brokenOff != 0 {
			t.Errorf("calls that take %v longer: %.0f pauses, %.0f broken off", extra, m.pauses, m.brokenOff)
		}
	}
}
