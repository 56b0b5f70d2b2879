package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestPartsOfADrawShareNoMechanism(t *testing.T) {
	n := len(mechanisms())
	t.Logf("%d mechanisms", n)
	if n < 60 {
		t.Errorf("%d mechanisms, want 60 or more", n)
	}
	seen := map[string]int{}
	for i := 1; i <= 2; i++ {
		for _, c := range wildCases(7, i, 2, "") {
			if c.Fault != healthy {
				seen[c.Fault]++
			}
		}
	}
	for _, m := range mechanisms() {
		if seen[m.name] != 1 {
			t.Errorf("%s is drawn %d times", m.name, seen[m.name])
		}
		if _, err := fault.Find(m.name); err == nil {
			t.Errorf("%s is in the catalogue", m.name)
		}
		if m.class == "" || !(m.low > 0) || m.high < m.low || m.hooks == nil && m.workload == nil {
			t.Errorf("%s: not complete: %+v", m.name, m)
		}
	}
	if a, b := wildCases(1, 1, 2, "")[0], wildCases(2, 1, 2, "")[0]; a.Key() == b.Key() {
		t.Errorf("two seeds begin with the same case %s", a.Key())
	}
}

func TestRoutedRoad(t *testing.T) {
	topo := routedRoad()
	if rate, rtt, _ := topo.Ceiling(sender, receiver, "eth0"); rate != wildRate || rtt.Milliseconds() != 10 {
		t.Errorf("the path carries %v with %v", rate, rtt)
	}
}

func TestWildWorth(t *testing.T) {
	wild := &Wild{Class: "x", Right: is(model.PathLoss, model.Outage)}
	for _, tc := range []struct {
		binds bool
		id    model.LimiterID
		sure  float64
		alt   model.LimiterID
		want  worth
	}{
		{true, model.PathLoss, 0.9, "", right},
		{true, model.Outage, 0.2, "", right},
		{true, model.LinkRate, 0.7, model.PathLoss, confidentWrong},
		{true, model.LinkRate, 0.6, model.PathLoss, rightSecond},
		{true, model.LinkRate, 0.6, "", doubtful},
		{true, model.LinkRate, 0.45, "", honestly},
		{true, model.Undetermined, 0.3, model.LinkRate, honestly},
		{true, model.None, 0.9, "", overlooked},
		{true, model.None, 0.4, "", honestly},
		{false, model.None, 0.9, "", calm},
		{false, model.LinkRate, 0.45, "", calm},
		{false, model.PathLoss, 0.9, "", calm},
		{false, model.LinkRate, 0.6, "", alarm},
		{false, model.LinkRate, 0.7, "", loudAlarm},
	} {
		r := Result{Wild: wild, Binds: tc.binds, Verdict: tc.id, Confidence: tc.sure}
		if tc.alt != "" {
			r.Alternatives = is(tc.alt)
		}
		if got := wildWorth(r); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc, got, tc.want)
		}
	}
}

func TestWildScore(t *testing.T) {
	low, high, at := unit.BitRate(80), unit.BitRate(90), unit.BitRate(85)
	s := scoreWild([]Result{
		{Wild: &Wild{"a", is(model.PathLoss)}, Binds: true, Verdict: model.PathLoss, Confidence: 0.8, Without: []unit.BitRate{100, 100}, Predicted: &at, AloneLow: low, AloneHigh: high},
		{Wild: &Wild{"a", nil}, Binds: true, Verdict: model.LinkRate, Confidence: 0.8},
		{Case: Case{Fault: healthy}, Verdict: model.None, Confidence: 0.95},
		{Wild: &Wild{"b", nil}, Error: "no lab"},
	})
	if s.Cases != 3 || s.Binding != 2 || s.Right != 1 || s.ConfidentlyWrong != 1 || s.NotJudged != 1 {
		t.Errorf("got %+v", s.WildTally)
	}
	if c := s.Calibration[2]; c.Cases != 2 || c.Right != 1 || s.Calibration[3].Right != 1 {
		t.Errorf("calibration: %+v", s.Calibration)
	}
	if g := s.Gains; g.Cases != 1 || g.Held != 0 || g.Ranges != 1 || g.MedianError < 0.149 || g.MedianError > 0.151 {
		t.Errorf("gains: %+v", g)
	}
	if text := s.table(); !strings.Contains(text, "| a | 2 | 2 | 1 |") || !strings.Contains(text, "1/2") {
		t.Errorf("the table:\n%s", text)
	}
}

func TestGroupFileIsOfALab(t *testing.T) {
	const groups = "9:name=systemd:/\n5:cpu,cpuacct:/linerate-lab-1-client1\n4:memory:/user/x\n0::/\n"
	got, err := groupFile(groups, "cpu", "cpu.shares")
	if err != nil || got != "/sys/fs/cgroup/cpu/linerate-lab-1-client1/cpu.shares" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := groupFile(groups, "memory", "x"); err == nil {
		t.Errorf("a group of somebody else is taken: %s", got)
	}
}

func TestHooksAreTakenBackInReverse(t *testing.T) {
	var log []string
	step := func(name string, fails bool) hook {
		return func(context.Context, fault.Lab) (fault.Undo, error) {
			if fails {
				return nil, errors.New("no " + name)
			}
			log = append(log, name)
			return func(context.Context) error { log = append(log, "-"+name); return nil }, nil
		}
	}
	undo, err := fault.InTurn(t.Context(), nil, only(step("a", false), step("b", false)))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(undo(t.Context()), undo(t.Context())); err != nil || !slices.Equal(log, []string{"a", "b", "-b", "-a"}) {
		t.Errorf("%v, %v", log, err)
	}
	log = nil
	if _, err := fault.InTurn(t.Context(), nil, only(step("a", false), step("b", true))); err == nil || !slices.Equal(log, []string{"a", "-a"}) {
		t.Errorf("%v, %v", log, err)
	}
}

func TestPulsesEndAsTheyWere(t *testing.T) {
	l := &shapes{now: topology.Shape{Rate: 100}}
	undo, err := pulses("x", 0, 1, 1, func(s *topology.Shape) { s.Rate = 10 })(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(undo(t.Context()), undo(t.Context())); err != nil || l.now.Rate != 100 {
		t.Errorf("rate %v, %v", l.now.Rate, err)
	}
}

// shapes is a lab with one link.
type shapes struct {
	fault.Lab
	now topology.Shape
}

func (l *shapes) Shapes(string) [2]topology.Shape { return [2]topology.Shape{l.now} }

func (l *shapes) Reshape(_ context.Context, _ string, _ int, change func(*topology.Shape)) error {
	change(&l.now)
	return nil
}
