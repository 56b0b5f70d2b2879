package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/load"
	"linerate/internal/failure"
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
and counts the frames that were late. Frame k is due at k divided by the frame rate,
however late earlier frames were; between camera or player and the storage are
--buffer frames.

It works in a directory of its own below DIR, needs space for all frames of a run
there, and removes them at the end. No two frames are alike. It bypasses the page
cache if the file system allows that.`,
		Example: `  linerate load frames --list
  linerate load frames /mnt/nas --format uhd-yuv10 --fps 25 --seconds 20
  linerate load frames /mnt/nas --format all --fps 25 --for 3s      which formats it is fit for
  linerate load frames /mnt/nas --format 2k-full-dpx10 --fps 24 --file-per-frame --play
  linerate load frames /mnt/nas --format hd-yuv10 --fps 50 --streams 1..16 --line-rate 10Gbit`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runFrames(cmd.Context(), env, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "hd-yuv10", "resolution and pixels (--list); several as a,b or all: each in turn, and a table of the verdicts")
	flags.StringVar(&f.fps, "fps", "25", "frames per second: a whole number, or 23.976, 29.97, 59.94; several as 24,25,50")
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
	names := []string{"all"}
	for _, x := range load.FrameFormats() {
		names = append(names, x.Name)
	}
	return completeFlags(cmd, map[string][]string{"format": names, "fps": {"23.976", "24", "25", "29.97", "50", "59.94", "60"}}, "streams", "seconds", "buffer")
}

// mostWays bounds the formats and rates of one run.
const mostWays = 1000

// ways are the flags with one format and frame rate each, in the order of the formats.
func (f frameFlags) ways() ([]frameFlags, error) {
	formats, rates := strings.Split(f.format, ","), strings.Split(f.fps, ",")
	if f.format == "all" {
		formats = nil
		for _, x := range load.FrameFormats() {
			formats = append(formats, x.Name)
		}
	}
	var out []frameFlags
	for _, format := range formats {
		for _, rate := range rates {
			f.format, f.fps = strings.TrimSpace(format), strings.TrimSpace(rate)
			out = append(out, f)
		}
	}
	if len(out) > mostWays {
		return nil, failure.Of(failure.Usage, "--format, --fps: %d ways are more than %d", len(out), mostWays)
	}
	return out, nil
}

// options turns the flags into what is wanted.
func (f frameFlags) options(dir string) (o load.FramesOptions, err error) {
	o = load.FramesOptions{Line: f.line, FramesSpec: load.FramesSpec{Dir: dir, Buffer: f.buffer, Play: f.play, PerFrame: f.perFrame, Direct: !f.buffered}}
	if o.Format, err = load.FindFormat(f.format); err != nil {
		return o, failure.Of(failure.Usage, "--format: %w", err)
	}
	if o.Rate, err = load.ParseFrameRate(f.fps); err != nil {
		return o, failure.Of(failure.Usage, "--fps: %w", err)
	}
	from, to, search := strings.Cut(f.streams, "..")
	if o.Streams, err = strconv.Atoi(from); err == nil && search {
		o.Most, err = strconv.Atoi(to)
	} else {
		o.Most = o.Streams
	}
	if err != nil || o.Streams < 1 || o.Most < o.Streams || o.Most > load.MostStreams {
		return o, failure.Of(failure.Usage, "--streams %s: want a number from 1 to %d, or a range as 1..16", f.streams, load.MostStreams)
	}
	o.Frames = int(cmp.Or(f.seconds, 10*time.Second).Seconds()*o.Rate.PerSecond() + 0.5)
	o.On, err = onHosts(f.on, dir)
	return o, err
}

func runFrames(ctx context.Context, env *environment, f frameFlags, args []string) error {
	if f.list {
		return listFormats(env)
	}
	if len(args) != 1 {
		return failure.Of(failure.Usage, "load frames: name a directory; see linerate load frames --help")
	}
	ways, err := f.ways()
	if err != nil {
		return err
	}
	var list []load.FramesOptions
	for _, w := range ways {
		o, err := w.options(args[0])
		if err != nil {
			return err
		}
		list = append(list, o)
	}
	return makeLoad(env, "load frames "+args[0], func(p app.Progress) (*load.Made, error) {
		if len(list) == 1 {
			return load.Frames(ctx, env.Env, list[0], p)
		}
		return load.FramesInTurn(ctx, env.Env, list, p)
	})
}
