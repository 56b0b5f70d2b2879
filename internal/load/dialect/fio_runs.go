package dialect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// runs makes one job of each group of sections that fio runs at once.
func (f *fioFile) runs(o FioOptions) (FioJobs, error) {
	if len(f.jobs) == 0 {
		return FioJobs{}, wrong(0, "there is no job: want [NAME]")
	}
	var out FioJobs
	for i := 0; i < len(f.jobs); {
		end := i + 1
		for end < len(f.jobs) && !f.jobs[end].alone {
			end++
		}
		j, err := fioGroup(f.jobs[i:end], o)
		if err != nil {
			return FioJobs{}, err
		}
		out.Jobs = append(out.Jobs, j)
		i = end
	}
	return out, f.place(&out, o)
}

// place says where files are made; empty if every job has a target that exists.
func (f *fioFile) place(out *FioJobs, o FioOptions) error {
	exist := 0
	for _, s := range f.jobs {
		if s.exists(o) {
			exist++
			continue
		}
		if o.InDir || s.dir == "" {
			continue
		}
		if out.Dir != "" && out.Dir != s.dir {
			return failure.Advise(wrong(s.line, "[%s] has directory=%s and another job has %s: all files of a row of runs are made below one directory", s.name, s.dir, out.Dir), failure.NameDirectory)
		}
		out.Dir = s.dir
	}
	if out.Make = exist == 0; !out.Make && exist < len(f.jobs) {
		return failure.Advise(wrong(0, "some jobs have a filename= that begins with /, which exists, and others have files that are to be made: run them apart, or make all below one directory"), failure.NameDirectory)
	}
	return nil
}

// exists tells that the section's file is there, so that none is made.
func (s fioSection) exists(o FioOptions) bool {
	return !o.InDir && (o.Map[s.file] != "" || filepath.IsAbs(s.file))
}

// fioGroup makes one run of sections that are alike.
func fioGroup(group []fioSection, o FioOptions) (Job, error) {
	first := group[0]
	j, err := first.job()
	if err != nil {
		return Job{}, err
	}
	j.Shape.Rate = 0
	var names []string
	each := 0.0 // requests per second of a target: they share a run's rate evenly
	for _, s := range group {
		mine, err := s.job()
		if err != nil {
			return Job{}, err
		}
		if what := differs(j, mine); what != "" {
			return Job{}, wrong(s.line, "[%s] runs beside [%s] and differs from it in %s: one run has one shape; put stonewall into it to run it afterwards", s.name, first.name, what)
		}
		targets, err := s.targets(o)
		if err != nil {
			return Job{}, err
		}
		if j.Targets = append(j.Targets, targets...); len(j.Targets) > maxTargets {
			return Job{}, wrong(s.line, "more than %d files at once", maxTargets)
		}
		rate := mine.Shape.Rate * float64(s.jobs)
		if part := rate / float64(len(targets)); each == 0 {
			each = part
		} else if part != each {
			return Job{}, wrong(s.line, "[%s] runs beside [%s] and has another rate for each file: put stonewall into it to run it afterwards", s.name, first.name)
		}
		j.Shape.Rate += rate
		for _, n := range mine.Notes {
			if !slices.Contains(j.Notes, n) {
				j.Notes = append(j.Notes, n)
			}
		}
		names = append(names, s.name)
	}
	j.Name = "fio " + strings.Join(names[:min(len(names), 4)], "+")
	return j, twice(j, first.line)
}

// twice refuses a file that two jobs would use at once: neither would allow for the other's requests.
func twice(j Job, line int) error {
	seen := map[string]bool{}
	for _, t := range j.Targets {
		if seen[t.Path] {
			return wrong(line, "two jobs at once on %s: give them numjobs and iodepth in one section", t.Path)
		}
		seen[t.Path] = true
	}
	return nil
}

// differs names the option in which two jobs of a group differ; empty: they are alike.
func differs(a, b Job) string {
	as, bs := a.Shape, b.Shape
	switch {
	case as.Pattern != bs.Pattern || as.Read != bs.Read || as.Theta != bs.Theta:
		return "rw"
	case !slices.Equal(as.Sizes, bs.Sizes):
		return "bs"
	case a.Warmup != b.Warmup || a.Duration != b.Duration:
		return "runtime or ramp_time"
	case a.Direct != b.Direct || a.Durable != b.Durable || a.Flush != b.Flush:
		return "direct or sync"
	case as.Think != bs.Think || as.Arrivals != bs.Arrivals:
		return "rate or thinktime"
	}
	return ""
}

// job is what one of the section's processes does. Its rate is of that process alone.
func (s fioSection) job() (Job, error) {
	j := Job{Warmup: s.ramp, Duration: s.run, Direct: s.direct, Durable: s.durable, Notes: slices.Clone(s.notes)}
	sh := shape.Shape{Pattern: shape.Sequential, Sizes: s.sizes, Arrivals: shape.Closed, Think: s.think}
	switch s.pattern {
	case "read", "randread":
		sh.Read = 1
	case "rw", "readwrite", "randrw":
		sh.Read = s.read
	}
	j.Flush = s.flush && sh.Read < 1
	if strings.HasPrefix(s.pattern, "rand") {
		sh.Pattern = s.random(&j)
		sh.Theta = s.theta
	}
	if err := s.rated(&sh); err != nil {
		return Job{}, err
	}
	if s.timed && s.run == 0 {
		return Job{}, wrong(s.line, "[%s] is time_based and has no runtime", s.name)
	}
	if s.run == 0 && s.ramp > 0 {
		return Job{}, wrong(s.line, "[%s] has a ramp_time and no runtime: a single pass has no part that is left out", s.name)
	}
	if s.run > 0 && !s.timed {
		j.Notes = append(j.Notes, "runtime without time_based: the run goes on to its end, over each file again and again")
	}
	if !slices.Contains(fioQueued, s.engine) && s.depth > 1 {
		j.Notes = append(j.Notes, fmt.Sprintf("ioengine=%s has one request in flight, whatever iodepth says, as in fio", s.engine))
	}
	j.Notes = append(j.Notes, "requests go through linerate's own engine")
	j.Shape = sh
	return j, nil
}

// random is the pattern of random requests. By default fio touches each block once a pass.
func (s fioSection) random(j *Job) shape.Pattern {
	switch {
	case s.theta > 0:
		return shape.Zipf
	case s.noMap:
		return shape.Random
	case len(s.sizes) > 1 || s.jobs > 1 && s.file != "":
		j.Notes = append(j.Notes, "blocks are drawn with replacement: several sizes, or several jobs on a file, have no common map of blocks")
		return shape.Random
	}
	return shape.Once
}

// rated sets when requests of one process are due.
func (s fioSection) rated(sh *shape.Shape) error {
	rate := s.iops
	if s.bytesPerSecond > 0 {
		if s.iops > 0 {
			return wrong(s.line, "[%s] has both rate and rate_iops", s.name)
		}
		mean := 0.0
		for _, z := range s.sizes {
			mean += float64(z.Size) * z.Share
		}
		rate = float64(s.bytesPerSecond) / mean
	}
	if rate == 0 {
		return nil
	}
	if s.think > 0 {
		return wrong(s.line, "[%s] has a thinktime and a rate, which already says when requests are due", s.name)
	}
	if sh.Rate, sh.Arrivals = rate, shape.Uniform; s.poisson {
		sh.Arrivals = shape.Exponential
	}
	return nil
}

// targets are the files of a section: one for each process, or one that all use.
func (s fioSection) targets(o FioOptions) ([]Target, error) {
	depth := s.depth
	if !slices.Contains(fioQueued, s.engine) {
		depth = 1
	}
	if s.size == 0 && !s.exists(o) {
		return nil, wrong(s.line, "[%s] has no size", s.name)
	}
	if s.size > 0 && s.size < s.largest() {
		return nil, wrong(s.line, "[%s]: a file of %v is smaller than a request", s.name, s.size)
	}
	if s.file == "" {
		var out []Target
		for i := range s.jobs {
			// fio's own names, where a name of a job may not lead out of the directory.
			n := fmt.Sprintf("%s.%d.0", strings.ReplaceAll(s.name, "/", "_"), i)
			out = append(out, Target{Name: n, Path: n, Size: s.size, Depth: depth})
		}
		return out, nil
	}
	if s.jobs > 1 && !strings.HasPrefix(s.pattern, "rand") {
		return nil, wrong(s.line, "[%s]: %d jobs that each go through one file in order are not supported: leave filename out, and each has its own", s.name, s.jobs)
	}
	t := Target{Name: s.file, Path: s.file, Size: s.size, Depth: depth * s.jobs}
	if to := o.Map[s.file]; to != "" {
		t.Path = to
	}
	if !s.exists(o) {
		t.Path = strings.ReplaceAll(strings.TrimLeft(s.file, "/"), "/", "_")
	}
	if t.Path == "" || t.Path == "." || t.Path == ".." {
		return nil, wrong(s.line, "[%s]: filename=%s is no file", s.name, s.file)
	}
	return []Target{t}, nil
}

func (s fioSection) largest() unit.Bytes { return shape.Shape{Sizes: s.sizes}.Largest() }
