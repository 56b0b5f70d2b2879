package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestRatiosInWords(t *testing.T) {
	for ratio, want := range map[float64][2]string{
		1: {"100.0%", "±0%"}, 1.1234: {"112%", "+12%"}, 0.994: {"99.4%", "−0.6%"}, 0.7: {"70%", "−30%"}, 1.0996: {"110%", "+10%"},
		7.6: {"760%", "7.60×"}, 2.5: {"250%", "+150%"}, 0: {"0%", "−100%"}, math.Inf(1): {unknown, unknown}, math.NaN(): {unknown, unknown},
	} {
		if a, b := relative(&ratio), change(&ratio); a != want[0] || b != want[1] {
			t.Errorf("%v: %q and %q, want %q", ratio, a, b, want)
		}
	}
	if relative(nil) != unknown || change(nil) != unknown {
		t.Error("what is not known has a number")
	}
	lo, hi := 1.09, 1.14
	for _, c := range []struct {
		lo, hi *float64
		want   string
	}{{&lo, &hi, "+9.0% to +14%"}, {&lo, nil, "from +9.0%, not bounded above"}, {nil, &hi, "up to +14%"}, {nil, nil, ""}} {
		if got := interval(c.lo, c.hi, change); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{9.41e9, "bit/s", "9.41 Gbit/s"}, {41349, "1/s", "41\u00a0300 requests/s"}, {950, "1/s", "950 requests/s"}, {1234567, "1/s", "1\u00a0230\u00a0000 requests/s"}, {2.5, "frames", "2.5 frames"}, {math.NaN(), "1/s", unknown}} {
		if got := outcome(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	for share, want := range map[float64]string{0: "0%", 0.00041: "0.041%", 0.0012: "0.12%", 0.42: "42%"} {
		if got := fine(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}

// twoSteps is a study whose baseline has two steps, with a factor, and a
// crossed pair.
func twoSteps() *model.Study {
	return &model.Study{File: model.StudyFile{Baseline: []model.StudyLevel{{Name: "jumbo"}, {Name: "buffers"}}, Factors: []model.StudyFactor{
		{Name: "streams", Levels: []model.StudyLevel{{Name: "4"}}}, {Name: "window", Levels: []model.StudyLevel{{Name: "1m"}}}}}}
}

func TestWhichStateARunIsOf(t *testing.T) {
	s := twoSteps()
	for _, c := range []struct {
		run  model.StudyRun
		want string
	}{
		{model.StudyRun{Steps: 2}, "Baseline"}, {model.StudyRun{Steps: 0}, "As found"}, {model.StudyRun{Steps: 1}, "Step: jumbo"},
		{model.StudyRun{Factor: "baseline", Level: "jumbo", Steps: 1}, "Step: jumbo"},
		{model.StudyRun{Factor: "baseline", Level: "buffers", Steps: 2}, "Baseline"}, // its last step is the baseline
		{model.StudyRun{Factor: "streams", Level: "4", Steps: 2}, "streams: 4"},
		{model.StudyRun{Levels: map[string]string{"window": "1m", "streams": "4"}, Steps: 2}, "streams × window: 4 × 1m"},
	} {
		if got := stateOf(s, c.run, 2).name(); got != c.want {
			t.Errorf("%+v is of %q, want %q", c.run, got, c.want)
		}
	}
	s.Runs = []model.StudyRun{{Factor: "streams", Level: "4", Steps: 2}, {Steps: 2}, {Factor: "baseline", Level: "jumbo", Steps: 1}, {}}
	s.Comparisons = []model.StudyComparison{{Factor: "baseline", Level: "buffers"}, {Factor: "window", Level: "1m"}}
	var names []string
	for _, x := range statesOf(s) {
		names = append(names, x.name())
	}
	if want := []string{"As found", "Step: jumbo", "Step: buffers", "Baseline", "streams: 4", "window: 1m"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	// A study that never counted steps has one baseline.
	if got := stateOf(&model.Study{}, model.StudyRun{}, 0); !got.baseline() {
		t.Errorf("%+v", got)
	}
}

func TestAANoise(t *testing.T) {
	run := func(block int, v float64) model.StudyRun {
		return model.StudyRun{Stage: "a/a", Workload: "w", Block: block, Value: &v, Counted: true}
	}
	s := &model.Study{Runs: []model.StudyRun{run(1, 100), run(1, 110), run(2, 110), run(2, 100), run(3, 5)}}
	s.Runs = append(s.Runs, model.StudyRun{Stage: "compare", Workload: "w"}, model.StudyRun{Stage: "a/a", Workload: "other"})
	a := aaOf(s, "w")
	if a.n != 2 || math.Abs(a.mean-1) > 1e-12 || math.Abs(a.noise-0.1) > 1e-12 || a.ratios[0] <= 1 || a.ratios[1] >= 1 {
		t.Errorf("%+v: want two pairs, even in the mean, that differ by 10%%", a)
	}
}

func TestTheAnswerDoesNotClaimWhatWasNotShown(t *testing.T) {
	r := 1.2
	with := func(protocol string, cs ...string) *model.Study {
		s := &model.Study{Protocol: protocol, Primary: "w", File: model.StudyFile{Protocol: model.StudyProtocol{Margin: 1.02}}}
		for _, c := range cs {
			s.Comparisons = append(s.Comparisons, model.StudyComparison{Factor: "f", Level: c, Workload: "w", Primary: true, Ratio: &r, Conclusion: c})
		}
		return s
	}
	for want, s := range map[string]*model.Study{
		"Nothing was compared": with("linerate"),
		"Not decided: no effect on w was shown, and none excluded":  with("linerate", model.StudyUndecided, model.StudyUndecided),
		"No change was shown to pay on w; 1 of 2 are not decided":   with("linerate", model.StudyNoEffect, model.StudyUndecided),
		"None of 2 changes pays on w":                               with("linerate", model.StudyNoEffect, model.StudyNoEffect),
		"f loss does not pay on w; f loss costs +20%":               with("linerate", model.StudyLoss),
		"One of 2 changes pays: f gain (+20% on w)":                 with("linerate", model.StudyGain, model.StudyNoEffect),
		"No change was shown to pay on w; 2 of 2 were not measured": with("linerate", model.StudyNotInForce, model.StudyNotTried),
	} {
		if got := headlineOf(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	paper := answersOf(with("paper", model.StudyNoEffect))
	if len(paper) != 1 || strings.Contains(paper[0].Name, "Did nothing") || !strings.Contains(paper[0].Name, "excludes no effect") {
		t.Errorf("three runs are said to exclude an effect: %+v", paper)
	}
}

func TestTheBusiestCoresAreKept(t *testing.T) {
	var row []span
	for i := range 40 {
		row = append(row, span{N: 1, Mean: float64(i%20) / 20})
	}
	keep := busiest([][]span{row}, 40)
	if len(keep) != maxCores || !slices.IsSorted(keep) || !slices.Contains(keep, 19) || !slices.Contains(keep, 39) || slices.Contains(keep, 0) {
		t.Errorf("%v", keep)
	}
}

func TestTheMedianCourseIsBySecond(t *testing.T) {
	got := medianCourse([]model.StudyRun{{PerSecond: []float64{1, 10, 5}}, {PerSecond: []float64{3, 20}}, {PerSecond: []float64{2, 12}}}, perSecond)
	if want := []float64{2, 12, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestScalingTakesOnlyWhatVariesTheNumber(t *testing.T) {
	value := 1.0
	s := &model.Study{File: model.StudyFile{Workloads: []model.StudyWorkload{{Name: "w", Streams: 1, Senders: []string{"a"}, Receivers: []string{"b"}}}, Factors: []model.StudyFactor{
		{Name: "streams", Levels: []model.StudyLevel{{Name: "2", Workload: map[string]string{"streams": "2"}}, {Name: "4", Workload: map[string]string{"streams": "4"}}}},
		{Name: "mtu", Levels: []model.StudyLevel{{Name: "9000", Set: []model.StudySetting{{Setting: "linux.link.mtu", Value: "9000"}}}}}}}}
	add := func(levels map[string]string) {
		s.Runs = append(s.Runs, model.StudyRun{Workload: "w", Levels: levels, Value: &value, Counted: true, Unit: "bit/s"})
	}
	add(nil)
	add(map[string]string{"streams": "2"})
	add(map[string]string{"streams": "4"})
	add(map[string]string{"mtu": "9000"})
	add(map[string]string{"streams": "4", "mtu": "9000"})
	w := &paperWriter{r: &model.Results{}, s: s, states: statesOf(s)}
	points := w.along("w", "streams")
	if len(points) != 3 || points[2].x != 4 || len(points[2].runs) != 1 {
		t.Errorf("%+v", points)
	}
}

func TestRunsOfGroupsThatDidNotAgreeAreNotCounted(t *testing.T) {
	v := 1.0
	run := func(n int) model.StudyRun {
		return model.StudyRun{N: n, Workload: "w", Value: &v, Counted: true, Unit: "bit/s"}
	}
	s := &model.Study{Protocol: "paper", Primary: "w", Runs: []model.StudyRun{run(1), run(2), run(3), run(4)}, Discarded: []model.StudyDiscarded{{Workload: "w", Runs: []int{1, 2}, Values: []float64{1, 2}}}}
	w := &paperWriter{r: &model.Results{}, s: s, states: statesOf(s), dropped: droppedRuns(s)}
	if got := w.counted(state{}, "w"); len(got) != 2 || got[0].N != 3 {
		t.Errorf("%+v", got)
	}
	if got := w.tiles()[1]; got.Value != "4" || !strings.HasPrefix(got.Note, "2 counted") {
		t.Errorf("%+v", got)
	}
}

func TestFactsAreFoundByNameOrReach(t *testing.T) {
	f := map[string]*model.Facts{"192.0.2.1": {Hostname: "a"}, "client1": {Hostname: "b"}, "root@nas1": {Hostname: "c"}, "nas2": {Hostname: "d"}}
	w := &paperWriter{facts: f, s: &model.Study{File: model.StudyFile{Hosts: map[string]string{"x": "root@192.0.2.1", "y": "lab:client1", "z": "root@nas1", "none": "elsewhere", "named": "lab:office/client1", "site": "site:hq/nas2"}}}}
	for host, want := range map[string]string{"x": "a", "y": "b", "z": "c", "named": "b", "site": "d"} {
		if got := w.factsOf(host); got == nil || got.Hostname != want {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if got := w.factsOf("none"); got != nil {
		t.Errorf("%+v", got)
	}
}
