package fabric

import (
	"errors"
	"fmt"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// Mode is how links come about.
type Mode string

// The emulator is our own program between packet ports; it loses wire segments
// one by one while the hosts keep their offloads. netem is the kernel's
// queueing discipline, which sees super-packets, so that loss and MTU faults
// need the hosts' segmentation offloads off; it is for one link between two
// hosts. Auto, the default, takes the emulator, and netem only where packet
// sockets are refused.
const (
	ModeAuto     Mode = ""
	ModeEmulator Mode = "emulator"
	ModeNetem    Mode = "netem"
)

// netemLimit is how many packets may be under way in a netem; at 1500 bytes
// and 10 Gbit/s it covers 100 ms.
const netemLimit = 100_000

// startNetem bridges the ports and puts delay, loss and rate on each egress.
func (f *fabric) startNetem() error {
	c := f.config
	if len(c.Ports) != 2 || len(c.Links) != 1 || len(c.Switches) != 0 {
		return errors.New("use netem for links: it is for two hosts and one link; this lab has more")
	}
	if err := kernel.AddBridge("br0", portMTU, c.Ports[0].Dev, c.Ports[1].Dev); err != nil {
		return err
	}
	for i, s := range c.Links[0].Shapes {
		if err := f.setNetem(i, s); err != nil {
			return err
		}
	}
	return nil
}

func (f *fabric) setNetem(direction int, s topology.Shape) error {
	if s.LossBurst > 1 || s.Duplicate > 0 || s.Reorder > 0 || s.Jitter > 0 {
		return errors.New("bursts of losses, duplicates, reordering and jitter: not with netem here; allow packet sockets to the lab")
	}
	to := f.config.Links[0].B
	if direction == 1 {
		to = f.config.Links[0].A
	}
	dev := ""
	for _, p := range f.config.Ports {
		if p.Name == to {
			dev = p.Dev // leaves the bridge towards that host
		}
	}
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
		mtu = portMTU
	}
	return kernel.SetInterface(kernel.Interface{Name: dev, MTU: mtu})
}

// netemShape translates a shape. The queue is the tbf's; netem only delays.
func netemShape(dev string, s topology.Shape) (kernel.Netem, *kernel.TokenBucket) {
	n := kernel.Netem{Dev: dev, Delay: uint32(s.Delay.Microseconds()), Loss: s.Loss, Limit: netemLimit}
	if s.Rate <= 0 {
		return n, nil
	}
	// With coarse timers (HZ=100 without high resolution) a tbf sends two ticks' worth at once,
	// which a queue of one BDP would drop.
	slack := unit.Bytes(float64(s.Rate) / 8 * 0.020)
	return n, &kernel.TokenBucket{Dev: dev, Parent: kernel.NetemParent, Rate: TokenRate(s.Rate, s.MTU), Burst: TokenBurst(s.Rate), Limit: s.Queue + slack}
}

// TokenRate is the rate to give a tbf for a link of the given rate: tbf counts
// a frame without the checksum, preamble and gap of each.
func TokenRate(rate unit.BitRate, mtu int) unit.BitRate {
	if mtu == 0 {
		mtu = portMTU
	}
	frame := float64(mtu + etherHeader)
	return unit.BitRate(float64(rate) * frame / (frame + wireOverhead))
}

// TokenBurst is what a tbf must be able to send at once to reach its rate: 4 ms
// (a tick at HZ=250), and two super-packets at the least.
func TokenBurst(rate unit.BitRate) unit.Bytes {
	return max(128*unit.KiB, unit.Bytes(float64(rate)/8*0.004))
}
