package experiment

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// Steps of the baseline are compared one after the other, each with the state before
// it, and all hold beneath the factors that follow.
func TestSequence(t *testing.T) {
	w, f := newWorld(), example()
	f.Protocol.Design = file.Sequence
	f.Baseline = append(f.Baseline, model.StudyLevel{Name: "buffers", Set: f.Factors[0].Levels[0].Set})
	f.Factors = f.Factors[1:2]
	before := w.state()
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
	seen := map[string]int{}
	for _, r := range out.Runs {
		want := 1e8
		if r.Steps == 2 {
			want = 9e8
		}
		if !r.Counted || *r.Value < 0.9*want || *r.Value > 1.1*want || r.Factor != "" && (r.Effective == nil || !*r.Effective) {
			t.Errorf("%+v: %v", r, *r.Value)
		}
		seen[strings.TrimSpace(r.Factor+" "+r.Level)]++
	}
	if seen[file.StepFactor+" jumbo"] != 2 || seen[file.StepFactor+" buffers"] != 2 || seen["cc cubic"] != 2 {
		t.Errorf("%v", seen)
	}
}

// A crossed design varies several factors at once: what is changed together on one
// host is one plan, under one dead-man.
func TestFactorial(t *testing.T) {
	w, f := newWorld(), example()
	f.Protocol.Design = file.Factorial
	f.Factors[1].Hard = false
	f.Factors[2].Levels[0] = model.StudyLevel{Name: "probing", Set: []model.StudySetting{{Host: "server", Setting: "linux.sysctl.net.ipv4.tcp_mtu_probing", Value: "1"}}}
	w.hosts["server"].values["linux.sysctl.net.ipv4.tcp_mtu_probing"] = "0"
	before := w.state()
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
	together := 0
	for _, r := range out.Runs {
		want := 1e8
		if r.Levels["buffers"] == "large" {
			want = 9e8
		}
		if !r.Counted || *r.Value < 0.9*want || *r.Value > 1.1*want {
			t.Errorf("%+v: %v", r, *r.Value)
		}
		if len(r.Levels) == 3 {
			together++
		}
	}
	if together != 2 || len(out.Runs) != 16 {
		t.Errorf("%d of %d runs have all three", together, len(out.Runs))
	}
}

// A search changes the hosts at every run, finds the level that does it, and leaves them as
// they were; killed at any call, it goes on to the same.
func TestSearch(t *testing.T) {
	f := example()
	f.Protocol.Design, f.Baseline = file.Search, nil
	level := func(name, value string) model.StudyLevel {
		return model.StudyLevel{Name: name, Set: []model.StudySetting{{Host: "client", Setting: rmem, Value: value}}}
	}
	f.Factors = []model.StudyFactor{
		{Name: "buffer", Levels: []model.StudyLevel{level("1MiB", "4096 131072 1048576"), level("16MiB", largeRmem), level("64MiB", tooLargeRmem)}},
		{Name: "writes", Levels: []model.StudyLevel{{Name: "64KiB", Workload: map[string]string{"write_size": "64KiB"}}}},
	}
	w := newWorld()
	before := w.state()
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Runs {
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	var s model.Study
	if err := d.Findings(&s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"buffer": "16MiB"}, s.Search.Found); diff != "" || !s.Search.Over {
		t.Error(diff)
	}
	for _, r := range out.Runs {
		if len(r.Levels) > 0 && (r.Effective == nil || !*r.Effective) {
			t.Errorf("%+v", r)
		}
	}

	root := t.TempDir()
	w = newWorld()
	w.killAt = 200
	x := begun(t, w, f, root, "")
	if _, err := x.Run(context.Background()); err == nil {
		t.Fatal("was not killed")
	}
	id := x.ID
	closeState(t, x)
	w.killAt = 0
	again, err := begun(t, w, f, root, id).Run(context.Background())
	if err != nil || !again.Restored {
		t.Fatalf("restored %v: %v", again.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
	counted := func(runs []model.StudyRun) (out []string) {
		for _, r := range runs {
			if r.Counted {
				out = append(out, r.Stage+" "+strings.Join(slices.Sorted(maps.Values(r.Levels)), " "))
			}
		}
		return out
	}
	if d := cmp.Diff(counted(out.Runs), counted(again.Runs)); d != "" {
		t.Error(d)
	}
}
