package explain

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// What came instead of a connection is named for what it is: a refusal is no
// outage, and silence is not taken for more than it is.
func TestJudgeUnreached(t *testing.T) {
	up, downBack := &OtherWay{Up: true}, &OtherWay{}
	var untried *OtherWay
	for _, tt := range []struct {
		name  string
		how   model.Refusal
		back  *OtherWay
		edit  func(c *Case)
		want  model.LimiterID
		host  string
		most  float64 // confidence
		least float64
		alt   model.LimiterID // empty: nothing is confused with it
		says  []string        // in the line or the fix
	}{
		{"refused", model.Refused, untried, nil, model.ConnectionRefused, "server1", 0.95, 0.8, "", []string{"from 10.0.0.1 to 10.0.0.2:40123", "refused", "carries packets", "firewall"}},
		{"a firewall of its own", model.Forbidden, untried, nil, model.ConnectionRefused, "client1", 0.95, 0.8, "", []string{"client1 itself", "ip route get 10.0.0.2"}},
		{"no route", model.NoRoute, untried, nil, model.Outage, "client1", 0.8, 0.6, "", []string{"no route", "--via"}},
		{"silence", model.Unanswered, downBack, nil, model.Outage, "", 0.5, 0.3, model.ConnectionRefused, []string{"no answer", "10.0.0.2:40123 within 10 s", "ping"}},
		{"silence, the other way not tried", model.Unanswered, untried, nil, model.Outage, "", 0.5, 0.3, model.ConnectionRefused, []string{"no answer"}},
		{"silence one way", model.Unanswered, up, nil, model.ConnectionRefused, "server1", 0.95, 0.8, "", []string{"packets pass both ways", "drops requests"}},
		{"host unreachable", model.HostUnreachable, downBack, nil, model.Outage, "", 0.8, 0.5, model.ConnectionRefused, []string{"host unreachable", "ip neigh"}},
		{"rejected by ICMP one way", model.HostUnreachable, up, nil, model.ConnectionRefused, "server1", 0.95, 0.8, "", []string{"both ways"}},
		{"the far interface is down", model.Unanswered, downBack, func(c *Case) { c.Receiver.Facts.NICs[0].Up = false }, model.Outage, "server1", 0.95, 0.8, "", []string{"eth0 of server1", "cable"}},
		{"the near interface is down", model.NoRoute, untried, func(c *Case) { c.Sender.Facts.NICs[0].Up = false }, model.Outage, "client1", 0.95, 0.8, "", []string{"eth0 of client1"}},
		{"a firewall of its own, the interface just up", model.Forbidden, untried, func(c *Case) { c.Sender.Facts.NICs[0].Up = false }, model.ConnectionRefused, "client1", 0.95, 0.8, "", []string{"client1 itself"}},
		{"nobody has the address", model.HostUnreachable, downBack, func(c *Case) { c.Receiver.Facts.NICs[0].Addrs = nil }, model.Outage, "server1", 0.8, 0.5, "", []string{"no interface of server1 has the address 10.0.0.2", "--via"}},
		{"somebody else has the address", model.Refused, untried, func(c *Case) { c.Receiver.Facts.NICs[0].Addrs = nil }, model.ConnectionRefused, "server1", 0.8, 0.5, "", []string{"--via"}},
		{"no facts", model.Unanswered, untried, func(c *Case) { c.Sender.Facts, c.Receiver.Facts = nil, nil }, model.Outage, "", 0.5, 0.3, model.ConnectionRefused, []string{"no answer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := knobs{}.build()
			c.Sender.Samples, c.Receiver.Samples = nil, nil
			if tt.edit != nil {
				tt.edit(&c)
			}
			c.OtherWay, c.Unreached = tt.back, &model.Unreached{How: tt.how, From: netip.MustParseAddr("10.0.0.1"), To: addrPort("10.0.0.2:40123"), Waited: 10 * time.Second}
			v := Judge(c)
			checkVerdict(t, c, v)
			if v.Limiter != tt.want || v.Host != tt.host || v.Confidence > tt.most || v.Confidence < tt.least {
				t.Errorf("%s at %q, %.2f: %s", v.Limiter, v.Host, v.Confidence, v.Line)
			}
			for _, s := range tt.says {
				if !strings.Contains(v.Line, s) {
					t.Errorf("%q is not in %q", s, v.Line)
				}
			}
			switch {
			case tt.alt == "" && len(v.Alternatives) > 0, tt.alt != "" && (len(v.Alternatives) != 1 || v.Alternatives[0].Limiter != tt.alt || v.Probe == nil):
				t.Errorf("alternatives %+v, probe %+v", v.Alternatives, v.Probe)
			}
		})
	}
}

// An address without a port, as when there is no route, is said without one.
func TestUnreachedWithoutAPort(t *testing.T) {
	c := knobs{}.build()
	c.Unreached = &model.Unreached{How: model.NoRoute, To: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), 0)}
	if v := Judge(c); !strings.Contains(v.Line, "no route to 10.0.0.2)") {
		t.Error(v.Line)
	}
}
