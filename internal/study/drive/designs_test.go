package drive

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
	"linerate/internal/study/file"
)

func TestPaper(t *testing.T) {
	d := begin(t, paperFile())
	values := map[string][]float64{"": {100, 80, 120, 100, 100, 101}, "f1": {110, 110, 110}, "f2": {102, 102, 102}, "f3": {50, 100, 50, 50, 100, 50, 50, 100, 50}}
	for n := 1; ; n++ {
		w, ok := d.Next(0)
		if !ok {
			break
		}
		r := w.Run()
		r.N, r.Counted, r.Unit, r.Value = n, true, "bit/s", &values[w.Factor][0]
		values[w.Factor] = values[w.Factor][1:]
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	s := findings(t, d)
	if diff := cmp.Diff("f1 on: gain\nf2 on: no effect above margin\nf3 on: runs never agreed", conclusions(s)); diff != "" {
		t.Error(diff)
	}
	if len(s.Discarded) != 4 || s.Discarded[0].Runs[0] != 1 || s.Discarded[0].Values[2] != 120 || s.Discarded[0].RSD < 0.19 {
		t.Errorf("%+v", s.Discarded)
	}
	if c := s.Comparisons[0]; c.P != nil || c.CILow != nil || math.Abs(*c.Ratio-110/100.333) > 1e-3 || c.N != 3 {
		t.Errorf("%+v", c)
	}
}

// The sequence of Dell's tables: default, jumbo, baseline, then each setting
// against the baseline.
func TestPaperSequence(t *testing.T) {
	f := sequenceFile()
	f.Protocol = paperFile().Protocol
	f.Protocol.Design = file.Sequence
	d := begin(t, f)
	runs := finish(t, d, path{noise: quiet(), steps: []float64{math.Log(1.5), 0}, effects: map[string]float64{"f2 on": math.Log(0.7)}})
	var order []string
	for _, r := range runs {
		order = append(order, fmt.Sprintf("%d %s%s", r.Steps, r.Factor, r.Level))
	}
	if got, want := strings.Join(order, ","), "0 ,0 ,0 ,1 baselinejumbo,1 baselinejumbo,1 baselinejumbo,2 baselinerings,2 baselinerings,2 baselinerings,2 f1on,2 f1on,2 f1on,2 f2on,2 f2on,2 f2on"; got != want {
		t.Errorf("%s", got)
	}
	s := findings(t, d)
	if diff := cmp.Diff("baseline jumbo: gain\nbaseline rings: no effect above margin\nf1 on: no effect above margin\nf2 on: loss", conclusions(s)); diff != "" {
		t.Error(diff)
	}
	if math.Abs(*s.Comparisons[0].Ratio-1.5) > 1e-9 || s.Recommended[0].Setting != "mtu" {
		t.Errorf("%+v %+v", s.Comparisons[0], s.Recommended)
	}
}

func TestSequence(t *testing.T) {
	d := begin(t, sequenceFile())
	finish(t, d, path{noise: steady(0.002, 6), steps: []float64{math.Log(1.5), 0}, effects: map[string]float64{"f2 on": math.Log(0.7)}})
	if diff := cmp.Diff("baseline jumbo: gain\nbaseline rings: no effect above margin\nf1 on: no effect above margin\nf2 on: loss", conclusions(findings(t, d))); diff != "" {
		t.Error(diff)
	}
}

func TestCrossed(t *testing.T) {
	f := crossedFile()
	f.Factors[0].Hard = true
	f.Protocol.Design = file.SplitPlot
	d := begin(t, f)
	runs := finish(t, d, path{noise: steady(0.01, 11), effects: map[string]float64{"f1 on": 0.05, "f3 on": -0.1}})
	if diff := cmp.Diff("f1 on: gain\nf2 on: no effect above margin\nf3 on: loss", conclusions(findings(t, d))); diff != "" {
		t.Error(diff)
	}
	changes := 0
	for i, r := range runs {
		if r.Stage == StageCompare && r.Block == 1 && runs[i-1].Stage == StageCompare && (r.Levels["f1"] == "") != (runs[i-1].Levels["f1"] == "") {
			changes++
		}
	}
	if changes != 1 {
		t.Errorf("the hard factor changes %d times in a block", changes)
	}
	screening := fileOf(11)
	screening.Protocol.Design = file.PlackettBurman
	d = begin(t, screening)
	finish(t, d, path{noise: steady(0.01, 12), effects: map[string]float64{"f4 on": 0.06}})
	s := findings(t, d)
	for _, c := range s.Comparisons {
		if (c.Conclusion == model.StudyGain) != (c.Factor == "f4") {
			t.Errorf("%s: %s", c.Factor, c.Conclusion)
		}
	}
}

// A design that needs all levels ends with one that cannot be tried.
func TestCrossedWithoutALevel(t *testing.T) {
	d := begin(t, crossedFile())
	if err := d.GiveUp("f2", "on", model.StudyNotTried, "the operator skipped it"); err != nil {
		t.Fatal(err)
	}
	finish(t, d, path{noise: quiet()})
	s := findings(t, d)
	if s.Complete || !strings.Contains(s.Ended, "could not be tried") || s.Comparisons[1].Conclusion != model.StudyNotTried {
		t.Errorf("%s: %s", s.Ended, conclusions(s))
	}
}

// What was in force before stands among the findings, changes no correction, and
// needs no run.
func TestLeftOutIsTold(t *testing.T) {
	f := fileOf(1)
	f.Workloads = append(f.Workloads, f.Workloads[0])
	f.Workloads[1].Name = "second"
	f.LeftOut = []model.StudyFactor{{Name: "sack", Levels: []model.StudyLevel{{Name: "on", Set: []model.StudySetting{{Host: "a", Setting: "s", Value: "1"}}}}}}
	d, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Comparisons()
	if err != nil {
		t.Fatal(err)
	}
	var told []model.StudyComparison
	for _, c := range all {
		if c.Factor == "sack" {
			told = append(told, c)
		}
	}
	if len(all) != 4 || len(told) != 2 || !told[0].Primary || told[1].Primary {
		t.Fatalf("%+v", all)
	}
	for _, c := range told {
		if c.Level != "on" || c.Conclusion != model.StudyInForce || c.Why == "" || c.Ratio != nil || c.P != nil || c.PHolm != nil || c.N != 0 {
			t.Errorf("%+v", c)
		}
	}
	if w, more := d.Next(0); !more || w.Factor == "sack" {
		t.Errorf("%+v, %v", w, more)
	}
	if n := len(d.holm(deciding)); n != 1 {
		t.Errorf("corrected for %d", n)
	}
}
