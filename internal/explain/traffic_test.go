package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// besides adds traffic of others to the receiver's port, bit/s.
func besides(c Case, rate float64) Case {
	for i := range c.Receiver.Samples {
		s := &c.Receiver.Samples[i]
		for k := range s.NICs {
			s.NICs[k].RxBytes += int64(rate / 8 * s.At.Seconds())
		}
	}
	return c
}

// Traffic of others fills a link and loses packets of ours: neither the link nor losses
// of the path are named with confidence beside it.
func TestOthersTrafficContradicts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		k      knobs
		others float64
		want   bool
	}{
		{"a slow link", knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}, 0, false},
		{"a link that others use", knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}, 0.4e9, true},
		{"a little of others'", knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}, 0.05e9, false},
		{"losses where others come in bursts", knobs{rate: 20e6, rtt: 10 * time.Millisecond, retrans: 0.002}, 0.4e9, true},
		{"a small window beside others", knobs{rate: 60e6, rtt: 10 * time.Millisecond, wnd: 75000, full: true, rwnd: 0.9}, 0.4e9, false},
	} {
		c := besides(tc.k.build(), tc.others)
		v := Judge(c)
		got := false
		for _, x := range v.Contradictions {
			got = got || x.Sign == model.OthersTraffic
		}
		if got != tc.want || tc.want && (v.Confidence > contradictedCap || !strings.Contains(v.Line, "other traffic")) {
			t.Errorf("%s: contradicted %v, want %v: %s", tc.name, got, tc.want, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

// What the connections moved between their reading and that of the interface, on a busy host,
// is no traffic of others.
func TestReadingsApartAreNoOthers(t *testing.T) {
	const apart = 700 * time.Millisecond
	for _, tc := range []struct {
		spread time.Duration
		want   bool
	}{{0, true}, {apart, false}} {
		c := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}.build()
		last := &c.Receiver.Samples[len(c.Receiver.Samples)-1]
		for k := range last.NICs {
			last.NICs[k].RxBytes += int64(0.5e9 / 8 * apart.Seconds())
		}
		last.Spread = tc.spread
		v := Judge(c)
		got := false
		for _, x := range v.Contradictions {
			got = got || x.Sign == model.OthersTraffic
		}
		if got != tc.want {
			t.Errorf("read %v apart: other traffic %v, want %v: %s", last.Spread, got, tc.want, v.Line)
		}
	}
}

// A path that copies packets is told by duplicates that nobody sent, also where the
// receiver does not report them.
func TestCopies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rate  float64
		share float64 // of the segments that arrive twice
		sack  bool    // the receiver reports them
		want  model.LimiterID
		most  float64
	}{
		{"a fifth, reported", 0.78e9, 0.2, true, model.Reordering, 0.8},
		{"a fifth, not reported", 0.78e9, 0.2, false, model.Reordering, 0.8},
		{"more is missing than copies take", 0.3e9, 0.2, true, model.Reordering, contradictedCap},
		{"hardly any", 0.78e9, 0.001, true, model.LinkRate, 0.85},
		{"at the ceiling", healthy, 0.05, true, model.None, 1},
	} {
		c := knobs{rate: tc.rate, rtt: 18 * time.Millisecond}.build()
		for i := range c.Sender.Samples {
			s, r := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			twice := int64(tc.share * float64(s.SegsOut))
			s.DataSegsOut = s.SegsOut
			r.DataSegsIn = r.BytesReceived/int64(r.RcvMSS) + twice
			if tc.sack {
				s.DSACKDups = int(twice)
			}
		}
		v := Judge(c)
		if v.Limiter != tc.want || v.Confidence > tc.most {
			t.Errorf("%s: got %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		if v.Limiter == model.Reordering && !strings.Contains(v.Fix.Advice, "twice") {
			t.Errorf("%s: the advice is %q", tc.name, v.Fix.Advice)
		}
		checkVerdict(t, c, v)
	}
}

// What was sent again and arrived twice was late, not lost, whatever DSACK says.
func TestLateByTheReceiversCount(t *testing.T) {
	k := knobs{rate: 20e6, rtt: 10 * time.Millisecond, retrans: 0.05}
	lost, late := k.build(), k.build()
	for _, c := range []Case{lost, late} {
		for i := range c.Sender.Samples {
			s, r := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			s.DataSegsOut, r.DataSegsIn = s.SegsOut, r.BytesReceived/int64(r.RcvMSS)
		}
	}
	for i := range late.Sender.Samples {
		late.Receiver.Samples[i].Conns[0].DataSegsIn += int64(late.Sender.Samples[i].Conns[0].TotalRetrans)
	}
	if v := Judge(lost); v.Limiter != model.PathLoss {
		t.Errorf("lost: got %s: %s", v.Limiter, v.Line)
	}
	if v := Judge(late); v.Limiter != model.Reordering {
		t.Errorf("late: got %s: %s", v.Limiter, v.Line)
	}
}

// Of a host that tells some of its connections, one that is told from a moment on did not begin then: what it
// moved in its life is not what it moves.
func TestOneOfVeryManyConnectionsDidNotBeginWhenItIsTold(t *testing.T) {
	at := func(sec int, bytes int64, told bool, totals []model.ConnTotal) model.Sample {
		s := model.Sample{At: time.Duration(sec) * time.Second, Totals: totals}
		if told {
			s.Conns = []model.Conn{{State: tcpEstablished, Inode: 7, BytesReceived: bytes}}
		}
		return s
	}
	for _, c := range []struct {
		totals []model.ConnTotal
		first  int64
	}{{nil, 0}, {[]model.ConnTotal{{Conns: 3000}}, 1 << 40}} {
		got := lifetimes([]model.Sample{at(0, 0, false, c.totals), at(1, 1<<40, true, c.totals), at(2, 1<<40+5, true, c.totals)})
		if len(got) != 1 || got[0].first.BytesReceived != c.first || got[0].last.BytesReceived != 1<<40+5 {
			t.Errorf("with sums %v: %+v", c.totals, got)
		}
	}
}
