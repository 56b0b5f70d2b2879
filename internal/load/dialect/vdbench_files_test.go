package dialect

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// vdJobs are the jobs of a parameter file.
func vdJobs(text string, o VdbenchOptions) ([]Job, error) {
	runs, err := Vdbench(text, o)
	return runs.Jobs, err
}

// The guide's first example of a file system workload, and one with a tree, a mix and rates.
func TestVdbenchFiles(t *testing.T) {
	runs, err := Vdbench(`fsd=fsd1,anchor=/fs1,depth=1,width=1,files=5,size=64m
fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=sequential,fileselect=random,threads=8
rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=10,interval=1`, VdbenchOptions{Map: map[string]string{"/fs1": "/mnt/nas"}})
	if err != nil {
		t.Fatal(err)
	}
	j := runs.Jobs[0]
	if runs.Dir != "/mnt/nas" || len(runs.Hosts) > 0 || len(runs.Jobs) != 1 || len(j.Targets) != 5 || j.Targets[4].Size != 64*unit.MiB || j.Targets[4].Depth != 1 ||
		j.Shape.Pattern != shape.Sequential || j.Shape.Read != 1 || j.Shape.Rate != 0 || j.Duration != 9*time.Second || !strings.Contains(strings.Join(j.Notes, "\n"), "the others would wait") {
		t.Errorf("%+v", runs)
	}
	runs, err = Vdbench(`fsd=default,depth=2,width=3,files=2,size=32m
fsd=a,anchor=/fs1,distribution=all
fwd=w,fsd=a,xfersize=(4k,50,64k,50),rdpct=70,fileio=random,openflags=o_direct
rd=r,fwd=w,fwdrate=(100,200),forthreads=(2,4),warmup=2,elapsed=20`, VdbenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// 3 + 9 directories of 2 files are 768 MiB.
	if got := names(runs.Jobs); got != "r at 100/s with 2 threads, r at 200/s with 2 threads, r at 100/s with 4 threads, r at 200/s with 4 threads" {
		t.Error(got)
	}
	j = runs.Jobs[2]
	if len(j.Targets) != 4 || j.Targets[0].Size != 192*unit.MiB || j.Shape.Read != 0.7 || j.Shape.Rate != 100 || j.Shape.Pattern != shape.Random || !j.Direct || j.Duration != 20*time.Second ||
		!strings.Contains(strings.Join(j.Notes, "\n"), "24 files of 32 MiB are 4 of 192 MiB here") {
		t.Errorf("%+v", j)
	}
	runs, err = Vdbench("fsd=a,anchor=/f,files=2,size=1m\nfwd=w,fileio=(random,shared),threads=6\nrd=r,operations=(read,write)", VdbenchOptions{Size: 4 * unit.MiB})
	if err != nil || names(runs.Jobs) != "r read, r write" || runs.Jobs[1].Shape.Read != 0 || runs.Jobs[1].Targets[1].Depth != 3 || runs.Jobs[1].Targets[1].Size != 4*unit.MiB {
		t.Errorf("%+v, %v", runs, err)
	}
}

// Hosts make the load together and share its rate; what only some of them are to do is refused.
func TestVdbenchHosts(t *testing.T) {
	const hds = "hd=default,shell=ssh,user=root,vdbench=/opt/vdbench\nhd=one,system=a.example\nhd=two,system=b.example\n"
	runs, err := Vdbench(hds+"sd=s,host=*,lun=/dev/sdb\nwd=w,host=(one,two)\nrd=r,iorate=(1000,max)", VdbenchOptions{Map: map[string]string{"a.example": "lab:client1"}})
	if err != nil || !slices.Equal(runs.Hosts, []string{"lab:client1", "b.example"}) || runs.Dir != "" || runs.Jobs[0].Shape.Rate != 500 || runs.Jobs[1].Shape.Rate != 0 ||
		!strings.Contains(strings.Join(runs.Jobs[0].Notes, "\n"), "1000 requests/s of 2 hosts together") {
		t.Errorf("%+v, %v", runs, err)
	}
	runs, err = Vdbench("hd=localhost\nsd=s,hd=localhost,lun=/x\nwd=w\nrd=r", VdbenchOptions{})
	if err != nil || runs.Hosts != nil {
		t.Errorf("%+v, %v", runs, err)
	}
	const files = "fsd=a,anchor=/f,files=2,size=1m\nfwd=w\n"
	for text, want := range map[string]string{
		hds + "sd=s,lun=/x\nwd=w,host=one\nrd=r":                                    "line 5: wd=w: host=one: some of the hosts",
		hds + "sd=s,lun=/x\nwd=w,host=three\nrd=r":                                  "host=three is not defined before",
		hds + "sd=s,lun=/x\nwd=w\nrd=r,iorate=curve":                                "iorate=curve on several hosts",
		"hd=one,system=a\nhd=two,system=a":                                          "line 2: hd=two: a is another hd's host already",
		"hd=one,clients=4":                                                          "clients=4 is not supported",
		"fsd=a,anchor=/f,files=2":                                                   "want anchor=, files= and size=",
		"fsd=a,anchor=/f,files=2,size=(1m,50,2m,50)":                                "files of several sizes",
		files + "fsd=b,anchor=/g,files=1,size=1m":                                   "several anchors",
		files + "fwd=v,operation=mkdir":                                             "line 3: fwd=v: operation=mkdir: mkdir is not supported",
		files + "fwd=v,stopafter=5":                                                 "stopafter=5: it is not supported",
		files + "fwd=v,fileio=(seq,delete)":                                         "delete is not supported",
		files + "fwd=v\nrd=r,fwd=(w,v)":                                             "rd=r has 2 fwds",
		files + "rd=r,format=only":                                                  "format=only: it is not supported",
		files + "rd=r,elapsed=1":                                                    "nothing is left of elapsed",
		"sd=s,lun=/x\nfsd=a,anchor=/f,files=1,size=1m\nfwd=w\nrd=r":                 "sd= and fsd= in one file",
		"fsd=a,anchor=/f,files=1000000,width=999999,size=100t\nfwd=w\nrd=r":         "more than fit anywhere",
		files + "fwd=v,xfersize=2m\nrd=r,fwd=v":                                     "line 3: fwd=v: requests of 2 MiB in files of 1 MiB",
		files + "fwd=v,fileio=(random,shared),threads=3\nrd=r,fwd=v":                "3 threads share 2 files: want a multiple",
		files + "fwd=v,rdpct=5\nrd=r,fwd=v,operation=read":                          "operations beside rdpct=",
		"fsd=a,anchor=/f,depth=3,width=10,files=9,size=8k\nfwd=w,threads=4\nrd=r":   "no load here opens files",
		"fsd=a,anchor=/f,depth=1,width=999,files=9,size=1g\nfwd=w,threads=99\nrd=r": "99 files at once: want at most 64",
	} {
		_, err := Vdbench(text, VdbenchOptions{})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
