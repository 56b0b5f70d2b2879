package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/unit"
)

// FramesOptions describes a load of video.
type FramesOptions struct {
	FramesSpec              // with the least number of streams; its Run is filled in here
	Most       int          // streams; if more than the Spec's, the largest number that is sustained is searched
	Line       unit.BitRate // what the link carries; 0: not stated
	On         []HostName   // hosts that record or play; none: this process does
}

// FramesResult is the result of a load of video.
type FramesResult struct {
	Load      FramesLoad      `json:"load"`
	Frames    FramesFigures   `json:"frames"`
	PerSecond []frames.Second `json:"per_second"`
	Hosts     []Host          `json:"hosts"`
	// Together: several hosts began at one instant.
	Together *Together `json:"together,omitempty"`
	kept
}

// FramesLoad are the figures that every load has.
type FramesLoad struct {
	Workload         string     `json:"workload"`
	Interrupted      bool       `json:"interrupted,omitempty"`
	BytesPerS        float64    `json:"bytes_per_s"`
	Latency          *Quantiles `json:"latency_ns"`
	Service          *Quantiles `json:"service_ns"`
	CPUPerGB         *float64   `json:"cpu_s_per_gb"`
	GeneratorLimited bool       `json:"generator_limited"`
	FromCache        *float64   `json:"from_cache"`
	Evidence         []string   `json:"evidence"`
}

// FramesFigures are those of frames.
type FramesFigures struct {
	Target     string        `json:"target"`
	Mode       string        `json:"mode"` // record or play
	Format     frames.Format `json:"format_details"`
	Name       string        `json:"format"`
	FrameBytes int64         `json:"frame_bytes"`
	FPS        float64       `json:"fps_asked"`
	Buffer     int           `json:"buffer_frames"`
	PerFrame   bool          `json:"file_per_frame"`
	Direct     bool          `json:"direct"`
	Streams    int           `json:"streams"`
	OnTime     int64         `json:"on_time"`
	Dropped    int64         `json:"dropped"`
	Failed     int64         `json:"failed"`
	Flush      time.Duration `json:"flush_ns"`
	Sustained  int           `json:"streams_sustained"`
	Asks       float64       `json:"needs_bps"`
	Verdict    FramesVerdict `json:"verdict"`
	Tries      []FramesTry   `json:"tries"`
}

// FramesTry is one number of streams that was tried.
type FramesTry struct {
	Streams int           `json:"streams"`
	Dropped int64         `json:"dropped"`
	Verdict FramesVerdict `json:"verdict"`
}

// Frames records or plays video. If it ends early, it returns the figures so far with
// the error.
func Frames(ctx context.Context, e app.Env, o FramesOptions, p app.Progress) (*Made, error) {
	c, out, err := video(ctx, e, o, p, here(e, p))
	if out == nil {
		return nil, err
	}
	defer c.close()
	return c.madeOfFrames(ctx, out), err
}

// FramesTable is several formats and frame rates, one after the other.
type FramesTable struct {
	Runs  []FramesResult `json:"runs"`
	Hosts []Host         `json:"hosts"`
	kept
}

// FramesInTurn records or plays video in each of several ways, one after the other. If it
// ends early, it returns the rows that have runs with the error.
func FramesInTurn(ctx context.Context, e app.Env, list []FramesOptions, p app.Progress) (*Made, error) {
	s := here(e, p) // reads the machine's load before the first row: later it would be our own
	all := &FramesTable{Runs: []FramesResult{}}
	var last *framesRun // its hosts are those of all
	defer func() {
		if last != nil {
			last.close()
		}
	}()
	var err error
	for i, o := range list {
		p.Say("%s at %.5g frames per second, %d of %d", o.Format.Name, o.Rate.PerSecond(), i+1, len(list))
		var c *framesRun
		var out *FramesResult
		if c, out, err = video(ctx, e, o, p, &session{env: e, p: p, names: s.names}); out != nil {
			if last != nil {
				last.close()
			}
			last, all.Runs, all.Hosts = c, append(all.Runs, *out), out.Hosts
		}
		if err != nil {
			break
		}
	}
	if len(all.Runs) == 0 {
		return nil, err
	}
	sustained := 0
	for _, r := range all.Runs {
		if r.Frames.Verdict == Sustained {
			sustained++
		}
	}
	line := fmt.Sprintf("%s of %s sustained", unit.Count(sustained, "format"), unit.Count(len(all.Runs), "way"))
	if last.hosts == nil {
		last.busy = s.busy
	}
	return last.made(ctx, "frames", all, line, nil), err
}

// video makes one load of video. If it returns figures, the caller closes the run.
func video(ctx context.Context, e app.Env, o FramesOptions, p app.Progress, s *session) (*framesRun, *FramesResult, error) {
	var err error
	if o.Run, err = block.RunNumber(); err != nil {
		return nil, nil, err
	}
	if err := o.Check(); err != nil {
		return nil, nil, failure.As(failure.Usage, err)
	}
	c := &framesRun{session: s, line: o.Line}
	if len(o.On) > 0 {
		c.hosts, err = reachHosts(ctx, e, p, o.On)
		c.session = &c.hosts.session
		if err != nil {
			c.close()
			return nil, nil, err
		}
	}
	err = c.search(ctx, o.FramesSpec, max(o.Most, o.Streams))
	interrupted := err != nil && ctx.Err() != nil
	var stuck *frames.StuckError
	switch {
	case interrupted && errors.As(err, &stuck):
		err = failure.Of(failure.Interrupted, "interrupted; %v", stuck)
	case interrupted:
		err = failure.Of(failure.Interrupted, "interrupted; what was recorded below %s was removed", o.Dir)
	default:
		err = refused(err)
	}
	if c.shown == nil {
		c.close()
		return nil, nil, err
	}
	out := c.result(o.Dir)
	out.Load.Interrupted = interrupted
	return c, &out, err
}

// framesRun makes runs and keeps the one that is shown.
type framesRun struct {
	*session
	hosts *hosts // nil: this process makes them
	line  unit.BitRate
	// shown is the run with the number of streams that was asked for. In a search it is the run
	// with the most streams that were sustained; if none were, the run with the fewest.
	shown     *frames.Summary
	spec      FramesSpec
	took      frames.Result
	notDirect bool
	tries     []FramesTry
	together  *Together
}

// once makes one run, through the page cache if that cannot be bypassed. It does not
// try more than the line can carry.
func (c *framesRun) once(ctx context.Context, s FramesSpec) (FramesVerdict, error) {
	var r frames.Result
	var err error
	all := s
	all.Streams *= max(len(c.agents), 1)
	if c.line != 0 && all.Asks() > c.line {
		s = all
	} else {
		s.Direct = s.Direct && !c.notDirect
		r, err = c.run(ctx, s)
		if err != nil && (ctx.Err() == nil || len(r.Streams) == 0) {
			return "", err
		}
		s.Direct = s.Direct && !c.notDirect
		s.Streams = all.Streams
	}
	sum := frames.Summarise(s, r, c.line)
	if c.shown == nil || sum.Verdict == Sustained || c.shown.Verdict != Sustained && s.Streams < c.spec.Streams {
		c.shown, c.spec, c.took = &sum, s, r
	}
	c.tries = append(c.tries, FramesTry{s.Streams, sum.Dropped + sum.Failed, sum.Verdict})
	return sum.Verdict, err
}

// run makes a run here, or on every host at once; the streams of all hosts give one result.
func (c *framesRun) run(ctx context.Context, s FramesSpec) (all frames.Result, err error) {
	if c.hosts == nil {
		var notDirect bool
		all, notDirect, err = storage.Frames(ctx, s, func(text string) { c.p.Say("%s", text) })
		c.notDirect = c.notDirect || notDirect
		return all, err
	}
	takes := s.Rate.At(s.Frames)
	h := c.hosts
	if err := h.begin(ctx, worker.Task{Frames: &s, Deadline: 24*time.Hour + takes}); err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, h.end(ctx)) }()
	start, results, err := h.phase(ctx, fmt.Sprintf("%s × %s", unit.Count(s.Streams, "stream"), s.Format.Name), 0, takes)
	if err != nil {
		return all, err
	}
	c.together = &Together{Spread: start.Spread, Error: start.Error}
	for i, r := range results {
		if r.Frames == nil {
			return all, fmt.Errorf("%s sent no frames", h.names[i])
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
	return all, err
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

func (c *framesRun) search(ctx context.Context, s FramesSpec, most int) error {
	_, err := frames.Most(s.Streams, most, func(n int) (bool, error) {
		try := s
		try.Streams = n
		if err := try.Check(); err != nil {
			return false, failure.Of(failure.Usage, "%w: choose a smaller range of streams", err)
		}
		v, err := c.once(ctx, try)
		return v == Sustained, err
	})
	return err
}

func (c *framesRun) result(dir string) FramesResult {
	s, sum, r := c.spec, *c.shown, c.took
	mode := "record"
	if s.Play {
		mode = "play"
	}
	out := FramesResult{PerSecond: sum.PerSecond, Hosts: c.listed(), Together: c.together,
		Load: FramesLoad{Workload: "frames", BytesPerS: sum.BytesPer, Latency: sum.Latency, Service: sum.Service,
			GeneratorLimited: sum.GeneratorLimited, FromCache: sum.FromCache, Evidence: sum.Evidence},
		Frames: FramesFigures{Target: dir, Mode: mode, Format: s.Format, Name: s.Format.Name, FrameBytes: int64(s.Format.Bytes), FPS: s.Rate.PerSecond(),
			Buffer: s.Buffer, PerFrame: s.PerFrame, Direct: s.Direct, Streams: s.Streams, OnTime: sum.Frames, Dropped: sum.Dropped, Failed: sum.Failed,
			Flush: r.Flush, Asks: float64(s.Asks()), Verdict: sum.Verdict, Tries: c.tries}}
	if moved := float64(sum.Frames) * float64(s.Format.Bytes); moved > 0 && r.CPU > 0 {
		v := r.CPU.Seconds() / moved * 1e9
		out.Load.CPUPerGB = &v
	}
	if sum.Verdict == Sustained {
		out.Frames.Sustained = s.Streams
	}
	if c.notDirect {
		out.Load.Evidence = append(out.Load.Evidence, "the file system knows no direct I/O: frames went through the page cache")
	}
	return out
}

func (c *framesRun) madeOfFrames(ctx context.Context, r *FramesResult) *Made {
	f := r.Frames
	line := fmt.Sprintf("%s %s of %s at %.5g fps: %s", f.Mode, unit.Count(f.Streams, "stream"), f.Name, f.FPS, f.Verdict)
	return c.made(ctx, "frames", r, line, r.courses())
}
