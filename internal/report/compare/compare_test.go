package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/report/studytest"
	"linerate/internal/unit"
)

func of[T any](v T) *T { return &v }

func interval(r, lo, hi float64) *Found { return &Found{of(r), of(lo), of(hi), 8, "gain"} }

func TestJudge(t *testing.T) {
	open := &Found{of(1.1), of(1.05), nil, 8, "gain"}
	for name, c := range map[string]struct {
		a, b *Found
		want string
	}{
		"apart":                {interval(1.10, 1.08, 1.12), interval(1.30, 1.28, 1.32), Differ},
		"apart, the other way": {interval(1.30, 1.28, 1.32), interval(1.10, 1.08, 1.12), Differ},
		"touching":             {interval(1.10, 1.05, 1.15), interval(1.19, 1.14, 1.24), MayDiffer},
		"one within another":   {interval(1.10, 1.00, 1.20), interval(1.11, 1.05, 1.17), NotTold},
		"equal":                {interval(1.10, 1.095, 1.105), interval(1.101, 1.096, 1.106), Equal},
		"open above":           {open, interval(1.3, 1.2, 1.4), NoInterval},
		"of protocol paper":    {&Found{Ratio: of(1.3), N: 3}, interval(1.3, 1.2, 1.4), NoInterval},
		"not tried":            {&Found{Conclusion: model.StudyNotTried}, interval(1.3, 1.2, 1.4), OneSide},
		"in force on neither":  {&Found{Conclusion: model.StudyNotInForce}, &Found{Conclusion: model.StudyNotInForce}, NoSide},
		"nobody looked":        {nil, interval(1.3, 1.2, 1.4), OneSide},
		"interval beside it":   {interval(1.1, 1.2, 1.3), interval(1.3, 1.2, 1.4), NoInterval},
	} {
		e := Effect{A: c.a, B: c.b}
		if e.judge(1.02); e.Conclusion != c.want {
			t.Errorf("%s: %q, want %q (%v to %v)", name, e.Conclusion, c.want, e.CILow, e.CIHigh)
		}
		if (e.Conclusion == OneSide || e.Conclusion == NoSide) && e.Why == "" {
			t.Errorf("%s: does not say why", name)
		}
	}
}

// TestMOVER holds the interval against what it is for normal estimates, where
// it is exact: the standard errors add in squares.
func TestMOVER(t *testing.T) {
	const sa, sb = 0.03, 0.04
	lim := func(r, s float64) *Found { return interval(r, r*math.Exp(-1.96*s), r*math.Exp(1.96*s)) }
	e := Effect{A: lim(1.2, sa), B: lim(1.5, sb)}
	e.judge(1.02)
	half := 1.96 * math.Hypot(sa, sb)
	for _, c := range []struct{ got, want float64 }{{*e.Ratio, 1.25}, {*e.CILow, 1.25 * math.Exp(-half)}, {*e.CIHigh, 1.25 * math.Exp(half)}} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func side(id string, e studytest.Example) Side { return Side{id, e.Results, e.Facts} }

func TestStudies(t *testing.T) {
	c := Compare(side("a", studytest.Clients()), side("b", studytest.ClientsAgain()))
	if !c.Same || len(c.Effects) != 4 || len(c.Baselines) != 1 || c.Rate != nil {
		t.Fatalf("%+v", c)
	}
	want := []string{Equal, Equal, Differ, Differ} // both double and treble; the ceiling comes later where one client gets less
	for i, e := range c.Effects {
		if e.Conclusion != want[i] && !(want[i] == Equal && e.Conclusion == NotTold) {
			t.Errorf("%s clients: %s", e.Level, e.Conclusion)
		}
	}
	var what []string
	for _, d := range c.Changed {
		what = append(what, d.Host+" "+d.What)
	}
	for _, w := range []string{"lab:server1 kernel", "lab:server1 eth0 MTU", "lab:server1 linux.sysctl.net.ipv4.tcp_congestion_control"} {
		if !slices.Contains(what, w) {
			t.Errorf("%q is not among what changed: %q", w, what)
		}
	}
	if len(c.Changed) != 3 {
		t.Errorf("%d things changed: %q", len(c.Changed), what)
	}
}

func TestAStudyEqualsItself(t *testing.T) {
	for _, e := range []studytest.Example{studytest.Adapter("linerate"), studytest.Adapter("paper"), studytest.Windows()} {
		c := Compare(side("a", e), side("a", e))
		for _, x := range c.Effects {
			if x.Conclusion == Differ || x.Conclusion == MayDiffer || x.Conclusion == NotSame || x.Ratio != nil && *x.Ratio != 1 {
				t.Errorf("%s %s: %s", x.Factor, x.Level, x.Conclusion)
			}
		}
		if len(c.Changed) != 0 {
			t.Errorf("%v", c.Changed)
		}
	}
}

func TestEqualNamesOfOtherThingsAreNotCompared(t *testing.T) {
	a, b := studytest.Clients(), studytest.Clients()
	b.Results.Study.File.Workloads[0].Streams = 7
	for _, e := range Compare(side("a", a), side("b", b)).Effects {
		if e.Conclusion != NotSame || e.Ratio != nil || !strings.Contains(e.Why, "reads") {
			t.Errorf("%+v", e)
		}
	}
	b = studytest.Clients()
	b.Results.Study.File.Factors[0].Levels[1].Workload["clients"] = "4"
	if e := Compare(side("a", a), side("b", b)).Effects[1]; e.Conclusion != NotSame || e.Ratio != nil {
		t.Errorf("%+v", e)
	}
	if c := Compare(side("a", a), side("b", b)); len(c.Baselines) != 1 {
		t.Errorf("the workload is the same and its baseline is not compared")
	}
}

func single(rate unit.BitRate, limiter model.LimiterID) Side {
	return Side{"x", &model.Results{Outcome: model.Outcome{Verdict: model.Verdict{Limiter: limiter, Measured: rate},
		Ladder: []model.Rung{{Rung: "memory", Measured: &rate}, {Rung: "whole path"}}}}, nil}
}

func TestTwoRunsAreNotCalledSignificant(t *testing.T) {
	c := Compare(single(100*unit.Mbit, model.ReceiverWindow), single(800*unit.Mbit, model.None))
	if c.Rate == nil || *c.Rate.Ratio != 8 || c.Rate.N != 1 || len(c.Rung) != 1 || !strings.Contains(strings.Join(c.Notes, " "), "no significance") {
		t.Errorf("%+v", c)
	}
	for _, word := range []string{"100 Mbit/s → 800 Mbit/s", "one run each", "receiver-window → none"} {
		if !strings.Contains(c.Line, word) {
			t.Errorf("%q does not say %q", c.Line, word)
		}
	}
}

func TestNothingInCommon(t *testing.T) {
	c := Compare(single(100*unit.Mbit, model.ReceiverWindow), side("s", studytest.Clients()))
	if c.Same || c.Rate != nil || len(c.Changed) == 0 {
		t.Errorf("%+v", c)
	}
	if c := Compare(Side{"a", &model.Results{}, nil}, Side{"b", &model.Results{}, nil}); c.Same {
		t.Errorf("%+v", c)
	}
}

func TestProofsOfOtherChangesAreNotCompared(t *testing.T) {
	p := func(what string, r float64) *model.Proof {
		return &model.Proof{Ratio: &r, CILow: of(r * 0.99), CIHigh: of(r * 1.01), Pairs: 8, Effect: "gain", Treatment: what}
	}
	a, b := single(1, model.None), single(1, model.None)
	a.Results.Proof, b.Results.Proof = p("x → y", 1.5), p("x → z", 1.5)
	if c := Compare(a, b); c.Gain.Conclusion != NotSame || c.Gain.Ratio != nil {
		t.Errorf("%+v", c.Gain)
	}
	b.Results.Proof = p("x → y", 1.9)
	if c := Compare(a, b); c.Gain.Conclusion != Differ {
		t.Errorf("%+v", c.Gain)
	}
}

func TestLoads(t *testing.T) {
	load := func(kind, data string) Side {
		return Side{kind, &model.Results{Load: &model.Load{Kind: kind, Data: []byte(data)}}, nil}
	}
	a := load("block", `{"load":{"workload":"x","iops":1000,"latency_ns":{"p99":2e6},"failures":[1]},"spec":{"depth": 5}}`)
	c := Compare(a, load("block", `{"load":{"workload":"x","iops":1500,"latency_ns":{"p99":1e6},"failures":[2]},"spec":{"depth":5}}`))
	if len(c.Figures) != 2 || c.Figures[0].What != "iops" || *c.Figures[0].Ratio != 1.5 || c.Figures[1].What != "latency_ns.p99" || *c.Figures[1].Ratio != 0.5 || !c.Same || len(c.Changed) != 0 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(strings.Join(c.Notes, " "), "no significance") {
		t.Errorf("%q", c.Notes)
	}
	if c := Compare(a, load("block", `{"load":{"iops":1},"spec":{"depth":6}}`)); len(c.Changed) != 1 || !strings.Contains(strings.Join(c.Notes, " "), "did not run the same") {
		t.Errorf("%+v", c)
	}
	for _, b := range []Side{load("tcp", `{"load":{"iops":1}}`), load("block", `nonsense`), load("block", `{"load":[1]}`)} {
		if c := Compare(a, b); c.Same || len(c.Figures) != 0 {
			t.Errorf("%+v", c)
		}
	}
}
