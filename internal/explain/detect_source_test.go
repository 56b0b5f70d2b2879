package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// What a sender that has nothing to send waits for, as far as it is seen, decides what
// is advised.
func TestIdleSource(t *testing.T) {
	idle := knobs{rate: 50e6, notsent: -1, appLtd: true, rtt: 10 * time.Millisecond}
	answers := func(perSample int64) func(i int, s *model.Sample) {
		return func(i int, s *model.Sample) { s.Conns[0].DataSegsIn = perSample * int64(i) }
	}
	for _, tc := range []struct {
		name   string
		edit   func(i int, s *model.Sample)
		advice string
	}{
		{"nothing more is seen", func(int, *model.Sample) {}, "read or produce faster"},
		{"its reader waits for a disk", func(i int, s *model.Sample) {
			if i%2 == 0 {
				s.Tasks[0].State = "D"
			}
		}, "waits for its disk"},
		{"a disk now and then", func(i int, s *model.Sample) {
			if i%10 == 0 {
				s.Tasks[0].State = "D"
			}
		}, "read or produce faster"},
		{"one request at a time", answers(2), "waits for an answer"},
		{"many answers in a round trip", answers(100), "read or produce faster"},
		{"the last piece is held back", func(i int, s *model.Sample) {
			answers(1)(i, s)
			s.Conns[0].NotSent, s.Conns[0].Unacked = 900, 1
		}, "TCP_NODELAY"},
	} {
		c := idle.build()
		for i := range c.Sender.Samples {
			tc.edit(i, &c.Sender.Samples[i])
		}
		v := Judge(c)
		if v.Limiter != model.ApplicationSource || !strings.Contains(v.Fix.Advice, tc.advice) {
			t.Errorf("%s: %s: %q", tc.name, v.Limiter, v.Fix.Advice)
		}
		checkVerdict(t, c, v)
	}
}

// That the program is not seen makes nothing surer of one that may wait for what it is asked.
func TestAskedSourceUnseen(t *testing.T) {
	c := knobs{rate: 50e6, notsent: -1, appLtd: true}.build()
	c.Receiver, c.OneEnd = nil, true
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Conns[0].DataSegsIn = 10 * int64(i)
		c.Sender.Samples[i].Tasks = nil
	}
	if v := Judge(c); v.Limiter != model.ApplicationSource || v.Confidence > contradictedCap {
		t.Errorf("%s (%.2f) %s", v.Limiter, v.Confidence, v.Line)
	}
}

func TestRecordedExchanges(t *testing.T) {
	for name, want := range map[string]string{"pingpong1400.cubic": "TCP_NODELAY", "pingpong64k.cubic": "TCP_NODELAY", "txapp300.cubic": "read or produce faster"} {
		if v := Judge(readRecording(t, name)); v.Limiter != model.ApplicationSource || !strings.Contains(v.Fix.Advice, want) {
			t.Errorf("%s: %s: %q, want %q", name, v.Limiter, v.Fix.Advice, want)
		}
	}
}

// A queue of one packet is too short; a shaper is to be removed.
func TestOwnQueueAdvice(t *testing.T) {
	for _, tc := range []struct {
		kind              string
		drops, overlimits int64 // in each sample
		advice            string
	}{{"pfifo", 20, 0, "too short"}, {"tbf", 0, 200, "shaper"}, {"tbf", 5, 200, "shaper"}} {
		c := knobs{rate: 0.3e9, rtt: 10 * time.Millisecond, retrans: 0.01}.build()
		for i := range c.Sender.Samples {
			c.Sender.Samples[i].Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: tc.kind, Drops: tc.drops * int64(i), Overlimits: tc.overlimits * int64(i), Backlog: 50 * tc.overlimits}}
		}
		if v := Judge(c); v.Limiter != model.LocalQdisc || !strings.Contains(v.Fix.Advice, tc.advice) {
			t.Errorf("%s: %s: %q, want %q", tc.kind, v.Limiter, v.Fix.Advice, tc.advice)
		}
	}
}

// A shaper that the rate stays below holds bursts back and is empty otherwise; a queue that dropped a
// few packets is not what loses many.
func TestALooseShaperIsNotTheLimit(t *testing.T) {
	for _, q := range []model.QdiscCount{{Overlimits: 200}, {Drops: 1}} {
		c := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, retrans: 0.01}.build()
		for i := range c.Sender.Samples {
			n := int64(i)
			c.Sender.Samples[i].Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: "tbf", Overlimits: q.Overlimits * n, Drops: q.Drops * n, Backlog: (n%20 + 1) / 20 * 3028}}
		}
		if v := Judge(c); v.Limiter != model.PathLoss {
			t.Errorf("%+v: %s", q, v.Line)
		}
	}
}

// A qdisc in which packets never wait is not one that holds them back, however often it does for a
// moment: what it drops is what is told, is what the verdict is sure by, and is what to mend.
func TestShortQueueOfALooseShaper(t *testing.T) {
	c := knobs{rate: 0.2e9, retrans: 0.0004}.build()
	for i := range c.Sender.Samples {
		n := int64(i)
		c.Sender.Samples[i].Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: "tbf", Drops: 40 * n / 39, Overlimits: 50 * n}}
	}
	v := Judge(c)
	if v.Limiter != model.LocalQdisc || v.Confidence > 0.7 || v.Evidence[0].Metric != "qdisc_drops" || !strings.Contains(v.Fix.Advice, "too short") {
		t.Errorf("%s (%.2f) %s", v.Evidence[0].What, v.Confidence, v.Line)
	}
	for _, e := range v.Evidence {
		if e.Metric == "qdisc_overlimits" {
			t.Error(e.What)
		}
	}
}

// Interfaces that carry nothing do not empty the queue of the one that does, where it is not known
// which that is.
func TestOtherInterfacesAreNotTheQueue(t *testing.T) {
	for _, others := range []int{0, 1, 5} {
		c := knobs{rate: 0.2e9, rtt: 30 * time.Millisecond, noFacts: true}.build()
		for i := range c.Sender.Samples {
			s := &c.Sender.Samples[i]
			s.Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: "tbf", Overlimits: int64(i) * 50, Backlog: 60000}}
			for d := range others {
				s.Qdiscs = append(s.Qdiscs, model.QdiscCount{Dev: fmt.Sprint("idle", d), Kind: "mq"})
			}
		}
		if v := Judge(c); v.Limiter != model.LocalQdisc {
			t.Errorf("%d other interfaces: %s", others, v.Line)
		}
	}
}

// What an old connection lost before it was watched says nothing of what a queue drops now.
func TestOldLossesDoNotClearTheQueue(t *testing.T) {
	var fresh model.Verdict
	for _, old := range []int{0, 1e6} {
		c := knobs{rate: 0.2e9, retrans: 0.002}.build()
		for i := range c.Sender.Samples {
			s := &c.Sender.Samples[i]
			s.Qdiscs = []model.QdiscCount{{Dev: "eth0", Kind: "pfifo", Drops: int64(s.Conns[0].TotalRetrans)}}
			s.Conns[0].TotalRetrans += old
		}
		v := Judge(c)
		if old == 0 {
			fresh = v
		}
		if v.Limiter != model.LocalQdisc || v.Confidence != fresh.Confidence {
			t.Errorf("%d older losses: %s (%.2f), without them %.2f", old, v.Line, v.Confidence, fresh.Confidence)
		}
	}
}

// Losses that ended before the steady part are said as such, not as "0% sent again".
func TestEarlyLossesAreSaid(t *testing.T) {
	c := knobs{rate: 0.3e9, rtt: 10 * time.Millisecond}.build()
	for i := range c.Sender.Samples {
		x := &c.Sender.Samples[i].Conns[0]
		x.TotalRetrans, x.BytesRetrans = 40, 40*1448
		x.Cwnd += 4 * i
		x.Unacked = x.Cwnd
	}
	v := Judge(c)
	if v.Limiter != model.PathLoss || v.Confidence > 0.45 || v.Evidence[0].Metric != "early_retransmits" || !strings.Contains(strings.Join(v.Notes, "; "), "still growing back") {
		t.Errorf("%s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
}
