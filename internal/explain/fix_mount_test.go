package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestMoreAhead(t *testing.T) {
	ceiling := unit.Gbit
	v := model.Verdict{Limiter: model.NFSConcurrency, Host: "client1", Measured: 100 * unit.Mbit, Ceiling: &ceiling, Fix: operator("client1", "have more under way"),
		Causes: []model.Cause{{Limiter: model.NFSConcurrency}}}
	ground := func(ahead unit.Bytes, slots int64, rtt time.Duration) Ground {
		return Ground{RTT: rtt, Receiver: &End{Host: "client1"}, File: &FileGround{
			Mount: model.Mount{Type: "nfs4", Point: "/mnt/nas", Options: map[string]string{"rsize": "1048576"}}, ReadAhead: ahead, Slots: slots}}
	}
	for _, c := range []struct {
		name string
		g    Ground
		from string
		to   string // empty: it stays the operator's
	}{
		{"a path of 10 ms", ground(128*unit.KiB, 64, 10*time.Millisecond), "128", "2048"}, // 1.25 MB in a round trip
		{"a short one", ground(16*unit.KiB, 64, 200*time.Microsecond), "16", "64"},
		{"a long one", ground(128*unit.KiB, 1000, 200*time.Millisecond), "128", "16384"},
		{"slots that carry no more", ground(128*unit.KiB, 1, 100*time.Millisecond), "", ""},
		{"large already", ground(16*unit.MiB, 64, 10*time.Millisecond), "", ""},
		{"not known", ground(0, 64, 10*time.Millisecond), "", ""},
	} {
		got := moreAhead(v, c.g)
		x := got.Fix
		if c.to == "" {
			if x.Kind != model.FixOperator {
				t.Errorf("%s: %+v", c.name, x)
			}
			continue
		}
		if x.Kind != model.FixSetting || x.Setting != readAheadSetting || x.Target != "mount:/mnt/nas" || x.Host != "client1" || x.From != c.from || x.To != c.to || got.Causes[0].Fix != x {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
	v.Limiter = model.ServerTime
	if x := moreAhead(v, ground(128*unit.KiB, 64, 10*time.Millisecond)).Fix; x.Kind != model.FixOperator {
		t.Errorf("a slow server: %+v", x)
	}
}
