package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/report/studytest"
)

// papers are the studies that the white paper is tested with.
func papers() map[string]renderCase {
	of := func(e studytest.Example) renderCase { return renderCase{e.Results, e.Samples, e.Facts} }
	odd := studytest.Adapter("linerate")
	odd.Results.Study = oddStudy()
	return map[string]renderCase{
		"study":         of(studytest.Adapter("linerate")),
		"study-paper":   of(studytest.Adapter("paper")),
		"study-clients": of(studytest.Clients()),
		"study-windows": of(studytest.Windows()),
		"study-frames":  of(studytest.Frames()),
		"study-empty":   {&model.Results{Study: &model.Study{}}, nil, nil},
		"study-odd":     of(odd),
	}
}

func TestPaperGolden(t *testing.T) {
	for _, name := range []string{"study", "study-paper", "study-clients", "study-windows", "study-frames", "study-empty"} {
		c := papers()[name]
		same(t, name+".html", []byte(render(t, c)))
		var buf bytes.Buffer
		if err := Markdown(&buf, c.results, c.samples, c.facts); err != nil {
			t.Fatal(err)
		}
		same(t, name+".md", buf.Bytes())
		buf.Reset()
		if err := Text(&buf, c.results, false, 100); err != nil {
			t.Fatal(err)
		}
		same(t, name+".txt", buf.Bytes())
	}
}

// oddStudy holds what a hostile or broken bundle might.
func oddStudy() *model.Study {
	bad := hostileRun().Hosts[0]
	nan, inf := nans()
	run := model.StudyRun{N: -1, Label: bad, Stage: bad, Factor: bad, Level: bad, Workload: bad, Value: &nan, Unit: bad, Counted: true, Why: bad, Retransmitted: &inf,
		CPU: map[string]float64{bad: nan}, PerCore: map[string][]float64{bad: {nan, inf, -3}}, PerSecond: []float64{nan, inf, -1, 1e300}, PerClient: map[string]float64{bad: nan}, P50: -1}
	good := run
	one := 1.0
	good.Value, good.Factor, good.Level = &one, "", ""
	c := model.StudyComparison{Factor: bad, Level: bad, Workload: bad, Primary: true, Ratio: &inf, CILow: &nan, CIHigh: &inf, P: &nan, PHolm: &nan, Smallest: &inf, Conclusion: bad, Unit: bad, Baseline: nan}
	gain := c
	gain.Conclusion = model.StudyGain
	file := model.StudyFile{Hosts: map[string]string{bad: bad}, Workloads: []model.StudyWorkload{{Name: bad, Kind: bad, Senders: []string{bad}, Receivers: []string{bad}, Streams: 1, RecvBuffer: 1}},
		Factors: []model.StudyFactor{{Name: bad, Levels: []model.StudyLevel{{Name: bad, Workload: map[string]string{"streams": "none", "clients": "0", "recv_buffer": bad}}}}}, Protocol: model.StudyProtocol{Margin: nan, RSD: nan}}
	return &model.Study{Name: bad, Question: bad, File: file, Primary: bad, Runs: []model.StudyRun{run, good}, Comparisons: []model.StudyComparison{c, gain},
		Discarded:   []model.StudyDiscarded{{Factor: bad, Values: []float64{nan}, Runs: []int{1, 2}, RSD: inf}},
		Recommended: []model.StudyAdvice{{Factor: bad, Setting: bad, Value: bad}}, Reverted: []model.StudyAdvice{{Instruct: bad}}, Threats: []model.Warning{{What: bad, Next: bad}}, Assumptions: []string{bad}}
}

func TestPaperSaysWhatAReaderNeeds(t *testing.T) {
	for name, wants := range map[string][]string{
		"study": {"of 9 changes", "relative to the state before each step of the baseline", "Recommended configuration", "ring buffers: maximum", "no effect above 2%", "not in force", "the operator skipped it", "230 Mbit/s of other traffic",
			"Planned looks", "after 8, 12, 20, 32 blocks", "Figure 1.", "least round trip 2 ms", "PCIe 8 GT/s ×4 of 8 GT/s ×8", "CPU utilisation and retransmitted segments", "busy share of each core of client1",
			"A/A: pairs of runs", "Threats to validity", "Seed of every order", "linerate report 20261121-093000-study-k4wd --format csv", "move the adapter of client1 to the ×8 slot", "Dell BP1057, tables 4 and 5"},
		"study-paper":   {"It has no randomised order, no interval and no test", "Groups of runs that did not agree", "8.3%", "margin ± 5%"},
		"study-clients": {"goodput as clients are added", "linear from the first", "ceiling 941 Mbit/s", "Scope: machine"},
		"study-frames":  {"playout: bytes of a frame over the time in which it was moved, in Gbit/s", "plays 2 streams of hd-yuv10 at 50 frames per second below /mnt/nas of client1", "10 of 500 frames were not in time", "median by frame between"},
		"study-windows": {"streams (down)", "the least that a connection of this study saw", "13.1 Mbit/s"},
	} {
		page := render(t, papers()[name])
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not say %q", name, want)
			}
		}
	}
}

func TestAnUnrestoredStudyIsSaid(t *testing.T) {
	c := papers()["study"]
	c.results.Study.Restored = false
	ended := c.results.Study.Ended
	c.results.Study.Ended = model.StudyNotOver
	if page := render(t, c); strings.Contains(page, "NOT restored") || strings.Contains(page, "NOT every change") || strings.Count(page, "not over") < 2 {
		t.Error("of a study that is not over it is not known what is in force")
	}
	c.results.Study.Ended = ended
	if page := render(t, c); strings.Count(page, "NOT restored") < 2 {
		t.Error("the page hides that a change is still in place")
	}
}

func nans() (nan, inf float64) { return math.NaN(), math.Inf(1) }

func TestALongStudyMakesNoHeavyPage(t *testing.T) {
	e := studytest.Adapter("linerate")
	s := e.Results.Study
	for i := range s.Runs {
		for range 1180 {
			s.Runs[i].PerSecond = append(s.Runs[i].PerSecond, 1e9)
		}
	}
	n := len(s.Runs)
	for i := range 2000 {
		r := s.Runs[i%n]
		r.N = n + i
		s.Runs = append(s.Runs, r)
	}
	page := render(t, renderCase{e.Results, e.Samples, e.Facts})
	if len(page) > 3_000_000 || !strings.Contains(page, "evenly chosen") {
		t.Errorf("%d bytes", len(page))
	}
}
