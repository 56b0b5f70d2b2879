package dialect

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

const fioText = `; a job file as people have them
[global]
ioengine=libaio
direct=1
bs=4k
size=1g
runtime=30s
time_based
group_reporting
directory=/mnt/nas

[randread]
rw=randread
iodepth=32
numjobs=4

[seqwrite]
stonewall
rw=write
bs=1M
end_fsync=1
iodepth=8
`

func TestFio(t *testing.T) {
	got, err := Fio(fioText, FioOptions{})
	if err != nil || len(got.Jobs) != 2 || got.Dir != "/mnt/nas" {
		t.Fatalf("%+v, %v", got, err)
	}
	r, w := got.Jobs[0], got.Jobs[1]
	if r.Name != "fio randread" || len(r.Targets) != 4 || r.Targets[3].Path != "randread.3.0" || r.Targets[0].Depth != 32 ||
		r.Targets[0].Size != unit.GiB || r.Shape.Pattern != shape.Once || r.Shape.Read != 1 || r.Shape.Sizes[0].Size != 4*unit.KiB ||
		r.Duration != 30*time.Second || !r.Direct || r.Flush {
		t.Errorf("%+v", r)
	}
	if len(w.Targets) != 1 || w.Targets[0].Depth != 8 || w.Shape.Pattern != shape.Sequential || w.Shape.Read != 0 ||
		w.Shape.Sizes[0].Size != unit.MiB || !w.Flush {
		t.Errorf("%+v", w)
	}
}

// What fio does by default is done here: one request in flight without an engine that
// queues, blocks once a pass, a pass where no time is given.
func TestFioDefaults(t *testing.T) {
	got, err := Fio("[a]\nsize=64k\niodepth=16\nrw=randrw\nrwmixread=70", FioOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j := got.Jobs[0]
	if j.Targets[0].Depth != 1 || j.Shape.Pattern != shape.Once || j.Shape.Read != 0.7 || j.Duration != 0 || got.Dir != "" ||
		!strings.Contains(strings.Join(j.Notes, "\n"), "one request in flight") {
		t.Errorf("%+v", j)
	}
}

func TestFioRatesAndGroups(t *testing.T) {
	for text, check := range map[string]func(Job) bool{
		"[a]\nsize=1m\nrate_iops=50\nnumjobs=2": func(j Job) bool {
			return j.Shape.Rate == 100 && j.Shape.Arrivals == shape.Uniform && len(j.Targets) == 2
		},
		"[a]\nsize=1m\nrate=4m\nbs=4k\nrate_process=poisson": func(j Job) bool {
			return j.Shape.Rate == 1024 && j.Shape.Arrivals == shape.Exponential
		},
		"[a]\nsize=1m\nrw=randread\n[b]\nsize=2m\nrw=randread": func(j Job) bool {
			return j.Name == "fio a+b" && len(j.Targets) == 2 && j.Targets[1].Size == 2*unit.MiB
		},
		"[a]\nsize=1m\nrw=randread\nbssplit=4k/60:64k/40": func(j Job) bool {
			return j.Shape.Pattern == shape.Random && len(j.Shape.Sizes) == 2 && j.Shape.Sizes[1].Share == 0.4
		},
		"[a]\nsize=1m\nrw=randwrite\nbssplit=4k/50:8k:16k\nsync=dsync": func(j Job) bool {
			return j.Durable && len(j.Shape.Sizes) == 3 && j.Shape.Sizes[2].Share == 0.25
		},
		"[a]\nfilename=/dev/sdx\nrw=randread\nnumjobs=4\niodepth=8\nioengine=io_uring\nthinktime=20": func(j Job) bool {
			return j.Targets[0].Path == "/dev/sdx" && j.Targets[0].Depth == 32 && j.Shape.Think == 20*time.Microsecond
		},
		"[a]\nsize=1m\nrw=randread\nrandom_distribution=zipf:1.1": func(j Job) bool {
			return j.Shape.Pattern == shape.Zipf && j.Shape.Theta == 1.1
		},
		"[a]\nsize=1mib\nbuffered=0": func(j Job) bool { return j.Direct && j.Targets[0].Size == unit.MiB },
		"[../x]\nsize=1m":            func(j Job) bool { return filepath.Base(j.Targets[0].Path) == ".._x.0.0" },
	} {
		got, err := Fio(text, FioOptions{})
		if err != nil || len(got.Jobs) != 1 || !check(got.Jobs[0]) {
			t.Errorf("%s:\n%+v, %v", text, got, err)
		}
	}
}

// A device may be stood for by another, and everything may be made in a directory.
func TestFioPlaces(t *testing.T) {
	text := "[a]\nfilename=/dev/nvme9n1\nsize=1g\nrw=read"
	got, err := Fio(text, FioOptions{Map: map[string]string{"/dev/nvme9n1": "/dev/sdb"}})
	if err != nil || got.Jobs[0].Targets[0].Path != "/dev/sdb" || got.Dir != "" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Fio(text, FioOptions{InDir: true})
	if err != nil || got.Jobs[0].Targets[0].Path != "dev_nvme9n1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFioRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                         "there is no job",
		"[global]\nbs=4k":                          "there is no job",
		"rw=read\n[a]\nsize=1m":                    "line 1: rw stands before the first section",
		"[a]\nrw=read":                             "line 1: [a] has no size",
		"[a]\nsize=1m\nrw=trim":                    "line 3: rw=trim: want read, write",
		"[a]\nsize=50%":                            "line 2: size=50%",
		"[a]\nsize=${SIZE}":                        "a variable of the environment",
		"[a]\nsize=1m\nverify=crc32c":              "line 3: verify is not supported",
		"[a]\nsize=1m\nioengine=rbd":               "ioengine=rbd: want one",
		"[a]\nsize=1m\nfsync=1":                    "a sync after so many writes",
		"[a]\nsize=1m\nbs=4k,64k":                  "larger one way than the other",
		"[a]\nsize=1m\nbssplit=4k/60":              "do not add up to 100",
		"[a]\nsize=1m\n[b]\nsize=1m\nrw=write":     "line 3: [b] runs beside [a] and differs from it in rw",
		"[a]\nsize=1m\nbs=4k\n[b]\nsize=1m\nbs=8k": "differs from it in bs",
		"[a]\nsize=1m\nrate_iops=5\n[b]\nsize=1m\nrate_iops=6":   "another rate for each file",
		"[a]\nsize=1m\ntime_based":                               "no runtime",
		"[a]\nsize=1m\nramp_time=5":                              "ramp_time and no runtime",
		"[a]\nsize=2k":                                           "smaller than a request",
		"[a]\nsize=1m\nfilename=x\nnumjobs=2":                    "go through one file in order",
		"[a]\nsize=1m\nfilename=..":                              "is no file",
		"[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=x":     "two jobs at once on x",
		"[a]\nfilename=/dev/sda\n[b]\nsize=1m\nstonewall":        "run them apart",
		"[a]\nsize=1m\ndirectory=/a\n[b]\nsize=1m\ndirectory=/b": "below one directory",
		"[a]\nsize=1m\nthinktime=1\nrate_iops=5":                 "already says when",
		"[a]\nsize=1m\nnumjobs=65":                               "no number from 1 to 64",
		"[a\nsize=1m":                                            "want [NAME]",
		strings.Repeat("x", maxText+1):                           "larger than",
	} {
		if _, err := Fio(text, FioOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func FuzzFio(f *testing.F) {
	f.Add(fioText)
	f.Add("[a]\nsize=1m\nrw=randread\nbssplit=4k/60:64k/40\nfilename=/dev/sdb")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Fio(text, FioOptions{InDir: true})
		checkJobs(t, got.Jobs, err)
		for _, j := range got.Jobs {
			for _, target := range j.Targets {
				if p := target.Path; err == nil && (p == "" || p == "." || p == ".." || strings.Contains(p, "/")) {
					t.Fatalf("%q leaves its directory", p)
				}
			}
			s := j.Shape
			if s.Area = s.Largest(); err == nil && s.Check() != nil {
				t.Fatalf("%+v: %v", j, s.Check())
			}
		}
	})
}
