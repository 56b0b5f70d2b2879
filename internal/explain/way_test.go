package explain

import (
	"net/netip"
	"strings"
	"testing"

	"linerate/internal/model"
)

var (
	firstRouter  = netip.MustParseAddr("192.0.2.1")
	secondRouter = netip.MustParseAddr("198.51.100.2")
)

// probed is a way over two routers that carries packets of mtu bytes.
func probed(mtu int) *model.Crossing {
	w := &model.Crossing{Through: model.Known(true), PathMTU: model.Known(mtu), Tried: 1500, Hops: model.Known(2), Routers: []netip.Addr{firstRouter, secondRouter}}
	if mtu < w.Tried {
		w.Fall = &model.Fall{After: firstRouter, Before: secondRouter}
	}
	return w
}

func said(v model.Verdict) string {
	var all []string
	for _, e := range v.Evidence {
		all = append(all, e.What)
	}
	return strings.Join(all, "; ")
}

// The hop that makes segments small is named where probes found it, and where they found none the
// advice does not send anybody to look for one.
func TestSmallSegmentsNameTheHop(t *testing.T) {
	silent := probed(576)
	silent.Fall, silent.Routers = nil, []netip.Addr{{}, {}}
	for _, tt := range []struct {
		name              string
		pmtu              int
		way               *model.Crossing
		evidence, advice  string
		without, noAdvice string
	}{
		{"told by a router, and found", 576, probed(576), "probes of more than 576 bytes end between 192.0.2.1 and 198.51.100.2, behind router 1 of 2", "raise the MTU between 192.0.2.1 and 198.51.100.2, behind router 1 of 2 to 1500", "", "tracepath"},
		{"told, and no router says where", 576, silent, "no router tells where they end", "tracepath", "between", "between"},
		{"told, and every hop is large", 576, probed(1500), "probes of 1500 bytes arrive through 2 routers", "ip route flush cache", "end between", "tracepath"},
		{"a clamp, and every hop is large", 1500, probed(1500), "probes of 1500 bytes arrive", "nft maxseg", "end between", "raise the MTU"},
		{"a clamp to a small hop", 1500, probed(576), "end between 192.0.2.1", "raise the MTU between", "no hop is smaller", ""},
		{"not probed", 576, nil, "path MTU of 576", "tracepath", "probes", ""},
	} {
		c := knobs{rate: 0.84e9}.build()
		for i := range c.Sender.Samples {
			x, y := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			x.SndMSS, x.AdvMSS, x.PMTU, y.AdvMSS = 524, 1448, tt.pmtu, 1448
		}
		c.Way = tt.way
		v := Judge(c)
		if v.Limiter != model.SmallSegments || !strings.Contains(said(v), tt.evidence) || !strings.Contains(v.Fix.Advice, tt.advice) {
			t.Errorf("%s: %s: %s; fix: %s", tt.name, v.Limiter, said(v), v.Fix.Advice)
		}
		if tt.without != "" && strings.Contains(said(v), tt.without) || tt.noAdvice != "" && strings.Contains(v.Fix.Advice, tt.noAdvice) {
			t.Errorf("%s: too much is said: %s; fix: %s", tt.name, said(v), v.Fix.Advice)
		}
		if got := strings.Contains(said(v), "the data pass 2 routers ("); got != (tt.way != nil && tt.way.Routers[0].IsValid()) && tt.way != silent {
			t.Errorf("%s: routers: %s", tt.name, said(v))
		}
	}
}

// A limiter of the path comes with how many routers there are to look at; another does not.
func TestPathVerdictsCountTheRouters(t *testing.T) {
	loss := knobs{rate: 0.05e9, rtt: 10e6, retrans: 2e-3, cwnd: 40}.build()
	for hops, want := range map[int]string{0: "the data pass no router", 3: "the data pass 3 routers"} {
		loss.Way = &model.Crossing{Hops: model.Known(hops)}
		if v := Judge(loss); v.Where != model.AtPath || !strings.Contains(said(v), want) || !strings.Contains(said(model.Verdict{Evidence: v.Causes[0].Evidence}), want) {
			t.Errorf("%d hops: %s: %s", hops, v.Limiter, said(v))
		}
	}
	healthy := knobs{}.build()
	healthy.Way = probed(1500)
	if v := Judge(healthy); v.Limiter != model.None || strings.Contains(said(v), "router") {
		t.Errorf("healthy: %s: %s", v.Limiter, said(v))
	}
}
