package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	requests "linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/unit"
)

// FramesSpec is what a Frames is told: streams of video recorded to a directory, or
// recorded there first and then played. What it makes there it removes.
type FramesSpec struct {
	Dir      string `json:"dir"`    // absolute
	Format   string `json:"format"` // of frames.Formats
	FPS      string `json:"fps"`
	Streams  int    `json:"streams"`
	Buffer   int    `json:"buffer"` // frames
	Play     bool   `json:"play,omitempty"`
	PerFrame bool   `json:"file_per_frame,omitempty"`
	Buffered bool   `json:"buffered,omitempty"` // through the page cache
}

// Run is a run of so long.
//
// Errors: a format, a rate or numbers that cannot be had.
func (f *FramesSpec) Run(length time.Duration) (s frames.Spec, err error) {
	switch {
	case f == nil:
		return s, errors.New("frames need a directory")
	case !filepath.IsAbs(f.Dir):
		return s, fmt.Errorf("%q is no absolute path", f.Dir)
	}
	s = frames.Spec{Dir: f.Dir, Streams: f.Streams, Buffer: f.Buffer, Play: f.Play, PerFrame: f.PerFrame, Direct: !f.Buffered, Run: 1}
	if s.Format, err = frames.Find(f.Format); err != nil {
		return s, err
	}
	if s.Rate, err = frames.ParseRate(f.FPS); err != nil {
		return s, err
	}
	s.Frames = max(1, int(length.Seconds()*s.Rate.PerSecond()+0.5))
	return s, s.Check()
}

// FramesResult is what a Frames did.
type FramesResult struct {
	Frames  int64 `json:"frames"`  // moved in time
	Dropped int64 `json:"dropped"` // not, or not at all
	Failed  int64 `json:"failed"`
	// Latency from when a frame was due; nil: none was moved.
	Latency *requests.Quantiles `json:"latency_ns"`
	// Rate of a frame is its bytes over the time in which it was moved. Mean is that of
	// all frames together, bits per second of one stream; PerFrame in the order of the
	// stream, of several streams and of each Each frames the slowest, 0: one was dropped
	// or failed.
	Mean     float64   `json:"mean_bps"`
	PerFrame []float64 `json:"per_frame_bps"`
	Each     int       `json:"per_frame_each"`
	// FromCache is the least share of what was played that came from this host's page
	// cache; nil: nothing was played, or it is not known.
	FromCache *float64 `json:"from_cache"`
	// IntoCache: frames were recorded through the page cache, also where direct I/O was
	// asked for and is not to be had. Their rate is the memory's then; Flush is how long
	// the storage needed for the rest of them.
	IntoCache bool          `json:"into_cache,omitempty"`
	Flush     time.Duration `json:"flush_ns,omitempty"`
	Evidence  []string      `json:"evidence"`
}

// maxFramePoints bounds the course of a run: more are not told apart in a chart.
const maxFramePoints = 500

// framesLoad is a Frames at work. The run itself waits at the barrier, in a goroutine
// of its own.
type framesLoad struct {
	spec   FramesSpec
	length time.Duration
	run    frames.Spec
	cancel context.CancelFunc
	begin  chan struct{}
	ended  chan struct{}
	res    frames.Result
	err    error // for after ended
}

func (f *framesLoad) prepare(ctx context.Context) (Alone, error) {
	var err error
	if f.run, err = f.spec.Run(f.length); err != nil {
		return Alone{}, err
	}
	if f.run.Run, err = requests.RunNumber(); err != nil {
		return Alone{}, err
	}
	err = f.start(ctx)
	if errors.Is(err, frames.ErrNoDirect) {
		f.run.Direct = false
		err = f.start(ctx)
	}
	if err != nil {
		return Alone{}, err
	}
	how, does := "through the page cache", "recorded"
	if f.run.Direct {
		how = "past the page cache"
	}
	if f.run.Play {
		does = "played"
	}
	return Alone{File: f.run.Dir, Block: int64(f.run.Format.Bytes),
		Method: fmt.Sprintf("%d × %s %s at %s frames per second, %s", f.run.Streams, f.run.Format.Name, does, f.run.Rate, how)}, nil
}

// start goes as far as the barrier.
func (f *framesLoad) start(ctx context.Context) error {
	ctx, f.cancel = context.WithCancel(ctx)
	f.begin, f.ended = make(chan struct{}), make(chan struct{})
	ready, begin, ended := make(chan struct{}), f.begin, f.ended
	f.run.Begin = func(ctx context.Context) error {
		close(ready)
		select {
		case <-begin:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	go func() {
		defer close(ended)
		f.res, f.err = frames.Run(ctx, f.run, nil)
	}()
	select {
	case <-ready:
		return nil
	case <-ended:
		f.cancel()
		return f.err
	}
}

func (f *framesLoad) move(context.Context, time.Time) (Result, error) {
	close(f.begin)
	<-f.ended
	if f.err != nil {
		return Result{}, f.err
	}
	return Result{Bytes: moved(f.run, f.res), Window: f.res.Took + f.res.Flush, Frames: framesResult(f.run, f.res)}, nil
}

// moved is the bytes of the frames that came through.
func moved(s frames.Spec, r frames.Result) int64 {
	var n unit.Bytes
	for _, stream := range r.Streams {
		for _, f := range stream {
			if f.Service > 0 && !f.Failed {
				n += s.Format.Bytes
			}
		}
	}
	return int64(n)
}

func framesResult(s frames.Spec, r frames.Result) *FramesResult {
	sum := frames.Summarise(s, r, 0)
	out := &FramesResult{Each: 1 + (s.Frames-1)/maxFramePoints, Frames: sum.Frames, Dropped: sum.Dropped, Failed: sum.Failed, Latency: sum.Latency, FromCache: sum.FromCache, IntoCache: !s.Play && !s.Direct, Flush: r.Flush, Evidence: sum.Evidence}
	bits := float64(s.Format.Bytes) * 8
	var took time.Duration
	var n int
	for _, stream := range r.Streams {
		for k, f := range stream {
			rate := 0.0
			if f.Service > 0 && !f.Failed {
				took, n = took+f.Service, n+1
				rate = bits / f.Service.Seconds()
			}
			if k /= out.Each; k == len(out.PerFrame) {
				out.PerFrame = append(out.PerFrame, rate)
			}
			out.PerFrame[k] = min(out.PerFrame[k], rate)
		}
	}
	if took > 0 {
		out.Mean = bits * float64(n) / took.Seconds()
	}
	return out
}

// close ends a run that waits, and removes what it made.
func (f *framesLoad) close() error {
	if f.cancel == nil {
		return nil
	}
	f.cancel()
	<-f.ended
	return nil
}
