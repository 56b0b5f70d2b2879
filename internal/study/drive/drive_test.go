package drive

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// fileOf is a study of one tcp workload with so many factors of one level.
func fileOf(factors int) model.StudyFile {
	f := model.StudyFile{
		V: 1, Name: "t", Hosts: map[string]string{"a": "lab:a", "b": "lab:b"}, Primary: "bulk",
		Workloads: []model.StudyWorkload{{Name: "bulk", Kind: file.TCP, Senders: []string{"a"}, Receivers: []string{"b"}, Streams: 1, Duration: 5 * time.Second, Warmup: time.Second}},
		Protocol: model.StudyProtocol{
			Name: file.Linerate, Design: file.OneAtATime, Alpha: study.SequenceAlpha, Margin: study.Margin, Looks: study.PlannedBlocks(), AA: 4, Seed: 7,
		},
	}
	for i := range factors {
		f.Factors = append(f.Factors, model.StudyFactor{Name: fmt.Sprintf("f%d", i+1), Levels: []model.StudyLevel{{
			Name: "on", Set: []model.StudySetting{{Host: "a", Setting: fmt.Sprintf("s%d", i+1), Value: "1"}},
		}}})
	}
	return f
}

// path is a path whose log goodput is noise and the effects of what is in force.
type path struct {
	noise   func() float64
	effects map[string]float64 // by "factor level" and by workload
	steps   []float64          // of each step of the baseline
	took    time.Duration
}

func (p path) run(w Want, n int) model.StudyRun {
	v := p.noise() + p.effects[w.Workload]
	for factor, level := range w.State() {
		v += p.effects[factor+" "+level]
	}
	for i := range w.Steps {
		v += p.steps[i]
	}
	r := w.Run()
	x := 1e9 * math.Exp(v)
	r.N, r.Value, r.Unit, r.Counted, r.Took = n, &x, "bit/s", true, p.took
	return r
}

func quiet() func() float64 { return func() float64 { return 0 } }

// steady is noise of so much per run.
func steady(sd float64, seed uint64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	return func() float64 { return sd * rng.NormFloat64() }
}

func begin(t *testing.T, f model.StudyFile) *Drive {
	t.Helper()
	d, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// finish runs the study to its end and returns the runs.
func finish(t *testing.T, d *Drive, p path) []model.StudyRun {
	t.Helper()
	var runs []model.StudyRun
	spent := time.Duration(0)
	for {
		w, ok := d.Next(spent)
		if !ok {
			return runs
		}
		r := p.run(w, len(runs)+1)
		spent += r.Took
		runs = append(runs, r)
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		if len(runs) > 20000 {
			t.Fatal("the study does not end")
		}
	}
}

func findings(t *testing.T, d *Drive) model.Study {
	t.Helper()
	var s model.Study
	if err := d.Findings(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func conclusions(s model.Study) string {
	var out []string
	for _, c := range s.Comparisons {
		out = append(out, fmt.Sprintf("%s %s: %s", c.Factor, c.Level, c.Conclusion))
	}
	return strings.Join(out, "\n")
}

func TestOneAtATime(t *testing.T) {
	d := begin(t, fileOf(4))
	p := path{noise: steady(0.005, 1), effects: map[string]float64{"f1 on": math.Log(1.05), "f2 on": math.Log(0.8)}, took: 8 * time.Second}
	runs := finish(t, d, p)
	s := findings(t, d)
	if diff := cmp.Diff("f1 on: gain\nf2 on: loss\nf3 on: no effect above margin\nf4 on: no effect above margin", conclusions(s)); diff != "" {
		t.Error(diff)
	}
	if !s.Complete || s.Ended != "every comparison came to its end" || len(s.Threats) != 0 {
		t.Errorf("%v, %s, %+v", s.Complete, s.Ended, s.Threats)
	}
	want := []model.StudyAdvice{{Host: "a", Setting: "s1", Value: "1", Factor: "f1", Why: s.Recommended[0].Why}}
	if diff := cmp.Diff(want, s.Recommended); diff != "" || !strings.Contains(want[0].Why, "times the baseline's") {
		t.Errorf("%s %s", want[0].Why, diff)
	}
	for i, r := range runs[:8] {
		if r.Stage != StageAA || r.Factor != "" {
			t.Errorf("run %d is no A/A run: %+v", i+1, r)
		}
	}
	for i := 8; i < len(runs); i += 2 {
		a, b := runs[i], runs[i+1]
		if a.Factor == b.Factor || a.Factor+" "+a.Level != b.Against && b.Factor+" "+b.Level != a.Against || a.Block != b.Block {
			t.Errorf("runs %d and %d do not stand side by side: %+v %+v", i+1, i+2, a, b)
		}
	}
	c := s.Comparisons[0]
	if c.N > 12 || c.Made != 2*c.N || *c.CILow > 1.05 || *c.CIHigh < 1.05 || *c.P > 0.01 || *c.PHolm < *c.P || c.Unit != "bit/s" {
		t.Errorf("%+v", c)
	}
}

// Wherever a study was killed, the runs on record lead to the same next run and
// in the end to the same findings.
func TestResume(t *testing.T) {
	for _, f := range []model.StudyFile{fileOf(3), crossedFile(), paperFile(), sequenceFile()} {
		p := path{noise: steady(0.01, 2), effects: map[string]float64{"f1 on": 0.05}, steps: []float64{0.1, 0}, took: 8 * time.Second}
		d := begin(t, f)
		runs := finish(t, d, p)
		want := findings(t, d)
		for kill := 0; kill <= len(runs); kill += 1 + kill/8 {
			again := begin(t, f)
			spent := time.Duration(0)
			for _, r := range runs[:kill] {
				if err := again.Add(r); err != nil {
					t.Fatal(err)
				}
				spent += r.Took
			}
			w, ok := again.Next(spent)
			if ok != (kill < len(runs)) || ok && !w.same(runs[kill]) {
				t.Fatalf("%s: killed after %d runs: goes on with %v, %v; was %+v", f.Protocol.Design, kill, w, ok, runs[min(kill, len(runs)-1)])
			}
			if kill < len(runs) {
				continue
			}
			if diff := cmp.Diff(want, findings(t, again)); diff != "" {
				t.Errorf("%s: %s", f.Protocol.Design, diff)
			}
		}
	}
}

func crossedFile() model.StudyFile {
	f := fileOf(3)
	f.Protocol.Design = file.Factorial
	return f
}

func paperFile() model.StudyFile {
	f := fileOf(3)
	f.Protocol = model.StudyProtocol{Name: file.Paper, Design: file.OneAtATime, Margin: 1.05, Runs: 3, RSD: 0.01, Most: 3, Seed: 7}
	return f
}

func sequenceFile() model.StudyFile {
	f := fileOf(2)
	f.Protocol.Design = file.Sequence
	f.Baseline = []model.StudyLevel{
		{Name: "jumbo", Set: []model.StudySetting{{Host: "a", Setting: "mtu", Value: "9000"}}},
		{Name: "rings", Set: []model.StudySetting{{Host: "a", Setting: "ring", Value: "4096"}}},
	}
	return f
}

func TestAddRefusesRunsOfAnotherStudy(t *testing.T) {
	d := begin(t, fileOf(1))
	w, _ := d.Next(0)
	good := path{noise: quiet()}.run(w, 1)
	for name, change := range map[string]func(*model.StudyRun){
		"another factor":   func(r *model.StudyRun) { r.Stage, r.Factor = StageCompare, "f9" },
		"another workload": func(r *model.StudyRun) { r.Workload = "other" },
		"a later block":    func(r *model.StudyRun) { r.Block = 3 },
		"other steps":      func(r *model.StudyRun) { r.Steps = 1 },
	} {
		bad := good
		change(&bad)
		if err := d.Add(bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		bad := good
		bad.Value = &v
		if err := d.Add(bad); err == nil {
			t.Errorf("an outcome of %v was taken", v)
		}
	}
	if err := d.Add(good); err != nil {
		t.Error(err)
	}
	if _, err := New(model.StudyFile{}); err == nil {
		t.Error("a study without a seed")
	}
}

// A run that does not count is made again; one that never counts ends its
// comparison, visibly, and no other.
func TestRunsThatDoNotCount(t *testing.T) {
	d := begin(t, fileOf(2))
	broken := path{noise: quiet()}
	for n := 1; ; n++ {
		w, ok := d.Next(0)
		if !ok {
			break
		}
		r := broken.run(w, n)
		if n%5 == 0 || w.Factor == "f1" {
			r.Counted, r.Why = false, "the link was down"
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	s := findings(t, d)
	if got, want := conclusions(s), "f1 on: undecided\nf2 on: no effect above margin"; got != want {
		t.Errorf("%s", got)
	}
	if c := s.Comparisons[0]; !strings.Contains(c.Why, "5 times in a row") || !strings.Contains(c.Why, "the link was down") {
		t.Errorf("%+v", c)
	}
	if len(s.Threats) == 0 || s.Threats[len(s.Threats)-1].ID != "not-counted" {
		t.Errorf("%+v", s.Threats)
	}
}

func TestNotInForceIsNoEffect(t *testing.T) {
	d := begin(t, fileOf(2))
	p := path{noise: steady(0.001, 3)}
	for n := 1; ; n++ {
		w, ok := d.Next(0)
		if !ok {
			break
		}
		r := p.run(w, n)
		if w.Factor != "" {
			yes := w.Factor != "f1"
			r.Effective, r.Why = &yes, "cubic was seen, not bbr"
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	s := findings(t, d)
	c := s.Comparisons[0]
	if c.Conclusion != model.StudyNotInForce || c.Effective == nil || *c.Effective || c.Why != "cubic was seen, not bbr" {
		t.Errorf("%+v", c)
	}
	if c := s.Comparisons[1]; c.Effective == nil || !*c.Effective || c.Conclusion != model.StudyNoEffect {
		t.Errorf("%+v", c)
	}
	if err := d.GiveUp("f9", "on", model.StudyNotTried, "skipped"); err == nil {
		t.Error("a level that is not there was given up")
	}
}

// A treatment that kills the path has no ratio, and is a loss all the same.
func TestNothingMoves(t *testing.T) {
	d := begin(t, fileOf(1))
	p := path{noise: steady(0.01, 9)}
	for n := 1; ; n++ {
		w, ok := d.Next(0)
		if !ok {
			break
		}
		r := p.run(w, n)
		if w.Factor != "" {
			zero := 0.0
			r.Value = &zero
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	c := findings(t, d).Comparisons[0]
	if c.Conclusion != model.StudyLoss || c.Ratio != nil || c.CILow != nil || !strings.Contains(c.Why, "no ratio") {
		t.Errorf("%+v", c)
	}
}

// The budget goes where it decides: as many comparisons as it reaches get their
// first useful look, in the order of the file, and no look is half reached.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		minutes int
		tried   int // comparisons with runs
		looked  int // that were looked at
	}{{1, 0, 0}, {5, 1, 1}, {8, 2, 2}, {15, 4, 4}} {
		f := fileOf(4)
		f.Budget = time.Duration(c.minutes) * time.Minute
		d := begin(t, f)
		runs := finish(t, d, path{noise: steady(0.05, 4), took: 8 * time.Second})
		spent := time.Duration(len(runs)) * 8 * time.Second
		if spent > f.Budget {
			t.Errorf("%d minutes: %v were spent", c.minutes, spent)
		}
		s := findings(t, d)
		tried, looked := 0, 0
		for _, x := range s.Comparisons {
			if x.Conclusion != model.StudyNotTried {
				tried++
			}
			if x.P != nil {
				looked++
			}
			if x.P == nil && x.N != 0 {
				t.Errorf("%d minutes: %d blocks and no look: %+v", c.minutes, x.N, x)
			}
		}
		if tried != c.tried || looked != c.looked || s.Complete {
			t.Errorf("%d minutes: %d tried, %d looked at, complete %v, %d runs, %s", c.minutes, tried, looked, s.Complete, len(runs), s.Ended)
		}
	}
}

// After the first looks the next blocks go to the comparison nearest to a
// decision, not to the one that is hopeless.
func TestNearestComesFirst(t *testing.T) {
	f := fileOf(2)
	d := begin(t, f)
	noise := rand.New(rand.NewPCG(8, 8))
	p := path{noise: quiet(), took: time.Second}
	order := ""
	for n := 1; len(order) == 0; n++ {
		w, ok := d.Next(0)
		if !ok {
			t.Fatal("the study ended")
		}
		if w.Block > 8 {
			order = w.Factor + strings.TrimSuffix(w.Against, " on")
		}
		sd := map[string]float64{"f1": 0.3, "f2": 0.021}[strings.TrimSuffix(w.Factor+w.Against, " on")]
		p.noise = func() float64 { return sd * noise.NormFloat64() }
		if err := d.Add(p.run(w, n)); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(order, "f2") {
		t.Errorf("after the first looks comes %s", order)
	}
}

// A second workload is exploratory: tested at the same looks, not corrected,
// and not what the study goes on for.
func TestExploratory(t *testing.T) {
	f := fileOf(1)
	w := f.Workloads[0]
	w.Name = "small"
	f.Workloads = append(f.Workloads, w)
	d := begin(t, f)
	finish(t, d, path{noise: steady(0.003, 13), effects: map[string]float64{"f1 on": 0.05}})
	s := findings(t, d)
	if len(s.Comparisons) != 2 || s.Comparisons[1].Primary || s.Comparisons[1].PHolm != nil || s.Comparisons[1].P == nil || s.Comparisons[0].N != s.Comparisons[1].N {
		t.Errorf("%+v", s.Comparisons)
	}
	if s.Comparisons[1].Conclusion != model.StudyGain || len(s.Recommended) != 1 {
		t.Errorf("%s, %+v", conclusions(s), s.Recommended)
	}
}

// An A/A study says what the path varies by, and what that lets be seen.
func TestIdenticalRuns(t *testing.T) {
	f := fileOf(0)
	f.Protocol.AA = 20
	d := begin(t, f)
	finish(t, d, path{noise: steady(0.03, 31), took: 8 * time.Second})
	s := findings(t, d)
	if len(s.AA) != 1 || s.AA[0].N != 20 || !s.Complete || len(s.Comparisons) != 0 {
		t.Fatalf("%+v", s)
	}
	aa := s.AA[0]
	if *aa.Noise < 0.02 || *aa.Noise > 0.045 || math.Abs(*aa.Ratio-1) > 0.03 || *aa.P < 0.05 || len(aa.Looks) != 4 {
		t.Errorf("noise %v, ratio %v, p %v, %v", *aa.Noise, *aa.Ratio, *aa.P, aa.Looks)
	}
	p, err := Outline(fileOf(1), *aa.Noise, "measured")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *aa.Looks[2].Smallest, *p.Looks[2].Smallest; math.Abs(got-want) > 1e-12 || aa.Looks[2].After != 40*8*time.Second {
		t.Errorf("%v after %v, a plan has %v", got, aa.Looks[2].After, want)
	}
}

// Whatever the runs do, a study ends, and what it says of itself holds together.
func TestAnyStudyEnds(t *testing.T) {
	files := []model.StudyFile{fileOf(3), crossedFile(), paperFile(), sequenceFile(), fileOf(0)}
	files[0].Factors[1].Hard = true
	for i := range 150 / fewer {
		rng := rand.New(rand.NewPCG(uint64(i), 21))
		f := files[i%len(files)]
		f.Protocol.Seed = uint64(i + 1)
		if rng.IntN(2) == 0 {
			f.Budget = time.Duration(rng.IntN(3600)) * time.Second
		}
		d := begin(t, f)
		d.draws = 64
		wild := path{noise: steady(math.Pow(10, -3*rng.Float64()), uint64(i)), steps: []float64{0, 0}, took: time.Duration(rng.IntN(20)) * time.Second}
		spent := time.Duration(0)
		for n := 1; ; n++ {
			w, ok := d.Next(spent)
			if !ok {
				break
			}
			r := wild.run(w, n)
			switch rng.IntN(40) {
			case 0:
				r.Counted, r.Why = false, "disturbed"
			case 1:
				r.Value = nil
			case 2:
				*r.Value = 0
			case 3:
				if w.Factor != "" && rng.IntN(8) == 0 {
					if err := d.GiveUp(w.Factor, w.Level, model.StudyNotTried, "skipped"); err != nil {
						t.Fatal(err)
					}
				}
			}
			spent += r.Took
			if err := d.Add(r); err != nil {
				t.Fatalf("study %d: %v", i, err)
			}
			if n > 5000 {
				t.Fatalf("study %d does not end", i)
			}
		}
		s := findings(t, d)
		for _, c := range s.Comparisons {
			bounds := c.CILow != nil && c.CIHigh != nil && c.Ratio != nil
			switch {
			case c.Conclusion == "", bounds && (*c.CILow > *c.Ratio+1e-9 || *c.CIHigh < *c.Ratio-1e-9):
				t.Errorf("study %d: %+v", i, c)
			case c.Conclusion == model.StudyGain && bounds && *c.CILow <= 1, c.Conclusion == model.StudyLoss && bounds && *c.CIHigh >= 1:
				t.Errorf("study %d: an interval holds no effect, and it is a %s: %+v", i, c.Conclusion, c)
			case c.PHolm != nil && *c.PHolm < *c.P:
				t.Errorf("study %d: corrected downwards: %+v", i, c)
			case s.Complete && c.Conclusion == model.StudyNotTried && c.Why == "":
				t.Errorf("study %d: %+v", i, c)
			}
		}
	}
}
