package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load/block"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// TwiceError: a host, or a pair of them, was named twice.
type TwiceError struct{ Name string }

// Error implements error.
func (e *TwiceError) Error() string { return e.Name + " twice" }

// ParseHosts reads names of hosts that make a load together, separated by commas.
func ParseHosts(list string) (out []HostName, err error) {
	for _, a := range strings.Split(list, ",") {
		n, err := parseHost(a)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(out, n):
			return nil, failure.As(failure.Usage, &TwiceError{n.String()})
		}
		out = append(out, n)
	}
	return out, nil
}

func parseHost(a string) (HostName, error) {
	if a == "local" {
		a = reach.Here
	}
	n, err := host.ParseName(a)
	switch {
	case err != nil:
		return n, failure.As(failure.Usage, err)
	case n.Path != "" || n.Reach == host.Local:
		return n, failure.Of(failure.Usage, "%s: name a host, without a path", a)
	}
	return n, nil
}

// hosts are those of a load that begins on all of them at one instant.
type hosts struct {
	session
	short []string // names without user and lab
	loads []party
}

// party is a host's load under the name that the user gave the host.
type party struct {
	*host.Worker
	name string
}

// Name implements measure.Party.
func (p party) Name() string { return p.name }

// reachHosts reaches all hosts. The caller closes them, also after an error.
func reachHosts(ctx context.Context, e app.Env, p app.Progress, names []HostName) (*hosts, error) {
	h := &hosts{session: session{env: e, p: p}}
	var err error
	h.agents, err = e.Reach(p).DialAll(ctx, names)
	for i := range h.agents {
		h.names, h.short = append(h.names, names[i].String()), append(h.short, names[i].Host)
	}
	return h, err
}

// Bounds of a load on several hosts.
const (
	readyTime   = time.Minute // to open a target, where nothing is written before
	partialTime = 20 * time.Second
)

// begin starts a task on every host.
func (h *hosts) begin(ctx context.Context, t worker.Task) error {
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

// own is the task of one host. Each host draws different blocks: hosts that asked for the
// same blocks at the same time would measure the server's cache.
func (h *hosts) own(t worker.Task, i int) worker.Task {
	if t.Block == nil {
		return t
	}
	b := *t.Block
	b.Spec.Path, b.Destroy = strings.ReplaceAll(b.Spec.Path, hostMark, h.short[i]), strings.ReplaceAll(b.Destroy, hostMark, h.short[i])
	b.Spec.Seed += uint64(i) << 32
	t.Block = &b
	return t
}

// end ends the loads, in whatever state they are.
func (h *hosts) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partialTime)
	defer cancel()
	var errs []error
	for _, l := range h.loads {
		errs = append(errs, l.Stop(ctx))
	}
	h.loads = nil
	return errors.Join(errs...)
}

// phase brings the loads to the barrier and waits for their results. Ctrl-C ends
// them with the results so far.
func (h *hosts) phase(ctx context.Context, work string, ready, takes time.Duration) (measure.Start, []worker.Result, error) {
	var parties []measure.Party
	for _, l := range h.loads {
		parties = append(parties, l)
	}
	start, err := measure.Together(ctx, parties, ready, h.env.Now)
	if err != nil {
		return start, nil, err
	}
	h.p.Say("%s: began on %s within %v (± %v)", work, unit.Count(len(parties), "host"), start.Spread.Round(10*time.Microsecond), start.Error.Round(10*time.Microsecond))
	stop := h.follow(ctx, work, takes, h.seen)
	results, err := h.finished(ctx)
	stop()
	return start, results, err
}

// finished waits for all results.
func (h *hosts) finished(ctx context.Context) ([]worker.Result, error) {
	results, errs := make([]worker.Result, len(h.loads)), make([]error, len(h.loads))
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		for _, l := range h.loads {
			_ = l.Interrupt(wait) // a load that this does not reach is given up below
		}
		time.AfterFunc(partialTime, cancel)
	})()
	var wg sync.WaitGroup
	for i, l := range h.loads {
		wg.Go(func() {
			var err error
			if results[i], err = l.Finished(wait); err != nil {
				errs[i] = fmt.Errorf("%s: %w", h.names[i], err)
			}
		})
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// seen is what all hosts have completed.
func (h *hosts) seen(ctx context.Context, _ time.Duration) (all worker.Work) {
	var by []string
	for _, l := range h.loads {
		if w, err := l.Seen(ctx); err == nil { // this is only a progress line; the result has the error
			all.Requests, all.Bytes, all.Longest = all.Requests+w.Requests, all.Bytes+w.Bytes, max(all.Longest, w.Longest)
			by = append(by, w.HeldBy)
		}
	}
	all.HeldBy = heldAt(by)
	return all
}

// heldAt is what holds most of the hosts back; empty: it is not known of all.
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

// Host is one host of a load.
type Host struct {
	Name string `json:"name"`
	*HostFigures
}

// HostFigures are one host's part of a load on several.
type HostFigures struct {
	IOPS             float64    `json:"iops"`
	BytesPerS        float64    `json:"bytes_per_s"`
	Latency          *Quantiles `json:"latency_ns"`
	Service          *Quantiles `json:"service_ns"`
	FromCache        *float64   `json:"from_cache"`
	Failed           int64      `json:"failed"`
	GeneratorLimited bool       `json:"generator_limited"`
	// From the agreed instant on, by the controller's clock.
	Began       time.Duration `json:"began_ns"`
	Done        time.Duration `json:"done_ns"`
	ClockOffset time.Duration `json:"clock_offset_ns"`
	ClockError  time.Duration `json:"clock_error_ns"`
}

// Together is how a load went that began on several hosts at one instant.
type Together struct {
	Spread    time.Duration `json:"start_spread_ns"`
	Error     time.Duration `json:"start_spread_error_ns"`
	FirstDone time.Duration `json:"first_done_ns"`
	LastDone  time.Duration `json:"last_done_ns"`
	// SumOfHosts adds up what each host reached in its own time; load.bytes_per_s
	// is all bytes over the time of the one that took longest.
	SumOfHosts float64 `json:"sum_of_hosts_bytes_per_s"`
}

func (t *Together) add(f *HostFigures) {
	if t.FirstDone == 0 || f.Done < t.FirstDone {
		t.FirstDone = f.Done
	}
	t.LastDone = max(t.LastDone, f.Done)
	t.SumOfHosts += f.BytesPerS
}

// onBlocks is what several hosts did to blocks in one phase: all together, and each.
type onBlocks struct {
	all         storage.Measured
	hosts       []Host
	together    *Together
	seconds     [][]block.Second // of each host
	interrupted bool             // one of them was told to end before its time
}

// blocks makes a phase of a load on blocks, and adds the hosts' parts up.
func (h *hosts) blocks(ctx context.Context, name string, ready, takes time.Duration) (o onBlocks, err error) {
	start, results, err := h.phase(ctx, name, ready, takes)
	if err != nil {
		return o, err
	}
	o.together = &Together{Spread: start.Spread, Error: start.Error}
	for i, r := range results {
		m := r.Block
		if m == nil || m.Result.ReadLatency == nil {
			return o, errors.New("a host sent no figures")
		}
		if i == 0 {
			o.all = *m
			o.all.Result, o.all.Witness = block.Result{}, block.Witness{Occupied: -1}
		}
		o.interrupted = o.interrupted || r.Interrupted
		sum, err := block.Summarise(name, m.Result, m.Witness)
		if err == nil {
			err = o.all.Result.AddHost(m.Result)
		}
		if err != nil {
			return o, fmt.Errorf("add up the load of %s: %w", h.names[i], err)
		}
		w := &o.all.Witness
		w.Null += m.Witness.Null
		bufferedToo(w, m.Witness, i == 0)
		o.all.Flush = max(o.all.Flush, m.Flush)
		if mem := m.Witness.Memory; mem != nil && (w.Memory == nil || mem.Peak > w.Memory.Peak) {
			w.Memory = mem // of each host; and the most that one of them used
		}
		began, clock := start.Began[h.names[i]], start.Clocks[h.names[i]]
		f := &HostFigures{sum.IOPS, sum.BytesPerS, sum.Latency, sum.Service, sum.FromCache, sum.Failed, sum.GeneratorLimited,
			began, began + m.Result.Took, clock.Offset, clock.Error}
		o.hosts, o.seconds = append(o.hosts, Host{h.names[i], f}), append(o.seconds, m.Result.Seconds)
		o.together.add(f)
	}
	return o, nil
}

// bufferedToo adds what a host's writes left in its memory. If that is not known of one host, the
// sum is not known either.
func bufferedToo(sum *block.Witness, of block.Witness, first bool) {
	sum.Buffered = sum.Buffered || of.Buffered
	switch {
	case first:
		sum.Dirty, sum.Waiting = of.Dirty, of.Waiting
	case sum.Dirty < 0 || of.Dirty < 0:
		sum.Dirty, sum.Waiting = -1, nil
	default:
		sum.Dirty += of.Dirty
		if sum.Waiting == nil || of.Waiting == nil {
			sum.Waiting = nil
			return
		}
		all := *sum.Waiting + *of.Waiting
		sum.Waiting = &all
	}
}

// figures are the figures of all hosts. The evidence names the hosts that were held back by their
// own program, or that read from their own cache.
func (o onBlocks) figures(name string) (BlockResult, error) {
	out, err := figures(name, o.all)
	out.Hosts, out.Together, out.Load.Interrupted, out.ofHosts = o.hosts, o.together, o.interrupted, o.seconds
	for _, h := range o.hosts {
		if h.GeneratorLimited {
			out.Load.Evidence = append(out.Load.Evidence, h.Name+": its part is this program's, not the target's")
		}
		if h.FromCache != nil && *h.FromCache > 0.05 {
			out.Load.Evidence = append(out.Load.Evidence, fmt.Sprintf("%s: at least %.0f%% of what it read came from its own page cache", h.Name, 100**h.FromCache))
		}
	}
	return out, err
}
