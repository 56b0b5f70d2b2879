package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// ofOlderKernel is the case as a kernel shows it whose tcp_info ends at length.
func ofOlderKernel(c Case, length int) Case {
	for _, e := range []**End{&c.Sender, &c.Receiver} {
		if *e == nil {
			continue
		}
		n := **e
		n.Samples = slices.Clone(n.Samples)
		for i := range n.Samples {
			conns := slices.Clone(n.Samples[i].Conns)
			for k := range conns {
				shorten(&conns[k], length)
			}
			n.Samples[i].Conns = conns
		}
		*e = &n
	}
	return c
}

func shorten(c *model.Conn, length int) {
	c.InfoLen = length
	for _, f := range []struct {
		end    int
		forget func()
	}{
		{infoAcked, func() { c.BytesAcked, c.BytesReceived = 0, 0 }},
		{infoSegs, func() { c.SegsOut, c.SegsIn = 0, 0 }},
		{infoMinRTT, func() { c.MinRTT, c.NotSent = 0, max(0, c.SendQ-int64(c.Unacked)*int64(c.SndMSS)) }},
		{infoDataSegs, func() { c.DataSegsIn, c.DataSegsOut = 0, 0 }},
		{infoRate, func() { c.DeliveryRate, c.AppLimited = 0, false }},
		{infoChrono, func() { c.Busy, c.RwndLimited, c.SndbufLimited = 0, 0, 0 }},
		{infoBytes, func() { c.BytesSent, c.BytesRetrans = 0, 0 }},
		{infoReord, func() { c.ReordSeen, c.DSACKDups = 0, 0 }},
		{infoOOO, func() { c.RcvOOO = 0 }},
		{infoSndWnd, func() { c.SndWnd = 0 }},
		{infoRcvWnd, func() { c.RcvWnd, c.TotalRTO = 0, 0 }},
	} {
		if length < f.end {
			f.forget()
		}
	}
}

// A kernel that shows less, as those of appliances do (3.10, 4.4, 4.18), makes a verdict narrower,
// never wrong and confident. What it does not fill is not known, and never zero.
func TestOlderKernels(t *testing.T) {
	views := map[string]func(Case) Case{
		"both ends": func(c Case) Case { return c },
		"sender":    func(c Case) Case { c.Receiver, c.OneEnd = nil, true; return c },
		"receiver":  func(c Case) Case { c.Sender, c.OneEnd = nil, true; return c },
	}
	for _, length := range []int{104, infoSegs, infoRate, infoChrono, infoReord, infoSndWnd} {
		for _, l := range readLabels(t) {
			for name, view := range views {
				c := view(ofOlderKernel(recorded(t, l.Name), length))
				v := Judge(c)
				checkVerdict(t, c, v)
				if name != "both ends" && strings.HasPrefix(l.Name, "mtubh_probe") && v.Limiter == model.None {
					continue // from one end alone it is a healthy stream that began late
				}
				if !l.right(v) && v.Limiter != model.Undetermined && v.Confidence >= 0.7 {
					t.Errorf("%d bytes, %s, %s: %s (%.2f) %s", length, name, l.Name, v.Limiter, v.Confidence, v.Line)
				}
			}
		}
	}
}

// A kernel that does not count what a connection moves leaves nothing to judge, and that is said, unless the
// other end counts.
func TestKernelThatCountsNoBytes(t *testing.T) {
	both := ofOlderKernel(recorded(t, "loss1.cubic"), 104)
	alone, beside := both, both
	alone.Receiver, alone.OneEnd = nil, true
	beside.Receiver = withConns(recorded(t, "loss1.cubic").Receiver, func(x *model.Conn) {
		x.BytesReceived, x.BytesAcked, x.Unacked, x.NotSent, x.RecvQ = 1000, 0, 0, 0, 0
	})
	for _, tt := range []struct {
		name   string
		c      Case
		says   string
		advice string
	}{
		{"both ends", both, "before 4.1", "newer kernel"},
		{"one end", alone, "before 4.1", "watch the other end"},
		{"beside one that counts, and counts nothing", beside, "no connection moved data", "start the transfer"},
	} {
		v := Judge(tt.c)
		if v.Limiter != model.Undetermined || v.Confidence != 0 || !strings.Contains(fmt.Sprint(v.Notes), tt.says) || !strings.Contains(v.Fix.Advice, tt.advice) {
			t.Errorf("%s: %s (%.2f): %v, %s", tt.name, v.Limiter, v.Confidence, v.Notes, v.Fix.Advice)
		}
	}
}

// The server of a client that asks for little has nothing to send, as a program that produces slowly.
func TestServerThatIsAskedForLittle(t *testing.T) {
	const name = "storage/nfs-small-transfer.severe.nfs.cubic"
	for _, length := range []int{0, infoDataSegs - 8} {
		c := recorded(t, name)
		if length > 0 {
			c = ofOlderKernel(c, length)
		}
		c.Receiver, c.OneEnd = nil, true
		v := Judge(c)
		if v.Confidence > contradictedCap || !slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == model.NFSConcurrency }) {
			t.Errorf("%d bytes: %s (%.2f) or %v", length, v.Limiter, v.Confidence, v.Alternatives)
		}
	}
}

// A slow connection that was watched for a moment has not only just begun.
func TestAMomentOfASlowConnection(t *testing.T) {
	for _, name := range []string{"loss1.cubic", "ackslow.cubic", "pingpong1400.bbr"} {
		if v := Judge(cut(recorded(t, name), 5e9, 5.5e9)); v.Limiter == model.StartUp {
			t.Errorf("%s: %s", name, v.Line)
		}
	}
}

// A short transfer on a connection that idled is one at its start, however long it once was in use.
func TestBurstOfAnIdleConnection(t *testing.T) {
	for _, tt := range []struct {
		name  string
		idle  int           // samples before it begins
		busy  time.Duration // before the recording
		start bool
	}{
		{"new", 2, 0, true},
		{"in use long ago", 2, time.Second, true},
		{"in use", 0, time.Second, false},
	} {
		c := cut(knobs{rate: 1e8}.build(), 0, time.Duration(tt.idle+3)*100*time.Millisecond)
		for i := range c.Sender.Samples {
			x, y := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			moved := 2<<20 + int64(max(0, i-tt.idle))*1250e3
			x.BytesAcked, x.BytesSent, y.BytesReceived = moved, moved, moved
			x.Busy = tt.busy + time.Duration(max(0, i-tt.idle))*100*time.Millisecond
			if i < tt.idle {
				x.Unacked, x.NotSent, x.SendQ = 0, 0, 0
			}
		}
		if v := Judge(c); (v.Limiter == model.StartUp) != tt.start {
			t.Errorf("%s: %s (%.2f) %s", tt.name, v.Limiter, v.Confidence, v.Line)
		}
	}
}
