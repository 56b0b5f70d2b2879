package study

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

const twoLevels = `v: 1
name: two-levels
question: which pays?
hosts: {a: lab:client1, b: lab:server1}
factors:
  - {name: streams, levels: [{name: "4", workload: {streams: 4}}]}
  - {name: rmem, levels: [{name: large, set: {b: {linux.sysctl.net.ipv4.tcp_rmem: 4096 131072 16777216}}}]}
workloads:
  - {name: bulk, senders: [a], receivers: [b], seconds: 1}
primary: bulk
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 0, seed: 4}
`

// played makes the runs of a study that is never run: four streams carry twice as
// much, the buffers are not in force.
func played(t *testing.T, d *drive.Drive) []store.StudyEntry {
	t.Helper()
	var out []store.StudyEntry
	for n := 1; ; n++ {
		want, more := d.Next(0)
		if !more {
			return out
		}
		r := want.Run()
		r.N, r.Label, r.Unit, r.Counted = n, "run", "bit/s", true
		v := 1e9 * (1 + 0.001*float64(n%3))
		if r.Level == "4" {
			v *= 2
		}
		if r.Value = &v; r.Level == "large" {
			no := false
			r.Effective, r.Counted, r.Value, r.Why = &no, false, nil, "it is another"
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		out = append(out, store.StudyEntry{Kind: store.StudyRan, Run: &r})
	}
}

func TestStudyFromItsRecord(t *testing.T) {
	f, err := file.Parse("two", []byte(twoLevels))
	if err != nil {
		t.Fatal(err)
	}
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	runs := played(t, d)
	began := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	past := &store.StudyPast{ID: "x", Begun: began, Begin: store.StudyBegin{File: f}, Entries: runs}
	r, err := soFar(past, began.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range r.Study.Comparisons {
		found[c.Factor] = c.Conclusion
	}
	if found["streams"] != model.StudyGain || found["rmem"] != model.StudyNotInForce || r.Study.Took != time.Hour || r.Study.Ended != "it is not over" {
		t.Errorf("%v, %v, %q", found, r.Study.Took, r.Study.Ended)
	}
	if line := r.Verdict.Line; !strings.Contains(line, "streams 4 ×2.0") || !strings.Contains(line, "2 of 2 decided") {
		t.Errorf("%q", line)
	}
	// What was measured before it was begun anew is kept, and concludes nothing.
	past.Entries = append(past.Entries, store.StudyEntry{Kind: store.StudyAnew, Why: "another kernel"})
	if r, err = soFar(past, began); err != nil || len(r.Study.Runs) != len(runs) || r.Study.Runs[0].Counted {
		t.Fatalf("%v", err)
	}
	for _, c := range r.Study.Comparisons {
		if c.N > 0 || c.Conclusion != model.StudyNotTried {
			t.Errorf("begun anew: %+v", c)
		}
	}
}

// What was changed carries what it was and what the kernel's own default is.
func TestStudyAdviceIsFilledIn(t *testing.T) {
	f, err := file.Parse("two", []byte(twoLevels))
	if err != nil {
		t.Fatal(err)
	}
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	const rmem = "linux.sysctl.net.ipv4.tcp_rmem"
	out := &experiment.Outcome{Restored: true, Ended: "done", Facts: map[string]*model.Facts{"lab:server1": {Kernel: "6.1.0", OS: "linux"}},
		Reverted: []model.StudyAdvice{{Host: "b", Setting: rmem, Before: "4096 131072 262144", Value: "4096 131072 16777216", Factor: "rmem"}}}
	r, err := results(f, d, out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Study.Reverted) != 1 || r.Study.Reverted[0].Default == "" || !r.Study.Restored || r.Verdict.Line == "" || len(r.Hosts) != 2 {
		t.Errorf("%+v", r.Study.Reverted)
	}
}

func TestRatioText(t *testing.T) {
	x := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		c    model.StudyComparison
		want string
	}{
		{model.StudyComparison{}, ""},
		{model.StudyComparison{Ratio: x(2)}, ", ×2.000"},
		{model.StudyComparison{Ratio: x(2), CILow: x(1.5), CIHigh: x(2.5)}, ", ×2.000 (1.500 to 2.500)"},
	} {
		if got := ratioText(c.c); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
