package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// Additional time of a load without a peer: to open a file on a mount with a slow server, and
// to finish the requests in flight at the end.
const (
	aloneGrace = 15 * time.Second
	stopTime   = 5 * time.Second
	// sampleAlone is the sampling interval of its hosts. There are no connections to watch,
	// the load counts its own work, and on a slow host each sample takes CPU time that the
	// load needs.
	sampleAlone = 500 * time.Millisecond
	// cachedShare is the share of the data that may come from the page cache without a
	// warning, as in the results of load.
	cachedShare = 0.05
)

// measureAlone makes one run of a workload on files or devices, which starts on all its hosts
// at the same instant.
func (x *Experiment) measureAlone(ctx context.Context, label string, w model.StudyWorkload) (m *work, err error) {
	m = &work{kind: w.Kind, links: map[*Host]*model.NIC{}}
	for _, name := range w.Hosts {
		h, err := x.host(name)
		if err != nil {
			return nil, err
		}
		m.alone = append(m.alone, aloneRun{host: h})
	}
	if n := w.Clients; n > 0 {
		m.alone = m.alone[:min(n, len(m.alone))]
	}
	defer func() {
		for i := range m.alone {
			err = errors.Join(err, m.alone[i].end(ctx))
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	task, err := taskOf(w, x.File.Protocol.Seed)
	if err != nil {
		return m, err
	}
	ready := readyFor(w)
	together := newBarrier(len(m.alone))
	errs := make([]error, len(m.alone))
	var wg sync.WaitGroup
	for i := range m.alone {
		wg.Go(func() {
			if errs[i] = m.alone[i].make(ctx, task, ready, together); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return m, fmt.Errorf("%s of %s: %w", label, w.Name, cause)
	}
	return m, nil
}

// taskOf is the worker's task for a workload without a peer.
func taskOf(w model.StudyWorkload, seed uint64) (worker.Task, error) {
	s := &load.Spec{Duration: w.Duration}
	t := worker.Task{Load: s, Deadline: 2*(w.Warmup+w.Duration) + 2*aloneGrace}
	if w.Kind == file.Block {
		of, err := file.ShapeOf(w)
		if err != nil {
			return t, fmt.Errorf("load of %s: %w", w.Name, err)
		}
		s.Role, s.Warmup, s.Duration = load.Block, w.Warmup, w.Warmup+w.Duration
		s.Block = &load.BlockSpec{Path: w.Path, Pattern: of.Pattern, Theta: of.Theta, Jump: of.Jump, Hot: of.Hot, Read: w.Read, Sizes: of.Sizes,
			Threads: w.Threads, Depth: w.Depth, Direct: w.Direct, Destroy: w.Destroy, Seed: seed}
		return t, nil
	}
	if w.Kind == file.Frames {
		f := file.FramesOf(w)
		s.Role, s.Frames = load.Frames, &f
		t.Deadline += readyFor(w)
		return t, nil
	}
	cache := load.Dropped
	if w.Direct {
		cache = load.Direct
	}
	s.Role, s.Read = load.Read, &load.ReadSpec{File: w.Path, Cache: cache, Device: true, Readers: w.Threads}
	return t, nil
}

// readyFor bounds the time until a workload is ready: frames that are played are recorded
// first, perhaps at only a quarter of the rate at which they are played.
func readyFor(w model.StudyWorkload) time.Duration {
	if w.Play {
		return aloneGrace + 4*w.Duration
	}
	return aloneGrace
}

// make prepares the load of one host, waits for the other hosts, and runs it.
func (a *aloneRun) make(ctx context.Context, task worker.Task, ready time.Duration, together *barrier) (err error) {
	up, cancel := context.WithTimeoutCause(ctx, ready, fmt.Errorf("not ready within %v: is its server or disk gone?", ready))
	defer cancel()
	if a.worker, err = a.host.agent.StartWorker(up, task); err != nil {
		return fmt.Errorf("start the load on %s: %w", a.host.Name, err)
	}
	e, err := a.worker.Connected(up)
	if err != nil {
		return fmt.Errorf("prepare the load on %s: %w", a.host.Name, err)
	}
	pid := cmp.Or(e.PID, a.worker.PID())
	if a.stop, err = a.host.agent.StartSampling(up, measure.Watch{PIDs: []int{pid}}, sampleAlone); err != nil {
		return fmt.Errorf("sample %s: %w", a.host.Name, err)
	}
	if err := together.wait(up); err != nil {
		return err
	}
	if err := a.worker.Go(ctx); err != nil {
		return fmt.Errorf("start the load on %s: %w", a.host.Name, err)
	}
	within := 2*task.Load.Duration + aloneGrace
	ctx, done := context.WithTimeoutCause(ctx, within, fmt.Errorf("no result within %v: is its server or disk gone?", within))
	defer done()
	if a.res, err = a.worker.Wait(ctx); err != nil {
		return fmt.Errorf("load %s: %w", a.host.Name, err)
	}
	return nil
}

// end stops a run, even after ctx has ended, and fetches its samples.
func (a *aloneRun) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	var errs []error
	if a.stop != nil {
		samples, err := a.stop()
		if err != nil {
			errs = append(errs, fmt.Errorf("sample %s: %w", a.host.Name, err))
		}
		for _, s := range samples {
			s.At = s.HostAt.Sub(samples[0].HostAt)
			a.samples = append(a.samples, s)
		}
		a.stop = nil
	}
	if a.worker != nil {
		if err := a.worker.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop the load on %s: %w", a.host.Name, err))
		}
		a.worker = nil
	}
	return errors.Join(errs...)
}

// value returns the outcome of one host and records its latencies. Of several hosts the worst
// latencies are kept, since percentiles of different hosts cannot be combined.
func (a *aloneRun) value(run *model.StudyRun) float64 {
	b := a.res.Block
	v := 0.0
	if f := a.res.Frames; f != nil {
		v = a.frames(run, f)
	} else if b == nil {
		if a.res.Window > 0 {
			v = float64(a.res.Bytes) * 8 / a.res.Window.Seconds()
		}
	} else {
		run.Unit, v = perSecond, b.Summary.IOPS
		if l := b.Summary.Latency; l != nil {
			run.P50, run.P99, run.Max = max(run.P50, time.Duration(l.P50)), max(run.P99, time.Duration(l.P99)), max(run.Max, time.Duration(l.Max))
		}
		for i, s := range b.Seconds {
			if i == len(run.PerSecond) {
				run.PerSecond = append(run.PerSecond, 0)
			}
			run.PerSecond[i] += float64(s.Reads + s.Writes)
		}
		a.cached(run, b.Summary.FromCache)
		if b.Summary.Failed > 0 {
			run.Warnings = append(run.Warnings, model.Warning{ID: "requests-failed", What: fmt.Sprintf("%d requests failed on %s", b.Summary.Failed, a.host.Name),
				Evidence: fmt.Sprint(b.Summary.Failures), Next: "look at the disk and its kernel log"})
		}
	}
	if run.PerClient != nil {
		run.PerClient[a.host.Name] = v
	}
	return v
}

// cached warns that the data of a run came from its own host's page cache. The run counts
// nevertheless: the cache may be what the study compares.
func (a *aloneRun) cached(run *model.StudyRun, share *float64) {
	if share == nil || *share <= cachedShare {
		return
	}
	run.Warnings = append(run.Warnings, model.Warning{ID: drive.FromCache, What: fmt.Sprintf("at least %.0f%% of what %s read came from its own page cache", 100**share, a.host.Name),
		Next: "direct: true reads past it"})
}

// frames records the frame times of one host; of several hosts it keeps the slowest of each
// frame. Its outcome is the rate at which the frames of a stream were moved, not the rate at
// which they are due.
func (a *aloneRun) frames(run *model.StudyRun, f *load.FramesResult) float64 {
	if l := f.Latency; l != nil {
		run.P50, run.P99, run.Max = max(run.P50, time.Duration(l.P50)), max(run.P99, time.Duration(l.P99)), max(run.Max, time.Duration(l.Max))
	}
	a.cached(run, f.FromCache)
	if f.IntoCache {
		run.Warnings = append(run.Warnings, model.Warning{ID: drive.IntoCache, What: fmt.Sprintf("frames were recorded through the page cache of %s: their rate is its memory's; the storage had all of them %v after the last", a.host.Name, f.Flush.Round(time.Millisecond)),
			Next: "direct: true writes past it, where the file system knows direct I/O"})
	}
	run.FramesEach = f.Each
	for i, rate := range f.PerFrame {
		if i == len(run.PerFrame) {
			run.PerFrame = append(run.PerFrame, rate)
		}
		run.PerFrame[i] = min(run.PerFrame[i], rate)
	}
	if f.Dropped+f.Failed > 0 {
		run.Warnings = append(run.Warnings, model.Warning{ID: "frames-dropped", What: fmt.Sprintf("%d of %d frames were not in time on %s, %d of them failed", f.Dropped+f.Failed, f.Frames+f.Dropped+f.Failed, a.host.Name, f.Failed),
			Evidence: strings.Join(f.Evidence, "; "), Next: "linerate load frames finds how many streams it sustains"})
	}
	return f.Mean
}

// Rehearse lets a host prepare a workload that only reads files or devices, or records frames,
// and stops it before anything is read or recorded, so that a workload which the host cannot
// run is found before a study begins. A *load.RefusedError says why it cannot; workloads over
// TCP, and those that write before they begin or over existing data, are not rehearsed.
func Rehearse(ctx context.Context, host interface {
	StartWorker(ctx context.Context, t worker.Task) (measure.Worker, error)
}, w model.StudyWorkload) error {
	if w.Kind == file.TCP || w.Kind == file.Copy || w.Destroy != "" || w.Play {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, aloneGrace, fmt.Errorf("not ready within %v: is its server or disk gone?", aloneGrace))
	defer cancel()
	task, err := taskOf(w, 1)
	if err != nil {
		return err
	}
	started, err := host.StartWorker(ctx, task)
	if err != nil {
		return fmt.Errorf("start workload %s: %w", w.Name, err)
	}
	_, err = started.Connected(ctx)
	return errors.Join(err, started.Stop(context.WithoutCancel(ctx)))
}
