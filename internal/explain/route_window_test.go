package explain

import (
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A route that limits the window is named, and not a program that would have fixed its buffer: the
// buffer stands still in both cases. A limit that the window seen does not fit holds back nothing,
// and what else fixes the buffer goes first.
func TestTheWindowOfARoute(t *testing.T) {
	c := readRecording(t, "rmem256.cubic")
	peer, buffer := lastConn(t, c.Receiver).Remote.Addr().Unmap(), lastConn(t, c.Receiver).RcvBuf
	facts := *c.Receiver.Facts
	facts.Routes = append([]model.Route{{Dst: netip.PrefixFrom(peer, peer.BitLen()), Dev: "eth0"}}, facts.Routes...)
	c.Receiver.Facts = &facts
	alone := c
	alone.Sender = nil
	half := strconv.FormatInt(buffer/2, 10)
	for _, tt := range []struct {
		name    string
		window  int // of the route
		setting map[string]model.Fact[string]
		want    string // in the advice
		setID   string // that the fix sets
		alone   float64
	}{
		{"it fits", 131072, nil, "limits the window to 128 KiB", "", 0.65},
		{"no limit", 0, nil, "SO_RCVBUF", "", 0.5},
		{"a leftover above the window", 4 << 20, nil, "SO_RCVBUF", "", 0.5},
		{"a window above what it allows", 65536, nil, "SO_RCVBUF", "", 0.5},
		{"the kernel sizes no buffers", 131072, map[string]model.Fact[string]{moderateSetting: model.Known("0")}, "", moderateSetting, 0.65},
		{"the program got less than it asked for", 131072, map[string]model.Fact[string]{rmemMaxSetting: model.Known(half)}, "", rmemMaxSetting, 0.5},
	} {
		facts.Settings, facts.Routes[0].Window = tt.setting, tt.window // no limit of tcp_rmem is known
		v := Judge(c)
		if v.Limiter != model.ReceiverWindow || v.Fix.Setting != tt.setID || tt.want != "" && !strings.Contains(v.Fix.Advice, tt.want) {
			t.Errorf("%s: %s: %+v", tt.name, v.Line, v.Fix)
		}
		if named := strings.Contains(v.Fix.Advice, "limits the window"); named != strings.Contains(v.Fix.Advice, "ip route get "+peer.String()) {
			t.Errorf("%s: another table may lead to the sender: %s", tt.name, v.Fix.Advice)
		}
		facts.Settings = maps.Clone(tt.setting)
		if facts.Settings == nil {
			facts.Settings = map[string]model.Fact[string]{}
		}
		facts.Settings[rmemSetting] = model.Known("4096 131072 67108864")
		if v := Judge(alone); v.Limiter != model.ReceiverWindow || v.Confidence > tt.alone {
			t.Errorf("%s, the receiver alone: %.2f %s", tt.name, v.Confidence, v.Line)
		}
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
