package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// LinkMode is how a link with delay comes about.
type LinkMode string

// The emulator is our own program between two packet ports; it loses wire
// segments one by one while the hosts keep their offloads. netem is the
// kernel's queueing discipline, which sees super-packets, so that loss and MTU
// faults switch the hosts' segmentation offloads off. Auto, the default, takes
// the emulator and falls back to netem only where packet sockets are refused.
const (
	LinkAuto     LinkMode = ""
	LinkEmulator LinkMode = "emulator"
	LinkNetem    LinkMode = "netem"
)

// openArgs asks a link process to join two hosts.
type openArgs struct {
	Mode   LinkMode       `json:"mode"`
	Ports  [2]kernel.Veth `json:"ports"`
	Shapes [2]Shape       `json:"shapes"` // direction i leads from port i to port 1-i
	CPUs   []int          `json:"cpus"`
	Seed   uint64         `json:"seed"`
}

type openResult struct {
	Mode LinkMode `json:"mode"`
	leftOut
}

type shapeArgs struct {
	Direction int   `json:"direction"`
	Shape     Shape `json:"shape"`
}

// LinkStats is what a link process says of itself.
type LinkStats struct {
	Mode       LinkMode          `json:"mode"`
	Directions [2]DirectionStats `json:"directions"` // 0: from the first host to the second
	// RingDrops are frames that came faster than the emulator took them, per
	// port. Any is a warning: the link lost what it should not have.
	RingDrops [2]int64      `json:"ring_drops"`
	CPU       time.Duration `json:"cpu"` // used by the link process since its start
}

// Warnings are the doubts that these numbers raise about what was measured
// over the link.
func (s LinkStats) Warnings() []model.Warning {
	var lost int64
	for i := range s.Directions {
		lost += s.RingDrops[i] + s.Directions[i].Overrun + s.Directions[i].Malformed
	}
	if lost == 0 {
		return nil
	}
	return []model.Warning{{
		ID:       "lab-link-dropped",
		What:     fmt.Sprintf("the emulated link lost %d frames of its own accord: it came too late for them", lost),
		Evidence: fmt.Sprintf("ring drops %v, latest frame sent %s late", s.RingDrops, max(s.Directions[0].LatestSend, s.Directions[1].LatestSend)),
		Next:     "repeat the run on a machine that is less busy",
	}}
}

// link is the state of a link process.
type link struct {
	mode  LinkMode
	ports [2]*kernel.PacketPort
	veths [2]kernel.Veth
	dirs  [2]*direction
	fault chan error // what ended a direction
}

// LinkMain is the hidden subcommand lab-link: a process in a network namespace
// of its own that is the wire between two hosts. It returns the exit status.
func LinkMain(stdin io.Reader, stdout io.Writer) int {
	// The two directions keep a processor each; the rest is for requests.
	// They make no garbage, so the collector need not run beside them until
	// something is badly wrong.
	runtime.GOMAXPROCS(4)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(3 * maxHeld)
	l := &link{fault: make(chan error, 2)}
	status := serveMain(stdin, stdout, map[string]handler{
		"open":  op(l.open),
		"shape": do(l.setShape),
		"stats": op(func(struct{}) (LinkStats, error) { return l.stats() }),
	})
	if err := l.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// close removes the interfaces at once; the end of the namespace would remove
// them a little later.
func (l *link) close() error {
	for _, d := range l.dirs {
		if d != nil {
			d.stop.Store(true)
		}
	}
	var errs []error
	for _, v := range l.veths {
		if v.Name != "" {
			errs = append(errs, kernel.DeleteInterface(v.Name))
		}
	}
	return errors.Join(errs...)
}

// switchMTU lets any frame into the switch; what passes is the shape's matter.
const switchMTU = 65535

func (l *link) open(a openArgs) (openResult, error) {
	for _, v := range a.Ports {
		v.MTU = switchMTU
		if err := kernel.AddVeth(v); err != nil {
			return openResult{}, err
		}
		// The switch end has no address and must not make noise of its own.
		// Without IPv6 in the kernel there is no such key, nor any noise.
		_ = writeSysctl("net.ipv6.conf."+v.Name+".disable_ipv6", "1")
		if err := kernel.SetInterface(kernel.Interface{Name: v.Name, Up: true}); err != nil {
			return openResult{}, err
		}
	}
	l.veths = a.Ports
	return l.start(a)
}

func (l *link) start(a openArgs) (openResult, error) {
	if a.Mode != LinkNetem {
		res, err := l.startEmulator(a)
		if err == nil || a.Mode == LinkEmulator {
			return res, err
		}
		if nerr := l.startNetem(a); nerr != nil {
			return res, errors.Join(err, nerr)
		}
		return openResult{LinkNetem, leftOut{[]string{"the lab's own link: " + err.Error() + "; netem instead"}}}, nil
	}
	return openResult{Mode: LinkNetem}, l.startNetem(a)
}

func (l *link) startEmulator(a openArgs) (openResult, error) {
	res := openResult{Mode: LinkEmulator}
	for i, v := range a.Ports {
		p, err := kernel.OpenPacketPort(v.Name)
		if err != nil {
			return res, err
		}
		l.ports[i] = p
	}
	l.mode = LinkEmulator
	base := time.Now()
	clock := func() time.Duration { return time.Since(base) }
	notes := make(chan error, 2)
	for i := range l.dirs {
		d := newDirection(l.ports[i], l.ports[1-i], a.Shapes[i], a.Seed+uint64(i), clock)
		l.dirs[i] = d
		go func() { l.fault <- d.onOwnThread(a.CPUs, notes) }()
	}
	note := <-notes
	<-notes // both threads have the same rights: one note is enough
	if note != nil {
		res.LeftOut = append(res.LeftOut, note.Error())
	}
	return res, nil
}

// netemLimit is how many packets may be under way in a netem; at 1500 bytes
// and 10 Gbit/s it covers 100 ms.
const netemLimit = 100_000

// startNetem bridges the ports and puts delay, loss and rate on each egress.
func (l *link) startNetem(a openArgs) error {
	if err := kernel.AddBridge("br0", switchMTU, a.Ports[0].Name, a.Ports[1].Name); err != nil {
		return err
	}
	l.mode = LinkNetem
	for i := range a.Shapes {
		if err := l.setNetem(i, a.Shapes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) setNetem(direction int, s Shape) error {
	dev := l.veths[1-direction].Name // leaves the switch towards the other host
	netem, tbf := netemShape(dev, s)
	if err := kernel.SetNetem(netem); err != nil {
		return fmt.Errorf("%w; this kernel may have no netem", err)
	}
	if tbf != nil {
		if err := kernel.SetTokenBucket(*tbf); err != nil {
			return err
		}
	}
	mtu := s.MTU
	if mtu == 0 {
		mtu = switchMTU
	}
	return kernel.SetInterface(kernel.Interface{Name: dev, MTU: mtu})
}

// netemShape translates a shape. The queue is the tbf's; netem only delays.
func netemShape(dev string, s Shape) (kernel.Netem, *kernel.TokenBucket) {
	n := kernel.Netem{Dev: dev, Delay: uint32(s.Delay.Microseconds()), Loss: s.Loss, Limit: netemLimit}
	if s.Rate <= 0 {
		return n, nil
	}
	// Where timers are coarse (HZ=100 without high resolution) a tbf lets go
	// two ticks' worth at once, which a queue of one BDP would drop.
	slack := unit.Bytes(float64(s.Rate) / 8 * 0.020)
	return n, &kernel.TokenBucket{Dev: dev, Parent: kernel.NetemParent, Rate: tbfRate(s.Rate, s.MTU), Burst: tbfBurst(s.Rate), Limit: s.Queue + slack}
}

// tbfRate is the rate to give a tbf for a link of the given rate: tbf counts
// a frame without the wireOverhead of each (checksum, preamble and gap).
func tbfRate(rate unit.BitRate, mtu int) unit.BitRate {
	if mtu == 0 {
		mtu = switchMTU
	}
	frame := float64(mtu + etherHeader)
	return unit.BitRate(float64(rate) * frame / (frame + wireOverhead))
}

// tbfBurst is what a tbf must be able to send at once to reach its rate: 4 ms
// (a tick at HZ=250), and two super-packets at the least.
func tbfBurst(rate unit.BitRate) unit.Bytes {
	return max(128*unit.KiB, unit.Bytes(float64(rate)/8*0.004))
}

func (l *link) setShape(a shapeArgs) error {
	if a.Direction < 0 || a.Direction > 1 {
		return fmt.Errorf("no direction %d", a.Direction)
	}
	switch l.mode {
	case LinkEmulator:
		l.dirs[a.Direction].wanted.Store(&a.Shape)
		return nil
	case LinkNetem:
		return l.setNetem(a.Direction, a.Shape)
	}
	return errors.New("the link is not open")
}

func (l *link) stats() (LinkStats, error) {
	st := LinkStats{Mode: l.mode}
	var err error
	if st.CPU, err = kernel.CPUUsed(); err != nil {
		return st, err
	}
	if l.mode != LinkEmulator {
		return st, nil
	}
	select {
	case err := <-l.fault:
		l.fault <- err
		return st, fmt.Errorf("the emulated link has stopped: %w", err)
	default:
	}
	for i := range l.dirs {
		st.Directions[i] = l.dirs[i].shaper.count.snapshot()
		drops, err := l.ports[i].Drops()
		if err != nil {
			return st, err
		}
		st.RingDrops[i] = int64(drops)
	}
	return st, nil
}
