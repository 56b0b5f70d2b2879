package watch

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
)

// moved is a window of ten seconds of one connection whose rate is a function of the time.
func moved(rate func(t time.Duration) float64) []model.Sample {
	var out []model.Sample
	sum := 0.0
	for t := time.Duration(0); t <= 10*time.Second; t += 100 * time.Millisecond {
		sum += rate(t) / 10
		out = append(out, model.Sample{At: t, Conns: []model.Conn{{Local: netip.MustParseAddrPort("10.0.0.1:1"), Remote: netip.MustParseAddrPort("10.0.0.2:2"), Inode: 7, BytesAcked: int64(sum)}}})
	}
	return out
}

func TestTurn(t *testing.T) {
	noise := func(t time.Duration) float64 { return 1 + 0.1*float64((t.Milliseconds()/100*7919)%13-6)/6 }
	step := func(at time.Duration, before, after float64) func(time.Duration) float64 {
		return func(t time.Duration) float64 {
			if t < at {
				return before * noise(t)
			}
			return after * noise(t)
		}
	}
	for name, c := range map[string]struct {
		rate func(time.Duration) float64
		want time.Duration // 0: none
	}{
		"even":              {step(0, 1e8, 1e8), 0},
		"nothing":           {step(0, 0, 0), 0},
		"fell":              {step(5*time.Second, 1e8, 5e7), 5 * time.Second},
		"rose":              {step(4*time.Second, 1e7, 1e8), 4 * time.Second},
		"stopped":           {step(6*time.Second, 1e8, 0), 6 * time.Second},
		"a little less":     {step(5*time.Second, 1e8, 9e7), 0},
		"two seconds ago":   {step(8*time.Second, 1e8, 1e7), 0},
		"just at the start": {step(time.Second, 1e8, 1e7), 0},
		"in bursts": {func(t time.Duration) float64 {
			if t.Milliseconds()/1000%2 == 0 {
				return 1e8
			}
			return 0
		}, 0},
		"with a dip": {func(t time.Duration) float64 {
			if t > 5*time.Second && t < 6*time.Second {
				return 1e6
			}
			return 1e8 * noise(t)
		}, 0},
	} {
		at, ok := Turn(moved(c.rate), func(netip.Addr) bool { return true })
		if ok != (c.want > 0) || ok && (at-c.want).Abs() > turnBin {
			t.Errorf("%s: %v %v, want %v", name, at, ok, c.want)
		}
	}
	s := moved(step(5*time.Second, 1e8, 5e7))
	if _, ok := Turn(s, func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.3") }); ok {
		t.Error("another peer's turn")
	}
	if got := After(s, 5*time.Second); len(got) != 51 || got[0].At != 5*time.Second || After(s, time.Minute) != nil {
		t.Errorf("%d samples", len(got))
	}
	if _, ok := Turn(nil, nil); ok {
		t.Error("of nothing")
	}
}

// carrying is a window of ten seconds of connections, by port: from when, until when, and how much each
// moved a second.
func carrying(conns map[uint16][3]float64) (out []model.Sample) {
	for t := 0.0; t < 10.05; t += 0.1 {
		s := model.Sample{At: time.Duration(t*1000) * time.Millisecond}
		for port, c := range conns {
			if t >= c[0] && t <= c[1] {
				s.Conns = append(s.Conns, model.Conn{Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port),
					Remote: netip.MustParseAddrPort("10.0.0.2:2"), Inode: uint32(port), BytesAcked: int64(c[2] * (t - c[0]))})
			}
		}
		out = append(out, s)
	}
	return out
}

func TestOtherConnectionsBegin(t *testing.T) {
	for name, c := range map[string]struct {
		conns map[uint16][3]float64
		want  time.Duration // 0: none
	}{
		"one":                            {map[uint16][3]float64{1: {0, 10, 1e8}}, 0},
		"one after another":              {map[uint16][3]float64{1: {0, 4, 1e8}, 2: {4.5, 10, 9e7}}, 4500 * time.Millisecond},
		"four after four":                {map[uint16][3]float64{1: {0, 4, 1e8}, 2: {0, 4, 1e8}, 3: {5, 10, 9e7}, 4: {5.2, 10, 9e7}}, 5 * time.Second},
		"too lately":                     {map[uint16][3]float64{1: {0, 7, 1e8}, 2: {8, 10, 9e7}}, 0},
		"one besides":                    {map[uint16][3]float64{1: {0, 10, 1e8}, 2: {4.5, 10, 9e7}}, 0},
		"one that goes on for long":      {map[uint16][3]float64{1: {0, 6, 1e8}, 2: {4, 10, 9e7}}, 0},
		"the first":                      {map[uint16][3]float64{2: {4.5, 10, 9e7}}, 0},
		"a control connection all along": {map[uint16][3]float64{1: {0, 4, 1e8}, 2: {4.5, 10, 9e7}, 3: {0, 10, 1e4}}, 4500 * time.Millisecond},
		"one that waited":                {map[uint16][3]float64{1: {0, 10, 0}, 2: {4.5, 10, 9e7}}, 0},
		"a pool, used in turns":          {map[uint16][3]float64{1: {0, 10, 1e8}, 2: {0, 10, 1e8}}, 0},
	} {
		at, ok := Begun(carrying(c.conns), func(netip.Addr) bool { return true })
		if ok != (c.want > 0) || ok && (at-c.want).Abs() > 150*time.Millisecond {
			t.Errorf("%s: %v %v, want %v", name, at, ok, c.want)
		}
		turn, turned := Turn(carrying(c.conns), func(netip.Addr) bool { return true })
		if ok && (!turned || turn < at) {
			t.Errorf("%s: the window turns at %v (%v)", name, turn, turned)
		}
	}
	s := carrying(map[uint16][3]float64{1: {0, 4, 1e8}, 2: {4.5, 10, 9e7}})
	if _, ok := Begun(s, func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.3") }); ok {
		t.Error("another peer's connections")
	}
	s[20].Partial = true
	if _, ok := Begun(s, func(netip.Addr) bool { return true }); ok {
		t.Error("samples that tell of connections in turns show no beginning")
	}
}
