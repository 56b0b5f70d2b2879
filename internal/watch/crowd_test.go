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
