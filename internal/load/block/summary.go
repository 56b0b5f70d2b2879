package block

import (
	"fmt"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Quantiles of a kind of time, in nanoseconds.
type Quantiles struct {
	N    int64 `json:"n"` // how many requests they are of
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// quantiles are nil where there is nothing that they could be of.
func quantiles(t *Times) *Quantiles {
	if t.Count() == 0 {
		return nil
	}
	return &Quantiles{t.Count(), int64(t.Quantile(0.5)), int64(t.Quantile(0.99)), int64(t.Quantile(0.999)), int64(t.Max)}
}

// ThousandthFrom is how many requests a 99.9th percentile takes: of fewer it
// is the slowest of them.
const ThousandthFrom = 1000

// Summary is a run in figures, with what speaks against them.
type Summary struct {
	Workload string `json:"workload"`
	// Interrupted: the run was stopped before its time, and the figures are of
	// what was measured until then.
	Interrupted bool    `json:"interrupted,omitempty"`
	IOPS        float64 `json:"iops"`
	BytesPerS   float64 `json:"bytes_per_s"`
	// Requests are those that succeeded, after the warm-up.
	Requests int64 `json:"requests"`
	// NotStarted were due and never began: see Result.
	NotStarted int64 `json:"not_started"`
	// Latency counts from when a request was due, service from when it was
	// handed to the target; reads and writes together. nil: none succeeded.
	Latency *Quantiles `json:"latency_ns"`
	Service *Quantiles `json:"service_ns"`
	// Reads and Writes alone, where the run had both.
	Reads  *Quantiles `json:"read_latency_ns,omitempty"`
	Writes *Quantiles `json:"write_latency_ns,omitempty"`
	// Sizes is what was done of each, where requests had several.
	Sizes []SizeSummary `json:"sizes,omitempty"`
	// Syncs that followed writes; they are no requests.
	Syncs *Quantiles `json:"sync_latency_ns,omitempty"`
	// CPU of this process per request and per 10^9 bytes, user mode and kernel.
	CPUPerIO float64 `json:"cpu_us_per_io"`
	CPUPerGB float64 `json:"cpu_s_per_gb"`
	// GeneratorLimited: the figures say what this program can do, not what the
	// target can.
	GeneratorLimited bool `json:"generator_limited"`
	// FromCache is the least share of what was read that no device or server
	// sent (what was read ahead hides some); nil: not known, or nothing was
	// read.
	FromCache *float64 `json:"from_cache"`
	// Buffered: writes returned once they stood in this host's page cache, and no sync
	// followed them: the rate is that of memory, as far as the cache had room.
	Buffered bool `json:"buffered_writes,omitempty"`
	// Dirty is by how much more this host had yet to write out when a buffered run was
	// over than before it, whoever wrote it; nil: not known, or writes were not buffered.
	Dirty *int64 `json:"dirty_bytes,omitempty"`
	// WrittenOut: of what a buffered run wrote at most a tenth can still have stood in memory
	// when it was over: the rate is about the target's.
	WrittenOut bool `json:"written_out,omitempty"`
	// Steady is how the target settled before it was measured; nil: not asked.
	Steady *Settled `json:"steady,omitempty"`
	// Memory is what the generator and its page cache were held to; nil: to nothing.
	Memory *Memory `json:"memory,omitempty"`
	// Change is where the rate changed for good during the run; nil: it did not.
	Change   *Change  `json:"change,omitempty"`
	Failed   int64    `json:"failed"`
	Failures []string `json:"failures,omitempty"`
	Evidence []string `json:"evidence"`
}

// SizeSummary is the requests of one size.
type SizeSummary struct {
	Bytes     int64   `json:"bytes"` // of each
	Requests  int64   `json:"requests"`
	BytesPerS float64 `json:"bytes_per_s"`
	// Latency as in Summary; nil: none succeeded.
	Latency *Quantiles `json:"latency_ns"`
}

// Memory is a limit on what a process and the page cache for it have.
type Memory struct {
	Most unit.Bytes `json:"most_bytes"`
	Peak unit.Bytes `json:"peak_bytes"` // 0: not told
	V2   bool       `json:"v2"`         // of the control group
}

// Witness is what else was seen during a run.
type Witness struct {
	// Null is the rate that the same workload reaches on a target that does
	// nothing; 0: not tried.
	Null float64
	// Memory is what this process and its page cache were held to; nil: to nothing.
	Memory *Memory
	// Buffered: the run wrote through the page cache without a sync. Dirty is by how much
	// more the host had to write out after it than before; below 0: not known.
	Buffered bool
	Dirty    unit.Bytes
	// Waiting is all that the host had to write out after the run, and Out what it wrote out of
	// its page cache meanwhile, whoever wrote it; nil: not known.
	Waiting, Out *unit.Bytes
	// Size of the file, and the room that it Occupies after the run; below 0:
	// not known, or it is a device.
	Size, Occupied unit.Bytes
	// Unproven says why it is not certain that the page cache was passed by, as was asked; empty: it
	// is, or was not asked.
	Unproven string `json:",omitempty"`
}

const (
	// generatorShare of the null target's rate from which the generator's own
	// time is more of a request's than the target's.
	generatorShare = 0.5
	// waiting is the share of its time that a generator waits at least when
	// the target is what it waits for.
	waiting = 0.05
	// noCore is the share of its time that a generator may be without a core: more, and the rate
	// is that of what others left it.
	noCore = 0.2
	// mostlyCached is the share from which a result is the page cache's.
	mostlyCached = 0.05
	// whole is the share of its size that a file occupies at least where nothing
	// in it is a hole or compressed.
	whole = 0.95
)

// Summarise turns a result into figures. It is pure.
func Summarise(name string, r Result, w Witness) (Summary, error) {
	latency, service := newTimes(), newTimes()
	for _, m := range []struct{ into, from *Times }{
		{latency, r.ReadLatency}, {latency, r.WriteLatency}, {service, r.ReadService}, {service, r.WriteService},
	} {
		if err := m.into.Merge(m.from); err != nil {
			return Summary{}, err
		}
	}
	s := Summary{Workload: name, Latency: quantiles(latency), Service: quantiles(service), Syncs: quantiles(r.Syncs),
		Requests: service.Count(), NotStarted: r.NotStarted, Failed: r.Failed}
	n, bytes := r.Reads+r.Writes, r.ReadBytes+r.WrittenBytes
	if sec := r.Measured.Seconds(); sec > 0 {
		s.IOPS, s.BytesPerS = float64(n)/sec, float64(bytes)/sec
		for _, z := range r.Sizes {
			s.Sizes = append(s.Sizes, SizeSummary{z.Size, z.Requests, float64(z.Size*z.Requests) / sec, quantiles(z.Latency)})
		}
	}
	if r.Reads > 0 && r.Writes > 0 {
		s.Reads, s.Writes = quantiles(r.ReadLatency), quantiles(r.WriteLatency)
	}
	s.cpu(r, bytes)
	s.generator(r, w)
	s.schedule(r)
	s.cache(r)
	if w.Unproven != "" {
		s.Evidence = append(s.Evidence, w.Unproven)
	}
	s.buffered(r, w)
	s.memory(w)
	s.sparse(r, w)
	s.series(r)
	for _, f := range r.Failures {
		s.Failures = append(s.Failures, f.String())
	}
	return s, nil
}

// cpu spreads what the whole run took over all of its requests.
func (s *Summary) cpu(r Result, bytes int64) {
	total := (r.UserCPU + r.SystemCPU).Seconds()
	if r.Requests == 0 || total == 0 {
		return
	}
	s.CPUPerIO = total * 1e6 / float64(r.Requests)
	if n := r.Reads + r.Writes; n > 0 && bytes > 0 {
		s.CPUPerGB = total / float64(r.Requests) / (float64(bytes) / float64(n)) * 1e9
	}
}

func (s *Summary) generator(r Result, w Witness) {
	run := r.Measured.Seconds() * float64(r.Threads)
	waited := 0.0
	if run > 0 {
		waited = r.Waited.Seconds() / run
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("the %s waited for the target %.0f%% of the time", unit.CountInWords(r.Threads, "thread"), 100*min(waited, 1)))
	if share := ratioOf(r.NoCore, r.Took, r.Threads); share >= noCore {
		s.GeneratorLimited = true
		s.Evidence = append(s.Evidence, fmt.Sprintf("the %s could have gone on %.0f%% of the time and had no core: others use this host's CPU", unit.CountInWords(r.Threads, "thread"), 100*share))
	}
	if w.Null <= 0 {
		s.Evidence = append(s.Evidence, "what the generator does alone was not measured")
		return
	}
	share := s.IOPS / w.Null
	s.GeneratorLimited = s.GeneratorLimited || share >= generatorShare && waited < waiting
	s.Evidence = append(s.Evidence, fmt.Sprintf("on a target that does nothing the same workload makes %.0f requests per second: this run reached %.0f%% of that", w.Null, 100*share))
}

// ratioOf is the share that a time of all threads is of what they ran, at most 1.
func ratioOf(d, took time.Duration, threads int) float64 {
	if took <= 0 || threads < 1 {
		return 0
	}
	return min(1, d.Seconds()/took.Seconds()/float64(threads))
}

// schedule says what the target was behind with when the run was over.
func (s *Summary) schedule(r Result) {
	if r.NotStarted > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s due within the run never began: the target held every one of the %d in flight. They count in the latency with what they had waited when the run was over, which is the least it can have been",
			requestsThatWere(r.NotStarted), r.Threads*r.Depth))
	}
	if r.NoRing != "" {
		s.Evidence = append(s.Evidence, "requests went through pread and pwrite on a thread each, since io_uring refused: "+r.NoRing)
	}
}

func requestsThatWere(n int64) string {
	if n == 1 {
		return "one request that was"
	}
	return fmt.Sprintf("%d requests that were", n)
}

func (s *Summary) cache(r Result) {
	if r.ReadBytes == 0 || r.Fetched < 0 {
		return
	}
	// What was read ahead and not asked for counts as fetched too, so that the
	// share is the least it can be.
	share := max(0, 1-float64(r.Fetched)/float64(r.ReadBytes))
	s.FromCache = &share
	if share > mostlyCached {
		s.Evidence = append(s.Evidence, fmt.Sprintf("at least %.0f%% of what was read came from this host's page cache, not from the target: a cached result", 100*share))
	}
}

// buffered says that writes without a sync went into memory.
func (s *Summary) buffered(r Result, w Witness) {
	if r.WrittenBytes == 0 || !w.Buffered {
		return
	}
	s.Buffered = true
	left := "how much of it still stands there is not known"
	if w.Dirty >= 0 {
		n := int64(w.Dirty)
		s.Dirty = &n
		left = fmt.Sprintf("%v more than before the run still had to be written out when it was over", w.Dirty)
	}
	// What is written again before it left memory never leaves it: little that waits is not enough.
	if written := unit.Bytes(r.WrittenBytes); w.Waiting != nil && w.Out != nil && 10**w.Waiting <= written && 10**w.Out >= 9*written {
		s.WrittenOut = true
		s.Evidence = append(s.Evidence, fmt.Sprintf("what was written went through this host's page cache, without a sync: of %v at most %v had not left it when the run was over, and this host wrote out %v meanwhile, whoever's that was, so that the rate is about the target's; times of requests are those of memory and of waiting for it",
			written, *w.Waiting, *w.Out))
		return
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("what was written went into this host's page cache, without a sync: a rate of memory, not of the target; %s. "+
		"direct or synced writes, or a run that writes far more than memory holds, measure the target", left))
}

// memory says what the page cache had.
func (s *Summary) memory(w Witness) {
	if s.Memory = w.Memory; s.Memory == nil {
		return
	}
	version, took := "v1", ""
	if s.Memory.V2 {
		version = "v2"
	}
	if s.Memory.Peak > 0 {
		took = fmt.Sprintf("; they took up to %v", s.Memory.Peak)
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("this program and what the page cache held for it had at most %v of memory (a control group of %s)%s", s.Memory.Most, version, took))
}

// sparse tells a file whose reads may cost nothing although its file system
// shows no holes (NFS 3 and 4.1, and SMB cannot).
func (s *Summary) sparse(r Result, w Witness) {
	if r.ReadBytes == 0 || w.Occupied < 0 || float64(w.Occupied) >= whole*float64(w.Size) {
		return
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("the file occupies only %v of its %v: it is sparse or compressed, and reading such a part costs less than its bytes", w.Occupied, w.Size))
}

// series says whether the target had settled, and whether it changed while it was
// measured: a mean over two levels is neither of them.
func (s *Summary) series(r Result) {
	if s.Steady = r.Settled; s.Steady != nil {
		how := fmt.Sprintf("%d rounds of %v: of the last %d the range is %.0f%% and the slope %.0f%% of the mean (steady: at most 20%% and 10%%, SNIA SSS PTS)",
			len(s.Steady.Rates), s.Steady.Round, SteadyWindow, 100*s.Steady.Range, 100*s.Steady.Slope)
		switch {
		case s.Steady.Reached:
			s.Evidence = append(s.Evidence, "steady before it was measured, after "+how)
		case len(s.Steady.Rates) < SteadyWindow:
			s.Evidence = append(s.Evidence, fmt.Sprintf("stopped after %d of at least %d rounds: not steady", len(s.Steady.Rates), SteadyWindow))
		default:
			s.Evidence = append(s.Evidence, "NOT steady: after "+how)
		}
	}
	if s.Change = FindChange(r.Seconds); s.Change != nil {
		s.change(r)
	}
}

// change names the place where the rate went over to another level. Other work on the target
// that begins at some moment looks like a cache that is full; only a second run tells.
func (s *Summary) change(r Result) {
	c := s.Change
	levels := fmt.Sprintf("from %v to %v per second after %v (%ds)", unit.Bytes(c.Before), unit.Bytes(c.Behind), c.After, c.At)
	if c.Kind == Rise {
		s.Evidence = append(s.Evidence, fmt.Sprintf("it rose %s: the mean is of two levels, and neither", levels))
		return
	}
	c.Cache = CacheOfTarget
	what := "a cache of the target is full (of the flash, its controller, or a server's memory)"
	switch reads := r.ReadBytes > r.WrittenBytes; {
	case reads && s.FromCache != nil && *s.FromCache > mostlyCached:
		c.Cache, what = CacheOfHost, "what lay in this host's page cache comes to its end"
	case reads:
		what = "what lay in a cache of the target comes to its end (of its controller, or a server's memory)"
	case s.Buffered:
		c.Cache, what = CacheOfHost, "this host's page cache has as much to write out as it may (vm.dirty_ratio, vm.dirty_bytes, --ram)"
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("a cliff: it fell %s, as where %s: the mean is of two levels, and neither. Credits that are used up, heat, or other work that began then look the same: run it again when the cache had time to empty, and a cache falls after about as many bytes", levels, what))
}

// String says what failed and where.
func (f Failure) String() string {
	kind := "read"
	if f.Write {
		kind = "write"
	}
	if f.Errno == 0 {
		return fmt.Sprintf("%s at offset %d: moved %d bytes only", kind, f.Offset, f.Moved)
	}
	why := f.Why
	if why == "" {
		why = errorOf(f.Errno).Error()
	}
	return fmt.Sprintf("%s at offset %d: %s", kind, f.Offset, why)
}

// NullSpec is the spec that measures the generator alone: the same requests on
// a target that does nothing, for a while.
func NullSpec(s Spec, d time.Duration) Spec {
	s.Engine, s.Warmup, s.Duration, s.Requests, s.Journal, s.Progress, s.Begin, s.Steady = Null, 0, d, 0, nil, nil, nil, nil
	s.Shape.Rate, s.Shape.Arrivals, s.Shape.Think = 0, shape.Closed, 0
	return s
}
