package frames

import (
	"context"
	"time"
)

// clock is time since the start of a run, and waiting for a time of it.
type clock interface {
	now() time.Duration
	// until returns at a time, or at once when that is past or the run stopped.
	until(ctx context.Context, t time.Duration)
}

// mover records or plays one frame.
type mover interface{ move(frame int) error }

// Frame is how one went.
type Frame struct {
	Due  time.Duration // handed over by the camera; read from by the player
	Took time.Duration // from Due until it was moved; 0: dropped before it began
	// Service is the part of that in which it was moved.
	Service time.Duration
	Dropped bool
	Failed  bool
}

// schedule is what a stream has to keep.
type schedule struct {
	rate   Rate
	frames int
	buffer int // frames
}

// record is a camera: frame k comes at k/rate and needs one of the buffer's
// places, which the frames that are not yet written hold. Without one it is
// lost. What comes is written in order.
func (s schedule) record(ctx context.Context, c clock, m mover) ([]Frame, error) {
	frames := make([]Frame, 0, s.frames)
	var waiting []int
	var firstErr error
	// come takes in what has arrived before t, while so many were being written.
	come := func(t time.Duration, writing int) {
		for k := len(frames); k < s.frames && s.rate.At(k) <= t; k++ {
			f := Frame{Due: s.rate.At(k)}
			if f.Dropped = len(waiting)+writing >= s.buffer; !f.Dropped {
				waiting = append(waiting, k)
			}
			frames = append(frames, f)
		}
	}
	for ctx.Err() == nil {
		come(c.now(), 0)
		if len(waiting) == 0 {
			if len(frames) == s.frames {
				break
			}
			c.until(ctx, s.rate.At(len(frames)))
			continue
		}
		k, began := waiting[0], c.now()
		waiting = waiting[1:]
		err := m.move(k)
		ended := c.now()
		come(ended, 1)
		frames[k].Took, frames[k].Service = ended-frames[k].Due, ended-began
		if err != nil {
			frames[k].Failed = true
			if firstErr == nil {
				firstErr = err
			}
		}
	}
	return frames, firstErr
}

// play is a player: frame k may be read from k/rate on, when the frame before the
// buffer has been shown, and has to be there a buffer later. One that comes too
// late is not shown. One that cannot come in time any more, going by the fastest
// so far, is not read: a player that read it all the same would be late for ever.
func (s schedule) play(ctx context.Context, c clock, m mover) ([]Frame, error) {
	frames := make([]Frame, 0, s.frames)
	var firstErr error
	fastest := time.Duration(-1)
	for k := 0; k < s.frames && ctx.Err() == nil; k++ {
		f := Frame{Due: s.rate.At(k)}
		deadline := s.rate.At(k + s.buffer)
		c.until(ctx, f.Due)
		began := c.now()
		if began+max(fastest, 0) > deadline {
			f.Dropped = true
			frames = append(frames, f)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if err := m.move(k); err != nil {
			f.Failed = true
			if firstErr == nil {
				firstErr = err
			}
		}
		ended := c.now()
		f.Took, f.Service = ended-f.Due, ended-began
		if fastest < 0 || f.Service < fastest {
			fastest = f.Service
		}
		f.Dropped = ended > deadline
		frames = append(frames, f)
	}
	return frames, firstErr
}
