package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// More of a send buffer than usual may be payload. What is foretold with that stays within what the
// receiver's buffer, which is computed too, lets through.
func TestGainStaysBelowBothBuffers(t *testing.T) {
	const rtt, receive = 40 * time.Millisecond, 5200000
	set := map[string]string{wmemSetting: "4096 16384 4194304", rmemSetting: "4096 131072 5200000"}
	s := look(knobs{rate: 1e8, line: 10e9, rtt: rtt, minRTT: rtt, settings: set}.build()).scenes[0]
	g := gainFor(s, &finding{id: model.PathLoss}, model.Fix{Kind: model.FixSetting, Setting: "x"})
	most := s.windowShare() * receive * 8 / rtt.Seconds()
	if g == nil || float64(g.High) > 1.001*most || g.Low >= g.High {
		t.Fatalf("%+v, and the receiver lets %.4g bit/s through", g, most)
	}
}
