package explain

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
)

// joined is one connection that fares as in a until at, and then as in b from its third second on.
func joined(a, b Case, at time.Duration) Case {
	a.Sender, a.Receiver = joinedEnd(*a.Sender, b.Sender, at), joinedEnd(*a.Receiver, b.Receiver, at)
	return cut(a, 0, 8*time.Second)
}

func joinedEnd(a End, b *End, at time.Duration) *End {
	a.Samples = slices.DeleteFunc(slices.Clone(a.Samples), func(s model.Sample) bool { return s.At >= at })
	end := a.Samples[len(a.Samples)-1]
	var zero *model.Sample
	for _, s := range b.Samples {
		switch {
		case s.At < 3*time.Second || len(s.Conns) == 0:
		case zero == nil:
			zero = &s
		default:
			c := goneOn(s.Conns[0], zero.Conns[0], end.Conns[0])
			a.Samples = append(a.Samples, model.Sample{At: s.At - zero.At + end.At, Conns: []model.Conn{c}})
		}
	}
	return &a
}

// goneOn is c of another connection, whose counters begin at zero, as if it went on from last.
func goneOn(c, zero, last model.Conn) model.Conn {
	v := reflect.ValueOf(&c).Elem()
	for _, name := range []string{"TotalRetrans", "ReordSeen", "DSACKDups", "BytesAcked", "BytesReceived", "BytesSent", "BytesRetrans", "SegsOut", "SegsIn", "DataSegsOut", "DataSegsIn", "Delivered", "Busy", "RwndLimited", "SndbufLimited", "RcvOOO", "TotalRTO", "SockDrops"} {
		f := v.FieldByName(name)
		f.SetInt(f.Int() - reflect.ValueOf(zero).FieldByName(name).Int() + reflect.ValueOf(last).FieldByName(name).Int())
	}
	c.Local, c.Remote, c.Inode, c.MinRTT = last.Local, last.Remote, last.Inode, min(c.MinRTT, last.MinRTT)
	return c
}

// twice is the case with a second connection like the first, on a line twice as fast.
func twice(c Case) Case {
	for _, e := range []**End{&c.Sender, &c.Receiver} {
		n := **e
		n.Samples = slices.Clone(n.Samples)
		for i, s := range n.Samples {
			conns := slices.Clone(s.Conns)
			for _, x := range s.Conns {
				x.Local, x.Remote = netip.AddrPortFrom(x.Local.Addr(), x.Local.Port()+1), netip.AddrPortFrom(x.Remote.Addr(), x.Remote.Port()+1)
				x.Inode++
				conns = append(conns, x)
			}
			n.Samples[i].Conns = conns
		}
		*e = &n
	}
	c.LineRate.Value *= 2
	return c
}

// Causes that take turns: a verdict that goes by means over the run may not be sure of what neither is,
// nor of what costs nothing when it is alone.
func TestCausesInTurns(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		right         []model.LimiterID
	}{
		{"reord0.1_8ms.cubic", "link500bloat.cubic", []model.LimiterID{model.LinkRate}},
		{"reord0.1_8ms.cubic", "rmem256.cubic", []model.LimiterID{model.ReceiverWindow}},
		{"rxapp300.cubic", "reord0.1_8ms.cubic", []model.LimiterID{model.ApplicationSink}},
		{"wmem256.cubic", "lowat16k.cubic", []model.LimiterID{model.SendBuffer}},
		{"healthy.cubic", "rmem256.cubic", []model.LimiterID{model.ReceiverWindow}},
		{"loss0.1.cubic", "rmem256.cubic", []model.LimiterID{model.ReceiverWindow, model.PathLoss}},
	} {
		for _, at := range []time.Duration{4500 * time.Millisecond, 5 * time.Second, 5500 * time.Millisecond, 6 * time.Second} {
			one := joined(recorded(t, tt.before), recorded(t, tt.after), at)
			for _, c := range []Case{one, twice(one)} {
				v := Judge(c)
				t.Logf("%s, from %v on %s: %s (%.2f)", tt.before, at, tt.after, v.Limiter, v.Confidence)
				if !slices.Contains(tt.right, v.Limiter) && v.Limiter != model.None && v.Confidence > unevenCap {
					t.Errorf("%s, from %v on %s: %s (%.2f) %s", tt.before, at, tt.after, v.Limiter, v.Confidence, v.Line)
				}
			}
		}
	}
}

// Where the confidence is lowered because the path is full at times, or because the limiter is not seen
// at times, the evidence says when, and no alternative is "none".
func TestPartsSayWhyTheyDoubt(t *testing.T) {
	told := map[string]int{}
	for _, names := range [][2]string{
		{"ackslow.cubic", "sackoff.bbr"}, {"link500bloat.bbr", "sackoff.bbr"}, {"loss1.cubic", "smallq50.bbr"},
		{"lowat16k.bbr", "mtubh_probe.bbr"}, {"sndbuf256.cubic", "sackoff.bbr"}, {"wmem256.bbr", "sackoff.bbr"},
	} {
		seen := look(joined(recorded(t, names[0]), recorded(t, names[1]), 4*time.Second))
		v := elect(seen.scenes)
		was, n := v.Confidence, len(v.Evidence)
		if seen.weighParts(&v); v.Confidence == was {
			t.Errorf("%v: still %.2f", names, was)
		}
		if len(v.Evidence) == n {
			t.Errorf("%v: %s %.2f, was %.2f, and nothing says why", names, v.Limiter, v.Confidence, was)
		}
		for _, e := range v.Evidence[n:] {
			told[e.Metric]++
			t.Logf("%v: %s: %s", names, v.Limiter, e.What)
		}
		for _, a := range v.Alternatives {
			if claimsNothing(a.Limiter) {
				t.Errorf("%v: alternative %s", names, a.Limiter)
			}
		}
	}
	if told["full_in_part"] == 0 || told["unseen_in_part"] == 0 {
		t.Errorf("told of %v", told)
	}
}

// A cause that is there all the time is as sure as before.
func TestPartsOfOneCauseAgree(t *testing.T) {
	for _, name := range []string{"rmem256.cubic", "link500.cubic", "wmem256.cubic", "rxapp300.cubic", "txapp300.cubic", "maxpacing500.cubic", "loss1.cubic"} {
		c := recorded(t, name)
		seen := look(c)
		v := elect(seen.scenes)
		was := v.Confidence
		if seen.weighParts(&v); v.Confidence != was {
			t.Errorf("%s: %.2f, was %.2f", name, v.Confidence, was)
		}
	}
}
