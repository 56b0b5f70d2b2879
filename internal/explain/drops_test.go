package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// Losses are placed at the host whose counter grew along with them, and nowhere
// when none did.
func TestLossesArePlaced(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sender bool
		count  func(c *model.NICCount, i int)
		host   string
		says   string
	}{
		{"damaged on the way in", false, func(c *model.NICCount, i int) { c.RxCRC, c.RxErrors = int64(i), int64(i) }, "server1", "cable"},
		{"no room in the ring", false, func(c *model.NICCount, i int) { c.RxDropped = int64(i) }, "server1", "ring"},
		{"dropped on the way out", true, func(c *model.NICCount, i int) { c.TxDropped = int64(i) }, "client1", "driver"},
		{"a stray drop", false, func(c *model.NICCount, i int) { c.RxDropped = int64(min(i, 1)) }, "", ""},
		{"counted before", false, func(c *model.NICCount, _ int) { c.RxDropped = 1000 }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := lossy(1e-3).build() // some 34 segments of 40 samples
			e := c.Receiver
			if tt.sender {
				e = c.Sender
			}
			for i := range e.Samples {
				n := model.NICCount{Name: "eth0"}
				tt.count(&n, i)
				e.Samples[i].NICs = []model.NICCount{n}
			}
			v := Judge(c)
			if v.Limiter != model.PathLoss || v.Host != tt.host || !strings.Contains(v.Fix.Advice, tt.says) {
				t.Errorf("at %q, %q: %s", v.Host, v.Fix.Advice, v.Line)
			}
		})
	}
}
