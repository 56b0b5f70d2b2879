package fabric

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/wire"
	"linerate/internal/model"
)

// Opened is the answer to Config.
type Opened struct {
	Mode Mode `json:"mode"`
	// LeftOut is what this machine could not give, one line each.
	LeftOut []string `json:"left_out"`
}

// Reshape is a request for another shape of one direction of a link.
type Reshape struct {
	Link      string         `json:"link"`
	Direction int            `json:"direction"` // 0: from A to B
	Shape     topology.Shape `json:"shape"`
}

// SwitchMTU is a request for another MTU of a switch.
type SwitchMTU struct {
	Switch string `json:"switch"`
	MTU    int    `json:"mtu"`
}

// Operations of the process, as wire.Helper.Call names them: Open takes a
// Config and answers Opened, Shape takes a Reshape, Numbers answers Stats.
const (
	OpOpen      = "open"
	OpReshape   = "reshape"
	OpSwitchMTU = "switch-mtu"
	OpStats     = "stats"
)

// Main is the hidden subcommand lab-fabric: a process in a network namespace
// of its own that is all wires and switches of a lab. It returns the exit
// status.
func Main(stdin io.Reader, stdout io.Writer) int {
	// The engine's thread keeps a processor; the rest is for requests. It
	// makes no garbage, so the collector need not run beside it until
	// something is badly wrong.
	runtime.GOMAXPROCS(4)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(3 * maxHeld)
	f := &fabric{failed: make(chan error, 1)}
	status := wire.Main(stdin, stdout, map[string]wire.Handler{
		OpOpen:      wire.Op(f.open),
		OpReshape:   wire.Do(f.reshape),
		OpSwitchMTU: wire.Do(f.setSwitchMTU),
		OpStats:     wire.Op(func(struct{}) (Stats, error) { return f.stats() }),
	})
	if err := f.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// fabric is the state of the process.
type fabric struct {
	config Config
	mode   Mode
	ports  []*kernel.PacketPort
	engine *engine
	links  map[string][2]*line
	hubs   map[string]*hub
	failed chan error // what ended the engine
}

// close removes the interfaces at once; the end of the namespace would remove
// them a little later.
func (f *fabric) close() error {
	if f.engine != nil {
		f.engine.stop.Store(true)
	}
	var errs []error
	for _, p := range f.config.Ports {
		if p.Veth != nil || p.Tap {
			errs = append(errs, kernel.DeleteInterface(p.Dev))
		}
	}
	return errors.Join(errs...)
}

// portMTU lets any frame into the fabric; the shape decides what passes.
const (
	portMTU = 65535
	tapMTU  = 65521 // the most that drivers/net/tun.c takes
)

func (f *fabric) open(c Config) (Opened, error) {
	f.config = c
	for _, p := range c.Ports {
		if p.Veth != nil {
			v := *p.Veth
			v.Name, v.MTU = p.Dev, portMTU
			if err := kernel.AddVeth(v); err != nil {
				return Opened{}, err
			}
		}
		if p.Tap {
			if err := kernel.AddTap(p.Dev, tapMTU); err != nil {
				return Opened{}, err
			}
		}
		// The fabric's end has no address and must not make noise of its own.
		// Without IPv6 in the kernel there is no such key, nor any noise.
		_ = kernel.Root("/").WriteFile("/proc/sys/net/ipv6/conf/"+p.Dev+"/disable_ipv6", []byte("1"))
		if err := kernel.SetInterface(kernel.Interface{Name: p.Dev, Up: true}); err != nil {
			return Opened{}, err
		}
	}
	if c.Mode == ModeNetem {
		f.mode = ModeNetem
		return Opened{Mode: ModeNetem}, f.startNetem()
	}
	o, err := f.start()
	if err == nil || c.Mode == ModeEmulator {
		return o, err
	}
	if nerr := f.startNetem(); nerr != nil {
		return o, errors.Join(err, nerr)
	}
	f.mode = ModeNetem
	return Opened{ModeNetem, []string{"the lab's own links: " + err.Error() + "; netem instead"}}, nil
}

func (f *fabric) start() (Opened, error) {
	o := Opened{Mode: ModeEmulator}
	var ports []port
	for _, p := range f.config.Ports {
		opened, err := kernel.OpenPacketPort(p.Dev, ringBlocks(len(f.config.Ports)))
		if err != nil {
			return o, err
		}
		f.ports, ports = append(f.ports, opened), append(ports, opened)
	}
	base := time.Now()
	poller := kernel.NewPacketPoller(f.ports...)
	e, links, hubs, err := newEngine(f.config, ports, func() time.Duration { return time.Since(base) }, poller.Wait)
	if err != nil {
		return o, err
	}
	f.mode, f.engine, f.links, f.hubs = ModeEmulator, e, links, hubs
	notes := make(chan error, 1)
	go func() { f.failed <- e.onOwnThread(f.config.CPUs, notes) }()
	if note := <-notes; note != nil {
		o.LeftOut = append(o.LeftOut, note.Error())
	}
	return o, nil
}

// ringBlocks shares out what rings may pin of the kernel's memory: 20 MB each
// for two ports, as much as a 10 Gbit/s link brings in 16 ms, and less for many.
func ringBlocks(ports int) int { return max(4, 40/max(1, ports)) }

func (f *fabric) reshape(r Reshape) error {
	if r.Direction < 0 || r.Direction > 1 {
		return fmt.Errorf("no direction %d", r.Direction)
	}
	if f.mode == ModeNetem {
		return f.setNetem(r.Direction, r.Shape)
	}
	pair, ok := f.links[r.Link]
	if !ok {
		return fmt.Errorf("there is no link %q", r.Link)
	}
	f.engine.reshape(pair[r.Direction], r.Shape)
	return nil
}

func (f *fabric) setSwitchMTU(s SwitchMTU) error {
	h, ok := f.hubs[s.Switch]
	if !ok {
		return fmt.Errorf("there is no switch %q", s.Switch)
	}
	h.mtu.Store(int64(s.MTU))
	return nil
}

func (f *fabric) stats() (Stats, error) {
	st := Stats{Links: map[string][2]DirectionStats{}, SwitchDrops: map[string]int64{}, RingDrops: map[string]int64{}}
	var err error
	if st.CPU, err = kernel.CPUUsed(); err != nil || f.engine == nil {
		return st, err
	}
	select {
	case err := <-f.failed:
		f.failed <- err
		return st, fmt.Errorf("the emulated links have stopped: %w", err)
	default:
	}
	for id, pair := range f.links {
		st.Links[id] = [2]DirectionStats{pair[0].count.snapshot(), pair[1].count.snapshot()}
	}
	for name, h := range f.hubs {
		st.SwitchDrops[name] = h.drops.Load()
	}
	for i, p := range f.ports {
		drops, err := p.Drops()
		if err != nil {
			return st, err
		}
		st.RingDrops[f.config.Ports[i].Name] = int64(drops)
	}
	return st, nil
}

// Warnings say where these numbers cast doubt on what was measured over the links.
func (s Stats) Warnings() []model.Warning {
	var lost int64
	var latest time.Duration
	for _, n := range s.RingDrops {
		lost += n
	}
	for _, pair := range s.Links {
		for _, d := range pair {
			lost += d.Overrun + d.Malformed
			latest = max(latest, d.LatestSend)
		}
	}
	if lost == 0 {
		return nil
	}
	return []model.Warning{{
		ID:       "lab-link-dropped",
		What:     fmt.Sprintf("the emulated links lost %d frames of their own accord: they came too late for them", lost),
		Evidence: fmt.Sprintf("ring drops %v, latest frame sent %s late", s.RingDrops, latest),
		Next:     "repeat the run on a machine that is less busy",
	}}
}
