package drive

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/study/file"
)

func outline(t *testing.T, f model.StudyFile) model.StudyPlan {
	t.Helper()
	p, err := Outline(f, 0.02, "assumed")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOutline(t *testing.T) {
	p := outline(t, fileOf(3))
	// 8 A/A runs, then 3 comparisons of 8 to 32 blocks of 2 runs of 5+1+2 s.
	if p.LeastRuns != 8+3*16 || p.MostRuns != 8+3*64 || p.Least != 8*8*time.Second+3*16*8*time.Second || p.Most != 8*8*time.Second+3*64*8*time.Second {
		t.Errorf("%d to %d runs, %v to %v", p.LeastRuns, p.MostRuns, p.Least, p.Most)
	}
	if len(p.Cases) != 4 || p.Cases[0].Name != "A/A" || p.Cases[1].Name != "f1 on" || p.Cases[1].Most != 32 {
		t.Errorf("%+v", p.Cases)
	}
	// 8 blocks have p >= 0.0078, and a third of 0.016 is less.
	if p.Looks[0].Smallest != nil || p.Looks[1].Smallest == nil || *p.Looks[1].Smallest < 1.03 || *p.Looks[1].Smallest > 1.05 {
		t.Errorf("%+v", p.Looks)
	}
	if p.Within.Comparisons != 3 || p.Within.Blocks != 32 || len(p.Problems) != 0 {
		t.Errorf("%+v %+v", p.Within, p.Problems)
	}
	one := outline(t, fileOf(1))
	// (z(1-0.01607/2)+z(0.9))*0.02*sqrt(2)/sqrt(8) with 0.045*ln(1+(e-1)/4) spent.
	if got := *one.Looks[0].Smallest; math.Abs(got-math.Exp((2.408+1.2816)*0.01)) > 2e-4 {
		t.Errorf("%v", got)
	}
}

func TestOutlineOfASmallBudget(t *testing.T) {
	for _, c := range []struct {
		minutes int
		fatal   bool
		want    string
	}{{1, true, "concludes nothing"}, {4, true, "concludes nothing"}, {5, false, "1 of 3"}, {8, false, "2 of 3"}, {11, false, ""}} {
		f := fileOf(3)
		f.Budget = time.Duration(c.minutes) * time.Minute
		p := outline(t, f)
		fatal := len(p.Problems) > 0 && p.Problems[0].Fatal
		if len(p.Problems) > 0 != (c.want != "") || fatal != c.fatal || c.want != "" && (!strings.Contains(p.Problems[0].What, c.want) || !strings.Contains(p.Problems[0].Next, "11m ")) {
			t.Errorf("%d minutes: %+v", c.minutes, p.Problems)
		}
	}
	f := fileOf(1)
	f.Factors = append(f.Factors, fileOf(2).Factors[1])
	f.Budget = 4 * time.Minute
	f.Protocol.Looks = []int{12, 20}
	if p := outline(t, f); !p.Problems[0].Fatal {
		t.Errorf("%+v", p.Problems)
	}
	f.Budget = 5 * time.Minute
	if p := outline(t, f); len(p.Problems) != 1 || p.Problems[0].Fatal || !strings.Contains(p.Problems[0].What, "1 of 2") {
		t.Errorf("%+v", p.Problems)
	}
}

func TestOutlineOfOthers(t *testing.T) {
	p := outline(t, paperFile())
	if p.LeastRuns != 4*3 || p.MostRuns != 4*3*3 || len(p.Looks) != 0 || p.Cases[0].Name != "baseline" {
		t.Errorf("%+v", p)
	}
	p = outline(t, crossedFile())
	if len(p.Cases) != 2 || p.Cases[1].Name != "8 cases of 3 factors" || p.Cases[1].Block != 8 || *p.Looks[1].Smallest > 1.03 {
		t.Errorf("%+v", p)
	}
	f := fileOf(1)
	f.Factors = []model.StudyFactor{{Name: "slot", Operator: true, Levels: []model.StudyLevel{{Name: "x8", Instruct: "move it", Back: "move it back", Verify: &model.StudyVerify{}}}}}
	f.Protocol.Looks = []int{6}
	p = outline(t, f)
	if len(p.Operator) != 1 || p.Operator[0].Times != 12 || p.Most < 6*operatorOverhead {
		t.Errorf("%+v %v", p.Operator, p.Most)
	}
	f = fileOf(0)
	f.Protocol.AA = 8
	if p := outline(t, f); p.MostRuns != 16 || len(p.Problems) != 0 || p.Protocol != file.Linerate {
		t.Errorf("%+v", p)
	}
	if _, err := Outline(fileOf(1), 0, ""); err == nil {
		t.Error("no noise at all")
	}
}

// Every template can be planned, and its budget concludes something.
func TestTemplatesCanBePlanned(t *testing.T) {
	for _, x := range file.Templates() {
		f, err := file.Parse(x.Name, []byte(x.Text))
		if err != nil {
			t.Error(err)
			continue
		}
		p := outline(t, f)
		if len(p.Problems) > 0 {
			t.Errorf("%s: %+v", x.Name, p.Problems)
		}
		if p.LeastRuns == 0 || p.Least <= 0 || p.Most < p.Least || len(p.Cases) == 0 {
			t.Errorf("%s: %+v", x.Name, p)
		}
		for _, l := range p.Looks {
			t.Logf("%s: %d blocks after %v", x.Name, l.Blocks, l.After)
		}
	}
}
