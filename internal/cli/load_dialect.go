package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/storage"
	"linerate/internal/model"
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
					return failure.Of(failure.Usage, "--map %s: want LUN=PATH", m)
				}
				v.Map[lun] = path
			}
			text, err := readText(args[0])
			if err != nil {
				return err
			}
			jobs, err := dialect.Vdbench(text, v)
			if err != nil {
				return failure.Of(failure.Usage, "%s: %w", args[0], err)
			}
			o.destroy, o.command = destroy, "load vdbench "+args[0]
			return runJobs(cmd.Context(), env, o, jobs, "")
		},
	}
	cmd.Flags().StringArrayVar(&maps, "map", nil, "LUN=PATH: what stands for a lun; may be repeated")
	cmd.Flags().StringArrayVar(&destroy, "destroy", nil, "a target again: what is on it may be destroyed; may be repeated")
	blockFlag(cmd, &o.size, "size", "use so much of every target, whatever the file says")
	timeFlag(cmd, &o.seconds, "for", "measure so long, whatever the file says")
	cmd.Flags().BoolVar(&o.fill, "fill", false, "write the blocks that were never written first")
	stuckFlag(cmd, &o.stuck)
	ramFlag(cmd, &o.ram)
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
  linerate load iozone /mnt/nas --on client1,client2 -- -i 0 -i 1 -r 1m -s 4g
  linerate load iozone /mnt/nas --json -- -i 0 -i 1 -i 2 -r 1m -s 1g -I`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := dialect.Iozone(args[1:])
			if err != nil {
				return failure.Of(failure.Usage, "%w", err)
			}
			o.command = "load iozone " + strings.Join(args, " ")
			return runJobs(cmd.Context(), env, o, jobs, args[0])
		},
	}
	onFlag(cmd, &o.on, "DIR is a path on each of them")
	stuckFlag(cmd, &o.stuck)
	ramFlag(cmd, &o.ram)
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
				return failure.Of(failure.Usage, "%s: %w", args[1], err)
			}
			o.command = "load filebench " + strings.Join(args, " ")
			return runJobs(cmd.Context(), env, o, []dialect.Job{j}, args[0])
		},
	}
	blockFlag(cmd, &o.size, "size", "make the file so large, whatever the workload file says")
	timeFlag(cmd, &o.seconds, "for", "measure so long, whatever the workload file says; default there and else 60s")
	stuckFlag(cmd, &o.stuck)
	ramFlag(cmd, &o.ram)
	return completeFlags(cmd, nil)
}

// jobOptions are flags that are not the peer's.
type jobOptions struct {
	size    unit.Bytes
	seconds time.Duration
	destroy []string
	fill    bool
	on      string // hosts; empty: this one
	table   bool   // at the end, of all runs
	stuck   time.Duration
	ram     unit.Bytes
	command string // as the user typed it
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
	Runs   []jobResult `json:"runs"`
	Report string      `json:"report,omitempty"`

	text   string
	hosts  []string
	agents []*host.Client // of hosts; none: this one
}

type jobResult struct {
	loadResult
	// Flush is the part of the measured time that a sync at the end took.
	Flush time.Duration `json:"flush_ns,omitempty"`
	// Curve is its place on a curve; nil: it is on none.
	Curve *curvePoint `json:"curve,omitempty"`
	Notes []string    `json:"notes"`

	rates string // of dialect.Job
}

// runJobs makes the runs one after the other. dir is where files are made, empty
// where targets must exist.
func runJobs(ctx context.Context, env *environment, o jobOptions, jobs []dialect.Job, dir string) (err error) {
	p := newProgress(env)
	defer p.End()
	if o.on != "" {
		return runJobsOn(ctx, env, p, o, jobs, dir)
	}
	hooks, unlimited, err := p.limited(o.ram)
	if err != nil {
		return refused(err)
	}
	defer func() { err = errors.Join(err, unlimited()) }()
	r := &storage.Jobs{Hooks: hooks, Size: o.size, For: o.seconds, Destroy: o.destroy, Fill: o.fill, Stuck: o.stuck}
	if dir != "" {
		remove, err := r.MakeRoot(ctx, dir)
		if err != nil {
			return adviseStuck(err)
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	out := jobsResult{Runs: []jobResult{}, hosts: []string{"local"}}
	err = out.make(ctx, env, r, jobs)
	if perr := out.conclude(ctx, env, p, o); perr != nil {
		return errors.Join(perr, err)
	}
	where := "the targets"
	if dir != "" && ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; what was written below %s was removed", dir)
	}
	return interruptedLoad(ctx, refused(err), where, true)
}

// make makes the runs; those on a curve at their part of what the run before them
// reached without a rate.
func (r *jobsResult) make(ctx context.Context, env *environment, on *storage.Jobs, jobs []dialect.Job) error {
	largest := 0.0
	for _, j := range jobs {
		if j.Curve != nil && j.Curve.Percent > 0 {
			if j.Shape.Rate = j.Curve.Rate(largest); j.Shape.Rate <= 0 {
				return fmt.Errorf("%s: without a rate %.3g requests per second were made: too few to take a part of", j.Name, largest)
			}
		}
		m, specs, err := on.Run(ctx, j)
		if err != nil {
			return err
		}
		one, err := jobFigures(j, m, len(specs))
		if err != nil {
			return err
		}
		if j.Curve != nil {
			if j.Curve.Percent == 0 {
				largest = one.Load.IOPS
			}
			one.Curve = &curvePoint{Percent: j.Curve.Percent, Largest: largest, Asked: j.Shape.Rate}
		}
		one.Hosts, one.rates = []loadHost{{Name: "local"}}, j.Rates
		if err := r.add(env, one); err != nil {
			return err
		}
	}
	return nil
}

// add takes a run in, and prints it where people read along.
func (r *jobsResult) add(env *environment, one jobResult) error {
	text, err := jobText(one)
	if err != nil {
		return err
	}
	r.Runs, r.text = append(r.Runs, one), r.text+text
	if env.json {
		return nil
	}
	_, err = fmt.Fprint(env.out, text)
	return err
}

// conclude keeps all runs. Where a program reads, they are printed now; people are
// shown the table.
func (r *jobsResult) conclude(ctx context.Context, env *environment, p *progress, o jobOptions) error {
	if len(r.Runs) == 0 {
		return nil
	}
	table, err := r.rateTable()
	if err == nil && o.table {
		table, err = r.table()
	}
	if err != nil {
		return err
	}
	if table != "" {
		r.text += table
		if !env.json {
			if _, err := fmt.Fprint(env.out, table); err != nil {
				return err
			}
		}
	}
	var series []model.LoadSeries
	var lines []string
	for _, run := range r.Runs {
		series = append(series, bytesPerSecond(run.Load.Workload, run.PerSecond, run.Each))
		lines = append(lines, fmt.Sprintf("%s %v/s", run.Load.Workload, unit.Bytes(run.Load.BytesPerS)))
	}
	return concludeLoad(ctx, env, p, loadRecord{kind: "jobs", command: o.command, line: strings.Join(lines[:min(len(lines), 6)], ", "), text: r.text, shown: true,
		value: r, series: series, hosts: r.hosts, agents: r.agents})
}

// jobFigures are a run's figures, of so many targets together.
func jobFigures(j dialect.Job, m storage.Measured, targets int) (jobResult, error) {
	one := jobResult{Notes: append([]string{}, j.Notes...), Flush: m.Flush}
	sum, err := block.Summarise(j.Name, m.Result, m.Witness)
	points, each := block.Bound(m.Result.Seconds, block.MaxPoints)
	one.loadResult = loadResult{Load: sum, PerSecond: points, Each: each, Spec: jobSpec(j, m, targets)}
	return one, err
}

// jobSpec is what was run, of all targets together.
func jobSpec(j dialect.Job, m storage.Measured, targets int) loadSpec {
	shape, r := m.Spec.Shape, m.Result
	shape.Rate = j.Shape.Rate
	s := loadSpec{Target: plural(targets, "target"), Engine: string(r.Engine), Direct: j.Direct, Sync: string(m.Spec.Sync), Shape: shape,
		Threads: r.Threads, Depth: r.Depth, Duration: int64(r.Measured), Seed: m.Spec.Seed}
	if targets == 1 {
		s.Target = m.Spec.Path
	}
	return s
}

func jobText(r jobResult) (string, error) {
	text, err := loadText(r.loadResult)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(text)
	if r.Flush > 0 {
		fmt.Fprintf(&b, "The sync at the end took %v of the time\n", r.Flush.Round(time.Millisecond))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  - %s\n", n)
	}
	fmt.Fprintln(&b)
	return b.String(), nil
}
