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
	// none: there is no connection when it looks; short: many came and went meanwhile.
	none, short bool
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
			s := model.Sample{HostAt: w.now, Conns: []model.Conn{w.conn(w.n)}}
			if w.none {
				s.Conns = nil
			}
			if n := int64(w.n); w.short {
				s.SNMP = map[string]int64{"Tcp.ActiveOpens": 10 * n}
				s.NICs = []model.NICCount{{Name: "eth0", RxBytes: 600_000 * n}}
			}
			out = append(out, s)
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
		watch := Watch{Agent: w, Target: Target{Name: "nas:2049", Peers: []netip.Addr{base.Remote.Addr()}}, For: time.Millisecond, Wait: time.Minute,
			Now: func() time.Time { clock = clock.Add(10 * time.Second); return clock }, Progress: func(string) {}}
		rec, err := inNoTime(t, watch.Run)
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

// Where every connection is over before it is seen, the host's counters are judged.
func TestShortConnectionsAreNotIdle(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{true, false} {
		w := &watched{now: time.Unix(1, 0), conn: func(int) model.Conn { return model.Conn{} }, short: busy, none: true}
		clock := time.Unix(1, 0)
		watch := Watch{Agent: w, Target: Target{Name: "nas", Peers: []netip.Addr{netip.MustParseAddr("10.0.0.2")}}, For: time.Millisecond, Wait: time.Second,
			Now: func() time.Time { clock = clock.Add(10 * time.Second); return clock }, Progress: func(string) {}}
		rec, err := inNoTime(t, watch.Run)
		var idle *IdleError
		if busy != (err == nil) || !busy && !errors.As(err, &idle) {
			t.Errorf("busy %v: %v", busy, err)
		}
		if busy && err == nil && (rec.Results.Verdict.Limiter != model.StartUp || rec.Results.Runs[0].Goodput == 0) {
			t.Errorf("%s", rec.Results.Verdict.Line)
		}
	}
}
