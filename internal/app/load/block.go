package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/load/block"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// BlockOptions is what is wanted of a load on one file or device.
type BlockOptions struct {
	Task
	Memory  unit.Bytes // that the load and the page cache for it have at most; 0: no limit
	Runs    int        // here; 0 is one
	Journal string     // a new file for what the target acknowledges here; empty: none
	On      []HostName // that make the load; none: this process does
}

// BlockResult is what a load on blocks came to.
type BlockResult struct {
	Load      Summary        `json:"load"`
	Spec      Ran            `json:"spec"`
	PerSecond []block.Second `json:"per_second"`
	// Each is how many seconds a point of PerSecond is: more than one in long runs.
	Each  int    `json:"per_second_each_s"`
	Hosts []Host `json:"hosts"`
	// Together is of several hosts that began at one instant.
	Together *Together `json:"together,omitempty"`
	// Runs are all that were made, where there were several: Load is the one in the
	// middle.
	Runs []RunFigures `json:"runs,omitempty"`
	kept

	ofHosts [][]block.Second // of each of several hosts, for the page
}

// Ran is what was run.
type Ran struct {
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

// Block makes a load on one file or device. A load that was cut short is made as far as
// it has figures, and comes with its error.
func Block(ctx context.Context, e app.Env, o BlockOptions, p app.Progress) (*Made, error) {
	if len(o.On) > 0 {
		return blockOn(ctx, e, o, p)
	}
	s := here(e, p)
	var runs []storage.Measured
	err := s.onStorage(ctx, o.Memory, func(h storage.Hooks) (err error) {
		runs, err = s.runBlock(ctx, h, o)
		return err
	})
	if len(runs) == 0 {
		return nil, err
	}
	out, ferr := middle(runs, o.Name)
	if ferr != nil {
		return nil, errors.Join(ferr, err)
	}
	out.Load.Interrupted = err != nil
	out.Hosts = s.listed()
	if err == nil && out.Load.Requests == 0 && out.Load.Failed > 0 {
		err = fmt.Errorf("load %s: no request succeeded; the first failed so: %s", o.Spec.Path, out.Load.Failures[0])
	}
	return s.madeOfBlocks(ctx, &out), err
}

// runBlock makes the runs one after the other. With an error, runs are what Ctrl-C left.
func (s *session) runBlock(ctx context.Context, h storage.Hooks, o BlockOptions) (runs []storage.Measured, err error) {
	path, writes := o.Spec.Path, o.Spec.Shape.Read < 1
	t, err := storage.OpenBlock(ctx, h, o.Task)
	defer func() { _ = t.Close() }() // with an error too: it may be open, and what was written is the kernel's
	if err != nil {
		return nil, ended(ctx, err, path, t != nil && writes)
	}
	journal, err := keepJournal(o.Journal, &t.Task.Spec)
	if err != nil {
		return nil, err
	}
	for range max(o.Runs, 1) {
		var m storage.Measured
		if m, err = t.Run(ctx, h); m.Result.ReadLatency != nil {
			runs = append(runs, m)
		}
		if err != nil {
			break
		}
	}
	if jerr := journal.end(s.env.Now(), t.Target, err, o.Spec.Stuck); jerr != nil {
		return nil, errors.Join(jerr, err)
	}
	if err != nil && ctx.Err() == nil {
		runs = nil
	}
	return runs, ended(ctx, err, path, writes)
}

// blockOn makes the load on several hosts.
func blockOn(ctx context.Context, e app.Env, o BlockOptions, p app.Progress) (*Made, error) {
	h, err := reachHosts(ctx, e, p, o.On)
	defer h.close()
	if err != nil {
		return nil, err
	}
	takes := o.Spec.Warmup + o.Spec.Duration
	if err := h.begin(ctx, worker.Task{Block: &o.Task, Memory: o.Memory, Deadline: takes + 24*time.Hour}); err != nil {
		return nil, err
	}
	ready := readyTime
	if o.Fill {
		ready = 0
		p.Say("filling the never written parts of %s on %s", o.Spec.Path, strings.Join(h.names, ","))
	}
	path, writes := o.Spec.Path, o.Spec.Shape.Read < 1
	parts, err := h.blocks(ctx, o.Name, ready, takes)
	if err != nil {
		return nil, ended(ctx, errors.Join(err, h.end(ctx)), path, writes)
	}
	out, err := parts.figures(o.Name)
	if err != nil {
		return nil, err
	}
	out.Spec.Target, out.Spec.Seed, out.Spec.Run = path, o.Spec.Seed, ""
	if parts.interrupted {
		err = ended(ctx, context.Canceled, path, writes)
	}
	return h.madeOfBlocks(ctx, &out), err
}

func (s *session) madeOfBlocks(ctx context.Context, r *BlockResult) *Made {
	l := r.Load
	line := fmt.Sprintf("%s on %s: %.0f requests/s, %v/s", l.Workload, r.Spec.Target, l.IOPS, unit.Bytes(l.BytesPerS))
	if c := l.Change; c != nil { // no rate is that of the whole run
		line = fmt.Sprintf("%s on %s: %v/s, after %v %v/s", l.Workload, r.Spec.Target, unit.Bytes(c.Before), c.After, unit.Bytes(c.Behind))
	}
	if l.Buffered && !l.WrittenOut {
		line += " into this host's memory"
	}
	if l.Latency != nil {
		line += fmt.Sprintf(", p99 %v", unit.Short(time.Duration(l.Latency.P99)))
	}
	return s.made(ctx, "block", r, line, r.courses())
}

// middle is the run in the middle, by bytes per second; of an even number the slower of
// the two.
func middle(runs []storage.Measured, name string) (BlockResult, error) {
	var all []BlockResult
	var list []RunFigures
	for _, m := range runs {
		r, err := figures(name, m)
		if err != nil {
			return r, err
		}
		all, list = append(all, r), append(list, storage.FiguresOf(r.Load))
	}
	slices.SortFunc(all, func(a, b BlockResult) int { return cmp.Compare(a.Load.BytesPerS, b.Load.BytesPerS) })
	out := stat.NearestRank(all, 0.5)
	if len(runs) > 1 {
		out.Runs = list
	}
	return out, nil
}

// figures are a run's, without its hosts.
func figures(name string, m storage.Measured) (BlockResult, error) {
	r, s := m.Result, m.Spec
	sum, err := block.Summarise(name, r, m.Witness)
	points, each := block.Bound(r.Seconds, block.MaxPoints)
	out := BlockResult{Load: sum, PerSecond: points, Each: each, Spec: Ran{
		Target: s.Path, Engine: string(r.Engine), Direct: s.Direct, Sync: string(s.Sync), Shape: s.Shape,
		Threads: r.Threads, Depth: r.Depth, Duration: int64(r.Measured), Seed: s.Seed, Filled: m.Filled, Dropped: m.Dropped,
	}}
	if s.Shape.Read >= 1 || s.Engine == block.Null {
		return out, err
	}
	out.Spec.Run = storage.RunName(s.Run)
	if s.Compress > 1 {
		out.Spec.Compress = s.Compress
	}
	if s.Dedup > 1 {
		out.Spec.Dedup = s.Dedup
	}
	return out, err
}
