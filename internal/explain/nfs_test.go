package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// mounted makes the client of a slow NFS mount that reads: ops a second, and
// the three times of a call.
func mounted(perSecond int64, queue, rtt, life time.Duration) Case {
	c := Watched(knobs{rate: float64(perSecond) * 262144 * 8, rtt: 10 * time.Millisecond}.build().Receiver, model.Known(bitRate(1e9)))
	for i := range c.Receiver.Samples {
		n := perSecond * int64(i) / 10
		op := model.NFSOp{Ops: n, BytesRecv: n * 262144, BytesSent: n * 200, Queue: queue * time.Duration(n), RTT: rtt * time.Duration(n), Execute: life * time.Duration(n)}
		c.Receiver.Samples[i].NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"READ": op}, MaxSlots: 64}
	}
	return c
}

func TestNFS(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    Case
		want model.LimiterID
	}{
		{"one call at a time, each a round trip", mounted(60, 0, 13*time.Millisecond, 13*time.Millisecond), model.NFSConcurrency},
		{"calls wait for a slot", mounted(100, 30*time.Millisecond, 13*time.Millisecond, 44*time.Millisecond), model.NFSConcurrency},
		{"the server takes its time", mounted(20, 0, 50*time.Millisecond, 50*time.Millisecond), model.ServerTime},
		{"too few calls", mounted(1, 0, 50*time.Millisecond, 50*time.Millisecond), model.Undetermined},
		{"the link is full", mounted(440, 0, 50*time.Millisecond, 50*time.Millisecond), model.None},
	} {
		v := Judge(tc.c)
		if v.Limiter != tc.want {
			t.Errorf("%s: got %s: %s", tc.name, v.Limiter, v.Line)
		}
		if v.Confidence > 0.7 && v.Limiter != model.None {
			t.Errorf("%s: one end seen, yet %.2f", tc.name, v.Confidence)
		}
		checkVerdict(t, tc.c, v)
	}
}
