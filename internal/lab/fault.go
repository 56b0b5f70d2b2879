package lab

import (
	"context"
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Fault is one thing that can be wrong in a lab.
type Fault struct {
	ID      string
	Doc     string // one line for --help
	Limiter model.LimiterID
	FixKind model.FixKind
	// SourceRate is what the sending application produces; 0 is as fast as
	// it can. The workload applies it: the lab has no part in it.
	SourceRate unit.BitRate

	topology func(*Topology) // what the fault needs to show; nil: nothing
	inject   func(context.Context, *Lab) error
	cure     func(context.Context, *Lab) error
}

// Topology is t as the fault needs it.
func (f Fault) Topology(t Topology) Topology {
	if f.topology != nil {
		f.topology(&t)
	}
	return t
}

// Sizes of the faults. Each costs at least a third of the goodput of the
// default topology (or of its own), so that none can be taken for noise.
const (
	// A buffer of 256 KiB holds some 130-170 KiB of payload: 0.1-0.2 Gbit/s
	// at 10 ms, where 1 Gbit/s needs 1.25 MB under way.
	tightRmem = "4096 131072 262144"
	tightWmem = "4096 16384 262144"
	// A loss rate p holds one cubic stream to about 1.2 MSS / (RTT √p)
	// (Mathis et al. 1997): 45 Mbit/s of 1 Gbit/s.
	lossShare    = 0.001
	slowRate     = 300 * unit.Mbit
	blackholeMTU = 1500
	// Packets of 1500 bytes one by one cost a core at 6-7 Gbit/s here. The
	// link is three times that, so that the cost of packets binds and not
	// the link, on a machine twice as fast too, and any gain is real.
	directRate = 20 * unit.Gbit
)

// Faults lists every fault, in the order of the documentation.
func Faults() []Fault {
	return []Fault{
		{ID: "window", Doc: "receive buffer too small for the delay", Limiter: model.ReceiverWindow, FixKind: model.FixSetting,
			inject: sysctlStep(1, "net.ipv4.tcp_rmem", tightRmem), cure: sysctlStep(1, "net.ipv4.tcp_rmem", defaultRmem)},
		{ID: "sendbuf", Doc: "send buffer too small for the delay", Limiter: model.SendBuffer, FixKind: model.FixSetting,
			inject: sysctlStep(0, "net.ipv4.tcp_wmem", tightWmem), cure: sysctlStep(0, "net.ipv4.tcp_wmem", defaultWmem)},
		{ID: "offload", Doc: "segmentation offloads off at MTU 1500, so that every packet costs CPU", Limiter: model.PacketCost, FixKind: model.FixSetting,
			topology: func(t *Topology) { t.Direct, t.RTT, t.Rate, t.MTU = true, 0, directRate, 1500 },
			inject:   func(ctx context.Context, l *Lab) error { return l.offloads(ctx, false) },
			cure:     func(ctx context.Context, l *Lab) error { return l.offloads(ctx, true) }},
		{ID: "mtu", Doc: "hosts send 9000-byte packets into a path that swallows what is over 1500", Limiter: model.MTUBlackhole, FixKind: model.FixOperator,
			topology: func(t *Topology) { t.MTU = 9000 },
			inject:   shapeStep(func(s *Shape) { s.MTU = blackholeMTU }), cure: healthyShape},
		{ID: "loss", Doc: "the path loses one segment in a thousand", Limiter: model.PathLoss, FixKind: model.FixOperator,
			inject: func(ctx context.Context, l *Lab) error {
				return l.reshape(ctx, 0, func(s *Shape) { s.Loss = lossShare })
			}, cure: healthyShape},
		{ID: "slow-link", Doc: "the path carries 300 Mbit/s where 1 Gbit/s was promised", Limiter: model.LinkRate, FixKind: model.FixOperator,
			inject: shapeStep(func(s *Shape) { s.Rate = slowRate }), cure: healthyShape},
		{ID: "app", Doc: "the sending application produces 300 Mbit/s", Limiter: model.ApplicationSource, FixKind: model.FixOperator,
			SourceRate: 300 * unit.Mbit, inject: nothing, cure: nothing},
		{ID: "cpu", Doc: "other work takes the CPU from the receiving application", Limiter: model.ReceiverCPU, FixKind: model.FixOperator,
			inject: startBurner, cure: stopBurner},
		{ID: "none", Doc: "nothing is wrong", Limiter: model.None, FixKind: model.FixNone, inject: nothing, cure: nothing},
	}
}

// FindFault returns the fault with this id; the error lists those there are.
func FindFault(id string) (Fault, error) {
	var ids []string
	for _, f := range Faults() {
		if f.ID == id {
			return f, nil
		}
		ids = append(ids, f.ID)
	}
	return Fault{}, fmt.Errorf("unknown fault %q: choose one of %s", id, strings.Join(ids, ", "))
}

// Inject puts a fault in place.
func (l *Lab) Inject(ctx context.Context, f Fault) error {
	if l.down {
		return fmt.Errorf("inject fault %s: the lab is down", f.ID)
	}
	if err := f.inject(ctx, l); err != nil {
		return fmt.Errorf("inject fault %s: %w", f.ID, err)
	}
	return nil
}

// Cure takes a fault away: the lab plays the operator (or, for a fault that a
// setting cures, the undo). Curing what was never injected changes nothing.
func (l *Lab) Cure(ctx context.Context, f Fault) error {
	if l.down {
		return fmt.Errorf("cure fault %s: the lab is down", f.ID)
	}
	if err := f.cure(ctx, l); err != nil {
		return fmt.Errorf("cure fault %s: %w", f.ID, err)
	}
	return nil
}

func nothing(context.Context, *Lab) error { return nil }

func sysctlStep(host int, key, value string) func(context.Context, *Lab) error {
	return func(ctx context.Context, l *Lab) error {
		return l.hosts[host].holder.call(ctx, "sysctl", sysctlArgs{key, value}, nil)
	}
}

func shapeStep(change func(*Shape)) func(context.Context, *Lab) error {
	return func(ctx context.Context, l *Lab) error {
		for dir := range 2 {
			if err := l.reshape(ctx, dir, change); err != nil {
				return err
			}
		}
		return nil
	}
}

func healthyShape(ctx context.Context, l *Lab) error {
	return shapeStep(func(s *Shape) { *s = l.topo.shape() })(ctx, l)
}

// reshape changes one direction of the link (0: from the first host).
func (l *Lab) reshape(ctx context.Context, dir int, change func(*Shape)) error {
	if l.link == nil {
		return fmt.Errorf("the direct link of %s has nothing to change", l.topo)
	}
	s := l.shapes[dir]
	change(&s)
	if l.mode == LinkNetem {
		if err := l.offloads(ctx, s.Loss == 0 && s.MTU >= l.topo.MTU); err != nil {
			return err
		}
	}
	if err := l.link.call(ctx, "shape", shapeArgs{dir, s}, nil); err != nil {
		return err
	}
	l.shapes[dir] = s
	return nil
}

// offloads switches segmentation and receive offload on both hosts.
func (l *Lab) offloads(ctx context.Context, on bool) error {
	want := map[string]bool{"tx-tcp-segmentation": on, "tx-generic-segmentation": on, "rx-gro": on}
	for _, h := range l.hosts {
		if err := h.holder.call(ctx, "features", featureArgs{hostInterface, want}, nil); err != nil {
			return err
		}
	}
	return nil
}
