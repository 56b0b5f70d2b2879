package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/unit"
)

// blockFlags is the command line of load block.
type blockFlags struct {
	workload, pattern, sync string
	sizes                   string
	area, from              unit.Bytes
	read                    *float64
	threads, depth          int
	seconds, warmup, think  time.Duration
	steady                  time.Duration
	rate                    float64
	arrivals, engine        string
	direct, buffered, fill  bool
	journal, on             string
	with, withWorkload      string
	destroy                 []string
	runs                    int
	dropCache               bool
	seed                    uint64
	stuck                   time.Duration
	compress, dedup         float64
	ram                     unit.Bytes
	loadExtras
}

func loadBlockCommand(env *environment) *cobra.Command {
	var f blockFlags
	cmd := &cobra.Command{
		Use:   "block FILE|DEVICE",
		Short: "Read and write blocks of a file or device",
		Long: `block reads and writes blocks of one existing file or block device for a while.
It neither creates nor enlarges a file. A workload that writes overwrites the
target: a device, or a file with data that no earlier run has written, must then
be named a second time with --destroy.

Latency counts from the time at which a request was due. With --rate, the time that
later requests wait because of a stall is part of their latency.

Reading blocks of a file that were never written moves no data: block refuses such a
file unless --fill writes them first.`,
		Example: `  linerate load block /mnt/nas/testfile --workload dell-8k-random --seconds 30
  linerate load block /mnt/nas/testfile --pattern random --block 4k --qd 32 --direct
  linerate load block /dev/sdx --read 0 --block 256k --direct --destroy /dev/sdx
  linerate load block /mnt/nas/testfile --read 50 --journal run.journal
  linerate load block /mnt/nas/testfile --on client1,client2 --block 1m --direct
  linerate load block /pool1/f --with /pool2/f --block 1m --pattern sequential --direct
  linerate load block /dev/sdx --read 0 --steady 1m --seconds 300 --direct --destroy /dev/sdx
  linerate load block /mnt/nas/testfile --for 1m --interval 1s --require 'p99<5ms' --require 'iops>2000'
  linerate load block ./f --pattern zipf:0.99 --block 8k --rate 500 --json
  linerate load block ./f --pattern zoned:60/10:30/20:8/30:2/40 --block 4k/60:64k/30:1m/10`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runBlock(cmd, env, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.workload, "workload", "", "a workload by name (linerate load list); the flags below then change it")
	flags.StringVar(&f.pattern, "pattern", "random", "sequential, random, once (each block once per pass), zipf:EXPONENT, seek:PERCENT (that much goes elsewhere, the rest follows the request before) or zoned:90/10:10/90 (percent of the requests / of the space, zone by zone)")
	flags.Var(share{&f.read}, "read", "part of the requests that read; default 100")
	flags.StringVar(&f.sizes, "block", "4k", "size of a request, or sizes with the percentage that each has: 4k/60:64k/30:1m/10")
	bytesFlag(cmd, &f.area, "area", "part of the target that is used, from --from on; default all")
	bytesFlag(cmd, &f.from, "from", "where that part begins")
	flags.IntVar(&f.threads, "threads", 1, "threads")
	flags.IntVar(&f.depth, "qd", 32, "requests in flight per thread")
	timeFlag(cmd, &f.seconds, "for", "how long to measure; default 10s (--seconds N is the same in seconds)")
	flags.Var(secondsFlag{&f.seconds}, "seconds", "how long to measure, in seconds")
	timeFlag(cmd, &f.warmup, "warmup", "how long to run before that, not counted")
	timeFlag(cmd, &f.steady, "steady", "before that, run rounds of this length until five in a row are steady (SNIA SSS PTS; it uses 1m)")
	timeFlag(cmd, &f.think, "think", "pause between the end of a request and the next of its slot")
	flags.Float64Var(&f.rate, "rate", 0, "requests per second, over all threads; 0: as fast as the target answers")
	flags.StringVar(&f.arrivals, "arrivals", "exponential", "with --rate: exponential or uniform gaps")
	flags.StringVar(&f.sync, "sync", "none", "none, every (O_DSYNC) or after:N (an fdatasync after every N writes)")
	flags.BoolVar(&f.direct, "direct", false, "past the page cache (O_DIRECT)")
	flags.BoolVar(&f.buffered, "buffered", false, "through the page cache, which is the default")
	flags.BoolVar(&f.fill, "fill", false, "write the blocks that were never written first")
	flags.StringArrayVar(&f.destroy, "destroy", nil, "name the target again: its data may be destroyed; may be repeated")
	flags.StringVar(&f.journal, "journal", "", "a new file: keep what the target acknowledged, for load verify")
	flags.StringVar(&f.with, "with", "", "a second target: run each by itself and both at once, --runs times, and report the interference")
	flags.StringVar(&f.withWorkload, "with-workload", "", "the second target's workload by name; default: the first one's")
	flags.IntVar(&f.runs, "runs", 0, "how often; default once, or 3 with --with")
	flags.BoolVar(&f.dropCache, "drop-cache", false, "drop the target's pages from this host's page cache before each run")
	onFlag(cmd, &f.on, "the target is a path on each of them, with %h for the host's name")
	flags.Float64Var(&f.compress, "compress", 1, "ratio by which the written data compress; default: not at all")
	flags.Float64Var(&f.dedup, "dedup", 1, "how often each written block occurs on average; default: once")
	stuckFlag(cmd, &f.stuck)
	ramFlag(cmd, &f.ram)
	f.loadExtras.flags(cmd, false)
	flags.StringVar(&f.engine, "engine", "auto", "auto, ring (io_uring), calls (a thread for each request: pread and pwrite, on Windows overlapped ReadFile and WriteFile) or null (no target)")
	flags.Uint64Var(&f.seed, "seed", 1, "of offsets and mix: the same seed makes the same requests (data is new in each run)")
	return completeFlags(cmd, map[string][]string{
		"workload": workloadNames(), "with-workload": workloadNames(), "pattern": {"sequential", "random", "once", "zipf:1.1", "seek:20", "zoned:90/10:10/90"}, "sync": {"none", "every", "after:1"},
		"arrivals": {"exponential", "uniform"}, "engine": {"auto", "ring", "calls", "null"},
	}, "threads", "qd", "rate", "read", "seed", "seconds", "compress", "dedup")
}

// task turns the flags into a workload. A named one gives what was not typed.
func (f blockFlags) task(typed func(string) bool, path string) (t load.Task, err error) {
	w := load.ByHand()
	if f.workload != "" {
		if w, err = findWorkload(f.workload); err != nil {
			return t, err
		}
	}
	if typed("threads") {
		w.Threads = f.threads
	}
	if typed("qd") {
		w.Depth = f.depth
	}
	if typed("pattern") {
		if err = load.ParsePattern(f.pattern, &w.Shape); err != nil {
			return t, failure.Of(failure.Usage, "--%w", err)
		}
	}
	if f.read != nil {
		w.Shape.Read = *f.read
	}
	if typed("block") {
		if w.Shape.Sizes, err = load.ParseSizes(f.sizes); err != nil {
			return t, failure.Of(failure.Usage, "--block: %w", err)
		}
	}
	w.Shape.Area, w.Shape.Think = f.area, f.think
	if f.rate != 0 {
		w.Shape.Rate, w.Shape.Arrivals = f.rate, load.Arrivals(f.arrivals)
	}
	s := load.Spec{Path: path, Engine: load.Engine(f.engine), Direct: f.direct, From: f.from, Seed: f.seed, Shape: w.Shape, Threads: w.Threads, Depth: w.Depth,
		Duration: cmp.Or(f.seconds, 10*time.Second), Warmup: f.warmup, Stuck: f.stuck, Sync: load.Sync(f.sync), Compress: f.compress, Dedup: f.dedup}
	if f.steady > 0 {
		s.Steady = &load.Steady{Round: f.steady}
	}
	if n, ok := strings.CutPrefix(f.sync, "after:"); ok {
		every, err := strconv.Atoi(n)
		if err != nil || every < 1 {
			return t, failure.Of(failure.Usage, "--sync %s: want a number above 0 after the colon", f.sync)
		}
		s.Sync, s.SyncEvery = load.AfterWrites, every
	}
	// What the cache holds already is not charged to who is limited now.
	return load.Task{Name: w.Name, Spec: s, Destroy: f.named(path), Fill: f.fill, DropCache: f.dropCache || f.ram > 0}, nil
}

func findWorkload(name string) (load.Workload, error) {
	w, ok := load.FindWorkload(name)
	if !ok {
		return w, failure.Of(failure.Usage, "no workload is called %q; choose one of %s", name, strings.Join(workloadNames(), ", "))
	}
	return w, nil
}

// named is the second name of a target, empty where it was named once.
func (f blockFlags) named(path string) string {
	if slices.Contains(f.destroy, path) {
		return path
	}
	return ""
}

// maxRuns bounds what is kept of runs.
const maxRuns = 100

// check says which flags do not go together.
func (f blockFlags) check(t load.Task) error {
	nothing := t.Spec.Engine == load.NoTarget
	switch {
	case f.direct && f.buffered:
		return failure.Of(failure.Usage, "--direct goes past the page cache and --buffered through it: choose one")
	case f.runs < 0 || f.runs > maxRuns:
		return failure.Of(failure.Usage, "--runs %d: want 1 to %d", f.runs, maxRuns)
	case f.dedup > 1 && f.journal != "":
		return failure.Of(failure.Usage, "--dedup %v --journal: what is written twice carries no stamp that a journal could be held against; --compress goes with one", f.dedup)
	case f.with == "" && f.withWorkload != "":
		return failure.Of(failure.Usage, "--with-workload is about a second target: name it with --with")
	case f.with != "" && (f.on != "" || f.journal != ""):
		return failure.Of(failure.Usage, "--with goes with neither --on nor --journal")
	case f.with != "" && len(f.require) > 0:
		return failure.Of(failure.Usage, "--require is about one target: it does not go with --with")
	case f.with != "" && nothing:
		return failure.Of(failure.Usage, "--with --engine null: that is a load on nothing")
	case f.with != "" && f.with == t.Spec.Path:
		return failure.Of(failure.Usage, "--with %s: that is the first target", f.with)
	case f.with == "" && f.runs > 1 && (f.on != "" || f.journal != ""):
		return failure.Of(failure.Usage, "--runs %d goes with neither --on nor --journal", f.runs)
	case f.on != "" && f.journal != "":
		return failure.Of(failure.Usage, "--on --journal: a journal is kept on the host that writes; run load block there")
	case f.on != "" && nothing:
		return failure.Of(failure.Usage, "--on --engine null: that is a load on nothing")
	case f.on != "" && f.steady > 0:
		return failure.Of(failure.Usage, "--on --steady: hosts would begin to measure each at a time of its own; let the target settle from one of them first")
	case f.journal != "" && (nothing || t.Spec.Shape.Read >= 1):
		return failure.Of(failure.Usage, "--journal goes with a workload that writes to a target")
	}
	return nil
}

func runBlock(cmd *cobra.Command, env *environment, f blockFlags, path string) error {
	t, err := f.task(cmd.Flags().Changed, path)
	if err != nil {
		return err
	}
	if err := f.check(t); err != nil {
		return err
	}
	if err := f.loadExtras.read(false); err != nil {
		return err
	}
	if f.with != "" {
		return runPools(cmd.Context(), env, f, t)
	}
	on, err := onHosts(f.on, path)
	if err != nil {
		return err
	}
	return makeLoadWith(env, "load block "+path, f.loadExtras, func(p app.Progress) (*load.Made, error) {
		return load.Block(cmd.Context(), env.Env, load.BlockOptions{Task: t, Memory: f.ram, Runs: f.runs, Journal: f.journal, On: on}, p)
	})
}

// runPools runs two targets, each alone and both at once. The load on the second is the
// same one, or another by its name.
func runPools(ctx context.Context, env *environment, f blockFlags, first load.Task) error {
	second := first
	second.Spec.Path, second.Destroy = f.with, f.named(f.with)
	if f.withWorkload != "" {
		w, err := findWorkload(f.withWorkload)
		if err != nil {
			return err
		}
		w.Shape.Area = first.Spec.Shape.Area
		second.Name, second.Spec.Threads, second.Spec.Depth, second.Spec.Shape = w.Name, w.Threads, w.Depth, w.Shape
	}
	return makeLoad(env, "load block "+first.Spec.Path+" --with "+f.with, func(p app.Progress) (*load.Made, error) {
		return load.Pools(ctx, env.Env, [2]load.Task{first, second}, cmp.Or(f.runs, 3), f.ram, p)
	})
}
