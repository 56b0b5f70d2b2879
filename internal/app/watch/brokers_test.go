package watch

import (
	"net/netip"
	"testing"

	"linerate/internal/model"
)

// What agents say to a broker on a watched host is no path's traffic, seen from either end.
func TestConnectionsToBrokersAreLeftOut(t *testing.T) {
	at := netip.MustParseAddrPort
	broker := at("10.0.0.5:4222")
	s := model.Sample{Conns: []model.Conn{{Local: at("10.0.0.5:4222"), Remote: at("10.0.0.7:40000")}, {Local: at("10.0.0.5:2049"), Remote: at("10.0.0.7:700")}, {Local: at("10.0.0.5:41000"), Remote: broker}}}
	got := without(s, []netip.AddrPort{broker})
	if len(got.Conns) != 1 || got.Conns[0].Local.Port() != 2049 || len(s.Conns) != 3 || s.Conns[0].Local != broker {
		t.Errorf("%+v of %+v", got.Conns, s.Conns)
	}
	if got := without(s, nil); len(got.Conns) != 3 {
		t.Errorf("%+v", got.Conns)
	}
}
