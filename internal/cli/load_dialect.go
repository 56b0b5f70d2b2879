package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/unit"
)

func loadVdbenchCommand(env *environment) *cobra.Command {
	var maps, destroy []string
	var o jobOptions
	cmd := &cobra.Command{
		Use:   "vdbench PARMFILE",
		Short: "Run a vdbench parameter file",
		Long: `vdbench runs the workloads of a vdbench parameter file: hd, sd, wd and rd with
lists, ranges, skew, rates and intervals. What it does not know it refuses by name and
line. The luns must exist; --map says what stands for one that this host does not have.
How words were taken is part of the result.`,
		Example: `  linerate load vdbench dell-8k.parm --map '\\.\PhysicalDrive1=/dev/sdb' --destroy /dev/sdb
  linerate load vdbench mine.parm --size 1g --for 30s --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := dialect.VdbenchOptions{Map: map[string]string{}, Size: o.size}
			for _, m := range maps {
				lun, path, ok := strings.Cut(m, "=")
				if !ok || lun == "" || path == "" {
					return exit(ExitUsage, "--map %s: want LUN=PATH", m)
				}
				v.Map[lun] = path
			}
			text, err := readText(args[0])
			if err != nil {
				return err
			}
			jobs, err := dialect.Vdbench(text, v)
			if err != nil {
				return exit(ExitUsage, "%s: %w", args[0], err)
			}
			o.destroy = destroy
			return runJobs(cmd.Context(), env, o, jobs, "")
		},
	}
	cmd.Flags().StringArrayVar(&maps, "map", nil, "LUN=PATH: what stands for a lun; may be repeated")
	cmd.Flags().StringArrayVar(&destroy, "destroy", nil, "a target again: what is on it may be destroyed; may be repeated")
	blockFlag(cmd, &o.size, "size", "use so much of every target, whatever the file says")
	timeFlag(cmd, &o.seconds, "for", "measure so long, whatever the file says")
	cmd.Flags().BoolVar(&o.fill, "fill", false, "write the blocks that were never written first")
	return completeFlags(cmd, nil)
}

func loadIozoneCommand(env *environment) *cobra.Command {
	var o jobOptions
	cmd := &cobra.Command{
		Use:   "iozone DIR -- OPTION…",
		Short: "Run iozone's write, read and random tests by its own options",
		Long: `iozone runs the tests 0 (write, rewrite), 1 (read, reread) and 2 (random) by
iozone's options, which stand behind --: -i, -r, -s, -t, -I, -o, -e and -+n. What it
does not know it refuses. The files are made in a directory of their own below DIR,
which is removed at the end.

Without -I and with files that fit into memory the figures are the page cache's, as
they are iozone's: the result says so.`,
		Example: `  linerate load iozone /mnt/nas -- -i 0 -i 1 -r 4k -s 4g -t 4 -e
  linerate load iozone /mnt/nas --json -- -i 0 -i 1 -i 2 -r 1m -s 1g -I`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := dialect.Iozone(args[1:])
			if err != nil {
				return exit(ExitUsage, "%w", err)
			}
			return runJobs(cmd.Context(), env, o, jobs, args[0])
		},
	}
	return completeFlags(cmd, nil)
}

func loadFilebenchCommand(env *environment) *cobra.Command {
	o := jobOptions{}
	cmd := &cobra.Command{
		Use:   "filebench DIR WORKLOADFILE",
		Short: "Run a filebench workload file that streams to or from one file",
		Long: `filebench runs a workload file in which one thread, or several at random, read or
write one file, as singlestreamread.f and singlestreamwrite.f do. What it does not know
it refuses by line. The file is made in a directory of its own below DIR, which is
removed at the end.`,
		Example: `  linerate load filebench /mnt/nas singlestreamread.f --for 60s`,
		Args:    usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readText(args[1])
			if err != nil {
				return err
			}
			j, err := dialect.Filebench(text, cmp.Or(o.seconds, time.Minute))
			if err != nil {
				return exit(ExitUsage, "%s: %w", args[1], err)
			}
			return runJobs(cmd.Context(), env, o, []dialect.Job{j}, args[0])
		},
	}
	blockFlag(cmd, &o.size, "size", "make the file so large, whatever the workload file says")
	timeFlag(cmd, &o.seconds, "for", "measure so long, whatever the workload file says; default there and else 60s")
	return completeFlags(cmd, nil)
}

// jobOptions are flags that are not the peer's.
type jobOptions struct {
	size    unit.Bytes
	seconds time.Duration
	destroy []string
	fill    bool
}

// readText reads a parameter file; dialect bounds its size.
func readText(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read parameter file: %w", err)
	}
	return string(b), nil
}

// jobsResult is what load vdbench, iozone and filebench print with --json.
type jobsResult struct {
	Runs []jobResult `json:"runs"`
}

type jobResult struct {
	loadResult
	// Flush is the part of the measured time that a sync at the end took.
	Flush time.Duration `json:"flush_ns,omitempty"`
	Notes []string      `json:"notes"`
}

// runJobs makes the runs one after the other. dir is where files are made, empty
// where targets must exist.
func runJobs(ctx context.Context, env *environment, o jobOptions, jobs []dialect.Job, dir string) (err error) {
	p := newProgress(env)
	defer p.end()
	r := &jobRunner{env: env, p: p, o: o}
	if dir != "" {
		if r.root, err = os.MkdirTemp(dir, "linerate-load-"); err != nil {
			return fmt.Errorf("make files: %w", err)
		}
		defer func() {
			if rerr := os.RemoveAll(r.root); rerr != nil {
				err = errors.Join(err, fmt.Errorf("remove what was written: %w: remove %s by hand", rerr, r.root))
			}
		}()
	}
	out := jobsResult{Runs: []jobResult{}}
	for _, j := range jobs {
		var one jobResult
		if one, err = r.run(ctx, j); err != nil {
			break
		}
		out.Runs = append(out.Runs, one)
		if !env.json {
			if err := printJob(env, one); err != nil {
				return err
			}
		}
	}
	if env.json && len(out.Runs) > 0 {
		if perr := printJSON(env, out); perr != nil {
			return perr
		}
	}
	where := "the targets"
	if dir != "" && ctx.Err() != nil {
		return exit(ExitInterrupted, "interrupted; what was written below %s was removed", dir)
	}
	return interruptedLoad(ctx, err, where, true)
}

// jobRunner makes runs on targets that exist, or in a directory of its own.
type jobRunner struct {
	env  *environment
	p    *progress
	o    jobOptions
	root string
}

func (r *jobRunner) run(ctx context.Context, j dialect.Job) (out jobResult, err error) {
	out.Notes = append([]string{}, j.Notes...)
	var specs []block.Spec
	var targets []*block.Target
	defer func() {
		for _, t := range targets {
			_ = t.Close() // only descriptors: what was written is the kernel's since
		}
	}()
	for i, target := range j.Targets {
		s, err := r.spec(j, target, i)
		if err != nil {
			return out, err
		}
		t, s, err := block.Open(s, r.named(s.Path))
		if err != nil {
			return out, openRefusal(err, target.Path)
		}
		targets = append(targets, t)
		if j.Duration == 0 {
			s.Requests = int64(s.Shape.Area / s.Shape.Largest())
		}
		if err := s.Check(); err != nil {
			return out, exit(ExitUsage, "%s: %w", j.Name, err)
		}
		if _, err := fillHoles(ctx, r.p, t, s, r.o.fill || r.root != ""); err != nil {
			return out, err
		}
		specs = append(specs, s)
	}
	return r.measure(ctx, j, specs, targets, out)
}

// named is the second name of a target: of a file that was made for the run it
// needs none.
func (r *jobRunner) named(path string) string {
	if r.root != "" {
		return path
	}
	for _, d := range r.o.destroy {
		if d == path {
			return d
		}
	}
	return ""
}

// spec is what a target of a job gets, with its part of the rate.
func (r *jobRunner) spec(j dialect.Job, t dialect.Target, i int) (block.Spec, error) {
	s := block.Spec{Path: t.Path, Shape: j.Shape, Threads: 1, Depth: t.Depth, Engine: block.Auto, Direct: j.Direct, Sync: block.None,
		Warmup: j.Warmup, Duration: j.Duration, Seed: uint64(i) + 1}
	s.Shape.Area, s.Shape.Rate = t.Size, j.Shape.Rate/float64(len(j.Targets))
	if j.Durable {
		s.Sync = block.Every
	}
	if s.Duration == 0 {
		s.Duration = passTime
	} else if r.o.seconds > 0 {
		s.Duration = r.o.seconds
	}
	var err error
	if s.Run, err = runNumber(); err != nil || r.root == "" {
		return s, err
	}
	if r.o.size > 0 {
		s.Shape.Area = r.o.size
	}
	s.Path = filepath.Join(r.root, t.Path)
	f, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return s, fmt.Errorf("make file: %w", err)
	}
	return s, errors.Join(f.Truncate(int64(s.Shape.Area)), f.Close())
}

// passTime bounds a pass over a file.
const passTime = 24 * time.Hour

func (r *jobRunner) measure(ctx context.Context, j dialect.Job, specs []block.Spec, targets []*block.Target, out jobResult) (jobResult, error) {
	null, err := block.Run(ctx, block.NullSpec(specs[0], nullTime), nil)
	if err != nil {
		return out, err
	}
	res, err := r.many(ctx, j, specs, targets)
	if err != nil {
		return out, err
	}
	if j.Flush {
		began := time.Now()
		for _, t := range targets {
			if err := t.Sync(); err != nil {
				return out, err
			}
		}
		out.Flush = time.Since(began)
		res.Flushed(out.Flush)
	}
	w := block.Witness{Occupied: -1}
	if sec := null.Measured.Seconds(); sec > 0 {
		w.Null = float64(null.Reads+null.Writes) / sec * float64(len(specs))
	}
	sum, err := block.Summarise(j.Name, res, w)
	if err != nil {
		return out, err
	}
	out.loadResult = loadResult{Load: sum, PerSecond: res.Seconds, Hosts: []loadHost{{Name: "local"}}, Spec: jobSpec(j, specs, res)}
	return out, nil
}

// many makes the runs of a job at once, and shows them.
func (r *jobRunner) many(ctx context.Context, j dialect.Job, specs []block.Spec, targets []*block.Target) (block.Result, error) {
	how, left := "one pass", time.Duration(0) // a pass takes as long as it does
	if j.Duration > 0 {
		left = j.Warmup + specs[0].Duration
		how = "for " + left.String()
	}
	r.p.say("%s: %s, %s", j.Name, plural(len(specs), "target"), how)
	seen, done := r.p.watch(j.Name, left)
	defer done()
	for i := range specs {
		specs[i].Progress = seen
	}
	res, _, err := block.RunMany(ctx, specs, targets)
	return res, err
}

// jobSpec is what was run, of all targets together.
func jobSpec(j dialect.Job, specs []block.Spec, r block.Result) loadSpec {
	shape := specs[0].Shape
	shape.Rate = j.Shape.Rate
	s := loadSpec{Target: plural(len(specs), "target"), Engine: string(r.Engine), Direct: j.Direct, Sync: string(specs[0].Sync), Shape: shape,
		Threads: r.Threads, Depth: r.Depth, Duration: int64(r.Measured), Seed: specs[0].Seed}
	if len(specs) == 1 {
		s.Target = specs[0].Path
	}
	return s
}

func printJob(env *environment, r jobResult) error {
	if err := printLoad(env, r.loadResult); err != nil {
		return err
	}
	var b strings.Builder
	if r.Flush > 0 {
		fmt.Fprintf(&b, "The sync at the end took %v of the time\n", r.Flush.Round(time.Millisecond))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  - %s\n", n)
	}
	fmt.Fprintln(&b)
	_, err := fmt.Fprint(env.out, b.String())
	return err
}
