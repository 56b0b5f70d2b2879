package dialect

import (
	"strings"
	"testing"

	"linerate/internal/unit"
)

// What is written compresses and comes again as the file says, and ranges narrow the luns.
func TestVdbenchDataAndRanges(t *testing.T) {
	file := func(general, sd, wd string) string {
		return general + "\nsd=sd1,lun=/dev/sdb,size=1g" + sd + "\nsd=sd2,lun=/dev/sdc,size=2g\nwd=wd1,sd=sd*,xfersize=8k,rdpct=0" + wd + "\nrd=rd1,wd=wd1,iorate=(100,200),elapsed=30,warmup=5\n"
	}
	jobs, err := vdJobs(file("compratio=2.5\ndedupratio=3,dedupunit=8k", "", ""), VdbenchOptions{})
	if err != nil || len(jobs) != 2 || jobs[1].Compress != 2.5 || jobs[1].Dedup != 3 || jobs[1].Targets[0].Size != unit.GiB {
		t.Errorf("%+v, %v", jobs, err)
	}
	jobs, err = vdJobs(file("", ",range=(1m,513m)", ",range=(50,75)"), VdbenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := jobs[0].Targets[0], jobs[0].Targets[1]; a.From != 257*unit.MiB || a.Size != 128*unit.MiB || b.From != unit.GiB || b.Size != 512*unit.MiB {
		t.Errorf("%+v, %+v", a, b)
	}
	if jobs[0].Compress != 0 || jobs[0].Dedup != 0 {
		t.Errorf("%+v", jobs[0])
	}
	for text, want := range map[string]string{
		file("compratio=0.5", "", ""):                                      "line 1: compratio=0.5: want one ratio from 1 to 64",
		file("compratio=(2,4)", "", ""):                                    "want one ratio",
		file("dedupratio=2", "", ""):                                       "line 1: dedupratio= needs dedupunit=",
		file("dedupratio=2,dedupunit=4k", "", ""):                          "is not the xfersize of rd1",
		file("compratio=2,dedupsets=5", "", ""):                            "line 1: dedupsets=5: it is not supported",
		file("", ",range=(60,40)", ""):                                     "the smaller first",
		file("", ",range=40", ""):                                          "want two places",
		file("", ",range=(90,110)", ""):                                    "up to 100",
		file("", ",range=(1g,2g)", ""):                                     "does not lie within sd1",
		strings.Replace(file("", ",range=(10,20)", ""), ",size=1g", "", 1): "needs the size of sd1",
	} {
		if _, err := vdJobs(text, VdbenchOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
