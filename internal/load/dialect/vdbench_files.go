package dialect

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// fsd is a file system definition: a tree of files of one size.
type fsd struct {
	name, anchor        string
	depth, width, files int
	size                unit.Bytes
	direct, all         bool // all: files in every directory, not in the deepest alone
}

// fwd is a workload on the files of one fsd.
type fwd struct {
	name    string
	line    int
	on      string
	sizes   []shape.SizeShare
	read    float64
	rdpct   bool // read is a percentage that was given
	pattern shape.Pattern
	shared  bool
	direct  bool
	threads int
}

// manyOpens: where threads go from file to file, files below this size cost their opening
// rather than their data, and no load here opens files.
const manyOpens = 16 * unit.MiB

func (v *vdbench) fsd(d definition) error {
	f := fsd{name: d.name, depth: 1, width: 1}
	for _, w := range d.words {
		var err error
		switch value := w.values[0]; {
		case w.name == "anchor":
			f.anchor = value
		case w.name == "depth":
			f.depth, err = parseCount(value, 64)
		case w.name == "width":
			f.width, err = parseCount(value, 1_000_000)
		case w.name == "files":
			f.files, err = parseCount(value, 1_000_000)
		case (w.name == "size" || w.name == "sizes") && len(w.values) > 1:
			err = fmt.Errorf("files of several sizes are not supported")
		case w.name == "size" || w.name == "sizes":
			f.size, err = parseSize(value, 1)
		case w.name == "openflags":
			f.direct, err = openFlags(w)
		case w.name == "distribution" && (value == "bottom" || value == "all"):
			f.all = value == "all"
		case w.name == "shared" && (value == "yes" || value == "no"): // each host has files of its own
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "fsd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	if to, ok := v.o.Map[f.anchor]; ok {
		f.anchor = to
	}
	if v.o.Size > 0 {
		f.size = v.o.Size
	}
	switch {
	case f.anchor == "" || f.files == 0 || f.size == 0:
		return wrong(d.line, "fsd=%s: want anchor=, files= and size=", d.name)
	case v.dir != "" && v.dir != f.anchor:
		return wrong(d.line, "fsd=%s: anchor=%s beside %s: several anchors in one file are not supported", d.name, f.anchor, v.dir)
	}
	v.dir, v.fsds[d.name] = f.anchor, f
	v.order.fsds = append(v.order.fsds, d.name)
	return nil
}

// count is how many files the tree has; large ones are all too many, and are not counted out.
func (f fsd) count() int {
	n, dirs := 0.0, 1.0
	for range f.depth {
		dirs *= float64(f.width)
		if f.all {
			n += dirs
		}
	}
	if !f.all {
		n = dirs
	}
	return int(min(n*float64(f.files), math.MaxInt32))
}

func (v *vdbench) fwd(d definition) error {
	x := fwd{name: d.name, line: d.line, sizes: one(vdXfer), read: 1, pattern: shape.Sequential, threads: 1}
	on := slices.Clone(v.order.fsds)
	for _, w := range d.words {
		var err error
		switch value := strings.ToLower(w.values[0]); {
		case here(w):
			err = v.everyHost(w)
		case w.name == "fsd":
			if on, err = namesOf(w, v.order.fsds); err != nil {
				return err
			}
		case w.name == "xfersize" || w.name == "xfersizes":
			x.sizes, err = sizesOf(w.values)
		case w.name == "operation" || w.name == "operations":
			x.read, err = readsOf(w.values)
		case w.name == "rdpct" || w.name == "readpct":
			x.read, err = parseShare(value)
			x.rdpct = true
		case w.name == "fileio":
			err = x.fileio(w.values)
		case w.name == "fileselect" && (value == "random" || value == "sequential" || value == "seq"):
		case w.name == "threads":
			x.threads, err = parseCount(value, 1024)
		case w.name == "openflags":
			x.direct, err = openFlags(w)
		case w.name == "skew" && value == "100":
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "fwd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	if len(on) != 1 {
		return wrong(d.line, "fwd=%s is on %d fsds: want one", d.name, len(on))
	}
	x.on = on[0]
	v.fwds[d.name] = x
	v.order.fwds = append(v.order.fwds, d.name)
	return nil
}

// readsOf is the share of reads of an operation. The others make, open, walk or delete files.
func readsOf(values []string) (float64, error) {
	switch op := strings.ToLower(values[0]); {
	case len(values) > 1:
		return 0, fmt.Errorf("several operations are not supported here: write them at the rd")
	case op == "read":
		return 1, nil
	case op == "write":
		return 0, nil
	default:
		return 0, fmt.Errorf("%s is not supported: want read or write", op)
	}
}

func (x *fwd) fileio(values []string) error {
	for i, f := range values {
		switch f = strings.ToLower(f); {
		case i == 0 && (f == "sequential" || f == "seq"):
			x.pattern = shape.Sequential
		case i == 0 && f == "random":
			x.pattern = shape.Random
		case i == 1 && f == "shared" && x.pattern == shape.Random:
			x.shared = true
		default:
			return fmt.Errorf("%s is not supported: want sequential, random, or (random,shared)", f)
		}
	}
	return nil
}

// fileRun is an rd of fwds.
type fileRun struct {
	vdRun
	fwds       []string
	operations []float64 // the share of reads of each
}

// filesRun is an rd of fwds: it becomes jobs.
func (v *vdbench) filesRun(d definition) error {
	r := fileRun{vdRun: vdRun{elapsed: vdElapsed, interval: vdInterval, warmup: -1, arrivals: shape.Exponential, rates: []float64{0}}, fwds: slices.Clone(v.order.fwds)}
	for _, w := range d.words {
		var err error
		switch w.name {
		case "fwd":
			if r.fwds, err = namesOf(w, v.order.fwds); err != nil {
				return err
			}
		case "fwdrate":
			r.rates, err = ratesOf(w.values)
		case "format": // the files are made, filled, and removed whatever it says
			if !slices.Contains([]string{"yes", "no", "restart"}, strings.ToLower(w.values[0])) || len(w.values) > 1 {
				err = fmt.Errorf("it is not supported: want yes, no or restart")
			}
		case "operation", "operations", "foroperation", "foroperations":
			for _, op := range w.values {
				read, bad := readsOf([]string{op})
				if bad != nil {
					err = bad
					break
				}
				r.operations = append(r.operations, read)
			}
		case "elapsed", "interval", "warmup", "threads", "forthreads", "openflags":
			err = r.word(w)
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "rd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	switch {
	case len(r.fwds) != 1:
		return wrong(d.line, "rd=%s has %d fwds: want one, name it with fwd=", d.name, len(r.fwds))
	case r.elapsed <= 0 || r.warmup < 0 && r.elapsed <= r.interval:
		return wrong(d.line, "rd=%s: nothing is left of elapsed=%v but the first interval of %v, which does not count", d.name, r.elapsed, r.interval)
	}
	x := v.fwds[r.fwds[0]]
	if len(r.operations) == 0 {
		r.operations = []float64{x.read}
	} else if x.rdpct {
		return wrong(d.line, "rd=%s: operations beside rdpct= of fwd=%s: want one of them", d.name, x.name)
	}
	for _, read := range r.operations {
		for _, threads := range r.each(r.threads) {
			for _, rate := range r.rates {
				if err := v.fileJob(d, r, x, read, threads, rate); err != nil {
					return err
				}
			}
		}
	}
	if len(v.jobs) > maxJobs {
		return wrong(d.line, "more than %d runs", maxJobs)
	}
	return nil
}

// fileJob adds the job of one operation, number of threads and rate.
func (v *vdbench) fileJob(d definition, r fileRun, x fwd, read float64, threads int, rate float64) error {
	on := v.fsds[x.on]
	if threads > 0 {
		x.threads = threads
	}
	j := Job{Name: d.name, Direct: x.direct || on.direct || r.direct,
		Shape: shape.Shape{Pattern: x.pattern, Sizes: x.sizes, Read: read, Arrivals: shape.Closed}}
	if len(r.operations) > 1 {
		j.Name += map[bool]string{true: " read", false: " write"}[read == 1]
	}
	if len(r.rates) > 1 {
		j.Rates = j.Name
	}
	if rate > 0 {
		j.Name += fmt.Sprintf(" at %g/s", rate)
		j.Shape.Rate, j.Shape.Arrivals = rate, r.arrivals
	}
	if len(r.threads) > 1 {
		j.Name += fmt.Sprintf(" with %d threads", threads)
	}
	err := on.spread(x, &j)
	if err == nil {
		err = v.put(&j)
	}
	if err != nil {
		return wrong(x.line, "fwd=%s: %v", x.name, err)
	}
	j.Notes = append(j.Notes, fmt.Sprintf("the files are made in a directory of their own below %s, filled, and removed at the end; they stay open while they are used", on.anchor))
	if j.Warmup, j.Duration = r.warmup, r.elapsed; r.warmup < 0 {
		j.Warmup, j.Duration = r.interval, r.elapsed-r.interval
		j.Notes = append(j.Notes, fmt.Sprintf("no warmup=: the first interval of %v does not count", time.Duration(r.interval)))
	}
	v.share(&j)
	v.jobs = append(v.jobs, j)
	return nil
}

// spread puts the threads of a workload on the files. vdbench gives a file to one thread at a
// time, unless it is shared: so more threads than files wait. Fewer threads go from file to
// file: their part of all files becomes one file each.
func (f fsd) spread(x fwd, j *Job) error {
	files, size, depth := f.count(), f.size, 1
	largest := unit.Bytes(0)
	for _, s := range x.sizes {
		largest = max(largest, s.Size)
	}
	switch {
	case largest > size:
		return fmt.Errorf("requests of %v in files of %v", largest, size)
	case x.shared && x.threads%files != 0:
		return fmt.Errorf("%d threads share %s: want a multiple", x.threads, unit.Count(files, "file"))
	case x.shared:
		depth = x.threads / files
		j.Notes = append(j.Notes, fmt.Sprintf("%s share %s of %v", unit.Count(x.threads, "thread"), unit.Count(files, "file"), size))
	case x.threads >= files:
		j.Notes = append(j.Notes, fmt.Sprintf("%s of %v, each with one thread of %d: the others would wait, as vdbench's do", unit.Count(files, "file"), size, x.threads))
	case size < manyOpens:
		return fmt.Errorf("%d files of %v for %s, which go from file to file: that opens files more than it moves data, and no load here opens files; want at most as many files as threads, or files of %v",
			files, size, unit.Count(x.threads, "thread"), manyOpens)
	case float64(size)*float64(files) > 1<<60:
		return fmt.Errorf("%d files of %v are more than fit anywhere", files, size)
	default:
		part := size * unit.Bytes(files) / unit.Bytes(x.threads) / largest * largest
		j.Notes = append(j.Notes, fmt.Sprintf("%d files of %v are %d of %v here, one for each thread: opening the others is left out", files, size, x.threads, part))
		files, size = x.threads, part
	}
	if files > maxTargets {
		return fmt.Errorf("%d files at once: want at most %d", files, maxTargets)
	}
	for i := range files {
		j.Targets = append(j.Targets, Target{Name: f.name, Path: path.Join(f.anchor, fmt.Sprintf("vdb_f%04d.file", i+1)), Size: size, Depth: depth})
	}
	return nil
}
