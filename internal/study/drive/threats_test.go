package drive

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

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
	d.runs[1].Warnings = []model.Warning{{ID: IntoCache}}
	if both := d.cacheThreats(); len(both) != 2 || !strings.HasPrefix(both[1].What, "in 1 of 2 runs of bulk frames went into the page cache") {
		t.Errorf("%+v", both)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0].What, "in 1 of 2 runs of bulk data came from the page cache") || got[0].Next == "" {
		t.Errorf("%+v", got)
	}
}
