package tune

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/study"
)

var peerOfFlows = netip.MustParseAddr("10.0.0.9")

// transfer is a connection over the samples of a look.
type transfer struct {
	port    uint16
	mbits   []float64 // of each window, in turn
	busy    float64   // share of the time
	limited bool      // by its application
	to      string    // "": the peer
}

// looked are the samples of a look of so many windows.
func looked(windows int, all ...transfer) []model.Sample {
	at := time.Unix(1000, 0)
	out := make([]model.Sample, windows+1)
	for i := range out {
		out[i] = model.Sample{HostAt: at.Add(time.Duration(i) * lookWindow)}
	}
	for _, x := range all {
		to := peerOfFlows
		if x.to != "" {
			to = netip.MustParseAddr(x.to)
		}
		c := model.Conn{Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), x.port), Remote: netip.AddrPortFrom(to, 2049), AppLimited: x.limited}
		for i := range out {
			out[i].Conns = append(out[i].Conns, c)
			c.BytesAcked += int64(x.mbits[i%len(x.mbits)] * 1e6 / 8 * lookWindow.Seconds())
			c.Busy += time.Duration(x.busy * float64(lookWindow))
		}
	}
	return out
}

func TestRatesAreOfTransfersThatGoOn(t *testing.T) {
	const n = study.Least
	full := func(port uint16, mbits ...float64) transfer { return transfer{port: port, mbits: mbits, busy: 1} }
	for name, c := range map[string]struct {
		before, after []transfer
		worse, says   string
	}{
		"none":                            {nil, nil, "", "no transfer to the peer went on"},
		"as before":                       {[]transfer{full(1, 900, 950)}, []transfer{full(1, 920, 930)}, "", "goodput to the peer 925 Mbit/s before, 925 Mbit/s after"},
		"half of it":                      {[]transfer{full(1, 900, 950)}, []transfer{full(1, 450, 470)}, "goodput to the peer went from 925 Mbit/s to 460 Mbit/s, and the floor is 50 Mbit/s (A/A)", "460 Mbit/s after"},
		"within what it varies by":        {[]transfer{full(1, 500, 1000)}, []transfer{full(1, 400, 420)}, "", "410 Mbit/s after"},
		"two that share it otherwise":     {[]transfer{full(1, 700), full(2, 200)}, []transfer{full(1, 200), full(2, 700)}, "", "900 Mbit/s after"},
		"better":                          {[]transfer{full(1, 100)}, []transfer{full(1, 900)}, "", "900 Mbit/s after"},
		"its application sends less":      {[]transfer{full(1, 900)}, []transfer{{port: 1, mbits: []float64{100}, busy: 0.2}}, "", "began, ended or paused"},
		"an application that sets a rate": {[]transfer{{port: 1, mbits: []float64{900}, busy: 1, limited: true}}, []transfer{{port: 1, mbits: []float64{100}, busy: 1, limited: true}}, "", "not all the path could carry"},
		"another transfer began":          {[]transfer{full(1, 900)}, []transfer{full(1, 450), full(2, 450)}, "", "began, ended or paused"},
		"it ended":                        {[]transfer{full(1, 900)}, nil, "", "began, ended or paused"},
		"to somebody else":                {[]transfer{{port: 1, mbits: []float64{900}, busy: 1, to: "10.0.0.7"}}, []transfer{{port: 1, mbits: []float64{9}, busy: 1, to: "10.0.0.7"}}, "", "no transfer to the peer went on"},
	} {
		b, a := pathOf(1), pathOf(1)
		b.flows, a.flows = flowsOf(looked(n, c.before...), peerOfFlows), flowsOf(looked(n, c.after...), peerOfFlows)
		if got := worse(b, a); got != c.worse {
			t.Errorf("%s: %q, want %q", name, got, c.worse)
		}
		if got := rateWords(b.flows, a.flows, true); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
	few := flowsOf(looked(n-1, full(1, 900)), peerOfFlows)
	low := flowsOf(looked(n-1, full(1, 9)), peerOfFlows)
	if got := rateWords(few, low, true) + worse(pathLook{flows: few}, pathLook{flows: low}); got != "a rate was not judged: too few readings" {
		t.Error(got)
	}
	if got := rateWords(few, low, false); !strings.Contains(got, "the other end was not named") {
		t.Error(got)
	}
}

// A wave whose host carries less of the same transfers is put back.
func TestAWaveThatCarriesLessStops(t *testing.T) {
	r, agents := siteOf(t, 5)
	look := func(mbits float64) pathLook {
		l := pathOf(1)
		l.flows = flowsOf(looked(study.Least, transfer{port: 1, mbits: []float64{mbits}, busy: 1}), peerOfFlows)
		return l
	}
	r.see = func(_ context.Context, m *member) (pathLook, error) {
		if m.host.Host == "n003" && agents["n003"].inForce {
			return look(300), nil
		}
		return look(900), nil
	}
	doc, err := r.finish(t.Context())
	if failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "goodput to the peer went from 900 Mbit/s to 300 Mbit/s") {
		t.Errorf("%v", err)
	}
	if got := inForce(agents); !slices.Equal(got, []string{"n000"}) || doc.Stopped == nil || doc.Stopped.Host != "site:n003" {
		t.Errorf("in force on %v; %+v", got, doc.Stopped)
	}
}
