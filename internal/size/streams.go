package size

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// StreamsInput describes video streams and what carries them. Frames are files
// or parts of files, uncompressed; a compressed format comes by its rate.
type StreamsInput struct {
	Format string       `json:"format,omitempty"` // a name of Formats; or Width and Height
	Width  int          `json:"width,omitempty"`  // pixels
	Height int          `json:"height,omitempty"`
	Pixel  string       `json:"pixel,omitempty"` // a name of Pixels
	FPS    float64      `json:"fps,omitempty"`
	Stream unit.BitRate `json:"stream_rate_bps,omitempty"` // of a compressed stream, instead of the above
	Rate   unit.BitRate `json:"rate_bps,omitempty"`        // of the link, as a line rate
	MTU    int          `json:"mtu"`
	Pool   ByteRate     `json:"pool_bytes_per_second,omitempty"`
	Spare  float64      `json:"spare"` // share kept free, 0 to 0.95
	Count  int          `json:"count,omitempty"`
}

// named is a frame size in pixels.
type named struct {
	name          string
	width, height int
}

// Sizes of SMPTE and DCI; the full apertures are those of film scans.
func formats() []named {
	return []named{
		{"pal", 720, 576}, {"ntsc", 720, 486}, {"hd720", 1280, 720}, {"hd1080", 1920, 1080},
		{"dci2k", 2048, 1080}, {"film2k", 2048, 1556}, {"uhd", 3840, 2160}, {"dci4k", 4096, 2160}, {"film4k", 4096, 3112},
		{"uhd8k", 7680, 4320},
	}
}

// pixel is a way to store one: bytes of a line of w pixels.
type pixel struct {
	name string
	line func(w int) int
	text string
}

func pixels() []pixel {
	times := func(n int) func(int) int { return func(w int) int { return n * w } }
	return []pixel{
		{"yuv422-8", times(2), "2 B per pixel"},
		// v210: six pixels in 16 bytes, lines filled up to 48 pixels (Apple,
		// "Uncompressed Y´CbCr video in QuickTime files").
		{"yuv422-10", func(w int) int { return (w + 47) / 48 * 128 }, "16 B per 6 pixels, lines of a multiple of 48 pixels (v210)"},
		{"rgb-8", times(3), "3 B per pixel"},
		// DPX method A: three components of 10 bits in 32 (SMPTE ST 268).
		{"rgb-10", times(4), "4 B per pixel (DPX)"},
		{"rgb-16", times(6), "6 B per pixel"},
		{"rgba-16", times(8), "8 B per pixel"},
	}
}

// Formats and Pixels list the names that StreamsInput takes.
func Formats() []string {
	var out []string
	for _, f := range formats() {
		out = append(out, f.name)
	}
	return out
}

// Pixels: see Formats.
func Pixels() []string {
	var out []string
	for _, p := range pixels() {
		out = append(out, p.name)
	}
	return out
}

func (in *StreamsInput) resolve() (pixel, error) {
	if in.Format != "" {
		found := false
		for _, f := range formats() {
			if f.name == in.Format {
				in.Width, in.Height, found = f.width, f.height, true
			}
		}
		if !found {
			return pixel{}, fmt.Errorf("size streams: unknown format %q; choose one of %s, or give width and height", in.Format, strings.Join(Formats(), ", "))
		}
	}
	for _, p := range pixels() {
		if p.name == in.Pixel {
			return p, nil
		}
	}
	return pixel{}, fmt.Errorf("size streams: unknown pixel %q; choose one of %s", in.Pixel, strings.Join(Pixels(), ", "))
}

func (in StreamsInput) check() error {
	raw := in.Stream == 0
	return first("streams",
		optional(!raw, checkRate("stream rate", in.Stream)),
		optional(raw, checkCount("width", in.Width, 16, 32768)),
		optional(raw, checkCount("height", in.Height, 16, 32768)),
		optional(raw, checkNumber("frames per second", in.FPS, 1, 1000)),
		optional(in.Rate != 0, checkRate("rate", in.Rate)),
		optional(in.Pool != 0, checkByteRate("pool", in.Pool, 1e5, 1e15)),
		checkNumber("spare", in.Spare, 0, 0.95),
		optional(in.Count != 0, checkCount("streams", in.Count, 1, 1e6)))
}

// stream adds the rate of one stream, in bit/s.
func (in *StreamsInput) stream(a *Answer, p pixel) float64 {
	if in.Stream > 0 {
		a.add("one stream", float64(in.Stream), BitsPerSecond, "given")
		return float64(in.Stream)
	}
	frame := float64(p.line(in.Width)) * float64(in.Height)
	a.add("one frame", frame, Bytes, "%d × %d pixels at %s", in.Width, in.Height, p.text)
	rate := frame * 8 * in.FPS
	a.add("one stream", rate, BitsPerSecond, "%.0f B × 8 × %g /s", frame, in.FPS)
	a.add("one stream in bytes", rate/8, BytesPerSecond, "%.0f B × %g /s", frame, in.FPS)
	return rate
}

func (in *StreamsInput) prepare() (*Answer, float64, frame, error) {
	var p pixel
	if in.Stream == 0 {
		var err error
		if p, err = in.resolve(); err != nil {
			return nil, 0, frame{}, err
		}
	} else {
		in.Format, in.Pixel, in.FPS, in.Width, in.Height = "", "", 0, 0, 0
	}
	if err := in.check(); err != nil {
		return nil, 0, frame{}, err
	}
	f, err := LinkInput{MTU: in.MTU, Protocol: "tcp", Timestamps: true}.frame()
	if err != nil {
		return nil, 0, frame{}, first("streams", err)
	}
	a := newAnswer("streams", in)
	return a, in.stream(a, p), f, nil
}

// Streams computes how many streams a link, a pool or both carry.
func Streams(in StreamsInput) (Answer, error) {
	if err := first("streams", onlyReverse("the number of streams", in.Count != 0)); err != nil {
		return Answer{}, err
	}
	a, one, f, err := in.prepare()
	if err != nil {
		return Answer{}, err
	}
	most := math.Inf(1)
	var each []string
	if in.Rate > 0 {
		good := float64(in.Rate) * f.share() * (1 - in.Spare)
		n := whole(good / one)
		a.add("streams on the link", n, Count, "⌊%s × %s × %.4g / %s⌋", in.Rate, f.formula(), 1-in.Spare, unit.BitRate(one))
		most, each = min(most, n), append(each, strconv.FormatFloat(n, 'f', 0, 64))
	}
	if in.Pool > 0 {
		n := whole(float64(in.Pool) * (1 - in.Spare) * 8 / one)
		a.add("streams on the pool", n, Count, "⌊%s × %.4g × 8 / %s⌋", in.Pool, 1-in.Spare, unit.BitRate(one))
		most, each = min(most, n), append(each, strconv.FormatFloat(n, 'f', 0, 64))
	}
	if !math.IsInf(most, 1) {
		a.add("streams", most, Count, "min(%s)", strings.Join(each, ", "))
	}
	streamNotes(a, in)
	return *a, nil
}

// StreamsFor computes the line rate and pool that in.Count streams need.
func StreamsFor(in StreamsInput) (Answer, error) {
	if in.Count == 0 {
		return Answer{}, errors.New("size streams: in reverse, give the number of streams wanted")
	}
	a, one, f, err := in.prepare()
	if err != nil {
		return Answer{}, err
	}
	a.Reverse = true
	if in.Pool != 0 {
		return Answer{}, errors.New("size streams: in reverse the pool is an answer; leave it away")
	}
	all := float64(in.Count) * one / (1 - in.Spare)
	a.add("payload needed", all, BitsPerSecond, "%d × %s / %.4g", in.Count, unit.BitRate(one), 1-in.Spare)
	line := all / f.share()
	a.add("line rate needed", line, BitsPerSecond, "%s / (%s)", unit.BitRate(all), f.formula())
	if in.Rate > 0 {
		a.add("links needed", atLeast(line/float64(in.Rate)), Count, "⌈%s / %s⌉", unit.BitRate(line), in.Rate)
	}
	a.add("pool needed", all/8, BytesPerSecond, "%s / 8", unit.BitRate(all))
	streamNotes(a, in)
	return *a, nil
}

func streamNotes(a *Answer, in StreamsInput) {
	a.note("Payload of TCP with timestamps over MTU %d; the file protocol takes less than 1%% more with large reads. Playback needs room for the worst moment, not for the mean: keep some share spare (--spare).", in.MTU)
	if in.Pool > 0 {
		a.note("Several streams from one pool of disks are random I/O of large blocks: take the pool's rate from a test with as many readers, not from one.")
	}
	if in.Stream == 0 {
		a.note("Image alone: no headers, sound or alignment of the file format.")
	}
}
