package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/named"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/model"
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
}

func loadBlockCommand(env *environment) *cobra.Command {
	var f blockFlags
	cmd := &cobra.Command{
		Use:   "block FILE|DEVICE",
		Short: "Read and write blocks of a file or device",
		Long: `block reads and writes blocks of one existing file or block device for a while.
It creates and enlarges nothing. A workload that writes overwrites the target: a
device, or a file with data that no earlier run has written, must then be named a
second time with --destroy.

Latency counts from when a request was due. With --rate, what a stall makes later
requests wait is part of their latency.

Blocks of a file that were never written cost nothing to read: such a file is
refused unless --fill writes them first.`,
		Example: `  linerate load block /mnt/nas/testfile --workload dell-8k-random --seconds 30
  linerate load block /mnt/nas/testfile --pattern random --block 4k --qd 32 --direct
  linerate load block /dev/sdx --read 0 --block 256k --direct --destroy /dev/sdx
  linerate load block /mnt/nas/testfile --read 50 --journal run.journal
  linerate load block /mnt/nas/testfile --on client1,client2 --block 1m --direct
  linerate load block /pool1/f --with /pool2/f --block 1m --pattern sequential --direct
  linerate load block /dev/sdx --read 0 --steady 1m --seconds 300 --direct --destroy /dev/sdx
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
	blockFlag(cmd, &f.area, "area", "part of the target that is used, from --from on; default all")
	blockFlag(cmd, &f.from, "from", "where that part begins")
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
	flags.StringArrayVar(&f.destroy, "destroy", nil, "a target again: what is on it may be destroyed; may be repeated")
	flags.StringVar(&f.journal, "journal", "", "a new file: keep what the target acknowledged, for load verify")
	flags.StringVar(&f.with, "with", "", "a second target: each alone and both at once, --runs times, and what they cost each other")
	flags.StringVar(&f.withWorkload, "with-workload", "", "the second target's workload by name; default: the first one's")
	flags.IntVar(&f.runs, "runs", 0, "how often; default once, or 3 with --with")
	flags.BoolVar(&f.dropCache, "drop-cache", false, "have this host's page cache forget the target before each run")
	onFlag(cmd, &f.on, "the target is a path on each of them, with %h for the host's name")
	flags.Float64Var(&f.compress, "compress", 1, "ratio by which what is written compresses; default: not at all")
	flags.Float64Var(&f.dedup, "dedup", 1, "how often each block of what is written comes again on average; default: never")
	stuckFlag(cmd, &f.stuck)
	ramFlag(cmd, &f.ram)
	flags.StringVar(&f.engine, "engine", "auto", "auto, ring (io_uring), calls (pread and pwrite on threads) or null (no target)")
	flags.Uint64Var(&f.seed, "seed", 1, "of offsets and mix: the same seed makes the same requests (data is new in each run)")
	return completeFlags(cmd, map[string][]string{
		"workload": workloadNames(), "with-workload": workloadNames(), "pattern": {"sequential", "random", "once", "zipf:1.1", "seek:20", "zoned:90/10:10/90"}, "sync": {"none", "every", "after:1"},
		"arrivals": {"exponential", "uniform"}, "engine": {"auto", "ring", "calls", "null"},
	}, "threads", "qd", "rate", "read", "seed", "seconds", "compress", "dedup")
}

// blockFlag takes sizes as load generators do, too: 4k is 4096 bytes, as for
// fio, vdbench and iozone; 4KB is 4000 and 4KiB is 4096.
func blockFlag(cmd *cobra.Command, to *unit.Bytes, name, help string) {
	quantityFlag(cmd, &quantity[unit.Bytes]{to: to, kind: "size", parse: positive(shape.ParseSize)}, name, help)
}

// secondsFlag is a duration typed as a plain number of seconds.
type secondsFlag struct{ to *time.Duration }

func (s secondsFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 1e6) {
		return fmt.Errorf("%q is no number of seconds above 0", text)
	}
	*s.to = time.Duration(v * float64(time.Second))
	return nil
}
func (s secondsFlag) String() string { return "" }
func (s secondsFlag) Type() string   { return "number" }

// spec turns the flags into a run. A named workload gives what was not typed.
func (f blockFlags) spec(cmd *cobra.Command, path string) (block.Spec, string, error) {
	s := block.Spec{Path: path, Engine: block.Engine(f.engine), Direct: f.direct, From: f.from, Seed: f.seed,
		Threads: f.threads, Depth: f.depth, Duration: f.seconds, Warmup: f.warmup, Stuck: f.stuck, Sync: block.Sync(f.sync), Compress: f.compress, Dedup: f.dedup}
	name := "by hand"
	s.Shape = shape.Shape{Pattern: shape.Random, Read: 1, Sizes: []shape.SizeShare{{Size: 4 * unit.KiB, Share: 1}}, Arrivals: shape.Closed}
	typed := cmd.Flags().Changed
	if f.direct && f.buffered {
		return s, "", failure.Of(failure.Usage, "--direct goes past the page cache and --buffered through it: choose one")
	}
	if f.workload != "" {
		w, ok := named.Find(f.workload)
		if !ok {
			return s, "", failure.Of(failure.Usage, "no workload is called %q; choose one of %s", f.workload, strings.Join(workloadNames(), ", "))
		}
		s.Shape, name = w.Shape, w.Name
		if !typed("threads") {
			s.Threads = w.Threads
		}
		if !typed("qd") {
			s.Depth = w.Depth
		}
	}
	if s.Duration == 0 {
		s.Duration = 10 * time.Second
	}
	if typed("pattern") {
		var err error
		if err = shape.ParsePattern(f.pattern, &s.Shape); err != nil {
			return s, "", failure.Of(failure.Usage, "--%w", err)
		}
	}
	if f.read != nil {
		s.Shape.Read = *f.read
	}
	if typed("block") {
		var err error
		if s.Shape.Sizes, err = shape.ParseSizes(f.sizes); err != nil {
			return s, "", failure.Of(failure.Usage, "--block %w", err)
		}
	}
	s.Shape.Area, s.Shape.Think = f.area, f.think
	if f.rate != 0 {
		s.Shape.Rate, s.Shape.Arrivals = f.rate, shape.Arrivals(f.arrivals)
	}
	if f.steady > 0 {
		s.Steady = &block.Steady{Round: f.steady}
	}
	if n, ok := strings.CutPrefix(f.sync, "after:"); ok {
		every, err := strconv.Atoi(n)
		if err != nil || every < 1 {
			return s, "", failure.Of(failure.Usage, "--sync %s: want a number above 0 after the colon", f.sync)
		}
		s.Sync, s.SyncEvery = block.After, every
	}
	return s, name, nil
}

// loadResult is what load … --json prints.
type loadResult struct {
	Load      block.Summary  `json:"load"`
	Spec      loadSpec       `json:"spec"`
	PerSecond []block.Second `json:"per_second"`
	// Each is how many seconds a point of PerSecond is: more than one in long runs.
	Each  int        `json:"per_second_each_s"`
	Hosts []loadHost `json:"hosts"`
	// Together is of several hosts that began at one instant.
	Together *togetherFigures `json:"together,omitempty"`
	// Runs are all that were made, where there were several: Load is the one in the
	// middle.
	Runs []storage.RunFigures `json:"runs,omitempty"`
	// Report is where the bundle's page lies; empty: it could not be kept.
	Report string `json:"report,omitempty"`
}

// loadSpec is what was run.
type loadSpec struct {
	Target   string      `json:"target"`
	Engine   string      `json:"engine"`
	Direct   bool        `json:"direct"`
	Sync     string      `json:"sync"`
	Shape    shape.Shape `json:"shape"`
	Threads  int         `json:"threads"`
	Depth    int         `json:"depth"`
	Duration int64       `json:"measured_ns"`
	Seed     uint64      `json:"seed"`
	// Compress and Dedup are the ratios that were asked for.
	Compress float64 `json:"compress,omitempty"`
	Dedup    float64 `json:"dedup,omitempty"`
	// Run names the run in what it wrote, and Filled what was written before it.
	Run    string `json:"run,omitempty"`
	Filled string `json:"filled,omitempty"`
	// Dropped: this host's page cache was asked to forget the target before.
	Dropped bool `json:"cache_dropped,omitempty"`
}

// loadHost is a host that took part.
type loadHost struct {
	Name string `json:"name"`
	*hostFigures
}

func runBlock(cmd *cobra.Command, env *environment, f blockFlags, path string) error {
	s, name, err := f.spec(cmd, path)
	if err != nil {
		return err
	}
	// What the cache holds already is not charged to who is limited now.
	f.dropCache = f.dropCache || f.ram > 0
	switch {
	case f.runs < 0 || f.runs > maxRuns:
		return failure.Of(failure.Usage, "--runs %d: want 1 to %d", f.runs, maxRuns)
	case f.dedup > 1 && f.journal != "":
		return failure.Of(failure.Usage, "--dedup %v --journal: what is written twice carries no stamp that a journal could be held against; --compress goes with one", f.dedup)
	case f.with == "" && f.withWorkload != "":
		return failure.Of(failure.Usage, "--with-workload is about a second target: name it with --with")
	case f.with != "":
		f.runs = cmp.Or(f.runs, 3)
		return runBlockWith(cmd.Context(), env, f, s, name)
	case f.runs > 1 && (f.on != "" || f.journal != ""):
		return failure.Of(failure.Usage, "--runs %d goes with neither --on nor --journal", f.runs)
	case f.on != "":
		return runBlockOn(cmd.Context(), env, f, s, name)
	}
	return runBlockHere(cmd.Context(), env, f, s, name)
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

func runBlockHere(ctx context.Context, env *environment, f blockFlags, s block.Spec, name string) (err error) {
	p := newProgress(env)
	defer p.End()
	hooks, unlimited, err := p.limited(f.ram)
	if err != nil {
		return refused(err)
	}
	defer func() { err = errors.Join(err, unlimited()) }()
	path, wrote := s.Path, s.Shape.Read < 1
	o, err := storage.OpenBlock(ctx, hooks, storage.BlockTask{Name: name, Spec: s, Destroy: f.named(path), Fill: f.fill, DropCache: f.dropCache})
	defer o.Close() // only descriptors: what was written is the kernel's since
	if err != nil {
		return interruptedLoad(ctx, refused(err), path, o != nil && wrote)
	}
	kept, err := keepJournal(f.journal, &o.Task.Spec, o.Target)
	if err != nil {
		return err
	}
	var runs []storage.Measured
	for range max(f.runs, 1) {
		var m storage.Measured
		m, err = o.Run(ctx, hooks)
		if m.Result.ReadLatency != nil {
			runs = append(runs, m)
		}
		if err != nil {
			break
		}
	}
	if jerr := kept.end(env, o.Target, err, s.Stuck); jerr != nil {
		return adviseStuck(errors.Join(jerr, err))
	}
	if err != nil && (ctx.Err() == nil || len(runs) == 0) {
		return interruptedLoad(ctx, refused(err), path, wrote)
	}
	return reportBlock(ctx, env, p, runs, name, err)
}

// reportBlock prints runs: the one in the middle, and what the others were; ran is
// what the last ended with, as by Ctrl-C.
func reportBlock(ctx context.Context, env *environment, p *progress, runs []storage.Measured, name string, ran error) error {
	out, err := blockRuns(runs, name)
	if err != nil {
		return err
	}
	s, sum := runs[0].Spec, &out.Load
	sum.Interrupted = ran != nil
	out.Hosts = []loadHost{{Name: "local"}}
	if err := concludeBlock(ctx, env, p, out, nil); err != nil {
		return err
	}
	switch {
	case ran != nil:
		return interruptedLoad(ctx, ran, s.Path, s.Shape.Read < 1)
	case sum.Requests == 0 && sum.Failed > 0:
		return failure.Of(failure.Failed, "load %s: no request succeeded; the first failed so: %s", s.Path, sum.Failures[0])
	}
	return nil
}

// concludeBlock keeps and prints a load on blocks, of this host or of several.
func concludeBlock(ctx context.Context, env *environment, p *progress, out loadResult, agents []*host.Client) error {
	text, err := loadText(out)
	if err != nil {
		return err
	}
	var hosts []string
	for _, h := range out.Hosts {
		hosts = append(hosts, h.Name)
	}
	return concludeLoad(ctx, env, p, loadRecord{kind: "block", command: "load block " + out.Spec.Target, line: loadLine(out), text: text, value: &out,
		series: []model.LoadSeries{bytesPerSecond(out.Load.Workload, out.PerSecond, out.Each)}, hosts: hosts, agents: agents})
}

// blockRuns shows the run in the middle, by bytes per second; of an even number
// the slower of the two.
func blockRuns(runs []storage.Measured, name string) (loadResult, error) {
	var all []loadResult
	var list []storage.RunFigures
	for _, m := range runs {
		r, err := blockResult(m, name)
		if err != nil {
			return r, err
		}
		all = append(all, r)
		list = append(list, storage.FiguresOf(r.Load))
	}
	slices.SortFunc(all, func(a, b loadResult) int { return cmp.Compare(a.Load.BytesPerS, b.Load.BytesPerS) })
	out := all[(len(all)-1)/2]
	if len(runs) > 1 {
		out.Runs = list
	}
	return out, nil
}

// blockResult is a run in figures, without its hosts.
func blockResult(m storage.Measured, name string) (loadResult, error) {
	r, s := m.Result, m.Spec
	sum, err := block.Summarise(name, r, m.Witness)
	points, each := block.Bound(r.Seconds, block.MaxPoints)
	out := loadResult{Load: sum, PerSecond: points, Each: each, Spec: loadSpec{
		Target: s.Path, Engine: string(r.Engine), Direct: s.Direct, Sync: string(s.Sync), Shape: s.Shape,
		Threads: r.Threads, Depth: r.Depth, Duration: int64(r.Measured), Seed: s.Seed, Filled: m.Filled, Dropped: m.Dropped,
	}}
	if s.Shape.Read < 1 && s.Engine != block.Null {
		out.Spec.Run = storage.RunName(s.Run)
		out.Spec.ratios(s)
	}
	return out, err
}

// ratios notes by how much what was written compresses and is the same, if at all.
func (l *loadSpec) ratios(s block.Spec) {
	if s.Compress > 1 {
		l.Compress = s.Compress
	}
	if s.Dedup > 1 {
		l.Dedup = s.Dedup
	}
}

// refused makes a refusal of the target a wrong command line.
func refused(err error) error {
	var r *load.RefusedError
	if errors.As(err, &r) {
		return failure.As(failure.Usage, err)
	}
	return err
}

// hooks show a load on storage.
func (p *progress) hooks() storage.Hooks {
	return storage.Hooks{Say: func(text string) { p.Say("%s", text) }, Watch: p.watch}
}
