package host

import (
	"net/netip"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/mover"
)

// overSSH is an agent that the system's ssh leads to.
func overSSH(t *testing.T, s *sshd) *Client {
	t.Helper()
	name, err := ParseName(userName(t) + "@server1")
	if err != nil {
		t.Fatal(err)
	}
	ep, err := s.ssh(t).Reach(t.Context(), name, []netip.Addr{loopback})
	if err != nil {
		t.Fatal(err)
	}
	ep.StateDir = filepath.Join(s.dir, "state")
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A copy to a host that ssh leads to, and one whose ssh is killed in its middle: the far end
// goes, nothing is left there but what a next run goes on with, and that run ends well.
func TestACopyOverARealSSH(t *testing.T) {
	s := startSSHD(t)
	near, _ := dial(t, "near")
	src, dst := sampleFiles(t, 24<<20), t.TempDir()
	for _, cut := range []bool{true, false} {
		far := overSSH(t, s)
		limit := int64(0)
		if cut {
			limit = 8 << 20
		}
		m := startMovers(t, near, far, mover.Task{Read: []move.Raw{move.Raw(src + "/")}, Limit: limit, Streams: 2}, mover.Task{Write: move.Raw(dst)})
		tellMover(t, m.from, mover.Command{Order: mover.Dial, At: awaitMover(t, m.to, mover.Listening).Addr, Peer: m.pins[1]})
		if cut {
			for awaitMover(t, m.to, mover.Seen).Work.Received == 0 {
			}
			if err := far.kill(); err != nil { // it is ssh that is killed
				t.Fatal(err)
			}
			awaitFailed(t, m.from)
			_ = far.Close() // it was killed
			var st unix.Stat_t
			if err := unix.Lstat(filepath.Join(dst, "large"), &st); err == nil {
				t.Error("a file that is not whole has its name")
			}
		} else {
			awaitMover(t, m.from, mover.Over)
			awaitMover(t, m.to, mover.Over)
			sameFiles(t, src, dst)
			if err := far.Close(); err != nil {
				t.Error(err)
			}
		}
		s.wantNothingLeft(t)
	}
}
