package fabric

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
)

// port is where frames come in and go out; kernel.PacketPort is the real one.
type port interface {
	Next() (frame []byte, arrived time.Time)
	Release()
	Send(frame []byte) (ok bool, err error)
}

// line is one direction of a link: a shaper and where it leads.
type line struct {
	*shaper
	to   int   // number of a port, or -1
	into *hub  // the switch it leads to, or nil
	back *line // the other direction
}

// hub is a switch: it learns which line leads to an address from the frames
// that come from there.
type hub struct {
	mtu   atomic.Int64
	out   []*line // away from the switch
	known map[[6]byte]*line
	drops atomic.Int64
}

// engine moves frames from port to port. One thread runs it.
type engine struct {
	ports   []port
	entry   []*line         // of each port: the line that leads away from it
	last    []time.Duration // when the newest frame of each port arrived
	lines   []*line
	buffers *buffers
	clock   func() time.Duration // monotonic
	wall    func() time.Time     // what ports stamp arrivals with
	wait    func(timeout time.Duration, frames bool) error
	stop    atomic.Bool

	mu     sync.Mutex
	orders []order // shapes to be taken over
	any    atomic.Bool
}

type order struct {
	line  *line
	shape topology.Shape
}

// reshape has the engine's thread change a line.
func (e *engine) reshape(l *line, s topology.Shape) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.orders = append(e.orders, order{l, s})
	e.any.Store(true)
}

func (e *engine) takeOrders() {
	if !e.any.Load() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock()
	for _, o := range e.orders {
		o.line.reshape(now, o.shape)
	}
	e.orders = nil
	e.any.Store(false)
}

// Bounds of one turn: how long run may sleep without looking at stop, and how
// many frames it moves before it empties the rings again.
const (
	longestWait  = 50 * time.Millisecond
	movesPerTurn = 16
	// soon: a frame that leaves within this time is waited for without
	// waking for arrivals. Frames are admitted at the time they arrived, so
	// nothing is lost by taking them in a little later, and half of the
	// wakeups are saved.
	soon = 250 * time.Microsecond
)

// run forwards until stop is set or a port fails.
func (e *engine) run() error {
	for !e.stop.Load() {
		e.takeOrders()
		now := e.clock()
		e.takeIn()
		wait, err := e.move(now)
		if err != nil {
			return err
		}
		if wait <= 0 {
			continue
		}
		if err := e.wait(wait, wait > soon); err != nil {
			return err
		}
	}
	return nil
}

// takeIn admits what has arrived, each frame at the time it came and not when this
// thread reads it: a machine that stops the thread for a while must not turn the
// frames of that time into one burst that overflows a queue.
func (e *engine) takeIn() {
	behind := e.wall().UnixNano() - int64(e.clock())
	for i, p := range e.ports {
		for f, at := p.Next(); f != nil; f, at = p.Next() {
			// Never before an earlier frame and never in the future, also when
			// the wall clock is set meanwhile.
			e.last[i] = max(e.last[i], min(time.Duration(at.UnixNano()-behind), e.clock()))
			e.entry[i].admit(e.last[i], f, false)
			p.Release()
		}
	}
}

// earliest is the line whose next frame leaves first.
func (e *engine) earliest() (best *line, due time.Duration) {
	for _, l := range e.lines {
		if d, ok := l.next(); ok && (best == nil || d < due) {
			best, due = l, d
		}
	}
	return best, due
}

// move forwards what is due and returns the time until the next frame is. Frames that become due
// while it works wait until those that arrived meanwhile have been taken in.
func (e *engine) move(now time.Duration) (time.Duration, error) {
	for range movesPerTurn {
		l, due := e.earliest()
		if l == nil {
			return longestWait, nil
		}
		if due > now {
			return min(due-e.clock(), longestWait), nil
		}
		p := l.pop()
		if l.into != nil {
			l.into.forward(l, p, e.buffers)
			continue
		}
		if err := e.send(l, p); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (e *engine) send(l *line, p parcel) error {
	if late := int64(e.clock() - p.due); late > l.count.latest.Load() {
		l.count.latest.Store(late)
	}
	sent, err := e.ports[l.to].Send(p.frame)
	if err != nil {
		return err
	}
	if !sent {
		l.count.overrun.Add(1)
	}
	e.buffers.put(p.frame)
	return nil
}

// forward sends a frame that came over a line on to where its address is, or
// everywhere else. Frames whose packet is larger than the MTU vanish.
func (h *hub) forward(from *line, p parcel, b *buffers) {
	sp, ok := inspect(p.frame)
	mtu := int(h.mtu.Load())
	if !ok || mtu > 0 && sp.packetSize() > mtu {
		h.drops.Add(int64(max(1, sp.segments)))
		b.put(p.frame)
		return
	}
	eth := p.frame[kernel.VnetHeaderLen:]
	dst, src := [6]byte(eth[0:6]), [6]byte(eth[6:12])
	const group = 1 // the bit of multicast and broadcast (IEEE 802)
	if src[0]&group == 0 {
		h.known[src] = from.back
	}
	if to := h.known[dst]; to != nil && dst[0]&group == 0 {
		if to == from.back {
			b.put(p.frame) // it came from there
			return
		}
		to.admit(p.due, p.frame, true)
		return
	}
	for _, l := range h.out {
		if l != from.back {
			l.admit(p.due, p.frame, false)
		}
	}
	b.put(p.frame)
}

// newEngine wires ports, switches and links as the config says.
func newEngine(c Config, ports []port, clock func() time.Duration, wait func(time.Duration, bool) error) (*engine, map[string][2]*line, map[string]*hub, error) {
	e := &engine{ports: ports, entry: make([]*line, len(ports)), last: make([]time.Duration, len(ports)), buffers: &buffers{}, clock: clock, wall: time.Now, wait: wait}
	hubs := map[string]*hub{}
	for _, s := range c.Switches {
		h := &hub{known: map[[6]byte]*line{}}
		h.mtu.Store(int64(s.MTU))
		hubs[s.Name] = h
	}
	links := map[string][2]*line{}
	for i, l := range c.Links {
		pair := [2]*line{}
		for d := range pair {
			pair[d] = &line{shaper: newShaper(l.Shapes[d], c.Seed+uint64(2*i+d), e.buffers), to: -1}
		}
		pair[0].back, pair[1].back = pair[1], pair[0]
		if err := e.attach(c, hubs, l.A, pair[0], pair[1]); err != nil {
			return nil, nil, nil, fmt.Errorf("wire link %s: %w", l.ID, err)
		}
		if err := e.attach(c, hubs, l.B, pair[1], pair[0]); err != nil {
			return nil, nil, nil, fmt.Errorf("wire link %s: %w", l.ID, err)
		}
		links[l.ID] = pair
		e.lines = append(e.lines, pair[0], pair[1])
	}
	for i, l := range e.entry {
		if l == nil {
			return nil, nil, nil, fmt.Errorf("wire port %s: it is on no link", c.Ports[i].Name)
		}
	}
	return e, links, hubs, nil
}

// attach makes a link's end of a port or a switch: away leads from it, here to it.
func (e *engine) attach(c Config, hubs map[string]*hub, end string, away, here *line) error {
	if h, ok := hubs[end]; ok {
		h.out = append(h.out, away)
		here.into = h
		return nil
	}
	i := slices.IndexFunc(c.Ports, func(p Port) bool { return p.Name == end })
	if i < 0 {
		return fmt.Errorf("there is no port or switch %q", end)
	}
	if e.entry[i] != nil {
		return fmt.Errorf("port %s is on two links", end)
	}
	e.entry[i], here.to = away, i
	return nil
}

// onOwnThread runs the engine on a thread of its own, on the given CPUs and
// before ordinary tasks where that is permitted. notes says what was not.
func (e *engine) onOwnThread(cpus []int, notes chan<- error) error {
	runtime.LockOSThread() // never unlocked: the thread ends with its settings
	var raised error
	if err := kernel.RunFirst(); err != nil {
		raised = fmt.Errorf("priority of the emulated links over other work on this machine: %w", err)
	}
	notes <- errors.Join(raised, kernel.PreciseTimers(), kernel.SetAffinity(cpus))
	return e.run()
}
