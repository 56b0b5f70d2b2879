package dialect

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// fbThreads is a workload of threads on files, in the form of filebench's own.
func fbThreads(define, flows string) string {
	text := "set $dir=/tmp\nset $iosize=1m\nset $nthreads=1\n" + define + "\ndefine process name=p,instances=1\n{\n"
	for _, f := range strings.Split(flows, ";") {
		text += "  thread name=t,memsize=10m,instances=$nthreads\n  {\n    flowop " + strings.ReplaceAll(f, "+", "\n    flowop ") + "\n  }\n"
	}
	return text + "}\n\necho  \"loaded\"\nusage \"       run runtime (e.g. run 60)\"\n"
}

// The standard set: what streams and what is at random runs, several threads on files of
// their own too; what makes, opens and deletes files is refused by name and line.
func TestFilebenchStandardSet(t *testing.T) {
	j, err := Filebench(fbThreads("define file name=largefile1,path=$dir,prealloc", "write name=seqwrite,filename=largefile1,iosize=$iosize"), time.Minute)
	if err != nil || j.Shape.Read != 0 || j.Shape.Pattern != shape.Sequential || j.Targets[0].Size != 4*unit.GiB || len(j.Notes) != 1 || !strings.Contains(j.Notes[0], "grows in filebench") {
		t.Errorf("singlestreamwrite: %+v, %v", j, err)
	}
	j, err = Filebench(fbThreads("define file name=largefile1,path=$dir,size=5g,prealloc,reuse,paralloc",
		"read name=r,filename=largefile1,iosize=8k,random,workingset=0,directio=0;write name=w,filename=largefile1,iosize=8k,random,workingset=0,directio=0"), time.Minute)
	if err != nil || j.Shape.Read != 0.5 || j.Shape.Pattern != shape.Random || len(j.Targets) != 1 || j.Targets[0].Depth != 2 || len(j.Notes) != 1 || j.Direct {
		t.Errorf("randomrw: %+v, %v", j, err)
	}
	files := "define file name=a,path=$dir,size=1g,prealloc\ndefine file name=b,path=$dir,size=1g,prealloc"
	j, err = Filebench(fbThreads(files, "read name=1,filename=a,iosize=1m,directio=1+bwlimit name=l;read name=2,filename=b,iosize=1m,directio=1+bwlimit name=l"), time.Minute)
	if err != nil || len(j.Targets) != 2 || j.Targets[1].Name != "b" || j.Targets[1].Depth != 1 || j.Shape.Read != 1 || !j.Direct {
		t.Errorf("two streams: %+v, %v", j, err)
	}
	set := strings.Replace(fbThreads("define fileset name=s,path=$dir,size=1g,entries=3,dirwidth=20,prealloc=100", "write name=1,filesetname=s,iosize=1m"), "$nthreads=1", "$nthreads=3", 1)
	j, err = Filebench(set, time.Minute)
	if err != nil || len(j.Targets) != 3 || j.Targets[2].Name != "s.3" || j.Targets[2].Depth != 1 {
		t.Errorf("a set: %+v, %v", j, err)
	}
	rate := fbThreads("define file name=a,path=$dir,size=1g", "read name=1,filename=a,iosize=8k,random+iopslimit name=l") + "eventgen rate=500\n"
	if j, err = Filebench(rate, time.Minute); err != nil || j.Shape.Rate != 500 || j.Shape.Arrivals != shape.Uniform {
		t.Errorf("eventgen: %+v, %v", j, err)
	}
	for flows, want := range map[string]string{
		"createfile name=c,filesetname=a,fd=1+writewholefile name=w,fd=1":                    "line 10: flowop createfile is not supported: files are read and written here",
		"openfile name=o,filesetname=a,fd=1":                                                 "flowop openfile is not supported",
		"appendfilerand name=a,iosize=16k,fd=1":                                              "flowop appendfilerand is not supported",
		"read name=1,filename=a,iosize=8k,random;read name=2,filename=a,iosize=4k,random":    "another one than that of line 10",
		"read name=1,filename=a,iosize=8k;read name=2,filename=a,iosize=8k":                  "2 threads that each go through one file in order",
		"read name=1,filename=a,iosize=8k;write name=2,filename=b,iosize=8k":                 "read and written in other parts",
		"read name=1,filename=a,iosize=8k+iopslimit name=l;read name=2,filename=b,iosize=8k": "some threads are limited",
		"read name=1,filename=a,iosize=8k,fd=1":                                              "fd=1 is not supported",
		"bwlimit name=l":                                                                     "this thread moves no data",
	} {
		if _, err := Filebench(fbThreads(files, flows), time.Minute); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flows, err, want)
		}
	}
}
