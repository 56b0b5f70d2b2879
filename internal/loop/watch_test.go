package loop

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// watched is an end with one connection, which shows itself as conn says.
type watched struct {
	now  time.Time
	conn func(n int) model.Conn
	n    int
}

func (w *watched) Facts(context.Context) (*model.Facts, error) {
	return &model.Facts{Hostname: "client1"}, nil
}

func (w *watched) StartSampling(context.Context, measure.Watch, time.Duration) (func() ([]model.Sample, error), error) {
	return func() ([]model.Sample, error) {
		var out []model.Sample
		for range 10 {
			w.n++
			w.now = w.now.Add(sampleInterval)
			out = append(out, model.Sample{HostAt: w.now, Conns: []model.Conn{w.conn(w.n)}})
		}
		return out, nil
	}, nil
}

// A connection that is stuck is not idle: it is judged.
func TestStuckIsNotIdle(t *testing.T) {
	t.Parallel()
	base := model.Conn{Local: netip.MustParseAddrPort("10.0.0.1:40000"), Remote: netip.MustParseAddrPort("10.0.0.2:2049"), SndMSS: 8948, AdvMSS: 8948, PMTU: 9000, BytesAcked: 1}
	for _, c := range []struct {
		name string
		conn func(n int) model.Conn
		idle bool
		want model.LimiterID
	}{
		{"idle", func(int) model.Conn { return base }, true, ""},
		{"waiting for one answer", func(int) model.Conn { c := base; c.Unacked, c.Backoff = 1, 1; return c }, true, ""},
		{"a blackhole", func(n int) model.Conn {
			c := base
			c.Unacked, c.Backoff, c.NotSent = 10, uint8(2+n/10), 1<<20
			c.BytesSent, c.BytesRetrans = int64(89480+8948*(n/5)), int64(8948*(n/5))
			c.TotalRetrans = n / 5
			return c
		}, false, model.MTUBlackhole},
	} {
		w := &watched{now: time.Unix(1, 0), conn: c.conn}
		clock := time.Unix(1, 0)
		watch := Watch{Agent: w, Target: Target{Name: "nas:2049", Peers: []netip.Addr{base.Remote.Addr()}}, For: time.Millisecond, Patience: time.Minute,
			Now: func() time.Time { clock = clock.Add(10 * time.Second); return clock }, Progress: func(string) {}}
		rec, err := watch.Run(context.Background())
		var idle *IdleError
		if errors.As(err, &idle) != c.idle || err != nil && !c.idle {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !c.idle && rec.Results.Verdict.Limiter != c.want {
			t.Errorf("%s: named %s, want %s", c.name, rec.Results.Verdict.Limiter, c.want)
		}
	}
}
