package lab

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"linerate/internal/kernel"
)

// port is one end of the emulated wire; kernel.PacketPort is the real one.
type port interface {
	Next() (frame []byte, arrived time.Time)
	Release()
	Wait(timeout time.Duration, frames bool) error
	Send(frame []byte) (ok bool, err error)
}

// direction carries frames from one port to another.
type direction struct {
	in, out port
	shaper  *shaper
	wanted  atomic.Pointer[Shape] // set by others, taken over by run
	stop    atomic.Bool
	clock   func() time.Duration // monotonic
	last    time.Duration        // when the newest frame arrived
}

func newDirection(in, out port, s Shape, seed uint64, clock func() time.Duration) *direction {
	return &direction{in: in, out: out, shaper: newShaper(s, seed), clock: clock}
}

// Bounds of one turn: how long run may sleep without looking at stop, and how
// many frames it sends before it empties the ring again.
const (
	longestWait  = 50 * time.Millisecond
	sendsPerTurn = 16
	// soon: a frame that leaves within this time is waited for without
	// waking for arrivals. On a busy link an arrival only joins the queue, so
	// its exact time does not matter, and half of the wakeups are saved.
	soon = 250 * time.Microsecond
)

// run forwards until stop is set or a port fails.
func (d *direction) run() error {
	for !d.stop.Load() {
		if s := d.wanted.Swap(nil); s != nil {
			d.shaper.reshape(d.clock(), *s)
		}
		d.takeIn()
		wait, err := d.sendDue()
		if err != nil {
			return err
		}
		if wait <= 0 {
			continue
		}
		if err := d.in.Wait(wait, wait > soon); err != nil {
			return err
		}
	}
	return nil
}

// takeIn admits what has arrived, each frame at the time it came and not at
// the time this thread got round to it: a machine that stops the thread for a
// while must not turn what came meanwhile into one burst that overflows the
// queue.
func (d *direction) takeIn() {
	behind := time.Now().UnixNano() - int64(d.clock())
	for f, at := d.in.Next(); f != nil; f, at = d.in.Next() {
		// Never before an earlier frame and never in the future, also when
		// the wall clock is set meanwhile.
		d.last = max(d.last, min(time.Duration(at.UnixNano()-behind), d.clock()))
		d.shaper.admit(d.last, f)
		d.in.Release()
	}
}

// sendDue sends what is due and returns the time until the next one.
func (d *direction) sendDue() (time.Duration, error) {
	for range sendsPerTurn {
		p, ok := d.shaper.next()
		if !ok {
			return longestWait, nil
		}
		now := d.clock()
		if p.due > now {
			return min(p.due-now, longestWait), nil
		}
		if late := int64(now - p.due); late > d.shaper.count.latest.Load() {
			d.shaper.count.latest.Store(late)
		}
		sent, err := d.out.Send(p.frame)
		if err != nil {
			return 0, err
		}
		if !sent {
			d.shaper.count.overrun.Add(1)
		}
		d.shaper.pop()
	}
	return 0, nil
}

// onOwnThread runs a direction on a thread of its own, on the given CPUs and
// before ordinary tasks where that is permitted. notes says what was not.
func (d *direction) onOwnThread(cpus []int, notes chan<- error) error {
	runtime.LockOSThread() // never unlocked: the thread ends with its settings
	var raised error
	if err := kernel.RunFirst(); err != nil {
		raised = fmt.Errorf("priority of the emulated link over other work on this machine: %w", err)
	}
	notes <- errors.Join(raised, kernel.PreciseTimers(), kernel.SetAffinity(cpus))
	return d.run()
}
