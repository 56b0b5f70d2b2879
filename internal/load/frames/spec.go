package frames

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/unit"
)

// Spec is one recording, or one playing.
type Spec struct {
	Dir     string // an existing directory; the run makes one of its own in it
	Format  Format
	Rate    Rate
	Streams int
	Frames  int // of each stream
	Buffer  int // frames between camera and storage, or storage and player
	Play    bool
	// PerFrame has each frame in a file of its own, made or opened and closed
	// within the frame's time.
	PerFrame bool
	Direct   bool // past the page cache
	Run      uint64
	// Stuck is how long a frame may take before the run is given up; 0: a minute.
	Stuck time.Duration
	// Begin is called once all is prepared, and returns when the streams are to
	// begin: at a barrier that several hosts pass. nil: they begin at once.
	Begin func(context.Context) error `json:"-"`
}

// Bounds of a Spec.
const (
	MaxStreams = 64
	MaxBuffer  = 1000
	maxMemory  = 2 * unit.GiB
)

// align is what O_DIRECT asks of sizes, offsets and memory.
const align = 4096

// Stride is what a frame takes in a file: with direct I/O whole blocks.
func (s Spec) Stride() unit.Bytes {
	if !s.Direct {
		return s.Format.Bytes
	}
	return (s.Format.Bytes + align - 1) / align * align
}

// Needs is the room that the frames of all streams take.
func (s Spec) Needs() unit.Bytes {
	return s.Stride() * unit.Bytes(s.Frames) * unit.Bytes(s.Streams)
}

// Asks is the rate that the streams need, in bits per second: frame bytes times
// frame rate times streams.
func (s Spec) Asks() unit.BitRate {
	return unit.BitRate(float64(s.Format.Bytes) * 8 * s.Rate.PerSecond() * float64(s.Streams))
}

// Check says why the run cannot be made.
func (s Spec) Check() error {
	switch {
	case s.Dir == "":
		return fmt.Errorf("make frames: no directory")
	case s.Format.Bytes < 1 || s.Format.Bytes > unit.GiB:
		return fmt.Errorf("make frames: a frame of %d bytes", s.Format.Bytes)
	case s.Rate.Num < 1 || s.Rate.Den < 1:
		return fmt.Errorf("make frames: %d/%d of them a second", s.Rate.Num, s.Rate.Den)
	case s.Streams < 1 || s.Streams > MaxStreams:
		return fmt.Errorf("make frames: %d streams, want 1 to %d", s.Streams, MaxStreams)
	case s.Frames < 1 || s.Frames > maxFrames-MaxBuffer:
		return fmt.Errorf("make frames: %d of them, want 1 to %d", s.Frames, maxFrames-MaxBuffer)
	case s.Buffer < 1 || s.Buffer > MaxBuffer:
		return fmt.Errorf("make frames: a buffer of %d, want 1 to %d", s.Buffer, MaxBuffer)
	case s.Run == 0:
		return fmt.Errorf("make frames: a run needs a number of its own")
	}
	if n := s.memory() * unit.Bytes(s.Streams); n > maxMemory {
		return fmt.Errorf("make frames: %d streams of frames of %v need %v of memory, want at most %v", s.Streams, s.Format.Bytes, n, maxMemory)
	}
	return nil
}

// slack is the random data besides a frame that frames are drawn from.
const slack = unit.MiB

func (s Spec) memory() unit.Bytes { return (s.Stride()+align-1)/align*align + slack }
