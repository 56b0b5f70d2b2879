package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// A full path is not at its best where one end sends smaller packets than the
// other is set up for.
func TestSmallMTUOnAFullPath(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sender, other int
		mss           int
		rate          float64
		want          model.LimiterID
		host          string
	}{
		{"one end small", 9000, 1500, 1448, 0.93e9, model.PacketCost, "server1"},
		{"the sender small", 576, 9000, 524, 0.83e9, model.PacketCost, "client1"},
		{"a little smaller", 9000, 8000, 7948, 0.96e9, model.None, ""},
		{"alike", 1500, 1500, 1448, 0.93e9, model.None, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := knobs{rate: tt.rate}.build()
			c.Sender.Facts.NICs[0].MTU, c.Receiver.Facts.NICs[0].MTU = tt.sender, tt.other
			for i := range c.Sender.Samples {
				x := &c.Sender.Samples[i].Conns[0]
				x.SndMSS, x.AdvMSS = tt.mss, tt.mss
			}
			v := Judge(c)
			if v.Limiter != tt.want || v.Host != tt.host {
				t.Fatalf("%s at %q: %s", v.Limiter, v.Host, v.Line)
			}
			if tt.want == model.None {
				return
			}
			if v.Fix.Kind != model.FixOperator || !strings.Contains(v.Fix.Advice, "MTU") || v.ExpectedGain == nil || v.ExpectedGain.High <= *v.Ceiling {
				t.Errorf("fix %+v, gain %+v", v.Fix, v.ExpectedGain)
			}
		})
	}
}
