package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// Segments that are made small do not lower the ceiling that they are judged by, and
// who made them small follows from what the ends advertised.
func TestSmallSegments(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		sent, asked, own     int // by the sender, advertised by the receiver, and by the sender
		pmtu                 int
		rate                 float64
		unseen               bool
		want                 model.LimiterID
		host, advice, notice string
	}{
		{"a clamp on the way", 524, 1448, 1448, 1500, 0.84e9, false, model.SmallSegments, "", "nft maxseg", "made small on the way"},
		{"the receiver asks for them", 524, 524, 1448, 1500, 0.84e9, false, model.SmallSegments, "server1", "receiving end asks", "itself advertised"},
		{"the sender's own", 524, 1448, 524, 1500, 0.84e9, false, model.SmallSegments, "client1", "sending end makes", "goes by"},
		{"a router's word", 524, 1448, 1448, 576, 0.84e9, false, model.SmallSegments, "", "tracepath", "path MTU of 576"},
		{"the receiver not seen", 524, 0, 1448, 1500, 0.84e9, true, model.SmallSegments, "", "receiving end", ""},
		{"a tunnel takes a little", 1388, 1448, 1448, 1440, 0.93e9, false, model.None, "", "", ""},
		{"as large as can be", 1448, 1448, 1448, 1500, 0.93e9, false, model.None, "", "", ""},
		{"small, and the path is not full", 524, 1448, 1448, 1500, 0.4e9, false, model.LinkRate, "", "", ""},
	} {
		c := knobs{rate: tt.rate}.build()
		for i := range c.Sender.Samples {
			x, y := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			x.SndMSS, x.AdvMSS, x.PMTU, y.AdvMSS = tt.sent, tt.own, tt.pmtu, tt.asked
		}
		if tt.unseen {
			c.Receiver = nil
		}
		v := Judge(c)
		if v.Limiter != tt.want || v.Host != tt.host || !strings.Contains(v.Fix.Advice, tt.advice) || len(v.Contradictions) > 0 {
			t.Errorf("%s: %s at %q, %v: %s", tt.name, v.Limiter, v.Host, v.Contradictions, v.Line)
			continue
		}
		all := ""
		for _, e := range v.Evidence {
			all += e.What + "; "
		}
		if !strings.Contains(all, tt.notice) {
			t.Errorf("%s: %s", tt.name, all)
		}
		if tt.want == model.SmallSegments {
			if g := v.ExpectedGain; g == nil || g.High < 0.93e9 || *v.Ceiling < 0.94e9 || tt.unseen && v.Confidence > 0.65 {
				t.Errorf("%s: %.2f, gain %+v, ceiling %v", tt.name, v.Confidence, g, v.Ceiling)
			}
		}
		if tt.want == model.LinkRate && !hasCause(v, model.SmallSegments) {
			t.Errorf("%s: %v", tt.name, v.Causes)
		}
	}
}

func hasCause(v model.Verdict, id model.LimiterID) bool {
	for _, c := range v.Causes {
		if c.Limiter == id {
			return true
		}
	}
	return false
}
