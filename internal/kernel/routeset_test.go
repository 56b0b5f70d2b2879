package kernel

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"reflect"
	"testing"
)

// message builds the payload of RTM_NEWROUTE: 10.0.0.0/24 in the main table.
func message(attrs ...[]byte) []byte {
	b := []byte{2, 24, 0, 0, tableMain, 4, 0, 1, 0, 0, 0, 0}
	b = append(b, attr(rtaDst, []byte{10, 0, 0, 0})...)
	for _, a := range attrs {
		b = append(b, a...)
	}
	return b
}

// A route comes back as it was but for the metrics: also what linerate does not
// know of.
func TestRouteKeepsWhatItDoesNotKnow(t *testing.T) {
	unknown, congctl := attr(99, []byte{1, 2, 3}), attr(metricCongCtl, []byte("reno\x00"))
	metrics := bytes.Join([][]byte{attr(1, word(1<<2|1<<5)), attr(2, word(1400)), attr(4, word(77)), attr(11, word(20)), congctl}, nil)
	b := message(attr(5, []byte{10, 0, 1, 1}), attr(4, word(3)), attr(rtaMetrics|1<<15, metrics), attr(rtaPriority, word(100)), unknown)
	r, err := parseRouteMsg(b)
	if err != nil || !r.main || r.key != (RouteKey{netip.MustParsePrefix("10.0.0.0/24"), 100}) || r.passing {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.m.CongCtl != "reno" || !r.m.MTULock || !reflect.DeepEqual(r.m.Numbers, map[string]uint32{"mtu": 1400, "initcwnd": 20}) {
		t.Errorf("%+v", r.m)
	}
	same, err := parseRouteMsg(r.with(r.m))
	if err != nil || !reflect.DeepEqual(same.m, r.m) || !bytes.Contains(r.with(r.m), unknown) || !bytes.Contains(r.with(r.m), attr(5, []byte{10, 0, 1, 1})) {
		t.Errorf("%+v, %v", same, err)
	}
	m := r.m
	m.Numbers, m.MTULock, m.CongCtl = map[string]uint32{"initrwnd": 30}, false, ""
	changed, err := parseRouteMsg(r.with(m))
	if err != nil || !reflect.DeepEqual(changed.m, m) {
		t.Errorf("%+v, %v, want %+v", changed.m, err, m)
	}
	if got := changed.m.rest; !bytes.Equal(got[4], word(77)) || !bytes.Equal(got[1], word(1<<5)) {
		t.Errorf("the rest became %v", got)
	}
}

func TestRoutesThatAreNotTouched(t *testing.T) {
	cloned := message()
	binary.NativeEndian.PutUint32(cloned[8:], routeCloned)
	for name, b := range map[string][]byte{"another table": message(attr(rtaTable, word(100))), "learned": cloned} {
		if r, err := parseRouteMsg(b); err != nil || r.main {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r, err := parseRouteMsg(message(attr(rtaCacheinfo, append(make([]byte, 8), word(1800)...)))); err != nil || !r.passing {
		t.Errorf("advertised: %+v, %v", r, err)
	}
}

func FuzzParseRouteMsg(f *testing.F) {
	f.Add(message(attr(rtaMetrics, attr(2, word(1400)))))
	f.Add([]byte{10, 64, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRouteMsg(b)
		if err != nil {
			return
		}
		again, err := parseRouteMsg(r.with(r.m))
		if err != nil || again.key != r.key || !reflect.DeepEqual(again.m.Numbers, r.m.Numbers) || again.m.CongCtl != r.m.CongCtl {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

// Whatever the bytes, they are read or refused; what is read can be built again.
func FuzzParseMetrics(f *testing.F) {
	f.Add(attr(2, []byte{1, 2, 3, 4}))
	f.Add(attr(metricCongCtl, []byte("bbr\x00")))
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMetrics(b)
		if err != nil {
			return
		}
		if _, err := parseMetrics(m.build()); err != nil {
			t.Errorf("what was built is not read: %v", err)
		}
	})
}
