package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// frameFlags is the command line of load frames.
type frameFlags struct {
	format, fps, streams string
	seconds              time.Duration
	buffer               int
	play, perFrame       bool
	buffered, list       bool
	line                 unit.BitRate
	on                   string
}

func loadFramesCommand(env *environment) *cobra.Command {
	var f frameFlags
	cmd := &cobra.Command{
		Use:   "frames DIR",
		Short: "Record or play uncompressed video, and count dropped frames",
		Long: `frames records streams of uncompressed video to a directory, or plays them from it,
and counts the frames that were not there in time. Frame k is due at k divided by the
frame rate, however late the ones before it were; between camera or player and the
storage are --buffer frames.

It works in a directory of its own below DIR, needs room for all frames of a run
there, and removes them at the end. Every frame is new. It goes past the page cache
where the file system allows that.`,
		Example: `  linerate load frames --list
  linerate load frames /mnt/nas --format uhd-yuv10 --fps 25 --seconds 20
  linerate load frames /mnt/nas --format 2k-full-dpx10 --fps 24 --file-per-frame --play
  linerate load frames /mnt/nas --format hd-yuv10 --fps 50 --streams 1..16 --line-rate 10Gbit`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runFrames(cmd.Context(), env, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "hd-yuv10", "resolution and pixels (--list)")
	flags.StringVar(&f.fps, "fps", "25", "frames per second: a whole number, or 23.976, 29.97, 59.94")
	flags.StringVar(&f.streams, "streams", "1", "streams at once; 1..16 finds the most that no frame is dropped of")
	timeFlag(cmd, &f.seconds, "for", "how long each stream is; default 10s (--seconds N is the same in seconds)")
	flags.Var(secondsFlag{&f.seconds}, "seconds", "how long each stream is, in seconds")
	flags.IntVar(&f.buffer, "buffer", 4, "frames between camera or player and the storage")
	flags.BoolVar(&f.play, "play", false, "record without deadlines first, then play; default: record")
	flags.BoolVar(&f.perFrame, "file-per-frame", false, "each frame in a file of its own")
	flags.BoolVar(&f.buffered, "buffered", false, "through the page cache")
	flags.BoolVar(&f.list, "list", false, "list the formats, and do nothing else")
	rateFlag(cmd, &f.line, "line-rate", "what the link carries: streams that need more are impossible, and not tried")
	onFlag(cmd, &f.on, "DIR is a path on each of them, and --streams are of each")
	var names []string
	for _, x := range frames.Formats() {
		names = append(names, x.Name)
	}
	return completeFlags(cmd, map[string][]string{"format": names, "fps": {"23.976", "24", "25", "29.97", "50", "59.94", "60"}}, "streams", "seconds", "buffer")
}

// spec turns the flags into a run of the least number of streams, and says how
// many are the most.
func (f frameFlags) spec(dir string) (s frames.Spec, most int, err error) {
	s = frames.Spec{Dir: dir, Buffer: f.buffer, Play: f.play, PerFrame: f.perFrame, Direct: !f.buffered}
	if s.Format, err = frames.Find(f.format); err != nil {
		return s, 0, failure.Of(failure.Usage, "--format: %w", err)
	}
	if s.Rate, err = frames.ParseRate(f.fps); err != nil {
		return s, 0, failure.Of(failure.Usage, "--fps: %w", err)
	}
	from, to, search := strings.Cut(f.streams, "..")
	if s.Streams, err = strconv.Atoi(from); err == nil && search {
		most, err = strconv.Atoi(to)
	} else {
		most = s.Streams
	}
	if err != nil || s.Streams < 1 || most < s.Streams || most > frames.MaxStreams {
		return s, 0, failure.Of(failure.Usage, "--streams %s: want a number from 1 to %d, or a range as 1..16", f.streams, frames.MaxStreams)
	}
	if f.seconds == 0 {
		f.seconds = 10 * time.Second
	}
	s.Frames = int(f.seconds.Seconds()*s.Rate.PerSecond() + 0.5)
	if s.Run, err = block.RunNumber(); err != nil {
		return s, 0, err
	}
	if err := s.Check(); err != nil {
		return s, 0, failure.Of(failure.Usage, "%w; see linerate load frames --help", err)
	}
	return s, most, nil
}

func runFrames(ctx context.Context, env *environment, f frameFlags, args []string) error {
	if f.list {
		return listFormats(env)
	}
	if len(args) != 1 {
		return failure.Of(failure.Usage, "load frames: name a directory; see linerate load frames --help")
	}
	s, most, err := f.spec(args[0])
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	c := &framesRun{env: env, p: p, line: f.line}
	if f.on != "" {
		end, err := c.on(ctx, f.on)
		defer end()
		if err != nil {
			return err
		}
	}
	if most > s.Streams {
		err = c.search(ctx, s, most)
	} else {
		_, err = c.once(ctx, s)
	}
	if c.shown == nil {
		return framesRefusal(ctx, err, args[0])
	}
	out := c.result(args[0])
	out.Load.Interrupted = err != nil && ctx.Err() != nil
	if perr := c.conclude(ctx, out, args[0]); perr != nil {
		return perr
	}
	return framesRefusal(ctx, err, args[0])
}

// framesRefusal adds what to do.
func framesRefusal(ctx context.Context, err error, dir string) error {
	var stuck *frames.StuckError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.As(err, &stuck):
		return failure.Of(failure.Interrupted, "interrupted; %v", stuck)
	case ctx.Err() != nil:
		return failure.Of(failure.Interrupted, "interrupted; what was recorded below %s was removed", dir)
	case errors.Is(err, frames.ErrNoRoom):
		return failure.Of(failure.Usage, "%w; choose fewer --seconds or --streams", err)
	}
	return err
}

// framesRun makes runs and keeps the one that is shown.
type framesRun struct {
	env  *environment
	p    *progress
	line unit.BitRate
	// shown is what was asked for, or the largest number of streams that was
	// sustained, or where none was the smallest that was not.
	shown     *frames.Summary
	spec      frames.Spec
	took      frames.Result
	notDirect bool
	tries     []framesTry
	hosts     *hostLoads // nil: this one
	start     *measure.Start
}

// framesTry is one number of streams that was tried.
type framesTry struct {
	Streams int            `json:"streams"`
	Dropped int64          `json:"dropped"`
	Verdict frames.Verdict `json:"verdict"`
}

// once makes one run, through the page cache where it cannot be passed by. What
// the line cannot carry is not tried.
func (c *framesRun) once(ctx context.Context, s frames.Spec) (frames.Verdict, error) {
	var r frames.Result
	var err error
	all := s
	if c.hosts != nil {
		all.Streams *= len(c.hosts.agents)
	}
	if c.line != 0 && all.Asks() > c.line {
		s = all
	} else {
		s.Direct = s.Direct && !c.notDirect
		r, s, err = c.run(ctx, s)
		if err != nil && (ctx.Err() == nil || len(r.Streams) == 0) {
			return "", err
		}
	}
	sum := frames.Summarise(s, r, c.line)
	if c.shown == nil || sum.Verdict == frames.Sustained || c.shown.Verdict != frames.Sustained && s.Streams < c.spec.Streams {
		c.shown, c.spec, c.took = &sum, s, r
	}
	c.tries = append(c.tries, framesTry{s.Streams, sum.Dropped + sum.Failed, sum.Verdict})
	return sum.Verdict, err
}

// run makes a run here, or on all hosts at once: then the Spec that comes back has
// the streams of all of them.
func (c *framesRun) run(ctx context.Context, s frames.Spec) (frames.Result, frames.Spec, error) {
	if c.hosts != nil {
		return c.runOn(ctx, s)
	}
	say := func(text string) { c.p.Say("%s", text) }
	r, err := frames.Run(ctx, s, say)
	if errors.Is(err, frames.ErrNoDirect) {
		c.notDirect, s.Direct = true, false
		r, err = frames.Run(ctx, s, say)
	}
	return r, s, err
}

func (c *framesRun) search(ctx context.Context, s frames.Spec, most int) error {
	_, err := frames.Most(s.Streams, most, func(n int) (bool, error) {
		try := s
		try.Streams = n
		if err := try.Check(); err != nil {
			return false, failure.Of(failure.Usage, "%w: choose a smaller range of --streams", err)
		}
		v, err := c.once(ctx, try)
		return v == frames.Sustained, err
	})
	return err
}

// framesResult is what load frames --json prints.
type framesResult struct {
	Load      framesLoad      `json:"load"`
	Frames    framesFigures   `json:"frames"`
	PerSecond []frames.Second `json:"per_second"`
	Hosts     []loadHost      `json:"hosts"`
	// Together is of several hosts that began at one instant.
	Together *togetherFigures `json:"together,omitempty"`
	Report   string           `json:"report,omitempty"`
}

type framesLoad struct {
	Workload         string            `json:"workload"`
	Interrupted      bool              `json:"interrupted,omitempty"`
	BytesPerS        float64           `json:"bytes_per_s"`
	Latency          *frames.Quantiles `json:"latency_ns"`
	Service          *frames.Quantiles `json:"service_ns"`
	CPUPerGB         *float64          `json:"cpu_s_per_gb"`
	GeneratorLimited bool              `json:"generator_limited"`
	FromCache        *float64          `json:"from_cache"`
	Evidence         []string          `json:"evidence"`
}

type framesFigures struct {
	Target     string         `json:"target"`
	Mode       string         `json:"mode"` // record or play
	Format     frames.Format  `json:"format_details"`
	Name       string         `json:"format"`
	FrameBytes int64          `json:"frame_bytes"`
	FPS        float64        `json:"fps_asked"`
	Buffer     int            `json:"buffer_frames"`
	PerFrame   bool           `json:"file_per_frame"`
	Direct     bool           `json:"direct"`
	Streams    int            `json:"streams"`
	OnTime     int64          `json:"on_time"`
	Dropped    int64          `json:"dropped"`
	Failed     int64          `json:"failed"`
	Flush      time.Duration  `json:"flush_ns"`
	Sustained  int            `json:"streams_sustained"`
	Asks       float64        `json:"needs_bps"`
	Verdict    frames.Verdict `json:"verdict"`
	Tries      []framesTry    `json:"tries"`
}

func (c *framesRun) result(dir string) framesResult {
	s, sum, r := c.spec, *c.shown, c.took
	mode := "record"
	if s.Play {
		mode = "play"
	}
	out := framesResult{PerSecond: sum.PerSecond, Hosts: []loadHost{{Name: "local"}},
		Load: framesLoad{Workload: "frames", BytesPerS: sum.BytesPer, Latency: sum.Latency, Service: sum.Service,
			GeneratorLimited: sum.GeneratorLimited, FromCache: sum.FromCache, Evidence: sum.Evidence},
		Frames: framesFigures{Target: dir, Mode: mode, Format: s.Format, Name: s.Format.Name, FrameBytes: int64(s.Format.Bytes), FPS: s.Rate.PerSecond(),
			Buffer: s.Buffer, PerFrame: s.PerFrame, Direct: s.Direct, Streams: s.Streams, OnTime: sum.Frames, Dropped: sum.Dropped, Failed: sum.Failed,
			Flush: r.Flush, Asks: float64(s.Asks()), Verdict: sum.Verdict, Tries: c.tries}}
	if moved := float64(sum.Frames) * float64(s.Format.Bytes); moved > 0 && r.CPU > 0 {
		v := r.CPU.Seconds() / moved * 1e9
		out.Load.CPUPerGB = &v
	}
	if c.start != nil {
		out.Hosts, out.Together = nil, &togetherFigures{Spread: c.start.Spread, Error: c.start.Error}
		for _, n := range c.hosts.names {
			out.Hosts = append(out.Hosts, loadHost{Name: n})
		}
	}
	if sum.Verdict == frames.Sustained {
		out.Frames.Sustained = s.Streams
	}
	if c.notDirect {
		out.Load.Evidence = append(out.Load.Evidence, "the file system knows no direct I/O: frames went through the page cache")
	}
	return out
}

func listFormats(env *environment) error {
	all := frames.Formats()
	if env.json {
		return printJSON(env, all)
	}
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FORMAT\tSIZE\tBYTES A FRAME\tAT 25 FPS\tPIXELS")
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%d×%d\t%d\t%v\t%s\n", f.Name, f.Width, f.Height, int64(f.Bytes), unit.BitRate(float64(f.Bytes)*8*25), f.Pixels)
	}
	return w.Flush()
}

// conclude keeps and prints what was found.
func (c *framesRun) conclude(ctx context.Context, r framesResult, dir string) error {
	text, err := framesText(r)
	if err != nil {
		return err
	}
	course := model.LoadSeries{Name: "frames in time", Unit: "frames", Each: 1, Values: []float64{}}
	for _, s := range r.PerSecond {
		course.Values = append(course.Values, float64(s.Frames))
	}
	rec := loadRecord{kind: "frames", command: "load frames " + dir, text: text, value: &r, series: []model.LoadSeries{course},
		line: fmt.Sprintf("%s %s of %s at %.5g fps: %s", r.Frames.Mode, plural(r.Frames.Streams, "stream"), r.Frames.Name, r.Frames.FPS, r.Frames.Verdict)}
	for _, h := range r.Hosts {
		rec.hosts = append(rec.hosts, h.Name)
	}
	if c.hosts != nil {
		rec.agents = c.hosts.agents
	}
	return concludeLoad(ctx, c.env, c.p, rec)
}

func framesText(r framesResult) (string, error) {
	f, l := r.Frames, r.Load
	var b strings.Builder
	how := "past the page cache"
	if !f.Direct {
		how = "through the page cache"
	}
	fmt.Fprintf(&b, "%s %s of %s at %.5g frames per second (%d bytes each, %s), a buffer of %s\n", f.Mode, plural(f.Streams, "stream"), f.Name, f.FPS, f.FrameBytes, how, plural(f.Buffer, "frame"))
	if l.Interrupted {
		fmt.Fprintln(&b, "Interrupted: these figures are of what was measured until then")
	}
	fmt.Fprintf(&b, "\n%s: %d frames in time, %d dropped, %d failed\n", verdictText(f), f.OnTime, f.Dropped, f.Failed)
	if len(f.Tries) > 1 {
		var tries []string
		for _, t := range f.Tries {
			tries = append(tries, fmt.Sprintf("%d: %s", t.Streams, t.Verdict))
		}
		fmt.Fprintf(&b, "tried: %s\n", strings.Join(tries, ", "))
	}
	if l.Latency != nil {
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "\n\tp50\tp99\tmax\tframes")
		for _, q := range []struct {
			name string
			*frames.Quantiles
		}{{"from when it was due", l.Latency}, {"to move it", l.Service}} {
			fmt.Fprintf(w, "%s\t%v\t%v\t%v\t%d\n", q.name, short(q.P50), short(q.P99), short(q.Max), q.N)
		}
		if err := w.Flush(); err != nil {
			return "", err
		}
	}
	fmt.Fprintln(&b)
	for _, e := range l.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String(), nil
}

func verdictText(f framesFigures) string {
	return map[frames.Verdict]string{
		frames.Sustained:  fmt.Sprintf("SUSTAINED, %s", plural(f.Streams, "stream")),
		frames.Drops:      "DROPS FRAMES",
		frames.Behind:     "NOT SUSTAINED: the page cache took what the storage did not",
		frames.Impossible: "IMPOSSIBLE on this line, and not tried",
	}[f.Verdict]
}
