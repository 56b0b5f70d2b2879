package watch

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
)

// Samples that tell every connection, and sums that were counted since another time, are not compared.
func TestAlikeSamplesAreOfOneKind(t *testing.T) {
	peer := netip.MustParseAddr("10.0.0.2")
	at := func(sec int, since time.Duration) model.Sample {
		s := model.Sample{At: time.Duration(sec) * time.Second}
		if since > 0 {
			s.Totals = []model.ConnTotal{{Remote: peer, Since: since, BytesAcked: int64(sec) * 1e6}}
		}
		return s
	}
	const least = 3 * time.Second
	for _, c := range []struct {
		name       string
		all        []model.Sample
		from, to   int
		some, none bool
	}{
		{"all told", []model.Sample{at(0, 0), at(1, 0), at(5, 0)}, 0, 5, false, false},
		{"sums", []model.Sample{at(0, 7), at(5, 7)}, 0, 5, true, false},
		{"sums that have just begun", []model.Sample{at(0, 0), at(4, 0), at(5, 7), at(6, 7)}, 0, 4, false, false},
		{"sums since a while", []model.Sample{at(0, 0), at(4, 0), at(5, 7), at(8, 7)}, 5, 8, true, false},
		{"sums of another sampling", []model.Sample{at(0, 7), at(4, 7), at(5, 9), at(6, 9)}, 0, 4, true, false},
		{"nothing long enough", []model.Sample{at(4, 0), at(5, 7), at(6, 7)}, 5, 6, true, false},
		{"nothing", nil, 0, 0, false, true},
	} {
		part, some := Alike(c.all, least)
		if some != c.some || (part == nil) != c.none || part != nil && (part[0].At != time.Duration(c.from)*time.Second || part[len(part)-1].At != time.Duration(c.to)*time.Second) {
			t.Errorf("%s: %v, %+v", c.name, some, part)
		}
	}
	if s := Sums([]model.Sample{at(0, 7), at(5, 7)}, func(netip.Addr) bool { return true }); len(s) != 1 || s[0].Out != 8e6 || s[0].Peer != peer {
		t.Errorf("sums %+v", s)
	}
}

// What some connections moved accounts for what all did where the sums say so, from the moment on from which these
// are told; which idle ones are told is no matter.
func TestWhatSomeConnectionsAccountFor(t *testing.T) {
	peer, other := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	const rate, life, least = 1e6, 1 << 40, 3 * time.Second
	conn := func(to netip.Addr, port uint16, bytes float64) model.Conn {
		return model.Conn{Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port), Remote: netip.AddrPortFrom(to, 2049), Inode: uint32(port), BytesAcked: life + int64(bytes)}
	}
	// Told from a second on is one that moves rate; others are not told, and move a share of that together.
	made := func(from int, share float64) (out []model.Sample) {
		for i := range 11 {
			s := model.Sample{At: time.Duration(i) * time.Second, Conns: []model.Conn{conn(peer, uint16(7000+i/3), 0), conn(other, 1, rate*float64(i))}}
			sum := int64(rate * float64(i) * (1 + share))
			s.Totals = []model.ConnTotal{{Remote: peer, Since: 5, Conns: 3000, BytesAcked: sum}, {Remote: other, Since: 5, Conns: 900, BytesAcked: 40 * sum}}
			if i >= from {
				s.Conns = append(s.Conns, conn(peer, 9, rate*float64(i)))
			}
			out = append(out, s)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		all    []model.Sample
		begins time.Duration // below 0: nothing can be judged
		lately bool
	}{
		{"all the while", made(0, 0.005), 0, true},
		{"from the third second on", made(3, 0), 3 * time.Second, true},
		{"for too short", made(8, 0), -1, true},
		{"not told", made(11, 0), -1, false},
		{"others move data too", made(0, 0.02), -1, false},
	} {
		a := AccountOf(c.all, func(p netip.Addr) bool { return p == peer }, least)
		if a.Lately != c.lately || (a.Samples == nil) != (c.begins < 0) || a.Samples != nil && (a.Samples[0].At != c.begins || len(a.Samples) != 11-int(c.begins/time.Second)) {
			t.Errorf("%s: lately: %v, from %v", c.name, a.Lately, a.Samples)
			continue
		}
		for _, s := range a.Samples {
			if len(s.Conns) != 2 || s.Conns[1].Inode != 9 {
				t.Errorf("%s: at %v %d connections", c.name, s.At, len(s.Conns))
			}
		}
	}
	still := made(0, 0)
	for i := range still {
		still[i].Conns[2], still[i].Totals = conn(peer, 9, 0), still[0].Totals
	}
	if a := AccountOf(still, func(p netip.Addr) bool { return p == peer }, least); a.Lately || len(a.Samples) != 11 || len(a.Samples[0].Conns) != 1 {
		t.Errorf("where nothing moves: %+v", a)
	}
}
