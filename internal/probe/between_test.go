package probe

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// wire is a path that carries packets up to a size each way, and loses some.
type wire struct {
	carries [2]int // by sender
	mtu     [2]int // of the senders' interfaces
	blocked [2]bool
	told    [2]int
	lose    func(n int) bool // datagram number n of all
	sent    int
	heard   [2]map[uint32]*Heard
	open    [2]bool
	refuse  error
	// routers are between the ends, seen from end 0; those in mute answer nothing. Packets above
	// carries vanish behind narrow of them, counted from the sender.
	routers []netip.Addr
	mute    map[netip.Addr]bool
	narrow  [2]int
}

// expire is a batch that ends at a router.
func (w *wire) expire(i int, b Batch) netip.Addr {
	way := slices.Clone(w.routers)
	if i == 1 {
		slices.Reverse(way)
	}
	at := way[b.TTL-1]
	if w.mute[at] || b.Sizes[0] > w.carries[i] && b.TTL > w.narrow[i] {
		return netip.Addr{}
	}
	return at
}

// end is one side of it.
type end struct {
	w *wire
	i int
}

func (e end) ProbeOpen(context.Context, Spec) (int, uint16, error) {
	if e.w.refuse != nil && e.i == 1 {
		return 0, 0, e.w.refuse
	}
	e.w.open[e.i], e.w.heard[e.i] = true, map[uint32]*Heard{}
	return 7, uint16(100 + e.i), nil
}

func (e end) ProbeSend(_ context.Context, id int, b Batch) (Sent, error) {
	s := Sent{Told: e.w.told[e.i]}
	if id != 7 || int(b.Port) != 100+1-e.i || !e.w.open[e.i] {
		return s, errors.New("another socket")
	}
	if b.TTL > 0 {
		s.Datagrams, s.Expired = len(b.Sizes), e.w.expire(e.i, b)
		return s, nil
	}
	far := e.w.heard[1-e.i]
	for _, size := range b.Sizes {
		if size > e.w.mtu[e.i] {
			s.TooBig = e.w.mtu[e.i]
			continue
		}
		s.Datagrams++
		s.Bytes += max(size, 68)
		e.w.sent++
		if e.w.blocked[e.i] || size > e.w.carries[e.i] || e.w.lose != nil && e.w.lose(e.w.sent) {
			continue
		}
		if far[b.Round] == nil {
			far[b.Round] = &Heard{Sizes: map[int]int{}, Arrive: []string{"eth1"}, TTL: hopLimit - len(e.w.routers)}
		}
		if size == 0 {
			far[b.Round].Marks++
		} else {
			far[b.Round].Sizes[size]++
		}
	}
	return s, nil
}

func (e end) ProbeAwait(_ context.Context, _ int, w Await) (Heard, error) {
	if h := e.w.heard[e.i][w.Round]; h != nil {
		return *h, nil
	}
	return Heard{}, nil
}

func (e end) ProbeEcho(_ context.Context, _ int, q Echo) (model.RTT, error) {
	return model.RTT{Min: time.Millisecond, N: q.N, Sent: q.N}, nil
}

func (e end) ProbeClose(context.Context, int) error { e.w.open[e.i] = false; return nil }

func (e end) LookToward(context.Context, netip.Addr, netip.Addr) (Toward, error) {
	return Toward{Leaving: model.Leaving{Interface: "eth1", MTU: max(e.w.mtu[e.i], 9000)}}, nil
}

func probeWire(t *testing.T, w *wire) (Result, error) {
	t.Helper()
	r, err := Between(t.Context(), Side{"a", end{w, 0}, netip.MustParseAddr("10.0.0.1")}, Side{"b", end{w, 1}, netip.MustParseAddr("10.0.0.2")}, strings.Repeat("ab", 16))
	if w.open != [2]bool{} {
		t.Error("a socket was left open")
	}
	return r, err
}

func TestBetweenFindsThePathMTU(t *testing.T) {
	every := func(k int) func(int) bool { return func(n int) bool { return n%k == 0 } }
	for name, c := range map[string]struct {
		w          wire
		ab, ba     int
		tried, say int
	}{
		"whole":               {wire{carries: [2]int{9000, 9000}, mtu: [2]int{9000, 9000}}, 9000, 9000, 9000, 0},
		"black hole":          {wire{carries: [2]int{1500, 8955}, mtu: [2]int{9000, 9000}}, 1500, 8955, 9000, 0},
		"one byte short":      {wire{carries: [2]int{8999, 9000}, mtu: [2]int{9000, 9000}}, 8999, 9000, 9000, 0},
		"just the smallest":   {wire{carries: [2]int{576, 577}, mtu: [2]int{9000, 9000}}, 576, 577, 9000, 0},
		"less than smallest":  {wire{carries: [2]int{400, 9000}, mtu: [2]int{9000, 9000}}, 0, 9000, 9000, 0},
		"interface is below":  {wire{carries: [2]int{9000, 9000}, mtu: [2]int{1480, 9000}}, 1480, 9000, 1480, 0},
		"ICMP told":           {wire{carries: [2]int{1400, 9000}, mtu: [2]int{9000, 9000}, told: [2]int{1400, 0}}, 1400, 9000, 9000, 1400},
		"a tenth is lost":     {wire{carries: [2]int{9000, 1500}, mtu: [2]int{9000, 9000}, lose: every(10)}, 9000, 1500, 9000, 0},
		"every third is lost": {wire{carries: [2]int{4000, 1500}, mtu: [2]int{9000, 9000}, lose: every(3)}, 4000, 1500, 9000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := probeWire(t, &c.w)
			if err != nil {
				t.Fatal(err)
			}
			if r.AToB.PathMTU.Value != c.ab || r.BToA.PathMTU.Value != c.ba || (r.AToB.PathMTU.State == model.Present) != (c.ab > 0) {
				t.Errorf("%+v there, %+v back; want %d and %d", r.AToB.PathMTU, r.BToA.PathMTU, c.ab, c.ba)
			}
			if r.AToB.Tried != c.tried || r.AToB.Told != c.say || r.RTT.Value.N != asks || r.A.Value.Leaving.Interface != "eth1" {
				t.Errorf("%+v", r)
			}
			if r.Load.Datagrams < c.w.sent || r.Load.Datagrams > 450 || r.Load.Bytes > 1<<21 {
				t.Errorf("load: %+v of %d", r.Load, c.w.sent)
			}
		})
	}
}

func TestBetweenOneWay(t *testing.T) {
	r, err := probeWire(t, &wire{carries: [2]int{9000, 9000}, mtu: [2]int{9000, 9000}, blocked: [2]bool{true, false}})
	if through, ok := r.AToB.Through.Get(); err != nil || through || !ok || !r.BToA.Through.Value {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.AToB.PathMTU.State == model.Present || r.BToA.PathMTU.Value != 9000 || r.RTT.State == model.Present {
		t.Errorf("%+v", r)
	}
}

func TestBetweenSaysWhatFailed(t *testing.T) {
	if _, err := probeWire(t, &wire{refuse: errors.New("too many")}); err == nil || !strings.Contains(err.Error(), "probe between a and b: too many") {
		t.Error(err)
	}
	first := true
	dies := &wire{carries: [2]int{9000, 9000}, mtu: [2]int{9000, 9000}, lose: func(n int) bool { first = first && n < 12; return !first }}
	if _, err := probeWire(t, dies); err == nil || !strings.Contains(err.Error(), "stopped arriving") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	token := [tokenLen]byte{1, 2, 3}
	good := make([]byte, payloadLen+10)
	message{kind: kindReply, round: 3, number: 9, turn: time.Millisecond}.put(good, token)
	f.Add(good)
	f.Add([]byte("LRP1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parse(b, token)
		if !ok {
			return
		}
		again := make([]byte, payloadLen)
		m.put(again, token)
		if back, ok := parse(again, token); !ok || back != m {
			t.Errorf("%+v became %+v", m, back)
		}
	})
}

// The routers of a way are counted and named, and the stretch where larger packets vanish lies
// between those that tell.
func TestRoutersAndWhereTheMTUFalls(t *testing.T) {
	r1, r2, r3 := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.2.0.1"), netip.MustParseAddr("10.3.0.1")
	for name, c := range map[string]struct {
		narrow int
		mute   map[netip.Addr]bool
		want   model.Fall
	}{
		"before the first":       {0, nil, model.Fall{Before: r1}},
		"between two":            {1, nil, model.Fall{After: r1, Before: r2}},
		"behind the last":        {3, nil, model.Fall{After: r3}},
		"beside a silent one":    {1, map[netip.Addr]bool{r2: true}, model.Fall{After: r1, Before: r3}},
		"none of them says much": {1, map[netip.Addr]bool{r1: true, r2: true, r3: true}, model.Fall{}},
	} {
		w := &wire{carries: [2]int{1500, 9000}, mtu: [2]int{9000, 9000}, routers: []netip.Addr{r1, r2, r3}, mute: c.mute, narrow: [2]int{c.narrow, 3}}
		r, err := probeWire(t, w)
		if err != nil {
			t.Fatal(name, err)
		}
		if hops, ok := r.AToB.Hops.Get(); !ok || hops != 3 || (r.AToB.Fall == nil) != (c.want == model.Fall{}) || r.AToB.Fall != nil && *r.AToB.Fall != c.want || r.AToB.PathMTU.Value != 1500 {
			t.Errorf("%s: %+v, fall %+v, want %+v", name, r.AToB, r.AToB.Fall, c.want)
		}
		if r.BToA.Fall != nil || c.mute == nil && !slices.Equal(r.BToA.Routers, []netip.Addr{r3, r2, r1}) {
			t.Errorf("%s: back %+v", name, r.BToA)
		}
	}
	r, err := probeWire(t, &wire{carries: [2]int{1500, 1500}, mtu: [2]int{9000, 9000}})
	if hops, ok := r.AToB.Hops.Get(); err != nil || !ok || hops != 0 || r.AToB.Fall != nil || r.AToB.Routers != nil {
		t.Errorf("no router: %+v, %v", r.AToB, err)
	}
}
