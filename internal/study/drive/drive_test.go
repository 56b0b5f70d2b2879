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

func TestThreats(t *testing.T) {
	f := fileOf(2)
	f.Budget = 2*8*8*time.Second + 70*time.Second
	d := begin(t, f)
	drift := 0.0
	finish(t, d, path{noise: func() float64 { drift += 0.004; return drift }, took: 8 * time.Second})
	ids := ""
	for _, w := range findings(t, d).Threats {
		ids += w.ID + " "
		if w.What == "" || w.Next == "" {
			t.Errorf("%+v", w)
		}
	}
	if ids != "drift autocorrelation " {
		t.Errorf("%s", ids)
	}
}

// Runs that were served by their own host are said of the whole study, if they count.
func TestCacheThreats(t *testing.T) {
	cached := []model.Warning{{ID: FromCache}}
	d := &Drive{file: fileOf(1), runs: []model.StudyRun{
		{Workload: "bulk", Counted: true, Warnings: cached}, {Workload: "bulk", Counted: true}, {Workload: "bulk", Warnings: cached}, {Workload: "other", Counted: true, Warnings: cached}}}
	d.file.Workloads[0].Name = "bulk"
	got := d.cacheThreats()
	if len(got) != 1 || !strings.HasPrefix(got[0].What, "in 1 of 2 runs of bulk data came from the page cache") || got[0].Next == "" {
		t.Errorf("%+v", got)
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
