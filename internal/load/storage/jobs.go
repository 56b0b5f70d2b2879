package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/frames"
	"linerate/internal/load/scratch"
	"linerate/internal/unit"
)

// passTime bounds a pass over a file.
const passTime = 24 * time.Hour

// Jobs makes runs on targets that exist, or in a directory of its own.
type Jobs struct {
	Hooks
	Size    unit.Bytes    // used of each target, whatever its job says; 0: as that says
	For     time.Duration // measured, whatever the job says; 0: as that says
	Destroy []string      // targets that were named twice
	Fill    bool
	// Stuck is how long the target may take to answer; 0: block.StuckAfter.
	Stuck time.Duration
	root  string
	left  bool // what was made, since its server does not answer
}

// MakeRoot makes the directory that files are made in. remove takes it away; from a
// server that does not answer it takes nothing, and says what is left there.
func (r *Jobs) MakeRoot(ctx context.Context, dir string) (remove func() error, err error) {
	made := make(chan *scratch.Dir, 1)
	err = r.within(ctx, "make files below "+dir, func() error {
		d, _, err := scratch.Make(dir, "load")
		made <- d
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make files: %w", err)
	}
	d := <-made
	r.root = d.Path
	return func() error {
		err := error(nil)
		if !r.left {
			err = block.Within(context.WithoutCancel(ctx), block.SyncTime(r.Stuck), "remove what was written", d.Remove)
		}
		if err != nil || r.left {
			return errors.Join(err, fmt.Errorf("%s is left: remove it by hand once its server answers", r.root))
		}
		return nil
	}, nil
}

// within gives up on what does not come back.
func (r *Jobs) within(ctx context.Context, doing string, f func() error) error {
	return block.Within(ctx, cmp.Or(r.Stuck, block.StuckAfter), doing, f)
}

// Run makes one run. The Specs are what each target got.
func (r *Jobs) Run(ctx context.Context, j dialect.Job) (m Measured, specs []block.Spec, err error) {
	var targets []*block.Target
	defer func() {
		var stuck *block.StuckError
		r.left = r.left || errors.As(err, &stuck)
		for _, t := range targets {
			_ = t.Close() // only descriptors: what was written is the kernel's since
		}
	}()
	for i, target := range j.Targets {
		s, err := r.spec(j, target, i)
		if err == nil {
			err = r.within(ctx, "make "+s.Path, func() error { return r.file(s) })
		}
		if err != nil {
			return m, nil, err
		}
		t, s, err := Open(ctx, s, r.named(s.Path))
		if err != nil {
			return m, nil, Refusal(err, target.Path)
		}
		targets = append(targets, t)
		if j.Duration == 0 {
			s.Requests = int64(s.Shape.Area / s.Shape.Largest())
		}
		if err := s.Check(); err != nil {
			return m, nil, load.Refuse("%s: %w", j.Name, err)
		}
		if _, err := fillHoles(ctx, r.Hooks, t, s, r.Fill || r.root != ""); err != nil {
			return m, nil, err
		}
		if r.Memory != nil && r.root == "" { // what is cached already is not of this process
			if err := t.Forget(ctx, r.Stuck); err != nil {
				return m, nil, err
			}
		}
		specs = append(specs, s)
	}
	return r.measure(ctx, j, specs, targets)
}

// named is the second name of a target: of a file that was made for the run it
// needs none.
func (r *Jobs) named(path string) string {
	if r.root != "" || slices.Contains(r.Destroy, path) {
		return path
	}
	return ""
}

// spec is what a target of a job gets, with its part of the rate.
func (r *Jobs) spec(j dialect.Job, t dialect.Target, i int) (block.Spec, error) {
	s := block.Spec{Path: t.Path, Shape: j.Shape, Threads: 1, Depth: t.Depth, Engine: block.Auto, Direct: j.Direct, Sync: block.None, Stuck: r.Stuck,
		Warmup: j.Warmup, Duration: j.Duration, Seed: uint64(i) + 1, From: t.From, Compress: j.Compress, Dedup: j.Dedup}
	s.Shape.Area, s.Shape.Rate = t.Size, j.Shape.Rate/float64(len(j.Targets))
	if j.Durable {
		s.Sync = block.Every
	}
	if s.Duration == 0 {
		s.Duration = passTime
	} else if r.For > 0 {
		s.Duration = r.For
	}
	var err error
	if s.Run, err = block.RunNumber(); err != nil || r.root == "" {
		return s, err
	}
	if r.Size > 0 {
		s.Shape.Area = r.Size
	}
	s.Path = filepath.Join(r.root, filepath.Base(t.Path))
	return s, nil
}

// file makes the file of a run, where runs make theirs.
func (r *Jobs) file(s block.Spec) error {
	if r.root == "" {
		return nil
	}
	f, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	return errors.Join(f.Truncate(int64(s.Shape.Area)), f.Close())
}

func (r *Jobs) measure(ctx context.Context, j dialect.Job, specs []block.Spec, targets []*block.Target) (Measured, []block.Spec, error) {
	m, err := r.measured(ctx, specs, func() (block.Result, error) { return r.many(ctx, j, specs, targets) })
	if err != nil || !j.Flush {
		return m, specs, err
	}
	began := time.Now()
	for _, t := range targets {
		if err := t.Sync(ctx, r.Stuck); err != nil {
			return m, specs, err
		}
	}
	m.Flush = time.Since(began)
	m.Result.Flushed(m.Flush)
	m.Witness.Buffered = false // the sync waited for what stood in memory
	return m, specs, nil
}

// many makes the runs of a job at once, and shows them.
func (r *Jobs) many(ctx context.Context, j dialect.Job, specs []block.Spec, targets []*block.Target) (block.Result, error) {
	how, left := "one pass", time.Duration(0) // a pass takes as long as it does
	if j.Duration > 0 {
		left = j.Warmup + specs[0].Duration
		how = "for " + left.String()
	}
	n := fmt.Sprintf("%d targets", len(specs))
	if len(specs) == 1 {
		n = "1 target"
	}
	r.say("%s: %s, %s", j.Name, n, how)
	seen, done := r.watch(j.Name, left)
	defer done()
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Progress = seen
	}
	specs[0].Begin = r.Begin
	res, _, err := block.RunMany(ctx, specs, targets)
	return res, err
}

// Frames makes a run of frames; where the page cache cannot be passed by, through it:
// notDirect. say is told what is being done; nil: nobody is.
func Frames(ctx context.Context, s frames.Spec, say func(string)) (r frames.Result, notDirect bool, err error) {
	r, err = frames.Run(ctx, s, say)
	if notDirect = errors.Is(err, frames.ErrNoDirect); notDirect {
		s.Direct = false
		r, err = frames.Run(ctx, s, say)
	}
	if errors.Is(err, frames.ErrNoRoom) {
		err = load.Refuse("%w; choose fewer --seconds or --streams", err)
	}
	return r, notDirect, err
}
