package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// JobsOptions is what is wanted of a row of runs.
type JobsOptions struct {
	Jobs    []Job
	Dir     string        // an existing directory, to make the files in; empty: the targets exist
	Size    unit.Bytes    // of each target, whatever its job says; 0: as that says
	For     time.Duration // measured, whatever the jobs say; 0: as they say
	Destroy []string      // targets that were named twice
	Fill    bool          // write what was never written first
	Stuck   time.Duration // how long a target may take to answer; 0: a minute
	Memory  unit.Bytes    // that the load and the page cache for it have at most; 0: no limit
	On      []HostName    // that make the load; none: this process does
}

// JobsResult is what a row of runs came to.
type JobsResult struct {
	Runs []JobResult `json:"runs"`
	kept
}

// JobResult is one of them.
type JobResult struct {
	BlockResult
	// Flush is the part of the measured time that a sync at the end took.
	Flush time.Duration `json:"flush_ns,omitempty"`
	// Curve is its place on a curve; nil: it is on none.
	Curve *CurvePoint `json:"curve,omitempty"`
	Notes []string    `json:"notes"`
	// Rates names a row of runs that differ in their rate alone; empty: none.
	Rates string `json:"-"`
}

// CurvePoint is a run's place on a curve of latency against rate.
type CurvePoint struct {
	// Percent of Largest; 0: the run that found that out.
	Percent float64 `json:"percent"`
	Largest float64 `json:"largest_iops"`
	// Asked is the rate that requests were due at; 0: none.
	Asked float64 `json:"asked_iops"`
}

// Jobs makes runs one after the other, and tells each of every one that is over. A row
// that was cut short is made as far as it has runs, and comes with its error.
func Jobs(ctx context.Context, e app.Env, o JobsOptions, p app.Progress, each func(JobResult) error) (*Made, error) {
	out := &JobsResult{Runs: []JobResult{}}
	begin := jobsHere
	if len(o.On) > 0 {
		begin = jobsOn
	}
	s, err := begin(ctx, e, o, p, func(run runJob) error { return out.make(o.Jobs, run, each) })
	defer s.close()
	if len(out.Runs) == 0 {
		return nil, err
	}
	var series []model.LoadSeries
	var lines []string
	for _, r := range out.Runs {
		series = append(series, r.courses()...)
		lines = append(lines, fmt.Sprintf("%s %v/s", r.Load.Workload, unit.Bytes(r.Load.BytesPerS)))
	}
	return s.made(ctx, "jobs", out, strings.Join(lines[:min(len(lines), 6)], ", "), series), err
}

// runJob makes one run.
type runJob func(Job) (JobResult, error)

// make makes the runs; those on a curve at their part of what the run before them
// reached without a rate.
func (r *JobsResult) make(jobs []Job, run runJob, each func(JobResult) error) error {
	largest := 0.0
	for _, j := range jobs {
		if j.Curve != nil && j.Curve.Percent > 0 {
			if j.Shape.Rate = j.Curve.Rate(largest); j.Shape.Rate <= 0 {
				return fmt.Errorf("%s: without a rate %.3g requests per second were made: too few to take a part of", j.Name, largest)
			}
		}
		one, err := run(j)
		if err != nil {
			return err
		}
		if j.Curve != nil {
			if j.Curve.Percent == 0 {
				largest = one.Load.IOPS
			}
			one.Curve = &CurvePoint{Percent: j.Curve.Percent, Largest: largest, Asked: j.Shape.Rate}
		}
		r.Runs = append(r.Runs, one)
		if err := each(one); err != nil {
			return err
		}
	}
	return nil
}

// jobsHere has all make the runs in this process.
func jobsHere(ctx context.Context, e app.Env, o JobsOptions, p app.Progress, all func(runJob) error) (*session, error) {
	s := here(e, p)
	return s, s.onStorage(ctx, o.Memory, func(h storage.Hooks) error {
		r := &storage.Jobs{Hooks: h, Size: o.Size, For: o.For, Destroy: o.Destroy, Fill: o.Fill, Stuck: o.Stuck}
		remove := func() error { return nil }
		if o.Dir != "" {
			var err error
			if remove, err = r.MakeRoot(ctx, o.Dir); err != nil {
				return err
			}
		}
		err := all(func(j Job) (JobResult, error) {
			m, specs, err := r.Run(ctx, j)
			if err != nil {
				return JobResult{}, err
			}
			out, err := figures(j.Name, m)
			out.Hosts = s.listed()
			return jobOf(j, out, m.Flush, len(specs)), err
		})
		if err != nil && ctx.Err() != nil && o.Dir != "" {
			err = failure.Of(failure.Interrupted, "interrupted; what was written below %s was removed", o.Dir)
		} else {
			err = ended(ctx, err, "the targets", true)
		}
		return errors.Join(err, remove())
	})
}

// jobsOn has all make the runs on several hosts, each of which begins at an instant of
// its own.
func jobsOn(ctx context.Context, e app.Env, o JobsOptions, p app.Progress, all func(runJob) error) (*session, error) {
	h, err := reachHosts(ctx, e, p, o.On)
	if err != nil {
		return &h.session, err
	}
	task := worker.Task{Jobs: &storage.JobsTask{Dir: o.Dir, Jobs: o.Jobs, Size: o.Size, For: o.For, Destroy: o.Destroy, Fill: o.Fill, Stuck: o.Stuck}, Memory: o.Memory, Deadline: 48 * time.Hour}
	if err := h.begin(ctx, task); err != nil {
		return &h.session, err
	}
	err = all(func(j Job) (JobResult, error) {
		parts, err := h.blocks(ctx, j.Name, 0, j.Warmup+j.Duration)
		if err != nil {
			return JobResult{}, err
		}
		out, err := parts.figures(j.Name)
		return jobOf(j, out, parts.all.Flush, len(j.Targets)*len(parts.hosts)), err
	})
	err = refused(errors.Join(err, h.end(ctx)))
	if ctx.Err() != nil {
		err = failure.Of(failure.Interrupted, "interrupted; what was written to targets that existed stays, and files that were made are being removed")
	}
	return &h.session, err
}

// jobOf are a job's figures, of so many targets together.
func jobOf(j Job, out BlockResult, flush time.Duration, targets int) JobResult {
	s := &out.Spec
	s.Shape.Rate, s.Direct, s.Run = j.Shape.Rate, j.Direct, ""
	if targets != 1 {
		s.Target = unit.Count(targets, "target")
	}
	return JobResult{BlockResult: out, Flush: flush, Notes: append([]string{}, j.Notes...), Rates: j.Rates}
}
