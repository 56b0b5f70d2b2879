package measure

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// TestDoubtBefore: 953 of 941 Mbit/s were shown in 0.6 s, of which a part had waited in
// the receive queue before.
func TestDoubtBefore(t *testing.T) {
	queue := func(waiting ...int64) []model.Sample {
		var out []model.Sample
		for i, n := range waiting {
			out = append(out, model.Sample{At: time.Duration(i) * 100 * time.Millisecond, Conns: []model.Conn{{RecvQ: n}}})
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		samples []model.Sample
		warns   bool
	}{
		{"a queue that was read", queue(0, 1e6, 1e6, 100, 100, 100, 100, 100), true},
		{"one that stays", queue(0, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6), false},
		{"one that grows", queue(0, 0, 0, 0, 0, 0, 0, 1e6), false},
		{"nothing of note", queue(0, 1e4, 1e4, 0, 0, 0, 0, 0), false},
		{"no sample", nil, false},
	} {
		r := running{w: model.Workload{Receiver: "server1", Warmup: 200 * time.Millisecond}}
		r.run.Samples = map[string][]model.Sample{"server1": tc.samples}
		r.run.Bytes, r.run.Window = unit.Bytes(71_475_000), 600*time.Millisecond // 953 Mbit/s
		got := r.doubtBefore()
		if (len(got) == 1) != tc.warns {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if tc.warns && (!strings.Contains(got[0].What, "about 940 Mbit/s") || got[0].Next == "") {
			t.Errorf("%s: %s", tc.name, got[0].What)
		}
	}
}
