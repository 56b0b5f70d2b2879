package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/bench/kit"
	"linerate/internal/explain"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// fakeStage is a lab whose goodput follows from its state: random loss and a
// slow source cost, a full receive buffer does not. Its diagnosis names
// path-loss whenever it is slow.
type fakeStage struct {
	topo   topology.Topology
	shapes map[string][2]topology.Shape
	downs  *int
	broken bool
	stays  bool // it does not come down
}

func newFakeStage(t topology.Topology, downs *int) *fakeStage {
	s := &fakeStage{topo: t, shapes: map[string][2]topology.Shape{}, downs: downs}
	for _, l := range t.Links {
		s.shapes[l.ID] = [2]topology.Shape{l.AB, l.BA}
	}
	return s
}

func (s *fakeStage) goodput(w model.Workload) unit.BitRate {
	rate := unit.Gbit
	for _, pair := range s.shapes {
		if pair[0].Loss > 0 {
			rate = min(rate, 100*unit.Mbit)
		}
		rate = min(rate, pair[0].Rate)
	}
	if w.Rate > 0 {
		rate = min(rate, w.Rate)
	}
	return rate
}

func (s *fakeStage) Diagnose(_ context.Context, w model.Workload) (model.Results, explain.Case, error) {
	if s.broken {
		return model.Results{}, explain.Case{}, errors.New("the agent is gone\nwith details")
	}
	ceiling := 950 * unit.Mbit
	v := model.Verdict{Limiter: model.None, Confidence: 0.9, Measured: s.goodput(w), Ceiling: &ceiling}
	if v.Measured < 900*unit.Mbit {
		v.Limiter = model.PathLoss
		v.Alternatives = []model.Alternative{{Limiter: model.ApplicationSource}}
	}
	return model.Results{Outcome: model.Outcome{Verdict: v}}, explain.Case{LineRate: model.Known(unit.Gbit)}, nil
}

func (s *fakeStage) Measure(_ context.Context, w model.Workload) (unit.BitRate, error) {
	return s.goodput(w), nil
}
func (s *fakeStage) Down(context.Context) error {
	*s.downs++
	if s.stays {
		return errors.New("a process does not end")
	}
	return nil
}
func (s *fakeStage) Topology() topology.Topology                         { return s.topo }
func (s *fakeStage) Shapes(link string) [2]topology.Shape                { return s.shapes[link] }
func (s *fakeStage) SwitchMTU(context.Context, string, int) (int, error) { return 9000, nil }
func (s *fakeStage) Reshape(_ context.Context, link string, dir int, change func(*topology.Shape)) error {
	pair := s.shapes[link]
	change(&pair[dir])
	s.shapes[link] = pair
	return nil
}
func (s *fakeStage) Sysctl(context.Context, string, string, string) (string, error) { return "x", nil }
func (s *fakeStage) Features(_ context.Context, _, _ string, want map[string]bool) (map[string]bool, error) {
	return want, nil
}
func (s *fakeStage) SetMTU(context.Context, string, string, int) (int, error) { return 1500, nil }
func (s *fakeStage) Run(context.Context, string, ...string) ([]byte, error)   { return nil, nil }
func (s *fakeStage) Start(context.Context, string, string, ...string) (func() error, error) {
	return func() error { return nil }, nil
}

func newJudge(downs *int) (*judge, *[]*fakeStage) {
	var built []*fakeStage
	clock := time.Unix(0, 0)
	j := &judge{seed: 7, name: "test", cpu: func() (kit.CPU, error) { return kit.CPU{}, nil }, say: func(string, ...any) {}}
	j.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	j.build = func(_ context.Context, t topology.Topology) (stage, error) {
		built = append(built, newFakeStage(t, downs))
		return built[len(built)-1], nil
	}
	return j, &built
}

func longCase(id, severity string) Case {
	return Case{Fault: id, Severity: severity, HostKind: topology.Namespace, Workload: "tcp", CC: "cubic", road: fault.LongRoad}
}

func TestJudgeMeasuresTheTruth(t *testing.T) {
	downs := 0
	j, built := newJudge(&downs)
	for _, c := range []struct {
		fault, severity string
		binds           bool
		want            outcome
	}{
		{"loss-random", "severe", true, named},
		{"slow-source", "mild", true, second},
		{"rcv-window-sysctl", "severe", false, quiet}, // costs nothing in this lab
		{"sack-off", "on", false, untold},             // and the loss beside it stays
		{healthy, "", false, quiet},
	} {
		r, err := j.run(context.Background(), longCase(c.fault, c.severity))
		if err != nil || r.Error != "" {
			t.Fatalf("%s: %v %s", c.fault, err, r.Error)
		}
		if r.Binds != c.binds || judged(r) != c.want {
			t.Errorf("%s: binds %v, %s, want %v, %s", c.fault, r.Binds, judged(r), c.binds, c.want)
		}
		if c.fault != healthy && (len(r.With) != truthPairs+1 || len(r.Without) != truthPairs) {
			t.Errorf("%s: with %v, without %v", c.fault, r.With, r.Without)
		}
		if s := (*built)[0]; s.shapes["client1-server1"] != newFakeStage(s.topo, &downs).shapes["client1-server1"] {
			t.Errorf("%s left the link as %+v", c.fault, s.shapes)
		}
	}
	if len(*built) != 1 || downs != 0 {
		t.Errorf("one road took %d labs", len(*built))
	}
}

func TestJudgeMeasuresPairs(t *testing.T) {
	downs := 0
	j, built := newJudge(&downs)
	c := longCase("loss-random+link-rate", "medium+medium")
	r, err := j.run(context.Background(), c)
	if err != nil || r.Error != "" {
		t.Fatal(err, r.Error)
	}
	p := r.Pair
	if p == nil || r.Limiter != model.PathLoss || p.Limiter != model.LinkRate {
		t.Fatalf("%+v", r)
	}
	for name, c := range map[string]struct {
		got  []unit.BitRate
		want unit.BitRate
	}{"both": {p.Both, 100 * unit.Mbit}, "first only": {p.FirstOnly, 100 * unit.Mbit}, "other only": {p.OtherOnly, 500 * unit.Mbit}, "neither": {p.Neither, unit.Gbit}} {
		if len(c.got) != truthPairs || c.got[0] != c.want || c.got[1] != c.want {
			t.Errorf("%s: %v, want %s", name, c.got, c.want)
		}
	}
	if s := (*built)[0]; s.shapes["client1-server1"] != newFakeStage(s.topo, &downs).shapes["client1-server1"] {
		t.Errorf("the link was left as %+v", s.shapes)
	}
	for want, causes := range map[string][]model.LimiterID{
		bothInOrder: {model.PathLoss, model.LinkRate}, bothReversed: {model.LinkRate, model.PathLoss},
		firstBinding: {model.PathLoss}, otherOfTheTwo: {model.LinkRate}, neitherNamed: {model.Pacing},
	} {
		if r.Causes = causes; judgedPair(r) != want {
			t.Errorf("%v: %s, want %s", causes, judgedPair(r), want)
		}
	}
	p.FirstOnly = p.Neither
	if got := judgedPair(r); got != oneCosts {
		t.Errorf("a fault that costs nothing: %s", got)
	}
	p.FirstOnly, p.OtherOnly = p.Both, p.Both
	if r.Causes = []model.LimiterID{model.LinkRate, model.PathLoss}; judgedPair(r) != bothInOrder {
		t.Errorf("two that bind alike: %s", judgedPair(r))
	}
}

func TestRecord(t *testing.T) {
	downs := 0
	j, _ := newJudge(&downs)
	dir := t.TempDir()
	j.record = recorder(dir)
	if _, err := j.run(context.Background(), longCase("loss-random", "severe")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "loss-random.severe.tcp.cubic.0.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if b, err = d.DecodeAll(b, nil); err != nil {
		t.Fatal(err)
	}
	var got recording
	if err := json.Unmarshal(b, &got); err != nil || got.Name != "loss-random.severe.tcp.cubic.0" || got.Case.LineRate.Or(0) != unit.Gbit {
		t.Errorf("%v in %s", err, b)
	}
}

// TestFailedCaseGetsANewLab: the error is a line of the results, and the lab
// that may be in any state is not used again.
func TestFailedCaseGetsANewLab(t *testing.T) {
	downs := 0
	j, built := newJudge(&downs)
	if _, err := j.run(context.Background(), longCase(healthy, "")); err != nil {
		t.Fatal(err)
	}
	(*built)[0].broken = true
	r, err := j.run(context.Background(), longCase(healthy, ""))
	if err != nil || r.Error != "the agent is gone" || downs != 1 {
		t.Errorf("%v, %q, %d labs taken down", err, r.Error, downs)
	}
	if r, err = j.run(context.Background(), longCase(healthy, "")); err != nil || r.Error != "" || len(*built) != 2 {
		t.Errorf("after it: %v, %q, %d labs", err, r.Error, len(*built))
	}
}

// TestGoesOnBesideALabThatStays: all cases are run, and the end tells of the lab.
func TestGoesOnBesideALabThatStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	downs := 0
	j, built := newJudge(&downs)
	build, labs := j.build, 0
	j.build = func(ctx context.Context, topo topology.Topology) (stage, error) {
		s, err := build(ctx, topo)
		last := (*built)[len(*built)-1]
		last.broken, last.stays = labs == 0, labs == 0
		labs++
		return s, err
	}
	err := runCases(t.Context(), j, []Case{longCase(healthy, ""), longCase("loss-random", "severe")}, path)
	if s := (stayed)(nil); !errors.As(err, &s) || len(s) != 1 || !strings.Contains(err.Error(), "a process does not end") {
		t.Errorf("%v", err)
	}
	got, err := readResults(path)
	if err != nil || len(got) != 2 || got[0].Error != "the agent is gone" || got[1].Error != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if len(*built) != 2 || downs != 2 {
		t.Errorf("%d labs, %d taken down", len(*built), downs)
	}
}

func TestResumeRunsWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	downs := 0
	cases := []Case{longCase("loss-random", "mild"), longCase("loss-random", "severe"), longCase(healthy, "")}
	j, _ := newJudge(&downs)
	if err := runCases(context.Background(), j, cases[:1], path); err != nil {
		t.Fatal(err)
	}
	// Killed in the middle of a line.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, b[:len(b)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	j.say = func(_ string, args ...any) { said = append(said, args[2].(Result).Key()) }
	if err := runCases(context.Background(), j, cases, path); err != nil {
		t.Fatal(err)
	}
	if len(said) != 2 {
		t.Errorf("ran %v", said)
	}
	got, err := readResults(path)
	if err != nil || len(got) != 3 {
		t.Errorf("%d results, %v", len(got), err)
	}
	if downs != 2 {
		t.Errorf("%d labs taken down, want one a run", downs)
	}
}

// TestInterrupted: half a case leaves no line and no lab.
func TestInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	downs := 0
	j, _ := newJudge(&downs)
	ctx, cancel := context.WithCancel(context.Background())
	build := j.build
	j.build = func(ctx context.Context, topo topology.Topology) (stage, error) {
		cancel()
		return build(ctx, topo)
	}
	err := runCases(ctx, j, []Case{longCase("loss-random", "mild")}, path)
	if err == nil || !strings.Contains(err.Error(), "interrupted after 0 of 1 cases") || downs != 1 {
		t.Errorf("%v, %d labs taken down", err, downs)
	}
	if got, err := readResults(path); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestReadResultsRefuses(t *testing.T) {
	for text, want := range map[string]string{"{}\n": ":1: version 0", "{\"v\":2}\nx\n": ":2: "} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readResults(path); err == nil || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBinds(t *testing.T) {
	rates := func(v ...float64) []unit.BitRate {
		var out []unit.BitRate
		for _, x := range v {
			out = append(out, unit.BitRate(x))
		}
		return out
	}
	for name, c := range map[string]struct {
		with, without []unit.BitRate
		ratio         float64 // 0: none
		yes           bool
	}{
		"clear":                       {rates(100, 100), rates(110, 110), 1.1, true},
		"too small":                   {rates(100, 100), rates(104, 104), 1.04, false},
		"within the noise":            {rates(100, 130), rates(104, 150), math.Sqrt(15600.0 / 13000), false},
		"worse without":               {rates(110), rates(100), 100.0 / 110, false},
		"strikes seldom":              {rates(80, 100, 100), rates(100, 100), math.Cbrt(1 / 0.8), true},
		"spared the judged run":       {rates(100, 50, 50), rates(100, 101), math.Sqrt(1.01) / math.Cbrt(0.25), false},
		"from nothing":                {rates(0, 0), rates(900, 900), 0, true},
		"from nothing, not always so": {rates(0, 50), rates(900, 900), 0, true},
		"nothing either way":          {rates(0), rates(0), 0, false},
		"not measured":                {nil, nil, 0, false},
	} {
		ratio, yes := binds(c.with, c.without)
		if yes != c.yes || (ratio == nil) != (c.ratio == 0) || ratio != nil && math.Abs(*ratio-c.ratio) > 1e-9 {
			t.Errorf("%s: %v, %v", name, ratio, yes)
		}
	}
}

func TestMatrix(t *testing.T) {
	all, quick := matrix(false, 1), matrix(true, 1)
	keys := map[string]bool{}
	for _, c := range all {
		if keys[c.Key()] {
			t.Errorf("%s is there twice", c.Key())
		}
		keys[c.Key()] = true
	}
	for _, c := range quick {
		if !keys[c.Key()] {
			t.Errorf("%s is in the quick matrix alone", c.Key())
		}
	}
	// At 12 s a case, 18 s with storage, 24 s of two faults: less than an hour, and 8 minutes.
	if len(all) < 80 || len(all) > 215 || len(quick) < 15 || len(quick) > 40 {
		t.Errorf("%d cases, %d quick ones", len(all), len(quick))
	}
	var parts []string
	for i := 1; i <= 3; i++ {
		for _, c := range shard(all, i, 3, 9) {
			parts = append(parts, c.Key())
		}
	}
	slices.Sort(parts)
	if len(slices.Compact(parts)) != len(all) {
		t.Errorf("three shards hold %d of %d cases", len(parts), len(all))
	}
	a, b := shard(all, 1, 1, 9), shard(all, 1, 1, 9)
	if !slices.Equal(a, b) {
		t.Error("the same seed gave another order")
	}
	for i := 1; i < len(a); i++ {
		if rank(a[i].road) < rank(a[i-1].road) {
			t.Fatal("roads are mixed: each change of road builds a lab")
		}
	}
}

func TestChosenRefuses(t *testing.T) {
	for _, s := range []string{"", "0/2", "3/2", "1/0", "1/2x", "a/b"} {
		if _, err := chosen(options{shard: s, repeats: 1}); err == nil {
			t.Errorf("shard %q was taken", s)
		}
	}
	if _, err := chosen(options{shard: "1/1", repeats: 1, only: "no such case"}); err == nil {
		t.Error("no case at all was taken")
	}
}
