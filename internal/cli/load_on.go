package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/frames"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/unit"
)

func onFlag(cmd *cobra.Command, to *string, target string) {
	cmd.Flags().StringVar(to, "on", "", "hosts that make the load, as client1,client2: all begin at one instant; "+target)
}

// hostLoads are the hosts of a load that begins on all of them at one instant.
type hostLoads struct {
	p      *progress
	names  []string
	short  []string // without user and lab
	agents []*host.Client
	loads  []party
}

// party is a host's load by the name that its user gave the host.
type party struct {
	*host.Worker
	name string
}

// Name implements measure.Party.
func (p party) Name() string { return p.name }

// reachLoads reaches the hosts of --on. end ends what runs there; it is never nil.
func reachLoads(ctx context.Context, env *environment, p *progress, on string) (h *hostLoads, end func(), err error) {
	args := strings.Split(on, ",")
	names, err := tcpNames(args)
	if err != nil {
		return nil, func() {}, err
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return nil, func() {}, failure.Of(failure.Usage, "--on %s: %s twice", on, n)
		}
	}
	h = &hostLoads{p: p}
	h.agents, err = env.Reach(p).DialAll(ctx, names)
	for i := range h.agents {
		h.names, h.short = append(h.names, names[i].String()), append(h.short, names[i].Host)
	}
	return h, func() {
		for _, a := range h.agents {
			_ = a.Close() // the figures are in hand; an agent that hangs is killed
		}
	}, err
}

// Bounds of a load on several hosts.
const (
	readyTime   = time.Minute // to open a target, where nothing is written before
	partialTime = 20 * time.Second
)

// begin starts a task on every host.
func (h *hostLoads) begin(ctx context.Context, t worker.Task) error {
	h.loads = nil
	for i, a := range h.agents {
		w, err := a.Start(ctx, h.own(t, i))
		if err != nil {
			return errors.Join(err, h.end(ctx))
		}
		h.loads = append(h.loads, party{w, h.names[i]})
	}
	return nil
}

// hostMark stands for a host's name in a path, so that each has a file of its own.
const hostMark = "%h"

// own is the task of one host. Each draws other blocks: hosts that asked for the
// same ones at the same time would measure the server's cache.
func (h *hostLoads) own(t worker.Task, i int) worker.Task {
	if t.Block == nil {
		return t
	}
	b := *t.Block
	b.Spec.Path, b.Destroy = strings.ReplaceAll(b.Spec.Path, hostMark, h.short[i]), strings.ReplaceAll(b.Destroy, hostMark, h.short[i])
	b.Spec.Seed += uint64(i) << 32
	t.Block = &b
	return t
}

// end ends the loads, whatever they do.
func (h *hostLoads) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partialTime)
	defer cancel()
	var errs []error
	for _, l := range h.loads {
		errs = append(errs, l.Stop(ctx))
	}
	h.loads = nil
	return errors.Join(errs...)
}

// phase brings the loads to the barrier and waits for what they did. Ctrl-C ends
// them with what they have.
func (h *hostLoads) phase(ctx context.Context, now func() time.Time, work string, ready, takes time.Duration) (measure.Start, []worker.Result, error) {
	var parties []measure.Party
	for _, l := range h.loads {
		parties = append(parties, l)
	}
	start, err := measure.Together(ctx, parties, ready, now)
	if err != nil {
		return start, nil, refused(err)
	}
	h.p.Say("%s: began on %s within %v (± %v)", work, plural(len(parties), "host"), start.Spread.Round(10*time.Microsecond), start.Error.Round(10*time.Microsecond))
	stop := h.follow(ctx, work, takes)
	results, err := h.finished(ctx)
	stop()
	return start, results, err
}

// finished waits for all results.
func (h *hostLoads) finished(ctx context.Context) ([]worker.Result, error) {
	results, errs := make([]worker.Result, len(h.loads)), make([]error, len(h.loads))
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		for _, l := range h.loads {
			_ = l.Interrupt(wait) // one that does not hear it is given up below
		}
		time.AfterFunc(partialTime, cancel)
	})()
	var wg sync.WaitGroup
	for i, l := range h.loads {
		wg.Go(func() { results[i], errs[i] = l.Finished(wait) })
	}
	wg.Wait()
	for i := range errs {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", h.names[i], errs[i])
		}
	}
	return results, refused(errors.Join(errs...))
}

// follow shows what all hosts complete, on a terminal.
func (h *hostLoads) follow(ctx context.Context, work string, takes time.Duration) (stop func()) {
	if !h.p.live {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began, last := h.p.now(), h.p.now()
		var before worker.Work
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			all, by := h.seen(ctx)
			now := h.p.now()
			h.p.Tick(work, runText(all.Requests-before.Requests, all.Bytes-before.Bytes, all.Longest, now.Sub(last), takes-now.Sub(began), heldAt(by)))
			before, last = all, now
		}
	}()
	return func() { cancel(); <-ended; h.p.End() }
}

func (h *hostLoads) seen(ctx context.Context) (all worker.Work, by []string) {
	for _, l := range h.loads {
		if w, err := l.Seen(ctx); err == nil { // the line is for people only; the end tells what is wrong
			all.Requests, all.Bytes, all.Longest = all.Requests+w.Requests, all.Bytes+w.Bytes, max(all.Longest, w.Longest)
			by = append(by, w.HeldBy)
		}
	}
	return all, by
}

// heldAt is what holds most of the hosts; empty: it is not seen of all.
func heldAt(by []string) string {
	most, times := "", map[string]int{}
	for _, b := range by {
		if b == "" {
			return ""
		}
		if times[b]++; times[b] > times[most] {
			most = b
		}
	}
	text := most
	if most == block.ByHost && len(by) > 1 {
		text = "the hosts' CPUs"
	}
	if n := times[most]; n < len(by) {
		text += fmt.Sprintf(" (%d of %d hosts)", n, len(by))
	}
	return text
}

// hostFigures are one host's part of a load on several.
type hostFigures struct {
	IOPS             float64          `json:"iops"`
	BytesPerS        float64          `json:"bytes_per_s"`
	Latency          *block.Quantiles `json:"latency_ns"`
	Service          *block.Quantiles `json:"service_ns"`
	FromCache        *float64         `json:"from_cache"`
	Failed           int64            `json:"failed"`
	GeneratorLimited bool             `json:"generator_limited"`
	hostTimes
}

// hostTimes are from the agreed instant on, by the controller's clock.
type hostTimes struct {
	Began       time.Duration `json:"began_ns"`
	Done        time.Duration `json:"done_ns"`
	ClockOffset time.Duration `json:"clock_offset_ns"`
	ClockError  time.Duration `json:"clock_error_ns"`
}

func timesOf(s measure.Start, name string, took time.Duration) hostTimes {
	c := s.Clocks[name]
	return hostTimes{s.Began[name], s.Began[name] + took, c.Offset, c.Error}
}

// togetherFigures are of a load that began on several hosts at one instant.
type togetherFigures struct {
	Spread    time.Duration `json:"start_spread_ns"`
	Error     time.Duration `json:"start_spread_error_ns"`
	FirstDone time.Duration `json:"first_done_ns"`
	LastDone  time.Duration `json:"last_done_ns"`
	// SumOfHosts adds up what each host reached in its own time; load.bytes_per_s
	// is all bytes over the time of the one that took longest.
	SumOfHosts float64 `json:"sum_of_hosts_bytes_per_s"`
}

func (t *togetherFigures) done(at time.Duration) {
	if t.FirstDone == 0 || at < t.FirstDone {
		t.FirstDone = at
	}
	t.LastDone = max(t.LastDone, at)
}

// gather adds the hosts' parts up, and keeps each.
func (h *hostLoads) gather(name string, start measure.Start, parts []storage.Measured) (storage.Measured, []loadHost, *togetherFigures, error) {
	all := parts[0]
	all.Result, all.Witness = block.Result{}, block.Witness{Occupied: -1}
	together := &togetherFigures{Spread: start.Spread, Error: start.Error}
	var hosts []loadHost
	for i, m := range parts {
		sum, err := block.Summarise(name, m.Result, m.Witness)
		if err == nil {
			err = all.Result.AddHost(m.Result)
		}
		if err != nil {
			return all, nil, nil, fmt.Errorf("add up the load of %s: %w", h.names[i], err)
		}
		all.Witness.Null += m.Witness.Null
		all.Flush = max(all.Flush, m.Flush)
		if mem := m.Witness.Memory; mem != nil && (all.Witness.Memory == nil || mem.Peak > all.Witness.Memory.Peak) {
			all.Witness.Memory = mem // each host's, and the most that one has taken
		}
		f := &hostFigures{sum.IOPS, sum.BytesPerS, sum.Latency, sum.Service, sum.FromCache, sum.Failed, sum.GeneratorLimited, timesOf(start, h.names[i], m.Result.Took)}
		hosts = append(hosts, loadHost{h.names[i], f})
		together.done(f.Done)
		together.SumOfHosts += sum.BytesPerS
	}
	return all, hosts, together, nil
}

// parts are the results of a load on blocks; interrupted: one of them was told to
// end before its time.
func parts(results []worker.Result) (out []storage.Measured, interrupted bool, err error) {
	for _, r := range results {
		if r.Block == nil || r.Block.Result.ReadLatency == nil {
			return nil, false, errors.New("a host sent no figures")
		}
		out, interrupted = append(out, *r.Block), interrupted || r.Interrupted
	}
	return out, interrupted, nil
}

// runBlockOn runs load block on several hosts.
func runBlockOn(ctx context.Context, env *environment, f blockFlags, s block.Spec, name string) error {
	switch {
	case f.journal != "":
		return failure.Of(failure.Usage, "--on --journal: a journal is kept on the host that writes; run load block there")
	case s.Engine == block.Null:
		return failure.Of(failure.Usage, "--on --engine null: that is a load on nothing")
	case !filepath.IsAbs(s.Path):
		return failure.Of(failure.Usage, "--on: %s is no path on another host; begin it with /", s.Path)
	}
	p := newProgress(env)
	defer p.End()
	h, end, err := reachLoads(ctx, env, p, f.on)
	defer end()
	if err != nil {
		return err
	}
	if s.Steady != nil {
		return failure.Of(failure.Usage, "--on --steady: hosts would begin to measure each at a time of its own; let the target settle from one of them first")
	}
	takes := s.Warmup + s.Duration
	task := worker.Task{Block: &storage.BlockTask{Name: name, Spec: s, Destroy: f.named(s.Path), Fill: f.fill, DropCache: f.dropCache}, Memory: f.ram, Deadline: takes + 24*time.Hour}
	if err := h.begin(ctx, task); err != nil {
		return err
	}
	ready := readyTime
	if f.fill {
		ready = 0
		p.Say("fill what was never written of %s on %s", s.Path, f.on)
	}
	start, results, err := h.phase(ctx, env.Now, name, ready, takes)
	if err != nil {
		return interruptedLoad(ctx, errors.Join(err, h.end(ctx)), s.Path, s.Shape.Read < 1)
	}
	measured, interrupted, err := parts(results)
	if err != nil {
		return err
	}
	all, hosts, together, err := h.gather(name, start, measured)
	if err != nil {
		return err
	}
	out, err := blockResult(all, name)
	if err != nil {
		return err
	}
	out.Spec.Target, out.Spec.Seed = s.Path, s.Seed
	out.Hosts, out.Together, out.Load.Interrupted, out.Spec.Run = hosts, together, interrupted, ""
	out.Load.Evidence = append(out.Load.Evidence, hostEvidence(hosts)...)
	if err := concludeBlock(ctx, env, p, out, h.agents); err != nil || !interrupted {
		return err
	}
	return interruptedLoad(ctx, context.Canceled, s.Path, s.Shape.Read < 1)
}

// hostEvidence names the hosts whose part was their own program's, or cache's.
func hostEvidence(hosts []loadHost) (out []string) {
	for _, h := range hosts {
		if h.GeneratorLimited {
			out = append(out, h.Name+": its part is this program's, not the target's")
		}
		if h.FromCache != nil && *h.FromCache > 0.05 {
			out = append(out, fmt.Sprintf("%s: at least %.0f%% of what it read came from its own page cache", h.Name, 100**h.FromCache))
		}
	}
	return out
}

// hostTable prints each host's part.
func hostTable(b *strings.Builder, hosts []loadHost, t *togetherFigures) error {
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nHOST\tREQUESTS/S\tPER SECOND\tP50\tP99\tMAX\tBEGAN\tDONE")
	for _, h := range hosts {
		p50, p99, most := "–", "–", "–"
		if q := h.Latency; q != nil {
			p50, p99, most = short(q.P50).String(), short(q.P99).String(), short(q.Max).String()
		}
		fmt.Fprintf(w, "%s\t%.0f\t%v\t%s\t%s\t%s\t%v\t%v\n", h.Name, h.IOPS, unit.Bytes(h.BytesPerS), p50, p99, most, h.Began.Round(10*time.Microsecond), h.Done.Round(time.Millisecond))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(b, "began within %v (± %v); first done after %v, last after %v; the hosts' own rates add up to %v per second\n",
		t.Spread.Round(10*time.Microsecond), t.Error.Round(10*time.Microsecond), t.FirstDone.Round(time.Millisecond), t.LastDone.Round(time.Millisecond), unit.Bytes(t.SumOfHosts))
	return nil
}

// runJobsOn runs a row of jobs on several hosts, each of which begins at an
// instant of its own.
func runJobsOn(ctx context.Context, env *environment, p *progress, o jobOptions, jobs []dialect.Job, dir string) error {
	if !filepath.IsAbs(dir) {
		return failure.Of(failure.Usage, "--on: %s is no path on another host; begin it with /", dir)
	}
	h, end, err := reachLoads(ctx, env, p, o.on)
	defer end()
	if err != nil {
		return err
	}
	task := worker.Task{Jobs: &storage.JobsTask{Dir: dir, Jobs: jobs, Size: o.size, Stuck: o.stuck}, Memory: o.ram, Deadline: 48 * time.Hour}
	if err := h.begin(ctx, task); err != nil {
		return err
	}
	out := jobsResult{Runs: []jobResult{}, agents: h.agents, hosts: h.names}
	for _, j := range jobs {
		var one jobResult
		if one, err = h.job(ctx, env, j); err != nil {
			break
		}
		if err = out.add(env, one); err != nil {
			return err
		}
	}
	if perr := out.conclude(ctx, env, p, o); perr != nil {
		return perr
	}
	err = errors.Join(err, h.end(ctx))
	if ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; what was written below %s is being removed", dir)
	}
	return err
}

func (h *hostLoads) job(ctx context.Context, env *environment, j dialect.Job) (jobResult, error) {
	start, results, err := h.phase(ctx, env.Now, j.Name, 0, j.Warmup+j.Duration)
	if err != nil {
		return jobResult{}, err
	}
	measured, _, err := parts(results)
	if err != nil {
		return jobResult{}, err
	}
	all, hosts, together, err := h.gather(j.Name, start, measured)
	if err != nil {
		return jobResult{}, err
	}
	one, err := jobFigures(j, all, len(j.Targets)*len(hosts))
	one.Hosts, one.Together = hosts, together
	one.Load.Evidence = append(one.Load.Evidence, hostEvidence(hosts)...)
	return one, err
}

// on reaches the hosts of a load of frames. end is never nil.
func (c *framesRun) on(ctx context.Context, on string) (end func(), err error) {
	c.hosts, end, err = reachLoads(ctx, c.env, c.p, on)
	return end, err
}

// runOn makes a run on every host at once. The streams of all of them are one
// result: its Spec has their number.
func (c *framesRun) runOn(ctx context.Context, s frames.Spec) (all frames.Result, _ frames.Spec, err error) {
	if !filepath.IsAbs(s.Dir) {
		return all, s, failure.Of(failure.Usage, "--on: %s is no path on another host; begin it with /", s.Dir)
	}
	takes := s.Rate.At(s.Frames)
	h := c.hosts
	if err := h.begin(ctx, worker.Task{Frames: &s, Deadline: 24*time.Hour + takes}); err != nil {
		return all, s, err
	}
	defer func() { err = errors.Join(err, h.end(ctx)) }()
	start, results, err := h.phase(ctx, c.env.Now, fmt.Sprintf("%s × %s", plural(s.Streams, "stream"), s.Format.Name), 0, takes)
	if err != nil {
		return all, s, err
	}
	c.start = &start
	for i, r := range results {
		if r.Frames == nil {
			return all, s, fmt.Errorf("%s sent no frames", h.names[i])
		}
		c.notDirect = c.notDirect || r.NotDirect
		if i == 0 {
			all = *r.Frames
		} else {
			addFrames(&all, *r.Frames)
		}
		if r.Interrupted {
			err = context.Canceled
		}
	}
	s.Direct = s.Direct && !c.notDirect
	s.Streams *= len(results)
	return all, s, err
}

// addFrames adds another host's streams.
func addFrames(r *frames.Result, o frames.Result) {
	r.Streams, r.Errors = append(r.Streams, o.Streams...), append(r.Errors, o.Errors...)
	r.Took, r.Flush = max(r.Took, o.Took), max(r.Flush, o.Flush)
	r.Making, r.CPU = r.Making+o.Making, r.CPU+o.CPU
	if r.Fetched < 0 || o.Fetched < 0 {
		r.Fetched = -1
	} else {
		r.Fetched += o.Fetched
	}
	if r.Kept == "" {
		r.Kept = o.Kept
	}
}
