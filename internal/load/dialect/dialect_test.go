package dialect

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// dell is appendix C of Dell's BP1057 for two volumes of its eight, with one of
// its three workloads.
func dell(size, workload string) string {
	return fmt.Sprintf(`hd=default
hd=one,system=localhost
sd=sd1,host=*,lun=\\.\PhysicalDrive1,size=%[1]s,threads=5
sd=sd2,host=*,lun=\\.\PhysicalDrive2,size=%[1]s,threads=5
%s
rd=rd1,wd=wd*,iorate=max,elapsed=1200,interval=5
`, size, workload)
}

var drives = map[string]string{`\\.\PhysicalDrive1`: "/dev/sdb", `\\.\PhysicalDrive2`: "/dev/sdc"}

func TestVdbenchRunsDellsAppendix(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want shape.Shape
		size unit.Bytes
	}{
		"8k random": {dell("102400m", "wd=wd1,sd=(sd1-sd2),xfersize=8192,rdpct=100,skew=67\nwd=wd2,sd=(sd1-sd2),xfersize=8192,rdpct=0,skew=33"),
			shape.Shape{Pattern: shape.Random, Read: 0.67, Sizes: one(8192), Arrivals: shape.Closed}, 100 * unit.GiB},
		"256k read": {dell("30m", "wd=wd1,sd=(sd1-sd2),xfersize=262144,rdpct=100,seekpct=sequential"),
			shape.Shape{Pattern: shape.Sequential, Read: 1, Sizes: one(262144), Arrivals: shape.Closed}, 30 * unit.MiB},
		"256k write": {dell("45m", "wd=wd1,sd=(sd1-sd2),xfersize=262144,rdpct=0,seekpct=sequential"),
			shape.Shape{Pattern: shape.Sequential, Sizes: one(262144), Arrivals: shape.Closed}, 45 * unit.MiB},
	} {
		jobs, err := vdJobs(c.text, VdbenchOptions{Map: drives})
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%s: %v, %v", name, jobs, err)
		}
		j := jobs[0]
		if fmt.Sprint(j.Shape) != fmt.Sprint(c.want) || j.Warmup != 5*time.Second || j.Duration != 1195*time.Second || j.Direct {
			t.Errorf("%s: %+v", name, j)
		}
		for i, path := range []string{"/dev/sdb", "/dev/sdc"} {
			want := Target{Name: fmt.Sprintf("sd%d", i+1), Path: path, Size: c.size, Depth: 5}
			if j.Targets[i] != want {
				t.Errorf("%s: %+v, want %+v", name, j.Targets[i], want)
			}
		}
	}
}

func TestVdbench(t *testing.T) {
	jobs, err := vdJobs(`* a comment
# another
/ and another
sd=default,openflags=o_direct,threads=2
sd=sd1,
   lun=/data/a,
   size=1g
sd=sd2,lun=/data/b,threads=3
wd=default,xfersize=(4k,25,64k,75)
wd=one,sd=sd1,rdpct=40
wd=two,sd=*,xfersize=16k,rdpct=75,seekpct=100
rd=default,elapsed=2m,warmup=10
rd=a,wd=one,iorate=(100,max),distribution=deterministic
rd=b,wd=two,forthreads=(1,4),iorate=50
`, VdbenchOptions{Size: 2 * unit.GiB})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range jobs {
		line := fmt.Sprintf("%s: %v read %v %s %v %s after %s direct %v", j.Name, j.Shape.Pattern, j.Shape.Read, j.Shape.Arrivals, j.Shape.Rate, j.Duration, j.Warmup, j.Direct)
		for _, s := range j.Shape.Sizes {
			line += fmt.Sprintf(" %d:%v", s.Size, s.Share)
		}
		for _, x := range j.Targets {
			line += fmt.Sprintf(" [%s %d %d]", x.Path, x.Size, x.Depth)
		}
		got = append(got, line)
	}
	want := `a at 100/s: random read 0.4 uniform 100 2m0s after 10s direct true 4096:0.25 65536:0.75 [/data/a 2147483648 2]
a: random read 0.4 closed 0 2m0s after 10s direct true 4096:0.25 65536:0.75 [/data/a 2147483648 2]
b at 50/s with 1 threads: random read 0.75 exponential 50 2m0s after 10s direct true 16384:1 [/data/a 2147483648 1] [/data/b 2147483648 1]
b at 50/s with 4 threads: random read 0.75 exponential 50 2m0s after 10s direct true 16384:1 [/data/a 2147483648 4] [/data/b 2147483648 4]`
	if all := strings.Join(got, "\n"); all != want {
		t.Errorf("got\n%s\nwant\n%s", all, want)
	}
}

// Of a seekpct between 0 and 100 that part goes elsewhere.
func TestVdbenchSeek(t *testing.T) {
	for text, want := range map[string]shape.Shape{
		"seekpct=50": {Pattern: shape.Seek, Jump: 0.5}, "seekpct=0": {Pattern: shape.Sequential}, "seekpct=seq": {Pattern: shape.Sequential}, "seekpct=random": {Pattern: shape.Random},
	} {
		jobs, err := vdJobs("sd=s,lun=/x\nwd=w,"+text+"\nrd=r", VdbenchOptions{})
		if err != nil || len(jobs) != 1 || jobs[0].Shape.Pattern != want.Pattern || jobs[0].Shape.Jump != want.Jump {
			t.Errorf("%s: %+v, %v", text, jobs, err)
		}
	}
}

// A curve is a run without a rate and then one at each percentage of what that
// reached; lists and ranges of rates are a run each.
func TestVdbenchRates(t *testing.T) {
	base := "sd=s,lun=/x\nwd=w\nrd=r,"
	for text, want := range map[string]string{
		"iorate=curve": "curve 0 closed, curve 10 exponential, curve 50 exponential, curve 70 exponential, curve 80 exponential, curve 90 exponential, curve 100 exponential",
		"iorate=curve,curve=(50,100),distribution=d": "curve 0 closed, curve 50 uniform, curve 100 uniform",
		"curve=(10-40,10,120),iorate=curve":          "curve 0 closed, curve 10 exponential, curve 20 exponential, curve 30 exponential, curve 40 exponential, curve 120 exponential",
		"iorate=(100,max,300)":                       "100 exponential, 0 closed, 300 exponential",
		"iorate=(100-450,100)":                       "100 exponential, 200 exponential, 300 exponential, 400 exponential",
		"iorate=(5,100-800,d)":                       "5 exponential, 100 exponential, 200 exponential, 400 exponential, 800 exponential",
		"iorate=(800-150,d)":                         "800 exponential, 400 exponential, 200 exponential",
		"iorate=curve,curve=(100),forthreads=(1,2)":  "curve 0 closed, curve 100 exponential, curve 0 closed, curve 100 exponential",
		"iorate=100":                                 "100 exponential",
	} {
		jobs, err := vdJobs(base+text, VdbenchOptions{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, j := range jobs {
			line := fmt.Sprintf("%g %s", j.Shape.Rate, j.Shape.Arrivals)
			if j.Curve != nil {
				line = fmt.Sprintf("curve %g %s", j.Curve.Percent, j.Shape.Arrivals)
			}
			got = append(got, line)
			if (j.Rates != "") != (len(jobs) > 1) {
				t.Errorf("%s: %s is of the row %q", text, j.Name, j.Rates)
			}
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s: got\n%s\nwant\n%s", text, all, want)
		}
	}
	jobs, err := vdJobs(base+"iorate=curve,curve=(100),forthreads=(1,2)", VdbenchOptions{})
	if err != nil || jobs[0].Rates != jobs[1].Rates || jobs[1].Rates == jobs[2].Rates || jobs[3].Name != "r at 100% with 2 threads" {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// A point's rate is rounded up to hundreds, or to tens.
func TestCurveRate(t *testing.T) {
	for _, c := range []struct{ largest, percent, want float64 }{
		{12345.4, 10, 1300}, {12345.4, 100, 12400}, {1010, 99, 1000}, {10000, 50, 5000}, {333, 50, 170}, {5, 10, 0}, {73, 100, 80},
	} {
		if got := (Curve{c.percent}).Rate(c.largest); got != c.want {
			t.Errorf("%g%% of %g: %g, want %g", c.percent, c.largest, got, c.want)
		}
	}
}

// Workloads of one read share but different sizes become one mix of sizes.
func TestVdbenchMixesSizes(t *testing.T) {
	jobs, err := vdJobs("sd=s,lun=/x\nwd=a,xfersize=4k,rdpct=50,skew=25\nwd=b,xfersize=64k,rdpct=50\nrd=r,wd=(a,b),iorate=max", VdbenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := jobs[0].Shape; len(s.Sizes) != 2 || s.Sizes[0] != (shape.SizeShare{Size: 4096, Share: 0.25}) || s.Sizes[1].Share != 0.75 || s.Read != 0.5 {
		t.Errorf("%+v", s)
	}
}

func TestVdbenchRefusesByNameAndLine(t *testing.T) {
	base := "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1\n"
	for text, want := range map[string]string{
		"":                              "defines no run",
		"sd=sd1,lun=/x":                 "defines no run",
		"xsd=f,anchor=/x":               "line 1: xsd= is not supported",
		"messagescan=no":                "line 1: messagescan= is not supported",
		"\n\nhd=two,clients=2":          "line 3: hd=two: clients=2 is not supported",
		"sd=sd1,lun=/x,hitarea=1m":      "line 1: sd=sd1: hitarea=1m: it is not supported",
		"sd=sd1,size=1m":                "line 1: sd=sd1 has no lun=",
		`sd=sd1,lun=\\.\PhysicalDrive7`: `line 1: sd=sd1: lun=\\.\PhysicalDrive7 is no path of this host`,
		"sd=sd1,lun=/x,size=1q":         `"1q" is no size`,
		"sd=sd1,lun=/x,threads=0":       `"0" is no number from 1`,
		"sd=sd1,lun=/x,":                "line 1: the definition has no end",
		"sd=sd1,nothing":                `line 1: "nothing" is no parameter`,
		base + "wd=wd2,sd=sd9":          "line 3: sd=sd9 is not defined before",
		base + "wd=wd2,sd=(sd1-sd3)":    "line 3: sd=sd1-sd3: sd2 is not defined before",
		base + "wd=wd2,seekpct=eof":     "line 3: wd=wd2: seekpct=eof: want random, sequential, or the percentage of requests that go elsewhere",
		base + "wd=wd2,seekpct=50,xfersize=(4k,50,8k,50)\nrd=r,wd=wd2": "line 3: wd=wd2: seekpct between 0 and 100 with several xfersizes is not supported",
		base + "wd=wd2,rhpct=20":                                                 "line 3: wd=wd2: rhpct=20: it is not supported",
		base + "wd=wd2,rdpct=120":                                                "is no percentage",
		base + "wd=wd2,xfersize=(4k,50,8k)":                                      "want sizes with percentages",
		base + "wd=wd2,xfersize=0":                                               "a request of no bytes",
		base + "rd=r,iorate=(curve,100)":                                         `line 3: rd=r: iorate=curve,100: "curve": want max, curve, or requests per second`,
		base + "rd=r,iorate=(100-900)":                                           "the range 100-900 has no step: write (100-900,80) or (100-900,d)",
		base + "rd=r,iorate=(900-100,100)":                                       `the range from 900 to 100 has the step "100": want a number above 0, or d`,
		base + "rd=r,iorate=(100-900,0)":                                         `has the step "0"`,
		base + "rd=r,iorate=(1-1000000,1)":                                       "more than 1000 values",
		base + "rd=r,iorate=(max-900,10)":                                        "a range is of numbers",
		base + "rd=r,iorate=-50":                                                 "want max, curve, or requests per second",
		base + "rd=r,iorate=curve,curve=0":                                       "want whole percentages from 1 to 1000",
		base + "rd=r,iorate=curve,curve=(10,x)":                                  "want whole percentages",
		base + "rd=r,iorate=max,curve=(10,100)":                                  "line 3: rd=r: curve= says which points a curve has: add iorate=curve",
		base + "rd=r,iorate=curve,stopcurve=5":                                   "line 3: rd=r: stopcurve=5: it is not supported",
		base + "rd=r,maxdata=5g":                                                 "line 3: rd=r: maxdata=5g: it is not supported",
		base + "rd=r,wd=wd7":                                                     "line 3: wd=wd7 is not defined before",
		base + "rd=r,elapsed=5,interval=5":                                       "nothing is left of elapsed",
		base + "rd=r,distribution=uniform":                                       "want exponential or deterministic",
		base + "wd=wd2,sd=sd1,xfersize=8k,rdpct=0\nrd=r,wd=wd*":                  "line 4: workloads of one run that differ in xfersize and in rdpct",
		base + "wd=wd2,sd=sd1,seekpct=0\nrd=r,wd=(wd1,wd2)":                      "line 3: wd=wd1 and wd=wd2 in one run, and not both at random",
		base + "sd=sd2,lun=/y\nwd=wd2,sd=sd2\nrd=r":                              "line 4: wd=wd2 has other sds",
		base + "wd=wd2,sd=sd1,skew=80\nwd=wd3,sd=sd1,skew=30\nrd=r,wd=(wd2,wd3)": "line 5: the skews",
		base + "wd=wd2,sd=sd1,skew=80\nwd=wd3,sd=sd1,skew=10\nrd=r,wd=(wd2,wd3)": "the skews of a run's workloads add up to 90%",
	} {
		_, err := vdJobs(text, VdbenchOptions{})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func names(jobs []Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, strings.TrimPrefix(j.Name, "iozone "))
	}
	return strings.Join(out, ", ")
}

func TestIozone(t *testing.T) {
	for args, want := range map[string]string{
		"-i 0 -i 1":          "write, rewrite, read, reread",
		"-i1 -+n":            "write, read",
		"-i 0 -i 2 -R":       "write, rewrite, random read, random write",
		"-i 0 -i 1 -i 2 -+n": "write, read, random read, random write",
		"":                   "write, rewrite, read, reread, random read, random write",
	} {
		jobs, err := Iozone(strings.Fields(args))
		if err != nil || names(jobs) != want {
			t.Errorf("%s: %s, %v; want %s", args, names(jobs), err, want)
		}
	}
	// The line of the papers' cluster test, without its list of clients.
	jobs, err := Iozone(strings.Fields("-t 5 -r4 -i 0 -i 1 -s 4m -e -I -o"))
	if err != nil || len(jobs) != 4 {
		t.Fatalf("%v, %v", jobs, err)
	}
	j := jobs[0]
	if len(j.Targets) != 5 || j.Targets[4] != (Target{Name: "iozone.4", Path: "iozone.4", Size: 4 * unit.MiB, Depth: 1}) || j.Shape.Sizes[0].Size != 4096 ||
		!j.Direct || !j.Durable || !j.Flush || j.Duration != 0 || j.Shape.Read != 0 || j.Shape.Pattern != shape.Sequential {
		t.Errorf("%+v", j)
	}
	if jobs[2].Flush || jobs[2].Shape.Read != 1 {
		t.Errorf("%+v", jobs[2])
	}
	for args, want := range map[string]string{
		"-i 5":              "iozone -i 5: only the tests 0",
		"-i 0 -+m clients":  "iozone -+m: its file of clients",
		"-i 0 -s":           "-s needs a value",
		"-i 0 -s 10k -r 4k": "is not made of records",
		"-i 0 -r 0":         "nothing is that small",
		"-i 0 -t 0":         "is no number from 1",
		"-i 0 file":         "iozone file: it is not supported",
	} {
		if _, err := Iozone(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

const streamRead = `
set $dir=/tmp
set $filesize=5g
set $nthreads=1
set $iosize=1m

define file name=largefile1,path=$dir,size=$filesize,prealloc,reuse

define process name=seqread,instances=1
{
  thread name=seqread,memsize=10m,instances=$nthreads
  {
    flowop read name=seqread,filename=largefile1,iosize=$iosize,directio
    flowop bwlimit name=limit
  }
}
echo "loaded"
usage "Usage: set $dir=<dir>"
`

func TestFilebench(t *testing.T) {
	j, err := Filebench(streamRead, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if j.Shape.Pattern != shape.Sequential || j.Shape.Read != 1 || j.Shape.Sizes[0].Size != unit.MiB || !j.Direct || j.Duration != time.Minute ||
		j.Targets[0].Size != 5*unit.GiB || j.Targets[0].Depth != 1 || len(j.Notes) != 1 {
		t.Errorf("%+v", j)
	}
	j, err = Filebench(`define fileset name="f",path="/x",entries=1,size=1g,prealloc
define process name="p",instances=2 {
  thread name="t",instances=4 {
    flowop write name="w",filesetname="f",iosize=8k,random,dsync
  }
}
run 30`, 0)
	if err != nil || j.Shape.Pattern != shape.Random || j.Shape.Read != 0 || j.Targets[0].Depth != 8 || !j.Durable || j.Direct || j.Duration != 30*time.Second {
		t.Errorf("%+v, %v", j, err)
	}
	for old, c := range map[string]struct{ new, want string }{
		"flowop read name=seqread":  {"flowop aiowrite name=x", "line 13: flowop aiowrite is not supported"},
		"flowop bwlimit name=limit": {"flowop write name=x,filename=largefile1,iosize=1m", "line 14: a second flowop that moves data (the first is in line 13)"},
		"iosize=$iosize":            {"iosize=$iosize,iters=5", "line 13: flowop read: iters=5 is not supported"},
		"iosize=$iosize,":           {"", "line 13: the flowop has no iosize"},
		"filename=largefile1":       {"filename=other", `file "other" is not defined`},
		"size=$filesize":            {"size=$filesize,entries=100", `line 7: define file: entries="100" is no number from 1 to 64`},
		"instances=$nthreads":       {"instances=4", "4 threads that each go through one file in order"},
		"echo":                      {"eventgen rate=5\necho", "bwlimit with a rate of events is not supported"},
		"set $iosize=1m":            {"set iosize=1m", "line 5: set iosize=1m: want $NAME=VALUE"},
		"$filesize=5g":              {"$filesize=5k", "is smaller than iosize"},
	} {
		if _, err := Filebench(strings.Replace(streamRead, old, c.new, 1), time.Minute); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := Filebench(streamRead, 0); err == nil || !strings.Contains(err.Error(), "how long") {
		t.Errorf("%v", err)
	}
}

func FuzzVdbench(f *testing.F) {
	f.Add(dell("30m", "wd=wd1,sd=(sd1-sd2),xfersize=(4k,50,8k,50),rdpct=100,skew=67"))
	f.Add("fsd=default,depth=2,width=3,files=2,size=32m\nfsd=a,anchor=/fs1,distribution=all\nfwd=w,fsd=a,xfersize=(4k,50,64k,50),rdpct=70,fileio=random,openflags=o_direct\n" +
		"rd=r,fwd=w,fwdrate=(100,200),forthreads=(2,4),warmup=2,elapsed=20")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := vdJobs(text, VdbenchOptions{Map: drives})
		checkJobs(t, jobs, err)
	})
}

func FuzzFilebench(f *testing.F) {
	f.Add(streamRead)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := Filebench(text, time.Minute)
		checkJobs(t, []Job{j}, err)
	})
}

func FuzzIozone(f *testing.F) {
	f.Add("-t 5 -r4 -i 0 -i 1 -s 4m -e -I -o")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := Iozone(strings.Fields(text))
		checkJobs(t, jobs, err)
	})
}

// checkJobs: what is accepted names targets and sizes.
func checkJobs(t *testing.T, jobs []Job, err error) {
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%T", err)
		}
		return
	}
	for _, j := range jobs {
		if len(j.Targets) == 0 || len(j.Shape.Sizes) == 0 || j.Shape.Sizes[0].Size < 0 || j.Duration < 0 || j.Warmup < 0 {
			t.Fatalf("%+v", j)
		}
	}
}
