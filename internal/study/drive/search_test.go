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
	"linerate/internal/study/file"
)

// searchFile has factors f1, f2 … with so many ordered levels each.
func searchFile(levels ...int) model.StudyFile {
	f := fileOf(len(levels))
	f.Protocol.Design = file.Search
	for i, n := range levels {
		of := &f.Factors[i]
		of.Levels = nil
		for l := range n {
			of.Levels = append(of.Levels, model.StudyLevel{Name: fmt.Sprint(l + 1),
				Set: []model.StudySetting{{Host: "a", Setting: fmt.Sprintf("s%d", i+1), Value: fmt.Sprint(l + 1)}}})
		}
	}
	return f
}

// knees is a path whose goodput doubles with each level of its least factor, up to level 3.
func knees(factors int, noise func() float64) func(Want) float64 {
	return func(w Want) float64 {
		least := 3.0
		for i := range factors {
			level := 0
			if name, ok := w.State()[fmt.Sprintf("f%d", i+1)]; ok {
				fmt.Sscan(name, &level)
			}
			least = min(least, float64(level))
		}
		return noise() + least*math.Ln2
	}
}

// finishBy runs a study to its end on a path that is told by the run; refuse names states
// that are not seen in force.
func finishBy(t *testing.T, d *Drive, log func(Want) float64, refuse func(Want) bool) []model.StudyRun {
	t.Helper()
	var runs []model.StudyRun
	for {
		w, ok := d.Next(0)
		if !ok {
			return runs
		}
		r := w.Run()
		v, seen := 1e8*math.Exp(log(w)), true
		r.N, r.Value, r.Unit, r.Counted, r.Took = len(runs)+1, &v, "bit/s", true, 8*time.Second
		if refuse != nil && refuse(w) {
			seen = false
			r.Value, r.Counted, r.Effective, r.Why = nil, false, &seen, "not seen"
		}
		runs = append(runs, r)
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		if len(runs) > 5000 {
			t.Fatal("the study does not end")
		}
	}
}

func TestSearch(t *testing.T) {
	f := searchFile(6, 6)
	d := begin(t, f)
	runs := finishBy(t, d, knees(2, steady(0.002, 4)), nil)
	s := findings(t, d)
	if diff := cmp.Diff("f1 × f2 3 × 3: gain", conclusions(s)); diff != "" {
		t.Error(diff)
	}
	if c := s.Comparisons[0]; math.Abs(*c.Ratio-8) > 0.1 || c.N != 8 || !c.Primary {
		t.Errorf("%+v", c)
	}
	if !s.Complete || !s.Search.Over || len(s.Search.Steps) != 3 || s.Search.Found["f1"] != "3" || s.Search.Found["f2"] != "3" {
		t.Errorf("%v %+v", s.Complete, s.Search)
	}
	var advice []string
	for _, a := range s.Recommended {
		advice = append(advice, a.Setting+"="+a.Value+" for "+a.Factor)
	}
	if got := strings.Join(advice, ", "); got != "s1=3 for f1, s2=3 for f2" {
		t.Error(got)
	}
	p := outline(t, f)
	if len(runs) != p.LeastRuns || p.Cases[1].Name != "search over 2 factors, 114 runs" || p.Cases[2].Name != "what it finds" {
		t.Errorf("%d runs, planned %d to %d: %+v", len(runs), p.LeastRuns, p.MostRuns, p.Cases)
	}
	for _, r := range runs[8 : 8+114] {
		if r.Stage != StageSearch {
			t.Fatalf("%+v", r)
		}
	}
	// The same study, killed after any run, goes on as it would have.
	for at := 1; at < len(runs); at += 13 {
		again := begin(t, f)
		for _, r := range runs[:at] {
			r.Levels = map[string]string(nil)
			if len(runs[r.N-1].Levels) > 0 { // as JSON brings an empty map back
				r.Levels = runs[r.N-1].Levels
			}
			if err := again.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if w, ok := again.Next(0); !ok || !w.same(runs[at]) {
			t.Fatalf("after %d runs: %v, was %+v", at, w, runs[at])
		}
	}
}

// Runs that chose a state enter no comparison, and without an effect the study finds one no
// more often than was promised: what was best of many is tried anew.
func TestNullSearches(t *testing.T) {
	const studies = 300 / fewer
	f := searchFile(6, 6)
	gains, moved := 0, 0
	for i := range studies {
		f.Protocol.Seed = uint64(i + 1)
		d := begin(t, f)
		d.draws = 1 << 8
		noise := roughPath(rand.New(rand.NewPCG(uint64(i), 9)))
		finishBy(t, d, func(Want) float64 { return noise() }, nil)
		if len(d.searched().Found) > 0 {
			moved++
		}
		for _, c := range d.decided() {
			if c == model.StudyGain || c == model.StudyLoss {
				gains++
			}
		}
	}
	t.Logf("of %d searches where nothing has an effect %d found a state, %d an effect of it", studies, moved, gains)
	if wilsonLow(gains, studies) > 0.05 {
		t.Errorf("%d of %d found an effect", gains, studies)
	}
}

func TestSearchThatFindsNothing(t *testing.T) {
	d := begin(t, searchFile(5))
	finishBy(t, d, func(Want) float64 { return 0 }, nil)
	s := findings(t, d)
	if c := s.Comparisons[0]; c.Conclusion != model.StudyUndecided || !strings.Contains(c.Why, "nothing is left to compare") || !s.Complete || len(s.Recommended) != 0 {
		t.Errorf("%+v, complete %v", c, s.Complete)
	}
}

// States that a host does not take are left out, and the best of the rest is found.
func TestSearchAroundWhatIsRefused(t *testing.T) {
	d := begin(t, searchFile(6))
	finishBy(t, d, knees(1, quiet()), func(w Want) bool { return w.State()["f1"] == "3" })
	s := findings(t, d)
	if diff := cmp.Diff("f1 4: gain", conclusions(s)); diff != "" {
		t.Error(diff)
	}
	if x := s.Search.Steps[0].States[3]; x.Barred != "not seen" || x.Runs != 0 || x.Found {
		t.Errorf("%+v", x)
	}
	d = begin(t, searchFile(3))
	finishBy(t, d, knees(1, quiet()), func(w Want) bool { return w.Stage == StageSearch && len(w.Levels) == 0 })
	if s := findings(t, d); !strings.Contains(s.Comparisons[0].Why, "the baseline could not be measured") || s.Comparisons[0].Conclusion != model.StudyUndecided {
		t.Errorf("%+v", s.Comparisons[0])
	}
}

// A level at the end of its range may not be the best there is.
func TestSearchEdge(t *testing.T) {
	d := begin(t, searchFile(2))
	finishBy(t, d, knees(1, quiet()), nil)
	s := findings(t, d)
	found := false
	for _, w := range s.Threats {
		found = found || w.ID == "search-edge"
	}
	if !found {
		t.Errorf("%+v", s.Threats)
	}
}

func TestSearchWithinABudget(t *testing.T) {
	f := searchFile(4)
	f.Budget = 2 * time.Minute
	if p := outline(t, f); len(p.Problems) == 0 || !p.Problems[0].Fatal {
		t.Errorf("%+v", p.Problems)
	}
	f.Budget = 30 * time.Minute
	if p := outline(t, f); len(p.Problems) != 0 || p.Within.Comparisons != 1 || p.Within.Blocks == 0 {
		t.Errorf("%+v %+v", p.Problems, p.Within)
	}
}
