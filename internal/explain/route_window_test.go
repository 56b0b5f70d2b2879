package explain

import (
	"net/netip"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A route that limits the window is named, and not a program that would have fixed its buffer: the
// buffer stands still in both cases.
func TestTheWindowOfARoute(t *testing.T) {
	c := readRecording(t, "rmem256.cubic")
	facts := *c.Receiver.Facts
	facts.Settings = nil // no limit of tcp_rmem is known
	peer := lastConn(t, c.Receiver).Remote.Addr().Unmap()
	facts.Routes = append([]model.Route{{Dst: netip.PrefixFrom(peer, peer.BitLen()), Dev: "eth0", Window: 65536}}, facts.Routes...)
	c.Receiver.Facts = &facts
	v := Judge(c)
	if v.Limiter != model.ReceiverWindow || v.Fix.Kind != model.FixOperator || !strings.Contains(v.Fix.Advice, "limits the window to 64 KiB") {
		t.Errorf("%s: %+v", v.Line, v.Fix)
	}
	facts.Routes[0].Window = 0
	if v := Judge(c); strings.Contains(v.Line, "limits the window") {
		t.Errorf("without it: %s", v.Line)
	}
}

func lastConn(t *testing.T, e *End) model.Conn {
	t.Helper()
	for i := range e.Samples {
		if all := e.Samples[len(e.Samples)-1-i].Conns; len(all) > 0 {
			return all[0]
		}
	}
	t.Fatal("no connection was recorded")
	return model.Conn{}
}
