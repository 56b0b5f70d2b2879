package dialect

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"linerate/internal/failure"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// VdbenchOptions are what a parameter file does not know.
type VdbenchOptions struct {
	// Map replaces luns, anchors and systems, as \\.\PhysicalDrive1 by /dev/sdb.
	Map map[string]string
	// Size replaces the size of every sd; 0: none is replaced.
	Size unit.Bytes
}

// Defaults of vdbench (Vdbench Users Guide 5.04, parameter definitions).
const (
	vdThreads  = 8
	vdXfer     = 4 * unit.KiB
	vdElapsed  = 30 * time.Second
	vdInterval = time.Second
)

// sd is a storage definition, wd a workload on some of them.
type sd struct {
	target Target
	direct bool
	part   *vdRange // nil: all
}

type wd struct {
	name   string
	line   int
	sds    []string
	sizes  []shape.SizeShare
	read   float64
	seek   float64 // the share of its requests that go elsewhere; 1: random
	skew   float64 // below 0: not given
	direct bool
	part   *vdRange // of each sd; nil: all
}

// vdbench is a parameter file that is being read.
type vdbench struct {
	o     VdbenchOptions
	sds   map[string]sd
	wds   map[string]wd
	fsds  map[string]fsd
	fwds  map[string]fwd
	order struct{ sds, wds, fsds, fwds, hds []string }
	dir   string   // of all fsds
	hosts []string // systems of all hds
	data  vdData
	jobs  []Job
}

// VdbenchRuns are what a parameter file asks for.
type VdbenchRuns struct {
	Jobs []Job
	// Dir is where files are to be made; empty: the targets exist.
	Dir string
	// Hosts make the load together; empty: this one alone does.
	Hosts []string
}

// Vdbench translates a parameter file: each rate, and each value of a for… list,
// of each rd is a job. Workloads of one rd become one mix, drawn by chance.
//
// Errors are *Error, some with a step behind it.
func Vdbench(text string, o VdbenchOptions) (VdbenchRuns, error) {
	all, err := definitions(text)
	if err != nil {
		return VdbenchRuns{}, err
	}
	v := &vdbench{o: o, sds: map[string]sd{}, wds: map[string]wd{}, fsds: map[string]fsd{}, fwds: map[string]fwd{}}
	for _, d := range all {
		do := map[string]func(definition) error{general: v.general, "hd": v.hd, "sd": v.sd, "wd": v.wd, "rd": v.rd, "fsd": v.fsd, "fwd": v.fwd}[d.kind]
		if d.kind == "rd" && len(v.fsds) > 0 {
			do = v.filesRun
		}
		if err := do(d); err != nil {
			return VdbenchRuns{}, err
		}
	}
	switch {
	case len(v.jobs) == 0:
		return VdbenchRuns{}, wrong(0, "the file defines no run (rd=)")
	case len(v.sds) > 0 && len(v.fsds) > 0:
		return VdbenchRuns{}, wrong(0, "sd= and fsd= in one file are not supported")
	}
	out := VdbenchRuns{Jobs: v.jobs, Dir: v.dir}
	if !v.alone() {
		out.Hosts = v.hosts
	}
	return out, nil
}

func (v *vdbench) sd(d definition) error {
	s := sd{target: Target{Name: d.name, Depth: vdThreads}}
	for _, w := range d.words {
		var err error
		switch value := w.values[0]; {
		case here(w):
			err = v.everyHost(w)
		case w.name == "lun":
			s.target.Path = value
		case w.name == "size":
			s.target.Size, err = parseSize(value, 1)
		case w.name == "threads":
			s.target.Depth, err = parseCount(value, 1024)
		case w.name == "openflags":
			s.direct, err = openFlags(w)
		case w.name == "range":
			s.part, err = rangeWord(w.values)
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "sd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	if to, ok := v.o.Map[s.target.Path]; ok {
		s.target.Path = to
	}
	if v.o.Size > 0 {
		s.target.Size = v.o.Size
	}
	switch {
	case s.target.Path == "":
		return wrong(d.line, "sd=%s has no lun=", d.name)
	case strings.HasPrefix(s.target.Path, `\\`):
		return failure.Advise(wrong(d.line, "sd=%s: lun=%s is no path of this host", d.name, s.target.Path), failure.MapPath, s.target.Path)
	}
	v.sds[d.name] = s
	if v.order.sds = append(v.order.sds, d.name); len(v.order.sds) > maxTargets {
		return wrong(d.line, "more than %d sds", maxTargets)
	}
	return nil
}

func openFlags(w word) (direct bool, err error) {
	for _, f := range w.values {
		if f = strings.ToLower(f); f != "o_direct" && f != "directio" {
			return false, fmt.Errorf("%s is not supported: want o_direct or directio", f)
		}
	}
	return true, nil
}

func (v *vdbench) wd(d definition) error {
	x := wd{name: d.name, line: d.line, sizes: one(vdXfer), read: 1, seek: 1, skew: -1, sds: slices.Clone(v.order.sds)}
	for _, w := range d.words {
		var err error
		switch value := w.values[0]; {
		case here(w):
			err = v.everyHost(w)
		case w.name == "sd":
			if x.sds, err = namesOf(w, v.order.sds); err != nil {
				return err
			}
		case w.name == "xfersize":
			x.sizes, err = sizesOf(w.values)
		case w.name == "rdpct" || w.name == "readpct":
			x.read, err = parseShare(value)
		case w.name == "seekpct":
			x.seek, err = seekOf(value)
		case w.name == "skew":
			x.skew, err = parseShare(value)
		case w.name == "openflags":
			x.direct, err = openFlags(w)
		case w.name == "range":
			x.part, err = rangeWord(w.values)
		case (w.name == "rhpct" || w.name == "whpct") && value == "0":
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "wd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	if len(x.sds) == 0 {
		return wrong(d.line, "wd=%s has no sd", d.name)
	}
	v.wds[d.name] = x
	v.order.wds = append(v.order.wds, d.name)
	return nil
}

// sizesOf is one size, or sizes with the percentage that each has.
func sizesOf(values []string) ([]shape.SizeShare, error) {
	if len(values) == 1 {
		n, err := parseSize(values[0], 1)
		if err == nil && n < 1 {
			err = fmt.Errorf("a request of no bytes")
		}
		return one(n), err
	}
	if len(values)%2 != 0 {
		return nil, fmt.Errorf("want sizes with percentages, as (8k,50,64k,50)")
	}
	var out []shape.SizeShare
	for i := 0; i < len(values); i += 2 {
		n, err := parseSize(values[i], 1)
		if err != nil {
			return nil, err
		}
		p, err := parseShare(values[i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, shape.SizeShare{Size: n, Share: p})
	}
	return out, nil
}

// seekOf is the share of the requests that go elsewhere; the others follow the one
// before.
func seekOf(s string) (float64, error) {
	switch strings.ToLower(s) {
	case "random":
		return 1, nil
	case "sequential", "seq":
		return 0, nil
	}
	n, err := parseShare(s)
	if err != nil {
		err = fmt.Errorf("want random, sequential, or the percentage of requests that go elsewhere, 0 to 100")
	}
	return n, err
}

// mix makes one shape of the workloads of a run.
func (v *vdbench) mix(line int, names []string) (shape.Shape, []string, bool, error) {
	first := v.wds[names[0]]
	s := shape.Shape{Pattern: shape.Sequential, Sizes: first.sizes, Read: first.read, Arrivals: shape.Closed}
	switch {
	case first.seek == 1:
		s.Pattern = shape.Random
	case first.seek > 0 && len(first.sizes) > 1:
		return s, nil, false, wrong(first.line, "wd=%s: seekpct between 0 and 100 with several xfersizes is not supported", first.name)
	case first.seek > 0:
		s.Pattern, s.Jump = shape.Seek, first.seek
	}
	direct := first.direct
	if len(names) == 1 {
		return s, first.sds, direct, nil
	}
	shares, err := v.shares(line, names)
	if err != nil {
		return s, nil, false, err
	}
	s.Read = 0
	sizes, sameSizes, sameRead := map[unit.Bytes]float64{}, true, true
	for i, n := range names {
		x := v.wds[n]
		switch {
		case !slices.Equal(x.sds, first.sds):
			return s, nil, false, wrong(x.line, "wd=%s has other sds than wd=%s of the same run: that is not supported", n, first.name)
		case (x.part == nil) != (first.part == nil) || x.part != nil && *x.part != *first.part:
			return s, nil, false, wrong(x.line, "wd=%s has another range than wd=%s of the same run: that is not supported", n, first.name)
		case x.seek < 1 || first.seek < 1:
			return s, nil, false, wrong(x.line, "wd=%s and wd=%s in one run, and not both at random: that is not supported", first.name, n)
		}
		direct = direct || x.direct
		s.Read += shares[i] * x.read
		sameSizes, sameRead = sameSizes && slices.Equal(x.sizes, first.sizes), sameRead && x.read == first.read
		for _, z := range x.sizes {
			sizes[z.Size] += shares[i] * z.Share
		}
	}
	if !sameSizes && !sameRead {
		return s, nil, false, wrong(line, "workloads of one run that differ in xfersize and in rdpct are not supported")
	}
	if !sameSizes {
		s.Sizes = nil
		for _, n := range slices.Sorted(maps.Keys(sizes)) {
			s.Sizes = append(s.Sizes, shape.SizeShare{Size: n, Share: sizes[n]})
		}
	}
	s.Read = math.Round(s.Read*1e9) / 1e9
	return s, first.sds, direct, nil
}

// shares of the requests that workloads have: as skew= says; those without it
// share what is left.
func (v *vdbench) shares(line int, names []string) ([]float64, error) {
	left, without := 1.0, 0
	for _, n := range names {
		if s := v.wds[n].skew; s >= 0 {
			left -= s
		} else {
			without++
		}
	}
	if left < -1e-9 || without == 0 && left > 1e-9 {
		return nil, wrong(line, "the skews of a run's workloads add up to %.4g%%, not 100%%", 100*(1-left))
	}
	var out []float64
	for _, n := range names {
		s := v.wds[n].skew
		if s < 0 {
			s = left / float64(without)
		}
		out = append(out, s)
	}
	return out, nil
}
